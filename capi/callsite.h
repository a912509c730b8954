/*
 * Where a call of the library comes from, for pools that keep call sites. Every
 * public function keeps it while such a pool is there, so none is left over from
 * an earlier call.
 */
#ifndef FERRUM_CAPI_CALLSITE_H
#define FERRUM_CAPI_CALLSITE_H

#include <stddef.h>
#include <stdint.h>

/** Keeps the return addresses that lead to the running public function. */
void fm_call_site_keep(void);
/** The same in a part of the public function that it has jumped to, which then
 *  stands among the callers under the public one's name. */
void fm_call_site_keep_for(void *function);
/** Copies what was kept on this thread, the innermost first, and says how many
 *  addresses it is. */
int32_t fm_call_site_read(uintptr_t *to, int32_t capacity);
/** Makes public functions keep call sites (1) or not (0). */
void fm_call_sites_watch(int32_t on);
/** Writes "file+0xoffset (function)" for a return address: the offset is that of
 *  the call, as addr2line wants it. Takes the locks of the dynamic linker. */
void fm_call_site_describe(uintptr_t address, char *to, size_t capacity);

#endif

/*
 * The call site of a library call, for pools that record call sites. Every
 * public function records it while such a pool exists, so none is left from an
 * earlier call.
 */
#ifndef FERRUM_CAPI_CALLSITE_H
#define FERRUM_CAPI_CALLSITE_H

#include <stddef.h>
#include <stdint.h>

/** Records the return addresses that lead to the running public function. */
void fm_call_site_keep(void);
/** The same, in a part of the public function to which it has jumped.
 *  function stands for the public function in the list of callers. */
void fm_call_site_keep_for(void *function);
/** Copies the addresses recorded on this thread, innermost first, and
 *  returns their number. If the thread runs an interpreted program, the first one
 *  is no address: it has the bit FM_LINES and means the lines of that program. */
int32_t fm_call_site_read(uintptr_t *to, int32_t capacity);
/** Makes public functions record call sites (1) or not (0). */
void fm_call_sites_watch(int32_t on);
/** Writes "file+0xoffset (function)" for a return address. The offset is
 *  that of the call instruction, as addr2line expects. Takes the locks of
 *  the dynamic linker. */
void fm_call_site_describe(uintptr_t address, char *to, size_t capacity);

/** Marks a number that means lines of an interpreted program. No address of a
 *  process has the top bit. */
#define FM_LINES (UINTPTR_MAX / 2 + 1)
/** The most bytes of the lines of one call site. */
#define FM_LINES_BYTES_MAX 4096
/** Asks the callback of ferrum_call_site_set_callback for the lines of this thread
 *  and returns their number; 0: there are none. */
uintptr_t fm_lines_take(void);
/** Returns the lines of a number of fm_lines_take, which stay valid; NULL for an
 *  address. */
const char *fm_lines_text(uintptr_t address);

#endif

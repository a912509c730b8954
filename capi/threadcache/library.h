/*
 * What the thread caches call of the library that they are linked into. capi/
 * implements it, and in tests/cache a core in C the first part.
 */
#ifndef FERRUM_THREADCACHE_LIBRARY_H
#define FERRUM_THREADCACHE_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "cache.h"

/* ----------------------------------------------------- of its Go core */

/* None of these waits for memory, keeps an error or calls the caller's
 * functions. They are called with no lock held. */

/** Leases up to count blocks of size_bytes that the stream may use at once.
 *  Gives how many, or less than 0. */
int32_t fmgo_cache_lease(uint64_t pool, uint64_t stream, uint64_t size_bytes,
                         uint32_t count, uint64_t *addresses_out,
                         struct fm_cache_counts *counts);
/** Gives back blocks that were freed on a stream (0: any may have them). Gives 0,
 *  or less than 0 when they could not be taken and nothing has changed. */
int32_t fmgo_cache_give_back(uint64_t pool, uint64_t stream,
                             uint64_t *addresses, uint32_t count,
                             struct fm_cache_counts *counts);
/** Gives the handle of the stream that a call for this pool means (0 is the
 *  default one's), or 0 when one of the two handles is wrong. */
uint64_t fmgo_cache_stream(uint64_t pool, uint64_t stream);
/** Says which of two streams may have work queued. */
enum { FM_BUSY_OWN = 1, FM_BUSY_NAMED = 2 };
int32_t fmgo_cache_busy(uint64_t own, uint64_t named);

/* --------------------------------------------------------- of its C */

/** Keeps the detail of a failure of the running call. Texts are not NULL. */
void fm_error_keep(int32_t status, int64_t native_code, char *operation,
                   char *device, char *message);
/** Says whether this process is a forked child, where nothing may be touched. */
bool fm_is_forked(void);

#endif

/*
 * The functions of the library that the thread caches call. capi/ implements
 * them; in tests/cache a core in C implements the first part.
 */
#ifndef FERRUM_THREADCACHE_LIBRARY_H
#define FERRUM_THREADCACHE_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "cache.h"

/* ------------------------------------------ functions of the Go core */

/* None of these waits for memory, records an error or calls functions of the
 * program. They are called with no lock held. */

/** Leases up to count blocks of size_bytes that the stream may use at once.
 *  Returns their number, or a value below 0. */
int32_t fmgo_cache_lease(uint64_t pool, uint64_t stream, uint64_t size_bytes,
                         uint32_t count, uint64_t *addresses_out,
                         struct fm_cache_counts *counts);
/** Returns blocks that were freed on a stream to the core (0: any stream may
 *  use them). A result below 0 means that the core rejected them and nothing
 *  has changed; otherwise it is 0. */
int32_t fmgo_cache_give_back(uint64_t pool, uint64_t stream,
                             uint64_t *addresses, uint32_t count,
                             struct fm_cache_counts *counts);
/** Returns the handle of the stream that a call for this pool means (0 is the
 *  default stream), or 0 if one of the two handles is invalid. */
uint64_t fmgo_cache_stream(uint64_t pool, uint64_t stream);
/** Reports which of two streams may have queued work. */
enum { FM_BUSY_OWN = 1, FM_BUSY_NAMED = 2 };
int32_t fmgo_cache_busy(uint64_t own, uint64_t named);

/* --------------------------------------------------------- of its C */

/** Records the details of an error of the present call. The strings are not
 *  NULL. */
void fm_error_keep(int32_t status, int64_t native_code, char *operation,
                   char *device, char *message);
/** Reports whether this process is a forked child, in which no state may be
 *  touched. */
bool fm_is_forked(void);

#endif

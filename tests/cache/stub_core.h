/*
 * A core in C for tests of the thread caches. It leases invented addresses,
 * takes them back, and checks the state of each. Every function may be called
 * from any thread. An error ends the program with a message.
 */
#ifndef FERRUM_TEST_STUB_CORE_H
#define FERRUM_TEST_STUB_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "threadcache/hit.h"
#include "threadcache/library.h"

/** Handles as the core creates them: kind, generation and index. */
#define STUB_POOL(n) (UINT64_C(0x0400000100000000) + (uint64_t)(n))
#define STUB_STREAM(n) (UINT64_C(0x0200000100000000) + (uint64_t)(n))
enum { STUB_POOLS = 64, STUB_STREAMS = 16 };

/** Ends the program unless the condition holds. */
#define CHECK(condition)                              \
    do {                                              \
        if (!(condition))                             \
            stub_die(__FILE__, __LINE__, #condition); \
    } while (0)
_Noreturn void stub_die(const char *file, int line, const char *what);

/** These functions allocate and free a block as the public functions do:
 *  they try a hit first. */
static inline int32_t cache_alloc_aligned(uint64_t pool, uint64_t stream,
                                          uint64_t size_bytes, uint32_t tag,
                                          uint64_t alignment_bytes,
                                          uint64_t *address_out) {
    if (fm_cache_alloc_hit(pool, stream, size_bytes, tag, alignment_bytes,
                           address_out))
        return FM_CACHE_DONE;
    return fm_cache_alloc(pool, stream, size_bytes, tag, alignment_bytes,
                          address_out);
}
static inline int32_t cache_alloc(uint64_t pool, uint64_t stream,
                                  uint64_t size_bytes, uint32_t tag,
                                  uint64_t *address_out) {
    return cache_alloc_aligned(pool, stream, size_bytes, tag, 0, address_out);
}
static inline int32_t cache_free(uint64_t pool, uint64_t stream,
                                 uint64_t address, uint64_t requested_bytes) {
    if (fm_cache_free_hit(pool, stream, address, requested_bytes))
        return FM_CACHE_DONE;
    return fm_cache_free(pool, stream, address, requested_bytes);
}

/** Resets all state. Then pool 0, stream 0 (the default stream) and stream 1
 *  are valid, there is no limit, and no call is rejected. */
void stub_reset(void);
void stub_pool_good(unsigned n, bool good);
void stub_stream_good(unsigned n, bool good);
/** Sets whether a stream has queued work. After a reset no stream has any. */
void stub_stream_works(unsigned n, bool works);
/** Sets the limit of the leased bytes of a pool. */
void stub_limit(unsigned pool, uint64_t bytes);
/** Makes the core reject every return of blocks with this status (0: none). */
void stub_refuse(int32_t status);
/** Makes every call of the core take at least this long. */
void stub_delay_ns(uint64_t ns);
/** States that the test frees a block twice at once. Then the totals do not
 *  add up until all blocks have been counted again. */
void stub_freed_by_two(bool they_are);

/** Leased bytes, as the core counts them. */
uint64_t stub_on_lease(unsigned pool);
uint64_t stub_leases(void);
uint64_t stub_give_backs(void);
/** Takes back a block that fm_cache_take or fm_cache_adopt has returned. */
void stub_took(unsigned pool, uint64_t address, uint64_t size_bytes,
               uint64_t stream);
/** Returns the size of the leased block at an address, or 0 if there is
 *  none. */
uint64_t stub_size(unsigned pool, uint64_t address);
/** Returns the number of an address in its pool. */
uint32_t stub_place(uint64_t address);
/** Returns how often the block at an address has been leased. */
uint64_t stub_lives(unsigned pool, uint64_t address);

#endif

/*
 * A core in C for the thread caches: it leases made-up addresses, takes them
 * back, and knows of each what it must be. Any of its functions may be called
 * from any thread. What it finds wrong ends the program with a message.
 */
#ifndef FERRUM_TEST_STUB_CORE_H
#define FERRUM_TEST_STUB_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "threadcache/hit.h"
#include "threadcache/library.h"

/** Handles as the core makes them: kind, generation and index. */
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

/** Take a block and give one back as the public functions do: as a hit if it is
 *  one. */
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

/** Forgets everything; pool 0 and streams 0 (the default one) and 1 are good
 *  then, there is no limit, nothing is refused. */
void stub_reset(void);
void stub_pool_good(unsigned n, bool good);
void stub_stream_good(unsigned n, bool good);
/** Has a stream have work queued, or none, as all have at first. */
void stub_stream_works(unsigned n, bool works);
/** What a pool may have on lease. */
void stub_limit(unsigned pool, uint64_t bytes);
/** Has the core refuse every give-back, with this status (0: none). */
void stub_refuse(int32_t status);
/** Has every call of the core take at least this long. */
void stub_delay_ns(uint64_t ns);
/** Says that the test frees blocks twice at once: until all blocks are counted
 *  anew, counts do not add up. */
void stub_freed_by_two(bool they_are);

/** Bytes on lease, by the core's own count. */
uint64_t stub_on_lease(unsigned pool);
uint64_t stub_leases(void);
uint64_t stub_give_backs(void);
/** Takes back a block that fm_cache_take or fm_cache_adopt has given. */
void stub_took(unsigned pool, uint64_t address, uint64_t size_bytes,
               uint64_t stream);
/** Says how large the block on lease at an address is, 0 for none. */
uint64_t stub_size(unsigned pool, uint64_t address);
/** Number of the address among those of its pool. */
uint32_t stub_place(uint64_t address);
/** How often the block at an address has been leased. */
uint64_t stub_lives(unsigned pool, uint64_t address);

#endif

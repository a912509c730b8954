/*
 * The thread caches in front of pools: what the public functions call and what the
 * Go core calls. What the caches call themselves is in library.h, how they work in
 * doc.go.
 */
#ifndef FERRUM_THREADCACHE_CACHE_H
#define FERRUM_THREADCACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/** The largest block that goes through the caches. */
#define FM_CACHE_BLOCK_MAX (UINT64_C(1) << 20)

/** How a call went: a ferrum_status below 0 (the error is kept), or one of
 *  these. */
enum fm_cache_result {
    /** The cache has done it. */
    FM_CACHE_DONE = 0,
    /** It is for the Go core to do; nothing has changed. */
    FM_CACHE_PASS = 1
};

/** One moment of a pool's caches. Counts that go up and down are each counted
 *  for themselves. */
struct fm_cache_counts {
    /** What was asked for of live blocks, and their whole size. */
    uint64_t requested_bytes, live_bytes;
    uint64_t live_blocks;
    /** Size of the blocks that wait for their next life. */
    uint64_t idle_bytes;
    /** Running totals of what came in by leases, and of what went back. */
    uint64_t entered_bytes, left_bytes;
    /** Running totals of calls. */
    uint64_t allocations, frees;
};

/** A leased block. */
struct fm_cache_block {
    uint64_t address;
    uint64_t size_bytes;
    /** What was asked for in this life, or in the last one. */
    uint64_t requested_bytes;
    /** Stream that it was freed on; 0: any stream may have it. Of a live block the
     *  stream that it is of; 0: that is gone. */
    uint64_t stream;
    uint32_t tag;
    uint32_t live;
};

/* --------------------------------------- what the public functions call */

/** Takes a block. tag is below 4096. alignment_bytes is 0 for the pool's own; larger
 *  ones pass, and what is no power of two. */
int32_t fm_cache_alloc(uint64_t pool, uint64_t stream, uint64_t size_bytes,
                       uint32_t tag, uint64_t alignment_bytes,
                       uint64_t *address_out);
/** Gives a block back, behind the work of its own stream and of this one.
 *  requested_bytes is what was asked for, 0 when the caller does not say. */
int32_t fm_cache_free(uint64_t pool, uint64_t stream, uint64_t address,
                      uint64_t requested_bytes);
/** Takes count blocks of one size, or none: addresses_out, all 0 before, is so
 *  again then. */
int32_t fm_cache_alloc_batch(uint64_t pool, uint64_t stream,
                             uint64_t size_bytes, uint64_t count,
                             uint64_t *addresses_out);
/** Gives count blocks back, or none. Passes when one of them is no leased
 *  block, or is to wait for two streams. */
int32_t fm_cache_free_batch(uint64_t pool, uint64_t stream,
                            const uint64_t *addresses, uint64_t count);
/** Says how large the live leased block at an address is. */
int32_t fm_cache_usable_size(uint64_t pool, uint64_t address,
                             uint64_t *size_out);

/* --------------------------------------------- what the Go core calls */

/**
 * Puts caches in front of a pool that nobody knows yet.
 *
 * @param alignment_bytes  of the pool; sizes are rounded in steps of it.
 * @param thread_bytes     what each thread may keep; UINT64_MAX: chosen here.
 * @return false when there is no memory, or when blocks of this alignment are
 *         larger than what caches hold: the pool then works without.
 */
bool fm_cache_open(uint64_t pool, uint64_t alignment_bytes,
                   uint64_t thread_bytes);
/** Says that the pool knows the tags 0 to last; others pass. */
void fm_cache_set_tags(uint64_t pool, uint32_t last);
/** Has every allocation and every free of a pool pass to the core, also what
 *  would be a hit, until it is called with false. What is idle waits. */
void fm_cache_pause(uint64_t pool, bool paused);
/** Forgets a pool with all its blocks; no call with its handle hits any more.
 *  Gives what fm_cache_end gives back, which takes its time after many blocks;
 *  NULL: the pool has no caches. */
struct fm_cache *fm_cache_drop(uint64_t pool);
void fm_cache_end(struct fm_cache *cache);
/** Forgets a stream that is gone and has no work left: what was freed on it is
 *  for any stream now. */
void fm_cache_forget_stream(uint64_t stream);
/** Counts a pool's caches in one moment; all zero for a pool without. */
void fm_cache_count(uint64_t pool, struct fm_cache_counts *counts_out);
/** The same without stopping anybody: what other threads have done since they last
 *  had to do with the core is left out. False: the pool has none. */
bool fm_cache_count_own(uint64_t pool, struct fm_cache_counts *counts_out);
/** Takes up to capacity idle blocks out of the caches of all threads. They are
 *  the pool's from now on. 0: none is left. */
uint64_t fm_cache_take(uint64_t pool, struct fm_cache_block *blocks_out,
                       uint64_t capacity);
/** Finds the leased block that starts at an address. */
bool fm_cache_find(uint64_t pool, uint64_t address,
                   struct fm_cache_block *block_out);
/** Describes the leased blocks that start at addresses; one that is none is all
 *  zero. */
void fm_cache_find_many(uint64_t pool, const uint64_t *addresses,
                        uint64_t count, struct fm_cache_block *blocks_out);
/**
 * Copies out leased blocks, capacity at most, and stops nobody for it. A block that
 * is leased from the first of the calls to the last is met once.
 *
 * @param place  0 at first; where to go on, and 0 again when there are no more.
 * @return how many; it may be 0 before the end.
 */
uint64_t fm_cache_next(uint64_t pool, uint64_t *place,
                       struct fm_cache_block *blocks_out, uint64_t capacity);
/** As fm_cache_next, for live blocks only, which it takes out: they are the pool's
 *  own from now on. */
uint64_t fm_cache_adopt_next(uint64_t pool, uint64_t *place,
                             struct fm_cache_block *blocks_out,
                             uint64_t capacity);
/** Takes a live block out: it is the pool's own from now on. */
bool fm_cache_adopt(uint64_t pool, uint64_t address,
                    struct fm_cache_block *block_out);

#endif

/*
 * The thread caches in front of pools: the functions that the public functions
 * and the Go core call. library.h declares what the caches call. doc.go describes
 * how they work.
 */
#ifndef FERRUM_THREADCACHE_CACHE_H
#define FERRUM_THREADCACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/** The size of the largest block in the caches. */
#define FM_CACHE_BLOCK_MAX (UINT64_C(1) << 20)

/** The result of a call: a ferrum_status below 0 (the error is recorded), or
 *  one of these. */
enum fm_cache_result {
    /** The cache has served the call. */
    FM_CACHE_DONE = 0,
    /** The Go core has to serve the call; nothing has changed. */
    FM_CACHE_PASS = 1
};

/** The counters of a pool's caches at one moment. Live and idle bytes are
 *  counted separately. */
struct fm_cache_counts {
    /** Requested size of the live blocks, and their size. */
    uint64_t requested_bytes, live_bytes;
    uint64_t live_blocks;
    /** Size of the idle blocks. */
    uint64_t idle_bytes;
    /** Running totals of the bytes that came in by leases and that were
     *  returned. */
    uint64_t entered_bytes, left_bytes;
    /** Running totals of calls. */
    uint64_t allocations, frees;
};

/** A leased block. */
struct fm_cache_block {
    uint64_t address;
    uint64_t size_bytes;
    /** The requested size of the block, or of its last use if it is idle. */
    uint64_t requested_bytes;
    /** Of an idle block: the stream on which it was freed; 0 means that any
     *  stream may use it. Of a live block: its stream; 0 means that the stream
     *  was destroyed. */
    uint64_t stream;
    uint32_t tag;
    uint32_t live;
};

/* --------------------------------------- what the public functions call */

/** Allocates a block. tag is below 4096. alignment_bytes is 0 for the pool's
 *  alignment. The call returns FM_CACHE_PASS for a larger alignment and for a
 *  value that is not a power of two. */
int32_t fm_cache_alloc(uint64_t pool, uint64_t stream, uint64_t size_bytes,
                       uint32_t tag, uint64_t alignment_bytes,
                       uint64_t *address_out);
/** Frees a block, behind the work of its own stream and of this one.
 *  requested_bytes is the requested size, or 0 if the caller does not state it. */
int32_t fm_cache_free(uint64_t pool, uint64_t stream, uint64_t address,
                      uint64_t requested_bytes);
/** Allocates count blocks of one size, or none. addresses_out must be all 0
 *  before, and is all 0 again if none was allocated. */
int32_t fm_cache_alloc_batch(uint64_t pool, uint64_t stream,
                             uint64_t size_bytes, uint64_t count,
                             uint64_t *addresses_out);
/** Frees count blocks, or none. Returns FM_CACHE_PASS if one of them is not a
 *  leased block or has to wait for two streams. */
int32_t fm_cache_free_batch(uint64_t pool, uint64_t stream,
                            const uint64_t *addresses, uint64_t count);
/** Returns the size of the live leased block at an address. */
int32_t fm_cache_usable_size(uint64_t pool, uint64_t address,
                             uint64_t *size_out);

/* --------------------------------------------- what the Go core calls */

/**
 * Puts caches in front of a pool that no other thread knows yet.
 *
 * @param alignment_bytes  of the pool; sizes are rounded up to multiples of it.
 * @param thread_bytes     what each thread may keep; UINT64_MAX: a default.
 * @return false if there is no memory, or if blocks of this alignment are larger
 *         than the caches support: the pool then works without caches.
 */
bool fm_cache_open(uint64_t pool, uint64_t alignment_bytes,
                   uint64_t thread_bytes);
/** States that the pool knows the tags 0 to last; calls with others return
 *  FM_CACHE_PASS. */
void fm_cache_set_tags(uint64_t pool, uint32_t last);
/** Makes every allocation and every free of a pool return FM_CACHE_PASS, until
 *  it is called with false. The idle blocks stay in the caches. */
void fm_cache_pause(uint64_t pool, bool paused);
/** Removes a pool with all its blocks; no call with its handle is a hit after
 *  that. The result is to be passed to fm_cache_end, which frees the memory;
 *  that takes long after many blocks. NULL: the pool has no caches. */
struct fm_cache *fm_cache_drop(uint64_t pool);
void fm_cache_end(struct fm_cache *cache);
/** Removes a stream that was destroyed and has no queued work: any stream may
 *  use the blocks that were freed on it. */
void fm_cache_forget_stream(uint64_t stream);
/** Counts a pool's caches at one moment; all zero for a pool without caches. */
void fm_cache_count(uint64_t pool, struct fm_cache_counts *counts_out);
/** fm_cache_count without stopping other threads: it leaves out what they have
 *  done since their last call of the core. Returns false if the pool has no
 *  caches. */
bool fm_cache_count_own(uint64_t pool, struct fm_cache_counts *counts_out);
/** Takes up to capacity idle blocks out of the caches of all threads. The pool
 *  owns them then. Returns 0 if none is left. */
uint64_t fm_cache_take(uint64_t pool, struct fm_cache_block *blocks_out,
                       uint64_t capacity);
/** Finds the leased block that starts at an address. */
bool fm_cache_find(uint64_t pool, uint64_t address,
                   struct fm_cache_block *block_out);
/** Describes the leased blocks that start at addresses. The entry of an address
 *  without a leased block is all zero. */
void fm_cache_find_many(uint64_t pool, const uint64_t *addresses,
                        uint64_t count, struct fm_cache_block *blocks_out);
/**
 * Copies out at most capacity leased blocks, without stopping other threads. A
 * block that is leased during all calls of a traversal is copied once.
 *
 * @param place  0 for the first call. The call sets it to the place where the
 *         next call continues, or to 0 at the end.
 * @return the number of blocks; it may be 0 before the end.
 */
uint64_t fm_cache_next(uint64_t pool, uint64_t *place,
                       struct fm_cache_block *blocks_out, uint64_t capacity);
/** fm_cache_next for live blocks only. It removes them from the caches; the
 *  pool owns them then. */
uint64_t fm_cache_adopt_next(uint64_t pool, uint64_t *place,
                             struct fm_cache_block *blocks_out,
                             uint64_t capacity);
/** Removes a live block from the caches. The pool owns it then. */
bool fm_cache_adopt(uint64_t pool, uint64_t address,
                    struct fm_cache_block *block_out);

#endif

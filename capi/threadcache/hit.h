/*
 * Thread caches: the code of a hit, inline in the public functions, where most of
 * its conditions are known at compile time: the tag, the alignment, and whether a
 * size is stated. It leaves all other cases to fm_cache_alloc and fm_cache_free,
 * with nothing changed. A hit calls no function, so it saves no registers.
 */
#ifndef FERRUM_THREADCACHE_CACHE_HIT_H
#define FERRUM_THREADCACHE_CACHE_HIT_H

#if defined(__GNUC__) && !defined(__clang__)
/* If the compiler added to pairs of counters with one vector instruction, the
 * processor could not forward the result to the next call, which adds to other
 * pairs; that call would have to wait. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include "parts.h"

#define FM_INLINE static inline __attribute__((always_inline))

/** Returns the lane of a pool and stream, or NULL if the calling thread has no
 *  key for them or the pool has no caches. The thread is busy. */
FM_INLINE struct fm_store *fm_hit_lane(struct fm_thread *thread, uint64_t pool,
                                       uint64_t stream) {
    const struct fm_key *key = fm_key_of(thread, pool, stream);
    if (FM_UNLIKELY(key->pool != pool) || FM_UNLIKELY(key->stream != stream))
        return NULL;
    return key->lane;
}

/** Takes a block of a class from the top magazine of the lane. Returns false,
 *  with nothing changed, if there is none. */
FM_INLINE bool fm_hit_take(struct fm_store *lane, uint32_t class,
                           uint64_t size_bytes, uint32_t tag,
                           uint64_t *address_out) {
    struct fm_cache *cache = lane->cache;
    struct fm_magazine *magazine = lane->bins[class].top;
    uint32_t count = magazine->count;
    if (FM_UNLIKELY(count == 0))
        return false;
    uint32_t index = magazine->items[count - 1];
    uint64_t address = fm_address(cache, index);
    if (FM_UNLIKELY(!fm_entry_good(magazine, address, fm_meta(cache, index))))
        return false;
    magazine->count = count - 1;
    uint64_t whole = cache->class_bytes[class];
    fm_meta_set(cache, index,
                (uint64_t)class << FM_CLASS_SHIFT |
                    (uint64_t)tag << FM_TAG_SHIFT | (whole - size_bytes) |
                    lane->live);
    fm_tally_alloc(lane, whole, size_bytes);
    lane->latest = index;
    *address_out = address;
    return true;
}

/** Reports whether blocks with this size, tag and alignment go through the
 *  caches: every block has the alignment. */
FM_INLINE bool fm_hit_fits(const struct fm_cache *cache, uint64_t size_bytes,
                           uint32_t tag, uint64_t alignment_bytes) {
    if (!(__builtin_constant_p(alignment_bytes) && alignment_bytes == 0) &&
        (FM_UNLIKELY(alignment_bytes > cache->alignment_bytes) ||
         FM_UNLIKELY((alignment_bytes & (alignment_bytes - 1)) != 0)))
        return false;
    return FM_LIKELY(size_bytes - 1 < cache->block_max) &&
           ((__builtin_constant_p(tag) && tag == 0) ||
            FM_LIKELY(tag <= atomic_load_explicit(&cache->tags,
                                                  memory_order_relaxed)));
}

/** Allocates a block if that is a hit. Otherwise it returns false, with nothing
 *  changed. */
FM_INLINE bool fm_cache_alloc_hit(uint64_t pool, uint64_t stream,
                                  uint64_t size_bytes, uint32_t tag,
                                  uint64_t alignment_bytes,
                                  uint64_t *address_out) {
    struct fm_thread *thread = fm_self;
    if (FM_UNLIKELY(thread == NULL) || FM_UNLIKELY(!fm_busy_begin(thread)))
        return false;
    struct fm_store *lane = fm_hit_lane(thread, pool, stream);
    bool done =
        FM_LIKELY(lane != NULL) &&
        FM_LIKELY(fm_hit_fits(lane->cache, size_bytes, tag, alignment_bytes)) &&
        FM_LIKELY(fm_hit_take(lane, fm_class_of(lane->cache, size_bytes),
                              size_bytes, tag, address_out));
    fm_busy_end(thread);
    return done;
}

/** Puts a live block of the lane's stream into the top magazine. Returns false,
 *  with nothing changed, if it is not such a block, if there is no room, or if
 *  the lane may not keep more. */
FM_INLINE bool fm_hit_give(struct fm_store *lane, uint32_t index,
                           uint64_t requested_bytes) {
    struct fm_cache *cache = lane->cache;
    uint64_t meta = fm_meta(cache, index);
    uint32_t class = fm_meta_class(meta);
    uint64_t whole = cache->class_bytes[class];
    uint64_t requested = whole - fm_meta_slack(meta);
    struct fm_magazine *magazine = lane->bins[class].top;
    if (FM_UNLIKELY((meta ^ lane->live) >= FM_HOLDER_UNIT) ||
        FM_UNLIKELY(requested_bytes != 0 && requested_bytes != requested) ||
        FM_UNLIKELY(magazine->count == magazine->room) ||
        FM_UNLIKELY(lane->tally.idle_bytes + whole > lane->bound_bytes))
        return false;
    fm_magazine_push(cache, magazine, index, meta);
    fm_tally_free(lane, whole, requested);
    return true;
}

/** Frees a block if that is a hit. Otherwise it returns false, with nothing
 *  changed. */
FM_INLINE bool fm_cache_free_hit(uint64_t pool, uint64_t stream,
                                 uint64_t address, uint64_t requested_bytes) {
    struct fm_thread *thread = fm_self;
    if (FM_UNLIKELY(thread == NULL) || FM_UNLIKELY(!fm_busy_begin(thread)))
        return false;
    struct fm_store *lane = fm_hit_lane(thread, pool, stream);
    bool done = false;
    if (FM_LIKELY(lane != NULL)) {
        uint32_t index = lane->latest;
        if (fm_address(lane->cache, index) != address)
            index = fm_table_find(lane->cache, address);
        done = FM_LIKELY(index != 0) &&
               FM_LIKELY(fm_hit_give(lane, index, requested_bytes));
    }
    fm_busy_end(thread);
    return done;
}

/** Returns the size of a live block if this thread has recently used the pool
 *  on the default stream. Otherwise it returns false. */
FM_INLINE bool fm_cache_size_hit(uint64_t pool, uint64_t address,
                                 uint64_t *size_out) {
    struct fm_thread *thread = fm_self;
    if (FM_UNLIKELY(thread == NULL) || FM_UNLIKELY(!fm_busy_begin(thread)))
        return false;
    const struct fm_store *lane = fm_hit_lane(thread, pool, 0);
    bool done = false;
    if (FM_LIKELY(lane != NULL)) {
        const struct fm_cache *cache = lane->cache;
        uint32_t index = fm_table_find(cache, address);
        uint64_t meta = fm_meta(cache, index);
        done = FM_LIKELY(index != 0) && FM_LIKELY(fm_meta_live(meta));
        if (done)
            *size_out = cache->class_bytes[fm_meta_class(meta)];
    }
    fm_busy_end(thread);
    return done;
}

#endif

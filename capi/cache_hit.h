/*
 * Thread caches: the way of a hit, inline in the public functions, where most of
 * what it asks is known: the tag, and whether a size is said.
 */
#ifndef FERRUM_CAPI_CACHE_HIT_H
#define FERRUM_CAPI_CACHE_HIT_H

#if defined(__GNUC__) && !defined(__clang__)
/* Counts that are added to in pairs could not be forwarded to the next call,
 * which adds to other pairs: it would wait for them. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include "cache_parts.h"

/** As fm_cache_alloc. */
static inline __attribute__((always_inline)) int32_t
fm_cache_alloc_hit(uint64_t pool, uint64_t stream, uint64_t size_bytes,
                   uint32_t tag, uint64_t *address_out) {
    struct fm_thread *thread = fm_self;
    if (FM_UNLIKELY(thread == NULL) || FM_UNLIKELY(!fm_busy_begin(thread)))
        return fm_cache_alloc_miss(pool, stream, size_bytes, tag, address_out);
    const struct fm_key *key = fm_key_of(thread, pool, stream);
    struct fm_store *lane = key->lane;
    if (FM_UNLIKELY(key->pool != pool || key->stream != stream))
        goto miss;
    if (FM_UNLIKELY(lane == NULL))
        goto pass;
    struct fm_cache *cache = lane->cache;
    if (FM_UNLIKELY(size_bytes - 1 >= cache->block_max))
        goto pass;
    if (FM_UNLIKELY(tag >
                    atomic_load_explicit(&cache->tags, memory_order_relaxed)))
        goto pass;
    uint32_t class = fm_class_of(cache, size_bytes);
    struct fm_magazine *magazine = lane->bins[class].top;
    if (FM_UNLIKELY(magazine->count == 0))
        goto miss;
    uint32_t index = magazine->items[magazine->count - 1];
    uint64_t address = fm_address(cache, index);
    if (FM_UNLIKELY(!fm_entry_good(magazine, address, fm_meta(cache, index))))
        goto miss;
    magazine->count--;
    uint64_t whole = cache->class_bytes[class];
    fm_meta_set(cache, index,
                (uint64_t)class << FM_CLASS_SHIFT |
                    (uint64_t)tag << FM_TAG_SHIFT | (whole - size_bytes));
    fm_tally_alloc(lane, whole, size_bytes);
    fm_busy_end(thread);
    *address_out = address;
    return FM_CACHE_DONE;
miss:
    fm_busy_end(thread);
    return fm_cache_alloc_miss(pool, stream, size_bytes, tag, address_out);
pass:
    fm_busy_end(thread);
    return FM_CACHE_PASS;
}

/** As fm_cache_free. */
static inline __attribute__((always_inline)) int32_t
fm_cache_free_hit(uint64_t pool, uint64_t stream, uint64_t address,
                  uint64_t requested_bytes) {
    struct fm_thread *thread = fm_self;
    if (FM_UNLIKELY(thread == NULL) || FM_UNLIKELY(!fm_busy_begin(thread)))
        return fm_cache_free_miss(pool, stream, address, requested_bytes);
    const struct fm_key *key = fm_key_of(thread, pool, stream);
    struct fm_store *lane = key->lane;
    int32_t result = FM_CACHE_PASS;
    if (FM_UNLIKELY(key->pool != pool || key->stream != stream))
        goto miss;
    if (FM_UNLIKELY(lane == NULL))
        goto done;
    struct fm_cache *cache = lane->cache;
    uint32_t index = fm_table_find(cache, address);
    if (FM_UNLIKELY(index == 0))
        goto done;
    uint64_t meta = fm_meta(cache, index);
    uint32_t class = fm_meta_class(meta);
    uint64_t whole = cache->class_bytes[class];
    uint64_t requested = whole - fm_meta_slack(meta);
    struct fm_magazine *magazine = lane->bins[class].top;
    if (FM_UNLIKELY(meta >= FM_HOLDER_UNIT) ||
        FM_UNLIKELY(requested_bytes != 0 && requested_bytes != requested) ||
        FM_UNLIKELY(magazine->count == magazine->room) ||
        FM_UNLIKELY(lane->tally.idle_bytes + whole > lane->bound_bytes))
        goto miss;
    fm_magazine_push(cache, magazine, index, meta);
    fm_tally_free(lane, whole, requested);
    result = FM_CACHE_DONE;
done:
    fm_busy_end(thread);
    return result;
miss:
    fm_busy_end(thread);
    return fm_cache_free_miss(pool, stream, address, requested_bytes);
}

#endif

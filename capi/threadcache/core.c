/*
 * Thread caches: blocks that come from the core and return to it.
 *
 * The mutex is not held while the core works. So room in the table is promised to
 * the blocks before they arrive. The pool's counters include blocks that are on
 * their way: a block counts as entered from its arrival on, and as left from its
 * departure on.
 */
#include <string.h>

#include "library.h"
#include "parts.h"

#define FM_LEASE_BYTES (UINT64_C(256) << 10)
#define FM_LEASE_ONE_MAX 32

uint32_t fm_core_lease_most(const struct fm_cache *cache, uint32_t class) {
    uint64_t count = FM_LEASE_BYTES / cache->class_bytes[class];
    if (count > FM_LEASE_ONE_MAX)
        return FM_LEASE_ONE_MAX;
    return count == 0 ? 1 : (uint32_t)count;
}

struct fm_cache_counts fm_core_counts(const struct fm_cache *cache) {
    struct fm_cache_counts counts = cache->total;
    counts.live_blocks =
        counts.allocations - counts.frees - cache->adopted_blocks;
    return counts;
}

static struct fm_store *fm_core_depot(struct fm_cache *cache, uint64_t stream) {
    struct fm_store *depot = fm_depot_of(cache, stream);
    return depot != NULL ? depot : cache->any;
}

/* Adds leased blocks to a depot. Without memory for them, they are returned at
 * once. */
static uint32_t fm_core_enter(struct fm_cache *cache, uint64_t stream,
                              uint32_t class, uint64_t *addresses,
                              uint32_t count) {
    uint64_t bytes = (uint64_t)count * cache->class_bytes[class];
    struct fm_store *depot = fm_core_depot(cache, stream);
    cache->total.entered_bytes += bytes;
    fm_keep_leased(cache, bytes);
    if (!fm_depot_reserve(depot, class, count)) {
        cache->total.left_bytes += bytes;
        struct fm_cache_counts counts = fm_core_counts(cache);
        uint64_t pool = cache->pool;
        fm_unlock();
        /* If the core rejects them, they stay on their way until the pool
         * ends. */
        fmgo_cache_give_back(pool, stream, addresses, count, &counts);
        fm_lock();
        return 0;
    }
    uint64_t meta = (uint64_t)class << FM_CLASS_SHIFT;
    /* The lane that missed may have been destroyed. */
    struct fm_store *lane = fm_self != NULL ? fm_self->lanes : NULL;
    while (lane != NULL && lane->depot != depot)
        lane = lane->next;
    for (uint32_t i = 0; i < count; i++)
        fm_depot_push(depot, fm_table_enter(cache, addresses[i], meta, lane),
                      meta);
    depot->tally.idle_bytes += bytes;
    fm_store_tell(depot);
    return count;
}

uint32_t fm_core_lease(struct fm_store *store, uint32_t class, uint32_t count) {
    struct fm_cache *cache = store->cache;
    struct fm_store *depot = fm_depot_for(store);
    if (count > FM_LEASE_MAX)
        count = FM_LEASE_MAX;
    if (!fm_table_reserve(cache, count) ||
        !fm_depot_reserve(depot, class, count))
        return 0;
    fm_site_tell(store);
    struct fm_cache_counts counts = fm_core_counts(cache);
    uint64_t addresses[FM_LEASE_MAX];
    uint64_t pool = cache->pool, stream = depot->stream;
    uint64_t size_bytes = cache->class_bytes[class];
    cache->promised += count;
    fm_unlock();
    int32_t leased =
        fmgo_cache_lease(pool, stream, size_bytes, count, addresses, &counts);
    fm_lock();
    cache = fm_cache_of(pool);
    if (cache == NULL)
        return 0;
    cache->promised -= count;
    if (leased <= 0)
        return 0;
    return fm_core_enter(cache, stream, class, addresses, (uint32_t)leased);
}

void fm_core_leave(struct fm_cache *cache, uint32_t index) {
    uint32_t class = fm_meta_class(fm_meta(cache, index));
    cache->total.left_bytes += cache->class_bytes[class];
    fm_table_remove(cache, index);
}

int32_t fm_core_give_back(struct fm_cache *cache, uint64_t stream,
                          struct fm_leaver *leavers, uint32_t count) {
    uint64_t addresses[FM_LEASE_MAX];
    for (uint32_t i = 0; i < count; i++) {
        leavers[i].address = fm_address(cache, leavers[i].index);
        leavers[i].meta = fm_meta(cache, leavers[i].index);
        addresses[i] = leavers[i].address;
        fm_core_leave(cache, leavers[i].index);
    }
    struct fm_cache_counts counts = fm_core_counts(cache);
    uint64_t pool = cache->pool;
    cache->promised += count;
    fm_unlock();
    int32_t status =
        fmgo_cache_give_back(pool, stream, addresses, count, &counts);
    fm_lock();
    cache = fm_cache_of(pool);
    if (cache == NULL)
        return FM_CORE_GONE;
    cache->promised -= count;
    if (status >= 0)
        return FM_CORE_TAKEN;
    for (uint32_t i = 0; i < count; i++) {
        leavers[i].index =
            fm_table_enter(cache, leavers[i].address, leavers[i].meta, NULL);
        cache->total.left_bytes -=
            cache->class_bytes[fm_meta_class(leavers[i].meta)];
    }
    return status;
}

/* Thread caches: what the core queries: counters, blocks, and idle blocks to
 * take back. */
#include <string.h>

#include "parts.h"

/* ---------------------------------------------------------------- counts */

/*
 * Counts the live blocks one by one, because the free of a block that was freed
 * twice at the same time was counted twice. All stores have added to the total;
 * threads are stopped.
 */
static void fm_recount(struct fm_cache *cache) {
    uint64_t live = 0, live_bytes = 0, requested_bytes = 0;
    for (uint32_t i = 1; i < cache->fresh; i++) {
        uint64_t meta = fm_meta(cache, i);
        if (!fm_is_block(fm_address(cache, i)) || !fm_meta_live(meta))
            continue;
        uint64_t whole = cache->class_bytes[fm_meta_class(meta)];
        live++;
        live_bytes += whole;
        requested_bytes += whole - fm_meta_slack(meta);
    }
    struct fm_cache_counts *total = &cache->total;
    total->live_bytes = live_bytes;
    total->requested_bytes = requested_bytes;
    total->frees = total->allocations - cache->adopted_blocks - live;
    cache->recount = false;
}

void fm_cache_count(uint64_t pool, struct fm_cache_counts *counts_out) {
    memset(counts_out, 0, sizeof *counts_out);
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    if (cache != NULL) {
        bool stopped = fm_stop_begin_for(cache);
        for (struct fm_store *s = cache->stores; s != NULL; s = s->next_of_all)
            fm_store_tell(s);
        if (cache->recount)
            fm_recount(cache);
        *counts_out = fm_core_counts(cache);
        if (stopped)
            fm_stop_end();
    }
    fm_unlock();
}

bool fm_cache_count_own(uint64_t pool, struct fm_cache_counts *counts_out) {
    const struct fm_thread *self = fm_self;
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    if (cache != NULL) {
        fm_store_tell(cache->any);
        for (struct fm_store *s = cache->depots; s != NULL; s = s->next)
            fm_store_tell(s);
        struct fm_store *lane = self != NULL ? self->lanes : NULL;
        for (; lane != NULL; lane = lane->next)
            if (lane->cache == cache)
                fm_store_tell(lane);
        *counts_out = fm_core_counts(cache);
    } else {
        memset(counts_out, 0, sizeof *counts_out);
    }
    fm_unlock();
    return cache != NULL;
}

/* ---------------------------------------------------------------- blocks */

static struct fm_cache_block fm_describe(const struct fm_cache *cache,
                                         uint32_t index) {
    uint64_t meta = fm_meta(cache, index);
    const struct fm_store *store =
        fm_meta_live(meta) ? fm_depot_of_live(cache, meta)
                           : cache->magazines[fm_meta_number(meta)]->store;
    uint64_t size_bytes = cache->class_bytes[fm_meta_class(meta)];
    return (struct fm_cache_block){
        .address = fm_address(cache, index),
        .size_bytes = size_bytes,
        .requested_bytes = size_bytes - fm_meta_slack(meta),
        .stream = store != NULL ? store->stream : 0,
        .tag = (uint32_t)(meta >> FM_TAG_SHIFT) & 0xFFF,
        .live = fm_meta_live(meta),
    };
}

bool fm_cache_find(uint64_t pool, uint64_t address,
                   struct fm_cache_block *block_out) {
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    uint32_t index = cache != NULL ? fm_table_find(cache, address) : 0;
    if (index != 0)
        *block_out = fm_describe(cache, index);
    fm_unlock();
    return index != 0;
}

void fm_cache_find_many(uint64_t pool, const uint64_t *addresses,
                        uint64_t count, struct fm_cache_block *blocks_out) {
    memset(blocks_out, 0, count * sizeof *blocks_out);
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    for (uint64_t i = 0; cache != NULL && i < count; i++) {
        uint32_t index = fm_table_find(cache, addresses[i]);
        if (index != 0)
            blocks_out[i] = fm_describe(cache, index);
    }
    fm_unlock();
}

/* Visits records from a place on, at most as many as the block array has
 * entries. A record keeps its number while its block is leased, so a traversal
 * in several calls meets each block once. No thread is stopped: a block is
 * described as it is found. */
static uint64_t fm_next(uint64_t pool, uint64_t *place,
                        struct fm_cache_block *blocks_out, uint64_t capacity,
                        bool (*take)(struct fm_cache *, uint32_t,
                                     struct fm_cache_block *)) {
    uint64_t count = 0, end = 0;
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    if (cache != NULL && *place < cache->fresh) {
        uint64_t left = cache->fresh - *place;
        end = *place + (left < capacity ? left : capacity);
        for (uint64_t i = *place; i < end; i++)
            if (fm_is_block(fm_address(cache, (uint32_t)i)) &&
                take(cache, (uint32_t)i, &blocks_out[count]))
                count++;
        end = end < cache->fresh ? end : 0;
    }
    *place = end;
    fm_unlock();
    return count;
}

static bool fm_next_any(struct fm_cache *cache, uint32_t index,
                        struct fm_cache_block *block_out) {
    *block_out = fm_describe(cache, index);
    return true;
}

uint64_t fm_cache_next(uint64_t pool, uint64_t *place,
                       struct fm_cache_block *blocks_out, uint64_t capacity) {
    return fm_next(pool, place, blocks_out, capacity, fm_next_any);
}

int32_t fm_cache_usable_size(uint64_t pool, uint64_t address,
                             uint64_t *size_out) {
    struct fm_cache_block block;
    if (!fm_cache_find(pool, address, &block) || !block.live)
        return FM_CACHE_PASS;
    *size_out = block.size_bytes;
    return FM_CACHE_DONE;
}

static bool fm_adopt(struct fm_cache *cache, uint32_t index,
                     struct fm_cache_block *block_out) {
    *block_out = fm_describe(cache, index);
    if (!block_out->live)
        return false;
    cache->total.live_bytes -= block_out->size_bytes;
    cache->total.requested_bytes -= block_out->requested_bytes;
    cache->adopted_blocks++;
    fm_core_leave(cache, index);
    return true;
}

bool fm_cache_adopt(uint64_t pool, uint64_t address,
                    struct fm_cache_block *block_out) {
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    uint32_t index = cache != NULL ? fm_table_find(cache, address) : 0;
    bool live = index != 0 && fm_adopt(cache, index, block_out);
    fm_unlock();
    return live;
}

uint64_t fm_cache_adopt_next(uint64_t pool, uint64_t *place,
                             struct fm_cache_block *blocks_out,
                             uint64_t capacity) {
    return fm_next(pool, place, blocks_out, capacity, fm_adopt);
}

/* ------------------------------------------------------------ idle blocks */

/* Removes a block that was popped from a store from the caches. */
static void fm_take_block(struct fm_store *store, uint32_t index,
                          struct fm_cache_block *block_out) {
    *block_out = fm_describe(store->cache, index);
    store->tally.idle_bytes -= block_out->size_bytes;
    fm_core_leave(store->cache, index);
}

static uint64_t fm_take_from_depot(struct fm_store *depot,
                                   struct fm_cache_block *blocks_out,
                                   uint64_t capacity) {
    uint64_t count = 0;
    uint32_t index;
    while (count < capacity && (index = fm_parcel_pop(depot)) != 0)
        fm_take_block(depot, index, &blocks_out[count++]);
    for (uint32_t class = depot->cache->classes; class-- > 0;) {
        while (count < capacity && (index = fm_depot_pop(depot, class)) != 0)
            fm_take_block(depot, index, &blocks_out[count++]);
    }
    fm_store_tell(depot);
    return count;
}

/* All threads are stopped. */
static uint64_t fm_take_from_lane(struct fm_store *lane,
                                  struct fm_cache_block *blocks_out,
                                  uint64_t capacity) {
    uint64_t count = 0;
    for (uint32_t class = lane->cache->classes; class-- > 0;) {
        struct fm_magazine *magazine = lane->bins[class].top;
        for (; magazine != NULL; magazine = magazine->next) {
            uint32_t index;
            while (count < capacity && (index = fm_magazine_pop(magazine)) != 0)
                fm_take_block(lane, index, &blocks_out[count++]);
        }
    }
    fm_store_tell(lane);
    return count;
}

/* Depots come first, because no thread has to stop for them. */
uint64_t fm_cache_take(uint64_t pool, struct fm_cache_block *blocks_out,
                       uint64_t capacity) {
    uint64_t count = 0;
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    struct fm_store *s = cache != NULL ? cache->stores : NULL;
    for (; s != NULL; s = s->next_of_all)
        if (s->thread == NULL)
            count +=
                fm_take_from_depot(s, blocks_out + count, capacity - count);
    if (cache != NULL && count == 0 && fm_stop_begin_for(cache)) {
        for (s = cache->stores; s != NULL; s = s->next_of_all)
            if (s->thread != NULL)
                count +=
                    fm_take_from_lane(s, blocks_out + count, capacity - count);
        fm_stop_end();
    }
    fm_unlock();
    return count;
}

/*
 * Thread caches: allocating and freeing one block, when that is not a hit (see
 * hit.h). The lane may still serve the call, with its second magazine. All other
 * cases take the mutex.
 */
#include "ferrum_mem.h"
#include "hit.h"

/* The lane cannot serve the call. */
enum { FM_LANE_MISS = 2 };

/* ---------------------------------------------------------------- alloc */

/* Takes a block from the two magazines of a class. */
static bool fm_lane_pop(struct fm_store *lane, uint32_t class,
                        uint64_t size_bytes, uint32_t tag,
                        uint64_t *address_out) {
    struct fm_bin *bin = &lane->bins[class];
    if (bin->top->count == 0 && bin->top->next != NULL &&
        bin->top->next->count > 0)
        fm_lane_swap(bin);
    return fm_hit_take(lane, class, size_bytes, tag, address_out);
}

/* Allocates a block without the mutex, if possible. The thread is busy. */
static int32_t fm_lane_alloc(struct fm_thread *thread, uint64_t pool,
                             uint64_t stream, uint64_t size_bytes, uint32_t tag,
                             uint64_t alignment_bytes, uint64_t *address_out) {
    const struct fm_key *key = fm_key_of(thread, pool, stream);
    if (key->pool != pool || key->stream != stream)
        return FM_LANE_MISS;
    struct fm_store *lane = key->lane;
    if (lane == NULL ||
        !fm_hit_fits(lane->cache, size_bytes, tag, alignment_bytes))
        return FM_CACHE_PASS;
    uint32_t class = fm_class_of(lane->cache, size_bytes);
    if (fm_lane_pop(lane, class, size_bytes, tag, address_out))
        return FM_CACHE_DONE;
    if (lane->bins[class].borrows == 0 ||
        !fm_lane_pop(lane, class + 1, size_bytes, tag, address_out))
        return FM_LANE_MISS;
    lane->bins[class].borrows--;
    return FM_CACHE_DONE;
}

static void fm_block_live(struct fm_store *store, uint32_t index,
                          uint64_t size_bytes, uint32_t tag,
                          uint64_t *address_out) {
    struct fm_cache *cache = store->cache;
    uint32_t class = fm_meta_class(fm_meta(cache, index));
    uint64_t whole = cache->class_bytes[class];
    *address_out = fm_address(cache, index);
    fm_meta_set(cache, index,
                (uint64_t)class << FM_CLASS_SHIFT |
                    (uint64_t)tag << FM_TAG_SHIFT | (whole - size_bytes) |
                    store->live);
    fm_tally_alloc(store, whole, size_bytes);
}

static FM_COLD int32_t fm_cache_alloc_miss(uint64_t pool, uint64_t stream,
                                           uint64_t size_bytes, uint32_t tag,
                                           uint64_t alignment_bytes,
                                           uint64_t *address_out) {
    for (bool leased = true;;) {
        struct fm_site site;
        if (!fm_site_lock(pool, stream, &site))
            return FM_CACHE_PASS;
        uint32_t index = 0, class = 0;
        bool fits = site.store != NULL &&
                    fm_hit_fits(site.cache, size_bytes, tag, alignment_bytes);
        if (fits) {
            class = fm_class_of(site.cache, size_bytes);
            index = fm_site_take(site.store, class);
        }
        if (index != 0) {
            fm_block_live(site.store, index, size_bytes, tag, address_out);
            fm_site_tell(site.store);
            fm_keep_lived(site.cache);
        } else if (fits && leased) {
            leased = fm_core_lease(site.store, class,
                                   fm_site_appetite(site.store, class)) > 0;
            fm_unlock();
            continue;
        }
        fm_unlock();
        return index != 0 ? FM_CACHE_DONE : FM_CACHE_PASS;
    }
}

int32_t fm_cache_alloc(uint64_t pool, uint64_t stream, uint64_t size_bytes,
                       uint32_t tag, uint64_t alignment_bytes,
                       uint64_t *address_out) {
    struct fm_thread *thread = fm_self;
    if (thread != NULL && fm_busy_begin_fenced(thread)) {
        int32_t result = fm_lane_alloc(thread, pool, stream, size_bytes, tag,
                                       alignment_bytes, address_out);
        fm_busy_end(thread);
        if (result != FM_LANE_MISS)
            return result;
    }
    return fm_cache_alloc_miss(pool, stream, size_bytes, tag, alignment_bytes,
                               address_out);
}

/* ----------------------------------------------------------------- free */

/* Frees a block without the mutex, if possible. The thread is busy. */
static int32_t fm_lane_free(struct fm_thread *thread, uint64_t pool,
                            uint64_t stream, uint64_t address,
                            uint64_t requested_bytes) {
    const struct fm_key *key = fm_key_of(thread, pool, stream);
    if (key->pool != pool || key->stream != stream)
        return FM_LANE_MISS;
    struct fm_store *lane = key->lane;
    uint32_t index = lane != NULL ? fm_table_find(lane->cache, address) : 0;
    if (index == 0)
        return FM_CACHE_PASS;
    uint32_t class = fm_meta_class(fm_meta(lane->cache, index));
    struct fm_bin *bin = &lane->bins[class];
    if (bin->top->count == bin->top->room && bin->top->next != NULL &&
        bin->top->next->count < bin->top->next->room)
        fm_lane_swap(bin);
    return fm_hit_give(lane, index, requested_bytes) ? FM_CACHE_DONE
                                                     : FM_LANE_MISS;
}

static FM_COLD int32_t fm_free_twice(uint64_t address) {
    return fm_cache_fail(FERRUM_ERROR_DOUBLE_FREE, "pool.free",
                         "address %#llx is free already: its block is in a "
                         "thread cache",
                         (unsigned long long)address);
}

static FM_COLD int32_t fm_free_mismatch(uint64_t address, uint64_t asked_bytes,
                                        uint64_t said_bytes) {
    return fm_cache_fail(FERRUM_ERROR_INVALID_SIZE, "pool.free_sized",
                         "size_bytes is %llu: the block at %#llx was allocated "
                         "with %llu",
                         (unsigned long long)said_bytes,
                         (unsigned long long)address,
                         (unsigned long long)asked_bytes);
}

/* Frees a live block of a stream for which no store has room: it returns the
 * block to the core. */
static int32_t fm_free_to_core(struct fm_cache *cache, uint64_t stream,
                               uint32_t index) {
    uint64_t meta = fm_meta(cache, index);
    uint64_t whole = cache->class_bytes[fm_meta_class(meta)];
    uint64_t requested = whole - fm_meta_slack(meta);
    cache->total.frees++;
    cache->total.live_bytes -= whole;
    cache->total.requested_bytes -= requested;
    struct fm_leaver leaver = {.index = index};
    int32_t status = fm_core_give_back(cache, stream, &leaver, 1);
    if (status == FM_CORE_TAKEN)
        return FM_CACHE_DONE;
    if (status == FM_CORE_GONE)
        return FM_CACHE_PASS;
    cache->total.frees--;
    cache->total.live_bytes += whole;
    cache->total.requested_bytes += requested;
    return fm_cache_fail(
        status, "pool.free",
        "address %#llx: the pool cannot free the block now, and "
        "the process has no memory to keep it in a cache",
        (unsigned long long)leaver.address);
}

/* Frees a live block into a store, or to the core. It is called with the mutex
 * held and releases it. */
static int32_t fm_free_into_unlock(struct fm_store *store, uint32_t index) {
    struct fm_cache *cache = store->cache;
    uint64_t meta = fm_meta(cache, index);
    uint64_t whole = cache->class_bytes[fm_meta_class(meta)];
    uint64_t requested = whole - fm_meta_slack(meta);
    struct fm_store *room = fm_site_give(store, index, meta);
    if (room == NULL) {
        int32_t result =
            fm_free_to_core(cache, fm_depot_for(store)->stream, index);
        fm_unlock();
        return result;
    }
    fm_tally_free(room, whole, requested);
    fm_site_tell(store);
    fm_depot_trim_unlock(fm_depot_for(store), 1);
    return FM_CACHE_DONE;
}

static FM_COLD int32_t fm_cache_free_miss(uint64_t pool, uint64_t stream,
                                          uint64_t address,
                                          uint64_t requested_bytes) {
    for (struct fm_order order = {0};;) {
        struct fm_site site;
        if (!fm_site_lock(pool, stream, &site))
            return FM_CACHE_PASS;
        uint32_t index = fm_table_find(site.cache, address);
        uint64_t meta = index != 0 ? fm_meta(site.cache, index) : 0;
        uint64_t requested =
            site.cache->class_bytes[fm_meta_class(meta)] - fm_meta_slack(meta);
        int32_t result = FM_CACHE_PASS;
        struct fm_store *store = NULL;
        enum fm_order_way way = FM_ORDER_PASS;
        if (index != 0 && !fm_meta_live(meta))
            result = fm_free_twice(address);
        else if (index != 0 && requested_bytes != 0 &&
                 requested_bytes != requested)
            result = fm_free_mismatch(address, requested, requested_bytes);
        else if (index != 0 && site.store != NULL)
            way = fm_order_find(&site, meta, &order, &store);
        else if (index != 0 && fm_depot_of_live(site.cache, meta) == NULL)
            result = fm_free_to_core(site.cache, site.stream, index);
        if (way == FM_ORDER_STORE)
            return fm_free_into_unlock(store, index);
        if (way == FM_ORDER_PASS) {
            fm_unlock();
            return result;
        }
        fm_order_ask_unlock(&site, &order);
    }
}

int32_t fm_cache_free(uint64_t pool, uint64_t stream, uint64_t address,
                      uint64_t requested_bytes) {
    struct fm_thread *thread = fm_self;
    if (thread != NULL && fm_busy_begin_fenced(thread)) {
        int32_t result =
            fm_lane_free(thread, pool, stream, address, requested_bytes);
        fm_busy_end(thread);
        if (result != FM_LANE_MISS)
            return result;
    }
    return fm_cache_free_miss(pool, stream, address, requested_bytes);
}

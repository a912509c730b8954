/*
 * Thread caches: batches, all of it or nothing. They go through the depots under
 * one taking of the mutex; a lane would not hold them.
 */
#include <string.h>

#include "cache_parts.h"
#include "ferrum_mem.h"

/* ---------------------------------------------------------------- alloc */

/* Takes blocks of a class out of a depot and says how many. */
static uint64_t fm_batch_pop(struct fm_store *depot, uint32_t class,
                             uint64_t size_bytes, uint64_t *addresses_out,
                             uint64_t count) {
    struct fm_cache *cache = depot->cache;
    uint64_t whole = cache->class_bytes[class], taken = 0;
    uint64_t meta = (uint64_t)class << FM_CLASS_SHIFT | (whole - size_bytes);
    uint32_t index;
    while (taken < count && (index = fm_depot_pop(depot, class)) != 0) {
        fm_meta_set(cache, index, meta);
        addresses_out[taken++] = fm_address(cache, index);
    }
    depot->tally.allocations += taken;
    depot->tally.requested_bytes += taken * size_bytes;
    depot->tally.live_bytes += taken * whole;
    depot->tally.idle_bytes -= taken * whole;
    fm_store_tell(depot);
    return taken;
}

/* Pushes count blocks that are live, and undoes their allocation: as many
 * magazines as they need have just become empty. */
static void fm_batch_unpop(struct fm_store *depot, const uint64_t *addresses,
                           uint64_t count) {
    struct fm_cache *cache = depot->cache;
    while (count-- > 0) {
        uint32_t index = fm_table_find(cache, addresses[count]);
        uint64_t meta = fm_meta(cache, index);
        uint64_t whole = cache->class_bytes[fm_meta_class(meta)];
        fm_depot_push(depot, index, meta);
        fm_tally_free(depot, whole, whole - fm_meta_slack(meta));
        depot->tally.frees--;
        depot->tally.allocations--;
    }
    fm_store_tell(depot);
}

/* Takes all of a batch out of the depots that a call may use, or says how many
 * blocks are missing. */
static uint64_t fm_batch_take(struct fm_store *store, uint32_t class,
                              uint64_t size_bytes, uint64_t *addresses_out,
                              uint64_t count) {
    struct fm_store *depot = fm_depot_for(store), *any = store->cache->any;
    if (depot->bins[class].blocks < count && store != depot) {
        fm_store_pour(store, class, depot);
        fm_store_tell(store);
    }
    if (depot->bins[class].blocks < count) {
        fm_parcel_sort(depot);
        fm_parcel_sort(any);
    }
    uint64_t there = depot->bins[class].blocks + any->bins[class].blocks;
    if (there < count)
        return count - there;
    uint64_t own = fm_batch_pop(depot, class, size_bytes, addresses_out, count);
    uint64_t others =
        fm_batch_pop(any, class, size_bytes, addresses_out + own, count - own);
    if (own + others == count)
        return 0;
    /* Some entries were not good. */
    fm_batch_unpop(any, addresses_out + own, others);
    fm_batch_unpop(depot, addresses_out, own);
    memset(addresses_out, 0, count * sizeof *addresses_out);
    return count - own - others;
}

int32_t fm_cache_alloc_batch(uint64_t pool, uint64_t stream,
                             uint64_t size_bytes, uint64_t count,
                             uint64_t *addresses_out) {
    for (bool leased = true; leased;) {
        struct fm_site site;
        if (!fm_site_lock(pool, stream, &site))
            return FM_CACHE_PASS;
        uint64_t missing = UINT64_MAX;
        /* What depots would not keep goes past them. */
        if (site.store != NULL && size_bytes - 1 < site.cache->block_max &&
            count <= site.cache->depot_bytes / size_bytes) {
            uint32_t class = fm_class_of(site.cache, size_bytes);
            missing = fm_batch_take(site.store, class, size_bytes,
                                    addresses_out, count);
            leased = missing > 0 &&
                     fm_core_lease(site.store, class,
                                   missing < FM_LEASE_MAX ? (uint32_t)missing
                                                          : FM_LEASE_MAX) > 0;
        } else {
            leased = false;
        }
        fm_unlock();
        if (missing == 0)
            return FM_CACHE_DONE;
    }
    return FM_CACHE_PASS;
}

/* ----------------------------------------------------------------- free */

/* Makes the first count blocks of a list live again: they are the last ones that
 * were pushed. */
static void fm_batch_unpush(struct fm_store *depot, const uint64_t *addresses,
                            uint64_t count) {
    struct fm_cache *cache = depot->cache;
    while (count-- > 0) {
        uint32_t index = fm_table_find(cache, addresses[count]);
        uint64_t meta = fm_meta(cache, index) & (FM_HOLDER_UNIT - 1);
        uint64_t whole = cache->class_bytes[fm_meta_class(meta)];
        fm_depot_unpush(depot, fm_meta_class(meta));
        fm_meta_set(cache, index, meta);
        fm_tally_alloc(depot, whole, whole - fm_meta_slack(meta));
        depot->tally.allocations--;
        depot->tally.frees--;
    }
}

/* Pushes one block of a list; a status below 0 when it cannot be freed. */
static int32_t fm_batch_push(struct fm_store *depot, uint64_t address,
                             uint64_t place) {
    struct fm_cache *cache = depot->cache;
    uint32_t index = fm_table_find(cache, address);
    if (index == 0)
        return FM_CACHE_PASS;
    uint64_t meta = fm_meta(cache, index);
    uint32_t class = fm_meta_class(meta);
    uint64_t whole = cache->class_bytes[class];
    if (FM_UNLIKELY(meta >= FM_HOLDER_UNIT))
        return fm_cache_fail(FERRUM_ERROR_DOUBLE_FREE, "pool.free_batch",
                             "address %llu of the batch, %#llx, is free: it is "
                             "named twice, or its block was freed before",
                             (unsigned long long)place,
                             (unsigned long long)address);
    struct fm_bin *bin = &depot->bins[class];
    if (FM_LIKELY(bin->top != NULL && bin->top->count < bin->top->room)) {
        fm_magazine_push(cache, bin->top, index, meta);
        bin->blocks++;
    } else if (fm_depot_reserve(depot, class, 1)) {
        fm_depot_push(depot, index, meta);
    } else {
        return fm_cache_fail(FERRUM_ERROR_RESOURCE_EXHAUSTED, "pool.free_batch",
                             "the process has no memory to keep address %llu "
                             "of the batch, %#llx, in a cache",
                             (unsigned long long)place,
                             (unsigned long long)address);
    }
    fm_tally_free(depot, whole, whole - fm_meta_slack(meta));
    return FM_CACHE_DONE;
}

int32_t fm_cache_free_batch(uint64_t pool, uint64_t stream,
                            const uint64_t *addresses, uint64_t count) {
    struct fm_site site;
    if (!fm_site_lock(pool, stream, &site))
        return FM_CACHE_PASS;
    int32_t result = site.store != NULL ? FM_CACHE_DONE : FM_CACHE_PASS;
    if (result == FM_CACHE_DONE) {
        struct fm_store *depot = fm_depot_for(site.store);
        uint64_t done = 0;
        while (done < count && result == FM_CACHE_DONE) {
            result = fm_batch_push(depot, addresses[done], done);
            done += result == FM_CACHE_DONE;
        }
        if (result != FM_CACHE_DONE)
            fm_batch_unpush(depot, addresses, done);
        fm_store_tell(depot);
        fm_depot_trim_unlock(depot, done);
    } else {
        fm_unlock();
    }
    return result;
}

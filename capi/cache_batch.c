/*
 * Thread caches: batches, all of it or nothing. They go through the depots under
 * one taking of the mutex; a lane would not hold them.
 */
#include <string.h>

#include "cache_parts.h"
#include "ferrum_mem.h"

/* Says without the mutex that a pool has no caches, if this thread knows it. */
static bool fm_batch_passes(uint64_t pool, uint64_t stream) {
    struct fm_thread *thread = fm_self;
    if (thread == NULL || !fm_busy_begin_fenced(thread))
        return false;
    const struct fm_key *key = fm_key_of(thread, pool, stream);
    bool passes =
        key->pool == pool && key->stream == stream && key->lane == NULL;
    fm_busy_end(thread);
    return passes;
}

/* ---------------------------------------------------------------- alloc */

/* So many blocks ahead, records are fetched. */
#define FM_AHEAD 8

/* Takes blocks out of a depot's magazine and says how many, the dropped ones
 * apart. */
static uint64_t fm_batch_pop_magazine(struct fm_magazine *magazine,
                                      uint64_t meta, uint64_t *addresses_out,
                                      uint64_t count) {
    struct fm_store *depot = magazine->store;
    struct fm_cache *cache = depot->cache;
    struct fm_block *blocks = cache->blocks;
    const uint32_t *items = magazine->items;
    uint32_t left = magazine->count;
    uint64_t holder = magazine->holder, taken = 0, bad = 0;
    for (uint32_t i = 0; i < FM_AHEAD && i < left; i++)
        fm_prefetch_write(&blocks[items[left - 1 - i]]);
    while (taken < count && left > 0) {
        struct fm_block *block = &blocks[items[--left]];
        if (left >= FM_AHEAD)
            fm_prefetch_write(&blocks[items[left - FM_AHEAD]]);
        uint64_t address =
            atomic_load_explicit(&block->address, memory_order_relaxed);
        uint64_t was = atomic_load_explicit(&block->meta, memory_order_relaxed);
        if (FM_UNLIKELY((was ^ holder) >= FM_HOLDER_UNIT ||
                        !fm_is_block(address))) {
            bad++;
            continue;
        }
        atomic_store_explicit(&block->meta, meta, memory_order_relaxed);
        addresses_out[taken++] = address;
    }
    magazine->count = left;
    if (FM_UNLIKELY(bad > 0))
        fm_magazine_dropped(magazine, bad);
    return taken;
}

/* Takes blocks of a class out of a depot and says how many. */
static uint64_t fm_batch_pop(struct fm_store *depot, uint32_t class,
                             uint64_t size_bytes, uint64_t *addresses_out,
                             uint64_t count) {
    uint64_t whole = depot->cache->class_bytes[class], taken = 0;
    uint64_t meta = (uint64_t)class << FM_CLASS_SHIFT | (whole - size_bytes);
    struct fm_bin *bin = &depot->bins[class];
    while (taken < count && bin->top != NULL) {
        taken += fm_batch_pop_magazine(bin->top, meta, addresses_out + taken,
                                       count - taken);
        if (bin->top->count == 0)
            fm_depot_drop_top(depot, bin);
    }
    fm_depot_fewer(bin, taken);
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
    if (fm_batch_passes(pool, stream))
        return FM_CACHE_PASS;
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

/* What is found of blocks at a time, so that the look-ups do not wait for each
 * other. */
#define FM_FOUND 32

/* Finds the first blocks of a list, up to the first that is no leased one, and has
 * their records come. */
static uint32_t fm_batch_find(const struct fm_cache *cache,
                              const uint64_t *addresses, uint64_t count,
                              uint32_t *indices_out) {
    uint32_t found = 0;
    while (found < count && found < FM_FOUND) {
        uint32_t index = fm_table_find(cache, addresses[found]);
        if (index == 0)
            break;
        indices_out[found++] = index;
    }
    return found;
}

static FM_COLD int32_t fm_batch_twice(uint64_t address, uint64_t place) {
    return fm_cache_fail(FERRUM_ERROR_DOUBLE_FREE, "pool.free_batch",
                         "address %llu of the batch, %#llx, is free: it is "
                         "named twice, or its block was freed before",
                         (unsigned long long)place,
                         (unsigned long long)address);
}

static FM_COLD int32_t fm_batch_no_memory(uint64_t address, uint64_t place) {
    return fm_cache_fail(FERRUM_ERROR_RESOURCE_EXHAUSTED, "pool.free_batch",
                         "the process has no memory to keep address %llu "
                         "of the batch, %#llx, in a cache",
                         (unsigned long long)place,
                         (unsigned long long)address);
}

/* Pushes blocks of one class that are live into a magazine, up to the first that
 * is none, and says how many; slack_out grows by theirs. */
static uint32_t fm_batch_push_magazine(struct fm_cache *cache,
                                       struct fm_magazine *magazine,
                                       const uint32_t *indices, uint32_t count,
                                       uint64_t *slack_out) {
    uint32_t *items = magazine->items + magazine->count, some = 0;
    uint64_t holder = magazine->holder, slack = 0;
    uint64_t class = magazine->class;
    if (count > magazine->room - magazine->count)
        count = magazine->room - magazine->count;
    for (; some < count; some++) {
        uint32_t index = indices[some];
        uint64_t meta = fm_meta(cache, index);
        if (meta >> FM_CLASS_SHIFT != class)
            break;
        fm_meta_set(cache, index, meta | holder);
        items[some] = index;
        slack += fm_meta_slack(meta);
    }
    magazine->count += some;
    *slack_out += slack;
    return some;
}

/* Pushes the blocks of a list, from the first to one that cannot be freed, and
 * says how many; the status is why, if it is below 0. */
static uint64_t fm_batch_push(struct fm_store *depot, const uint64_t *addresses,
                              uint64_t count, int32_t *status_out) {
    struct fm_cache *cache = depot->cache;
    uint32_t indices[FM_FOUND], found = 0, next = 0;
    uint64_t done = 0, bytes = 0, slack = 0;
    while (done < count) {
        if (next == found) {
            next = 0;
            found =
                fm_batch_find(cache, addresses + done, count - done, indices);
            if (found == 0) {
                *status_out = FM_CACHE_PASS;
                break;
            }
        }
        uint64_t meta = fm_meta(cache, indices[next]);
        if (FM_UNLIKELY(meta >= FM_HOLDER_UNIT)) {
            *status_out = fm_batch_twice(addresses[done], done);
            break;
        }
        uint32_t class = fm_meta_class(meta);
        struct fm_magazine *top = fm_depot_open(depot, class);
        if (FM_UNLIKELY(top == NULL)) {
            *status_out = fm_batch_no_memory(addresses[done], done);
            break;
        }
        uint32_t some = fm_batch_push_magazine(cache, top, indices + next,
                                               found - next, &slack);
        depot->bins[class].blocks += some;
        bytes += (uint64_t)some * cache->class_bytes[class];
        next += some;
        done += some;
    }
    depot->tally.frees += done;
    depot->tally.requested_bytes -= bytes - slack;
    depot->tally.live_bytes -= bytes;
    depot->tally.idle_bytes += bytes;
    return done;
}

int32_t fm_cache_free_batch(uint64_t pool, uint64_t stream,
                            const uint64_t *addresses, uint64_t count) {
    struct fm_site site;
    if (fm_batch_passes(pool, stream) || !fm_site_lock(pool, stream, &site))
        return FM_CACHE_PASS;
    int32_t result = site.store != NULL ? FM_CACHE_DONE : FM_CACHE_PASS;
    if (result == FM_CACHE_DONE) {
        struct fm_store *depot = fm_depot_for(site.store);
        uint64_t done = fm_batch_push(depot, addresses, count, &result);
        if (result != FM_CACHE_DONE)
            fm_batch_unpush(depot, addresses, done);
        fm_store_tell(depot);
        fm_depot_trim_unlock(depot, done);
    } else {
        fm_unlock();
    }
    return result;
}

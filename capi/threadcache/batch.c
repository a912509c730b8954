/*
 * Thread caches: batches, which succeed or fail as a whole. They work on the
 * depots, with the mutex taken once, because a lane has no room for them.
 */
#include <string.h>

#include "ferrum_mem.h"
#include "library.h"
#include "parts.h"

/* Reports without the mutex that a pool has no caches, if this thread knows
 * it. */
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

/* Records are prefetched this many blocks ahead. */
#define FM_AHEAD 8

/* Takes blocks out of a depot's magazine and returns their number. Dropped
 * entries do not count. */
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

/* Takes blocks of a class out of a depot, for the stream whose live blocks
 * have the holder live, and returns their number. */
static uint64_t fm_batch_pop(struct fm_store *depot, uint32_t class,
                             uint64_t live, uint64_t size_bytes,
                             uint64_t *addresses_out, uint64_t count) {
    uint64_t whole = depot->cache->class_bytes[class], taken = 0;
    uint64_t meta =
        live | (uint64_t)class << FM_CLASS_SHIFT | (whole - size_bytes);
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

/* Pushes count blocks that are live, and undoes their allocation. There is
 * room, because as many magazines as they need have just become empty. */
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

/* Takes all blocks of a batch out of the depots that a call may use. Otherwise
 * it returns the number of missing blocks. */
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
    uint64_t own = fm_batch_pop(depot, class, depot->live, size_bytes,
                                addresses_out, count);
    uint64_t others = fm_batch_pop(any, class, depot->live, size_bytes,
                                   addresses_out + own, count - own);
    if (own + others == count)
        return 0;
    /* Some entries were not valid. */
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
        /* A batch larger than what depots keep is left to the core. */
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

/* Makes the first count blocks of a list live again. They were pushed last. */
static void fm_batch_unpush(struct fm_cache *cache, const uint64_t *addresses,
                            uint64_t count) {
    while (count-- > 0) {
        uint32_t index = fm_table_find(cache, addresses[count]);
        uint64_t meta = fm_meta(cache, index);
        struct fm_store *depot = cache->magazines[fm_meta_number(meta)]->store;
        uint64_t whole = cache->class_bytes[fm_meta_class(meta)];
        fm_depot_unpush(depot, fm_meta_class(meta));
        fm_meta_hold(cache, index, depot->live);
        fm_tally_alloc(depot, whole, whole - fm_meta_slack(meta));
        depot->tally.allocations--;
        depot->tally.frees--;
        fm_store_tell(depot);
    }
}

/* The number of blocks that are looked up at a time, so that the lookups do
 * not wait for each other. */
#define FM_FOUND 32

/* Finds the first blocks of a list, up to the first one that is not leased,
 * and prefetches their records. */
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
    return fm_cache_fail(
        FERRUM_ERROR_DOUBLE_FREE, "pool.free_batch",
        "address %llu of the batch, %#llx, is free already: its "
        "block was freed before, or is in the batch twice",
        (unsigned long long)place, (unsigned long long)address);
}

static FM_COLD int32_t fm_batch_no_memory(uint64_t address, uint64_t place) {
    return fm_cache_fail(FERRUM_ERROR_RESOURCE_EXHAUSTED, "pool.free_batch",
                         "the process has no memory to keep address %llu "
                         "of the batch, %#llx, in a cache",
                         (unsigned long long)place,
                         (unsigned long long)address);
}

/* Pushes live blocks into a magazine, up to the first one of another class or
 * stream, and returns their number. slack_out is the sum of their slack. */
static uint32_t fm_batch_push_magazine(struct fm_cache *cache,
                                       struct fm_magazine *magazine,
                                       const uint32_t *indices, uint32_t count,
                                       uint64_t *slack_out) {
    uint32_t *items = magazine->items + magazine->count, some = 0;
    uint64_t first = fm_meta(cache, indices[0]), slack = 0;
    uint64_t like = first >> FM_CLASS_SHIFT;
    /* Changes the holder from the stream to the magazine. */
    uint64_t flip = (first & ~(FM_HOLDER_UNIT - 1)) ^ magazine->holder;
    if (count > magazine->room - magazine->count)
        count = magazine->room - magazine->count;
    for (; some < count; some++) {
        uint32_t index = indices[some];
        uint64_t meta = fm_meta(cache, index);
        if (meta >> FM_CLASS_SHIFT != like)
            break;
        fm_meta_set(cache, index, meta ^ flip);
        items[some] = index;
        slack += fm_meta_slack(meta);
    }
    magazine->count += some;
    *slack_out = slack;
    return some;
}

/* Pushes the first blocks of a list, which are live, into a depot and returns
 * their number; 0 if there is no memory. */
static uint32_t fm_batch_push_run(struct fm_store *depot,
                                  const uint32_t *indices, uint32_t count) {
    struct fm_cache *cache = depot->cache;
    uint32_t class = fm_meta_class(fm_meta(cache, indices[0]));
    struct fm_magazine *top = fm_depot_open(depot, class);
    if (FM_UNLIKELY(top == NULL))
        return 0;
    uint64_t slack;
    uint32_t some = fm_batch_push_magazine(cache, top, indices, count, &slack);
    uint64_t bytes = (uint64_t)some * cache->class_bytes[class];
    depot->bins[class].blocks += some;
    depot->tally.frees += some;
    depot->tally.requested_bytes -= bytes - slack;
    depot->tally.live_bytes -= bytes;
    depot->tally.idle_bytes += bytes;
    return some;
}

/* A batch that is being freed. */
struct fm_batch {
    struct fm_site site;
    struct fm_order order;
    /** The depot that got the last block. */
    struct fm_store *depot;
    /** The number of blocks that were pushed. */
    uint64_t done;
};

/* The core has to be asked about two streams. */
enum { FM_BATCH_ASK = FM_CACHE_PASS + 1 };

/* Chooses the depot of a live block. If the stream of the batch has queued
 * work, blocks of other streams are left to the core: a depot does not store
 * the stream of a block, which would be needed to undo the batch. */
static int32_t fm_batch_choose(struct fm_batch *batch, uint64_t meta) {
    struct fm_store *to;
    bool busy = batch->order.own != 0 && batch->order.busy & FM_BUSY_NAMED;
    enum fm_order_way way =
        fm_order_find(&batch->site, meta, &batch->order, &to);
    struct fm_store *own = fm_depot_of_live(batch->site.cache, meta);
    if (way == FM_ORDER_PASS ||
        (busy && own != NULL && own != fm_depot_for(to)))
        return FM_CACHE_PASS;
    if (way == FM_ORDER_ASK)
        return FM_BATCH_ASK;
    to = fm_depot_for(to);
    if (batch->depot != NULL && batch->depot != to)
        fm_store_tell(batch->depot);
    batch->depot = to;
    return FM_CACHE_DONE;
}

/* Pushes the blocks of a list, up to one that cannot be freed; the result
 * states why. */
static int32_t fm_batch_push(struct fm_batch *batch, const uint64_t *addresses,
                             uint64_t count) {
    struct fm_cache *cache = batch->site.cache;
    uint32_t indices[FM_FOUND], found = 0, next = 0;
    while (batch->done < count) {
        uint64_t at = batch->done;
        if (next == found) {
            next = 0;
            found = fm_batch_find(cache, addresses + at, count - at, indices);
            if (found == 0)
                return FM_CACHE_PASS;
        }
        uint64_t meta = fm_meta(cache, indices[next]);
        if (FM_UNLIKELY(!fm_meta_live(meta)))
            return fm_batch_twice(addresses[at], at);
        /* Blocks of one stream go to the same depot. */
        if (FM_UNLIKELY(batch->depot == NULL ||
                        (meta ^ batch->depot->live) >= FM_HOLDER_UNIT)) {
            int32_t chosen = fm_batch_choose(batch, meta);
            if (chosen != FM_CACHE_DONE)
                return chosen;
        }
        uint32_t some =
            fm_batch_push_run(batch->depot, indices + next, found - next);
        if (FM_UNLIKELY(some == 0))
            return fm_batch_no_memory(addresses[at], at);
        next += some;
        batch->done += some;
    }
    return FM_CACHE_DONE;
}

/* The most blocks that one call frees while other threads wait. The core frees
 * larger batches in slices. */
#define FM_BATCH_MOST 32768

int32_t fm_cache_free_batch(uint64_t pool, uint64_t stream,
                            const uint64_t *addresses, uint64_t count) {
    if (count > FM_BATCH_MOST || fm_batch_passes(pool, stream))
        return FM_CACHE_PASS;
    for (struct fm_batch batch = {0};;) {
        batch.depot = NULL;
        batch.done = 0;
        if (!fm_site_lock(pool, stream, &batch.site))
            return FM_CACHE_PASS;
        if (batch.site.store == NULL) {
            fm_unlock();
            return FM_CACHE_PASS;
        }
        int32_t result = fm_batch_push(&batch, addresses, count);
        if (result != FM_CACHE_DONE)
            fm_batch_unpush(batch.site.cache, addresses, batch.done);
        if (result != FM_BATCH_ASK) {
            struct fm_store *depot = batch.depot != NULL
                                         ? batch.depot
                                         : fm_depot_for(batch.site.store);
            fm_store_tell(depot);
            fm_depot_trim_unlock(depot, batch.done);
            return result;
        }
        fm_order_ask_unlock(&batch.site, &batch.order);
    }
}

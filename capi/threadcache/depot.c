/* Thread caches: depots, and how much they keep. */
#include "parts.h"

/*
 * A depot may keep as much as the recent peak of live bytes and a little more, up
 * to the pool's depot_bytes. It may keep at least a part of the peak, unless the
 * program has set the size. The depot returns the surplus. The recent peak falls
 * with every check.
 *
 * That can be too little: if blocks of many sizes are allocated and freed
 * quickly, and few of them are live at one time, a kept block seldom has the size
 * of the next request. A sign of this is that blocks are leased soon after others
 * were returned. Then the depots may keep more by that amount, up to a part of
 * the peak. This amount falls too, but slowly, because measuring it again costs
 * calls of the core.
 */
#define FM_DEPOT_PART 8
#define FM_HIGH_FALL 256
#define FM_MISSED_FALL 8192
#define FM_MISSED_PART 2

uint64_t fm_keep_bytes(const struct fm_cache *cache) {
    return cache->high_bytes + cache->missed_bytes + FM_KEEP_LEAST;
}

void fm_keep_leased(struct fm_cache *cache, uint64_t bytes) {
    if (bytes > cache->shed_bytes)
        bytes = cache->shed_bytes;
    cache->shed_bytes -= bytes;
    cache->missed_bytes += bytes;
    if (cache->missed_bytes > cache->high_bytes / FM_MISSED_PART)
        cache->missed_bytes = cache->high_bytes / FM_MISSED_PART;
}

/* A thread's frees may be added to the total before another thread's
 * allocations are. */
static uint64_t fm_live_bytes(const struct fm_cache *cache) {
    uint64_t live = cache->total.live_bytes;
    return live > INT64_MAX ? 0 : live;
}

void fm_keep_lived(struct fm_cache *cache) {
    if (cache->high_bytes < fm_live_bytes(cache))
        cache->high_bytes = fm_live_bytes(cache);
}

static uint64_t fm_depot_bound(struct fm_cache *cache) {
    uint64_t live = fm_live_bytes(cache), high = cache->high_bytes;
    high = live >= high ? live : high - (high - live) / FM_HIGH_FALL;
    cache->high_bytes = high;
    cache->shed_bytes -= cache->shed_bytes / FM_HIGH_FALL;
    cache->missed_bytes -= cache->missed_bytes / FM_MISSED_FALL;
    uint64_t bound = fm_keep_bytes(cache);
    if (bound > cache->depot_bytes)
        bound = cache->depot_bytes;
    if (cache->thread_bytes_grow && bound < high / FM_DEPOT_PART)
        bound = high / FM_DEPOT_PART;
    return bound;
}

/* The most blocks that are returned at once. It bounds the cost of one free. */
#define FM_TRIM_MOST 64

static void fm_depot_link(struct fm_store *depot, struct fm_magazine **link,
                          struct fm_magazine *magazine) {
    magazine->store = depot;
    magazine->next = *link;
    *link = magazine;
}

/* Fills the top magazine from another one that is not full either, and puts
 * the rest on top. */
static void fm_depot_merge(struct fm_store *depot, struct fm_bin *bin,
                           struct fm_magazine *other) {
    struct fm_cache *cache = depot->cache;
    uint32_t index;
    while (bin->top->count < bin->top->room &&
           (index = fm_magazine_pop(other)) != 0)
        fm_magazine_push(cache, bin->top, index, fm_meta(cache, index));
    if (other->count > 0)
        fm_depot_link(depot, &bin->top, other);
    else
        fm_magazine_put(cache, other);
}

void fm_depot_attach(struct fm_store *depot, struct fm_magazine *magazine) {
    struct fm_bin *bin = &depot->bins[magazine->class];
    bin->blocks += magazine->count;
    depot->tally.idle_bytes +=
        (uint64_t)magazine->count * depot->cache->class_bytes[magazine->class];
    magazine->store = depot;
    if (bin->top == NULL || bin->top->count == bin->top->room)
        fm_depot_link(depot, &bin->top, magazine);
    else if (magazine->count == magazine->room)
        fm_depot_link(depot, &bin->top->next, magazine);
    else
        fm_depot_merge(depot, bin, magazine);
}

struct fm_magazine *fm_depot_detach(struct fm_store *depot, uint32_t class) {
    struct fm_bin *bin = &depot->bins[class];
    if (bin->top == NULL)
        return NULL;
    struct fm_magazine **link = &bin->top;
    if (bin->top->count < bin->top->room && bin->top->next != NULL)
        link = &bin->top->next;
    struct fm_magazine *magazine = *link;
    *link = magazine->next;
    magazine->next = NULL;
    fm_depot_fewer(bin, magazine->count);
    depot->tally.idle_bytes -=
        (uint64_t)magazine->count * depot->cache->class_bytes[class];
    return magazine;
}

bool fm_depot_reserve(struct fm_store *depot, uint32_t class, uint32_t count) {
    struct fm_cache *cache = depot->cache;
    const struct fm_magazine *top = depot->bins[class].top;
    uint64_t room = top != NULL ? top->room - top->count : 0;
    for (const struct fm_magazine *m = cache->unused[class];
         m != NULL && room < count; m = m->next)
        room += m->room;
    while (room < count) {
        struct fm_magazine *more = fm_magazine_get(cache, class);
        if (more == NULL)
            return false;
        room += more->room;
        fm_magazine_put(cache, more);
    }
    return true;
}

struct fm_magazine *fm_depot_open(struct fm_store *depot, uint32_t class) {
    struct fm_bin *bin = &depot->bins[class];
    if (bin->top == NULL || bin->top->count == bin->top->room) {
        struct fm_magazine *empty = fm_magazine_get(depot->cache, class);
        if (empty == NULL)
            return NULL;
        fm_depot_link(depot, &bin->top, empty);
    }
    return bin->top;
}

void fm_depot_push(struct fm_store *depot, uint32_t index, uint64_t meta) {
    uint32_t class = fm_meta_class(meta);
    fm_magazine_push(depot->cache, fm_depot_open(depot, class), index, meta);
    depot->bins[class].blocks++;
}

void fm_depot_drop_top(struct fm_store *depot, struct fm_bin *bin) {
    struct fm_magazine *empty = bin->top;
    bin->top = empty->next;
    fm_magazine_put(depot->cache, empty);
}

void fm_depot_unpush(struct fm_store *depot, uint32_t class) {
    struct fm_bin *bin = &depot->bins[class];
    if (bin->top->count == 0)
        fm_depot_drop_top(depot, bin);
    bin->top->count--;
    fm_depot_fewer(bin, 1);
}

uint32_t fm_depot_pop(struct fm_store *depot, uint32_t class) {
    struct fm_bin *bin = &depot->bins[class];
    while (bin->top != NULL) {
        uint32_t index = fm_magazine_pop(bin->top);
        if (index != 0) {
            fm_depot_fewer(bin, 1);
            return index;
        }
        fm_depot_drop_top(depot, bin);
    }
    return 0;
}

/* Returns the class whose unneeded blocks have the most bytes, or the class
 * with the most bytes if all blocks were needed, and how many of its blocks
 * may be returned. */
static uint32_t fm_depot_fattest(const struct fm_store *depot,
                                 uint64_t *blocks_out) {
    uint32_t fattest = 0;
    uint64_t most = 0;
    *blocks_out = 0;
    for (unsigned missed = 0; missed < 2 && most == 0; missed++)
        for (uint32_t class = 0; class < depot->cache->classes; class++) {
            const struct fm_bin *bin = &depot->bins[class];
            uint64_t blocks = missed ? (bin->blocks + 1) / 2 : bin->fewest;
            uint64_t bytes = blocks * depot->cache->class_bytes[class];
            if (bytes > most) {
                most = bytes;
                fattest = class;
                *blocks_out = blocks;
            }
        }
    return fattest;
}

/* Pops blocks above goal_bytes, at most FM_TRIM_MOST of them. */
static uint32_t fm_depot_shed(struct fm_store *depot, uint64_t goal_bytes,
                              struct fm_leaver *leavers) {
    uint32_t count = 0;
    while (count < FM_TRIM_MOST && depot->tally.idle_bytes > goal_bytes) {
        uint64_t blocks;
        uint32_t class = fm_depot_fattest(depot, &blocks);
        if (blocks == 0)
            break;
        for (; blocks > 0 && count < FM_TRIM_MOST &&
               depot->tally.idle_bytes > goal_bytes;
             blocks--) {
            uint32_t index = fm_depot_pop(depot, class);
            if (index == 0)
                break;
            fm_meta_hold(depot->cache, index, FM_HOLDER_NOBODY);
            depot->tally.idle_bytes -= depot->cache->class_bytes[class];
            depot->cache->shed_bytes += depot->cache->class_bytes[class];
            leavers[count++].index = index;
        }
        if (depot->bins[class].fewest > blocks)
            depot->bins[class].fewest = blocks;
    }
    if (depot->tally.idle_bytes <= goal_bytes)
        for (uint32_t class = 0; class < depot->cache->classes; class++)
            depot->bins[class].fewest = depot->bins[class].blocks;
    fm_store_tell(depot);
    return count;
}

/* Puts blocks that the core has rejected back into a depot. */
static void fm_depot_put_back(struct fm_store *depot,
                              const struct fm_leaver *leavers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = fm_meta_class(leavers[i].meta);
        if (!fm_depot_reserve(depot, class, 1)) {
            /* Neither the core nor the depot can keep the block: it stays on
             * its way until the pool ends. */
            fm_core_leave(depot->cache, leavers[i].index);
            continue;
        }
        fm_depot_push(depot, leavers[i].index, leavers[i].meta);
        depot->tally.idle_bytes += depot->cache->class_bytes[class];
    }
    fm_store_tell(depot);
}

/* Returns some surplus blocks, at most FM_TRIM_MOST, and returns their number.
 * The depot and the pool may be destroyed afterwards. */
static uint32_t fm_depot_trim(struct fm_store *depot) {
    struct fm_cache *cache = depot->cache;
    uint64_t bound = fm_depot_bound(cache);
    if (depot->tally.idle_bytes <= bound)
        return 0;
    fm_parcel_sort(depot);
    struct fm_leaver leavers[FM_TRIM_MOST];
    uint64_t pool = cache->pool, stream = depot->stream;
    uint32_t count = fm_depot_shed(depot, bound - bound / 8, leavers);
    if (count == 0 || fm_core_give_back(cache, stream, leavers, count) >= 0)
        return count;
    cache = fm_cache_of(pool);
    depot = fm_depot_of(cache, stream);
    fm_depot_put_back(depot != NULL ? depot : cache->any, leavers, count);
    return 0;
}

void fm_depot_trim_unlock(struct fm_store *depot, uint64_t freed) {
    uint64_t pool = depot->cache->pool, stream = depot->stream;
    while (depot != NULL) {
        uint32_t count = fm_depot_trim(depot);
        if (count == 0 || count >= freed)
            break;
        freed -= count;
        struct fm_cache *cache = fm_cache_of(pool);
        depot = cache != NULL ? fm_depot_of(cache, stream) : NULL;
    }
    fm_unlock();
}

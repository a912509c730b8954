//go:build fm_cache_pending

/* Thread caches: depots, and how much they keep. */
#include "cache_types.h"

/* Lanes and depots together may keep this part of what is live, or the pool's
 * idle_bytes; what is more, depots give back. */
#define FM_IDLE_PART 8

/* How many blocks a trim gives back at most: what one free may cost. */
#define FM_TRIM_MOST 64

/* A magazine that is not full goes on top, in front of one that may be neither:
 * they are few, and used first. */
void fm_depot_attach(struct fm_store *depot, struct fm_magazine *magazine) {
    struct fm_bin *bin = &depot->bins[magazine->class];
    magazine->store = depot;
    magazine->next = bin->top;
    bin->top = magazine;
    bin->blocks += magazine->count;
    depot->tally.idle_bytes +=
        (uint64_t)magazine->count * depot->cache->class_bytes[magazine->class];
}

struct fm_magazine *fm_depot_detach(struct fm_store *depot, uint32_t class) {
    struct fm_bin *bin = &depot->bins[class];
    struct fm_magazine *magazine = bin->top;
    if (magazine == NULL)
        return NULL;
    bin->top = magazine->next;
    bin->blocks -= magazine->count;
    depot->tally.idle_bytes -=
        (uint64_t)magazine->count * depot->cache->class_bytes[class];
    magazine->next = NULL;
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

void fm_depot_push(struct fm_store *depot, uint32_t index, uint64_t meta) {
    struct fm_bin *bin = &depot->bins[fm_meta_class(meta)];
    if (bin->top == NULL || bin->top->count == bin->top->room)
        fm_depot_attach(depot,
                        fm_magazine_get(depot->cache, fm_meta_class(meta)));
    fm_magazine_push(depot->cache, bin->top, index, meta);
    bin->blocks++;
}

void fm_depot_unpush(struct fm_store *depot, uint32_t class) {
    struct fm_bin *bin = &depot->bins[class];
    while (bin->top->count == 0)
        fm_magazine_put(depot->cache, fm_depot_detach(depot, class));
    bin->top->count--;
    bin->blocks--;
}

uint32_t fm_depot_pop(struct fm_store *depot, uint32_t class) {
    struct fm_bin *bin = &depot->bins[class];
    while (bin->top != NULL) {
        uint32_t index = fm_magazine_pop(bin->top);
        if (index != 0) {
            bin->blocks--;
            return index;
        }
        fm_magazine_put(depot->cache, fm_depot_detach(depot, class));
    }
    return 0;
}

/* The class that holds the most bytes of a depot. */
static uint32_t fm_depot_fattest(const struct fm_store *depot) {
    uint32_t fattest = 0;
    uint64_t most = 0;
    for (uint32_t class = 0; class < depot->cache->classes; class++) {
        uint64_t bytes =
            depot->bins[class].blocks * depot->cache->class_bytes[class];
        if (bytes > most) {
            most = bytes;
            fattest = class;
        }
    }
    return fattest;
}

/* Pops what is above goal_bytes, at most FM_TRIM_MOST blocks. */
static uint32_t fm_depot_shed(struct fm_store *depot, uint64_t goal_bytes,
                              struct fm_leaver *leavers) {
    uint32_t count = 0;
    while (count < FM_TRIM_MOST && depot->tally.idle_bytes > goal_bytes) {
        uint32_t class = fm_depot_fattest(depot);
        uint64_t half = (depot->bins[class].blocks + 1) / 2;
        for (; half > 0 && count < FM_TRIM_MOST &&
               depot->tally.idle_bytes > goal_bytes;
             half--) {
            uint32_t index = fm_depot_pop(depot, class);
            if (index == 0)
                break;
            depot->tally.idle_bytes -= depot->cache->class_bytes[class];
            leavers[count++].index = index;
        }
    }
    fm_store_tell(depot);
    return count;
}

/* Puts blocks that the core has refused back into a depot. */
static void fm_depot_put_back(struct fm_store *depot,
                              const struct fm_leaver *leavers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = fm_meta_class(leavers[i].meta);
        if (!fm_depot_reserve(depot, class, 1)) {
            /* Neither the core nor we can hold it: it is on its way until the
             * pool ends. */
            fm_core_leave(depot->cache, leavers[i].index);
            continue;
        }
        fm_depot_push(depot, leavers[i].index, leavers[i].meta);
        depot->tally.idle_bytes += depot->cache->class_bytes[class];
    }
    fm_store_tell(depot);
}

void fm_depot_trim_unlock(struct fm_store *depot) {
    struct fm_cache *cache = depot->cache;
    uint64_t bound = cache->total.live_bytes / FM_IDLE_PART;
    uint64_t idle = cache->total.idle_bytes, kept = depot->tally.idle_bytes;
    if (bound < cache->idle_bytes)
        bound = cache->idle_bytes;
    if (idle > bound && kept > 0) {
        struct fm_leaver leavers[FM_TRIM_MOST];
        uint64_t pool = cache->pool, stream = depot->stream;
        uint64_t excess = idle - (bound - bound / 8);
        uint32_t count =
            fm_depot_shed(depot, kept > excess ? kept - excess : 0, leavers);
        if (count > 0 && fm_core_give_back(cache, stream, leavers, count) < 0) {
            cache = fm_cache_of(pool);
            depot = fm_depot_of(cache, stream);
            fm_depot_put_back(depot != NULL ? depot : cache->any, leavers,
                              count);
        }
    }
    fm_unlock();
}

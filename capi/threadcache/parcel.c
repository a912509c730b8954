/*
 * Thread caches: parcels. A thread that only frees has blocks of many classes and
 * few of each. Putting them into a depot class by class would move the cache
 * lines of every class's magazines between two processors for one or two blocks.
 * So it passes them on in magazines that hold blocks of any class. The thread
 * that needs blocks sorts a parcel into magazines of its own, which no other
 * thread touches.
 *
 * An entry of a parcel has the block's class above its index.
 */
#include "parts.h"

#define FM_PARCEL_CLASS_SHIFT 24

static uint32_t fm_parcel_entry_class(uint32_t entry) {
    return entry >> FM_PARCEL_CLASS_SHIFT;
}

static void fm_parcel_push(struct fm_cache *cache, struct fm_magazine *parcel,
                           uint32_t index, uint64_t meta) {
    uint32_t class = fm_meta_class(meta);
    fm_magazine_push(cache, parcel, index, meta);
    parcel->items[parcel->count - 1] |= class << FM_PARCEL_CLASS_SHIFT;
}

/* Pops a valid entry of a depot's first parcel: its block, or 0 if the parcel
 * is empty. The block still counts in the idle bytes of the depot. */
static uint32_t fm_parcel_pop_first(struct fm_store *depot) {
    struct fm_cache *cache = depot->cache;
    struct fm_magazine *parcel = depot->parcels;
    while (parcel->count > 0) {
        uint32_t entry = parcel->items[--parcel->count];
        uint32_t index = entry & FM_INDEX_MASK;
        if (fm_entry_good(parcel, fm_address(cache, index),
                          fm_meta(cache, index)))
            return index;
        depot->tally.idle_bytes -=
            cache->class_bytes[fm_parcel_entry_class(entry)];
        cache->recount = true;
    }
    return 0;
}

static void fm_parcel_drop_first(struct fm_store *depot) {
    struct fm_magazine *empty = depot->parcels;
    depot->parcels = empty->next;
    fm_magazine_put(depot->cache, empty);
}

uint32_t fm_parcel_pop(struct fm_store *depot) {
    while (depot->parcels != NULL) {
        uint32_t index = fm_parcel_pop_first(depot);
        if (index != 0)
            return index;
        fm_parcel_drop_first(depot);
    }
    return 0;
}

/* Adds a parcel to a depot; false if there is no memory. */
static bool fm_parcel_add(struct fm_store *depot) {
    struct fm_magazine *parcel = fm_magazine_get(depot->cache, FM_PARCEL_CLASS);
    if (parcel == NULL)
        return false;
    parcel->store = depot;
    parcel->next = depot->parcels;
    depot->parcels = parcel;
    return true;
}

bool fm_parcel_pack(struct fm_store *lane, uint32_t class) {
    struct fm_cache *cache = lane->cache;
    struct fm_store *depot = lane->depot;
    uint64_t size = cache->class_bytes[class];
    for (struct fm_magazine *from = lane->bins[class].top; from != NULL;
         from = from->next) {
        while (from->count > 0) {
            if ((depot->parcels == NULL ||
                 depot->parcels->count == depot->parcels->room) &&
                !fm_parcel_add(depot))
                return false;
            uint32_t index = fm_magazine_pop(from);
            if (index == 0)
                break;
            fm_parcel_push(cache, depot->parcels, index, fm_meta(cache, index));
            lane->tally.idle_bytes -= size;
            depot->tally.idle_bytes += size;
        }
    }
    return true;
}

/* Prefetches the records of a parcel, all at once. */
static void fm_parcel_prefetch(const struct fm_cache *cache,
                               const struct fm_magazine *parcel) {
    for (uint32_t i = 0; i < parcel->count; i++)
        fm_prefetch_write(&cache->blocks[parcel->items[i] & FM_INDEX_MASK]);
}

bool fm_parcel_open(struct fm_store *lane, struct fm_store *depot) {
    struct fm_cache *cache = lane->cache;
    struct fm_magazine *parcel = depot->parcels;
    if (parcel == NULL)
        return false;
    fm_parcel_prefetch(cache, parcel);
    uint32_t index;
    while ((index = fm_parcel_pop_first(depot)) != 0) {
        uint64_t meta = fm_meta(cache, index);
        uint32_t class = fm_meta_class(meta);
        struct fm_store *to = lane;
        if (lane->bins[class].appetite == 0 || !fm_lane_room(lane, class))
            to = depot;
        if (to == depot && !fm_depot_reserve(depot, class, 1)) {
            fm_parcel_push(cache, parcel, index, meta);
            return false;
        }
        if (to == depot) {
            fm_depot_push(depot, index, meta);
            continue;
        }
        fm_magazine_push(cache, lane->bins[class].top, index, meta);
        depot->tally.idle_bytes -= cache->class_bytes[class];
        lane->tally.idle_bytes += cache->class_bytes[class];
    }
    fm_parcel_drop_first(depot);
    return true;
}

void fm_parcel_sort(struct fm_store *depot) {
    struct fm_cache *cache = depot->cache;
    for (; depot->parcels != NULL; fm_parcel_drop_first(depot)) {
        uint32_t index;
        while ((index = fm_parcel_pop_first(depot)) != 0) {
            uint64_t meta = fm_meta(cache, index);
            if (!fm_depot_reserve(depot, fm_meta_class(meta), 1)) {
                fm_parcel_push(cache, depot->parcels, index, meta);
                return;
            }
            fm_depot_push(depot, index, meta);
        }
    }
}

void fm_parcel_pour(struct fm_store *from, struct fm_store *depot) {
    while (from->parcels != NULL) {
        struct fm_magazine *parcel = from->parcels;
        from->parcels = parcel->next;
        parcel->next = depot->parcels;
        parcel->store = depot;
        depot->parcels = parcel;
        for (uint32_t i = 0; i < parcel->count; i++) {
            uint64_t size =
                from->cache
                    ->class_bytes[fm_parcel_entry_class(parcel->items[i])];
            from->tally.idle_bytes -= size;
            depot->tally.idle_bytes += size;
        }
    }
}

/* Thread caches: magazines, and the stores that have them: lanes and depots. */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

struct fm_magazine fm_magazine_none;

#define FM_MAGAZINE_LINE 64

/* ------------------------------------------------------------- magazines */

static struct fm_magazine *fm_magazine_make(struct fm_cache *cache,
                                            uint32_t class) {
    uint32_t number = cache->magazines_made + 1;
    if (number >= cache->magazines_room) {
        uint32_t room = cache->magazines_room == 0 ? 64 : number * 2;
        if (room > FM_NUMBERS_MAX)
            return NULL;
        struct fm_magazine **magazines =
            realloc(cache->magazines, room * sizeof *magazines);
        if (magazines == NULL)
            return NULL;
        cache->magazines = magazines;
        cache->magazines_room = room;
    }
    uint32_t room = fm_magazine_room(cache, class);
    /* On cache lines of its own, because other threads may use its neighbours. */
    struct fm_magazine *magazine;
    size_t size = sizeof *magazine + room * sizeof magazine->items[0];
    size = (size + FM_MAGAZINE_LINE - 1) / FM_MAGAZINE_LINE * FM_MAGAZINE_LINE;
    magazine = aligned_alloc(FM_MAGAZINE_LINE, size);
    if (magazine == NULL)
        return NULL;
    memset(magazine, 0, size);
    magazine->holder = number * FM_HOLDER_UNIT | FM_HOLDER_IDLE;
    magazine->class = class;
    magazine->room = room;
    cache->magazines[number] = magazine;
    cache->magazines_made = number;
    return magazine;
}

struct fm_magazine *fm_magazine_get(struct fm_cache *cache, uint32_t class) {
    struct fm_magazine *magazine = cache->unused[class];
    if (magazine == NULL)
        return fm_magazine_make(cache, class);
    cache->unused[class] = magazine->next;
    magazine->next = NULL;
    return magazine;
}

void fm_magazine_put(struct fm_cache *cache, struct fm_magazine *magazine) {
    if (magazine == &fm_magazine_none)
        return;
    magazine->store = NULL;
    magazine->next = cache->unused[magazine->class];
    cache->unused[magazine->class] = magazine;
}

void fm_magazine_dropped(struct fm_magazine *magazine, uint64_t count) {
    struct fm_store *store = magazine->store;
    store->tally.idle_bytes -=
        count * store->cache->class_bytes[magazine->class];
    if (store->thread == NULL)
        fm_depot_fewer(&store->bins[magazine->class], count);
    store->cache->recount = true;
}

uint32_t fm_magazine_pop(struct fm_magazine *magazine) {
    while (magazine->count > 0) {
        const struct fm_cache *cache = magazine->store->cache;
        uint32_t index = magazine->items[--magazine->count];
        if (fm_entry_good(magazine, fm_address(cache, index),
                          fm_meta(cache, index)))
            return index;
        fm_magazine_dropped(magazine, 1);
    }
    return 0;
}

/* ---------------------------------------------------------------- stores */

struct fm_store *fm_store_make(struct fm_cache *cache, uint64_t stream,
                               struct fm_thread *thread) {
    size_t size =
        sizeof(struct fm_store) + cache->classes * sizeof(struct fm_bin);
    size = (size + FM_LINE - 1) / FM_LINE * FM_LINE;
    struct fm_store *store = aligned_alloc(FM_LINE, size);
    if (store == NULL)
        return NULL;
    memset(store, 0, size);
    store->cache = cache;
    store->stream = stream;
    store->thread = thread;
    for (uint32_t class = 0; thread != NULL && class < cache->classes; class++)
        store->bins[class].top = &fm_magazine_none;
    store->next_of_all = cache->stores;
    if (cache->stores != NULL)
        cache->stores->previous_of_all = store;
    cache->stores = store;
    return store;
}

void fm_store_free(struct fm_store *store) {
    if (store->previous_of_all != NULL)
        store->previous_of_all->next_of_all = store->next_of_all;
    else
        store->cache->stores = store->next_of_all;
    if (store->next_of_all != NULL)
        store->next_of_all->previous_of_all = store->previous_of_all;
    free(store);
}

void fm_store_pour(struct fm_store *store, uint32_t class,
                   struct fm_store *depot) {
    struct fm_cache *cache = store->cache;
    struct fm_bin *bin = &store->bins[class];
    struct fm_magazine *next, *magazine = bin->top;
    bin->top = store->thread != NULL ? &fm_magazine_none : NULL;
    bin->blocks = bin->fewest = 0;
    for (; magazine != NULL; magazine = next) {
        next = magazine->next;
        store->tally.idle_bytes -=
            (uint64_t)magazine->count * cache->class_bytes[class];
        if (magazine->count > 0)
            fm_depot_attach(depot, magazine);
        else
            fm_magazine_put(cache, magazine);
    }
}

void fm_store_retire(struct fm_store *store, struct fm_store *depot) {
    for (uint32_t class = 0; class < store->cache->classes; class++)
        fm_store_pour(store, class, depot);
    fm_parcel_pour(store, depot);
    fm_table_end_run(store);
    fm_store_tell(store);
    fm_store_tell(depot);
    fm_store_free(store);
}

void fm_store_tell(struct fm_store *store) {
    struct fm_cache_counts *total = &store->cache->total;
    const struct fm_tally *now = &store->tally, *told = &store->told;
    total->requested_bytes += now->requested_bytes - told->requested_bytes;
    total->live_bytes += now->live_bytes - told->live_bytes;
    total->idle_bytes += now->idle_bytes - told->idle_bytes;
    total->allocations += now->allocations - told->allocations;
    total->frees += now->frees - told->frees;
    store->told = *now;
}

void fm_site_tell(struct fm_store *store) {
    fm_store_tell(store);
    if (store->depot != NULL)
        fm_store_tell(store->depot);
    fm_store_tell(store->cache->any);
}

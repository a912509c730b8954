/* Thread caches: the pools that have them, and how a call finds its lane. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "library.h"
#include "parts.h"

/* The bytes of a pool that a thread may keep by default. docs/rationale.md has the
 * measurement. */
#define FM_THREAD_BYTES (UINT64_C(128) << 20)
struct fm_cache **fm_caches;
uint32_t fm_caches_room;

int32_t fm_cache_fail(int32_t status, const char *operation, const char *format,
                      ...) {
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fm_error_keep(status, 0, (char *)operation, "", message);
    return status;
}

/* --------------------------------------------------------------- pools */

struct fm_cache *fm_cache_of(uint64_t pool) {
    uint32_t place = (uint32_t)pool;
    if (place >= fm_caches_room || fm_caches[place] == NULL ||
        fm_caches[place]->pool != pool)
        return NULL;
    return fm_caches[place];
}

static bool fm_caches_reserve(uint32_t place) {
    if (place < fm_caches_room)
        return true;
    uint64_t room = fm_caches_room == 0 ? 16 : fm_caches_room;
    while (room <= place)
        room *= 2;
    struct fm_cache **caches = realloc(fm_caches, room * sizeof *caches);
    if (caches == NULL)
        return false;
    for (uint64_t i = fm_caches_room; i < room; i++)
        caches[i] = NULL;
    fm_caches = caches;
    fm_caches_room = (uint32_t)room;
    return true;
}

void fm_cache_end(struct fm_cache *cache) {
    if (cache == NULL)
        return;
    while (cache->stores != NULL)
        fm_store_free(cache->stores);
    for (uint32_t i = 1; i <= cache->magazines_made; i++)
        free(cache->magazines[i]);
    free(cache->magazines);
    free(cache->by_number);
    fm_table_free(cache);
    free(cache);
}

static void fm_cache_classes(struct fm_cache *cache, uint64_t granule_bytes) {
    cache->granule_shift = (uint32_t)__builtin_ctzll(granule_bytes);
    cache->block_max = FM_CACHE_BLOCK_MAX;
    cache->classes = fm_class_of(cache, cache->block_max) + 1;
    for (uint32_t class = 0; class < cache->classes; class++) {
        uint32_t doublings = class < 16 ? 0 : class / 8 - 1;
        uint32_t granules = (class - 8 * doublings + 1) << doublings;
        cache->class_bytes[class] = granules << cache->granule_shift;
    }
}

static struct fm_cache *fm_cache_make(uint64_t pool, uint64_t alignment_bytes,
                                      uint64_t thread_bytes) {
    struct fm_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    fm_cache_classes(cache, alignment_bytes > FM_GRANULE_MIN ? alignment_bytes
                                                             : FM_GRANULE_MIN);
    cache->pool = pool;
    cache->alignment_bytes = alignment_bytes;
    cache->thread_bytes_grow = thread_bytes == UINT64_MAX;
    cache->thread_bytes =
        thread_bytes == UINT64_MAX ? FM_THREAD_BYTES : thread_bytes;
    cache->depot_bytes = cache->thread_bytes;
    cache->any = fm_store_make(cache, 0, NULL);
    if (!fm_table_reserve(cache, 1) || cache->any == NULL) {
        fm_cache_end(cache);
        return NULL;
    }
    return cache;
}

bool fm_cache_open(uint64_t pool, uint64_t alignment_bytes,
                   uint64_t thread_bytes) {
    if (alignment_bytes > FM_CACHE_BLOCK_MAX)
        return false;
    fm_lock();
    fm_stop_register();
    bool opened = false;
    if (fm_caches_reserve((uint32_t)pool)) {
        struct fm_cache *cache =
            fm_cache_make(pool, alignment_bytes, thread_bytes);
        fm_caches[(uint32_t)pool] = cache;
        opened = cache != NULL;
    }
    /* A thread may have used the handle before the pool existed. */
    if (fm_keys_known(pool)) {
        fm_stop_begin();
        fm_keys_forget(pool, NULL);
        fm_stop_end();
    }
    fm_epoch++;
    fm_unlock();
    return opened;
}

void fm_cache_pause(uint64_t pool, bool paused) {
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    if (cache != NULL) {
        cache->paused = paused;
        /* Threads keep keys, also for calls that go to the core. */
        fm_stop_begin();
        fm_keys_forget(pool, NULL);
        fm_epoch++;
        fm_stop_end();
    }
    fm_unlock();
}

void fm_cache_set_tags(uint64_t pool, uint32_t last) {
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    /* Two threads may call this in another order than they got the tags. */
    if (cache != NULL &&
        last > atomic_load_explicit(&cache->tags, memory_order_relaxed))
        atomic_store_explicit(&cache->tags, last, memory_order_relaxed);
    fm_unlock();
}

/* -------------------------------------------------------------- stores */

struct fm_store *fm_depot_of(struct fm_cache *cache, uint64_t stream) {
    struct fm_store *depot = cache->depots;
    while (depot != NULL && depot->stream != stream)
        depot = depot->next;
    return depot;
}

/* Returns a number that no stream has, or 0 if there is no memory. */
static uint32_t fm_number_take(struct fm_cache *cache) {
    for (uint32_t looks = cache->numbers_room; looks > 0; looks--) {
        if (++cache->number_last >= cache->numbers_room)
            cache->number_last = 1;
        if (cache->by_number[cache->number_last] == NULL)
            return cache->number_last;
    }
    uint32_t room = cache->numbers_room == 0 ? 8 : cache->numbers_room * 2;
    if (room > FM_NUMBERS_MAX)
        return 0;
    struct fm_store **by_number =
        realloc(cache->by_number, room * sizeof *by_number);
    if (by_number == NULL)
        return 0;
    for (uint32_t i = cache->numbers_room; i < room; i++)
        by_number[i] = NULL;
    cache->number_last = cache->numbers_room == 0 ? 1 : cache->numbers_room;
    cache->by_number = by_number;
    cache->numbers_room = room;
    return cache->number_last;
}

static struct fm_store *fm_depot_make(struct fm_cache *cache, uint64_t stream) {
    uint32_t number = fm_number_take(cache);
    struct fm_store *depot =
        number != 0 ? fm_store_make(cache, stream, NULL) : NULL;
    if (depot != NULL) {
        depot->live = number * FM_HOLDER_UNIT;
        cache->by_number[number] = depot;
        depot->next = cache->depots;
        cache->depots = depot;
    }
    return depot;
}

static struct fm_store *fm_lane_of(struct fm_thread *thread,
                                   struct fm_store *depot) {
    struct fm_store *lane = thread->lanes;
    while (lane != NULL && lane->depot != depot)
        lane = lane->next;
    if (lane != NULL)
        return lane;
    lane = fm_store_make(depot->cache, depot->stream, thread);
    if (lane == NULL)
        return NULL;
    lane->depot = depot;
    lane->live = depot->live;
    lane->next = thread->lanes;
    thread->lanes = lane;
    fm_lanes_bound(thread, depot->cache);
    return lane;
}

/* Removes a lane from its thread's list. All threads are stopped. */
static void fm_lane_unlink(struct fm_store *lane) {
    struct fm_thread *thread = lane->thread;
    struct fm_store **link = &thread->lanes;
    while (*link != lane)
        link = &(*link)->next;
    *link = lane->next;
    fm_keys_forget(lane->cache->pool, lane);
    fm_lanes_bound(thread, lane->cache);
}

struct fm_cache *fm_cache_drop(uint64_t pool) {
    fm_lock();
    struct fm_cache *cache = fm_cache_of(pool);
    if (cache != NULL) {
        bool stopped = fm_keys_known(pool) || fm_has_lane(cache);
        if (stopped)
            fm_stop_begin();
        fm_keys_forget(pool, NULL);
        for (struct fm_store *s = cache->stores; s != NULL; s = s->next_of_all)
            if (s->thread != NULL)
                fm_lane_unlink(s);
        fm_caches[(uint32_t)pool] = NULL;
        fm_epoch++;
        if (stopped)
            fm_stop_end();
    }
    fm_unlock();
    return cache;
}

/* All threads are stopped. */
static void fm_depot_forget(struct fm_cache *cache, struct fm_store *depot) {
    struct fm_store **link = &cache->depots;
    while (*link != depot)
        link = &(*link)->next;
    *link = depot->next;
    cache->by_number[fm_meta_number(depot->live)] = NULL;
    struct fm_store *next;
    for (struct fm_store *s = cache->stores; s != NULL; s = next) {
        next = s->next_of_all;
        if (s->depot != depot)
            continue;
        fm_lane_unlink(s);
        fm_store_retire(s, cache->any);
    }
    fm_store_retire(depot, cache->any);
}

void fm_cache_forget_stream(uint64_t stream) {
    bool stopped = false;
    fm_lock();
    for (uint32_t i = 0; i < fm_caches_room; i++) {
        struct fm_cache *cache = fm_caches[i];
        struct fm_store *depot =
            cache != NULL ? fm_depot_of(cache, stream) : NULL;
        if (depot == NULL)
            continue;
        if (!stopped)
            fm_stop_begin();
        stopped = true;
        fm_depot_forget(cache, depot);
    }
    fm_epoch++;
    if (stopped)
        fm_stop_end();
    fm_unlock();
}

/* --------------------------------------------------------------- sites */

/*
 * Finds the caches and the handle of the stream itself. If the stream has a
 * depot, the handle is valid. Otherwise the function queries the core, without the
 * mutex, and again if a handle became invalid meanwhile.
 */
static bool fm_site_look_up(uint64_t pool, uint64_t stream,
                            struct fm_site *site) {
    for (;;) {
        site->cache = fm_cache_of(pool);
        if (site->cache != NULL && site->cache->paused)
            site->cache = NULL;
        if (site->cache == NULL)
            return false;
        site->stream = stream != 0 ? stream : site->cache->default_stream;
        if (site->stream != 0) {
            site->store = fm_depot_of(site->cache, site->stream);
            if (site->store != NULL)
                return true;
        }
        uint64_t epoch = fm_epoch;
        fm_unlock();
        site->stream = fmgo_cache_stream(pool, stream);
        fm_lock();
        if (site->stream == 0)
            return false;
        if (epoch != fm_epoch)
            continue;
        if (stream == 0)
            site->cache->default_stream = site->stream;
        site->store = fm_depot_of(site->cache, site->stream);
        if (site->store == NULL)
            site->store = fm_depot_make(site->cache, site->stream);
        return true;
    }
}

bool fm_site_lock(uint64_t pool, uint64_t stream, struct fm_site *site_out) {
    fm_lock();
    bool found = fm_site_look_up(pool, stream, site_out);
    struct fm_thread *thread = fm_thread_here();
    struct fm_store *lane = NULL;
    if (thread != NULL && found && site_out->store != NULL)
        lane = fm_lane_of(thread, site_out->store);
    if (lane != NULL)
        site_out->store = lane;
    /* For a pool without caches, the key lets the next calls do without the mutex. */
    if (thread != NULL && (lane != NULL || site_out->cache == NULL)) {
        struct fm_key *key = fm_key_of(thread, pool, stream);
        *key = (struct fm_key){pool, stream, lane};
    }
    if (!found)
        fm_unlock();
    return found;
}

#include "stub_core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A part of the address space, found by its number. */
struct place {
    uint64_t size_bytes;
    bool leased;
    /** The stream whose work may still use it, or 0. */
    uint64_t stream;
    uint64_t lives;
    /** The next free place of this size, or 0. */
    uint32_t next;
};

enum { SIZES = 128, PLACES = 1 << 20 };

struct pool {
    bool good;
    uint64_t limit, on_lease;
    struct place *places;
    uint32_t used;
    struct {
        uint64_t size_bytes;
        uint32_t first;
    } free[SIZES];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pool pools[STUB_POOLS];
static bool streams[STUB_STREAMS], working[STUB_STREAMS];
static uint64_t leases, give_backs, delay_ns;
static bool mistakes;
static int32_t refusal;

void stub_die(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

/* Addresses are far apart, so each address gives the number of its place. */
static uint64_t address_of(uint32_t place) {
    return UINT64_C(0x700000000000) + (uint64_t)place * FM_CACHE_BLOCK_MAX;
}

static struct place *place_of(struct pool *pool, uint64_t address) {
    uint64_t place = (address - UINT64_C(0x700000000000)) / FM_CACHE_BLOCK_MAX;
    CHECK(place > 0 && place < pool->used);
    CHECK(address_of((uint32_t)place) == address);
    return &pool->places[place];
}

static struct pool *pool_of(uint64_t handle) {
    uint64_t n = handle - STUB_POOL(0);
    return n < STUB_POOLS ? &pools[n] : NULL;
}

/* Allocated at the first use, because a pool may have many places. */
static struct place *places_of(struct pool *pool) {
    if (pool->places == NULL)
        pool->places = calloc(PLACES, sizeof *pool->places);
    CHECK(pool->places != NULL);
    return pool->places;
}

static bool stream_is_good(uint64_t handle) {
    uint64_t n = handle - STUB_STREAM(0);
    return n < STUB_STREAMS && streams[n];
}

void stub_reset(void) {
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < STUB_POOLS; i++) {
        struct place *places = pools[i].places;
        if (places != NULL)
            memset(places, 0, pools[i].used * sizeof *places);
        memset(&pools[i], 0, sizeof pools[i]);
        pools[i].places = places;
        pools[i].used = 1;
        pools[i].limit = UINT64_MAX;
    }
    memset(streams, 0, sizeof streams);
    memset(working, 0, sizeof working);
    pools[0].good = streams[0] = streams[1] = true;
    leases = give_backs = delay_ns = 0;
    mistakes = false;
    refusal = 0;
    pthread_mutex_unlock(&mutex);
}

void stub_pool_good(unsigned n, bool good) {
    pthread_mutex_lock(&mutex);
    pools[n].good = good;
    if (!good) {
        /* A destroyed pool loses all its blocks. */
        pools[n].on_lease = 0;
        for (uint32_t i = 1; i < pools[n].used; i++)
            pools[n].places[i].leased = false;
    }
    pthread_mutex_unlock(&mutex);
}

void stub_stream_good(unsigned n, bool good) {
    pthread_mutex_lock(&mutex);
    streams[n] = good;
    working[n] = working[n] && good;
    /* A destroyed stream has no work left. */
    for (unsigned p = 0; !good && p < STUB_POOLS; p++)
        for (uint32_t i = 1; i < pools[p].used; i++)
            if (pools[p].places[i].stream == STUB_STREAM(n))
                pools[p].places[i].stream = 0;
    pthread_mutex_unlock(&mutex);
}

void stub_stream_works(unsigned n, bool works) {
    pthread_mutex_lock(&mutex);
    working[n] = works;
    pthread_mutex_unlock(&mutex);
}

#define SET(name, place, type)        \
    void name(type value) {           \
        pthread_mutex_lock(&mutex);   \
        place = value;                \
        pthread_mutex_unlock(&mutex); \
    }
SET(stub_refuse, refusal, int32_t)
SET(stub_delay_ns, delay_ns, uint64_t)
SET(stub_freed_by_two, mistakes, bool)

#define GET(name, place)              \
    uint64_t name(void) {             \
        pthread_mutex_lock(&mutex);   \
        uint64_t value = place;       \
        pthread_mutex_unlock(&mutex); \
        return value;                 \
    }
GET(stub_leases, leases)
GET(stub_give_backs, give_backs)

void stub_limit(unsigned pool, uint64_t bytes) {
    pthread_mutex_lock(&mutex);
    pools[pool].limit = bytes;
    pthread_mutex_unlock(&mutex);
}

uint64_t stub_on_lease(unsigned pool) {
    pthread_mutex_lock(&mutex);
    uint64_t bytes = pools[pool].on_lease;
    pthread_mutex_unlock(&mutex);
    return bytes;
}

uint32_t stub_place(uint64_t address) {
    return (uint32_t)((address - UINT64_C(0x700000000000)) /
                      FM_CACHE_BLOCK_MAX);
}

uint64_t stub_lives(unsigned pool, uint64_t address) {
    pthread_mutex_lock(&mutex);
    uint64_t lives = place_of(&pools[pool], address)->lives;
    pthread_mutex_unlock(&mutex);
    return lives;
}

uint64_t stub_size(unsigned pool, uint64_t address) {
    pthread_mutex_lock(&mutex);
    struct place *place = place_of(&pools[pool], address);
    uint64_t size_bytes = place->leased ? place->size_bytes : 0;
    pthread_mutex_unlock(&mutex);
    return size_bytes;
}

static void take_back(struct pool *pool, uint64_t address, uint64_t stream) {
    struct place *place = place_of(pool, address);
    CHECK(place->leased);
    place->leased = false;
    place->stream = stream;
    pool->on_lease -= place->size_bytes;
    for (unsigned i = 0; i < SIZES; i++)
        if (pool->free[i].size_bytes == place->size_bytes) {
            place->next = pool->free[i].first;
            pool->free[i].first = (uint32_t)(place - pool->places);
        }
}

void stub_took(unsigned pool, uint64_t address, uint64_t size_bytes,
               uint64_t stream) {
    pthread_mutex_lock(&mutex);
    CHECK(place_of(&pools[pool], address)->size_bytes == size_bytes);
    take_back(&pools[pool], address, stream_is_good(stream) ? stream : 0);
    pthread_mutex_unlock(&mutex);
}

/* While a stream may still use a block, only that stream can get the block. */
static uint32_t take_place(struct pool *pool, uint64_t size_bytes,
                           uint64_t stream) {
    unsigned i = 0;
    while (i < SIZES && pool->free[i].size_bytes != size_bytes &&
           pool->free[i].size_bytes != 0)
        i++;
    CHECK(i < SIZES);
    pool->free[i].size_bytes = size_bytes;
    uint32_t *link = &pool->free[i].first;
    for (unsigned tries = 0; *link != 0 && tries < 8; tries++) {
        struct place *place = &pool->places[*link];
        if (place->stream == 0 || place->stream == stream) {
            uint32_t found = *link;
            *link = place->next;
            return found;
        }
        link = &place->next;
    }
    return pool->used < PLACES ? pool->used++ : 0;
}

static void busy(void) {
    if (delay_ns == 0)
        return;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((uint64_t)(now.tv_sec - start.tv_sec) * 1000000000 +
               (uint64_t)now.tv_nsec - (uint64_t)start.tv_nsec <
           delay_ns);
}

/* The bytes that enter and leave are exact at any time. The live bytes are
 * exact only while no thread runs. But every block counts either as live or
 * as idle. */
static void check_counts(const struct fm_cache_counts *counts) {
    CHECK(counts->left_bytes <= counts->entered_bytes);
    pthread_mutex_lock(&mutex);
    CHECK(mistakes || counts->live_bytes + counts->idle_bytes ==
                          counts->entered_bytes - counts->left_bytes);
    pthread_mutex_unlock(&mutex);
}

int32_t fmgo_cache_lease(uint64_t pool, uint64_t stream, uint64_t size_bytes,
                         uint32_t count, uint64_t *addresses_out,
                         struct fm_cache_counts *counts) {
    check_counts(counts);
    CHECK(count > 0 && size_bytes > 0 && size_bytes <= FM_CACHE_BLOCK_MAX);
    pthread_mutex_lock(&mutex);
    struct pool *p = pool_of(pool);
    CHECK(p != NULL);
    busy();
    leases++;
    int32_t leased = 0;
    while (p->good && stream_is_good(stream) && (uint32_t)leased < count &&
           p->on_lease + size_bytes <= p->limit) {
        uint32_t number = take_place(p, size_bytes, stream);
        if (number == 0)
            break;
        struct place *place = &places_of(p)[number];
        CHECK(!place->leased);
        place->size_bytes = size_bytes;
        place->leased = true;
        place->stream = 0;
        place->next = 0;
        place->lives++;
        p->on_lease += size_bytes;
        addresses_out[leased++] = address_of(number);
    }
    pthread_mutex_unlock(&mutex);
    return leased;
}

int32_t fmgo_cache_give_back(uint64_t pool, uint64_t stream,
                             uint64_t *addresses, uint32_t count,
                             struct fm_cache_counts *counts) {
    check_counts(counts);
    CHECK(count > 0);
    pthread_mutex_lock(&mutex);
    struct pool *p = pool_of(pool);
    CHECK(p != NULL);
    busy();
    give_backs++;
    int32_t status = refusal;
    if (p->good && status == 0)
        for (uint32_t i = 0; i < count; i++)
            take_back(p, addresses[i], stream_is_good(stream) ? stream : 0);
    pthread_mutex_unlock(&mutex);
    return status;
}

uint64_t fmgo_cache_stream(uint64_t pool, uint64_t stream) {
    pthread_mutex_lock(&mutex);
    struct pool *p = pool_of(pool);
    if (stream == 0)
        stream = STUB_STREAM(0);
    bool good = p != NULL && p->good && stream_is_good(stream);
    pthread_mutex_unlock(&mutex);
    return good ? stream : 0;
}

static bool stream_works(uint64_t handle) {
    return stream_is_good(handle) && working[handle - STUB_STREAM(0)];
}

int32_t fmgo_cache_busy(uint64_t own, uint64_t named) {
    pthread_mutex_lock(&mutex);
    int32_t busy = (stream_works(own) ? FM_BUSY_OWN : 0) |
                   (stream_works(named) ? FM_BUSY_NAMED : 0);
    pthread_mutex_unlock(&mutex);
    return busy;
}

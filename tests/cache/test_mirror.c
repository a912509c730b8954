/*
 * Published counters of devices, read while they are published, invalidated
 * and changed. A reading is consistent, or there is none. This file does the
 * steps of the core in C.
 */
#include <pthread.h>
#include <string.h>

#include "harness.h"
#include "mirrors/mirror.h"

enum { MIB = 1 << 20 };

static const uint64_t device = UINT64_C(0x0100000500000003);

static struct fm_mirror *mirror;

static void put(uint64_t *number, uint64_t value) {
    __atomic_store_n(number, value, __ATOMIC_SEQ_CST);
}

static void turn(uint64_t *version) {
    __atomic_fetch_add(version, 1, __ATOMIC_SEQ_CST);
}

/* Publishes a device of 100 MiB without pools. Half of it is available. */
static void show_device(void) {
    mirror = fm_mirror_of(device);
    memset(mirror, 0, sizeof *mirror);
    put(&mirror->handle, device);
    put(&mirror->total_bytes, 100 * MIB);
    put(&mirror->available_bytes, 50 * MIB);
    put(&mirror->limit_bytes, 100 * MIB);
    put(&mirror->device_total_bytes, 200 * MIB);
    put(&mirror->device_free_bytes, 60 * MIB);
    fm_mirror_since(0);
    put(&mirror->taken_at, fm_clock_ns() - 1000);
    turn(&mirror->version);
    fm_mirror_running(true);
}

static void show_pool(unsigned n, uint64_t cache, uint64_t active,
                      uint64_t cached) {
    struct fm_mirror_pool *pool = &mirror->pool[n];
    put(&pool->cache, cache);
    put(&pool->active_bytes, active);
    put(&pool->cached_bytes, cached);
    put(&pool->largest_free_bytes, cached);
    turn(&pool->version);
    turn(&mirror->version);
    put(&mirror->pools, mirror->pools | UINT64_C(1) << n);
    turn(&mirror->version);
}

static ferrum_memory_info info;

static enum fm_mirror_reading reading(uint64_t handle, uint64_t max_age_ns) {
    info = (ferrum_memory_info)FERRUM_MEMORY_INFO_INIT;
    enum fm_mirror_reading how = fm_mirror_read(handle, max_age_ns, &info);
    if (how != FM_MIRROR_READ) {
        const ferrum_memory_info untouched = FERRUM_MEMORY_INFO_INIT;
        CHECK(memcmp(&info, &untouched, sizeof info) == 0);
    }
    return how;
}

static void nothing_is_read_that_is_not_shown(void) {
    show_device();
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
    /* An earlier handle of that slot, a handle of another kind, and a slot
     * outside the table. */
    CHECK(reading(device - (UINT64_C(1) << 32), UINT64_MAX) == FM_MIRROR_ASK);
    CHECK(reading(device + (UINT64_C(1) << 56), UINT64_MAX) == FM_MIRROR_ASK);
    CHECK(reading((device & ~UINT64_C(0xFFFFFFFF)) + FM_MIRROR_DEVICES,
                  UINT64_MAX) == FM_MIRROR_ASK);
    CHECK(reading(0, UINT64_MAX) != FM_MIRROR_READ);
    CHECK(reading(UINT64_MAX, UINT64_MAX) == FM_MIRROR_ASK);
    fm_mirror_running(false);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_ASK);
    fm_mirror_running(true);
    put(&mirror->partial, 1);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_ASK);
    put(&mirror->partial, 0);
    turn(&mirror->version);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_HIDDEN);
    turn(&mirror->version);
    show_pool(7, 0, MIB, MIB);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
    turn(&mirror->pool[7].version);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_HIDDEN);
    turn(&mirror->pool[7].version);
    /* A pool that is not in use does not affect the device. */
    put(&mirror->pools, 0);
    turn(&mirror->pool[7].version);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
}

static void a_reading_is_as_old_as_it_may_be(void) {
    show_device();
    CHECK(reading(device, 0) == FM_MIRROR_ASK);
    CHECK(reading(device, 999) == FM_MIRROR_ASK);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
    CHECK(info.reading_age_ns >= 1000);
    /* A reading that was taken just now still has an age above 0. */
    put(&mirror->taken_at, 0);
    for (int tries = 0; tries < 1000; tries++) {
        fm_mirror_since(fm_clock_ns());
        CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
        CHECK(info.reading_age_ns >= 1);
    }
}

static void what_does_not_fit_is_cut(void) {
    show_device();
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
    CHECK(info.free_bytes == 50 * MIB && info.reserved_bytes == 50 * MIB);
    CHECK(info.limit_bytes == 100 * MIB);
    CHECK(info.device_total_bytes == 200 * MIB);
    CHECK(info.device_free_bytes == 60 * MIB);
    CHECK(info.fragmentation_ratio == 0 && info.bandwidth_known == 0);
    CHECK(info.pressure == FERRUM_PRESSURE_LOW);
    show_pool(0, 0, 20 * MIB, 10 * MIB);
    put(&mirror->pool[0].unusable_bytes, MIB);
    put(&mirror->pool[0].largest_free_bytes, 5 * MIB);
    put(&mirror->bandwidth, FM_MIRROR_BANDWIDTH_KNOWN | 0x40490fdb);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
    CHECK(info.used_bytes == 21 * MIB && info.free_bytes == 60 * MIB);
    CHECK(info.reserved_bytes == 19 * MIB);
    CHECK(info.largest_free_bytes == 50 * MIB);
    CHECK(info.fragmentation_ratio == 0.5F);
    CHECK(info.utilization_percent == 21.0F);
    CHECK(info.bandwidth_known == 1 && info.bandwidth_gbps == 3.14159274F);
    /* The counters exceed the size of the device, as when a driver rounds
     * its numbers. */
    show_pool(1, 0, UINT64_C(90) * MIB, 0);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
    CHECK(info.used_bytes == 100 * MIB && info.free_bytes == 0);
    CHECK(info.reserved_bytes == 0 && info.largest_free_bytes == 0);
    CHECK(info.pressure == FERRUM_PRESSURE_CRITICAL);
    /* Nothing is limited if the size of the device is unknown. Sums do not
     * overflow. */
    put(&mirror->total_bytes, 0);
    put(&mirror->available_bytes, UINT64_MAX);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
    CHECK(info.used_bytes == 111 * MIB && info.free_bytes == UINT64_MAX);
    CHECK(info.pressure == FERRUM_PRESSURE_LOW && info.reserved_bytes == 0);
}

static void levels_begin_where_they_should(void) {
    static const struct {
        uint64_t free;
        ferrum_pressure_level level;
    } edges[] = {{100, FERRUM_PRESSURE_LOW},    {31, FERRUM_PRESSURE_LOW},
                 {30, FERRUM_PRESSURE_MEDIUM},  {16, FERRUM_PRESSURE_MEDIUM},
                 {15, FERRUM_PRESSURE_HIGH},    {6, FERRUM_PRESSURE_HIGH},
                 {5, FERRUM_PRESSURE_CRITICAL}, {0, FERRUM_PRESSURE_CRITICAL}};
    static const uint64_t units[] = {1, MIB, UINT64_MAX / 100};
    show_device();
    for (unsigned u = 0; u < 3; u++)
        for (unsigned i = 0; i < sizeof edges / sizeof *edges; i++) {
            put(&mirror->total_bytes, 100 * units[u]);
            put(&mirror->available_bytes, edges[i].free * units[u]);
            CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
            CHECK(info.pressure == edges[i].level);
        }
}

/* The blocks of the caches count for their pool: live, idle, or in transit. */
static void caches_are_counted_with_their_pool(void) {
    uint64_t pool = open_pool(), blocks[8];
    show_device();
    for (unsigned i = 0; i < 8; i++)
        CHECK(cache_alloc(pool, 0, 1024, 0, &blocks[i]) == FM_CACHE_DONE);
    uint64_t lent = stub_on_lease(0);
    show_pool(2, pool, 0, 0);
    put(&mirror->pool[2].leased_bytes, lent + 512);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
    CHECK(info.active_allocations == 8 && info.used_bytes == 8 * 1024);
    CHECK(info.free_bytes == 50 * MIB + lent + 512 - 8 * 1024);
    for (unsigned i = 0; i < 8; i++) {
        CHECK(cache_free(pool, 0, blocks[i], 0) == FM_CACHE_DONE);
        CHECK(reading(device, UINT64_MAX) == FM_MIRROR_READ);
        CHECK(info.active_allocations == 7 - i);
        CHECK(info.used_bytes + info.free_bytes == 50 * MIB + lent + 512);
    }
    /* The numbers do not match if the pool has leased less, or has received
     * more back, than the caches know. Then there is no reading. */
    put(&mirror->pool[2].leased_bytes, lent - 1);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_HIDDEN);
    put(&mirror->pool[2].leased_bytes, lent);
    put(&mirror->pool[2].returned_bytes, 1);
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_HIDDEN);
    close_pool(0);
    put(&mirror->pool[2].returned_bytes, 0);
    fm_cache_end(fm_cache_drop(pool));
    CHECK(reading(device, UINT64_MAX) == FM_MIRROR_ASK);
}

/* ---------------------------------------------------------------- threads */

enum { POOLS = 3, CHANGES = 30000, READERS = 2 };

static _Atomic bool ended;

/* Moves bytes between active and cached of a pool, as one change of the
 * pool. Also moves bytes between a pool and the device, as one change of
 * the device. The sum stays constant. */
static void *change(void *unused) {
    uint64_t state = 11, available = 50 * MIB;
    uint64_t held[POOLS] = {MIB, MIB, MIB};
    for (unsigned i = 0; i < CHANGES; i++) {
        unsigned n = (unsigned)(random_next(&state) % POOLS);
        struct fm_mirror_pool *pool = &mirror->pool[n];
        bool grows = i % 16 == 0;
        if (grows)
            turn(&mirror->version);
        turn(&pool->version);
        if (grows) {
            uint64_t more = held[n] < 10 * MIB ? MIB : UINT64_C(-9) * MIB;
            held[n] += more;
            available -= more;
            put(&mirror->available_bytes, available);
        }
        uint64_t active = random_next(&state) % held[n];
        put(&pool->active_bytes, active);
        put(&pool->cached_bytes, held[n] - active);
        turn(&pool->version);
        if (grows)
            turn(&mirror->version);
    }
    atomic_store(&ended, true);
    return unused;
}

static void *look(void *count_out) {
    uint64_t count = 0;
    bool last = false;
    while (!last || count == 0) {
        last = atomic_load(&ended);
        ferrum_memory_info seen = FERRUM_MEMORY_INFO_INIT;
        if (fm_mirror_read(device, UINT64_MAX, &seen) != FM_MIRROR_READ)
            continue;
        CHECK(seen.used_bytes + seen.free_bytes == 50 * MIB + POOLS * MIB);
        count++;
    }
    *(uint64_t *)count_out = count;
    return NULL;
}

static void readings_are_of_one_moment(void) {
    show_device();
    for (unsigned n = 0; n < POOLS; n++)
        show_pool(n, 0, 0, MIB);
    atomic_store(&ended, false);
    pthread_t writer, readers[READERS];
    uint64_t counts[READERS];
    for (unsigned i = 0; i < READERS; i++)
        CHECK(pthread_create(&readers[i], NULL, look, &counts[i]) == 0);
    CHECK(pthread_create(&writer, NULL, change, NULL) == 0);
    CHECK(pthread_join(writer, NULL) == 0);
    for (unsigned i = 0; i < READERS; i++) {
        CHECK(pthread_join(readers[i], NULL) == 0);
        CHECK(counts[i] > 0);
    }
}

int main(void) {
    static const struct test tests[] = {
        TEST(nothing_is_read_that_is_not_shown),
        TEST(a_reading_is_as_old_as_it_may_be),
        TEST(what_does_not_fit_is_cut),
        TEST(levels_begin_where_they_should),
        TEST(caches_are_counted_with_their_pool),
        TEST(readings_are_of_one_moment),
    };
    return run_tests(tests, sizeof tests / sizeof *tests);
}

/*
 * Recent memory information is read without entering Go while the counters of
 * a device are published. After any change it equals the values of the device
 * and the counters, field by field. With several threads a reading belongs to
 * one moment. Handles that end meanwhile are rejected as usual.
 */
#include "asserts.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define SHARE (512 * MIB)

static ferrum_device device;

static void start(void) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = 2 * SHARE;
    config.flags = FERRUM_CONFIG_HOST_MEMORY_FORCED;
    MUST(ferrum_init(&config));
    MUST(ferrum_device_open("cpu:0", &device));
}

static int set_up(void **state) {
    (void)state;
    start();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return ferrum_shutdown(FERRUM_FORCE);
}

static uint64_t random_state = 5;
static uint64_t below(uint64_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % bound;
}

static ferrum_memory_info recent(void) {
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_recent_memory_info(device, UINT64_MAX, &info));
    return info;
}

#define SAME(field)                                                           \
    do {                                                                      \
        if (is.field != want.field)                                           \
            fail_msg("%s, look %d: " #field " is %.9g, not %.9g", what, look, \
                     (double)is.field, (double)want.field);                   \
    } while (0)

/* If pools have pages, workers move free memory between the pools and the
 * device. */
static bool quiet;

/* Three reads: one that makes the device publish its counters if necessary,
 * and two that read them. Then the device itself is queried. */
static void check(const char *what) {
    ferrum_memory_info looks[3], want = FERRUM_MEMORY_INFO_INIT;
    for (int look = 0; look < 3; look++)
        looks[look] = recent();
    assert_true(looks[1].reading_age_ns > 0 && looks[2].reading_age_ns > 0);
    assert_ok(ferrum_device_get_memory_info(device, &want));
    assert_int_equal(want.reading_age_ns, 0);
    for (int look = 0; look < 3; look++) {
        ferrum_memory_info is = looks[look];
        SAME(total_bytes);
        SAME(used_bytes);
        SAME(active_allocations);
        SAME(utilization_percent);
        SAME(bandwidth_known);
        SAME(bandwidth_gbps);
        if (!quiet)
            continue;
        SAME(free_bytes);
        SAME(reserved_bytes);
        SAME(largest_free_bytes);
        SAME(fragmentation_ratio);
        SAME(pressure);
    }
}

/* -------------------------------------------- one thread, every kind of change */

#define BLOCKS 64

static struct {
    ferrum_pool pool;
    ferrum_address blocks[BLOCKS];
    int count;
} pools[4];

static ferrum_manager manager;
static ferrum_memory memories[BLOCKS];
static int memory_count;
static ferrum_vpool vpool;
static uint32_t mapped;

static void make_pools(void) {
    ferrum_paging paging = quiet ? FERRUM_PAGING_OFF : FERRUM_PAGING_AUTO;
    ferrum_manager_config own = FERRUM_MANAGER_CONFIG_INIT;
    ferrum_pool_config plain = FERRUM_POOL_CONFIG_INIT;
    plain.initial_size_bytes = plain.growth_increment_bytes = 4 * MIB;
    plain.paging = paging;
    own.pool_configs[0] = &plain;
    static const char *strategies[] = {NULL, "tlsf", "fixed", "best_fit"};
    for (int i = 0; i < 4; i++) {
        ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
        config.strategy = strategies[i];
        config.initial_size_bytes = config.growth_increment_bytes = 4 * MIB;
        config.paging = paging;
        if (i == 2)
            config.fixed_block_bytes = 64 * KIB;
        if (i == 3)
            config.thread_cache_bytes = 0;
        assert_ok(ferrum_pool_create(device, &config, &pools[i].pool));
        pools[i].count = 0;
    }
    assert_ok(ferrum_manager_create(device, &own, &manager));
    memory_count = 0;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = BLOCKS * 64 * KIB;
    config.page_bytes = 64 * KIB;
    assert_ok(ferrum_vpool_create(device, &config, &vpool));
    mapped = 0;
}

static const char *use_pool(void) {
    int i = (int)below(4), n = pools[i].count;
    uint64_t size = i == 2          ? 64 * KIB
                    : below(4) == 0 ? MIB + below(3 * MIB)
                                    : 1 + below(32 * KIB);
    if (n == BLOCKS || (n > 0 && below(2) == 0)) {
        int at = (int)below((uint64_t)n);
        assert_ok(ferrum_pool_free(pools[i].pool, pools[i].blocks[at],
                                   default_stream));
        pools[i].blocks[at] = pools[i].blocks[--pools[i].count];
        return "free";
    }
    ferrum_status status = ferrum_pool_alloc(
        pools[i].pool, size, default_stream, &pools[i].blocks[n]);
    if (status != FERRUM_OK) {
        assert_status(status, FERRUM_ERROR_OUT_OF_MEMORY);
        return "alloc that fails";
    }
    pools[i].count++;
    return "alloc";
}

static const char *use_manager(void) {
    if (memory_count == BLOCKS || (memory_count > 0 && below(2) == 0)) {
        assert_ok(ferrum_memory_free(memories[--memory_count]));
        return "deallocate";
    }
    ferrum_status status = ferrum_manager_alloc(manager, 1 + below(2 * MIB),
                                                &memories[memory_count]);
    if (status == FERRUM_OK)
        memory_count++;
    else
        assert_status(status, FERRUM_ERROR_OUT_OF_MEMORY);
    return "allocate";
}

static const char *use_pages(void) {
    if (quiet)
        return use_pool();
    uint64_t at = below(32);
    if ((mapped >> at & 1) != 0) {
        assert_ok(
            ferrum_vpool_free(vpool, at * 64 * KIB, 64 * KIB, default_stream));
        mapped &= ~(UINT32_C(1) << at);
        return "unmap";
    }
    ferrum_address address;
    ferrum_status status =
        ferrum_vpool_alloc(vpool, at * 64 * KIB, 64 * KIB, &address);
    if (status == FERRUM_OK)
        mapped |= UINT32_C(1) << at;
    return "map";
}

static const char *change_settings(void) {
    uint64_t released;
    double gbps;
    ferrum_pool other;
    switch (below(5)) {
    case 0:
        assert_ok(ferrum_device_set_limit(device, below(2) * below(SHARE)));
        return "limit";
    case 1:
        assert_ok(ferrum_pool_trim(pools[below(4)].pool, 0, &released));
        return "trim";
    case 2:
        assert_ok(ferrum_device_set_limit(device, 0));
        {
            ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
            config.paging = quiet ? FERRUM_PAGING_OFF : FERRUM_PAGING_AUTO;
            assert_ok(ferrum_pool_create(device, &config, &other));
        }
        check("another pool");
        assert_ok(ferrum_pool_destroy(other, 0));
        return "a pool that is created and destroyed";
    case 3:
        if (ferrum_device_measure_bandwidth(device, &gbps) != FERRUM_OK)
            return "bandwidth that could not be measured";
        return "bandwidth";
    default:
        assert_ok(ferrum_device_synchronize(device, FERRUM_WAIT_FOREVER));
        return "synchronize";
    }
}

static void use_everything(int steps) {
    make_pools();
    check("nothing");
    for (int step = 0; step < steps; step++) {
        uint64_t kind = below(40);
        const char *what = kind < 24   ? use_pool()
                           : kind < 32 ? use_manager()
                           : kind < 39 ? use_pages()
                                       : change_settings();
        check(what);
    }
}

static void test_recent_info_equals_the_devices(void **state) {
    (void)state;
    quiet = true;
    use_everything(1500);
}

static void test_recent_info_while_workers_move_pages(void **state) {
    (void)state;
    quiet = false;
    use_everything(1000);
}

/* ----------------------------------------------------------------- threads */

#define THREADS 8
#define ROUNDS 4000
#define POOL_BYTES (256 * MIB)

static ferrum_pool fixed_pool;
static uint64_t whole;
static atomic_int at_work;

/* Blocks of the caches, and blocks from Go. Every change happens in a pool
 * that neither grows nor shrinks. */
static void *churn(void *seed) {
    ferrum_address blocks[16] = {0};
    uint64_t state = (uint64_t)(uintptr_t)seed * 2654435761u + 1;
    for (int i = 0; i < ROUNDS; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned at = state >> 60;
        if (blocks[at] != 0) {
            MUST(ferrum_pool_free(fixed_pool, blocks[at], default_stream));
            blocks[at] = 0;
            continue;
        }
        uint64_t size =
            (state >> 40) % 8 == 0 ? MIB + 1 : 1 + (state >> 44) % 9000;
        if (ferrum_pool_alloc(fixed_pool, size, default_stream, &blocks[at]) !=
            FERRUM_OK)
            blocks[at] = 0;
    }
    for (int at = 0; at < 16; at++)
        if (blocks[at] != 0)
            MUST(ferrum_pool_free(fixed_pool, blocks[at], default_stream));
    atomic_fetch_sub(&at_work, 1);
    return NULL;
}

/* Used plus free memory has the same sum in every reading. */
static void *watch(void *wrong_out) {
    bool last = false;
    while (!last) {
        last = atomic_load(&at_work) == 0;
        ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
        MUST(ferrum_device_get_recent_memory_info(device, UINT64_MAX, &info));
        if (info.used_bytes + info.free_bytes != whole ||
            info.used_bytes + info.free_bytes + info.reserved_bytes !=
                info.total_bytes ||
            info.largest_free_bytes > info.free_bytes)
            *(ferrum_memory_info *)wrong_out = info;
    }
    return NULL;
}

static void test_a_reading_belongs_to_one_moment(void **state) {
    (void)state;
    quiet = true;
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.initial_size_bytes = config.max_size_bytes = POOL_BYTES;
    config.growth_increment_bytes = POOL_BYTES;
    config.min_held_bytes = POOL_BYTES;
    config.pre_allocate = 1;
    config.paging = FERRUM_PAGING_OFF;
    assert_ok(ferrum_pool_create(device, &config, &fixed_pool));
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_memory_info(device, &info));
    whole = info.used_bytes + info.free_bytes;
    pthread_t threads[THREADS], watchers[2];
    ferrum_memory_info wrong[2] = {{0}};
    atomic_store(&at_work, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&watchers[i], NULL, watch, &wrong[i]),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        pthread_join(watchers[i], NULL);
        if (wrong[i].total_bytes != 0)
            fail_msg("used %" PRIu64 " and free %" PRIu64 " are not %" PRIu64,
                     wrong[i].used_bytes, wrong[i].free_bytes, whole);
    }
    check("all threads are at their end");
    assert_int_equal(recent().active_allocations, 0);
}

/* ---------------------------------------------------------- ended handles */

static _Atomic uint64_t known;
static atomic_bool stopped;

static void *ask(void *unused) {
    while (!atomic_load(&stopped)) {
        ferrum_device any = {atomic_load(&known)};
        ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
        ferrum_status status =
            ferrum_device_get_recent_memory_info(any, UINT64_MAX, &info);
        if (status == FERRUM_OK) {
            if (info.used_bytes + info.free_bytes + info.reserved_bytes !=
                info.total_bytes)
                must(FERRUM_ERROR_INTERNAL, "a torn reading");
        } else if (status != FERRUM_ERROR_INVALID_HANDLE &&
                   status != FERRUM_ERROR_NOT_INITIALIZED) {
            must(status, "recent information of a device that may be closed");
        }
    }
    return unused;
}

static void test_ended_handles_are_rejected(void **state) {
    (void)state;
    quiet = false;
    pthread_t threads[4];
    atomic_store(&known, device.id);
    atomic_store(&stopped, false);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
    for (int round = 0; round < 60; round++) {
        ferrum_pool pool;
        ferrum_address block;
        assert_ok(ferrum_pool_create(device, NULL, &pool));
        assert_ok(ferrum_pool_alloc(pool, 100 + below(2 * MIB), default_stream,
                                    &block));
        recent();
        ferrum_device old = device;
        if (round % 4 == 0) {
            assert_ok(ferrum_shutdown(FERRUM_FORCE));
            ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
            assert_status(
                ferrum_device_get_recent_memory_info(old, UINT64_MAX, &info),
                FERRUM_ERROR_NOT_INITIALIZED);
            start();
        } else {
            assert_ok(ferrum_device_close(device, FERRUM_FORCE));
            ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
            assert_status(
                ferrum_device_get_recent_memory_info(old, UINT64_MAX, &info),
                FERRUM_ERROR_INVALID_HANDLE);
            assert_message("destroyed");
            assert_ok(ferrum_device_open("cpu:0", &device));
        }
        atomic_store(&known, device.id);
        check("a device that was opened again");
    }
    atomic_store(&stopped, true);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void test_a_forked_child_reads_nothing(void **state) {
    (void)state;
    recent();
    recent();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
        _exit(ferrum_device_get_recent_memory_info(device, UINT64_MAX, &info) ==
                      FERRUM_ERROR_FORKED
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* More pools than the publication has places for: the core answers the
 * query. */
static void test_any_number_of_pools(void **state) {
    (void)state;
    quiet = false;
    ferrum_pool many[40];
    ferrum_address block;
    for (int i = 0; i < 40; i++) {
        assert_ok(ferrum_pool_create(device, NULL, &many[i]));
        assert_ok(ferrum_pool_alloc(many[i], 1000, default_stream, &block));
        assert_int_equal(recent().active_allocations, i + 1);
        check("one more");
    }
    for (int i = 0; i < 40; i++) {
        assert_ok(
            ferrum_pool_destroy(many[i % 2 == 0 ? i : 40 - i], FERRUM_FORCE));
        assert_int_equal(recent().active_allocations, 39 - i);
        check("one less");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_recent_info_equals_the_devices,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_recent_info_while_workers_move_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_reading_belongs_to_one_moment,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ended_handles_are_rejected, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_forked_child_reads_nothing,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any_number_of_pools, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Fallback managers, trackers and generic pools through the C ABI, over three
 * host devices. The second device plays the GPU, and the first is the fallback
 * device. The numbers of the seed project are reproduced exactly. Threads,
 * streams and host functions behave badly on purpose.
 */
#include "asserts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SHARE (16 * MIB)

static ferrum_device host, gpu;
static ferrum_fallback_manager manager;

static int set_up(void **state) {
    (void)state;
    setenv("FERRUM_HOST_DEVICES", "3", 1);
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = 3 * SHARE;
    assert_ok(ferrum_init(&config));
    assert_ok(ferrum_device_open("cpu:0", &host));
    assert_ok(ferrum_device_open("cpu:1", &gpu));
    ferrum_memory_config settings = FERRUM_MEMORY_CONFIG_INIT;
    settings.flags |= FERRUM_MEMORY_TRACK_ALLOCATIONS;
    settings.gpu_memory_fraction = 1;
    settings.min_free_bytes = 0;
    assert_ok(ferrum_fallback_manager_create(gpu, host, &settings, &manager));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_ok(ferrum_fallback_manager_destroy(manager, 0));
    assert_ok(ferrum_device_close(gpu, 0));
    assert_ok(ferrum_device_close(host, 0));
    assert_ok(ferrum_shutdown(0));
    unsetenv("FERRUM_HOST_DEVICES");
    return 0;
}

static ferrum_fallback_buffer make(uint64_t size_bytes, uint32_t flags) {
    ferrum_buffer_request request = FERRUM_BUFFER_REQUEST_INIT;
    request.dtype = FERRUM_DTYPE_U8;
    request.num_elements = size_bytes;
    request.flags = flags;
    request.tag = "kv";
    ferrum_fallback_buffer buffer;
    assert_ok(ferrum_fallback_manager_alloc(manager, &request, &buffer));
    return buffer;
}

static ferrum_fallback_buffer_info info_of(ferrum_fallback_buffer buffer) {
    ferrum_fallback_buffer_info info = FERRUM_FALLBACK_BUFFER_INFO_INIT;
    assert_ok(ferrum_fallback_buffer_get_info(buffer, &info));
    return info;
}

static void end(ferrum_fallback_buffer buffer) {
    assert_ok(ferrum_fallback_buffer_free(buffer, default_stream));
}

static void test_falls_back_and_comes_back(void **state) {
    (void)state;
    ferrum_fallback_buffer big = make(12 * MIB, 0);
    ferrum_fallback_buffer moves = make(8 * MIB, FERRUM_BUFFER_MOVABLE);
    ferrum_fallback_buffer_info info = info_of(moves);
    assert_int_equal(info.location, FERRUM_LOCATION_CPU);
    assert_true(info.device.id == host.id && info.manager.id == manager.id);
    assert_true(info.size_bytes == 8 * MIB && info.num_elements == 8 * MIB);
    assert_int_equal(info.flags, FERRUM_BUFFER_MOVABLE);
    /* On the CPU device the address is a pointer. */
    unsigned char *bytes = (unsigned char *)(uintptr_t)info.address;
    for (size_t i = 0; i < 8 * MIB; i++)
        bytes[i] = (unsigned char)(i * 7);
    ferrum_tracker tracker;
    assert_ok(ferrum_fallback_manager_get_tracker(manager, &tracker));
    ferrum_buffer_metadata known;
    assert_ok(ferrum_tracker_get(tracker, info.buffer_id, &known));
    assert_string_equal(known.tag, "kv");
    assert_int_equal(known.location, FERRUM_LOCATION_CPU);
    assert_true(known.device.id == host.id);

    end(big);
    info = info_of(moves);
    assert_int_equal(info.location, FERRUM_LOCATION_GPU);
    assert_true(info.device.id == gpu.id);
    static unsigned char got[8 * MIB];
    assert_ok(ferrum_fallback_buffer_read(moves, 0, got, sizeof got));
    for (size_t i = 0; i < sizeof got; i++)
        assert_int_equal(got[i], (unsigned char)(i * 7));
    ferrum_fallback_stats stats = FERRUM_FALLBACK_STATS_INIT;
    assert_ok(ferrum_fallback_manager_get_fallback_stats(manager, &stats));
    assert_true(stats.moved_to_gpu == 1 && stats.cpu_bytes == 0);
    assert_ok(ferrum_tracker_get(tracker, info.buffer_id, &known));
    assert_true(known.device.id == gpu.id);
    end(moves);
}

/* The numbers of the seed project's own test of its pool. */
static void test_generic_memory_pool(void **state) {
    (void)state;
    ferrum_generic_pool pool;
    assert_ok(ferrum_generic_pool_create(NULL, &pool));
    uint64_t id;
    assert_ok(ferrum_generic_pool_record_allocation(pool, 1024, NULL, &id));
    assert_true(id == 0);
    assert_ok(ferrum_generic_pool_record_allocation(pool, 2048, NULL, &id));
    ferrum_memory_stats stats = FERRUM_MEMORY_STATS_INIT;
    assert_ok(ferrum_generic_pool_get_stats(pool, &stats));
    assert_true(stats.total_allocated_bytes == 3072);
    assert_true(stats.in_use_bytes == 3072);
    ferrum_buffer_lease lease = {42, 1024, 0};
    uint32_t kept;
    assert_ok(ferrum_generic_pool_return(pool, &lease, &kept));
    assert_int_equal(kept, 1);
    assert_ok(ferrum_generic_pool_get_stats(pool, &stats));
    assert_true(stats.in_use_bytes == 2048 && stats.pooled_bytes == 1024);
    uint32_t found;
    assert_ok(ferrum_generic_pool_try_get(pool, 1024, NULL, &lease, &found));
    assert_int_equal(found, 1);
    assert_true(lease.buffer == 42 && lease.size_bytes == 1024);
    assert_ok(ferrum_generic_pool_get_stats(pool, &stats));
    assert_true(stats.pool_hits == 1 && stats.peak_bytes == 3072);
    assert_ok(ferrum_generic_pool_destroy(pool, FERRUM_FORCE));
}

static void test_memory_stats_display(void **state) {
    (void)state;
    ferrum_memory_stats stats = FERRUM_MEMORY_STATS_INIT;
    stats.total_allocated_bytes = 1024 * MIB;
    stats.in_use_bytes = 256 * MIB;
    stats.pool_hits = 100;
    stats.pool_misses = 10;
    char text[256];
    size_t length;
    assert_ok(ferrum_memory_stats_text(&stats, text, sizeof text, &length));
    assert_non_null(strstr(text, "1024.00 MB"));
    assert_non_null(strstr(text, "90.9%"));
    ferrum_memory_ratios ratios = FERRUM_MEMORY_RATIOS_INIT;
    assert_ok(ferrum_memory_stats_ratios(&stats, &ratios));
    assert_true(ratios.utilization == 0.25 && ratios.efficiency == 0.25);
    ferrum_memory_stats none = FERRUM_MEMORY_STATS_INIT;
    assert_ok(ferrum_memory_stats_ratios(&none, &ratios));
    assert_true(ratios.hit_rate == 0 && ratios.utilization == 0 &&
                ratios.efficiency == 1);
}

static void test_buffer_id_uniqueness(void **state) {
    (void)state;
    uint64_t one, two;
    assert_ok(ferrum_buffer_id_new(&one));
    assert_ok(ferrum_buffer_id_new(&two));
    assert_true(one > 0 && two > one);
    char text[32];
    size_t length;
    assert_ok(ferrum_buffer_id_text(42, text, sizeof text, &length));
    assert_string_equal(text, "Buffer#42");
}

static void test_old_allocations_are_strictly_older(void **state) {
    (void)state;
    const uint64_t hour = UINT64_C(3600000000000);
    ferrum_tracker tracker;
    assert_ok(ferrum_tracker_create(&tracker));
    for (uint64_t i = 1; i <= 3; i++) {
        ferrum_buffer_metadata m = {0};
        m.buffer_id = i;
        m.size_bytes = 100 * i;
        m.age_ns = i * hour;
        assert_ok(ferrum_tracker_track(tracker, &m));
    }
    ferrum_buffer_metadata found[3];
    size_t count;
    assert_ok(ferrum_tracker_find_old(tracker, 3 * hour / 2, found, 3, &count));
    assert_int_equal(count, 2);
    assert_true(found[0].buffer_id == 3 && found[1].buffer_id == 2);
    assert_ok(ferrum_tracker_find_old(tracker, UINT64_MAX, NULL, 0, &count));
    assert_int_equal(count, 0);
    ferrum_tracker_totals totals = FERRUM_TRACKER_TOTALS_INIT;
    assert_ok(ferrum_tracker_clear(tracker));
    assert_ok(ferrum_tracker_get_totals(tracker, &totals));
    assert_true(totals.count == 0 && totals.total_bytes == 0 &&
                totals.peak_bytes == 600);
    assert_ok(ferrum_tracker_destroy(tracker));
}

static void test_presets(void **state) {
    (void)state;
    static const struct {
        double fraction;
        uint32_t flags;
        uint64_t min_free_mib, per_bucket, pooled_mib;
    } want[] = {{0.9, FERRUM_MEMORY_CPU_FALLBACK, 512, 8, 1024},
                {0.95, FERRUM_MEMORY_CPU_FALLBACK, 256, 4, 512},
                {0.8, 0, 1024, 16, 4096},
                {0.7, FERRUM_MEMORY_CPU_FALLBACK, 128, 2, 64}};
    const ferrum_memory_config initial = FERRUM_MEMORY_CONFIG_INIT;
    assert_true(initial.max_pooled_bytes == 1024 * MIB);
    for (int i = 0; i < 4; i++) {
        ferrum_memory_config c = FERRUM_MEMORY_CONFIG_INIT;
        assert_ok(ferrum_memory_config_preset(i, &c));
        assert_true(c.gpu_memory_fraction == want[i].fraction);
        assert_int_equal(c.flags, want[i].flags);
        assert_true(c.min_free_bytes == want[i].min_free_mib * MIB);
        assert_true(c.max_pooled_per_bucket == want[i].per_bucket);
        assert_true(c.max_pooled_bytes == want[i].pooled_mib * MIB);
        assert_ok(ferrum_memory_config_check(&c));
    }
}

/* ------------------------------------------------------- misuse by callers */

static ferrum_fallback_buffer tried;
static ferrum_status answers[7];

static void try_all(void *user_data) {
    (void)user_data;
    char byte = 0;
    uint64_t moved;
    ferrum_address address;
    answers[0] = ferrum_fallback_buffer_move(tried, FERRUM_LOCATION_CPU);
    answers[1] = ferrum_fallback_buffer_read(tried, 0, &byte, 1);
    answers[2] = ferrum_fallback_buffer_pin(tried, NULL, NULL);
    answers[3] = ferrum_fallback_buffer_take(tried, 0, &address);
    answers[4] = ferrum_fallback_buffer_free(tried, default_stream);
    answers[5] = ferrum_fallback_manager_return_buffers(manager, &moved);
    answers[6] = ferrum_fallback_manager_destroy(manager, FERRUM_FORCE);
}

static void test_no_call_waits_in_a_host_function(void **state) {
    (void)state;
    tried = make(100, 0);
    ferrum_stream stream;
    assert_ok(ferrum_stream_default(gpu, &stream));
    assert_ok(ferrum_stream_host_function(stream, try_all, NULL));
    assert_ok(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER));
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        assert_int_equal(answers[i], FERRUM_ERROR_INVALID_STATE);
    end(tried);
}

/* Threads end and move one another's buffers. Each buffer ends once, and
 * nothing is left. */
enum { BUFFERS = 64, THREADS = 8 };
static ferrum_fallback_buffer shared[BUFFERS];
static atomic_int ended;

/* The details of this thread's last failure, to be freed. */
static void *wrong_answer(void) {
    ferrum_error_info info = FERRUM_ERROR_INFO_INIT;
    char *text = NULL;
    if (ferrum_last_error(&info) != FERRUM_OK ||
        asprintf(&text, "%d: %s", (int)info.status, info.message) < 0)
        fail_msg("no detail of a failure");
    return text;
}

static void *churn(void *number) {
    unsigned seed = (unsigned)(uintptr_t)number;
    for (int i = 0; i < 400; i++) {
        ferrum_fallback_buffer b = shared[rand_r(&seed) % BUFFERS];
        ferrum_status got;
        switch (rand_r(&seed) % 4) {
        case 0:
            got = ferrum_fallback_buffer_move(b, FERRUM_LOCATION_CPU);
            break;
        case 1:
            got = ferrum_fallback_buffer_move(b, FERRUM_LOCATION_GPU);
            break;
        case 2:
            got = ferrum_fallback_buffer_pin(b, NULL, NULL);
            if (got == FERRUM_OK)
                got = ferrum_fallback_buffer_unpin(b);
            break;
        default:
            got = ferrum_fallback_buffer_free(b, default_stream);
            if (got == FERRUM_OK)
                atomic_fetch_add(&ended, 1);
        }
        if (got != FERRUM_OK && got != FERRUM_ERROR_BUSY &&
            got != FERRUM_ERROR_INVALID_HANDLE)
            return wrong_answer();
    }
    return NULL;
}

static void test_threads_end_and_move_the_same_buffers(void **state) {
    (void)state;
    for (int i = 0; i < BUFFERS; i++)
        shared[i] = make(4096, 0);
    atomic_store(&ended, 0);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i),
                         0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        if (wrong != NULL)
            fail_msg("%s", (const char *)wrong);
    }
    int left = 0;
    for (int i = 0; i < BUFFERS; i++)
        left +=
            ferrum_fallback_buffer_free(shared[i], default_stream) == FERRUM_OK;
    assert_int_equal(atomic_load(&ended) + left, BUFFERS);
    ferrum_memory_stats stats = FERRUM_MEMORY_STATS_INIT;
    assert_ok(ferrum_fallback_manager_get_stats(manager, &stats));
    assert_true(stats.active_buffers == 0 && stats.in_use_bytes == 0);
    ferrum_fallback_stats fallen = FERRUM_FALLBACK_STATS_INIT;
    assert_ok(ferrum_fallback_manager_get_fallback_stats(manager, &fallen));
    assert_true(fallen.cpu_bytes == 0 && fallen.cpu_buffers == 0);
}

int main(void) {
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(test_falls_back_and_comes_back),
        EACH(test_generic_memory_pool),
        EACH(test_memory_stats_display),
        EACH(test_buffer_id_uniqueness),
        EACH(test_old_allocations_are_strictly_older),
        EACH(test_presets),
        EACH(test_no_call_waits_in_a_host_function),
        EACH(test_threads_end_and_move_the_same_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The global monitor and placement through the C ABI, over three host devices.
 * The results are compared with the allocations. Callbacks misbehave: they end
 * their own monitor or strategy, select inside a selection and return invalid
 * values.
 */
#include "asserts.h"

#include <pthread.h>
#include <stdio.h>

#define SHARE (64 * MIB)

static ferrum_device devices[3];
static ferrum_manager managers[3];
static ferrum_pool pool;

static int set_up(void **state) {
    (void)state;
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 3;
    config.host_memory_bytes = 3 * SHARE;
    config.flags = FERRUM_CONFIG_HOST_MEMORY_FORCED;
    assert_ok(ferrum_init(&config));
    /* Idle pages stay until a call releases them. */
    ferrum_pool_config keeping = FERRUM_POOL_CONFIG_INIT;
    keeping.ready_pages = FERRUM_READY_PAGES_ALL;
    ferrum_manager_config manager = FERRUM_MANAGER_CONFIG_INIT;
    manager.pool_configs[FERRUM_MEMORY_GENERAL] = &keeping;
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "cpu:%d", i);
        assert_ok(ferrum_device_open(id, &devices[i]));
        assert_ok(ferrum_manager_create(devices[i], &manager, &managers[i]));
    }
    ferrum_pool_config small = FERRUM_POOL_CONFIG_INIT;
    small.initial_size_bytes = MIB;
    small.growth_increment_bytes = MIB;
    assert_ok(ferrum_pool_create(devices[0], &small, &pool));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    return 0;
}

static ferrum_address take(uint64_t size_bytes) {
    ferrum_address address;
    assert_ok(ferrum_pool_alloc(pool, size_bytes, default_stream, &address));
    return address;
}

static void give(ferrum_address address) {
    assert_ok(ferrum_pool_free(pool, address, default_stream));
}

/* ------------------------------------------------------- recent information */

static ferrum_memory_info recent(uint64_t max_age_ns) {
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    assert_ok(
        ferrum_device_get_recent_memory_info(devices[0], max_age_ns, &info));
    assert_true(info.used_bytes + info.free_bytes + info.reserved_bytes ==
                info.total_bytes);
    assert_true(info.largest_free_bytes <= info.free_bytes);
    return info;
}

static void test_recent_information_follows_this_thread(void **state) {
    (void)state;
    assert_int_equal(recent(0).reading_age_ns, 0);
    ferrum_address blocks[64];
    uint64_t taken = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t size = (uint64_t)(i % 8 + 1) << 10;
        blocks[i] = take(size);
        uint64_t usable;
        assert_ok(ferrum_pool_usable_size(pool, blocks[i], &usable));
        taken += usable;
        ferrum_memory_info info = recent(UINT64_MAX);
        assert_true(info.reading_age_ns > 0);
        assert_int_equal(info.active_allocations, i + 1);
        assert_int_equal(info.used_bytes, taken);
    }
    ferrum_memory_info asked = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_memory_info(devices[0], &asked));
    assert_int_equal(asked.used_bytes, taken);
    assert_int_equal(asked.free_bytes, recent(UINT64_MAX).free_bytes);
    assert_int_equal(asked.reading_age_ns, 0);
    for (int i = 0; i < 64; i++)
        give(blocks[i]);
    assert_int_equal(recent(UINT64_MAX).active_allocations, 0);
    assert_int_equal(recent(UINT64_MAX).used_bytes, 0);
}

static void test_older_callers_get_known_fields(void **state) {
    (void)state;
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    info.struct_size = (uint32_t)offsetof(ferrum_memory_info, reading_age_ns);
    info.reading_age_ns = 77;
    assert_ok(ferrum_device_get_recent_memory_info(devices[0], 0, &info));
    assert_true(info.total_bytes == SHARE);
    assert_int_equal(info.reading_age_ns, 77);
}

/* ------------------------------------------------------------------- levels */

static void test_levels_of_both_profiles(void **state) {
    (void)state;
    static const struct {
        ferrum_pressure_profile profile;
        uint64_t used;
        ferrum_pressure_level level;
    } edges[] = {{0, 69, 0}, {0, 70, 1}, {0, 84, 1}, {0, 85, 2},
                 {0, 94, 2}, {0, 95, 3}, {1, 59, 0}, {1, 60, 1},
                 {1, 79, 1}, {1, 80, 2}, {1, 94, 2}, {1, 95, 3}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        ferrum_pressure_level level = -1;
        assert_ok(ferrum_pressure_level_of(edges[i].profile, 100,
                                           100 - edges[i].used, &level));
        assert_int_equal(level, edges[i].level);
        assert_ok(ferrum_pressure_from_utilization(
            edges[i].profile, (double)edges[i].used / 100, &level));
        assert_int_equal(level, edges[i].level);
    }
    ferrum_pressure_level level = -1;
    assert_ok(ferrum_pressure_level_of(0, 0, 0, &level));
    assert_int_equal(level, FERRUM_PRESSURE_LOW);
    assert_false(FERRUM_PRESSURE_SHOULD_FREE(FERRUM_PRESSURE_MEDIUM));
    assert_true(FERRUM_PRESSURE_SHOULD_FREE(FERRUM_PRESSURE_HIGH));
    assert_false(FERRUM_PRESSURE_SHOULD_DENY(FERRUM_PRESSURE_HIGH));
    assert_true(FERRUM_PRESSURE_SHOULD_DENY(FERRUM_PRESSURE_CRITICAL));
    level = -1;
    assert_status(ferrum_pressure_from_utilization(0, -0.5, &level),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_int_equal(level, 0);
    assert_status(ferrum_pressure_level_of(2, 1, 1, &level),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_pressure_level_of(0, 1, 1, NULL),
                  FERRUM_ERROR_NULL_POINTER);
}

/* ------------------------------------------------------------------ monitor */

/* Counts the calls of a callback, and stores the levels of its last call. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t calls;
    ferrum_device_level last[3];
    size_t count;
    int destroy;
    ferrum_status destroyed;
} news;
#define NEWS                    \
    {PTHREAD_MUTEX_INITIALIZER, \
     PTHREAD_COND_INITIALIZER,  \
     0,                         \
     {{{0}, 0, 0}},             \
     0,                         \
     0,                         \
     1}

static void hear(ferrum_monitor monitor, const ferrum_device_level *levels,
                 size_t count, void *data) {
    news *n = data;
    ferrum_status destroyed = 1;
    if (n->destroy)
        destroyed = ferrum_monitor_destroy(monitor);
    pthread_mutex_lock(&n->mutex);
    n->destroyed = destroyed;
    n->count = count;
    if (count > 0)
        memcpy(n->last, levels, count * sizeof *levels);
    n->calls++;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->mutex);
}

static void await_calls(news *n, size_t calls) {
    pthread_mutex_lock(&n->mutex);
    while (n->calls < calls)
        pthread_cond_wait(&n->changed, &n->mutex);
    pthread_mutex_unlock(&n->mutex);
}

static ferrum_monitor make_monitor(void) {
    ferrum_monitor_config config = FERRUM_MONITOR_CONFIG_INIT;
    config.interval_ns = UINT64_MAX;
    /* The state of the machine must not affect this test. */
    config.flags = FERRUM_MONITOR_IGNORE_SYSTEM;
    ferrum_monitor monitor;
    assert_ok(ferrum_monitor_create(&config, &monitor));
    return monitor;
}

static void test_monitor_reports_every_change(void **state) {
    (void)state;
    ferrum_monitor monitor = make_monitor();
    for (int i = 0; i < 3; i++)
        assert_ok(ferrum_monitor_register(monitor, managers[i]));
    assert_status(ferrum_monitor_register(monitor, managers[0]),
                  FERRUM_ERROR_ALREADY_EXISTS);
    news n = NEWS;
    assert_ok(ferrum_monitor_set_callback(monitor, hear, &n));
    ferrum_address block = take(58 * MIB);
    await_calls(&n, 1);
    assert_int_equal(n.count, 3);
    assert_int_equal(n.last[0].device.id, devices[0].id);
    assert_int_equal(n.last[0].level, FERRUM_PRESSURE_HIGH);
    assert_int_equal(n.last[1].level, FERRUM_PRESSURE_LOW);

    ferrum_monitor_pressure pressure = FERRUM_MONITOR_PRESSURE_INIT;
    assert_ok(ferrum_monitor_get_pressure(monitor, 0, &pressure));
    assert_int_equal(pressure.level, FERRUM_PRESSURE_HIGH);
    assert_int_equal(pressure.weighted_level, FERRUM_PRESSURE_LOW);
    assert_int_equal(pressure.devices, 3);
    assert_int_equal(pressure.unknown_devices, 0);
    assert_true(pressure.total_bytes == 3 * SHARE);
    assert_true(pressure.used_bytes >= 58 * MIB);

    size_t count = 0;
    ferrum_device_level levels[3];
    assert_ok(ferrum_monitor_get_levels(monitor, 0, NULL, 0, &count));
    assert_int_equal(count, 3);
    assert_status(ferrum_monitor_get_levels(monitor, 0, levels, 2, &count),
                  FERRUM_ERROR_BUFFER_TOO_SMALL);
    assert_int_equal(count, 3);
    assert_ok(ferrum_monitor_get_levels(monitor, 0, levels, 3, &count));
    assert_int_equal(levels[0].level, FERRUM_PRESSURE_HIGH);

    give(block);
    await_calls(&n, 2);
    assert_int_equal(n.last[0].level, FERRUM_PRESSURE_LOW);
    assert_ok(ferrum_monitor_unregister_device(monitor, devices[2]));
    await_calls(&n, 3);
    assert_int_equal(n.count, 2);
    assert_ok(ferrum_monitor_set_callback(monitor, NULL, NULL));
    assert_ok(ferrum_monitor_destroy(monitor));
    assert_int_equal(n.calls, 3);
}

static void test_registration_is_weak(void **state) {
    (void)state;
    ferrum_monitor monitor = make_monitor();
    ferrum_manager gone;
    assert_ok(ferrum_manager_create(devices[1], NULL, &gone));
    assert_ok(ferrum_monitor_register(monitor, gone));
    news n = NEWS;
    assert_ok(ferrum_monitor_set_callback(monitor, hear, &n));
    assert_ok(ferrum_manager_destroy(gone, 0));
    await_calls(&n, 1);
    assert_int_equal(n.count, 0);
    size_t count = 7;
    assert_ok(ferrum_monitor_get_levels(monitor, 0, NULL, 0, &count));
    assert_int_equal(count, 0);
    assert_status(ferrum_monitor_unregister(monitor, gone),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_status(ferrum_monitor_unregister(monitor, managers[0]),
                  FERRUM_ERROR_NOT_FOUND);
    assert_ok(ferrum_monitor_destroy(monitor));
}

static void test_callback_may_destroy_its_monitor(void **state) {
    (void)state;
    ferrum_monitor monitor = make_monitor();
    assert_ok(ferrum_monitor_register(monitor, managers[0]));
    news n = NEWS;
    n.destroy = 1;
    assert_ok(ferrum_monitor_set_callback(monitor, hear, &n));
    ferrum_address block = take(62 * MIB);
    await_calls(&n, 1);
    assert_ok(n.destroyed);
    assert_status(ferrum_monitor_destroy(monitor), FERRUM_ERROR_INVALID_HANDLE);
    give(block);
}

static void test_collecting_releases_cached_memory(void **state) {
    (void)state;
    ferrum_monitor monitor = make_monitor();
    assert_ok(ferrum_monitor_register(monitor, managers[0]));
    assert_ok(ferrum_monitor_register(monitor, managers[1]));
    ferrum_memory block;
    assert_ok(ferrum_manager_alloc(managers[1], MIB, &block));
    assert_ok(ferrum_memory_free(block));
    ferrum_collected done[2];
    size_t count = 0;
    assert_status(ferrum_monitor_collect(monitor, done, 1, &count),
                  FERRUM_ERROR_BUFFER_TOO_SMALL);
    assert_int_equal(count, 2);
    assert_ok(ferrum_monitor_collect(monitor, done, 2, &count));
    assert_int_equal(count, 2);
    assert_int_equal(done[1].device.id, devices[1].id);
    assert_ok(done[1].status);
    assert_int_equal(done[1].managers, 1);
    assert_true(done[1].memory_freed_bytes >= MIB);
    assert_true(done[1].time_taken_ns > 0);
    assert_int_equal(done[1].time_taken_ms,
                     (done[1].time_taken_ns + 999999) / 1000000);
    assert_ok(ferrum_monitor_destroy(monitor));
}

static void test_monitor_reports_the_system(void **state) {
    (void)state;
    ferrum_monitor monitor;
    assert_ok(ferrum_monitor_create(NULL, &monitor));
    assert_ok(ferrum_monitor_register(monitor, managers[0]));
    size_t length = 0;
    assert_ok(ferrum_monitor_info_json(monitor, 0, NULL, 0, &length));
    char text[8192];
    assert_true(length < sizeof text);
    assert_ok(ferrum_monitor_info_json(monitor, 0, text, sizeof text, &length));
    assert_non_null(strstr(text, "\"profile\":\"standard\""));
    assert_non_null(strstr(text, "\"system\":{\"machine\":{"));
    assert_ok(ferrum_monitor_destroy(monitor));
}

static void test_a_monitor_keeps_the_library(void **state) {
    (void)state;
    ferrum_monitor monitor = make_monitor();
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_monitor_destroy(monitor));
}

/* ---------------------------------------------------------------- placement */

static ferrum_placement_request wanting(uint64_t size_bytes) {
    ferrum_placement_request request = FERRUM_PLACEMENT_REQUEST_INIT;
    request.size_bytes = size_bytes;
    return request;
}

static uint64_t selected(ferrum_placement placement,
                         const ferrum_placement_request *request) {
    ferrum_device device = {7};
    assert_ok(ferrum_placement_select(placement, request, &device));
    return device.id;
}

static void test_built_in_strategies(void **state) {
    (void)state;
    ferrum_address block = take(32 * MIB);
    static const struct {
        const char *name;
        int device;
    } wants[] = {{"best_fit", 0},
                 {"best_fit_original", 0},
                 {"spread", 1},
                 {"pack", 0},
                 {"round_robin", 0}};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        ferrum_placement placement;
        assert_ok(ferrum_placement_create(wants[i].name, &placement));
        ferrum_placement_request request = wanting(MIB);
        assert_int_equal(selected(placement, &request),
                         devices[wants[i].device].id);
        char name[32];
        size_t length;
        assert_ok(
            ferrum_placement_get_name(placement, name, sizeof name, &length));
        assert_string_equal(name, wants[i].name);
        assert_ok(ferrum_placement_destroy(placement));
    }
    give(block);
}

static void test_requirements_are_enforced(void **state) {
    (void)state;
    ferrum_placement placement;
    assert_ok(ferrum_placement_create("best_fit", &placement));
    ferrum_placement_request request = wanting(MIB);
    const ferrum_device order[] = {devices[2], devices[1]};
    request.preferred = order;
    request.preferred_count = 2;
    request.flags = FERRUM_PLACEMENT_STRICT;
    assert_int_equal(selected(placement, &request), devices[2].id);
    request.devices = devices;
    request.device_count = 2;
    assert_int_equal(selected(placement, &request), devices[1].id);
    request.size_bytes = 62 * MIB;
    request.flags = FERRUM_PLACEMENT_REFUSE_CRITICAL;
    ferrum_device device = {7};
    assert_status(ferrum_placement_select(placement, &request, &device),
                  FERRUM_ERROR_NOT_FOUND);
    assert_int_equal(device.id, 0);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    assert_ok(ferrum_last_error(&error));
    assert_non_null(strstr(error.message, "cpu:1: would_be_critical"));
    request.flags = 0;
    assert_int_equal(selected(placement, &request), devices[1].id);
    char text[4096];
    size_t length;
    assert_ok(ferrum_placement_explain_json(placement, &request, text,
                                            sizeof text, &length));
    assert_non_null(strstr(text, "\"chosen\":\"cpu:1\""));
    assert_non_null(strstr(text, "\"level_after\":\"critical\""));
    assert_ok(ferrum_placement_destroy(placement));
}

/* The result that a strategy of the test returns. */
typedef struct {
    int64_t answer;
    ferrum_status status;
    ferrum_placement own, inner;
    int destroy;
    size_t seen;
} chooser;

static ferrum_status choose(const ferrum_placement_request *request,
                            const ferrum_placement_option *options,
                            size_t count, int64_t *chosen_out, void *data) {
    chooser *c = data;
    c->seen = count;
    if (*chosen_out != -1 || request->devices != NULL ||
        request->struct_size != sizeof *request || options[0].reason != 0)
        return FERRUM_ERROR_MODEL;
    if (c->inner.id != 0) {
        ferrum_placement_request again = wanting(request->size_bytes);
        ferrum_device device;
        ferrum_status status =
            ferrum_placement_select(c->inner, &again, &device);
        if (status != FERRUM_OK)
            return status;
    }
    if (c->destroy)
        c->status = ferrum_placement_destroy(c->own);
    *chosen_out = c->answer;
    return c->status;
}

static void test_strategy_of_the_caller(void **state) {
    (void)state;
    chooser c = {1, FERRUM_OK, {0}, {0}, 0, 0};
    assert_ok(ferrum_placement_create("spread", &c.inner));
    assert_ok(ferrum_placement_create_own("mine", choose, &c, &c.own));
    ferrum_placement_request request = wanting(MIB);
    assert_int_equal(selected(c.own, &request), devices[1].id);
    assert_int_equal(c.seen, 3);

    ferrum_device device = {7};
    static const struct {
        int64_t answer;
        ferrum_status status, want;
        const char *message;
    } bad[] = {
        {3, FERRUM_OK, FERRUM_ERROR_INVALID_ARGUMENT, "chose candidate 3 of 3"},
        {INT64_MIN, FERRUM_OK, FERRUM_ERROR_INVALID_ARGUMENT, "chose -92"},
        {-1, FERRUM_OK, FERRUM_ERROR_NOT_FOUND, "not_taken"},
        {0, FERRUM_ERROR_BUSY, FERRUM_ERROR_BUSY, "its callback returned -23"},
        {0, 5, FERRUM_ERROR_INVALID_ARGUMENT, "its callback returned 5"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        c.answer = bad[i].answer;
        c.status = bad[i].status;
        assert_status(ferrum_placement_select(c.own, &request, &device),
                      bad[i].want);
        ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
        assert_ok(ferrum_last_error(&error));
        assert_non_null(strstr(error.message, "mine"));
        assert_non_null(strstr(error.message, bad[i].message));
    }
    c.answer = 2;
    c.status = FERRUM_OK;
    c.destroy = 1;
    assert_int_equal(selected(c.own, &request), devices[2].id);
    assert_status(ferrum_placement_select(c.own, &request, &device),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_placement_destroy(c.inner));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_recent_information_follows_this_thread),
        TEST(test_older_callers_get_known_fields),
        TEST(test_levels_of_both_profiles),
        TEST(test_monitor_reports_every_change),
        TEST(test_registration_is_weak),
        TEST(test_callback_may_destroy_its_monitor),
        TEST(test_collecting_releases_cached_memory),
        TEST(test_monitor_reports_the_system),
        TEST(test_a_monitor_keeps_the_library),
        TEST(test_built_in_strategies),
        TEST(test_requirements_are_enforced),
        TEST(test_strategy_of_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

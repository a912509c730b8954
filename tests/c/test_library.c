/*
 * The header's promises, tested through the header. Each test starts with one
 * live object of every kind and ends with a clean stop of the library, which
 * fails if anything is left.
 */
#include "each.h"
#include "requests.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static ferrum_statistics pool_statistics(ferrum_pool pool) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_pool_get_statistics(pool, &s));
    assert_int_equal(s.reserved.current,
                     s.active.current + s.cached.current + s.unusable.current);
    return s;
}

/* ------------------------------------------------------ library and devices */

static void test_versions_and_texts(void **state) {
    (void)state;
    assert_int_equal(ferrum_abi_version(), FERRUM_ABI_VERSION);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", FERRUM_VERSION_MAJOR,
             FERRUM_VERSION_MINOR, FERRUM_VERSION_PATCH);
    assert_string_equal(ferrum_version_string(), version);
#define CHECK(name, value, text)                           \
    assert_string_equal(ferrum_status_name(value), #name); \
    assert_string_equal(ferrum_status_text(value), text);
    FERRUM_STATUS_TABLE(CHECK)
#undef CHECK
    assert_string_equal(ferrum_status_name(-9999), "FERRUM_ERROR_UNKNOWN");
    assert_string_equal(ferrum_status_name(1), "FERRUM_ERROR_UNKNOWN");
}

static void test_init_is_counted(void **state) {
    (void)state;
    assert_ok(ferrum_init(NULL));
    ferrum_config same = FERRUM_CONFIG_INIT;
    same.host_devices = 2;
    same.host_memory_bytes = 512 * MIB;
    assert_ok(ferrum_init(&same));
    assert_ok(ferrum_shutdown(0));
    assert_ok(ferrum_shutdown(0));
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_BUSY);
}

static void test_forced_shutdown_reports(void **state) {
    (void)state;
    fixture_make(&f);
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.size_bytes = 1000;
    request.tag = "forgotten";
    ferrum_memory memory;
    assert_ok(ferrum_manager_alloc_with(f.manager, &request, &memory));
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    char *report = text_of(ferrum_leak_report_json);
    assert_non_null(strstr(report, "\"forgotten\""));
    assert_non_null(strstr(report, "\"registration\""));
    assert_non_null(strstr(report, "\"block\""));
    free(report);
    assert_status(ferrum_memory_free(memory), FERRUM_ERROR_NOT_INITIALIZED);
    assert_ok(ferrum_init(NULL));
    /* Earlier handles stay invalid. */
    assert_status(ferrum_memory_free(memory), FERRUM_ERROR_INVALID_HANDLE);
    assert_status(ferrum_device_synchronize(f.device, 0),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_shutdown(0));
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_NOT_INITIALIZED);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t age_of(const char *report, const char *kind) {
    char text[32];
    snprintf(text, sizeof text, "\"kind\":\"%s\"", kind);
    const char *leak = strstr(report, text);
    assert_non_null(leak);
    const char *age = strstr(leak, "\"age_ns\":");
    assert_non_null(age);
    return strtoull(age + strlen("\"age_ns\":"), NULL, 10);
}

/* The test compares the ages with its own clock: the object is created
 * between two moments, and the report is made after a third. */
static void test_a_leak_report_says_how_old_things_are(void **state) {
    (void)state;
    const uint64_t start = now_ns();
    fixture_make(&f);
    const uint64_t made = now_ns();
    char *first = text_of(ferrum_leak_report_json);
    const uint64_t between = now_ns();
    char *second = text_of(ferrum_leak_report_json);
    const uint64_t end = now_ns();
    static const char *const kinds[] = {
        "stream", "event",        "range",   "vpool",  "pool",
        "memory", "elastic_pool", "manager", "device", "registration"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const uint64_t younger = age_of(first, kinds[i]);
        const uint64_t older = age_of(second, kinds[i]);
        assert_true(younger < older);
        assert_in_range(older, between - made, end - start);
    }
    free(first);
    free(second);
    fixture_end(&f);
}

static void test_devices(void **state) {
    (void)state;
    ferrum_device again;
    assert_ok(ferrum_device_open("cpu", &again));
    assert_int_equal(again.id, f.device.id);
    assert_ok(ferrum_device_close(again, 0));
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    assert_ok(ferrum_device_get_info(f.other_device, &info));
    assert_string_equal(info.id, "cpu:1");
    assert_string_equal(info.backend, "cpu");
    assert_int_equal(info.ordinal, 1);
    assert_true(info.name[0] != 0);
    assert_int_equal(info.total_bytes, 256 * MIB);
    assert_true(info.capabilities & FERRUM_CAPABILITY_HOST_ADDRESSABLE);
    assert_true(info.capabilities & FERRUM_CAPABILITY_PEER);
    char *backends = text_of(ferrum_backends_json);
    assert_non_null(strstr(backends, "\"cpu:0\""));
    assert_non_null(strstr(backends, "\"cpu:1\""));
    free(backends);
}

static void test_memory_info(void **state) {
    (void)state;
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_memory_info(f.device, &info));
    assert_int_equal(info.total_bytes, 256 * MIB);
    assert_int_equal(info.used_bytes + info.free_bytes + info.reserved_bytes,
                     info.total_bytes);
    assert_int_equal(info.active_allocations, 5);
    assert_int_equal(info.bandwidth_known, 0);
    double gbps = 0;
    assert_ok(ferrum_device_measure_bandwidth(f.device, &gbps));
    assert_true(gbps > 0);
    assert_ok(ferrum_device_get_memory_info(f.device, &info));
    assert_int_equal(info.bandwidth_known, 1);
    assert_true(info.bandwidth_gbps > 0);
}

static void test_device_limit(void **state) {
    (void)state;
    ferrum_address big;
    assert_ok(ferrum_device_set_limit(f.device, 32 * MIB));
    assert_status(ferrum_pool_alloc(f.pool, 64 * MIB, default_stream, &big),
                  FERRUM_ERROR_OUT_OF_MEMORY);
    assert_int_equal(big, 0);
    assert_ok(ferrum_device_set_limit(f.device, 0));
    assert_ok(ferrum_pool_alloc(f.pool, 64 * MIB, default_stream, &big));
    assert_ok(ferrum_pool_free(f.pool, big, default_stream));
}

/* With a limit the total is the limit, and the device's own values are
 * reported beside it. */
static void test_a_limit_is_the_total(void **state) {
    (void)state;
    ferrum_memory_info before = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_memory_info(f.device, &before));
    assert_int_equal(before.limit_bytes, 0);
    assert_int_equal(before.device_total_bytes, 256 * MIB);
    const uint64_t limit = 64 * MIB;
    assert_ok(ferrum_device_set_limit(f.device, limit));
    ferrum_address address;
    assert_ok(ferrum_pool_alloc(f.pool, 40 * MIB, default_stream, &address));
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_memory_info(f.device, &info));
    assert_int_equal(info.total_bytes, limit);
    assert_int_equal(info.limit_bytes, limit);
    assert_int_equal(info.device_total_bytes, 256 * MIB);
    assert_true(info.device_free_bytes < 256 * MIB - 40 * MIB + 1);
    assert_true(info.used_bytes >= 40 * MIB);
    assert_true(info.utilization_percent >= 62.5F &&
                info.utilization_percent < 64);
    assert_int_equal(info.pressure, FERRUM_PRESSURE_LOW);
    assert_int_equal(info.used_bytes + info.free_bytes + info.reserved_bytes,
                     limit);
    /* Values that are read without entering Go are the same. */
    for (int i = 0; i < 3; i++) {
        ferrum_memory_info recent = FERRUM_MEMORY_INFO_INIT;
        assert_ok(ferrum_device_get_recent_memory_info(f.device, UINT64_MAX,
                                                       &recent));
        assert_true(recent.reading_age_ns > 0);
        recent.reading_age_ns = 0;
        assert_memory_equal(&recent, &info, sizeof info);
    }
    assert_ok(ferrum_device_set_limit(f.device, 41 * MIB));
    assert_ok(ferrum_device_get_memory_info(f.device, &info));
    assert_int_equal(info.pressure, FERRUM_PRESSURE_CRITICAL);
    assert_ok(ferrum_device_set_limit(f.device, 0));
    assert_ok(ferrum_pool_free(f.pool, address, default_stream));
    assert_ok(ferrum_device_get_memory_info(f.device, &info));
    assert_int_equal(info.total_bytes, 256 * MIB);
}

static void test_struct_sizes(void **state) {
    (void)state;
    /* A caller of an older header, whose struct ended after the second size. */
    struct {
        uint32_t struct_size, expand;
        uint64_t initial, max;
    } older = {24, 1, 4 * MIB, 4 * MIB};
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(
        f.device, (const ferrum_pool_config *)(const void *)&older, &pool));
    ferrum_address address;
    assert_ok(ferrum_pool_alloc(pool, 100, default_stream, &address));
    assert_int_equal(pool_statistics(pool).allocated.current, 256);
    assert_int_equal(pool_statistics(pool).reserved.current, 4 * MIB);
    assert_ok(ferrum_pool_free(pool, address, default_stream));
    assert_ok(ferrum_pool_destroy(pool, 0));
    /* A caller of a newer header that sets no new field. */
    struct {
        ferrum_memory_info known;
        uint64_t more[4];
    } newer = {FERRUM_MEMORY_INFO_INIT, {7, 7, 7, 7}};
    newer.known.struct_size = sizeof newer;
    assert_ok(ferrum_device_get_memory_info(f.device, &newer.known));
    assert_int_equal(newer.known.total_bytes, 256 * MIB);
    assert_int_equal(newer.known.struct_size, sizeof newer);
    for (int i = 0; i < 4; i++)
        assert_int_equal(newer.more[i], 0);
    /* The library does not write beyond the end of an older struct. */
    struct {
        uint32_t struct_size, pressure;
        uint64_t total, sentinel;
    } short_info = {16, 9, 9, 42};
    assert_ok(ferrum_device_get_memory_info(
        f.device, (ferrum_memory_info *)(void *)&short_info));
    assert_int_equal(short_info.total, 256 * MIB);
    assert_int_equal(short_info.sentinel, 42);
}

/* ------------------------------------------------------- streams and events */

static atomic_int order;
static void note(void *data) { *(int *)data = atomic_fetch_add(&order, 1); }

static void test_streams_keep_their_order(void **state) {
    (void)state;
    int places[50];
    atomic_store(&order, 0);
    for (int i = 0; i < 50; i++)
        assert_ok(ferrum_stream_host_function(f.stream, note, &places[i]));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < 50; i++)
        assert_int_equal(places[i], i);
}

static void test_events_order_two_streams(void **state) {
    (void)state;
    gate held = GATE;
    int first = -1, second = -1;
    atomic_store(&order, 0);
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &held));
    assert_ok(ferrum_stream_host_function(f.stream, note, &first));
    ferrum_event event;
    assert_ok(ferrum_event_record(f.stream, &event));
    assert_ok(ferrum_stream_wait_event(f.other_stream, event));
    assert_ok(ferrum_stream_host_function(f.other_stream, note, &second));
    uint32_t ready = 9;
    assert_ok(ferrum_event_is_ready(event, &ready));
    assert_int_equal(ready, 0);
    assert_ok(ferrum_stream_is_ready(f.other_stream, &ready));
    assert_int_equal(ready, 0);
    assert_status(ferrum_event_synchronize(event, 1000), FERRUM_ERROR_TIMEOUT);
    assert_status(ferrum_stream_synchronize(f.stream, 0), FERRUM_ERROR_TIMEOUT);
    assert_status(ferrum_device_synchronize(f.device, 0), FERRUM_ERROR_TIMEOUT);
    assert_status(ferrum_stream_destroy(f.stream, 0), FERRUM_ERROR_BUSY);
    int64_t elapsed;
    assert_status(ferrum_event_elapsed(f.event, event, &elapsed),
                  FERRUM_ERROR_INVALID_STATE);
    gate_open(&held);
    assert_ok(ferrum_stream_synchronize(f.other_stream, FERRUM_WAIT_FOREVER));
    assert_int_equal(first, 0);
    assert_int_equal(second, 1);
    assert_ok(ferrum_event_elapsed(f.event, event, &elapsed));
    assert_true(elapsed > 0);
    int64_t backwards;
    assert_ok(ferrum_event_elapsed(event, f.event, &backwards));
    assert_true(backwards == -elapsed);
    assert_ok(ferrum_event_destroy(event));
}

static void test_copies_by_address(void **state) {
    (void)state;
    ferrum_pool pool;
    ferrum_address from[4], to[4];
    assert_ok(ferrum_pool_create(f.device, NULL, &pool));
    assert_ok(ferrum_pool_alloc_batch(pool, 4096, 4, f.stream, from));
    assert_ok(ferrum_pool_alloc_batch(pool, 4096, 4, f.stream, to));
    ferrum_address_copy copies[4];
    for (int i = 0; i < 4; i++) {
        memset((void *)(uintptr_t)from[i], i + 1, 4096);
        memset((void *)(uintptr_t)to[i], 9, 4096);
        copies[i] = (ferrum_address_copy){from[3 - i], to[i], 4096};
    }
    assert_ok(ferrum_stream_copy_batch(f.stream, copies, 0));
    assert_status(
        ferrum_stream_copy_batch(f.stream, copies, FERRUM_BATCH_MAX + 1),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_stream_copy_batch(f.stream, NULL, 4),
                  FERRUM_ERROR_NULL_POINTER);
    copies[2].destination = to[1] + 4095;
    assert_status(ferrum_stream_copy_batch(f.stream, copies, 4),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("copies[2]: the destination of 4096 bytes");
    copies[2].destination = 64;
    assert_status(ferrum_stream_copy_batch(f.stream, copies, 4),
                  FERRUM_ERROR_INVALID_ADDRESS);
    assert_message("copies[2]: destination");
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < 4; i++)
        assert_int_equal(*(char *)(uintptr_t)to[i], 9);
    copies[2].destination = to[2];
    assert_ok(ferrum_stream_copy_batch(f.stream, copies, 4));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < 4; i++)
        assert_int_equal(((char *)(uintptr_t)to[i])[4095], 4 - i);
    assert_ok(ferrum_pool_destroy(pool, FERRUM_FORCE));
}

static void test_default_stream(void **state) {
    (void)state;
    ferrum_stream one, two, other;
    assert_ok(ferrum_stream_default(f.device, &one));
    assert_ok(ferrum_stream_default(f.device, &two));
    assert_ok(ferrum_stream_default(f.other_device, &other));
    assert_int_equal(one.id, two.id);
    assert_int_not_equal(one.id, other.id);
    assert_int_not_equal(one.id, 0);
}

static ferrum_status from_inside[10];
static void call_from_inside(void *data) {
    fixture *g = data;
    from_inside[0] = ferrum_stream_synchronize(g->stream, FERRUM_WAIT_FOREVER);
    from_inside[1] = ferrum_device_synchronize(g->device, FERRUM_WAIT_FOREVER);
    from_inside[2] = ferrum_stream_destroy(g->stream, FERRUM_FORCE);
    from_inside[3] = ferrum_shutdown(FERRUM_FORCE);
    from_inside[4] = ferrum_pool_destroy(g->pool, FERRUM_FORCE);
    char byte;
    from_inside[5] = ferrum_memory_read(g->memory, 0, &byte, 1);
    ferrum_map_request request = FERRUM_MAP_REQUEST_INIT;
    ferrum_mapping mapping = FERRUM_MAPPING_INIT;
    request.memory = g->memory;
    from_inside[6] = ferrum_memory_map(&request, &mapping);
    from_inside[7] = ferrum_memory_unmap(g->memory, 0);
    ferrum_address address;
    from_inside[8] = ferrum_pool_alloc(g->pool, 64, default_stream, &address);
    from_inside[9] = ferrum_pool_free(g->pool, address, default_stream);
}
static void test_no_wait_inside_a_host_function(void **state) {
    (void)state;
    assert_ok(ferrum_stream_host_function(f.stream, call_from_inside, &f));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < 8; i++)
        assert_status(from_inside[i], FERRUM_ERROR_INVALID_STATE);
    assert_ok(from_inside[8]);
    assert_ok(from_inside[9]);
}

/* ------------------------------------------------------------------- pools */

static void test_pool_by_address(void **state) {
    (void)state;
    ferrum_address blocks[64];
    for (int i = 0; i < 64; i++) {
        assert_ok(ferrum_pool_alloc(f.pool, (uint64_t)(i + 1) * 100,
                                    default_stream, &blocks[i]));
        assert_int_equal(blocks[i] % 256, 0);
        memset((void *)(uintptr_t)blocks[i], i, (size_t)(i + 1) * 100);
    }
    for (int i = 0; i < 64; i++)
        for (int b = 0; b < (i + 1) * 100; b++)
            assert_int_equal(((unsigned char *)(uintptr_t)blocks[i])[b], i);
    assert_int_equal(pool_statistics(f.pool).live_blocks.current, 65);
    for (int i = 0; i < 64; i++)
        assert_ok(ferrum_pool_free(f.pool, blocks[i], default_stream));
    ferrum_address aligned;
    assert_ok(
        pool_alloc_aligned(f.pool, 100, 2 * MIB, default_stream, &aligned));
    assert_int_equal(aligned % (2 * MIB), 0);
    assert_ok(ferrum_pool_free(f.pool, aligned, default_stream));
    assert_int_equal(pool_statistics(f.pool).live_blocks.current, 1);
}

static void test_free_waits_for_the_stream(void **state) {
    (void)state;
    gate held = GATE;
    ferrum_address before, after;
    /* Large enough to pass the thread caches, which would count the block
     * as cached. */
    assert_ok(ferrum_pool_alloc(f.pool, 2 * MIB, f.stream, &before));
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &held));
    assert_ok(ferrum_pool_free(f.pool, before, f.stream));
    ferrum_statistics s = pool_statistics(f.pool);
    assert_int_equal(s.live_blocks.current, 1);
    assert_true(s.active.current >= 2 * MIB);
    assert_ok(ferrum_pool_alloc(f.pool, 2 * MIB, default_stream, &after));
    assert_true(after + 2 * MIB <= before || before + 2 * MIB <= after);
    assert_status(ferrum_pool_free(f.pool, before, f.stream),
                  FERRUM_ERROR_DOUBLE_FREE);
    gate_open(&held);
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_pool_free(f.pool, after, default_stream));
}

static void test_pool_limits_and_trim(void **state) {
    (void)state;
    uint64_t released, had = pool_statistics(f.pool).reserved.current;
    assert_ok(ferrum_pool_set_limit(f.pool, 16 * MIB));
    ferrum_address a, b;
    assert_ok(ferrum_pool_alloc(f.pool, 8 * MIB, default_stream, &a));
    assert_status(ferrum_pool_alloc(f.pool, 8 * MIB, default_stream, &b),
                  FERRUM_ERROR_OUT_OF_MEMORY);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    assert_ok(ferrum_last_error(&error));
    assert_non_null(strstr(error.message, "no memory for 8 MiB"));
    assert_non_null(strstr(error.message, "16 MiB"));
    assert_string_equal(error.device, "cpu:0");
    assert_ok(ferrum_pool_free(f.pool, a, default_stream));
    assert_ok(ferrum_pool_trim(f.pool, 0, &released));
    assert_int_equal(released, 8 * MIB);
    assert_int_equal(pool_statistics(f.pool).reserved.current, had);
    assert_int_equal(pool_statistics(f.pool).failures, 1);
    assert_ok(ferrum_pool_set_limit(f.pool, 0));
}

static void test_pre_allocation(void **state) {
    (void)state;
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.initial_size_bytes = 4 * MIB;
    config.max_size_bytes = 12 * MIB;
    config.pre_allocate = 1;
    config.enable_auto_expansion = 0;
    config.name = "whole";
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, &config, &pool));
    assert_int_equal(pool_statistics(pool).reserved.current, 12 * MIB);
    char *snapshot = text_of(ferrum_snapshot_json);
    assert_non_null(strstr(snapshot, "\"whole\""));
    free(snapshot);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

/* ---------------------------------------------------------------- managers */

static void test_blocks_by_handle(void **state) {
    (void)state;
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.memory_type = FERRUM_MEMORY_CACHE;
    request.size_bytes = 1000;
    request.alignment_bytes = 4096;
    request.tag = "kv";
    ferrum_memory memory;
    assert_ok(ferrum_manager_alloc_with(f.manager, &request, &memory));
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    assert_ok(ferrum_memory_get_handle_info(memory, &info));
    assert_int_equal(info.memory.id, memory.id);
    assert_int_equal(info.manager.id, f.manager.id);
    assert_int_equal(info.device.id, f.device.id);
    assert_int_equal(info.memory_type, FERRUM_MEMORY_CACHE);
    assert_int_equal(info.size_bytes, 1000);
    assert_int_equal(info.allocated_bytes, 1024);
    assert_true(info.alignment_bytes >= 4096);
    assert_int_equal(info.address % info.alignment_bytes, 0);
    assert_ptr_equal(info.host_pointer, (void *)(uintptr_t)info.address);
    assert_string_equal(info.tag, "kv");
    assert_true(info.allocated_at_ns > 0);
    assert_int_equal(info.is_mapped, 0);
    assert_int_equal(info.operations_in_flight, 0);
    assert_ok(ferrum_memory_free(memory));
    memset(&info.memory, 0xff, sizeof info - sizeof(uint64_t));
    assert_status(ferrum_memory_get_handle_info(memory, &info),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_int_equal(info.size_bytes, 0);
}

static void test_copies(void **state) {
    (void)state;
    unsigned char text[4096], back[4096];
    for (int i = 0; i < 4096; i++)
        text[i] = (unsigned char)(i * 7);
    assert_ok(ferrum_memory_write(f.memory, 0, text, sizeof text));
    /* Overlapping ranges of one block: memmove. */
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    transfer.src = transfer.dst = f.memory;
    transfer.size_bytes = 4000;
    transfer.dst_offset_bytes = 96;
    assert_ok(ferrum_memory_copy(&transfer));
    memmove(text + 96, text, 4000);
    assert_ok(ferrum_memory_read(f.memory, 0, back, sizeof back));
    assert_memory_equal(back, text, sizeof text);
    /* To another device, on a stream of the destination. */
    ferrum_manager other;
    ferrum_memory there;
    assert_ok(ferrum_manager_create(f.other_device, NULL, &other));
    assert_ok(ferrum_manager_alloc(other, 4096, &there));
    transfer.dst = there;
    transfer.size_bytes = 4096;
    transfer.dst_offset_bytes = 0;
    assert_ok(ferrum_memory_copy_async(&transfer, f.other_stream));
    assert_ok(ferrum_stream_synchronize(f.other_stream, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_memory_read(there, 0, back, sizeof back));
    assert_memory_equal(back, text, sizeof text);
    assert_ok(ferrum_memory_free(there));
    assert_ok(ferrum_manager_destroy(other, 0));
}

static void test_fills(void **state) {
    (void)state;
    const uint32_t patterns[] = {0xab, 0xbeef, 0xdeadbeef};
    for (int i = 0; i < 3; i++) {
        uint32_t width = 1u << i;
        ferrum_fill fill = FERRUM_FILL_INIT;
        fill.memory = f.memory;
        fill.offset_bytes = 64;
        fill.size_bytes = 1000;
        fill.pattern_bytes = width;
        fill.pattern = patterns[i];
        assert_ok(ferrum_memory_fill_async(&fill, default_stream));
        unsigned char back[1000];
        assert_ok(ferrum_memory_read(f.memory, 64, back, sizeof back));
        for (uint32_t b = 0; b < 1000; b++)
            assert_int_equal(back[b],
                             (patterns[i] >> (8 * (b % width))) & 0xff);
    }
}

static void test_a_copy_in_flight_keeps_its_blocks(void **state) {
    (void)state;
    ferrum_memory src, dst;
    assert_ok(ferrum_manager_alloc(f.manager, MIB, &src));
    assert_ok(ferrum_manager_alloc(f.manager, MIB, &dst));
    assert_ok(ferrum_memory_write(src, 0, "under way", 10));
    gate held = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &held));
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    transfer.src = src;
    transfer.dst = dst;
    transfer.size_bytes = MIB;
    assert_ok(ferrum_memory_copy_async(&transfer, f.stream));
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    assert_ok(ferrum_memory_get_handle_info(dst, &info));
    assert_int_equal(info.operations_in_flight, 1);
    assert_ok(ferrum_memory_free(src)); /* does not wait */
    assert_status(ferrum_memory_free(src), FERRUM_ERROR_INVALID_HANDLE);
    ferrum_memory next;
    assert_ok(
        ferrum_manager_alloc(f.manager, MIB, &next)); /* not the same memory */
    assert_ok(ferrum_memory_write(next, 0, "overwrite", 10));
    gate_open(&held);
    char back[10];
    assert_ok(
        ferrum_memory_read(dst, 0, back, sizeof back)); /* waits for the copy */
    assert_string_equal(back, "under way");
    assert_ok(ferrum_memory_free(next));
    assert_ok(ferrum_memory_free(dst));
}

/* While other work runs on a stream, copies of another stream complete. */
static void test_copies_overlap_other_work(void **state) {
    (void)state;
    static char text[MIB], back[MIB];
    const uint64_t minute_ns = UINT64_C(60000000000);
    ferrum_memory src, dst;
    ferrum_stream transfers;
    assert_ok(ferrum_manager_alloc(f.manager, MIB, &src));
    assert_ok(ferrum_manager_alloc(f.manager, MIB, &dst));
    assert_ok(ferrum_stream_create(f.device, &transfers));
    memset(text, 'o', sizeof text);
    assert_ok(ferrum_memory_write(src, 0, text, MIB));
    gate held = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &held));
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    transfer.src = src;
    transfer.dst = dst;
    transfer.size_bytes = MIB;
    ferrum_status queued = ferrum_memory_copy_async(&transfer, transfers);
    ferrum_status copied = ferrum_stream_synchronize(transfers, minute_ns);
    ferrum_status other = ferrum_stream_synchronize(f.stream, 0);
    gate_open(&held);
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_ok(queued);
    assert_ok(copied);
    assert_status(other, FERRUM_ERROR_TIMEOUT);
    assert_ok(ferrum_memory_read(dst, 0, back, MIB));
    assert_memory_equal(back, text, MIB);
    assert_ok(ferrum_memory_free(src));
    assert_ok(ferrum_memory_free(dst));
    assert_ok(ferrum_stream_destroy(transfers, 0));
}

static void test_defragment_releases_memory(void **state) {
    (void)state;
    ferrum_memory big;
    assert_ok(ferrum_manager_alloc(f.manager, 64 * MIB, &big));
    assert_ok(ferrum_memory_free(big));
    ferrum_defragmentation_stats stats = FERRUM_DEFRAGMENTATION_STATS_INIT;
    assert_ok(ferrum_manager_defragment(f.manager, &stats));
    assert_true(stats.memory_freed_bytes >= 64 * MIB);
    assert_int_equal(stats.blocks_moved, 0);
    assert_int_equal(stats.blocks_skipped, 1);
    assert_true(stats.time_taken_ns > 0);
    assert_int_equal(stats.time_taken_ms,
                     (stats.time_taken_ns + 999999) / 1000000);
}

static void test_configured_pool(void **state) {
    (void)state;
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.alignment_bytes = 65536;
    config.initial_size_bytes = MIB;
    config.growth_increment_bytes = MIB;
    assert_ok(ferrum_manager_configure_pool(f.manager, FERRUM_MEMORY_TENSOR,
                                            &config));
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.memory_type = FERRUM_MEMORY_TENSOR;
    request.size_bytes = 10;
    ferrum_memory tensor;
    assert_ok(ferrum_manager_alloc_with(f.manager, &request, &tensor));
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    assert_ok(ferrum_memory_get_handle_info(tensor, &info));
    assert_int_equal(info.allocated_bytes, 65536);
    assert_ok(ferrum_memory_free(tensor));
}

/* --------------------------------------------------------------- callbacks */

typedef struct {
    gate heard;
    ferrum_registration registration;
    ferrum_status removed;
    int level;
    int calls;
} listener;

static void hear_once(ferrum_device device, ferrum_pressure_level level,
                      void *data) {
    listener *l = data;
    assert_int_equal(device.id, f.device.id);
    l->calls++;
    l->level = level;
    l->removed = ferrum_registration_remove(l->registration);
    gate_open(&l->heard);
}
static void test_pressure_callback_removes_itself(void **state) {
    (void)state;
    listener l = {GATE, {0}, FERRUM_ERROR_INTERNAL, -1, 0};
    assert_ok(ferrum_device_pressure_callback_add(f.device, hear_once, &l,
                                                  &l.registration));
    ferrum_address big;
    assert_ok(ferrum_pool_alloc(f.pool, 230 * MIB, default_stream, &big));
    gate_wait(&l.heard);
    assert_ok(l.removed);
    assert_true(l.level >= FERRUM_PRESSURE_HIGH);
    assert_ok(ferrum_pool_free(f.pool, big, default_stream));
    assert_status(ferrum_registration_remove(l.registration),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_int_equal(l.calls, 1);
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_memory_info(f.device, &info));
    assert_int_equal(info.pressure, FERRUM_PRESSURE_LOW);
}

typedef struct {
    ferrum_pool pool;
    ferrum_address block;
    uint64_t needed;
    ferrum_status nested;
    int calls;
} reclaimer;

static uint64_t give_back(ferrum_device device, uint64_t needed, void *data) {
    reclaimer *r = data;
    (void)device;
    r->calls++;
    r->needed = needed;
    ferrum_address none;
    r->nested = ferrum_pool_alloc(r->pool, 200 * MIB, default_stream, &none);
    assert_ok(ferrum_pool_free(r->pool, r->block, default_stream));
    return 150 * MIB;
}
static void test_reclaim_callback(void **state) {
    (void)state;
    reclaimer r = {f.pool, 0, 0, FERRUM_OK, 0};
    assert_ok(ferrum_pool_alloc(f.pool, 150 * MIB, default_stream, &r.block));
    ferrum_registration registration;
    ferrum_reclaim_config config = FERRUM_RECLAIM_CONFIG_INIT;
    config.deadline_ns = UINT64_C(60000000000);
    assert_ok(ferrum_device_reclaim_callback_add(f.device, &config, give_back,
                                                 &r, &registration));
    ferrum_address big;
    assert_ok(ferrum_pool_alloc(f.pool, 160 * MIB, default_stream, &big));
    assert_int_equal(r.calls, 1);
    assert_true(r.needed >= 160 * MIB);
    assert_status(r.nested, FERRUM_ERROR_OUT_OF_MEMORY);
    assert_ok(ferrum_registration_remove(registration));
    assert_ok(ferrum_pool_free(f.pool, big, default_stream));
}

typedef struct {
    gate heard;
    char text[256];
} log_reader;
static void read_log(ferrum_log_level level, const char *message, void *data) {
    log_reader *r = data;
    (void)level;
    if (r->heard.open)
        return;
    snprintf(r->text, sizeof r->text, "%s", message);
    gate_open(&r->heard);
}
static void test_log_callback(void **state) {
    (void)state;
    log_reader r = {GATE, ""};
    assert_ok(ferrum_log_set_callback(FERRUM_LOG_DEBUG, read_log, &r));
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, NULL, &pool));
    assert_ok(ferrum_pool_destroy(pool, 0));
    gate_wait(&r.heard);
    assert_ok(ferrum_log_set_callback(FERRUM_LOG_DEBUG, NULL, NULL));
    assert_true(r.text[0] != 0);
}

static ferrum_status closed_inside = FERRUM_ERROR_INTERNAL;
static void close_device(ferrum_device device, ferrum_pressure_level level,
                         void *data) {
    (void)level;
    closed_inside = ferrum_device_close(device, FERRUM_FORCE);
    gate_open(data);
}
static void test_device_closed_by_its_own_callback(void **state) {
    (void)state;
    gate closed = GATE;
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = 256 * MIB;
    assert_ok(ferrum_init(&config));
    ferrum_device device;
    ferrum_pool pool;
    ferrum_address big;
    ferrum_registration registration;
    assert_ok(ferrum_device_open("cpu:0", &device));
    assert_ok(ferrum_pool_create(device, NULL, &pool));
    assert_ok(ferrum_device_pressure_callback_add(device, close_device, &closed,
                                                  &registration));
    assert_ok(ferrum_pool_alloc(pool, 250 * MIB, default_stream, &big));
    gate_wait(&closed);
    assert_ok(closed_inside);
    assert_status(ferrum_pool_free(pool, big, default_stream),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_shutdown(0));
}

/* ------------------------------------------------------------ many threads */

static void *hammer(void *data) {
    unsigned seed = (unsigned)(uintptr_t)data;
    ferrum_address held[32] = {0};
    for (int i = 0; i < 4000; i++) {
        unsigned slot = (seed = seed * 1103515245u + 12345u) / 65536u % 32u;
        if (held[slot] != 0) {
            if (*(unsigned *)(uintptr_t)held[slot] != slot * 17u)
                abort();
            MUST(ferrum_pool_free(f.pool, held[slot], default_stream));
            held[slot] = 0;
        } else {
            MUST(ferrum_pool_alloc(f.pool, 64 + seed % 20000u, default_stream,
                                   &held[slot]));
            *(unsigned *)(uintptr_t)held[slot] = slot * 17u;
        }
    }
    for (int i = 0; i < 32; i++)
        if (held[i] != 0)
            MUST(ferrum_pool_free(f.pool, held[i], default_stream));
    return NULL;
}
static void test_many_threads(void **state) {
    (void)state;
    pthread_t threads[8];
    for (uintptr_t i = 0; i < 8; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    ferrum_statistics s = pool_statistics(f.pool);
    assert_int_equal(s.live_blocks.current, 1);
    assert_int_equal(s.allocations - s.frees, 1);
}

static atomic_int stop_racing;
static void *use_until_gone(void *data) {
    (void)data;
    while (!atomic_load(&stop_racing)) {
        ferrum_address a;
        ferrum_memory m;
        if (ferrum_pool_alloc(f.pool, 512, default_stream, &a) == FERRUM_OK)
            ferrum_pool_free(f.pool, a, default_stream);
        if (ferrum_manager_alloc(f.manager, 512, &m) == FERRUM_OK) {
            ferrum_memory_write(m, 0, "x", 1);
            ferrum_memory_free(m);
        }
    }
    return NULL;
}
static void test_forced_shutdown_under_use(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        fixture_make(&f);
        atomic_store(&stop_racing, 0);
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, use_until_gone, NULL), 0);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        assert_ok(ferrum_shutdown(FERRUM_FORCE));
        atomic_store(&stop_racing, 1);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

int main(void) {
#define WITH_FIXTURE(test) \
    cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(test_versions_and_texts),
        WITH_FIXTURE(test_init_is_counted),
        cmocka_unit_test(test_forced_shutdown_reports),
        cmocka_unit_test(test_a_leak_report_says_how_old_things_are),
        WITH_FIXTURE(test_devices),
        WITH_FIXTURE(test_memory_info),
        WITH_FIXTURE(test_device_limit),
        WITH_FIXTURE(test_a_limit_is_the_total),
        WITH_FIXTURE(test_struct_sizes),
        WITH_FIXTURE(test_streams_keep_their_order),
        WITH_FIXTURE(test_events_order_two_streams),
        WITH_FIXTURE(test_copies_by_address),
        WITH_FIXTURE(test_default_stream),
        WITH_FIXTURE(test_no_wait_inside_a_host_function),
        WITH_FIXTURE(test_pool_by_address),
        WITH_FIXTURE(test_free_waits_for_the_stream),
        WITH_FIXTURE(test_pool_limits_and_trim),
        WITH_FIXTURE(test_pre_allocation),
        WITH_FIXTURE(test_blocks_by_handle),
        WITH_FIXTURE(test_copies),
        WITH_FIXTURE(test_fills),
        WITH_FIXTURE(test_a_copy_in_flight_keeps_its_blocks),
        WITH_FIXTURE(test_copies_overlap_other_work),
        WITH_FIXTURE(test_defragment_releases_memory),
        WITH_FIXTURE(test_configured_pool),
        WITH_FIXTURE(test_pressure_callback_removes_itself),
        WITH_FIXTURE(test_reclaim_callback),
        WITH_FIXTURE(test_log_callback),
        cmocka_unit_test(test_device_closed_by_its_own_callback),
        WITH_FIXTURE(test_many_threads),
        cmocka_unit_test(test_forced_shutdown_under_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

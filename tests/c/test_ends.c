/*
 * Two threads use an object of each kind and end it at the same time, often
 * enough to run between the end of the object and the end of its handle. A
 * call either succeeds, or returns that the handle is invalid or busy. Exactly
 * one of the calls that end the object succeeds, and the handle has ended for
 * good.
 */
#include "asserts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"
#include "requests.h"

/* The devices, and an object of each kind that other objects need. */
static ferrum_device place, host;
static ferrum_pool blocks;
static ferrum_manager owner;
static ferrum_memory rest;
static ferrum_stream lane;
static ferrum_fallback_manager fallback;
static ferrum_config config = FERRUM_CONFIG_INIT;

/* The objects that the threads end. */
static union {
    ferrum_device device;
    ferrum_stream stream;
    ferrum_event event;
    ferrum_pool pool;
    ferrum_manager manager;
    ferrum_memory memory;
    ferrum_registration registration;
    ferrum_vpool vpool;
    ferrum_elastic_pool shared;
    ferrum_monitor monitor;
    ferrum_placement placement;
    ferrum_fallback_manager fallback_manager;
    ferrum_fallback_buffer buffer;
    ferrum_tracker tracker;
    ferrum_generic_pool generic;
} x;

/* A kind of object: how it is created, used in several ways, and ended. */
struct object_kind {
    const char *name;
    int rounds;
    void (*make)(void);
    ferrum_status (*use)(unsigned which);
    unsigned uses;
    ferrum_status (*end)(void);
};

static void nothing(void *user_data) { (void)user_data; }
static void hear(ferrum_device device, ferrum_pressure_level level,
                 void *user_data) {
    (void)device;
    (void)level;
    (void)user_data;
}
static uint64_t give_nothing(ferrum_device device, uint64_t needed_bytes,
                             void *user_data) {
    (void)device;
    (void)needed_bytes;
    (void)user_data;
    return 0;
}
static void watch(ferrum_monitor monitor, const ferrum_device_level *levels,
                  size_t count, void *user_data) {
    (void)monitor;
    (void)levels;
    (void)count;
    (void)user_data;
}
static ferrum_status first(const ferrum_placement_request *request,
                           const ferrum_placement_option *options, size_t count,
                           ptrdiff_t *chosen_out, void *user_data) {
    (void)request;
    (void)options;
    (void)user_data;
    *chosen_out = 0;
    return count > 0 ? FERRUM_OK : FERRUM_ERROR_NOT_FOUND;
}

/* Makes a call after another call, unless that call failed. */
#define THEN(status, call) ((status) == FERRUM_OK ? (call) : (status))

/* ------------------------------------------------------------------- devices */

static void make_device(void) {
    assert_ok(ferrum_device_open("cpu:2", &x.device));
}
static ferrum_status use_device(unsigned which) {
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    ferrum_memory_info memory = FERRUM_MEMORY_INFO_INIT;
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    ferrum_page_sizes pages = FERRUM_PAGE_SIZES_INIT;
    ferrum_stream stream;
    ferrum_event event;
    ferrum_manager manager;
    ferrum_memory block;
    ferrum_registration registration;
    ferrum_status status;
    switch (which) {
    case 0:
        return ferrum_device_get_info(x.device, &info);
    case 1:
        return ferrum_device_get_memory_info(x.device, &memory);
    case 2:
        return ferrum_device_get_recent_memory_info(x.device, UINT64_MAX,
                                                    &memory);
    case 3:
        return ferrum_device_get_statistics(x.device, &statistics);
    case 4:
        return ferrum_device_get_page_sizes(x.device, &pages);
    case 5:
        return ferrum_device_synchronize(x.device, FERRUM_WAIT_FOREVER);
    case 6:
        return ferrum_device_set_limit(x.device, 64 * MIB);
    case 7:
        status = ferrum_stream_create(x.device, &stream);
        if (status != FERRUM_OK)
            return status;
        status = ferrum_event_record(stream, &event);
        return THEN(status, ferrum_stream_destroy(stream, FERRUM_FORCE));
    case 8:
        status = ferrum_stream_default(x.device, &stream);
        if (status != FERRUM_OK)
            return status;
        status = ferrum_stream_host_function(stream, nothing, NULL);
        return THEN(status,
                    ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER));
    case 9:
        status = ferrum_manager_create(x.device, NULL, &manager);
        if (status == FERRUM_OK)
            status = ferrum_manager_alloc(manager, 4096, &block);
        return status == FERRUM_OK ? ferrum_memory_write(block, 0, &info, 1)
                                   : status;
    case 10:
        return ferrum_device_pressure_callback_add(x.device, hear, NULL,
                                                   &registration);
    default:
        return ferrum_device_reclaim_callback_add(x.device, NULL, give_nothing,
                                                  NULL, &registration);
    }
}
static ferrum_status end_device(void) {
    return ferrum_device_close(x.device, FERRUM_FORCE);
}

/* --------------------------------------------------- streams, events, callbacks */

static void make_stream(void) {
    assert_ok(ferrum_stream_create(place, &x.stream));
}
static ferrum_status use_stream(unsigned which) {
    ferrum_address address;
    ferrum_event event;
    ferrum_fill fill = FERRUM_FILL_INIT;
    ferrum_status status;
    uint32_t ready;
    fill.memory = rest;
    fill.size_bytes = 64;
    switch (which) {
    case 0:
        return ferrum_stream_is_ready(x.stream, &ready);
    case 1:
        return ferrum_stream_synchronize(x.stream, FERRUM_WAIT_FOREVER);
    case 2:
        return ferrum_stream_host_function(x.stream, nothing, NULL);
    case 3:
        status = ferrum_event_record(x.stream, &event);
        if (status != FERRUM_OK)
            return status;
        status = ferrum_stream_wait_event(x.stream, event);
        MUST(ferrum_event_destroy(event));
        return status;
    case 4:
        return ferrum_memory_fill_async(&fill, x.stream);
    case 5:
        status = ferrum_pool_alloc(blocks, 70000, x.stream, &address);
        break;
    default:
        status = ferrum_pool_alloc(blocks, 100, x.stream, &address);
    }
    if (status != FERRUM_OK)
        return status;
    status = ferrum_pool_free(blocks, address, x.stream);
    if (status != FERRUM_OK)
        MUST(ferrum_pool_free(blocks, address, default_stream));
    return status;
}
static ferrum_status end_stream(void) {
    return ferrum_stream_destroy(x.stream, FERRUM_FORCE);
}

static void make_event(void) { assert_ok(ferrum_event_record(lane, &x.event)); }
static ferrum_status use_event(unsigned which) {
    uint32_t ready;
    int64_t elapsed;
    switch (which) {
    case 0:
        return ferrum_event_is_ready(x.event, &ready);
    case 1:
        return ferrum_event_synchronize(x.event, FERRUM_WAIT_FOREVER);
    case 2:
        return ferrum_event_elapsed(x.event, x.event, &elapsed);
    default:
        return ferrum_stream_wait_event(lane, x.event);
    }
}
static ferrum_status end_event(void) { return ferrum_event_destroy(x.event); }

static void make_registration(void) {
    assert_ok(ferrum_device_pressure_callback_add(place, hear, NULL,
                                                  &x.registration));
}
static ferrum_status end_registration(void) {
    return ferrum_registration_remove(x.registration);
}

/* --------------------------------------------------------------------- pools */

static void make_pool(void) {
    ferrum_pool_config settings = FERRUM_POOL_CONFIG_INIT;
    settings.initial_size_bytes = settings.growth_increment_bytes = MIB;
    assert_ok(ferrum_pool_create(place, &settings, &x.pool));
}
static ferrum_status use_pool(unsigned which) {
    ferrum_address address[4];
    ferrum_pool_info info = FERRUM_POOL_INFO_INIT;
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    ferrum_status status;
    uint64_t bytes;
    uint32_t tag;
    switch (which) {
    case 0:
        status = ferrum_pool_alloc(x.pool, 100, default_stream, address);
        break;
    case 1:
        status = ferrum_pool_alloc(x.pool, 70000, lane, address);
        break;
    case 2:
        status = ferrum_pool_alloc_batch(x.pool, 300, 4, lane, address);
        return status == FERRUM_OK
                   ? ferrum_pool_free_batch(x.pool, address, 4, lane)
                   : status;
    case 3:
        return ferrum_pool_get_info(x.pool, &info);
    case 4:
        return ferrum_pool_get_statistics(x.pool, &statistics);
    case 5:
        return ferrum_pool_trim(x.pool, 0, &bytes);
    case 6:
        return ferrum_pool_set_limit(x.pool, 64 * MIB);
    case 7:
        return ferrum_pool_set_min_held(x.pool, 0);
    case 8:
        return ferrum_pool_get_tag(x.pool, "kv", &tag);
    default:
        status =
            pool_alloc_aligned(x.pool, 5000, 8192, default_stream, address);
        if (status == FERRUM_OK)
            status = ferrum_pool_usable_size(x.pool, address[0], &bytes);
        if (status == FERRUM_OK)
            status = ferrum_pool_record_stream(x.pool, address[0], lane);
    }
    return status == FERRUM_OK
               ? ferrum_pool_free(x.pool, address[0],
                                  which == 1 ? lane : default_stream)
               : status;
}
static ferrum_status end_pool(void) {
    return ferrum_pool_destroy(x.pool, FERRUM_FORCE);
}

static void make_vpool(void) {
    ferrum_vpool_config settings = FERRUM_VPOOL_CONFIG_INIT;
    settings.capacity_bytes = 16 * MIB;
    settings.page_bytes = FIXTURE_PAGE;
    settings.limit_bytes = 8 * MIB;
    assert_ok(ferrum_vpool_create(place, &settings, &x.vpool));
}
/* Each thread has its own pages. */
static _Thread_local uint64_t own;
static ferrum_status use_vpool(unsigned which) {
    ferrum_vpool_info info = FERRUM_VPOOL_INFO_INIT;
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
    ferrum_address address;
    ferrum_status status;
    uint64_t bytes;
    uint32_t is;
    switch (which) {
    case 0:
        return ferrum_vpool_get_info(x.vpool, &info);
    case 1:
        return ferrum_vpool_get_statistics(x.vpool, &statistics);
    case 2:
        return ferrum_vpool_is_mapped(x.vpool, own, FIXTURE_PAGE, &is);
    case 3:
        return ferrum_vpool_compact(x.vpool, &report);
    case 4:
        return ferrum_vpool_trim(x.vpool, 0, &bytes);
    case 5:
        return ferrum_vpool_set_limit(x.vpool, 8 * MIB);
    case 6:
        return ferrum_vpool_synchronize(x.vpool, FERRUM_WAIT_FOREVER);
    case 7:
        status = ferrum_vpool_pause(x.vpool);
        return THEN(status, ferrum_vpool_resume(x.vpool));
    case 8:
        return ferrum_vpool_is_asleep(x.vpool, NULL, &is);
    default:
        status = ferrum_vpool_alloc(x.vpool, own, 2 * FIXTURE_PAGE, &address);
        return status == FERRUM_OK
                   ? ferrum_vpool_free(x.vpool, own, 2 * FIXTURE_PAGE,
                                       which % 2 ? lane : default_stream)
                   : status;
    }
}
static ferrum_status end_vpool(void) {
    return ferrum_vpool_destroy(x.vpool, FERRUM_FORCE);
}

static void make_shared(void) {
    ferrum_elastic_pool_config settings = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    settings.page_bytes = FIXTURE_PAGE;
    settings.limit_bytes = 8 * MIB;
    assert_ok(ferrum_elastic_pool_create(place, &settings, &x.shared));
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    model.virtual_bytes = 16 * MIB;
    assert_ok(ferrum_elastic_pool_register_model(x.shared, "chat", &model));
}
static ferrum_status use_shared(unsigned which) {
    ferrum_elastic_pool_info info = FERRUM_ELASTIC_POOL_INFO_INIT;
    ferrum_model_info model = FERRUM_MODEL_INFO_INIT;
    ferrum_model_limits limits = FERRUM_MODEL_LIMITS_INIT;
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
    ferrum_address address;
    ferrum_status status;
    uint64_t offset, bytes;
    uint32_t is;
    switch (which) {
    case 0:
        return ferrum_elastic_pool_get_info(x.shared, &info);
    case 1:
        return ferrum_elastic_pool_get_statistics(x.shared, &statistics);
    case 2:
        return ferrum_elastic_pool_get_model_info(x.shared, "chat", &model);
    case 3:
        return ferrum_elastic_pool_set_model_limits(x.shared, "chat", &limits);
    case 4:
        return ferrum_elastic_pool_compact(x.shared, &report);
    case 5:
        return ferrum_elastic_pool_trim(x.shared, 0, &bytes);
    case 6:
        return ferrum_elastic_pool_set_limit(x.shared, 8 * MIB);
    case 7:
        return ferrum_elastic_pool_synchronize(x.shared, FERRUM_WAIT_FOREVER);
    case 8:
        return ferrum_elastic_pool_is_mapped(x.shared, "chat", 0, 1, &is);
    case 9:
        return ferrum_elastic_pool_is_model_asleep(x.shared, "chat", NULL, &is);
    default:
        status = ferrum_elastic_pool_alloc(x.shared, "chat", 2 * FIXTURE_PAGE,
                                           &address, &offset);
        return status == FERRUM_OK
                   ? ferrum_elastic_pool_free(x.shared, "chat", offset,
                                              2 * FIXTURE_PAGE, default_stream)
                   : status;
    }
}
static ferrum_status end_shared(void) {
    return ferrum_elastic_pool_destroy(x.shared, FERRUM_FORCE);
}

/* ----------------------------------------------------------- managers and blocks */

static void make_manager(void) {
    assert_ok(ferrum_manager_create(place, NULL, &x.manager));
}
static ferrum_status use_manager(unsigned which) {
    ferrum_pool_config settings = FERRUM_POOL_CONFIG_INIT;
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    ferrum_defragmentation_stats stats = FERRUM_DEFRAGMENTATION_STATS_INIT;
    ferrum_memory memory;
    ferrum_status status;
    char byte = 0;
    switch (which) {
    case 0:
        return ferrum_manager_get_statistics(x.manager, &statistics);
    case 1:
        return ferrum_manager_defragment(x.manager, &stats);
    case 2:
        return ferrum_manager_configure_pool(x.manager, FERRUM_MEMORY_GENERAL,
                                             &settings);
    default:
        status = ferrum_manager_alloc(x.manager, 4096, &memory);
        if (status == FERRUM_OK)
            status = ferrum_memory_write(memory, 0, &byte, 1);
        return status == FERRUM_OK ? ferrum_memory_free(memory) : status;
    }
}
static ferrum_status end_manager(void) {
    return ferrum_manager_destroy(x.manager, FERRUM_FORCE);
}

static void make_memory(void) {
    assert_ok(ferrum_manager_alloc(owner, 4096, &x.memory));
}
static ferrum_status use_memory(unsigned which) {
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    ferrum_fill fill = FERRUM_FILL_INIT;
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    ferrum_map_request request = FERRUM_MAP_REQUEST_INIT;
    ferrum_mapping mapping = FERRUM_MAPPING_INIT;
    ferrum_usage_hints hints = FERRUM_USAGE_HINTS_INIT;
    ferrum_address address;
    ferrum_status status;
    char bytes[64] = {0};
    switch (which) {
    case 0:
        return ferrum_memory_get_handle_info(x.memory, &info);
    case 1:
        return ferrum_memory_write(x.memory, 64, bytes, sizeof bytes);
    case 2:
        return ferrum_memory_read(x.memory, 64, bytes, sizeof bytes);
    case 3:
        fill.memory = x.memory;
        fill.size_bytes = 4096;
        return ferrum_memory_fill_async(&fill, lane);
    case 4:
        transfer.src = x.memory;
        transfer.dst = rest;
        transfer.size_bytes = 64;
        return ferrum_memory_copy(&transfer);
    case 5:
        return ferrum_memory_get_usage_hints(x.memory, &hints);
    case 6:
        request.memory = x.memory;
        request.size_bytes = 64;
        status = ferrum_memory_map(&request, &mapping);
        return status == FERRUM_OK
                   ? ferrum_memory_unmap(x.memory, mapping.mapping_id)
                   : status;
    default:
        /* A pinned block is not ended. */
        status = ferrum_memory_pin(x.memory, &address);
        if (status == FERRUM_OK)
            MUST(ferrum_memory_unpin(x.memory));
        return status;
    }
}
static ferrum_status end_memory(void) { return ferrum_memory_free(x.memory); }

/* ------------------------------------------------------- buffers and their pools */

static ferrum_buffer_request words(void) {
    ferrum_buffer_request request = FERRUM_BUFFER_REQUEST_INIT;
    request.dtype = FERRUM_DTYPE_U8;
    request.num_elements = 4096;
    return request;
}
static void make_fallback_manager(void) {
    ferrum_memory_config settings = FERRUM_MEMORY_CONFIG_INIT;
    settings.min_free_bytes = 0;
    assert_ok(ferrum_fallback_manager_create(place, host, &settings,
                                             &x.fallback_manager));
}
static ferrum_status use_fallback_manager(unsigned which) {
    ferrum_memory_stats stats = FERRUM_MEMORY_STATS_INIT;
    ferrum_buffer_request request = words();
    ferrum_fallback_buffer buffer;
    ferrum_pressure_level level;
    ferrum_status status;
    uint64_t bytes, more;
    switch (which) {
    case 0:
        return ferrum_fallback_manager_get_stats(x.fallback_manager, &stats);
    case 1:
        return ferrum_fallback_manager_get_memory(x.fallback_manager, &bytes,
                                                  &more);
    case 2:
        return ferrum_fallback_manager_get_pressure(x.fallback_manager, &level);
    case 3:
        return ferrum_fallback_manager_clear_pool(x.fallback_manager);
    case 4:
        return ferrum_fallback_manager_shrink(x.fallback_manager, &bytes);
    case 5:
        return ferrum_fallback_manager_return_buffers(x.fallback_manager,
                                                      &bytes);
    default:
        status = ferrum_fallback_manager_alloc(x.fallback_manager, &request,
                                               &buffer);
        if (status == FERRUM_OK)
            status = ferrum_fallback_buffer_move(buffer, FERRUM_LOCATION_CPU);
        return status == FERRUM_OK
                   ? ferrum_fallback_buffer_free(buffer, default_stream)
                   : status;
    }
}
static ferrum_status end_fallback_manager(void) {
    return ferrum_fallback_manager_destroy(x.fallback_manager, FERRUM_FORCE);
}

static void make_buffer(void) {
    ferrum_buffer_request request = words();
    assert_ok(ferrum_fallback_manager_alloc(fallback, &request, &x.buffer));
}
static ferrum_status use_buffer(unsigned which) {
    ferrum_fallback_buffer_info info = FERRUM_FALLBACK_BUFFER_INFO_INIT;
    ferrum_status status;
    char bytes[64] = {0};
    switch (which) {
    case 0:
        return ferrum_fallback_buffer_get_info(x.buffer, &info);
    case 1:
        return ferrum_fallback_buffer_move(x.buffer, FERRUM_LOCATION_CPU);
    case 2:
        return ferrum_fallback_buffer_move(x.buffer, FERRUM_LOCATION_GPU);
    case 3:
        return ferrum_fallback_buffer_write(x.buffer, 0, bytes, sizeof bytes);
    case 4:
        return ferrum_fallback_buffer_read(x.buffer, 0, bytes, sizeof bytes);
    default:
        status = ferrum_fallback_buffer_pin(x.buffer, NULL, NULL);
        if (status == FERRUM_OK)
            MUST(ferrum_fallback_buffer_unpin(x.buffer));
        return status;
    }
}
static ferrum_status end_buffer(void) {
    return ferrum_fallback_buffer_free(x.buffer, default_stream);
}

static void make_tracker(void) { assert_ok(ferrum_tracker_create(&x.tracker)); }
static ferrum_status use_tracker(unsigned which) {
    ferrum_tracker_totals totals = FERRUM_TRACKER_TOTALS_INIT;
    ferrum_buffer_metadata known = {0};
    ferrum_status status;
    if (which == 0)
        return ferrum_tracker_get_totals(x.tracker, &totals);
    MUST(ferrum_buffer_id_new(&known.buffer_id));
    known.size_bytes = 100;
    status = ferrum_tracker_track(x.tracker, &known);
    return status == FERRUM_OK
               ? ferrum_tracker_untrack(x.tracker, known.buffer_id, &known)
               : status;
}
static ferrum_status end_tracker(void) {
    return ferrum_tracker_destroy(x.tracker);
}

static void make_generic(void) {
    ferrum_memory_config settings = FERRUM_MEMORY_CONFIG_INIT;
    assert_ok(ferrum_generic_pool_create(&settings, &x.generic));
}
static ferrum_status use_generic(unsigned which) {
    ferrum_memory_stats stats = FERRUM_MEMORY_STATS_INIT;
    ferrum_buffer_lease lease;
    ferrum_status status;
    size_t count;
    switch (which) {
    case 0:
        return ferrum_generic_pool_get_stats(x.generic, &stats);
    case 1:
        return ferrum_generic_pool_record_cpu_fallback(x.generic);
    default:
        /* A pool that owns a buffer is not ended until the buffer is
         * removed. */
        status = ferrum_generic_pool_add_free(x.generic, 7, 100);
        if (status == FERRUM_OK) {
            MUST(ferrum_generic_pool_drain(x.generic, &lease, 1, &count));
            MUST(count == 1 ? FERRUM_OK : FERRUM_ERROR_NOT_FOUND);
        }
        return status;
    }
}
static ferrum_status end_generic(void) {
    return ferrum_generic_pool_destroy(x.generic, 0);
}

/* ------------------------------------------------------ monitors and strategies */

static void make_monitor(void) {
    ferrum_monitor_config settings = FERRUM_MONITOR_CONFIG_INIT;
    settings.interval_ns = UINT64_MAX;
    settings.flags = FERRUM_MONITOR_IGNORE_SYSTEM;
    assert_ok(ferrum_monitor_create(&settings, &x.monitor));
    assert_ok(ferrum_monitor_register(x.monitor, owner));
}
static ferrum_status use_monitor(unsigned which) {
    ferrum_monitor_pressure pressure = FERRUM_MONITOR_PRESSURE_INIT;
    ferrum_manager manager;
    ferrum_status status;
    switch (which) {
    case 0:
        return ferrum_monitor_get_pressure(x.monitor, 0, &pressure);
    case 1:
        return ferrum_monitor_set_callback(x.monitor, watch, NULL);
    case 2:
        return ferrum_monitor_set_callback(x.monitor, NULL, NULL);
    default:
        MUST(ferrum_manager_create(place, NULL, &manager));
        status = ferrum_monitor_register(x.monitor, manager);
        if (status == FERRUM_OK)
            status = ferrum_monitor_unregister(x.monitor, manager);
        MUST(ferrum_manager_destroy(manager, 0));
        return status;
    }
}
static ferrum_status end_monitor(void) {
    return ferrum_monitor_destroy(x.monitor);
}

static void make_placement(void) {
    assert_ok(ferrum_placement_create_own("mine", first, NULL, &x.placement));
}
static ferrum_status use_placement(unsigned which) {
    ferrum_placement_request request = FERRUM_PLACEMENT_REQUEST_INIT;
    ferrum_device chosen;
    char name[8];
    size_t length;
    request.size_bytes = 4096;
    return which == 0 ? ferrum_placement_get_name(x.placement, name,
                                                  sizeof name, &length)
                      : ferrum_placement_select(x.placement, &request, &chosen);
}
static ferrum_status end_placement(void) {
    return ferrum_placement_destroy(x.placement);
}

/* ------------------------------------------------------------------ two threads */

static const struct object_kind *now;
static pthread_barrier_t line;
static atomic_int ended, threads;
static int over;

/* Ends the program, because the threads cannot continue with the next kind. */
static void wrong(unsigned which, ferrum_status got) {
    ferrum_error_info info = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&info);
    printf("%s, call %u: %s (%s: %s)\n[  FAILED  ] %s\n", now->name, which,
           ferrum_status_name(got), info.function, info.message, now->name);
    fflush(stdout);
    _exit(1);
}

static void run(unsigned *seed) {
    for (;;) {
        unsigned which = (unsigned)rand_r(seed) % (now->uses + 1);
        int ends = which == now->uses;
        ferrum_status got = ends ? now->end() : now->use(which);
        if (ends && got == FERRUM_OK)
            atomic_fetch_add(&ended, 1);
        if (got == FERRUM_ERROR_INVALID_HANDLE || (ends && got == FERRUM_OK))
            return;
        if (got != FERRUM_OK && got != FERRUM_ERROR_BUSY)
            wrong(which, got);
    }
}

static void *work(void *unused) {
    (void)unused;
    uint64_t number = (uint64_t)atomic_fetch_add(&threads, 1);
    unsigned seed = (unsigned)number;
    own = number % 2 * 4 * FIXTURE_PAGE;
    for (;;) {
        pthread_barrier_wait(&line);
        if (over)
            return NULL;
        run(&seed);
        pthread_barrier_wait(&line);
    }
}

static void test_two_threads(void **state) {
    now = *state;
    over = 0;
    pthread_t thread[2];
    assert_int_equal(pthread_barrier_init(&line, NULL, 3), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, NULL), 0);
    for (int round = 0; round < now->rounds; round++) {
        now->make();
        atomic_store(&ended, 0);
        pthread_barrier_wait(&line);
        pthread_barrier_wait(&line);
        if (atomic_load(&ended) != 1)
            wrong(now->uses, FERRUM_OK);
        for (unsigned which = 0; which <= now->uses; which++) {
            ferrum_status got =
                which == now->uses ? now->end() : now->use(which);
            if (got != FERRUM_ERROR_INVALID_HANDLE)
                wrong(which, got);
        }
    }
    over = 1;
    pthread_barrier_wait(&line);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&line);
}

static int set_up(void **state) {
    (void)state;
    config.host_devices = 3;
    config.host_memory_bytes = 768 * MIB;
    MUST(ferrum_init(&config));
    MUST(ferrum_device_open("cpu:0", &place));
    MUST(ferrum_device_open("cpu:1", &host));
    MUST(ferrum_stream_create(place, &lane));
    MUST(ferrum_pool_create(place, NULL, &blocks));
    MUST(ferrum_manager_create(place, NULL, &owner));
    MUST(ferrum_manager_alloc(owner, 4096, &rest));
    ferrum_memory_config settings = FERRUM_MEMORY_CONFIG_INIT;
    settings.min_free_bytes = 0;
    MUST(ferrum_fallback_manager_create(place, host, &settings, &fallback));
    return 0;
}

/* The threads must have left nothing behind. */
static int tear_down(void **state) {
    (void)state;
    MUST(ferrum_fallback_manager_destroy(fallback, 0));
    MUST(ferrum_memory_free(rest));
    MUST(ferrum_manager_destroy(owner, 0));
    MUST(ferrum_pool_destroy(blocks, 0));
    MUST(ferrum_stream_destroy(lane, FERRUM_FORCE));
    MUST(ferrum_device_close(host, 0));
    MUST(ferrum_device_close(place, 0));
    MUST(ferrum_shutdown(0));
    return 0;
}

#define KIND(name, rounds, what, uses) \
    {name, rounds, make_##what, use_##what, uses, end_##what}

int main(void) {
    static struct object_kind kinds[] = {
        KIND("device", 60, device, 12),
        KIND("stream", 200, stream, 7),
        KIND("event", 300, event, 4),
        {"registration", 300, make_registration, NULL, 0, end_registration},
        KIND("pool", 150, pool, 10),
        KIND("virtual pool", 100, vpool, 11),
        KIND("elastic pool", 100, shared, 11),
        KIND("manager", 100, manager, 4),
        KIND("memory", 300, memory, 8),
        KIND("fallback manager", 100, fallback_manager, 7),
        KIND("buffer", 300, buffer, 6),
        KIND("tracker", 300, tracker, 2),
        KIND("generic pool", 300, generic, 3),
        KIND("monitor", 150, monitor, 4),
        KIND("placement strategy", 300, placement, 2),
    };
    struct CMUnitTest tests[sizeof kinds / sizeof *kinds];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        tests[i] = (struct CMUnitTest){kinds[i].name, test_two_threads, NULL,
                                       NULL, &kinds[i]};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

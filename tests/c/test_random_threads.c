/*
 * Random programs over the C ABI from several threads that share all handles,
 * valid and ended. There is no model: one thread may destroy by force what
 * another uses. What must hold: no crash, no hang, and only statuses that a
 * correct library may return. The leak report lists everything that is left,
 * so that the test can destroy it by the report alone. Then the library stops
 * without force.
 *
 * In half of the programs the threads also start and stop the library.
 */
#include "fixture.h"
#include "on_device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 6 / SANITIZER_SHARE, THREADS = 6, STEPS = 1000, SLOTS = 6 };
enum { ADDRESS = KINDS, SHELVES };

#define MIB (UINT64_C(1) << 20)
#define WAIT_NS UINT64_C(20000000000)

static _Atomic uint64_t shelf[SHELVES][SLOTS];
static atomic_int failed;
static int with_stops;
static unsigned long program;

typedef struct {
    uint64_t random;
} worker;

static ferrum_status start(void) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = 96 * MIB;
    return ferrum_init(&config);
}

static uint64_t draw(worker *w, uint64_t below) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random % below;
}
static uint64_t any(worker *w, int kind) {
    return atomic_load(&shelf[kind][draw(w, SLOTS)]);
}
static ferrum_status keep(worker *w, int kind, ferrum_status s, uint64_t id) {
    if (s == FERRUM_OK)
        atomic_store(&shelf[kind][draw(w, SLOTS)], id);
    else if (id != 0)
        atomic_store(&failed, 1); /* outputs are zeroed on failure */
    return s;
}

/* A status that a call may return while other threads destroy its objects. */
static int allowed(ferrum_status s) {
    switch (s) {
    case FERRUM_OK:
    case FERRUM_ERROR_NOT_INITIALIZED:
    case FERRUM_ERROR_INVALID_STATE:
    case FERRUM_ERROR_INVALID_HANDLE:
    case FERRUM_ERROR_INVALID_ARGUMENT:
    case FERRUM_ERROR_INVALID_OFFSET:
    case FERRUM_ERROR_INVALID_ADDRESS:
    case FERRUM_ERROR_DOUBLE_FREE:
    case FERRUM_ERROR_OUT_OF_MEMORY:
    case FERRUM_ERROR_BUSY:
    case FERRUM_ERROR_CANCELLED:
    case FERRUM_ERROR_BUFFER_TOO_SMALL:
    case FERRUM_ERROR_INVALID_SIZE:
    case FERRUM_ERROR_NOT_FOUND:
    case FERRUM_ERROR_NOT_MAPPED:
    case FERRUM_ERROR_ALREADY_EXISTS:
        return 1;
    case FERRUM_ERROR_UNSUPPORTED:
        return !on_host();
    }
    return 0;
}

/* --------------------------------------------------------------- callbacks */

static void host_function(void *data) {
    ferrum_address address = 0;
    uint64_t pool = atomic_load((_Atomic uint64_t *)data);
    if (ferrum_pool_alloc((ferrum_pool){pool}, 5000, (ferrum_stream){0},
                          &address) == FERRUM_OK)
        ferrum_pool_free((ferrum_pool){pool}, address, (ferrum_stream){0});
    ferrum_address both[2];
    if (ferrum_pool_alloc_batch((ferrum_pool){pool}, 100, 2, (ferrum_stream){0},
                                both) == FERRUM_OK)
        ferrum_pool_free_batch((ferrum_pool){pool}, both, 2,
                               (ferrum_stream){0});
}
static uint64_t reclaim(ferrum_device device, uint64_t needed, void *data) {
    (void)device;
    (void)needed;
    ferrum_memory memory = {atomic_load((_Atomic uint64_t *)data)};
    return ferrum_memory_free(memory) == FERRUM_OK ? 1 : 0;
}
static void pressure(ferrum_device device, ferrum_pressure_level level,
                     void *data) {
    (void)level;
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    ferrum_device_get_memory_info(device, &info);
    ferrum_registration_remove(
        (ferrum_registration){atomic_load((_Atomic uint64_t *)data)});
}

/* ------------------------------------------------------------ random calls */

static ferrum_status call_library(worker *w) {
    ferrum_device device = {any(w, DEVICE)};
    uint32_t force = (uint32_t)draw(w, 2);
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    char text[512];
    size_t length;
    double gbps;
    switch (draw(w, 10)) {
    case 0:
        if (with_stops)
            return ferrum_shutdown(force);
        return ferrum_device_synchronize(device, WAIT_NS);
    case 1:
        return with_stops ? start()
                          : ferrum_device_synchronize(device, WAIT_NS);
    case 2:
        return ferrum_device_close(device, draw(w, 8) == 0 ? force : 0);
    case 3:
        return ferrum_device_set_limit(device, draw(w, 3) * 24 * MIB);
    case 4:
        return ferrum_snapshot_json(text, sizeof text, &length);
    case 5:
        return ferrum_leak_report_json(text, sizeof text, &length);
    case 6:
        return ferrum_device_get_memory_info(device, &info);
    case 7:
        return ferrum_device_get_statistics(device, &statistics);
    case 8:
        return draw(w, 50) == 0 ? ferrum_device_measure_bandwidth(device, &gbps)
                                : FERRUM_OK;
    }
    ferrum_device opened = {0};
    ferrum_status s = ferrum_device_open(
        draw(w, 2) ? first_device() : other_device(), &opened);
    return keep(w, DEVICE, s, opened.id);
}

static ferrum_status call_stream(worker *w) {
    ferrum_stream stream = {any(w, STREAM)}, made = {0};
    ferrum_event event = {any(w, EVENT)}, recorded = {0};
    uint32_t ready;
    int64_t elapsed;
    ferrum_status s;
    switch (draw(w, 10)) {
    case 0:
        s = ferrum_stream_create((ferrum_device){any(w, DEVICE)}, &made);
        return keep(w, STREAM, s, made.id);
    case 1:
        return ferrum_stream_destroy(stream, (uint32_t)draw(w, 2));
    case 2:
        return ferrum_stream_synchronize(stream, WAIT_NS);
    case 3:
        return ferrum_stream_host_function(stream, host_function,
                                           &shelf[POOL][draw(w, SLOTS)]);
    case 4:
        return ferrum_stream_wait_event(stream, event);
    case 5:
        return ferrum_event_destroy(event);
    case 6:
        return ferrum_event_synchronize(event, WAIT_NS);
    case 7:
        return ferrum_event_elapsed(event, (ferrum_event){any(w, EVENT)},
                                    &elapsed);
    case 8:
        return ferrum_event_is_ready(event, &ready);
    }
    s = ferrum_event_record(stream, &recorded);
    return keep(w, EVENT, s, recorded.id);
}

static ferrum_status call_owner(worker *w) {
    ferrum_device device = {any(w, DEVICE)};
    ferrum_pool pool = {any(w, POOL)}, made = {0};
    ferrum_manager manager = {any(w, MANAGER)}, made_manager = {0};
    ferrum_registration registration = {0};
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    ferrum_manager_config manager_config = FERRUM_MANAGER_CONFIG_INIT;
    ferrum_defragmentation_stats stats = FERRUM_DEFRAGMENTATION_STATS_INIT;
    uint64_t released;
    ferrum_status s;
    config.initial_size_bytes = config.growth_increment_bytes = MIB;
    config.pre_allocate = draw(w, 4) == 0;
    manager_config.pool_configs[0] = &config;
    manager_config.enable_debug = (uint32_t)draw(w, 2);
    switch (draw(w, 10)) {
    case 0:
        s = ferrum_pool_create(device, &config, &made);
        return keep(w, POOL, s, made.id);
    case 1:
        s = ferrum_manager_create(device, &manager_config, &made_manager);
        return keep(w, MANAGER, s, made_manager.id);
    case 2:
        return ferrum_pool_destroy(pool, (uint32_t)draw(w, 2));
    case 3:
        return ferrum_manager_destroy(manager, (uint32_t)draw(w, 2));
    case 4:
        return ferrum_pool_trim(pool, 0, &released);
    case 5:
        return ferrum_pool_set_limit(pool, draw(w, 2) * 16 * MIB);
    case 6:
        return ferrum_manager_defragment_within(
            manager, draw(w, 2) ? FERRUM_WAIT_FOREVER : 1000000, &stats);
    case 7:
        s = ferrum_device_reclaim_callback_add(device, NULL, reclaim,
                                               &shelf[MEMORY][draw(w, SLOTS)],
                                               &registration);
        return keep(w, REGISTRATION, s, registration.id);
    case 8:
        s = ferrum_device_pressure_callback_add(
            device, pressure, &shelf[REGISTRATION][draw(w, SLOTS)],
            &registration);
        return keep(w, REGISTRATION, s, registration.id);
    }
    return ferrum_registration_remove(
        (ferrum_registration){any(w, REGISTRATION)});
}

static const char *const strategies[] = {
    NULL, "best_fit", "size_class", "tlsf", "buddy", "arena", "fixed"};
static const char *const tags[] = {"kv", "weights", "scratch"};

static ferrum_status call_pool(worker *w) {
    enum { BATCH = 8 };
    ferrum_pool pool = {any(w, POOL)}, made = {0};
    ferrum_stream stream = {draw(w, 2) ? 0 : any(w, STREAM)};
    ferrum_address address = any(w, ADDRESS), batch[BATCH] = {0};
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    ferrum_pool_request r = FERRUM_POOL_REQUEST_INIT;
    ferrum_block_info info = FERRUM_BLOCK_INFO_INIT;
    ferrum_status s;
    uint32_t tag = 0;
    uint64_t size = 1 + draw(w, 20000), strategy = draw(w, 7);
    switch (draw(w, 10)) {
    case 0:
        s = ferrum_pool_alloc_batch(pool, size, BATCH, stream, batch);
        for (int i = 0; i < BATCH; i++)
            keep(w, ADDRESS, s, batch[i]);
        return s;
    case 1:
        for (int i = 0; i < BATCH; i++)
            batch[i] = any(w, ADDRESS);
        return ferrum_pool_free_batch(pool, batch, 1 + draw(w, BATCH), stream);
    case 2:
        return ferrum_pool_free_sized(pool, address, size, stream);
    case 3:
        return ferrum_pool_record_stream(pool, address, stream);
    case 4:
        return ferrum_pool_usable_size(pool, address, &size);
    case 5:
        return ferrum_device_get_owner((ferrum_device){any(w, DEVICE)}, address,
                                       &info);
    case 6:
        return draw(w, 8) == 0 ? ferrum_pool_reset(pool, stream) : FERRUM_OK;
    case 7:
        return draw(w, 2)
                   ? ferrum_pool_set_min_held(pool, draw(w, 3) * MIB)
                   : ferrum_pool_set_release_threshold(pool, draw(w, 3) * MIB);
    case 8:
        config.initial_size_bytes = config.growth_increment_bytes = MIB;
        config.strategy = strategies[strategy];
        config.fixed_block_bytes = strategy == 6 ? 64 << 10 : 0;
        config.thread_cache_bytes = draw(w, 3) * (32 << 10);
        config.tracking = draw(w, 4) == 0;
        config.debug = draw(w, 16) == 0 ? FERRUM_DEBUG_ALL : 0;
        s = ferrum_pool_create((ferrum_device){any(w, DEVICE)}, &config, &made);
        return keep(w, POOL, s, made.id);
    }
    s = ferrum_pool_get_tag(pool, tags[draw(w, 3)], &tag);
    if (s != FERRUM_OK)
        return s;
    r.tag = tag;
    r.size_bytes = size;
    r.stream = stream;
    r.expected_lifetime_ns = draw(w, 1000000);
    address = 0;
    s = ferrum_pool_alloc_with(pool, &r, &address);
    return keep(w, ADDRESS, s, address);
}

static ferrum_status call_memory(worker *w) {
    uint64_t size = draw(w, 100) == 0 ? 20 * MIB : 1 + draw(w, 60000);
    ferrum_stream stream = {draw(w, 2) ? 0 : any(w, STREAM)};
    ferrum_memory memory = {any(w, MEMORY)}, made = {0};
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    ferrum_transfer t = FERRUM_TRANSFER_INIT;
    ferrum_fill f = FERRUM_FILL_INIT;
    ferrum_allocation_request r = FERRUM_ALLOCATION_REQUEST_INIT;
    ferrum_address address = 0;
    char bytes[64] = {0};
    ferrum_status s;
    t.src = f.memory = memory;
    t.dst.id = any(w, MEMORY);
    t.size_bytes = f.size_bytes = 1 + draw(w, 64);
    switch (draw(w, 11)) {
    case 0:
        s = ferrum_pool_alloc((ferrum_pool){any(w, POOL)}, size, stream,
                              &address);
        return keep(w, ADDRESS, s, address);
    case 1:
        return ferrum_pool_free((ferrum_pool){any(w, POOL)}, any(w, ADDRESS),
                                stream);
    case 2:
        return ferrum_memory_free(memory);
    case 3:
        return ferrum_memory_copy(&t);
    case 4:
        return ferrum_memory_copy_async(&t, stream);
    case 5:
        return ferrum_memory_fill_async(&f, stream);
    case 6:
        return ferrum_memory_write(memory, 0, bytes, t.size_bytes % 64 + 1);
    case 7:
        return ferrum_memory_read(memory, 0, bytes, t.size_bytes % 64 + 1);
    case 8:
        return ferrum_memory_get_handle_info(memory, &info);
    case 9:
        s = ferrum_memory_pin(memory, &address);
        return s == FERRUM_OK ? ferrum_memory_unpin(memory) : s;
    }
    r.size_bytes = size;
    r.flags = draw(w, 2) ? FERRUM_ALLOCATE_RELOCATABLE : 0;
    s = ferrum_manager_alloc_with((ferrum_manager){any(w, MANAGER)}, &r, &made);
    return keep(w, MEMORY, s, made.id);
}

/* Runs the queued work at once. */
static ferrum_status at_once(ferrum_host_fn run, void *run_data,
                             void *user_data) {
    (void)user_data;
    run(run_data);
    return FERRUM_OK;
}

/* External memory and streams of this program, and mappings. */
static ferrum_status call_mapping(worker *w) {
    static char foreign[8][256];
    ferrum_memory memory = {any(w, MEMORY)}, first = {0}, second = {0};
    ferrum_map_request request = FERRUM_MAP_REQUEST_INIT;
    ferrum_mapping mapping = FERRUM_MAPPING_INIT;
    ferrum_access_stats stats = FERRUM_ACCESS_STATS_INIT;
    ferrum_link_request link = FERRUM_LINK_REQUEST_INIT;
    ferrum_adoption adoption = FERRUM_ADOPTION_INIT;
    ferrum_foreign_stream queue = FERRUM_FOREIGN_STREAM_INIT;
    ferrum_stream stream = {0};
    ferrum_status s;
    switch (draw(w, 8)) {
    case 0:
        request.memory = memory;
        request.access = (ferrum_host_access)draw(w, 3);
        request.offset_bytes = draw(w, 64);
        return ferrum_memory_map(&request, &mapping);
    case 1:
    case 2:
        return ferrum_memory_unmap(memory, draw(w, 3));
    case 3:
        return ferrum_memory_prefetch(memory, (ferrum_device){any(w, DEVICE)},
                                      (ferrum_stream){any(w, STREAM)});
    case 4:
        s = ferrum_memory_set_usage_hint(memory, (ferrum_usage_hint)draw(w, 7));
        return s == FERRUM_OK ? ferrum_memory_get_access_stats(memory, &stats)
                              : s;
    case 5:
        link.size_bytes = 1 + draw(w, 5000);
        s = ferrum_manager_create_mapping((ferrum_manager){any(w, MANAGER)},
                                          (ferrum_manager){any(w, MANAGER)},
                                          &link, &first, &second);
        keep(w, MEMORY, s, first.id);
        return keep(w, MEMORY, s, second.id);
    case 6:
        adoption.address = (ferrum_address)(uintptr_t)foreign[draw(w, 8)];
        adoption.size_bytes = sizeof foreign[0];
        s = ferrum_manager_adopt((ferrum_manager){any(w, MANAGER)}, &adoption,
                                 &first);
        return keep(w, MEMORY, s, first.id);
    }
    queue.enqueue = at_once;
    s = ferrum_stream_adopt((ferrum_device){any(w, DEVICE)}, &queue, &stream);
    return keep(w, STREAM, s, stream.id);
}

static void *work(void *data) {
    static ferrum_status (*const calls[])(worker *) = {
        call_mapping, call_memory, call_memory, call_pool,  call_pool,
        call_pool,    call_stream, call_stream, call_owner, call_library};
    worker *w = data;
    for (int i = 0; i < STEPS && !atomic_load(&failed); i++) {
        ferrum_status s = calls[draw(w, sizeof calls / sizeof *calls)](w);
        ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
        ferrum_last_error(&error);
        if (allowed(s) && (s == FERRUM_OK || error.status == s))
            continue;
        fprintf(stderr, "program %lu: %s: %s: %s\n", program, error.function,
                ferrum_status_name(s), error.message);
        atomic_store(&failed, 1);
    }
    return NULL;
}

/* ---------------------------------------------- cleaning up from the report */

static char *leak_report(void) {
    size_t length = 0;
    MUST(ferrum_leak_report_json(NULL, 0, &length));
    size_t capacity = length + 65536; /* ages grow in between */
    char *text = malloc(capacity);
    MUST(ferrum_leak_report_json(text, capacity, &length));
    return text;
}
static uint64_t number_after(const char *entry, const char *key) {
    const char *at = strstr(entry, key);
    return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

/* Destroys one entry without force. An entry that is still in use is tried
 * again later. */
static ferrum_status destroy(const char *entry) {
    uint64_t handle = number_after(entry, "\"handle\":");
#define IS(kind) (strncmp(entry, kind "\"", sizeof kind) == 0)
    if (IS("memory")) {
        while (ferrum_memory_unmap((ferrum_memory){handle}, 0) == FERRUM_OK) {
        }
        return ferrum_memory_free((ferrum_memory){handle});
    }
    if (IS("block"))
        return ferrum_pool_free((ferrum_pool){handle},
                                number_after(entry, "\"address\":"),
                                (ferrum_stream){0});
    if (IS("event"))
        return ferrum_event_destroy((ferrum_event){handle});
    if (IS("registration"))
        return ferrum_registration_remove((ferrum_registration){handle});
    if (IS("stream")) {
        MUST(ferrum_stream_synchronize((ferrum_stream){handle}, WAIT_NS));
        return ferrum_stream_destroy((ferrum_stream){handle}, 0);
    }
    if (IS("pool"))
        return ferrum_pool_destroy((ferrum_pool){handle}, 0);
    if (IS("manager"))
        return ferrum_manager_destroy((ferrum_manager){handle}, 0);
    return ferrum_device_close((ferrum_device){handle}, 0);
}
static void clean_up(void) {
    static const char key[] = "\"kind\":\"";
    for (int left = 1, progress = 1; left; progress = 0) {
        char *report = leak_report();
        left = 0;
        for (char *at = report; (at = strstr(at, key)) != NULL; left++) {
            at += sizeof key - 1;
            progress |= destroy(at) == FERRUM_OK;
        }
        if (left && !progress) {
            fprintf(stderr, "program %lu: cannot be cleaned up: %s\n", program,
                    report);
            exit(1);
        }
        free(report);
    }
}

static void check_empty(const char *id) {
    ferrum_device device;
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    MUST(ferrum_device_open(id, &device));
    MUST(ferrum_device_get_statistics(device, &s));
    MUST(ferrum_device_get_memory_info(device, &info));
    if (s.reserved.current != 0 || s.live_blocks.current != 0 ||
        info.used_bytes != 0 ||
        (on_host() && info.free_bytes != info.total_bytes)) {
        fprintf(stderr, "program %lu: %s is not empty at the end\n", program,
                id);
        atomic_store(&failed, 1);
    }
    MUST(ferrum_device_close(device, 0));
}

static int program_fails(void) {
    atomic_store(&failed, 0);
    with_stops = program % 2 == 0;
    MUST(start());
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (unsigned long i = 0; i < THREADS; i++) {
        workers[i].random =
            (program * THREADS + i) * UINT64_C(0x9e3779b97f4a7c15) + 1;
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MUST(start()); /* it may have been stopped */
    clean_up();
    check_empty(first_device());
    check_empty(other_device());
    ferrum_status s;
    while ((s = ferrum_shutdown(0)) == FERRUM_OK) {
    }
    if (s != FERRUM_ERROR_NOT_INITIALIZED)
        must(s, "ferrum_shutdown(0)");
    return atomic_load(&failed);
}

/* test_random_threads [NUMBER [PROGRAMS]]: with a number one program, if no
 * count is given. */
int main(int argc, char **argv) {
    int bad = 0, ran = 0;
    unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    int programs = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : PROGRAMS;
    for (; ran < programs; ran++) {
        program = first + (unsigned long)ran;
        bad += program_fails();
    }
    printf("%d passed, %d failed\n", ran - bad, bad);
    return bad != 0;
}

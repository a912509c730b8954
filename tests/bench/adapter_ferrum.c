/*
 * ferrum_mem through its public C ABI:
 *
 *   ferrum_pool           a pool with its default settings,
 *   ferrum_pool_uncached  the same without thread caches,
 *   ferrum_pool_tracking  the same, and it records the time of each allocation,
 *   ferrum_pool_fixed     a pool of blocks of 2 MiB,
 *   ferrum_pool_aligned   the first one, each block requested with an alignment,
 *   ferrum_pool_tagged    the first one, each block requested with a tag,
 *   ferrum_manager        a manager with its default settings,
 *
 * and two probes that measure the parts of the cost of a call.
 *
 * A probe makes the same trivial call once as "allocate" and once as
 * "release", so that its pair is two calls like a pair of a pool. Its
 * addresses are invented; no workload accesses memory.
 */
#include "bench.h"
#include "ferrum_mem.h"

#include <stdio.h>
#include <string.h>

/* The requested alignment is within the alignment of every pool. */
enum { FIXED_BLOCK_BYTES = 2 << 20, ALIGNMENT_BYTES = 64 };

struct ferrum {
    ferrum_device device;
    ferrum_pool pool;
    ferrum_manager manager;
    ferrum_stream stream;
    __typeof__(&ferrum_abi_version) abi_version;
    __typeof__(&ferrum_version_string) version_string;
    __typeof__(&ferrum_init) init;
    __typeof__(&ferrum_shutdown) shutdown;
    __typeof__(&ferrum_last_error) last_error;
    __typeof__(&ferrum_device_open) device_open;
    __typeof__(&ferrum_device_close) device_close;
    __typeof__(&ferrum_stream_default) stream_default;
    __typeof__(&ferrum_stream_is_ready) stream_is_ready;
    __typeof__(&ferrum_pool_create) pool_create;
    __typeof__(&ferrum_pool_destroy) pool_destroy;
    __typeof__(&ferrum_pool_trim) pool_trim;
    __typeof__(&ferrum_pool_get_tag) pool_get_tag;
    __typeof__(&ferrum_pool_alloc_with) pool_alloc_with;
    __typeof__(&ferrum_pool_alloc) pool_alloc;
    __typeof__(&ferrum_pool_free) pool_free;
    __typeof__(&ferrum_pool_alloc_batch) pool_alloc_batch;
    __typeof__(&ferrum_pool_free_batch) pool_free_batch;
    __typeof__(&ferrum_pool_get_statistics) pool_get_statistics;
    __typeof__(&ferrum_manager_create) manager_create;
    __typeof__(&ferrum_manager_destroy) manager_destroy;
    __typeof__(&ferrum_manager_alloc) manager_alloc;
    __typeof__(&ferrum_memory_free) memory_free;
};

static struct ferrum ferrum;

static void must(ferrum_status status, const char *what) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum.last_error(&error);
    die("%s: status %d, %s", what, (int)status, error.message);
}

static bool resolve(void *library) {
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"ferrum_abi_version", &ferrum.abi_version},
        {"ferrum_version_string", &ferrum.version_string},
        {"ferrum_init", &ferrum.init},
        {"ferrum_shutdown", &ferrum.shutdown},
        {"ferrum_last_error", &ferrum.last_error},
        {"ferrum_device_open", &ferrum.device_open},
        {"ferrum_device_close", &ferrum.device_close},
        {"ferrum_stream_default", &ferrum.stream_default},
        {"ferrum_stream_is_ready", &ferrum.stream_is_ready},
        {"ferrum_pool_create", &ferrum.pool_create},
        {"ferrum_pool_destroy", &ferrum.pool_destroy},
        {"ferrum_pool_trim", &ferrum.pool_trim},
        {"ferrum_pool_get_tag", &ferrum.pool_get_tag},
        {"ferrum_pool_alloc_with", &ferrum.pool_alloc_with},
        {"ferrum_pool_alloc", &ferrum.pool_alloc},
        {"ferrum_pool_free", &ferrum.pool_free},
        {"ferrum_pool_alloc_batch", &ferrum.pool_alloc_batch},
        {"ferrum_pool_free_batch", &ferrum.pool_free_batch},
        {"ferrum_pool_get_statistics", &ferrum.pool_get_statistics},
        {"ferrum_manager_create", &ferrum.manager_create},
        {"ferrum_manager_destroy", &ferrum.manager_destroy},
        {"ferrum_manager_alloc", &ferrum.manager_alloc},
        {"ferrum_memory_free", &ferrum.memory_free},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!library_symbol(library, symbols[i].name, symbols[i].function))
            return missing("the library has no %s", symbols[i].name);
    return true;
}

static bool open_library(const struct adapter_settings *settings,
                         struct allocator *allocator_out) {
    if (settings->library == NULL)
        return missing("%s needs --library FILE", settings->name);
    void *library = library_open(settings->library);
    if (library == NULL || !resolve(library))
        return false;
    must(ferrum.init(NULL), "ferrum_init");
    must(ferrum.device_open("cpu:0", &ferrum.device), "ferrum_device_open");
    snprintf(allocator_out->version, sizeof allocator_out->version, "%s",
             ferrum.version_string());
    return true;
}

static void close_library(void) {
    must(ferrum.device_close(ferrum.device, 0), "ferrum_device_close");
    must(ferrum.shutdown(0), "ferrum_shutdown");
}

/* ----------------------------------------------------------------- pool */

static uint64_t pool_allocate(void *context, uint64_t size_bytes) {
    (void)context;
    ferrum_address address;
    ferrum.pool_alloc(ferrum.pool, size_bytes, (ferrum_stream){0}, &address);
    return address;
}

static bool pool_release(void *context, uint64_t address) {
    (void)context;
    return ferrum.pool_free(ferrum.pool, address, (ferrum_stream){0}) ==
           FERRUM_OK;
}

static bool pool_allocate_batch(void *context, uint64_t size_bytes,
                                uint64_t count, uint64_t *blocks_out) {
    (void)context;
    return ferrum.pool_alloc_batch(ferrum.pool, size_bytes, count,
                                   (ferrum_stream){0}, blocks_out) == FERRUM_OK;
}

static bool pool_release_batch(void *context, const uint64_t *blocks,
                               uint64_t count) {
    (void)context;
    return ferrum.pool_free_batch(ferrum.pool, blocks, count,
                                  (ferrum_stream){0}) == FERRUM_OK;
}

static void pool_place(void *context, uint64_t block, uint64_t size_bytes,
                       struct place *place_out) {
    (void)context;
    *place_out = (struct place){block, block + size_bytes};
}

static void pool_books(void *context, struct books *books_out) {
    (void)context;
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    must(ferrum.pool_get_statistics(ferrum.pool, &statistics),
         "ferrum_pool_get_statistics");
    *books_out = (struct books){
        .requested_bytes = statistics.requested.current,
        .allocated_bytes = statistics.allocated.current,
        .reserved_bytes = statistics.reserved.current,
        .reserved_peak_bytes = statistics.reserved.peak,
        .segments = statistics.segments.current,
    };
}

static void pool_trim(void *context) {
    (void)context;
    uint64_t released_bytes;
    must(ferrum.pool_trim(ferrum.pool, 0, &released_bytes), "ferrum_pool_trim");
}

static void pool_close(void *context) {
    (void)context;
    must(ferrum.pool_destroy(ferrum.pool, 0), "ferrum_pool_destroy");
    close_library();
}

static bool pool_open(const struct adapter_settings *settings,
                      struct allocator *allocator_out) {
    if (!open_library(settings, allocator_out))
        return false;
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    if (strcmp(settings->name, "ferrum_pool_uncached") == 0) {
        config.thread_cache_bytes = 0;
    } else if (strcmp(settings->name, "ferrum_pool_tracking") == 0) {
        config.tracking = 1;
    } else if (strcmp(settings->name, "ferrum_pool_fixed") == 0) {
        config.strategy = "fixed";
        config.fixed_block_bytes = FIXED_BLOCK_BYTES;
    }
    must(ferrum.pool_create(ferrum.device, &config, &ferrum.pool),
         "ferrum_pool_create");
    allocator_out->allocate = pool_allocate;
    allocator_out->release = pool_release;
    allocator_out->allocate_batch = pool_allocate_batch;
    allocator_out->release_batch = pool_release_batch;
    allocator_out->place = pool_place;
    allocator_out->books = pool_books;
    allocator_out->trim = pool_trim;
    allocator_out->close = pool_close;
    allocator_out->writable = true;
    return true;
}

/* The requests of ferrum_pool_aligned and ferrum_pool_tagged, except the
 * size. */
static ferrum_pool_request asked_for = FERRUM_POOL_REQUEST_INIT;

static uint64_t pool_allocate_with(void *context, uint64_t size_bytes) {
    (void)context;
    ferrum_pool_request request = asked_for;
    ferrum_address address;
    request.size_bytes = size_bytes;
    ferrum.pool_alloc_with(ferrum.pool, &request, &address);
    return address;
}

static bool request_open(const struct adapter_settings *settings,
                         struct allocator *allocator_out) {
    if (!pool_open(settings, allocator_out))
        return false;
    if (strcmp(settings->name, "ferrum_pool_aligned") == 0)
        asked_for.alignment_bytes = ALIGNMENT_BYTES;
    else
        must(ferrum.pool_get_tag(ferrum.pool, "bench", &asked_for.tag),
             "ferrum_pool_get_tag");
    allocator_out->allocate = pool_allocate_with;
    return true;
}

/* -------------------------------------------------------------- manager */

static uint64_t manager_alloc(void *context, uint64_t size_bytes) {
    (void)context;
    ferrum_memory memory;
    ferrum.manager_alloc(ferrum.manager, size_bytes, &memory);
    return memory.id;
}

static bool manager_release(void *context, uint64_t handle) {
    (void)context;
    return ferrum.memory_free((ferrum_memory){handle}) == FERRUM_OK;
}

static void manager_close(void *context) {
    (void)context;
    must(ferrum.manager_destroy(ferrum.manager, 0), "ferrum_manager_destroy");
    close_library();
}

static bool manager_open(const struct adapter_settings *settings,
                         struct allocator *allocator_out) {
    if (!open_library(settings, allocator_out))
        return false;
    must(ferrum.manager_create(ferrum.device, NULL, &ferrum.manager),
         "ferrum_manager_create");
    allocator_out->allocate = manager_alloc;
    allocator_out->release = manager_release;
    allocator_out->close = manager_close;
    return true;
}

/* --------------------------------------------------------------- probes */

static uint64_t plain_allocate(void *context, uint64_t size_bytes) {
    (void)context, (void)size_bytes;
    return ferrum.abi_version();
}

static bool plain_release(void *context, uint64_t address) {
    (void)context, (void)address;
    return ferrum.abi_version() != 0;
}

static uint64_t crossing_allocate(void *context, uint64_t size_bytes) {
    (void)context, (void)size_bytes;
    uint32_t ready;
    return ferrum.stream_is_ready(ferrum.stream, &ready) == FERRUM_OK;
}

static bool crossing_release(void *context, uint64_t address) {
    return crossing_allocate(context, address) != 0;
}

static void probe_close(void *context) {
    (void)context;
    close_library();
}

static bool probe_open(const struct adapter_settings *settings,
                       struct allocator *allocator_out) {
    if (!open_library(settings, allocator_out))
        return false;
    must(ferrum.stream_default(ferrum.device, &ferrum.stream),
         "ferrum_stream_default");
    bool plain = strcmp(settings->name, "ferrum_plain_call") == 0;
    allocator_out->allocate = plain ? plain_allocate : crossing_allocate;
    allocator_out->release = plain ? plain_release : crossing_release;
    allocator_out->close = probe_close;
    return true;
}

const struct adapter ferrum_adapters[] = {
    {"ferrum_pool", pool_open},
    {"ferrum_pool_uncached", pool_open},
    {"ferrum_pool_tracking", pool_open},
    {"ferrum_pool_fixed", pool_open},
    {"ferrum_pool_aligned", request_open},
    {"ferrum_pool_tagged", request_open},
    {"ferrum_manager", manager_open},
    {"ferrum_plain_call", probe_open},
    {"ferrum_go_call", probe_open},
    {NULL, NULL},
};

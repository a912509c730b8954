/*
 * Measures single calls of the C ABI that programs make often, and discovery,
 * and prints one JSON object.
 *
 *   calls --row calls --library FILE --crossing FILE [--repetitions N] [--calls N]
 *   calls --row discovery --library FILE [--repetitions N]
 *
 *   calls      nanoseconds for each call, measured over many calls, every kind in
 *              turn: "crossing", of a Go library whose function returns at once;
 *              "handle", looks up a handle and returns the length of a name;
 *              "cached_handle", looks up the handle of a pool and a block of
 *              it, without entering Go, and returns the block's size; "recent",
 *              a device's memory from the counters; "asked", the same by a query
 *              of the device
 *   discovery  "cold", milliseconds of the first survey of all backends in this
 *              process; "refresh", of a repeated survey; "cached", microseconds
 *              of a read of the known result
 *
 * Exit status: 0, 1 for a failure, 2 for wrong usage.
 */
#include "ferrum_mem.h"

#include "../bench.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    ferrum_device device;
    ferrum_placement placement;
    ferrum_pool pool;
    /* The first block comes from the core, the second from the caches. */
    ferrum_address blocks[2];
    __typeof__(&ferrum_init) init;
    __typeof__(&ferrum_shutdown) shutdown;
    __typeof__(&ferrum_last_error) last_error;
    __typeof__(&ferrum_version_string) version_string;
    __typeof__(&ferrum_device_open) device_open;
    __typeof__(&ferrum_device_close) device_close;
    __typeof__(&ferrum_placement_create) placement_create;
    __typeof__(&ferrum_placement_get_name) placement_get_name;
    __typeof__(&ferrum_placement_destroy) placement_destroy;
    __typeof__(&ferrum_pool_create) pool_create;
    __typeof__(&ferrum_pool_alloc) pool_alloc;
    __typeof__(&ferrum_pool_free) pool_free;
    __typeof__(&ferrum_pool_usable_size) pool_usable_size;
    __typeof__(&ferrum_pool_destroy) pool_destroy;
    __typeof__(&ferrum_device_get_memory_info) memory_get_info;
    __typeof__(&ferrum_device_get_recent_memory_info) memory_get_recent_info;
    __typeof__(&ferrum_backends_json) backends_json;
    __typeof__(&ferrum_backends_refresh) backends_refresh;
} library;

static uint64_t (*cross)(uint64_t);

static void must(ferrum_status status, const char *what) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    library.last_error(&error);
    die("%s: status %d, %s", what, (int)status, error.message);
}
#define MUST(call) must(library.call, "ferrum_" #call)

static void resolve(void *handle) {
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"ferrum_init", &library.init},
        {"ferrum_shutdown", &library.shutdown},
        {"ferrum_last_error", &library.last_error},
        {"ferrum_version_string", &library.version_string},
        {"ferrum_device_open", &library.device_open},
        {"ferrum_device_close", &library.device_close},
        {"ferrum_placement_create", &library.placement_create},
        {"ferrum_placement_get_name", &library.placement_get_name},
        {"ferrum_placement_destroy", &library.placement_destroy},
        {"ferrum_pool_create", &library.pool_create},
        {"ferrum_pool_alloc", &library.pool_alloc},
        {"ferrum_pool_free", &library.pool_free},
        {"ferrum_pool_usable_size", &library.pool_usable_size},
        {"ferrum_pool_destroy", &library.pool_destroy},
        {"ferrum_device_get_memory_info", &library.memory_get_info},
        {"ferrum_device_get_recent_memory_info",
         &library.memory_get_recent_info},
        {"ferrum_backends_json", &library.backends_json},
        {"ferrum_backends_refresh", &library.backends_refresh},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!library_symbol(handle, symbols[i].name, symbols[i].function))
            die("the library has no %s", symbols[i].name);
}

/* ------------------------------------------------------------ single calls */

/* Each function makes this many calls. */
static void call_crossing(uint64_t calls) {
    for (uint64_t i = 1; i <= calls; i++)
        if (cross(i) != i)
            die("bench_cross does not return what it is given");
}

static void call_handle(uint64_t calls) {
    size_t length = 0;
    for (uint64_t i = 0; i < calls; i++)
        MUST(placement_get_name(library.placement, NULL, 0, &length));
    if (length != strlen("pack"))
        die("the name of a strategy has %zu bytes", length);
}

static void call_cached_handle(uint64_t calls) {
    uint64_t size = 0;
    for (uint64_t i = 0; i < calls; i++)
        MUST(pool_usable_size(library.pool, library.blocks[1], &size));
    if (size != 256)
        die("a block of 256 bytes has %" PRIu64, size);
}

static void call_recent(uint64_t calls) {
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    for (uint64_t i = 0; i < calls; i++)
        MUST(memory_get_recent_info(library.device, UINT64_MAX, &info));
    if (info.reading_age_ns == 0 || info.active_allocations != 2)
        die("the device was asked, or the books lack the blocks");
}

static void call_asked(uint64_t calls) {
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    for (uint64_t i = 0; i < calls; i++)
        MUST(memory_get_info(library.device, &info));
    if (info.reading_age_ns != 0 || info.active_allocations != 2)
        die("the device was not asked, or the books lack the block");
}

static const struct {
    const char *name;
    void (*run)(uint64_t calls);
    /* Slow kinds make only one in this many of the requested calls. */
    uint64_t fewer;
} kinds[] = {
    {"crossing_ns", call_crossing, 1},
    {"handle_ns", call_handle, 1},
    {"cached_handle_ns", call_cached_handle, 1},
    {"recent_ns", call_recent, 1},
    {"asked_ns", call_asked, 50},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void run_calls(uint64_t repetitions, uint64_t calls) {
    MUST(device_open("cpu:0", &library.device));
    MUST(placement_create("pack", &library.placement));
    MUST(pool_create(library.device, NULL, &library.pool));
    for (size_t i = 0; i < 2; i++)
        MUST(pool_alloc(library.pool, 256, (ferrum_stream){0},
                        &library.blocks[i]));
    stay_on_core(0);
    double *samples[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        samples[k] = numbers(repetitions);
        kinds[k].run(calls / kinds[k].fewer + 1);
    }
    for (uint64_t i = 0; i < repetitions; i++)
        for (size_t k = 0; k < KINDS; k++) {
            uint64_t now = calls / kinds[k].fewer + 1;
            uint64_t begin = clock_ns();
            kinds[k].run(now);
            samples[k][i] = (double)(clock_ns() - begin) / (double)now;
        }
    for (size_t k = 0; k < KINDS; k++) {
        print_list(kinds[k].name, samples[k], repetitions);
        printf(", ");
        free(samples[k]);
    }
    for (size_t i = 0; i < 2; i++)
        MUST(pool_free(library.pool, library.blocks[i], (ferrum_stream){0}));
    MUST(pool_destroy(library.pool, 0));
    MUST(placement_destroy(library.placement));
    MUST(device_close(library.device, 0));
}

/* --------------------------------------------------------------- discovery */

static double look(void) {
    static char text[1 << 16];
    size_t length;
    uint64_t begin = clock_ns();
    MUST(backends_json(text, sizeof text, &length));
    double taken = (double)(clock_ns() - begin);
    if (strstr(text, "\"helper_unavailable\"") != NULL)
        die("nobody was asked: the helper is not beside the library");
    return taken;
}

static void run_discovery(uint64_t repetitions) {
    double cold = look() / 1e6;
    double *again = numbers(repetitions), *cached = numbers(repetitions);
    for (uint64_t i = 0; i < repetitions; i++) {
        uint64_t begin = clock_ns();
        MUST(backends_refresh());
        again[i] = (double)(clock_ns() - begin) / 1e6;
        cached[i] = look() / 1e3;
    }
    print_list("cold_ms", &cold, 1);
    printf(", ");
    print_list("refresh_ms", again, repetitions);
    printf(", ");
    print_list("cached_us", cached, repetitions);
    printf(", ");
    free(again);
    free(cached);
}

/* -------------------------------------------------------------------- main */

__attribute__((noreturn)) static void refuse(const char *what,
                                             const char *text) {
    fprintf(stderr, "calls: %s %s\n", what, text);
    exit(2);
}

static uint64_t number_of(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || value == 0)
        refuse("not a number above 0:", text);
    return value;
}

int main(int count, char **arguments) {
    static const struct option known[] = {
        {"library", required_argument, NULL, 'l'},
        {"crossing", required_argument, NULL, 'x'},
        {"row", required_argument, NULL, 'r'},
        {"repetitions", required_argument, NULL, 'n'},
        {"calls", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0}};
    const char *file = NULL, *bare = NULL, *row = "";
    uint64_t repetitions = 10, calls = 100000;
    for (int c; (c = getopt_long(count, arguments, "", known, NULL)) != -1;)
        switch (c) {
        case 'l':
            file = optarg;
            break;
        case 'x':
            bare = optarg;
            break;
        case 'r':
            row = optarg;
            break;
        case 'n':
            repetitions = number_of(optarg);
            break;
        case 'c':
            calls = number_of(optarg);
            break;
        default:
            return 2;
        }
    int single = strcmp(row, "calls") == 0;
    if (!single && strcmp(row, "discovery") != 0)
        refuse("no row is called", row);
    void *handle = file == NULL ? NULL : library_open(file);
    if (handle == NULL)
        refuse("--library:", "needed");
    void *other = bare == NULL ? NULL : library_open(bare);
    if (single &&
        (other == NULL || !library_symbol(other, "bench_cross", &cross)))
        refuse("--crossing:", "needed");
    resolve(handle);
    MUST(init(NULL));
    printf("{");
    if (single)
        run_calls(repetitions, calls);
    else
        run_discovery(repetitions);
    printf("\"version\": \"%s\"}\n", library.version_string());
    MUST(shutdown(0));
    return EXIT_SUCCESS;
}

/*
 * Measures one row of virtual memory through the C ABI, in turn with the bare
 * system, and prints one JSON object with the samples of both.
 *
 *   pages --library FILE --row ROW [--backing movable|private] [--apart]
 *         [--bytes N] [--repetitions N] [--threads N]
 *
 *   pair     allocates, writes and frees one reused page of 2 MiB: at the same
 *            place, or with --apart at another place each time; beside mapping
 *            and unmapping
 *   tenants  the same by two models of an elastic pool in turn
 *   many     --bytes of reused pages in one call, in one run or with --apart: out
 *            of pages of which no two are adjacent; beside one mmap, or one for
 *            each page
 *   reserve  a virtual pool of --bytes, and a model with as many; the memory and
 *            page tables for that; beside reserving the addresses
 *   wake     --bytes from host memory, with --threads streams; beside a memcpy of
 *            as many threads into memory that is touched for the first time
 *   limit    the limit is lowered by --bytes of cached pages; beside releasing
 *
 * Exit status: 0, 1 for a failure, 2 for wrong usage.
 */
#include "pages.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct library library;

void must(ferrum_status status, const char *what) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    library.last_error(&error);
    die("%s: status %d, %s", what, (int)status, error.message);
}

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
        {"ferrum_device_get_memory_info", &library.memory_get_info},
        {"ferrum_vpool_create", &library.vpool_create},
        {"ferrum_vpool_destroy", &library.vpool_destroy},
        {"ferrum_vpool_alloc", &library.vpool_alloc},
        {"ferrum_vpool_free", &library.vpool_free},
        {"ferrum_vpool_get_info", &library.vpool_get_info},
        {"ferrum_vpool_compact", &library.vpool_compact},
        {"ferrum_vpool_trim", &library.vpool_trim},
        {"ferrum_vpool_set_limit", &library.vpool_set_limit},
        {"ferrum_vpool_sleep", &library.vpool_sleep},
        {"ferrum_vpool_wake", &library.vpool_wake},
        {"ferrum_elastic_pool_create", &library.elastic_pool_create},
        {"ferrum_elastic_pool_destroy", &library.elastic_pool_destroy},
        {"ferrum_elastic_pool_register_model", &library.register_model},
        {"ferrum_elastic_pool_unregister_model", &library.unregister_model},
        {"ferrum_elastic_pool_alloc_with", &library.elastic_pool_alloc_with},
        {"ferrum_elastic_pool_free", &library.elastic_pool_free},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!library_symbol(handle, symbols[i].name, symbols[i].function))
            die("the library has no %s", symbols[i].name);
}

ferrum_vpool vpool_open(const struct row *row, ferrum_vpool_config config) {
    ferrum_vpool vpool;
    config.backing = row->backing;
    config.page_bytes = PAGE_BYTES;
    must(library.vpool_create(library.device, &config, &vpool),
         "ferrum_vpool_create");
    return vpool;
}

struct figure figure_open(const char *name, uint64_t count) {
    return (struct figure){name, numbers(count), numbers(count), count};
}

void figure_print(struct figure *figure, double divisor) {
    for (uint64_t i = 0; i < figure->count; i++) {
        figure->ours[i] /= divisor;
        figure->bare[i] /= divisor;
    }
    printf("\"%s\": {", figure->name);
    print_list("ours", figure->ours, figure->count);
    printf(", ");
    print_list("bare", figure->bare, figure->count);
    printf("}, ");
    free(figure->ours);
    free(figure->bare);
}

/* -------------------------------------------------------------------- main */

static const struct {
    const char *name;
    void (*run)(const struct row *);
} rows[] = {
    {"pair", run_pair},       {"tenants", run_tenants}, {"many", run_many},
    {"reserve", run_reserve}, {"wake", run_wake},       {"limit", run_limit},
};

__attribute__((noreturn)) static void refuse(const char *what,
                                             const char *text) {
    fprintf(stderr, "pages: %s %s\n", what, text);
    exit(2);
}

static uint64_t number_of(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || value == 0)
        refuse("not a number above 0:", text);
    return value;
}

static void backing_of(struct row *row, const char *text) {
    row->movable = strcmp(text, "movable") == 0;
    if (!row->movable && strcmp(text, "private") != 0)
        refuse("no backing is called", text);
    row->backing =
        row->movable ? FERRUM_BACKING_MOVABLE : FERRUM_BACKING_PRIVATE;
}

int main(int count, char **arguments) {
    static const struct option known[] = {
        {"library", required_argument, NULL, 'l'},
        {"row", required_argument, NULL, 'r'},
        {"backing", required_argument, NULL, 'b'},
        {"apart", no_argument, NULL, 'a'},
        {"bytes", required_argument, NULL, 'n'},
        {"repetitions", required_argument, NULL, 'c'},
        {"threads", required_argument, NULL, 't'},
        {NULL, 0, NULL, 0}};
    struct row row = {.movable = true,
                      .backing = FERRUM_BACKING_MOVABLE,
                      .bytes = UINT64_C(512) * PAGE_BYTES,
                      .repetitions = 10,
                      .threads = 1};
    const char *file = NULL, *name = "";
    for (int c; (c = getopt_long(count, arguments, "", known, NULL)) != -1;)
        switch (c) {
        case 'l':
            file = optarg;
            break;
        case 'r':
            name = optarg;
            break;
        case 'b':
            backing_of(&row, optarg);
            break;
        case 'a':
            row.apart = true;
            break;
        case 'n':
            row.bytes = number_of(optarg);
            break;
        case 'c':
            row.repetitions = number_of(optarg);
            break;
        case 't':
            row.threads = number_of(optarg);
            break;
        default:
            return 2;
        }
    size_t at = 0;
    while (at < sizeof rows / sizeof rows[0] &&
           strcmp(rows[at].name, name) != 0)
        at++;
    if (at == sizeof rows / sizeof rows[0])
        refuse("no row is called", name);
    if (row.bytes % PAGE_BYTES != 0)
        refuse("--bytes:", "want whole pages of 2 MiB");
    void *handle = file == NULL ? NULL : library_open(file);
    if (handle == NULL)
        refuse("--library:", "needed");
    resolve(handle);
    must(library.init(NULL), "ferrum_init");
    must(library.device_open("cpu:0", &library.device), "ferrum_device_open");
    printf("{");
    rows[at].run(&row);
    printf("\"bytes\": %" PRIu64 ", \"version\": \"%s\"}\n", row.bytes,
           library.version_string());
    must(library.device_close(library.device, 0), "ferrum_device_close");
    must(library.shutdown(0), "ferrum_shutdown");
    return EXIT_SUCCESS;
}

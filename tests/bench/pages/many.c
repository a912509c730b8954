/* Many reused pages in one call, and much address space. */
#include "pages.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Creates the pages that will be reused, as many as the row has: in one
 * run, or every other one of twice as many, of which the rest stays in use. */
static void supply(const struct row *row, ferrum_vpool vpool) {
    ferrum_address address;
    uint64_t bytes = row->apart ? 2 * row->bytes : row->bytes;
    must(library.vpool_alloc(vpool, 0, bytes, &address), "ferrum_vpool_alloc");
    uint64_t step = row->apart ? 2 * PAGE_BYTES : row->bytes;
    uint64_t part = row->apart ? PAGE_BYTES : row->bytes;
    for (uint64_t at = 0; at < bytes; at += step)
        must(library.vpool_free(vpool, at, part, (ferrum_stream){0}),
             "ferrum_vpool_free");
}

/* The same pages, by one mmap for each: from the last to the first, every
 * other one. */
static void map_each(const struct bare *bare, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
        bare_map(bare, at, 2 * (bytes - PAGE_BYTES - at), PAGE_BYTES);
}

void run_many(const struct row *row) {
    const uint64_t front = 2 * row->bytes;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = front + row->bytes;
    config.ready_pages = (uint32_t)(row->bytes / PAGE_BYTES);
    /* There are no other pages. */
    config.limit_bytes = row->apart ? 2 * row->bytes : row->bytes;
    ferrum_vpool vpool = vpool_open(row, config);
    supply(row, vpool);
    struct bare bare = bare_open(row, front);
    struct figure map = figure_open("map_us", row->repetitions);
    for (uint64_t i = 0; i < row->repetitions; i++) {
        ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
        ferrum_address address;
        /* After this no page is mapped. */
        must(library.vpool_compact(vpool, &report), "ferrum_vpool_compact");
        uint64_t start = clock_ns();
        must(library.vpool_alloc(vpool, front, row->bytes, &address),
             "ferrum_vpool_alloc");
        map.ours[i] = (double)(clock_ns() - start);
        must(library.vpool_free(vpool, front, row->bytes, (ferrum_stream){0}),
             "ferrum_vpool_free");
        start = clock_ns();
        if (row->apart)
            map_each(&bare, row->bytes);
        else
            bare_map(&bare, 0, 0, row->bytes);
        map.bare[i] = (double)(clock_ns() - start);
        bare_unmap(&bare, 0, row->bytes);
    }
    figure_print(&map, 1e3);
    bare_close(&bare);
    must(library.vpool_destroy(vpool, FERRUM_FORCE), "ferrum_vpool_destroy");
}

/* ----------------------------------------------------------- address space */

/* A field of /proc/self/status, in bytes. */
static double status_bytes(const char *field) {
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "re");
    if (file == NULL)
        die("/proc/self/status cannot be read");
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, strlen(field)) == 0)
            sscanf(line + strlen(field), ": %llu", &kilobytes);
    fclose(file);
    return (double)kilobytes * 1024;
}

static double memory_bytes(void) {
    return status_bytes("RssAnon") + status_bytes("RssShmem");
}

void run_reserve(const struct row *row) {
    struct figure pool = figure_open("pool_us", row->repetitions);
    struct figure model = figure_open("model_us", row->repetitions);
    struct figure memory = figure_open("memory_bytes", row->repetitions);
    struct figure tables = figure_open("page_table_bytes", row->repetitions);
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = row->bytes;
    ferrum_model_config space = FERRUM_MODEL_CONFIG_INIT;
    space.virtual_bytes = row->bytes;
    ferrum_elastic_pool shared;
    must(library.elastic_pool_create(library.device, NULL, &shared),
         "ferrum_elastic_pool_create");
    for (uint64_t i = 0; i < row->repetitions; i++) {
        double held = memory_bytes(), page_tables = status_bytes("VmPTE");
        uint64_t start = clock_ns();
        ferrum_vpool vpool = vpool_open(row, config);
        pool.ours[i] = (double)(clock_ns() - start);
        memory.ours[i] = memory_bytes() - held;
        tables.ours[i] = status_bytes("VmPTE") - page_tables;
        must(library.vpool_destroy(vpool, 0), "ferrum_vpool_destroy");
        start = clock_ns();
        must(library.register_model(shared, "m", &space),
             "ferrum_elastic_pool_register_model");
        model.ours[i] = (double)(clock_ns() - start);
        must(library.unregister_model(shared, "m", 0),
             "ferrum_elastic_pool_unregister_model");
        held = memory_bytes(), page_tables = status_bytes("VmPTE");
        start = clock_ns();
        void *at = mmap(NULL, row->bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        pool.bare[i] = model.bare[i] = (double)(clock_ns() - start);
        memory.bare[i] = memory_bytes() - held;
        tables.bare[i] = status_bytes("VmPTE") - page_tables;
        if (at == MAP_FAILED)
            die("no such address space");
        munmap(at, row->bytes);
    }
    figure_print(&pool, 1e3);
    figure_print(&model, 1e3);
    figure_print(&memory, 1);
    figure_print(&tables, 1);
    must(library.elastic_pool_destroy(shared, 0),
         "ferrum_elastic_pool_destroy");
}

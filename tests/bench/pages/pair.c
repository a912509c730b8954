/*
 * Allocation and free of one reused page: the path of the caller, and the
 * first write after it.
 */
#include "pages.h"

#include <string.h>
#include <unistd.h>

/* Ours and the bare system take turns of this many pairs. */
enum { TURN = 32 };

/* The distance between places that are used one after the other. */
enum { PLACES = 256 };

static void *pointer(ferrum_address address) {
    return (void *)(uintptr_t)address;
}

static ferrum_vpool vpool;

static double our_pair(uint64_t offset, double *write_ns) {
    ferrum_address address;
    uint64_t start = clock_ns();
    must(library.vpool_alloc(vpool, offset, PAGE_BYTES, &address),
         "ferrum_vpool_alloc");
    uint64_t mapped = clock_ns();
    memset(pointer(address), 1, PAGE_BYTES);
    uint64_t written = clock_ns();
    must(library.vpool_free(vpool, offset, PAGE_BYTES, (ferrum_stream){0}),
         "ferrum_vpool_free");
    *write_ns = (double)(written - mapped);
    return (double)(clock_ns() - written + mapped - start);
}

static double bare_pair(const struct bare *bare, uint64_t offset,
                        double *write_ns) {
    uint64_t start = clock_ns();
    bare_map(bare, offset, 0, PAGE_BYTES);
    uint64_t mapped = clock_ns();
    memset(bare->base + offset, 1, PAGE_BYTES);
    uint64_t written = clock_ns();
    bare_unmap(bare, offset, PAGE_BYTES);
    *write_ns = (double)(written - mapped);
    return (double)(clock_ns() - written + mapped - start);
}

void run_pair(const struct row *row) {
    const uint64_t space = (uint64_t)PLACES * PAGE_BYTES;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = space;
    vpool = vpool_open(row, config);
    struct bare bare = bare_open(row, space);
    uint64_t count = row->repetitions * TURN;
    struct figure pair = figure_open("pair_us", count);
    struct figure write = figure_open("write_us", count);
    double unused;
    /* From here on, existing pages are reused. */
    for (uint64_t i = 0; i < 2 * TURN; i++) {
        uint64_t offset = row->apart ? i * PAGE_BYTES : 0;
        our_pair(offset, &unused);
        bare_pair(&bare, offset, &unused);
    }
    for (uint64_t turn = 0; turn < row->repetitions; turn++)
        for (uint64_t i = 0; i < 2 * TURN; i++) {
            uint64_t at = turn * TURN + i % TURN;
            uint64_t offset = row->apart ? at % PLACES * PAGE_BYTES : 0;
            if (i < TURN)
                pair.ours[at] = our_pair(offset, &write.ours[at]);
            else
                pair.bare[at] = bare_pair(&bare, offset, &write.bare[at]);
        }
    figure_print(&pair, 1e3);
    figure_print(&write, 1e3);
    bare_close(&bare);
    must(library.vpool_destroy(vpool, 0), "ferrum_vpool_destroy");
}

/* ------------------------------------------------------------- two models */

/* This many pages move between the models, and there are no others. */
enum { BURST = 4 };

/* Long enough for the library's worker to check the idle pages. */
enum { REST_US = 300000 };

static ferrum_elastic_pool shared;

static double model_burst(const char *model, double *write_ns) {
    ferrum_address address[BURST];
    uint64_t start = clock_ns();
    for (uint64_t i = 0; i < BURST; i++) {
        ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
        request.at_offset = 1;
        request.offset_bytes = i * PAGE_BYTES;
        request.size_bytes = PAGE_BYTES;
        must(library.elastic_pool_alloc_with(shared, model, &request,
                                             &address[i], NULL),
             "ferrum_elastic_pool_alloc_with");
    }
    uint64_t mapped = clock_ns();
    for (uint64_t i = 0; i < BURST; i++) {
        if (*(char *)pointer(address[i]) != 0)
            die("a model reads what another one has written");
        memset(pointer(address[i]), 1, PAGE_BYTES);
    }
    uint64_t written = clock_ns();
    for (uint64_t i = 0; i < BURST; i++)
        must(library.elastic_pool_free(shared, model, i * PAGE_BYTES,
                                       PAGE_BYTES, (ferrum_stream){0}),
             "ferrum_elastic_pool_free");
    *write_ns = (double)(written - mapped) / BURST;
    return (double)(clock_ns() - written + mapped - start) / BURST;
}

/* The system itself zeroes private pages. */
static double bare_burst(const struct bare *bare, double *write_ns) {
    double pairs_ns = 0, writes_ns = 0;
    for (uint64_t i = 0; i < BURST; i++) {
        uint64_t start = clock_ns();
        bare_zero(bare, i * PAGE_BYTES, PAGE_BYTES);
        bare_map(bare, i * PAGE_BYTES, i * PAGE_BYTES, PAGE_BYTES);
        uint64_t mapped = clock_ns();
        memset(bare->base + i * PAGE_BYTES, 1, PAGE_BYTES);
        uint64_t written = clock_ns();
        bare_unmap(bare, i * PAGE_BYTES, PAGE_BYTES);
        writes_ns += (double)(written - mapped);
        pairs_ns += (double)(clock_ns() - written + mapped - start);
    }
    *write_ns = writes_ns / BURST;
    return pairs_ns / BURST;
}

void run_tenants(const struct row *row) {
    static const char *const models[] = {"a", "b"};
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.page_bytes = PAGE_BYTES;
    config.limit_bytes = BURST * PAGE_BYTES;
    config.backing = row->backing;
    must(library.elastic_pool_create(library.device, &config, &shared),
         "ferrum_elastic_pool_create");
    ferrum_model_config space = FERRUM_MODEL_CONFIG_INIT;
    space.virtual_bytes = BURST * PAGE_BYTES;
    for (size_t i = 0; i < 2; i++)
        must(library.register_model(shared, models[i], &space),
             "ferrum_elastic_pool_register_model");
    struct bare bare = bare_open(row, space.virtual_bytes);
    struct figure pair = figure_open("pair_us", row->repetitions);
    struct figure write = figure_open("write_us", row->repetitions);
    double unused;
    model_burst(models[1], &unused);
    bare_burst(&bare, &unused);
    for (uint64_t i = 0; i < row->repetitions; i++) {
        pair.bare[i] = bare_burst(&bare, &write.bare[i]);
        if (!row->apart)
            usleep(REST_US);
        pair.ours[i] = model_burst(models[i % 2], &write.ours[i]);
    }
    figure_print(&pair, 1e3);
    figure_print(&write, 1e3);
    bare_close(&bare);
    must(library.elastic_pool_destroy(shared, 0),
         "ferrum_elastic_pool_destroy");
}

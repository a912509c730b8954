/* Waking from host memory, and a lowered limit. */
#include "pages.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The size of one step of a thread's copy. */
#define PART_BYTES (UINT64_C(8) << 20)

struct copying {
    char *to;
    const char *from;
    uint64_t bytes, first, step;
};

static void *copy_parts(void *context) {
    const struct copying *c = context;
    for (uint64_t at = c->first; at < c->bytes; at += c->step) {
        uint64_t left = c->bytes - at;
        memcpy(c->to + at, c->from + at, left < PART_BYTES ? left : PART_BYTES);
    }
    return NULL;
}

static void plain_copy(const struct row *row, char *to, const char *from) {
    pthread_t *threads = calloc(row->threads, sizeof *threads);
    struct copying *parts = calloc(row->threads, sizeof *parts);
    if (threads == NULL || parts == NULL)
        die("no memory for threads");
    for (uint64_t i = 0; i < row->threads; i++) {
        parts[i] = (struct copying){to, from, row->bytes, i * PART_BYTES,
                                    row->threads * PART_BYTES};
        if (pthread_create(&threads[i], NULL, copy_parts, &parts[i]) != 0)
            die("no thread");
    }
    for (uint64_t i = 0; i < row->threads; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    free(parts);
}

static void fill(char *memory, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += sizeof at)
        memcpy(memory + at, &at, sizeof at);
}

static double our_wake(const struct row *row, ferrum_vpool vpool) {
    ferrum_sleep_config sleep = FERRUM_SLEEP_CONFIG_INIT;
    ferrum_wake_config wake = FERRUM_WAKE_CONFIG_INIT;
    sleep.num_streams = wake.num_streams = (uint32_t)row->threads;
    ferrum_address address;
    uint64_t released;
    must(library.vpool_alloc(vpool, 0, row->bytes, &address),
         "ferrum_vpool_alloc");
    char *memory = (char *)(uintptr_t)address;
    fill(memory, row->bytes);
    must(library.vpool_sleep(vpool, &sleep, NULL), "ferrum_vpool_sleep");
    /* Movable pages wake in memory that is touched for the first time. Private
     * pages have kept their bytes in place. */
    must(library.vpool_trim(vpool, 0, &released), "ferrum_vpool_trim");
    uint64_t start = clock_ns();
    must(library.vpool_wake(vpool, &wake, NULL), "ferrum_vpool_wake");
    double taken = (double)(clock_ns() - start);
    for (uint64_t at = 0; at < row->bytes; at += 4096)
        if (memcmp(memory + at, &at, sizeof at) != 0)
            die("what has woken is not what slept");
    must(library.vpool_free(vpool, 0, row->bytes, (ferrum_stream){0}),
         "ferrum_vpool_free");
    must(library.vpool_trim(vpool, 0, &released), "ferrum_vpool_trim");
    return taken;
}

static double bare_wake(const struct row *row, const char *from) {
    struct bare bare = bare_open(row, row->bytes);
    uint64_t start = clock_ns();
    bare_map(&bare, 0, 0, row->bytes);
    plain_copy(row, bare.base, from);
    double taken = (double)(clock_ns() - start);
    bare_close(&bare);
    return taken;
}

void run_wake(const struct row *row) {
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = row->bytes;
    config.ready_pages = 0;
    ferrum_vpool vpool = vpool_open(row, config);
    char *from = malloc(row->bytes);
    if (from == NULL)
        die("no memory");
    fill(from, row->bytes);
    struct figure wake = figure_open("wake_ms", row->repetitions);
    for (uint64_t i = 0; i < row->repetitions; i++) {
        wake.bare[i] = bare_wake(row, from);
        wake.ours[i] = our_wake(row, vpool);
    }
    figure_print(&wake, 1e6);
    free(from);
    must(library.vpool_destroy(vpool, 0), "ferrum_vpool_destroy");
}

/* ---------------------------------------------------------------- limit */

/* The interval at which the pages are checked. */
enum { LOOK_US = 1000 };

static uint64_t held_bytes(ferrum_vpool vpool) {
    ferrum_vpool_info info = FERRUM_VPOOL_INFO_INIT;
    must(library.vpool_get_info(vpool, &info), "ferrum_vpool_get_info");
    return info.held_bytes;
}

/* Leaves at least an eighth of the memory to others. */
static uint64_t bytes_here(const struct row *row) {
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    must(library.memory_get_info(library.device, &info),
         "ferrum_device_get_memory_info");
    uint64_t most = info.free_bytes / 8 * 7 / PAGE_BYTES * PAGE_BYTES;
    return row->bytes < most ? row->bytes : most;
}

void run_limit(const struct row *row) {
    const uint64_t kept = UINT64_C(64) * PAGE_BYTES, bytes = bytes_here(row);
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = bytes + kept;
    /* All of it stays cached until the limit changes. */
    config.ready_pages = (uint32_t)(config.capacity_bytes / PAGE_BYTES);
    struct figure call = figure_open("call_ms", row->repetitions);
    struct figure done = figure_open("done_ms", row->repetitions);
    for (uint64_t i = 0; i < row->repetitions; i++) {
        ferrum_vpool vpool = vpool_open(row, config);
        ferrum_address address;
        must(library.vpool_alloc(vpool, 0, config.capacity_bytes, &address),
             "ferrum_vpool_alloc");
        touch((char *)(uintptr_t)address, config.capacity_bytes);
        must(library.vpool_free(vpool, 0, config.capacity_bytes,
                                (ferrum_stream){0}),
             "ferrum_vpool_free");
        uint64_t start = clock_ns();
        must(library.vpool_set_limit(vpool, kept), "ferrum_vpool_set_limit");
        call.ours[i] = (double)(clock_ns() - start);
        while (held_bytes(vpool) > kept)
            usleep(LOOK_US);
        done.ours[i] = (double)(clock_ns() - start);
        must(library.vpool_destroy(vpool, 0), "ferrum_vpool_destroy");
        struct bare bare = bare_open(row, bytes);
        bare_map(&bare, 0, 0, bytes);
        touch(bare.base, bytes);
        start = clock_ns();
        bare_release(&bare, 0, bytes);
        call.bare[i] = done.bare[i] = (double)(clock_ns() - start);
        bare_close(&bare);
    }
    figure_print(&call, 1e6);
    figure_print(&done, 1e6);
    printf("\"cached_bytes\": %llu, ", (unsigned long long)bytes);
}

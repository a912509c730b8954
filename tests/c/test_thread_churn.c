/*
 * 10,000 threads, or the number on the command line, that make only a few
 * calls each. Each thread allocates blocks of several pools for several
 * streams, frees some, and leaves the others to later threads. At the end the
 * counters are exact and nothing is left, neither in the caches of ended
 * threads nor in the library's own tables.
 */
#include "fixture.h"
#include "on_device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 10000, AT_ONCE = 50, POOLS = 4, STREAMS = 3, BLOCKS = 8 };
enum { LETTERS = 64, WARM = 2000 };

#define MIB (UINT64_C(1) << 20)
/* How much memory all the later threads together may leave in the process:
 * far less than one small cache for each. */
#define LEFT_KIB_MAX 16384

/* A block on its way to the thread that frees it. */
typedef struct {
    uint64_t address;
    uint64_t size;
    int pool;
} letter;

static ferrum_device device;
static ferrum_pool pools[POOLS];
static ferrum_stream streams[STREAMS];
static _Atomic(letter *) letters[LETTERS];
static atomic_ullong made[POOLS], freed[POOLS];
static atomic_int failed;

static uint64_t draw(uint64_t *random, uint64_t below) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random % below;
}

static void check(int holds, const char *what) {
    if (holds)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    fprintf(stderr, "%s: %s: %s\n", what, ferrum_status_name(error.status),
            error.message);
    atomic_store(&failed, 1);
}
#define CHECK(condition) check((condition), #condition)

static void free_letter(letter *l, ferrum_stream stream) {
    unsigned char mark = (unsigned char)l->size;
    CHECK(has_bytes(l->address, &mark, 1));
    CHECK(has_bytes(l->address + l->size - 1, &mark, 1));
    CHECK(ferrum_pool_free_sized(pools[l->pool], l->address, l->size, stream) ==
          FERRUM_OK);
    atomic_fetch_add(&freed[l->pool], 1);
    free(l);
}

static void *live_shortly(void *data) {
    uint64_t random = (uintptr_t)data * UINT64_C(0x9e3779b97f4a7c15);
    letter *own[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        letter *l = own[i] = malloc(sizeof *l);
        l->pool = (int)draw(&random, POOLS);
        l->size = 1 + draw(&random, UINT64_C(1) << (4 + draw(&random, 14)));
        if (ferrum_pool_alloc(pools[l->pool], l->size,
                              streams[draw(&random, STREAMS)],
                              &l->address) != FERRUM_OK) {
            check(0, "ferrum_pool_alloc");
            exit(1);
        }
        fill_bytes(l->address, (unsigned char)l->size, (size_t)l->size);
        atomic_fetch_add(&made[l->pool], 1);
    }
    for (int i = 0; i < BLOCKS; i++) {
        letter *l = own[i];
        if (draw(&random, 3) == 0)
            l = atomic_exchange(&letters[draw(&random, LETTERS)], l);
        if (l != NULL)
            free_letter(l, streams[draw(&random, STREAMS)]);
    }
    return NULL;
}

static void run_threads(uintptr_t first, uintptr_t last) {
    pthread_t threads[AT_ONCE];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    for (; first < last; first += AT_ONCE) {
        for (uintptr_t i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], &attributes, live_shortly,
                               (void *)(first + i + 1)) != 0)
                abort();
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    pthread_attr_destroy(&attributes);
}

static long resident_kib(void) {
    long kib = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib;
}

static void check_pool(int i) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    uint64_t released;
    MUST(ferrum_pool_get_statistics(pools[i], &s));
    CHECK(s.live_blocks.current == 0 && s.requested.current == 0);
    CHECK(s.allocated.current == 0 && s.active.current == 0);
    CHECK(s.allocations == atomic_load(&made[i]));
    CHECK(s.frees == atomic_load(&freed[i]));
    CHECK(s.reserved.current == s.cached.current + s.unusable.current);
    MUST(ferrum_pool_trim(pools[i], 0, &released));
    CHECK(released == s.reserved.current);
    MUST(ferrum_pool_get_statistics(pools[i], &s));
    CHECK(s.reserved.current == 0 && s.cached.current == 0);
    CHECK(s.thread_cached_bytes == 0);
    MUST(ferrum_pool_destroy(pools[i], 0));
}

static void start(void) {
    static const char *const strategies[POOLS] = {NULL, "size_class", "tlsf",
                                                  NULL};
    ferrum_config library = FERRUM_CONFIG_INIT;
    library.host_memory_bytes = 512 * MIB;
    MUST(ferrum_init(&library));
    MUST(ferrum_device_open(first_device(), &device));
    for (int i = 0; i < POOLS; i++) {
        ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
        config.initial_size_bytes = config.growth_increment_bytes = 8 * MIB;
        /* Idle pages stay until the end, where they are counted. */
        config.ready_pages = FERRUM_READY_PAGES_ALL;
        config.strategy = strategies[i];
        if (i == POOLS - 1)
            config.thread_cache_bytes = 16 << 10;
        MUST(ferrum_pool_create(device, &config, &pools[i]));
    }
    for (int i = 1; i < STREAMS; i++)
        MUST(ferrum_stream_create(device, &streams[i]));
}

/* The number of threads can be on the command line. */
int main(int argc, char **argv) {
    uintptr_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : THREADS;
    start();
    run_threads(0, threads * WARM / THREADS);
    long warm = resident_kib();
    run_threads(threads * WARM / THREADS, threads);
    long end = resident_kib();
#ifndef __SANITIZE_ADDRESS__
    if (end > warm + LEFT_KIB_MAX) {
        fprintf(stderr, "%d threads left %ld KiB\n",
                (int)(threads - threads * WARM / THREADS), end - warm);
        atomic_store(&failed, 1);
    }
#else
    (void)warm;
    (void)end;
#endif
    for (int i = 0; i < LETTERS; i++) {
        letter *l = atomic_exchange(&letters[i], NULL);
        if (l != NULL)
            free_letter(l, streams[0]);
    }
    for (int i = 0; i < POOLS; i++)
        check_pool(i);
    for (int i = 1; i < STREAMS; i++)
        MUST(ferrum_stream_destroy(streams[i], 0));
    MUST(ferrum_device_close(device, 0));
    MUST(ferrum_shutdown(0));
    printf("%d passed, %d failed\n", !atomic_load(&failed),
           atomic_load(&failed));
    return atomic_load(&failed);
}

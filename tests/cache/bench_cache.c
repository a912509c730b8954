/*
 * Measures the thread caches alone, with the stub core. It serves work on the
 * caches. The published figures measure the whole library.
 *
 * usage: bench_cache [DELAY_NS [hrbtqR]]
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#include "stub_core.h"

static double clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t state = 88172645463325252u;
static double uniform(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static uint64_t take(uint64_t size) {
    uint64_t address = 0;
    CHECK(cache_alloc(STUB_POOL(0), 0, size, 0, &address) == FM_CACHE_DONE);
    return address;
}

static void give(uint64_t address) {
    CHECK(cache_free(STUB_POOL(0), 0, address, 0) == FM_CACHE_DONE);
}

static double hot(uint64_t size, unsigned pairs) {
    double begin = clock_ns();
    for (unsigned i = 0; i < pairs; i++)
        give(take(size));
    return (clock_ns() - begin) / pairs;
}

/* The shortest of many short runs. This removes the effect of other
 * programs on the machine. */
static double hot_least(uint64_t size) {
    double least = 1e9;
    for (unsigned i = 0; i < 5000; i++) {
        double ns = hot(size, 1000);
        least = ns < least ? ns : least;
    }
    return least;
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void random_pairs(unsigned live, unsigned pairs) {
    enum { STEPS = 1 << 18 };
    static uint32_t slots[STEPS], sizes[STEPS];
    for (unsigned i = 0; i < STEPS; i++) {
        slots[i] = (uint32_t)(uniform() * live);
        sizes[i] = (uint32_t)(256 * exp2(12 * uniform()));
    }
    uint64_t *blocks = calloc(live, sizeof *blocks);
    for (unsigned i = 0; i < live; i++)
        blocks[i] = take((uint64_t)(256 * exp2(12 * uniform())));
    uint32_t *cycles = calloc(pairs, sizeof *cycles);
    for (unsigned round = 0; round < 3; round++) {
        uint64_t leases = stub_leases(), backs = stub_give_backs();
        double begin = clock_ns();
        for (unsigned i = 0; i < pairs; i++) {
            unsigned s = i % STEPS;
            give(blocks[slots[s]]);
            blocks[slots[s]] = take(sizes[s]);
        }
        double all = (clock_ns() - begin) / pairs;
        leases = stub_leases() - leases, backs = stub_give_backs() - backs;
        for (unsigned i = 0; i < pairs; i++) {
            unsigned s = i % STEPS, junk;
            uint64_t start = __rdtscp(&junk);
            give(blocks[slots[s]]);
            blocks[slots[s]] = take(sizes[s]);
            cycles[i] = (uint32_t)(__rdtscp(&junk) - start);
        }
        qsort(cycles, pairs, sizeof *cycles, by_value);
        struct fm_cache_counts c;
        fm_cache_count(STUB_POOL(0), &c);
        printf("random %u live: %.1f ns, p50 %.0f p99 %.0f p99.9 %.0f (with "
               "~20 of timing); of 1000 pairs %.2f lease, %.2f give back; live "
               "%llu MiB, idle %llu MiB, allocated/requested %.3f\n",
               live, all, cycles[pairs / 2] / 2.5,
               cycles[pairs / 100 * 99] / 2.5, cycles[pairs / 1000 * 999] / 2.5,
               leases * 1000.0 / pairs, backs * 1000.0 / pairs,
               (unsigned long long)c.live_bytes >> 20,
               (unsigned long long)c.idle_bytes >> 20,
               (double)c.live_bytes / (double)c.requested_bytes);
    }
    for (unsigned i = 0; i < live; i++)
        give(blocks[i]);
    free(blocks), free(cycles);
}

static void batches(void) {
    enum { N = 256, ROUNDS = 2000 };
    uint64_t blocks[4][N];
    double taking = 1e9, giving = 1e9;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t *b = blocks[i % 4];
        double t0 = clock_ns();
        if (i >= 4)
            CHECK(fm_cache_free_batch(STUB_POOL(0), 0, b, N) == FM_CACHE_DONE);
        double t1 = clock_ns();
        CHECK(fm_cache_alloc_batch(STUB_POOL(0), 0, 65536, N, b) ==
              FM_CACHE_DONE);
        double t2 = clock_ns();
        if (i >= 4)
            giving = fmin(giving, t1 - t0), taking = fmin(taking, t2 - t1);
    }
    for (unsigned i = 0; i < 4; i++)
        fm_cache_free_batch(STUB_POOL(0), 0, blocks[i], N);
    printf("batch of %d: alloc %.2f free %.2f ns a block\n", N, taking / N,
           giving / N);
}

static pthread_barrier_t start;

static void *hot_thread(void *time_out) {
    hot(256, 100000);
    pthread_barrier_wait(&start);
    *(double *)time_out = hot(256, 5000000);
    return NULL;
}

static void *random_thread(void *time_out) {
    enum { LIVE = 1000, PAIRS = 1000000 };
    uint64_t seed = (uint64_t)(uintptr_t)time_out | 1, blocks[LIVE];
    double begin = 0;
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint64_t size = UINT64_C(256) << (seed >> 20) % 12;
        size += (seed >> 32) % size;
        if (i == PAIRS) {
            pthread_barrier_wait(&start);
            begin = clock_ns();
        }
        if (i >= LIVE)
            give(blocks[seed % LIVE]);
        blocks[i < LIVE ? i : seed % LIVE] = take(size);
    }
    *(double *)time_out = (clock_ns() - begin) / PAIRS;
    for (unsigned i = 0; i < LIVE; i++)
        give(blocks[i]);
    return NULL;
}

static void threads(const char *name, void *(*function)(void *)) {
    for (unsigned n = 1; n <= 2; n++) {
        pthread_t thread[2];
        double ns[2];
        pthread_barrier_init(&start, NULL, n);
        for (unsigned i = 0; i < n; i++)
            pthread_create(&thread[i], NULL, function, &ns[i]);
        for (unsigned i = 0; i < n; i++)
            pthread_join(thread[i], NULL);
        pthread_barrier_destroy(&start);
        printf("%s, %u threads: %.1f %.1f ns\n", name, n, ns[0],
               n == 2 ? ns[1] : 0.0);
    }
}

enum { RING = 1024, ITEMS = 1000000 };
static _Atomic uint64_t ring[RING];

static void stay_on(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *consume(void *allocating) {
    stay_on(1);
    for (unsigned i = 0; i < ITEMS; i++) {
        uint64_t address;
        while ((address = ring[i % RING]) == 0)
            __builtin_ia32_pause();
        __atomic_store_n((uint64_t *)&ring[i % RING], 0, __ATOMIC_RELEASE);
        if (allocating != NULL)
            give(address);
    }
    return NULL;
}

/* What passes through the queue: numbers, blocks of 4 KiB, blocks of any
 * size. */
enum goods { NUMBERS, SAME, ANY };

static void queue(enum goods goods) {
    static const char *const names[] = {"", " with blocks of 4 KiB",
                                        " with blocks of 256 B to 1 MiB"};
    enum { SIZES = 1 << 16 };
    static uint32_t sizes[SIZES];
    for (unsigned i = 0; i < SIZES; i++)
        sizes[i] = goods == ANY ? (uint32_t)(256 * exp2(12 * uniform())) : 4096;
    uint64_t leases = stub_leases(), backs = stub_give_backs();
    stay_on(0);
    pthread_t consumer;
    pthread_create(&consumer, NULL, consume, goods != NUMBERS ? &start : NULL);
    double begin = clock_ns();
    for (unsigned i = 0; i < ITEMS; i++) {
        uint64_t address = goods != NUMBERS ? take(sizes[i % SIZES]) : 1;
        while (ring[i % RING] != 0)
            __builtin_ia32_pause();
        __atomic_store_n((uint64_t *)&ring[i % RING], address,
                         __ATOMIC_RELEASE);
    }
    pthread_join(consumer, NULL);
    struct fm_cache_counts c;
    fm_cache_count(STUB_POOL(0), &c);
    printf("queue%s: %.1f ns; of 1000 pairs %.2f lease, %.2f give back; idle "
           "%llu MiB\n",
           names[goods], (clock_ns() - begin) / ITEMS,
           (stub_leases() - leases) * 1000.0 / ITEMS,
           (stub_give_backs() - backs) * 1000.0 / ITEMS,
           (unsigned long long)c.idle_bytes >> 20);
}

int main(int count, char **arguments) {
    const char *only = count > 2 ? arguments[2] : "hrbtqR";
    stub_reset();
    stub_delay_ns(count > 1 ? strtoull(arguments[1], NULL, 10) : 0);
    CHECK(fm_cache_open(STUB_POOL(0), 256, UINT64_MAX));
    hot(256, 1000);
    for (; *only != 0; only++) {
        if (*only == 'h')
            printf("hot 256 B: %.2f ns, 64 KiB: %.2f ns, 1 MiB: %.2f ns\n",
                   hot_least(256), hot_least(65536), hot_least(1 << 20));
        if (*only == 'r')
            random_pairs(1000, 1000000);
        if (*only == 'b')
            batches();
        if (*only == 't')
            threads("hot", hot_thread), threads("random", random_thread);
        if (*only == 'q')
            queue(NUMBERS), queue(SAME), queue(ANY), queue(NUMBERS),
                queue(SAME), queue(ANY);
        if (*only == 'R')
            random_pairs(100000, 1000000);
    }
    return 0;
}

/*
 * The thread caches with many threads. Each block has one owner, and the
 * counters are exact at every moment. Threads start and end, pools are
 * destroyed while they are used, two threads free one block at once, and the
 * process forks.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"
#include "harness.h"
#include "threadcache/parts.h"

enum { DONE = FM_CACHE_DONE, PASS = FM_CACHE_PASS };
enum { WORKERS = 4, PLACES = 1 << 20 };

/* Sanitizers and other programs slow the threads down. The test depends on
 * the mixture of steps, and a tenth of the steps still has it. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { STEPS = 15000, ROUNDS = 2000, SHORT_THREADS = 1000 };
#else
enum { STEPS = 100000, ROUNDS = 20000, SHORT_THREADS = 10000 };
#endif

/* Who owns the block at a place. A block with an owner must not be
 * allocated again. */
static _Atomic unsigned char owned[PLACES];
static atomic_bool stop;
static atomic_ullong taken, given;

static void own(uint64_t address) {
    CHECK(atomic_exchange(&owned[stub_place(address)], 1) == 0);
    atomic_fetch_add(&taken, 1);
}

static void disown(uint64_t address) {
    CHECK(atomic_exchange(&owned[stub_place(address)], 0) == 1);
    atomic_fetch_add(&given, 1);
}

static void fresh(void) {
    memset((void *)owned, 0, sizeof owned);
    atomic_store(&stop, false);
    atomic_store(&taken, 0);
    atomic_store(&given, 0);
}

static void run_threads(void *(*function)(void *), unsigned count) {
    pthread_t threads[64];
    CHECK(count <= 64);
    for (uintptr_t i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, function, (void *)(i + 1)) ==
              0);
    for (unsigned i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* -------------------------------------------------------- random programs */

enum { SHARED = 512 };
/* Blocks that any thread may free. */
static _Atomic uint64_t shared[SHARED];

static void free_block(uint64_t address, uint64_t *state) {
    disown(address);
    /* If the stream was destroyed, the call returns PASS. Then the block is
     * freed on the default stream. */
    uint64_t stream = STUB_STREAM(random_next(state) % 4);
    int32_t result = cache_free(STUB_POOL(0), stream, address, 0);
    if (result == PASS)
        result = cache_free(STUB_POOL(0), 0, address, 0);
    CHECK(result == DONE);
}

static void batch_step(uint64_t *state) {
    uint64_t blocks[100], count = 1 + random_next(state) % 100;
    if (fm_cache_alloc_batch(STUB_POOL(0), 0, 1 + random_next(state) % 9000,
                             count, blocks) != DONE)
        return;
    for (uint64_t i = 0; i < count; i++)
        own(blocks[i]);
    for (uint64_t i = 0; i < count; i++)
        disown(blocks[i]);
    if (random_next(state) % 2 == 0) {
        uint64_t last = blocks[count - 1];
        blocks[count - 1] = count > 1 ? blocks[0] : 1;
        CHECK(fm_cache_free_batch(STUB_POOL(0), 0, blocks, count) != DONE);
        blocks[count - 1] = last;
    }
    CHECK(fm_cache_free_batch(STUB_POOL(0), 0, blocks, count) == DONE);
}

static void *random_worker(void *number) {
    uint64_t state = (uintptr_t)number, address;
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t draw = random_next(&state);
        if (draw % 200 == 0)
            batch_step(&state);
        uint64_t size = random_size(&state);
        uint64_t stream = STUB_STREAM(random_next(&state) % 4);
        if (cache_alloc(STUB_POOL(0), stream, size, 0, &address) != DONE)
            continue;
        own(address);
        address = atomic_exchange(&shared[draw / 256 % SHARED], address);
        if (address != 0)
            free_block(address, &state);
    }
    return NULL;
}

/* Does what the core may do while threads use the caches. */
static void *meddle(void *unused) {
    (void)unused;
    uint64_t state = 99;
    struct fm_cache_block blocks[50];
    struct fm_cache_counts c;
    while (!atomic_load(&stop)) {
        uint64_t count = fm_cache_take(STUB_POOL(0), blocks, 50);
        for (uint64_t i = 0; i < count; i++)
            stub_took(0, blocks[i].address, blocks[i].size_bytes,
                      blocks[i].stream);
        fm_cache_count(STUB_POOL(0), &c);
        CHECK(c.live_bytes + c.idle_bytes == c.entered_bytes - c.left_bytes);
        CHECK(c.live_blocks == c.allocations - c.frees);
        unsigned stream = 2 + random_next(&state) % 2;
        stub_stream_good(stream, false);
        fm_cache_forget_stream(STUB_STREAM(stream));
        stub_stream_good(stream, true);
        fm_cache_find(STUB_POOL(0), atomic_load(&shared[0]), blocks);
        sched_yield();
    }
    return NULL;
}

static void random_programs(void) {
    fresh();
    stub_stream_good(2, true);
    stub_stream_good(3, true);
    stub_limit(0, UINT64_C(1) << 30);
    CHECK(fm_cache_open(STUB_POOL(0), 256, 4 << 20));
    pthread_t meddler;
    CHECK(pthread_create(&meddler, NULL, meddle, NULL) == 0);
    run_threads(random_worker, WORKERS);
    atomic_store(&stop, true);
    pthread_join(meddler, NULL);
    uint64_t state = 1;
    for (unsigned i = 0; i < SHARED; i++) {
        uint64_t address = atomic_exchange(&shared[i], 0);
        if (address != 0)
            free_block(address, &state);
    }
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.live_blocks == 0 && c.requested_bytes == 0);
    CHECK(c.allocations == atomic_load(&taken));
    CHECK(c.frees == atomic_load(&given));
    close_pool(0);
}

/* ------------------------------------------------------------- one moment */

static void *same_size_worker(void *number) {
    uint64_t blocks[40], state = (uintptr_t)number;
    for (unsigned i = 0; i < STEPS / 40; i++) {
        unsigned count = 1 + random_next(&state) % 40;
        for (unsigned j = 0; j < count; j++)
            CHECK(cache_alloc(STUB_POOL(0), 0, 1000, 0, &blocks[j]) == DONE);
        for (unsigned j = 0; j < count; j++)
            CHECK(cache_free(STUB_POOL(0), 0, blocks[j], 1000) == DONE);
    }
    return NULL;
}

/* All blocks have the same size, so a consistent count has equal parts. */
static void *count_on(void *unused) {
    (void)unused;
    while (!atomic_load(&stop)) {
        struct fm_cache_counts c;
        fm_cache_count(STUB_POOL(0), &c);
        CHECK(c.live_bytes == c.live_blocks * 1024);
        CHECK(c.requested_bytes == c.live_blocks * 1000);
        CHECK(c.live_blocks <= 40 * WORKERS);
        CHECK(c.live_blocks == c.allocations - c.frees);
        CHECK(c.live_bytes + c.idle_bytes == c.entered_bytes - c.left_bytes);
    }
    return NULL;
}

static void counts_are_of_one_moment(void) {
    fresh();
    open_pool();
    pthread_t counter;
    CHECK(pthread_create(&counter, NULL, count_on, NULL) == 0);
    run_threads(same_size_worker, WORKERS);
    atomic_store(&stop, true);
    pthread_join(counter, NULL);
    CHECK(count_pool(0).live_blocks == 0);
    close_pool(0);
}

/* ------------------------------------------------------------------ slices */

enum { STAYING = 2000 };
static uint64_t staying[STAYING];

static int by_address(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* A block that stays allocated is visited exactly once and is live,
 * whatever other threads allocate and free. */
static void *go_over(void *unused) {
    (void)unused;
    struct fm_cache_block blocks[64];
    static unsigned char met[STAYING];
    do {
        uint64_t place = 0;
        memset(met, 0, sizeof met);
        do {
            uint64_t n = fm_cache_next(STUB_POOL(0), &place, blocks, 64);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t *found = bsearch(&blocks[i].address, staying, STAYING,
                                          sizeof staying[0], by_address);
                CHECK(blocks[i].size_bytes == 1024);
                if (found == NULL)
                    continue;
                CHECK(blocks[i].live && blocks[i].requested_bytes == 1000);
                CHECK(met[found - staying]++ == 0);
            }
        } while (place != 0);
        for (unsigned i = 0; i < STAYING; i++)
            CHECK(met[i] == 1);
    } while (!atomic_load(&stop));
    return NULL;
}

static void a_block_that_stays_is_met_once(void) {
    fresh();
    open_pool();
    for (unsigned i = 0; i < STAYING; i++)
        CHECK(cache_alloc(STUB_POOL(0), 0, 1000, 0, &staying[i]) == DONE);
    qsort(staying, STAYING, sizeof staying[0], by_address);
    pthread_t looker;
    CHECK(pthread_create(&looker, NULL, go_over, NULL) == 0);
    run_threads(same_size_worker, WORKERS);
    atomic_store(&stop, true);
    pthread_join(looker, NULL);
    for (unsigned i = 0; i < STAYING; i++)
        CHECK(cache_free(STUB_POOL(0), 0, staying[i], 1000) == DONE);
    close_pool(0);
}

/* ---------------------------------------------- freed by two threads at once */

static atomic_uint arrived, phase;
static uint64_t target;
static atomic_uint freed_well;

static void meet(unsigned count) {
    unsigned now = atomic_load(&phase);
    if (atomic_fetch_add(&arrived, 1) == count - 1) {
        atomic_store(&arrived, 0);
        atomic_fetch_add(&phase, 1);
        return;
    }
    for (unsigned tries = 0; atomic_load(&phase) == now; tries++)
        if (tries % 64 == 63)
            sched_yield();
}

static void *free_at_once(void *number) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        if ((uintptr_t)number == 1)
            CHECK(cache_alloc(STUB_POOL(0), 0, 500 + i % 2000, 0, &target) ==
                  DONE);
        meet(2);
        int32_t result = cache_free(STUB_POOL(0), 0, target, 0);
        CHECK(result == DONE || result == FERRUM_ERROR_DOUBLE_FREE);
        if (result == DONE)
            atomic_fetch_add(&freed_well, 1);
        meet(2);
        /* All of these blocks must be different. */
        uint64_t blocks[3];
        for (unsigned j = 0; j < 3; j++) {
            CHECK(cache_alloc(STUB_POOL(0), 0, 500 + i % 2000, 0, &blocks[j]) ==
                  DONE);
            own(blocks[j]);
        }
        meet(2);
        for (unsigned j = 0; j < 3; j++) {
            disown(blocks[j]);
            CHECK(cache_free(STUB_POOL(0), 0, blocks[j], 0) == DONE);
        }
        meet(2);
    }
    return NULL;
}

static void one_block_freed_by_two_is_freed_once(void) {
    fresh();
    open_pool();
    stub_freed_by_two(true);
    atomic_store(&freed_well, 0);
    run_threads(free_at_once, 2);
    CHECK(atomic_load(&freed_well) >= ROUNDS);
    printf("# %u of %u were freed by both\n", atomic_load(&freed_well) - ROUNDS,
           ROUNDS);
    /* The extra free is detected when all blocks leave the caches. */
    struct fm_cache_block block;
    while (fm_cache_take(STUB_POOL(0), &block, 1) > 0)
        stub_took(0, block.address, block.size_bytes, block.stream);
    CHECK(stub_on_lease(0) == 0);
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.live_blocks == 0 && c.requested_bytes == 0);
    close_pool(0);
}

/* ------------------------------------------------------------ short threads */

static void *short_thread(void *number) {
    uint64_t state = (uintptr_t)number * 7919, blocks[6];
    for (unsigned i = 0; i < 6; i++) {
        CHECK(cache_alloc(STUB_POOL(0), STUB_STREAM(i % 2),
                          1 + random_next(&state) % 20000, 0,
                          &blocks[i]) == DONE);
        own(blocks[i]);
    }
    for (unsigned i = 0; i < 6; i++) {
        uint64_t block =
            i < 4 ? blocks[i]
                  : atomic_exchange(&shared[random_next(&state) % SHARED],
                                    blocks[i]);
        if (block == 0)
            continue;
        disown(block);
        CHECK(cache_free(STUB_POOL(0), STUB_STREAM(i % 2), block, 0) == DONE);
    }
    return NULL;
}

static void short_threads_leave_nothing(void) {
    fresh();
    open_pool();
    for (unsigned i = 0; i < SHORT_THREADS / 20; i++)
        run_threads(short_thread, 20);
    for (unsigned i = 0; i < SHARED; i++) {
        uint64_t block = atomic_exchange(&shared[i], 0);
        if (block == 0)
            continue;
        disown(block);
        CHECK(cache_free(STUB_POOL(0), 0, block, 0) == DONE);
    }
    CHECK(fm_threads == fm_self && fm_self->next == NULL);
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.live_blocks == 0 && c.requested_bytes == 0);
    CHECK(c.allocations == atomic_load(&taken) && c.frees == c.allocations);
    CHECK(c.idle_bytes < 64 << 20);
    close_pool(0);
}

/* --------------------------------------------- pools destroyed while in use */

static atomic_uint open_number;

static void *use_dying_pools(void *number) {
    uint64_t state = (uintptr_t)number;
    while (!atomic_load(&stop)) {
        unsigned n = atomic_load(&open_number);
        uint64_t address, size = 1 + random_next(&state) % 5000;
        if (cache_alloc(STUB_POOL(n), 0, size, 0, &address) == DONE) {
            int32_t result = cache_free(STUB_POOL(n), 0, address, size);
            CHECK(result == DONE || result == PASS);
        }
    }
    return NULL;
}

static void *end_pools(void *unused) {
    (void)unused;
    for (unsigned n = 0; n + 1 < STUB_POOLS; n++) {
        stub_pool_good(n + 1, true);
        CHECK(fm_cache_open(STUB_POOL(n + 1), 256, UINT64_MAX));
        atomic_store(&open_number, n + 1);
        for (unsigned i = 0; i < 20; i++)
            sched_yield();
        stub_pool_good(n, false);
        fm_cache_end(fm_cache_drop(STUB_POOL(n)));
    }
    atomic_store(&stop, true);
    return NULL;
}

static void pools_may_die_in_use(void) {
    fresh();
    atomic_store(&open_number, 0);
    open_pool();
    pthread_t ender;
    CHECK(pthread_create(&ender, NULL, end_pools, NULL) == 0);
    run_threads(use_dying_pools, WORKERS);
    pthread_join(ender, NULL);
    struct fm_cache_counts c = count_pool(STUB_POOLS - 1);
    CHECK(c.live_blocks == 0);
    close_pool(STUB_POOLS - 1);
}

/* ------------------------------------------------- queue, growth, fork, end */

static void *produce(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t address;
        CHECK(cache_alloc(STUB_POOL(0), 0, 3000, 0, &address) == DONE);
        own(address);
        while (atomic_load(&shared[i % SHARED]) != 0)
            sched_yield();
        atomic_store(&shared[i % SHARED], address);
    }
    return NULL;
}

static void one_allocates_and_another_frees(void) {
    fresh();
    open_pool();
    pthread_t producer;
    CHECK(pthread_create(&producer, NULL, produce, NULL) == 0);
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t address;
        while ((address = atomic_exchange(&shared[i % SHARED], 0)) == 0)
            sched_yield();
        disown(address);
        CHECK(cache_free(STUB_POOL(0), 0, address, 3000) == DONE);
    }
    pthread_join(producer, NULL);
    /* Freed blocks return to the producer, so it does not need a lease for
     * each block. */
    CHECK(stub_on_lease(0) < 16 << 20);
    CHECK(count_pool(0).live_blocks == 0);
    close_pool(0);
}

static void *grow(void *number) {
    enum { N = 20000 };
    uint64_t *blocks = calloc(N, sizeof *blocks), state = (uintptr_t)number;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N; i++) {
            CHECK(cache_alloc(STUB_POOL(0), 0, 1 + random_next(&state) % 900, 0,
                              &blocks[i]) == DONE);
            own(blocks[i]);
        }
        for (unsigned i = 0; i < N; i++) {
            disown(blocks[i]);
            CHECK(cache_free(STUB_POOL(0), 0, blocks[i], 0) == DONE);
        }
    }
    free(blocks);
    return NULL;
}

static void the_table_grows_in_use(void) {
    fresh();
    open_pool();
    run_threads(grow, WORKERS);
    CHECK(count_pool(0).live_blocks == 0);
    close_pool(0);
}

static pthread_key_t late_key;
static uint64_t late_block;

/* Runs after the destructor of the caches. In some rounds it runs before it. */
static void free_late(void *rounds) {
    if ((uintptr_t)rounds > 1) {
        pthread_setspecific(late_key, (void *)((uintptr_t)rounds - 1));
        return;
    }
    uint64_t block;
    CHECK(cache_free(STUB_POOL(0), 0, late_block, 0) == DONE);
    CHECK(cache_alloc(STUB_POOL(0), 0, 600, 0, &block) == DONE);
    CHECK(cache_free(STUB_POOL(0), 0, block, 0) == DONE);
}

static void *end_late(void *unused) {
    (void)unused;
    CHECK(cache_alloc(STUB_POOL(0), 0, 600, 0, &late_block) == DONE);
    pthread_setspecific(late_key, (void *)3);
    return NULL;
}

static void a_thread_may_call_at_its_end(void) {
    open_pool();
    CHECK(pthread_key_create(&late_key, free_late) == 0);
    run_threads(end_late, 1);
    pthread_key_delete(late_key);
    CHECK(count_pool(0).live_blocks == 0);
    CHECK(fm_threads == fm_self);
    close_pool(0);
}

/* Runs after the destructor of the caches, because their key is older. */
static void end_well(void *unused) {
    (void)unused;
    _exit(0);
}

/* When the child ends, it must not touch the lock that another thread of
 * the parent may hold. */
static void a_forked_child_touches_nothing(void) {
    uint64_t address;
    pthread_key_t key;
    open_pool();
    CHECK(pthread_key_create(&key, end_well) == 0);
    CHECK(cache_alloc(STUB_POOL(0), 0, 600, 0, &address) == DONE);
    fm_lock();
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        if (atomic_load(&fm_gate) != FERRUM_ERROR_FORKED)
            _exit(1);
        pthread_setspecific(key, &key);
        pthread_exit(NULL);
    }
    fm_unlock();
    CHECK(child > 0);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pthread_key_delete(key);
    CHECK(cache_free(STUB_POOL(0), 0, address, 0) == DONE);
    close_pool(0);
}

int main(void) {
    static const struct test tests[] = {
        TEST(random_programs),
        TEST(counts_are_of_one_moment),
        TEST(a_block_that_stays_is_met_once),
        TEST(one_block_freed_by_two_is_freed_once),
        TEST(short_threads_leave_nothing),
        TEST(pools_may_die_in_use),
        TEST(one_allocates_and_another_frees),
        TEST(the_table_grows_in_use),
        TEST(a_thread_may_call_at_its_end),
        TEST(a_forked_child_touches_nothing),
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}

/*
 * One thread frees blocks of many sizes, and another thread allocates them.
 * The two threads take turns, so that every run is the same.
 */
#include <pthread.h>
#include <stdio.h>

#include "harness.h"

enum { DONE = FM_CACHE_DONE, BLOCKS = 100, ROUNDS = 200 };

#define MIB ((uint64_t)1 << 20)

static uint64_t blocks[BLOCKS];
static pthread_barrier_t turn;
/** How many memory allocations of the freeing thread succeed. -1: all. */
static int64_t giver_allocations;
static uint64_t giver_stream;
static bool ended;

/* Frees all blocks at each of its turns. */
static void *give_in_turn(void *unused) {
    (void)unused;
    for (;;) {
        pthread_barrier_wait(&turn);
        if (ended)
            return NULL;
        allocations_left = giver_allocations;
        for (unsigned i = 0; i < BLOCKS; i++)
            CHECK(cache_free(STUB_POOL(0), giver_stream, blocks[i], 0) == DONE);
        giver_allocations = allocations_left;
        allocations_left = -1;
        pthread_barrier_wait(&turn);
    }
}

static void take_blocks(uint64_t *state) {
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint64_t size = UINT64_C(256) << random_next(state) % 12;
        size += random_next(state) % size;
        CHECK(cache_alloc(STUB_POOL(0), 0, size, 0, &blocks[i]) == DONE);
    }
}

static void let_the_other_give(void) {
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
}

static pthread_t begin(void) {
    stub_reset();
    open_pool();
    giver_allocations = -1;
    giver_stream = 0;
    ended = false;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_t giver;
    CHECK(pthread_create(&giver, NULL, give_in_turn, NULL) == 0);
    return giver;
}

static void end(pthread_t giver) {
    ended = true;
    pthread_barrier_wait(&turn);
    pthread_join(giver, NULL);
    pthread_barrier_destroy(&turn);
    CHECK(count_pool(0).live_blocks == 0);
    close_pool(0);
}

/* Few of these blocks are live at one time, and the freed blocks seldom
 * have the size of the next request. Still the calls to the core become
 * rare. */
static void what_one_gives_another_gets(void) {
    pthread_t giver = begin();
    uint64_t state = 7, leases = 0, backs = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 2)
            leases = stub_leases(), backs = stub_give_backs();
        take_blocks(&state);
        let_the_other_give();
        count_pool(0);
    }
    leases = stub_leases() - leases, backs = stub_give_backs() - backs;
    printf("# %u pairs, %llu leases, %llu given back, %llu MiB idle\n",
           ROUNDS / 2 * BLOCKS, (unsigned long long)leases,
           (unsigned long long)backs,
           (unsigned long long)(count_pool(0).idle_bytes / MIB));
    CHECK(leases < ROUNDS / 2 * BLOCKS / 20);
    CHECK(count_pool(0).idle_bytes < 300 * MIB);
    end(giver);
}

/* The pool takes back unopened parcels together with all other idle blocks. */
static void parcels_are_taken_back(void) {
    pthread_t giver = begin();
    uint64_t state = 7;
    for (unsigned round = 0; round < 8; round++) {
        take_blocks(&state);
        let_the_other_give();
        struct fm_cache_block taken[7];
        uint64_t count;
        while ((count = fm_cache_take(STUB_POOL(0), taken, 7)) > 0)
            for (uint64_t i = 0; i < count; i++) {
                CHECK(!taken[i].live);
                stub_took(0, taken[i].address, taken[i].size_bytes,
                          taken[i].stream);
            }
        CHECK(count_pool(0).idle_bytes == 0 && stub_on_lease(0) == 0);
    }
    end(giver);
}

/* The stream on which the blocks were freed is destroyed. Then any stream
 * may get them. */
static void parcels_outlive_their_stream(void) {
    pthread_t giver = begin();
    giver_stream = STUB_STREAM(1);
    uint64_t state = 7;
    for (unsigned round = 0; round < 20; round++) {
        take_blocks(&state);
        let_the_other_give();
        uint64_t before = count_pool(0).idle_bytes;
        fm_cache_forget_stream(STUB_STREAM(1));
        CHECK(count_pool(0).idle_bytes == before);
    }
    CHECK(stub_leases() < 20 * BLOCKS / 2);
    end(giver);
}

/* No memory is left for parcels, or for the sorting of their blocks. No
 * block may be lost. */
static void memory_may_run_out_for_parcels(void) {
    unsigned failed = 0;
    for (int64_t n = 0; n < 60; n++) {
        pthread_t giver = begin();
        uint64_t state = 7;
        for (unsigned round = 0; round < 3; round++) {
            if (round == 0)
                giver_allocations = n;
            take_blocks(&state);
            let_the_other_give();
            count_pool(0);
            failed += round == 0 && giver_allocations < 0;
            giver_allocations = -1;
        }
        end(giver);
    }
    printf("# %u allocations failed in turn\n", failed);
    CHECK(failed > 5);
}

int main(void) {
    static const struct test tests[] = {
        TEST(what_one_gives_another_gets),
        TEST(parcels_are_taken_back),
        TEST(parcels_outlive_their_stream),
        TEST(memory_may_run_out_for_parcels),
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}

/*
 * The thread caches when something fails half-way: the process has no memory at
 * the n-th allocation, for every n; the core refuses; a block was freed by two at
 * once. Books and memory are exact after each.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cache_parts.h"
#include "harness.h"

enum { DONE = FM_CACHE_DONE, PASS = FM_CACHE_PASS };
enum { BLOCKS = 150, BATCH = 90 };

/* ------------------------------------------------------------- no memory */

/* How many blocks the program holds, and which. */
static uint64_t held[BLOCKS + 4 * BATCH], held_count, requested;

static void hold(uint64_t address, uint64_t size) {
    for (uint64_t i = 0; i < held_count; i++)
        CHECK(held[i] != address);
    held[held_count++] = address;
    requested += size;
}

static void check_books(void) {
    int64_t left = allocations_left;
    allocations_left = -1;
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.live_blocks == held_count);
    CHECK(c.requested_bytes == requested);
    allocations_left = left;
}

static void allocate_some(uint64_t stream) {
    uint64_t address;
    for (unsigned i = 0; i < BLOCKS / 3; i++) {
        uint64_t size = 100 + i % 10 * 700;
        int32_t result = cache_alloc(STUB_POOL(0), stream, size, 0, &address);
        CHECK(result == DONE || result == PASS);
        if (result == DONE)
            hold(address, size);
    }
    check_books();
}

static void *allocate_elsewhere(void *left) {
    allocations_left = *(int64_t *)left;
    allocate_some(STUB_STREAM(1));
    *(int64_t *)left = allocations_left;
    return NULL;
}

static void free_one(uint64_t stream) {
    struct fm_cache_block block;
    CHECK(fm_cache_find(STUB_POOL(0), held[held_count - 1], &block));
    int32_t result = cache_free(STUB_POOL(0), stream, held[held_count - 1], 0);
    if (result == DONE) {
        held_count--;
        requested -= block.requested_bytes;
    } else {
        /* The core refuses as well: the block is as live as before. */
        CHECK(result == FERRUM_ERROR_DEVICE);
    }
}

static void batch_some(void) {
    uint64_t blocks[BATCH] = {0};
    int32_t result = fm_cache_alloc_batch(STUB_POOL(0), 0, 1234, BATCH, blocks);
    CHECK(result == DONE || result == PASS);
    for (unsigned i = 0; result == DONE && i < BATCH; i++)
        hold(blocks[i], 1234);
    check_books();
    if (result != DONE)
        return;
    result = fm_cache_free_batch(STUB_POOL(0), STUB_STREAM(1), blocks, BATCH);
    CHECK(result == DONE || result == PASS ||
          result == FERRUM_ERROR_RESOURCE_EXHAUSTED);
    if (result == DONE) {
        held_count -= BATCH;
        requested -= BATCH * 1234;
    }
    check_books();
}

/* The program, with the n-th allocation of memory failing. Says whether it came
 * to it. */
static bool run_without(int64_t n, bool refused) {
    int64_t left = n;
    held_count = requested = 0;
    stub_reset();
    if (refused)
        stub_refuse(FERRUM_ERROR_DEVICE);
    allocations_left = left;
    bool opened = fm_cache_open(STUB_POOL(0), 256, 100000);
    left = allocations_left;
    allocations_left = -1;
    if (!opened) {
        fm_cache_drop(STUB_POOL(0));
        return true;
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, allocate_elsewhere, &left) == 0);
    pthread_join(thread, NULL);
    check_books();
    allocations_left = left;
    allocate_some(0);
    batch_some();
    for (unsigned i = 0; i < 40 && held_count > 0; i++)
        free_one(STUB_STREAM(i % 2));
    check_books();
    allocate_some(STUB_STREAM(1));
    bool came = allocations_left < 0;
    allocations_left = -1;
    stub_refuse(0);
    while (held_count > 0)
        free_one(0);
    check_books();
    close_pool(0);
    return came;
}

static void memory_may_run_out_anywhere(void) {
    int64_t n = 0;
    while (run_without(n, false))
        n++;
    CHECK(n > 20);
    printf("# %lld allocations failed in turn\n", (long long)n);
}

static void memory_may_run_out_while_the_core_refuses(void) {
    int64_t n = 0;
    while (run_without(n, true))
        n++;
    CHECK(n > 20);
}

/* ---------------------------------------------------------- freed at once */

/*
 * Frees a block on stream 0 and on stream 1, as if both frees had seen it live and
 * that on stream 1 had been the last one to write. The entry of stream 0 is one
 * too many then.
 */
static uint64_t free_by_two(uint64_t size) {
    struct fm_cache *cache = fm_cache_of(STUB_POOL(0));
    uint64_t address;
    stub_freed_by_two(true);
    CHECK(cache_alloc(STUB_POOL(0), 0, size, 0, &address) == DONE);
    uint32_t index = fm_table_find(cache, address);
    uint64_t meta = fm_meta(cache, index);
    CHECK(cache_free(STUB_POOL(0), 0, address, 0) == DONE);
    fm_meta_set(cache, index, meta);
    CHECK(cache_free(STUB_POOL(0), STUB_STREAM(1), address, 0) == DONE);
    return address;
}

static void check_nothing_is_live(void) {
    struct fm_cache_block block;
    while (fm_cache_take(STUB_POOL(0), &block, 1) > 0)
        stub_took(0, block.address, block.size_bytes, block.stream);
    CHECK(stub_on_lease(0) == 0);
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.live_blocks == 0 && c.requested_bytes == 0 && c.idle_bytes == 0);
    close_pool(0);
}

static void a_stale_entry_gives_no_block(void) {
    uint64_t address, again;
    open_pool();
    uint64_t twice = free_by_two(3000);
    CHECK(cache_alloc(STUB_POOL(0), 0, 3000, 0, &address) == DONE);
    CHECK(address != twice);
    CHECK(count_pool(0).live_blocks == 1);
    CHECK(cache_alloc(STUB_POOL(0), STUB_STREAM(1), 3000, 0, &again) == DONE);
    CHECK(again == twice);
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.live_blocks == 2 && c.requested_bytes == 6000);
    CHECK(cache_free(STUB_POOL(0), 0, address, 0) == DONE);
    CHECK(cache_free(STUB_POOL(0), 0, again, 0) == DONE);
    check_nothing_is_live();
}

static void a_stale_entry_leaves_with_its_magazine(void) {
    enum { N = 200 };
    uint64_t blocks[N];
    open_pool();
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 5; i++)
            free_by_two(700 + round);
        /* Through the depots: a batch looks at every entry. */
        for (unsigned s = 0; s < 2; s++) {
            CHECK(fm_cache_alloc_batch(STUB_POOL(0), STUB_STREAM(s), 700, N,
                                       blocks) == DONE);
            for (unsigned i = 0; i < N; i++)
                for (unsigned j = 0; j < i; j++)
                    CHECK(blocks[i] != blocks[j]);
            CHECK(count_pool(0).live_blocks == N);
            CHECK(fm_cache_free_batch(STUB_POOL(0), STUB_STREAM(s), blocks,
                                      N) == DONE);
        }
    }
    check_nothing_is_live();
}

static void a_stale_entry_of_a_block_that_left(void) {
    uint64_t address;
    struct fm_cache_block block;
    open_pool();
    struct fm_cache *cache = fm_cache_of(STUB_POOL(0));
    stub_freed_by_two(true);
    /* The late free hits a record that is no block's any more. */
    CHECK(cache_alloc(STUB_POOL(0), 0, 3000, 0, &address) == DONE);
    uint32_t index = fm_table_find(cache, address);
    CHECK(cache_free(STUB_POOL(0), STUB_STREAM(1), address, 0) == DONE);
    uint64_t meta = fm_meta(cache, index);
    while (fm_cache_take(STUB_POOL(0), &block, 1) > 0)
        stub_took(0, block.address, block.size_bytes, block.stream);
    struct fm_store *lane = fm_self->lanes;
    while (lane->stream != STUB_STREAM(1))
        lane = lane->next;
    struct fm_magazine *top = lane->bins[fm_meta_class(meta)].top;
    fm_magazine_push(cache, top, index, meta);
    fm_tally_free(lane, 3072, 3000);
    CHECK(cache_alloc(STUB_POOL(0), STUB_STREAM(1), 3000, 0, &address) == DONE);
    CHECK(stub_size(0, address) == 3072);
    CHECK(count_pool(0).live_blocks == 1);
    CHECK(cache_free(STUB_POOL(0), 0, address, 0) == DONE);
    check_nothing_is_live();
}

int main(void) {
    static const struct test tests[] = {
        TEST(memory_may_run_out_anywhere),
        TEST(memory_may_run_out_while_the_core_refuses),
        TEST(a_stale_entry_gives_no_block),
        TEST(a_stale_entry_leaves_with_its_magazine),
        TEST(a_stale_entry_of_a_block_that_left),
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}

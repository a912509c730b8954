/*
 * The thread caches when an operation fails before it is complete. The process
 * has no memory at the n-th allocation, for every n. The core rejects blocks.
 * Two threads have freed one block at once. The counters and the memory must
 * be exact after each.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "threadcache/parts.h"

enum { DONE = FM_CACHE_DONE, PASS = FM_CACHE_PASS };
enum { BLOCKS = 150, BATCH = 90 };

/* ------------------------------------------------------- memory exhaustion */

/* The blocks that the program holds. */
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
        /* The core rejects the block too. It stays live. */
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

/* Runs the program with a failure of the n-th memory allocation. Returns
 * whether the program reached that allocation. */
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
        fm_cache_end(fm_cache_drop(STUB_POOL(0)));
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

/* ------------------------------------------------- freed by two at once */

/*
 * Frees a block on stream 0 and on stream 1, as if both frees had seen it live
 * and the free on stream 1 had written last. So the entry of stream 0 is
 * stale.
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
    stub_stream_works(1, true);
    CHECK(cache_free(STUB_POOL(0), STUB_STREAM(1), address, 0) == DONE);
    stub_stream_works(1, false);
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
        /* A batch uses the depots and checks every entry. */
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
    /* The late free writes to a record that no longer belongs to a block. */
    CHECK(cache_alloc(STUB_POOL(0), 0, 3000, 0, &address) == DONE);
    uint32_t index = fm_table_find(cache, address);
    stub_stream_works(1, true);
    CHECK(cache_free(STUB_POOL(0), STUB_STREAM(1), address, 0) == DONE);
    stub_stream_works(1, false);
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

/* A free that has read the state of a block and has not yet written the new
 * one. */
struct slow_free {
    uint64_t address;
    uint32_t index;
    uint64_t meta;
};

static struct slow_free begin_free(uint64_t address) {
    struct fm_cache *cache = fm_cache_of(STUB_POOL(0));
    struct slow_free slow = {.address = address};
    stub_freed_by_two(true);
    slow.index = fm_table_find(cache, address);
    slow.meta = fm_meta(cache, slow.index);
    return slow;
}

/* Completes the free in the lane of stream 1 of this thread. */
static void end_free(struct slow_free slow) {
    struct fm_cache *cache = fm_cache_of(STUB_POOL(0));
    struct fm_store *lane = fm_self->lanes;
    while (lane->stream != STUB_STREAM(1))
        lane = lane->next;
    uint32_t class = fm_meta_class(slow.meta);
    uint64_t whole = cache->class_bytes[class];
    struct fm_magazine *top = lane->bins[class].top;
    CHECK(top->count < top->room);
    fm_magazine_push(cache, top, slow.index, slow.meta);
    fm_tally_free(lane, whole, whole - fm_meta_slack(slow.meta));
}

/* Creates a lane of stream 1 whose magazine for this size has space. */
static void make_lane(uint64_t size) {
    uint64_t address;
    CHECK(cache_alloc(STUB_POOL(0), STUB_STREAM(1), size, 0, &address) == DONE);
    CHECK(cache_free(STUB_POOL(0), STUB_STREAM(1), address, 0) == DONE);
}

static void take_all(void) {
    struct fm_cache_block block;
    while (fm_cache_take(STUB_POOL(0), &block, 1) > 0)
        stub_took(0, block.address, block.size_bytes, block.stream);
}

static void a_late_free_leaves_free_records_in_order(void) {
    enum { N = 300 };
    uint64_t blocks[N], again[N];
    open_pool();
    fm_cache_set_tags(STUB_POOL(0), 4000);
    make_lane(3000);
    for (unsigned i = 0; i < N; i++)
        CHECK(cache_alloc(STUB_POOL(0), 0, 3000, 4000, &blocks[i]) == DONE);
    struct slow_free slow[N];
    for (unsigned i = 0; i < N; i++)
        slow[i] = begin_free(blocks[i]);
    for (unsigned i = 0; i < N; i++)
        CHECK(cache_free(STUB_POOL(0), 0, blocks[i], 0) == DONE);
    take_all();
    /* The late frees write to records of blocks that have left. */
    for (unsigned i = 0; i < N; i += 30)
        end_free(slow[i]);
    struct fm_cache *cache = fm_cache_of(STUB_POOL(0));
    for (unsigned i = 0; i < N; i++) {
        CHECK(cache_alloc(STUB_POOL(0), 0, 3000, 1, &again[i]) == DONE);
        for (unsigned j = 0; j < i; j++) {
            CHECK(again[j] != again[i]);
            CHECK(fm_table_find(cache, again[j]) !=
                  fm_table_find(cache, again[i]));
        }
    }
    for (unsigned i = 0; i < N; i++)
        CHECK(cache_free(STUB_POOL(0), 0, again[i], 0) == DONE);
    check_nothing_is_live();
}

static pthread_barrier_t slow_began, slow_may_end;

static void *free_slowly(void *address) {
    make_lane(3000);
    while (!fm_busy_begin_fenced(fm_self))
        sched_yield();
    struct slow_free slow = begin_free(*(uint64_t *)address);
    pthread_barrier_wait(&slow_began);
    pthread_barrier_wait(&slow_may_end);
    end_free(slow);
    fm_busy_end(fm_self);
    return NULL;
}

static void a_late_free_meets_no_other_block(void) {
    uint64_t address, other[8];
    pthread_t thread;
    open_pool();
    CHECK(cache_alloc(STUB_POOL(0), 0, 3000, 0, &address) == DONE);
    pthread_barrier_init(&slow_began, NULL, 2);
    pthread_barrier_init(&slow_may_end, NULL, 2);
    CHECK(pthread_create(&thread, NULL, free_slowly, &address) == 0);
    pthread_barrier_wait(&slow_began);
    /* Meanwhile the block is returned to the core, and other blocks are
     * leased. */
    struct fm_cache *cache = fm_cache_of(STUB_POOL(0));
    uint32_t index = fm_table_find(cache, address);
    CHECK(fm_cache_free_batch(STUB_POOL(0), 0, &address, 1) == DONE);
    struct fm_cache_block block;
    do {
        CHECK(fm_cache_take(STUB_POOL(0), &block, 1) == 1);
        stub_took(0, block.address, block.size_bytes, block.stream);
    } while (block.address != address);
    for (unsigned i = 0; i < 8; i++) {
        CHECK(cache_alloc(STUB_POOL(0), 0, 50000, 0, &other[i]) == DONE);
        CHECK(fm_table_find(cache, other[i]) != index);
    }
    pthread_barrier_wait(&slow_may_end);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_barrier_destroy(&slow_began);
    pthread_barrier_destroy(&slow_may_end);
    for (unsigned i = 0; i < 8; i++)
        CHECK(cache_free(STUB_POOL(0), 0, other[i], 50000) == DONE);
    check_nothing_is_live();
}

/* These functions allocate and free blocks through the depot of the default
 * stream. */
static void take_batch(uint64_t size, uint64_t *blocks, uint64_t count) {
    CHECK(fm_cache_alloc_batch(STUB_POOL(0), 0, size, count, blocks) == DONE);
}
static void give_batch(const uint64_t *blocks, uint64_t count) {
    CHECK(fm_cache_free_batch(STUB_POOL(0), 0, blocks, count) == DONE);
}

/* A depot with too many blocks returns some to the core. It returns each
 * block once, and it stops when a class has no block left. */
static void a_depot_gives_back_no_entry_twice(void) {
    enum { N = 20 };
    uint64_t blocks[N], address;
    CHECK(fm_cache_open(STUB_POOL(0), 256, 64 << 10));
    make_lane(3000);
    take_batch(3000, blocks, N);
    for (unsigned i = 0; i < N; i++) {
        struct slow_free slow = begin_free(blocks[i]);
        give_batch(&blocks[i], 1);
        end_free(slow);
        do
            CHECK(cache_alloc(STUB_POOL(0), STUB_STREAM(1), 3000, 0,
                              &address) == DONE);
        while (address != blocks[i]);
    }
    /* The blocks have no stream now, so the depot of the batch receives
     * them. */
    stub_stream_good(1, false);
    fm_cache_forget_stream(STUB_STREAM(1));
    /* Each block now has two entries in the same magazine, and the depot
     * has more blocks than it keeps. */
    uint64_t backs = stub_give_backs();
    give_batch(blocks, N);
    CHECK(stub_give_backs() > backs);
    static struct fm_cache_block left[70000];
    uint64_t count = all_blocks(0, left, 70000, 64);
    for (uint64_t i = 0; i < count; i++)
        if (left[i].live)
            CHECK(cache_free(STUB_POOL(0), 0, left[i].address, 0) == DONE);
    check_nothing_is_live();
}

static void a_depot_gives_back_past_a_stale_entry(void) {
    enum { N = 30 };
    uint64_t first[N], second[N], late;
    CHECK(fm_cache_open(STUB_POOL(0), 256, 64 << 10));
    make_lane(3000);
    take_batch(3000, &late, 1);
    take_batch(2048, first, N);
    take_batch(2048, second, N);
    struct slow_free slow = begin_free(late);
    give_batch(&late, 1);
    end_free(slow);
    /* This is more than the depot keeps, so it returns blocks. From now on
     * it counts the blocks of each class that nobody needs. */
    give_batch(first, N);
    give_batch(second, N);
    /* All blocks are needed, except the stale entry. */
    take_batch(2048, first, N);
    take_batch(2048, second, N);
    give_batch(first, N);
    uint64_t backs = stub_give_backs();
    give_batch(second, N);
    CHECK(stub_give_backs() > backs);
    check_nothing_is_live();
}

int main(void) {
    static const struct test tests[] = {
        TEST(memory_may_run_out_anywhere),
        TEST(memory_may_run_out_while_the_core_refuses),
        TEST(a_stale_entry_gives_no_block),
        TEST(a_stale_entry_leaves_with_its_magazine),
        TEST(a_stale_entry_of_a_block_that_left),
        TEST(a_late_free_leaves_free_records_in_order),
        TEST(a_late_free_meets_no_other_block),
        TEST(a_depot_gives_back_no_entry_twice),
        TEST(a_depot_gives_back_past_a_stale_entry),
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}

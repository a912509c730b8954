/* Tests each call of the thread caches alone, on one thread. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { DONE = FM_CACHE_DONE, PASS = FM_CACHE_PASS };

static uint64_t take_on(uint64_t stream, uint64_t size) {
    uint64_t address = 0;
    CHECK(cache_alloc(STUB_POOL(0), stream, size, 0, &address) == DONE);
    CHECK(address != 0);
    return address;
}

static void give_on(uint64_t stream, uint64_t address) {
    CHECK(cache_free(STUB_POOL(0), stream, address, 0) == DONE);
}

static uint64_t take(uint64_t size) { return take_on(0, size); }
static void give(uint64_t address) { give_on(0, address); }

/* Looks a block up as a hit and again with the mutex. Both find live blocks
 * only. If threads must use fences, no lookup is a hit. */
static int32_t size_of(uint64_t address, uint64_t *size_out) {
    uint64_t hit = 0;
    bool found = fm_cache_size_hit(STUB_POOL(0), address, &hit);
    int32_t result = fm_cache_usable_size(STUB_POOL(0), address, size_out);
    if (atomic_load(&fm_stop) == 0)
        CHECK(found == (result == DONE));
    if (found)
        CHECK(hit == *size_out);
    else
        CHECK(hit == 0);
    return result;
}

static void sizes_are_rounded_to_classes(void) {
    static const uint64_t alignments[] = {1, 16, 256, 4096, 1 << 20};
    for (unsigned a = 0; a < 5; a++) {
        stub_reset();
        CHECK(fm_cache_open(STUB_POOL(0), alignments[a], UINT64_MAX));
        uint64_t granule = alignments[a] < 16 ? 16 : alignments[a];
        for (uint64_t size = 1; size <= FM_CACHE_BLOCK_MAX;
             size += 1 + size / 13) {
            uint64_t address = take(size), whole;
            CHECK(size_of(address, &whole) == DONE);
            CHECK(whole == stub_size(0, address));
            CHECK(whole >= size && whole % granule == 0);
            CHECK(whole - size < granule + size / 8);
            struct fm_cache_counts c = count_pool(0);
            CHECK(c.requested_bytes == size && c.live_bytes == whole);
            give(address);
            CHECK(size_of(address, &whole) == PASS);
            CHECK(size_of(address + 8, &whole) == PASS);
            CHECK(size_of(0, &whole) == PASS);
        }
        CHECK(take(FM_CACHE_BLOCK_MAX) != 0);
        close_pool(0);
    }
    CHECK(!fm_cache_open(STUB_POOL(0), 2 << 20, UINT64_MAX));
}

static void what_is_freed_last_comes_back_first(void) {
    open_pool();
    uint64_t a = take(1000), b = take(1000);
    uint64_t leases = stub_leases();
    give(a);
    give(b);
    CHECK(take(1001) == b && take(999) == a);
    CHECK(stub_leases() == leases);
    give(a);
    give(b);
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.allocations == 4 && c.frees == 4 && c.live_blocks == 0);
    close_pool(0);
}

static void what_is_not_for_the_caches_passes(void) {
    open_pool();
    uint64_t address = 77, block = take(300);
    CHECK(cache_alloc(STUB_POOL(0), 0, 0, 0, &address) == PASS);
    CHECK(cache_alloc(STUB_POOL(0), 0, FM_CACHE_BLOCK_MAX + 1, 0, &address) ==
          PASS);
    CHECK(cache_alloc(STUB_POOL(0), 0, UINT64_MAX, 0, &address) == PASS);
    CHECK(cache_alloc(STUB_POOL(1), 0, 300, 0, &address) == PASS);
    CHECK(cache_alloc(0, 0, 300, 0, &address) == PASS);
    CHECK(cache_alloc(STUB_POOL(0), STUB_STREAM(5), 300, 0, &address) == PASS);
    CHECK(cache_alloc(STUB_POOL(0), 0, 300, 1, &address) == PASS);
    CHECK(cache_free(STUB_POOL(0), 0, 0, 0) == PASS);
    CHECK(cache_free(STUB_POOL(0), 0, block + 1, 0) == PASS);
    CHECK(cache_free(STUB_POOL(0), 0, UINT64_MAX, 0) == PASS);
    CHECK(cache_free(STUB_POOL(1), 0, block, 0) == PASS);
    CHECK(cache_free(STUB_POOL(0), STUB_STREAM(5), block, 0) == PASS);
    CHECK(size_of(block + 1, &address) == PASS);
    CHECK(address == 77);
    give(block);
    CHECK(size_of(block, &address) == PASS);
    stub_limit(0, stub_on_lease(0));
    CHECK(cache_alloc(STUB_POOL(0), 0, 900000, 0, &address) == PASS);
    close_pool(0);
}

static void a_wrong_free_changes_nothing(void) {
    open_pool();
    uint64_t block = take(300), other = take(300);
    check_error(cache_free(STUB_POOL(0), 0, block, 301),
                FERRUM_ERROR_INVALID_SIZE, "size_bytes is 301");
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.live_blocks == 2 && c.requested_bytes == 600);
    CHECK(cache_free(STUB_POOL(0), 0, block, 300) == DONE);
    check_error(cache_free(STUB_POOL(0), 0, block, 0), FERRUM_ERROR_DOUBLE_FREE,
                "is free");
    check_error(cache_free(STUB_POOL(0), STUB_STREAM(1), block, 300),
                FERRUM_ERROR_DOUBLE_FREE, "is free");
    c = count_pool(0);
    CHECK(c.live_blocks == 1 && c.requested_bytes == 300 && c.frees == 1);
    CHECK(take(300) == block && take(300) != block);
    give(other);
    close_pool(0);
}

static void tags_stay_with_blocks(void) {
    open_pool();
    fm_cache_set_tags(STUB_POOL(0), 4095);
    struct fm_cache_block found;
    for (uint32_t tag = 0; tag < 4096; tag += 315) {
        uint64_t address;
        for (unsigned i = 0; i < 2; i++) {
            CHECK(cache_alloc(STUB_POOL(0), 0, 5000, tag, &address) == DONE);
            CHECK(fm_cache_find(STUB_POOL(0), address, &found));
            CHECK(found.tag == tag && found.live &&
                  found.stream == STUB_STREAM(0));
            CHECK(found.requested_bytes == 5000 && found.size_bytes == 5120);
            give(address);
        }
        CHECK(fm_cache_find(STUB_POOL(0), address, &found));
        CHECK(!found.live && found.stream == STUB_STREAM(0));
    }
    CHECK(!fm_cache_find(STUB_POOL(0), 12345, &found));
    CHECK(!fm_cache_find(STUB_POOL(3), 12345, &found));
    close_pool(0);
}

/* The cache serves an alignment that every block has. It passes on every
 * other alignment. */
static void alignments_up_to_the_pools_own_are_served(void) {
    open_pool();
    for (unsigned i = 0; i < 3; i++)
        for (uint64_t alignment = 1; alignment <= 256; alignment *= 2) {
            uint64_t address;
            CHECK(cache_alloc_aligned(STUB_POOL(0), 0, 100, 0, alignment,
                                      &address) == DONE);
            CHECK(address % alignment == 0);
            give(address);
        }
    static const uint64_t others[] = {512, 3,          96,
                                      255, UINT64_MAX, UINT64_C(1) << 63};
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint64_t address = 7;
        CHECK(cache_alloc_aligned(STUB_POOL(0), 0, 100, 0, others[i],
                                  &address) == PASS);
        CHECK(address == 7);
    }
    close_pool(0);
    /* In a pool with a smaller alignment, block sizes are multiples of 16.
     * The blocks are aligned only to the pool's alignment. */
    stub_pool_good(1, true);
    CHECK(fm_cache_open(STUB_POOL(1), 8, UINT64_MAX));
    uint64_t address;
    CHECK(cache_alloc_aligned(STUB_POOL(1), 0, 100, 0, 8, &address) == DONE);
    CHECK(cache_free(STUB_POOL(1), 0, address, 0) == DONE);
    CHECK(cache_alloc_aligned(STUB_POOL(1), 0, 100, 0, 16, &address) == PASS);
    close_pool(1);
}

static void a_block_stays_with_its_stream(void) {
    open_pool();
    uint64_t block = take_on(STUB_STREAM(1), 70000);
    give_on(STUB_STREAM(1), block);
    uint64_t other = take(70000);
    CHECK(other != block);
    /* Both names of the default stream. */
    give_on(STUB_STREAM(0), other);
    CHECK(take(70000) == other);
    give(other);
    CHECK(take_on(STUB_STREAM(0), 70000) == other);
    /* If the streams have no queued work, the stream of the allocation gets
     * the block, whatever the stream of the free. */
    give_on(STUB_STREAM(1), other);
    CHECK(take_on(STUB_STREAM(1), 70000) == block);
    CHECK(take(70000) == other);
    /* If only the stream of the free has queued work, it gets the block. */
    stub_stream_works(1, true);
    give_on(STUB_STREAM(1), other);
    CHECK(take_on(STUB_STREAM(1), 70000) == other);
    give_on(STUB_STREAM(1), block);
    give_on(STUB_STREAM(1), other);
    stub_stream_good(1, false);
    fm_cache_forget_stream(STUB_STREAM(1));
    uint64_t address;
    CHECK(cache_alloc(STUB_POOL(0), STUB_STREAM(1), 10, 0, &address) == PASS);
    CHECK(cache_free(STUB_POOL(0), STUB_STREAM(1), block, 0) == PASS);
    /* Any stream may get a block that was freed on a destroyed stream. */
    uint64_t leases = stub_leases();
    uint64_t first = take(70000), second = take(70000);
    CHECK((first == block && second == other) ||
          (first == other && second == block));
    CHECK(stub_leases() == leases);
    close_pool(0);
}

static void idle_blocks_can_be_taken(void) {
    open_pool();
    uint64_t blocks[300];
    for (unsigned i = 0; i < 300; i++)
        blocks[i] = take_on(STUB_STREAM(i % 2), 4096);
    for (unsigned i = 0; i < 300; i += 2)
        give_on(STUB_STREAM(i / 2 % 2), blocks[i]);
    struct fm_cache_counts before = count_pool(0);
    struct fm_cache_block taken[64];
    uint64_t count, bytes = 0;
    while ((count = fm_cache_take(STUB_POOL(0), taken, 64)) > 0)
        for (uint64_t i = 0; i < count; i++) {
            CHECK(!taken[i].live && taken[i].size_bytes == 4096);
            CHECK(taken[i].stream == STUB_STREAM(0) ||
                  taken[i].stream == STUB_STREAM(1));
            CHECK(!fm_cache_adopt(STUB_POOL(0), taken[i].address, &taken[i]));
            stub_took(0, taken[i].address, 4096, taken[i].stream);
            bytes += 4096;
        }
    CHECK(bytes == before.idle_bytes);
    CHECK(count_pool(0).live_blocks == 150);
    for (unsigned i = 1; i < 300; i += 2)
        give(blocks[i]);
    CHECK(fm_cache_take(STUB_POOL(7), taken, 64) == 0);
    close_pool(0);
}

static void a_live_block_can_be_adopted(void) {
    open_pool();
    uint64_t block = take(5000), idle = take(5000);
    give(idle);
    struct fm_cache_block adopted;
    CHECK(!fm_cache_adopt(STUB_POOL(0), idle, &adopted));
    CHECK(fm_cache_adopt(STUB_POOL(0), block, &adopted));
    CHECK(adopted.address == block && adopted.size_bytes == 5120);
    CHECK(adopted.live && adopted.requested_bytes == 5000);
    stub_took(0, block, 5120, 0);
    CHECK(!fm_cache_adopt(STUB_POOL(0), block, &adopted));
    CHECK(cache_free(STUB_POOL(0), 0, block, 0) == PASS);
    struct fm_cache_counts c = count_pool(0);
    CHECK(c.allocations == 2 && c.frees == 1 && c.live_blocks == 0);
    close_pool(0);
}

static void each_block_is_told(void) {
    uint64_t pool = open_pool(), place = 0;
    static struct fm_cache_block blocks[9000], again[9000];
    for (unsigned i = 0; i < 700; i++)
        if (i % 3 == 0)
            give(take(2000));
        else
            take(2000);
    uint64_t count = all_blocks(0, blocks, 9000, 3), live = 0;
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++) {
        live += blocks[i].live;
        bytes += blocks[i].size_bytes;
    }
    CHECK(live == count_pool(0).live_blocks && bytes == stub_on_lease(0));
    CHECK(all_blocks(0, again, 9000, 4096) == count);
    CHECK(memcmp(blocks, again, count * sizeof *blocks) == 0);
    /* The call visits at most as many records as the array has space for. */
    CHECK(fm_cache_next(pool, &place, again, 8) <= 8 && place == 8);
    place = UINT64_C(1) << 40;
    CHECK(fm_cache_next(pool, &place, again, 8) == 0 && place == 0);
    CHECK(fm_cache_next(STUB_POOL(9), &place, again, 8) == 0 && place == 0);
    close_pool(0);
}

static void many_are_found_at_once(void) {
    uint64_t pool = open_pool();
    uint64_t addresses[4] = {take(2000), 0, take(3000), 12345};
    addresses[1] = take(2000);
    give(addresses[1]);
    struct fm_cache_block found[4];
    fm_cache_find_many(pool, addresses, 4, found);
    CHECK(found[0].address == addresses[0] && found[0].live);
    CHECK(found[0].requested_bytes == 2000);
    CHECK(found[1].address == addresses[1] && !found[1].live);
    CHECK(found[2].address == addresses[2] && found[2].live);
    CHECK(found[3].address == 0 && !found[3].live);
    fm_cache_find_many(STUB_POOL(9), addresses, 4, found);
    CHECK(found[0].address == 0 && found[2].address == 0);
    close_pool(0);
}

static void live_blocks_are_taken_out_in_slices(void) {
    uint64_t pool = open_pool(), place = 0, adopted = 0;
    struct fm_cache_block blocks[16];
    for (unsigned i = 0; i < 300; i++)
        if (i % 3 == 0)
            give(take(2000));
        else
            take(2000);
    struct fm_cache_counts before = count_pool(0);
    do {
        uint64_t n = fm_cache_adopt_next(pool, &place, blocks, 16);
        for (uint64_t i = 0; i < n; i++) {
            CHECK(blocks[i].live && blocks[i].requested_bytes == 2000);
            stub_took(0, blocks[i].address, blocks[i].size_bytes, 0);
        }
        adopted += n;
    } while (place != 0);
    struct fm_cache_counts after = count_pool(0);
    CHECK(adopted == before.live_blocks && after.live_blocks == 0);
    CHECK(after.live_bytes == 0 && after.idle_bytes == before.idle_bytes);
    close_pool(0);
}

static void batches_are_all_or_nothing(void) {
    enum { N = 400 };
    uint64_t pool = open_pool(), blocks[N], again[N];
    give(take(6000));
    CHECK(fm_cache_alloc_batch(pool, 0, 6000, N, blocks) == DONE);
    CHECK(count_pool(0).live_blocks == N);
    CHECK(count_pool(0).requested_bytes == N * 6000);
    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < i; j++)
            CHECK(blocks[i] != blocks[j]);
    /* A duplicate address, a freed block and an unknown address. None of
     * them may change anything. */
    uint64_t kept = blocks[300];
    blocks[300] = blocks[7];
    check_error(fm_cache_free_batch(pool, 0, blocks, N),
                FERRUM_ERROR_DOUBLE_FREE, "address 300 of the batch");
    blocks[300] = 4711;
    CHECK(fm_cache_free_batch(pool, 0, blocks, N) == PASS);
    CHECK(count_pool(0).live_blocks == N && count_pool(0).frees == 1);
    blocks[300] = kept;
    CHECK(fm_cache_free_batch(pool, 0, blocks, N) == DONE);
    CHECK(count_pool(0).live_blocks == 0);
    check_error(fm_cache_free_batch(pool, 0, blocks, N),
                FERRUM_ERROR_DOUBLE_FREE, "address 0 of the batch");
    /* The same blocks again, without a new lease. */
    uint64_t leases = stub_leases();
    CHECK(fm_cache_alloc_batch(pool, 0, 6000, N, again) == DONE);
    CHECK(stub_leases() == leases);
    CHECK(fm_cache_free_batch(pool, STUB_STREAM(1), again, N) == DONE);
    stub_limit(0, stub_on_lease(0));
    CHECK(fm_cache_alloc_batch(pool, STUB_STREAM(1), 6000, N, again) == PASS);
    CHECK(fm_cache_alloc_batch(pool, 0, 6000, N, again) == DONE);
    CHECK(fm_cache_alloc_batch(pool, 0, 0, 2, again) == PASS);
    CHECK(fm_cache_alloc_batch(pool, 0, 1 << 20, 1 << 20, again) == PASS);
    CHECK(fm_cache_free_batch(pool, STUB_STREAM(9), again, 1) == PASS);
    close_pool(0);
}

/* A free on one stream of a block of another stream. The result depends on which
 * of the two streams has queued work. */
static void a_free_waits_for_both_streams(void) {
    uint64_t pool = open_pool(), block, other;
    const uint64_t one = STUB_STREAM(1), two = STUB_STREAM(2);
    struct fm_cache_block found;
    stub_stream_good(2, true);
    for (unsigned sized = 0; sized < 2; sized++) {
        uint64_t size = sized ? 4000 : 0;
        block = take_on(one, 4000);
        CHECK(fm_cache_find(pool, block, &found) && found.stream == one);
        /* Only the stream of the block has work, so the block stays with
         * its stream. */
        stub_stream_works(1, true);
        CHECK(cache_free(pool, two, block, size) == DONE);
        CHECK(fm_cache_find(pool, block, &found) && found.stream == one);
        CHECK((other = take_on(two, 4000)) != block);
        CHECK(take_on(one, 4000) == block);
        /* Both streams have work, so the core must order the block after
         * both. */
        stub_stream_works(2, true);
        CHECK(cache_free(pool, two, block, size) == PASS);
        CHECK(fm_cache_adopt(pool, block, &found));
        CHECK(found.live && found.stream == one);
        stub_took(0, block, found.size_bytes, one);
        /* Only the stream of the free has work, so it gets the block. */
        stub_stream_works(1, false);
        block = take_on(one, 4000);
        CHECK(cache_free(pool, two, block, size) == DONE);
        CHECK(fm_cache_find(pool, block, &found) && found.stream == two);
        give_on(two, other);
        stub_stream_works(2, false);
    }
    /* A block of a destroyed stream can be freed on any stream. */
    block = take_on(one, 9000);
    stub_stream_works(2, true);
    stub_stream_good(1, false);
    fm_cache_forget_stream(one);
    CHECK(fm_cache_find(pool, block, &found) && found.live);
    CHECK(found.stream == 0);
    CHECK(cache_free(pool, two, block, 9000) == DONE);
    CHECK(fm_cache_find(pool, block, &found) && found.stream == two);
    close_pool(0);
}

/* Numbers of destroyed streams are reused. Blocks that still have such a
 * number can be freed. */
static void numbers_of_streams_are_used_again(void) {
    enum { N = 400 };
    static uint64_t blocks[N];
    uint64_t pool = open_pool();
    struct fm_cache_block found;
    for (unsigned i = 0; i < N; i++) {
        unsigned n = 1 + i % (STUB_STREAMS - 1);
        stub_stream_good(n, true);
        blocks[i] = take_on(STUB_STREAM(n), 800);
        CHECK(fm_cache_find(pool, blocks[i], &found));
        CHECK(found.stream == STUB_STREAM(n));
        stub_stream_good(n, false);
        fm_cache_forget_stream(STUB_STREAM(n));
    }
    CHECK(fm_cache_of(pool)->numbers_room <= 8);
    for (unsigned i = 0; i < N; i++)
        give(blocks[i]);
    CHECK(count_pool(0).live_blocks == 0);
    close_pool(0);
}

/* Batches of blocks of several streams, freed on one stream. */
static void batches_go_to_the_streams_of_their_blocks(void) {
    enum { N = 300 };
    static uint64_t blocks[N];
    uint64_t pool = open_pool();
    struct fm_cache_block found;
    const uint64_t one = STUB_STREAM(1), two = STUB_STREAM(2);
    stub_stream_good(2, true);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++)
            blocks[i] = take_on(STUB_STREAM(i % 3), 500 + i);
        stub_stream_works(0, true);
        stub_stream_works(1, true);
        stub_stream_works(2, round == 1);
        int32_t result = fm_cache_free_batch(pool, two, blocks, N);
        CHECK(result == (round == 1 ? PASS : DONE));
        for (unsigned i = 0; i < N; i++) {
            CHECK(fm_cache_find(pool, blocks[i], &found));
            CHECK(found.live == (round == 1));
            CHECK(found.stream == STUB_STREAM(i % 3));
            CHECK(found.requested_bytes == 500 + i);
        }
        CHECK(count_pool(0).live_blocks == (round == 1 ? N : 0));
        for (unsigned i = 0; round == 1 && i < N; i++)
            give_on(STUB_STREAM(i % 3), blocks[i]);
    }
    /* One wrong address. All blocks keep their state and their stream. */
    for (unsigned i = 0; i < N; i++)
        blocks[i] = take_on(i % 2 ? one : two, 500 + i);
    uint64_t kept = blocks[N - 1];
    blocks[N - 1] = blocks[0];
    check_error(fm_cache_free_batch(pool, two, blocks, N),
                FERRUM_ERROR_DOUBLE_FREE, "address 299");
    blocks[N - 1] = kept;
    for (unsigned i = 0; i < N; i++) {
        CHECK(fm_cache_find(pool, blocks[i], &found) && found.live);
        CHECK(found.stream == (i % 2 ? one : two));
    }
    CHECK(fm_cache_free_batch(pool, two, blocks, N) == DONE);
    /* A batch that was allocated on a stream belongs to that stream. */
    CHECK(fm_cache_alloc_batch(pool, one, 500, 20, blocks) == DONE);
    for (unsigned i = 0; i < 20; i++)
        CHECK(fm_cache_find(pool, blocks[i], &found) && found.stream == one);
    CHECK(fm_cache_free_batch(pool, 0, blocks, 20) == PASS);
    CHECK(fm_cache_free_batch(pool, one, blocks, 20) == DONE);
    close_pool(0);
}

static void what_is_kept_is_bounded(void) {
    enum { N = 3000 };
    static uint64_t blocks[N];
    CHECK(fm_cache_open(STUB_POOL(0), 256, 1 << 20));
    for (unsigned i = 0; i < N; i++)
        blocks[i] = take(20000);
    for (unsigned i = 0; i < N; i++)
        give(blocks[i]);
    CHECK(stub_give_backs() > 0);
    CHECK(count_pool(0).idle_bytes <= 3 << 20);
    close_pool(0);
    /* With a limit of 0 bytes a thread keeps no blocks. */
    CHECK(fm_cache_open(STUB_POOL(0), 256, 0));
    for (unsigned i = 0; i < 100; i++)
        give(take(20000));
    CHECK(count_pool(0).idle_bytes <= 32 * 20480);
    close_pool(0);
}

static void what_is_kept_of_batches_is_bounded(void) {
    enum { BATCHES = 8, N = 500 };
    static uint64_t blocks[BATCHES][N];
    CHECK(fm_cache_open(STUB_POOL(0), 256, 64 << 20));
    for (unsigned i = 0; i < BATCHES; i++)
        CHECK(fm_cache_alloc_batch(STUB_POOL(0), 0, 65536, N, blocks[i]) ==
              DONE);
    for (unsigned i = 0; i < BATCHES; i++) {
        CHECK(fm_cache_free_batch(STUB_POOL(0), 0, blocks[i], N) == DONE);
        CHECK(count_pool(0).idle_bytes <= 65 << 20);
    }
    close_pool(0);
}

static void the_core_may_refuse(void) {
    enum { N = 3000 };
    static uint64_t blocks[N];
    CHECK(fm_cache_open(STUB_POOL(0), 256, 1 << 20));
    for (unsigned i = 0; i < N; i++)
        blocks[i] = take(20000);
    stub_refuse(FERRUM_ERROR_DEVICE);
    for (unsigned i = 0; i < N; i++)
        give(blocks[i]);
    CHECK(stub_give_backs() > 0);
    CHECK(count_pool(0).live_blocks == 0);
    CHECK(count_pool(0).idle_bytes == stub_on_lease(0));
    stub_refuse(0);
    give(take(20000));
    close_pool(0);
}

static void many_blocks_are_found(void) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    enum { N = 20000 };
#else
    enum { N = 200000 };
#endif
    uint64_t *blocks = calloc(N, sizeof *blocks), state = 5;
    open_pool();
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N; i++)
            blocks[i] = take(300 + i % 7 * 256);
        for (unsigned i = N - 1; i > 0; i--) {
            unsigned j = (unsigned)(random_next(&state) % (i + 1));
            uint64_t block = blocks[i];
            blocks[i] = blocks[j], blocks[j] = block;
        }
        CHECK(count_pool(0).live_blocks == N);
        for (unsigned i = 0; i < N; i++)
            give(blocks[i]);
    }
    free(blocks);
    close_pool(0);
}

/* Runs rounds that allocate some blocks and free all of them. */
static void go_round(uint64_t size, unsigned live, unsigned rounds) {
    uint64_t blocks[16];
    while (rounds-- > 0) {
        for (unsigned i = 0; i < live; i++)
            blocks[i] = take(size);
        for (unsigned i = 0; i < live; i++)
            give(blocks[i]);
    }
}

/* The caches adapt when a thread changes to another block size after a long
 * time: soon they no longer call the core. */
static void another_size_is_kept_as_well(void) {
    static const uint64_t sizes[] = {256,    4096,   65536,
                                     262144, 524288, FM_CACHE_BLOCK_MAX};
    static const unsigned lives[] = {1, 4, 16};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (unsigned at = 0; at < 3 * SIZES * SIZES; at++) {
        unsigned live = lives[at % 3];
        uint64_t first = sizes[at / 3 % SIZES], then = sizes[at / 3 / SIZES];
        open_pool();
        go_round(first, live, 1000);
        go_round(then, live, 100);
        uint64_t calls = stub_leases() + stub_give_backs();
        go_round(then, live, 1000);
        CHECK(stub_leases() + stub_give_backs() == calls);
        close_pool(0);
    }
}

static void pools_do_not_mix(void) {
    open_pool();
    stub_pool_good(1, true);
    CHECK(cache_alloc(STUB_POOL(1), 0, 500, 0, &(uint64_t){0}) == PASS);
    CHECK(fm_cache_open(STUB_POOL(1), 512, UINT64_MAX));
    uint64_t here = take(500), there;
    CHECK(cache_alloc(STUB_POOL(1), 0, 500, 0, &there) == DONE);
    CHECK(stub_size(0, here) == 512 && stub_size(1, there) == 512);
    stub_pool_good(0, false);
    fm_cache_end(fm_cache_drop(STUB_POOL(0)));
    CHECK(cache_free(STUB_POOL(0), 0, here, 0) == PASS);
    CHECK(cache_alloc(STUB_POOL(0), 0, 500, 0, &here) == PASS);
    CHECK(cache_free(STUB_POOL(1), 0, there, 0) == DONE);
    fm_cache_end(fm_cache_drop(STUB_POOL(0)));
    close_pool(1);
}

int main(void) {
    static const struct test tests[] = {
        TEST(sizes_are_rounded_to_classes),
        TEST(what_is_freed_last_comes_back_first),
        TEST(what_is_not_for_the_caches_passes),
        TEST(a_wrong_free_changes_nothing),
        TEST(tags_stay_with_blocks),
        TEST(alignments_up_to_the_pools_own_are_served),
        TEST(a_block_stays_with_its_stream),
        TEST(idle_blocks_can_be_taken),
        TEST(a_live_block_can_be_adopted),
        TEST(each_block_is_told),
        TEST(many_are_found_at_once),
        TEST(live_blocks_are_taken_out_in_slices),
        TEST(batches_are_all_or_nothing),
        TEST(a_free_waits_for_both_streams),
        TEST(numbers_of_streams_are_used_again),
        TEST(batches_go_to_the_streams_of_their_blocks),
        TEST(what_is_kept_is_bounded),
        TEST(what_is_kept_of_batches_is_bounded),
        TEST(the_core_may_refuse),
        TEST(many_blocks_are_found),
        TEST(another_size_is_kept_as_well),
        TEST(pools_do_not_mix),
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}

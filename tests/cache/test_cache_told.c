/*
 * Each thread reports its own allocations and frees when it has a miss. So the
 * free by one thread may be reported before the allocation by another.
 * Decisions that use the totals must not go wrong because of that.
 */
#include <pthread.h>

#include "harness.h"

enum { SMALL = 4, LARGE = 400, MIB = 1 << 20 };

static uint64_t small[SMALL];

static uint64_t take(uint64_t size) {
    uint64_t address = 0;
    CHECK(cache_alloc(STUB_POOL(0), 0, size, 0, &address) == FM_CACHE_DONE);
    return address;
}

static void give(uint64_t address) {
    CHECK(cache_free(STUB_POOL(0), 0, address, 0) == FM_CACHE_DONE);
}

/* This thread has reported that no block is live. Then it allocates some
 * blocks. */
static void take_untold(void) {
    uint64_t blocks[64];
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 64; i++)
            blocks[i] = take(1000);
        for (unsigned i = 0; i < 64; i++)
            give(blocks[i]);
    }
    give(take(77777));
    for (unsigned i = 0; i < SMALL; i++)
        small[i] = take(1000);
}

static void *give_others(void *unused) {
    for (unsigned i = 0; i < SMALL; i++)
        give(small[i]);
    /* Misses of every kind, while the total of live bytes is below zero. */
    for (uint64_t size = 2000; size < 400000; size += size / 3)
        give(take(size));
    return unused;
}

static void what_is_kept_grows_with_what_is_live_only(void) {
    static uint64_t large[LARGE];
    open_pool();
    take_untold();
    pthread_t other;
    CHECK(pthread_create(&other, NULL, give_others, NULL) == 0);
    CHECK(pthread_join(other, NULL) == 0);
    for (unsigned i = 0; i < LARGE; i++)
        large[i] = take(MIB);
    for (unsigned i = 0; i < LARGE; i++)
        give(large[i]);
    CHECK(count_pool(0).idle_bytes < 300 * (uint64_t)MIB);
    close_pool(0);
}

int main(void) {
    static const struct test tests[] = {
        TEST(what_is_kept_grows_with_what_is_live_only),
    };
    return run_tests(tests, sizeof tests / sizeof tests[0]);
}

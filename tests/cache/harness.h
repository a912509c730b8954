/* What the tests of the thread caches share. */
#ifndef FERRUM_TEST_CACHE_HARNESS_H
#define FERRUM_TEST_CACHE_HARNESS_H

#include "ferrum_mem.h"
#include "stub_core.h"

struct test {
    const char *name;
    void (*run)(void);
};
#define TEST(function) {#function, function}

/** Runs tests, each with threads stopped by membarrier and by fences, over a
 *  fresh stub core, and prints `N passed, 0 failed`. A test that fails ends the
 *  program. */
int run_tests(const struct test *tests, unsigned count);

/** Opens the caches of pool 0 with the usual settings; its handle. */
uint64_t open_pool(void);

/** Gives back all idle blocks of a pool, and checks that its books and the core's
 *  then agree on what is left; closes its caches. */
void close_pool(unsigned pool);

/** Checks that a pool's books agree with themselves and the core. No thread may
 *  be at work. */
struct fm_cache_counts count_pool(unsigned pool);

/** Copies out the leased blocks of a pool, capacity at most, in slices of that many
 *  records, and says how many there are. */
uint64_t all_blocks(unsigned pool, struct fm_cache_block *blocks_out,
                    uint64_t capacity, uint64_t slice);

/** Checks that a status is this error, with the text in its message. */
void check_error(int32_t status, int32_t wanted, const char *text);

/** Random numbers, each the same in every run. */
uint64_t random_next(uint64_t *state);
/** A size from 1 byte to a bit above the largest that is cached. */
uint64_t random_size(uint64_t *state);

/** How often this thread may still allocate memory of the process before one
 *  allocation fails; negative: for ever. */
extern _Thread_local int64_t allocations_left;

#endif

/* Helpers that the tests of the thread caches share. */
#ifndef FERRUM_TEST_CACHE_HARNESS_H
#define FERRUM_TEST_CACHE_HARNESS_H

#include "ferrum_mem.h"
#include "stub_core.h"

struct test {
    const char *name;
    void (*run)(void);
};
#define TEST(function) {#function, function}

/** Runs each test over a fresh stub core: once with membarrier to stop
 *  threads, if the system has it, and once with fences. Prints `N passed, 0
 *  failed`. A test that fails ends the program. */
int run_tests(const struct test *tests, unsigned count);

/** Opens the caches of pool 0 with the usual settings. Returns the handle of
 *  the pool. */
uint64_t open_pool(void);

/** Returns all idle blocks of a pool to the core and checks that the
 *  counters of both then agree. Closes the caches of the pool. */
void close_pool(unsigned pool);

/** Checks that the counters of a pool are consistent and agree with those of
 *  the core. No other thread may use the pool meanwhile. */
struct fm_cache_counts count_pool(unsigned pool);

/** Copies the leased blocks of a pool, at most capacity, in slices of that
 *  many records. Returns the number of blocks. */
uint64_t all_blocks(unsigned pool, struct fm_cache_block *blocks_out,
                    uint64_t capacity, uint64_t slice);

/** Checks that a status is this error and that its message contains the
 *  text. */
void check_error(int32_t status, int32_t wanted, const char *text);

/** Random numbers. The sequence is the same in every run. */
uint64_t random_next(uint64_t *state);
/** A random size, from 1 byte to a little above the largest cached size. */
uint64_t random_size(uint64_t *state);

/** How many allocations of process memory still succeed on this thread. The
 *  next one fails. A negative value means no limit. */
extern _Thread_local int64_t allocations_left;

#endif

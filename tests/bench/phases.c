/*
 * Changing sizes: many pairs of one size, then pairs of another from the same
 * pool. Without the first ones it is the same on a new pool, with which the
 * times are compared. An allocator that keeps memory that only the first size
 * can use, or adapts too slowly, is slower here than there.
 */
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The pairs that a pool may need to adapt to the new size. The first pairs
 * of a slow allocator may take as long as this many repetitions. */
enum { SETTLING_PAIRS = 10000, LIMIT_BUDGETS = 100 };

/* Does this many pairs, or fewer if they take too long. Returns the number. */
static uint64_t pairs_within(const struct allocator *allocator,
                             uint64_t size_bytes, uint64_t pairs,
                             uint64_t limit_ns) {
    enum { PORTION = 1000 };
    uint64_t done = 0, begin = clock_ns();
    while (done < pairs && (done == 0 || clock_ns() - begin < limit_ns)) {
        uint64_t portion = pairs - done < PORTION ? pairs - done : PORTION;
        for (uint64_t i = 0; i < portion; i++)
            give(allocator, take(allocator, size_bytes));
        done += portion;
    }
    return done;
}

void run_phases(const struct allocator *allocator,
                const struct options *options) {
    uint64_t size = options->size_bytes, repetitions = options->repetitions;
    double *pair_ns = numbers(repetitions);
    uint64_t first =
        pairs_within(allocator, options->first_bytes, options->first_pairs,
                     LIMIT_BUDGETS * options->budget_ns);
    uint64_t begin = clock_ns();
    uint64_t settled = pairs_within(allocator, size, SETTLING_PAIRS,
                                    LIMIT_BUDGETS * options->budget_ns);
    double each = (double)(clock_ns() - begin) / (double)settled;
    uint64_t pairs = affordable(options->pairs, each, options->budget_ns);
    for (uint64_t i = 0; i < repetitions; i++) {
        begin = clock_ns();
        for (uint64_t pair = 0; pair < pairs; pair++)
            give(allocator, take(allocator, size));
        pair_ns[i] = (double)(clock_ns() - begin) / (double)pairs;
    }
    printf("\"first_pairs\": %" PRIu64 ", \"settling_pairs\": %" PRIu64
           ", \"pairs\": %" PRIu64 ", ",
           first, settled, pairs);
    print_list("pair_ns", pair_ns, repetitions);
    free(pair_ns);
}

/*
 * The memory that an allocator keeps for its blocks: how much more memory of
 * the process is resident with many live blocks than before, as the kernel
 * counts it. The memory that opening the allocator took is reported
 * separately, because some create their tables then. Pages of files are left
 * out: they are code that ran for the first time. The bench never touches the
 * blocks themselves.
 */
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The replacements may take as long as this many repetitions. */
enum { WARM_BLOCKS = 256, LIMIT_BUDGETS = 50 };

void run_tables(const struct allocator *allocator,
                const struct options *options) {
    double opened = resident_bytes() - options->resident_at_start;
    struct workload workload = workload_make(options);
    struct runner *runner = runner_make(allocator, &workload);
    memset(runner->live, 1, workload.live_blocks * sizeof runner->live[0]);
    for (unsigned i = 0; i < WARM_BLOCKS; i++)
        give(allocator, take(allocator, workload.steps[i].size_bytes));
    double before = resident_bytes();
    runner_open(runner);
    double filled = resident_bytes();
    runner_warm(runner, options->pairs, LIMIT_BUDGETS * options->budget_ns);
    double replaced = resident_bytes();
    runner_close(runner);
    double blocks = (double)workload.live_blocks;
    printf("\"opened_bytes\": %.4f, \"filled_bytes\": %.4f, "
           "\"replaced_bytes\": %.4f",
           opened / blocks, (filled - before) / blocks,
           (replaced - before) / blocks);
    free(runner);
    free(workload.steps);
}

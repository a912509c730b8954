/*
 * One thread: pairs timed together for the medians, and pairs timed one by one
 * with the cycle counter for the quantiles. The counter's own cost is measured
 * in the same process and subtracted from each single timing. At the end,
 * untimed pairs measure how much memory the allocator needs.
 */
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Single pairs may take as long as this many repetitions. */
enum { SINGLES_BUDGETS = 10, SETTLE_BUDGETS = 100 };

static int compare_u32(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* The value below which this many thousandths of the sorted values lie. */
static uint32_t quantile(const uint32_t *sorted, size_t count,
                         size_t thousandths) {
    size_t index = (count * thousandths + 999) / 1000;
    return sorted[index > 0 ? index - 1 : 0];
}

/* The cost of timing itself: the median of timing nothing. */
static uint32_t cycles_of_timing(void) {
    static uint32_t samples[10001];
    size_t count = sizeof samples / sizeof samples[0];
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = cycles_begin();
        samples[i] = (uint32_t)(cycles_end() - begin);
    }
    qsort(samples, count, sizeof samples[0], compare_u32);
    return quantile(samples, count, 500);
}

static double ns_per_cycle(void) {
    uint64_t start_ns = clock_ns(), start = cycles_begin();
    while (clock_ns() - start_ns < 20000000)
        ;
    uint64_t cycles = cycles_end() - start;
    return (double)(clock_ns() - start_ns) / (double)cycles;
}

/* Times single pairs and prints their quantiles, without the cost of timing. */
static void print_single(struct runner *runner, size_t count) {
    uint32_t *cycles = calloc(count, sizeof *cycles);
    if (cycles == NULL)
        die("no memory for %zu timings", count);
    double ns = ns_per_cycle();
    uint32_t own = cycles_of_timing();
    runner_single(runner, cycles, count);
    qsort(cycles, count, sizeof *cycles, compare_u32);
    const struct {
        const char *name;
        size_t thousandths;
    } wanted[] = {{"p50", 500}, {"p99", 990}, {"p999", 999}};
    printf("\"single_ns\": {\"count\": %zu, \"timing\": %.2f", count,
           (double)own * ns);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        uint32_t value = quantile(cycles, count, wanted[i].thousandths);
        printf(", \"%s\": %.2f", wanted[i].name,
               value > own ? (double)(value - own) * ns : 0.0);
    }
    printf("}, ");
    free(cycles);
}

/* Continues for this many pairs and prints the maximum of live bytes, the
 * distance between the blocks, and the allocator's own counters. All blocks
 * must come from the workload's steps, so it starts with new ones. */
static void print_memory(struct runner *runner, uint64_t pairs) {
    const struct allocator *allocator = runner->allocator;
    uint64_t count = runner->workload->live_blocks;
    uint64_t *sizes = calloc(count, sizeof *sizes);
    if (sizes == NULL)
        die("no memory for %" PRIu64 " sizes", count);
    uint64_t live = 0, peak = 0;
    struct place used = {UINT64_MAX, 0};
    for (uint64_t i = 0; i < count + pairs; i++) {
        const struct step *step = runner_next(runner);
        uint64_t slot = i < count ? i : step->slot;
        if (runner->live[slot] != 0)
            give(allocator, runner->live[slot]);
        runner->live[slot] = take(allocator, step->size_bytes);
        live += step->size_bytes - sizes[slot];
        sizes[slot] = step->size_bytes;
        if (i + 1 >= count && live > peak)
            peak = live;
        place_add(allocator, runner->live[slot], step->size_bytes, &used);
    }
    free(sizes);
    print_use(allocator, peak, used, live);
}

void run_one_thread(const struct allocator *allocator,
                    const struct options *options) {
    struct workload workload = workload_make(options);
    uint64_t repetitions = options->repetitions;
    struct runner *runner = runner_make(allocator, &workload);
    double *pair_ns = numbers(repetitions);
    runner_open(runner);
    uint64_t settled = options->settle_rounds * options->live_blocks;
    double each =
        settled != 0
            ? runner_warm(runner, settled, SETTLE_BUDGETS * options->budget_ns)
            : runner_warm(runner, options->pairs, options->budget_ns);
    uint64_t pairs = affordable(options->pairs, each, options->budget_ns);
    uint64_t singles = affordable(options->singles, each,
                                  SINGLES_BUDGETS * options->budget_ns);
    for (uint64_t i = 0; i < repetitions; i++) {
        uint64_t begin = clock_ns();
        runner_pairs(runner, pairs);
        pair_ns[i] = (double)(clock_ns() - begin) / (double)pairs;
    }
    print_single(runner, singles);
    if (allocator->place != NULL && workload.size_bytes == 0)
        print_memory(runner, singles);
    runner_close(runner);
    print_list("pair_ns", pair_ns, repetitions);
    free(pair_ns);
    free(runner);
    free(workload.steps);
}

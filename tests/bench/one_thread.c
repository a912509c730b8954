/*
 * One thread: pairs timed together, for the medians, and pairs timed one by one
 * with the cycle counter, for the quantiles. The counter's own cost is measured
 * in the same process and taken off each single timing.
 */
#include "workloads.h"

#include <stdio.h>
#include <stdlib.h>

static int compare_u32(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Value below which so many thousandths of the sorted values lie. */
static uint32_t quantile(const uint32_t *sorted, size_t count,
                         size_t thousandths) {
    size_t index = (count * thousandths + 999) / 1000;
    return sorted[index > 0 ? index - 1 : 0];
}

/* What timing costs by itself: the median of timing nothing. */
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

/* Times single pairs and prints their quantiles, timing itself taken off. */
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

void run_one_thread(const struct allocator *allocator,
                    const struct workload *workload,
                    const struct amounts *amounts) {
    uint64_t repetitions = amounts->repetitions;
    struct runner *runner = runner_make(allocator, workload);
    double *pair_ns = numbers(repetitions);
    runner_open(runner);
    runner_pairs(runner, amounts->pairs);
    for (uint64_t i = 0; i < repetitions; i++) {
        uint64_t begin = clock_ns();
        runner_pairs(runner, amounts->pairs);
        pair_ns[i] = (double)(clock_ns() - begin) / (double)amounts->pairs;
    }
    print_single(runner, amounts->singles);
    runner_close(runner);
    print_list("pair_ns", pair_ns, repetitions);
    free(pair_ns);
    free(runner);
}

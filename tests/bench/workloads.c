/*
 * The workloads do not access the memory of the blocks. So they measure the
 * allocator, and not the kernel, which creates the pages.
 */
#include "workloads.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* So few steps that the processor's caches hold them, and so many that no
 * allocator can learn them. With many live blocks, enough to reach nearly
 * every slot. */
enum { STEPS_LEAST = 1 << 16, STEPS_PER_BLOCK = 2 };

/* splitmix64 */
static uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

struct workload workload_make(const struct options *options) {
    struct workload workload = {.size_bytes = options->size_bytes,
                                .live_blocks = options->live_blocks};
    workload.steps_count = STEPS_LEAST;
    while (workload.steps_count < STEPS_PER_BLOCK * options->live_blocks)
        workload.steps_count *= 2;
    workload.steps = calloc(workload.steps_count, sizeof *workload.steps);
    if (workload.steps == NULL)
        die("no memory for %zu steps", workload.steps_count);
    uint64_t seed = options->seed;
    double smallest = (double)options->smallest_bytes;
    double doublings = log2((double)options->largest_bytes / smallest);
    for (size_t i = 0; i < workload.steps_count; i++) {
        uint64_t slot = random_next(&seed) % options->live_blocks;
        double uniform = (double)(random_next(&seed) >> 11) * 0x1p-53;
        workload.steps[i].slot = (uint32_t)slot;
        workload.steps[i].size_bytes =
            (uint32_t)(smallest * exp2(doublings * uniform));
    }
    return workload;
}

uint64_t take(const struct allocator *allocator, uint64_t size_bytes) {
    uint64_t block = allocator->allocate(allocator->context, size_bytes);
    if (__builtin_expect(block == 0, 0))
        die("no block of %" PRIu64 " bytes", size_bytes);
    return block;
}

void give(const struct allocator *allocator, uint64_t block) {
    if (__builtin_expect(!allocator->release(allocator->context, block), 0))
        die("block %#" PRIx64 " was refused", block);
}

const struct step *runner_next(struct runner *runner) {
    const struct workload *workload = runner->workload;
    return &workload->steps[runner->position++ & (workload->steps_count - 1)];
}

static void replace(struct runner *runner) {
    const struct step *step = runner_next(runner);
    uint64_t *block = &runner->live[step->slot];
    give(runner->allocator, *block);
    *block = take(runner->allocator, step->size_bytes);
}

static void hot(struct runner *runner) {
    give(runner->allocator,
         take(runner->allocator, runner->workload->size_bytes));
}

struct runner *runner_make(const struct allocator *allocator,
                           const struct workload *workload) {
    struct runner *runner =
        calloc(1, sizeof *runner + workload->live_blocks * sizeof(uint64_t));
    if (runner == NULL)
        die("no memory for a runner");
    runner->allocator = allocator;
    runner->workload = workload;
    return runner;
}

void runner_open(struct runner *runner) {
    if (runner->workload->size_bytes != 0)
        return;
    for (size_t i = 0; i < runner->workload->live_blocks; i++)
        runner->live[i] =
            take(runner->allocator, runner_next(runner)->size_bytes);
}

void runner_close(struct runner *runner) {
    if (runner->workload->size_bytes != 0)
        return;
    for (size_t i = 0; i < runner->workload->live_blocks; i++)
        give(runner->allocator, runner->live[i]);
}

void runner_pairs(struct runner *runner, uint64_t pairs) {
    if (runner->workload->size_bytes != 0)
        for (uint64_t i = 0; i < pairs; i++)
            hot(runner);
    else
        for (uint64_t i = 0; i < pairs; i++)
            replace(runner);
}

double runner_warm(struct runner *runner, uint64_t pairs, uint64_t limit_ns) {
    uint64_t portion = pairs / 64 + 1, done = 0;
    uint64_t begin = clock_ns(), last, end = begin;
    do {
        last = end;
        runner_pairs(runner, portion);
        done += portion;
        end = clock_ns();
    } while (done < pairs && end - begin < limit_ns);
    return (double)(end - last) / (double)portion;
}

void runner_single(struct runner *runner, uint32_t *cycles_out, size_t count) {
    bool is_hot = runner->workload->size_bytes != 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = cycles_begin();
        if (is_hot)
            hot(runner);
        else
            replace(runner);
        uint64_t taken = cycles_end() - begin;
        cycles_out[i] = taken > UINT32_MAX ? UINT32_MAX : (uint32_t)taken;
    }
}

uint64_t affordable(uint64_t count, double each_ns, uint64_t budget_ns) {
    double most = each_ns > 0 ? (double)budget_ns / each_ns : (double)count;
    if (most >= (double)count)
        return count;
    return most > 1 ? (uint64_t)most : 1;
}

uint64_t arithmetic(uint64_t rounds) {
    uint64_t x = UINT64_C(88172645463325252);
    for (uint64_t i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

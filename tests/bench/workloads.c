/*
 * Memory is never touched: what is measured is the allocator, not the kernel
 * that makes pages.
 */
#include "workloads.h"

#include <math.h>
#include <stdlib.h>

#define SMALLEST_BYTES 256.0
#define DOUBLINGS 12.0 /* 256 B to 1 MiB */

/* splitmix64 */
static uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

struct step *steps_make(size_t count, uint64_t seed) {
    struct step *steps = calloc(count, sizeof *steps);
    if (steps == NULL)
        die("no memory for %zu steps", count);
    for (size_t i = 0; i < count; i++) {
        uint64_t slot = random_next(&seed) % LIVE_BLOCKS;
        double uniform = (double)(random_next(&seed) >> 11) * 0x1p-53;
        steps[i].slot = (uint32_t)slot;
        steps[i].size_bytes =
            (uint32_t)(SMALLEST_BYTES * exp2(DOUBLINGS * uniform));
    }
    return steps;
}

static uint64_t take(const struct allocator *allocator, uint64_t size_bytes) {
    uint64_t address = allocator->allocate(allocator->context, size_bytes);
    if (__builtin_expect(address == 0, 0))
        die("no block of %llu bytes", (unsigned long long)size_bytes);
    return address;
}

static void give(const struct allocator *allocator, uint64_t address) {
    if (__builtin_expect(!allocator->release(allocator->context, address), 0))
        die("block at %#llx was refused", (unsigned long long)address);
}

static const struct step *next_step(struct runner *runner) {
    const struct workload *workload = runner->workload;
    return &workload->steps[runner->position++ & (workload->steps_count - 1)];
}

static void replace(struct runner *runner) {
    const struct step *step = next_step(runner);
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
    struct runner *runner = calloc(1, sizeof *runner);
    if (runner == NULL)
        die("no memory for a runner");
    runner->allocator = allocator;
    runner->workload = workload;
    return runner;
}

void runner_open(struct runner *runner) {
    if (runner->workload->size_bytes != 0)
        return;
    for (size_t i = 0; i < LIVE_BLOCKS; i++)
        runner->live[i] =
            take(runner->allocator, next_step(runner)->size_bytes);
}

void runner_close(struct runner *runner) {
    if (runner->workload->size_bytes != 0)
        return;
    for (size_t i = 0; i < LIVE_BLOCKS; i++)
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

uint64_t arithmetic(uint64_t rounds) {
    uint64_t x = UINT64_C(88172645463325252);
    for (uint64_t i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

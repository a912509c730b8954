/*
 * Batches: the blocks of one step of an engine, allocated and freed together.
 * A few batches are live. In each step the oldest is freed and a new one is
 * allocated. An allocator without a call for a batch is called once for each
 * block.
 */
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIVE_BATCHES = 4 };

static void take_batch(const struct allocator *allocator,
                       const struct options *options, uint64_t *blocks) {
    if (allocator->allocate_batch != NULL) {
        if (!allocator->allocate_batch(allocator->context, options->size_bytes,
                                       options->batch_blocks, blocks))
            die("no batch of %" PRIu64 " blocks of %" PRIu64 " bytes",
                options->batch_blocks, options->size_bytes);
        return;
    }
    for (uint64_t i = 0; i < options->batch_blocks; i++)
        blocks[i] = take(allocator, options->size_bytes);
}

static void give_batch(const struct allocator *allocator,
                       const struct options *options, const uint64_t *blocks) {
    if (allocator->release_batch != NULL) {
        if (!allocator->release_batch(allocator->context, blocks,
                                      options->batch_blocks))
            die("a batch was refused");
        return;
    }
    for (uint64_t i = 0; i < options->batch_blocks; i++)
        give(allocator, blocks[i]);
}

void run_batch(const struct allocator *allocator,
               const struct options *options) {
    uint64_t count = options->batch_blocks, repetitions = options->repetitions;
    uint64_t *blocks = calloc(LIVE_BATCHES * count, sizeof *blocks);
    double *take_ns = numbers(repetitions), *give_ns = numbers(repetitions);
    if (blocks == NULL)
        die("no memory for %" PRIu64 " blocks", LIVE_BATCHES * count);
    uint64_t begin = clock_ns();
    for (uint64_t i = 0; i < LIVE_BATCHES; i++)
        take_batch(allocator, options, &blocks[i * count]);
    double each = (double)(clock_ns() - begin) / LIVE_BATCHES;
    uint64_t batches = affordable(options->pairs, each, options->budget_ns);
    /* The values of the first repetition are overwritten by the second. */
    for (uint64_t i = 0; i <= repetitions; i++) {
        uint64_t taking = 0, giving = 0;
        for (uint64_t batch = 0; batch < batches; batch++) {
            uint64_t *oldest = &blocks[batch % LIVE_BATCHES * count];
            begin = clock_ns();
            give_batch(allocator, options, oldest);
            uint64_t given = clock_ns();
            take_batch(allocator, options, oldest);
            uint64_t taken = clock_ns();
            giving += given - begin;
            taking += taken - given;
        }
        double all = (double)(batches * count);
        take_ns[i > 0 ? i - 1 : 0] = (double)taking / all;
        give_ns[i > 0 ? i - 1 : 0] = (double)giving / all;
    }
    for (uint64_t i = 0; i < LIVE_BATCHES; i++)
        give_batch(allocator, options, &blocks[i * count]);
    print_list("allocate_ns", take_ns, repetitions);
    printf(", ");
    print_list("release_ns", give_ns, repetitions);
    free(take_ns), free(give_ns), free(blocks);
}

/* The work that allocators are measured by. */
#ifndef FERRUM_BENCH_WORKLOADS_H
#define FERRUM_BENCH_WORKLOADS_H

#include "bench.h"

/** Blocks that are alive at any time in the random replacement. */
enum { LIVE_BLOCKS = 1000 };

/** One pair of the random replacement: the block in a slot is given back and
 *  one of another size takes its place. */
struct step {
    uint32_t slot;
    uint32_t size_bytes;
};

/** A workload; size_bytes 0 is the random replacement. */
struct workload {
    uint64_t size_bytes;
    /** steps_count is a power of two; walked round and round. */
    const struct step *steps;
    size_t steps_count;
};

/** How much of a workload is measured. */
struct amounts {
    /** Pairs that a repetition times together. */
    uint64_t pairs;
    uint64_t repetitions;
    /** Pairs that are timed one by one. */
    uint64_t singles;
};

/** What one thread needs to go on with a workload. */
struct runner {
    const struct allocator *allocator;
    const struct workload *workload;
    size_t position;
    uint64_t live[LIVE_BLOCKS];
};

/**
 * Makes the steps of the random replacement: slots uniform, sizes log-uniform
 * from 256 B to 1 MiB. The same seed gives the same steps on every machine with
 * IEEE arithmetic, for every allocator.
 */
struct step *steps_make(size_t count, uint64_t seed);

/** Makes a runner, to be freed with free. */
struct runner *runner_make(const struct allocator *allocator,
                           const struct workload *workload);

/** Takes the blocks that are alive from the start. */
void runner_open(struct runner *runner);

/** Gives back what is alive. */
void runner_close(struct runner *runner);

/** Does so many pairs. */
void runner_pairs(struct runner *runner, uint64_t pairs);

/** Does one pair for each element and stores how many cycles it took. */
void runner_single(struct runner *runner, uint32_t *cycles_out, size_t count);

/** Plain arithmetic, in which every step needs the one before. */
uint64_t arithmetic(uint64_t rounds);

/** Measures in one thread and prints members of a JSON object. */
void run_one_thread(const struct allocator *allocator,
                    const struct workload *workload,
                    const struct amounts *amounts);

/** Measures one thread against two and prints members of a JSON object. */
void run_two_threads(const struct allocator *allocator,
                     const struct workload *workload,
                     const struct amounts *amounts);

#endif

/* The work that allocators are measured by. */
#ifndef FERRUM_BENCH_WORKLOADS_H
#define FERRUM_BENCH_WORKLOADS_H

#include "bench.h"

/** What a run is asked for; each workload reads what concerns it. */
struct options {
    struct adapter_settings adapter;
    const char *workload;
    /** Size of every block; 0: random sizes. */
    uint64_t size_bytes;
    /** Random sizes are log-uniform between these two. */
    uint64_t smallest_bytes, largest_bytes;
    /** What is done before blocks of size_bytes: so many pairs of that size. */
    uint64_t first_bytes, first_pairs;
    /** Blocks that are alive at any time in the random replacement. */
    uint64_t live_blocks;
    /** Blocks of a batch. */
    uint64_t batch_blocks;
    /** Pairs that a repetition times together; batches, of those. */
    uint64_t pairs;
    /** How often each block of the random replacement is replaced before, about:
     *  until then blocks lie where an empty allocator put them, and it still takes
     *  memory. 0: for one repetition. */
    uint64_t settle_rounds;
    /** How long a repetition may take about; an allocator that is slower does
     *  fewer pairs. */
    uint64_t budget_ns;
    uint64_t repetitions;
    /** Pairs that are timed one by one. */
    uint64_t singles;
    uint64_t seed;
    /** File with the steps of a trace. */
    const char *trace;
    /** resident_bytes before the allocator was opened. */
    double resident_at_start;
};

/** One pair of the random replacement: the block in a slot is given back and
 *  one of another size takes its place. */
struct step {
    uint32_t slot;
    uint32_t size_bytes;
};

/** Hot pairs of one size, or the random replacement where that is 0. */
struct workload {
    uint64_t size_bytes;
    uint64_t live_blocks;
    /** steps_count is a power of two; walked round and round. */
    struct step *steps;
    size_t steps_count;
};

/** What one thread needs to go on with a workload. */
struct runner {
    const struct allocator *allocator;
    const struct workload *workload;
    size_t position;
    uint64_t live[];
};

/**
 * Makes a workload. The steps of the random replacement have uniform slots and
 * log-uniform sizes. The same options give the same steps on every machine with
 * IEEE arithmetic, for every allocator.
 */
struct workload workload_make(const struct options *options);

/** Makes a runner, to be freed with free. */
struct runner *runner_make(const struct allocator *allocator,
                           const struct workload *workload);

/** Takes the blocks that are alive from the start. */
void runner_open(struct runner *runner);

/** Gives back what is alive. */
void runner_close(struct runner *runner);

/** Does so many pairs. */
void runner_pairs(struct runner *runner, uint64_t pairs);

/** Does so many pairs, or fewer if they would take longer than limit_ns, and tells
 *  how long one of the last ones took. */
double runner_warm(struct runner *runner, uint64_t pairs, uint64_t limit_ns);

/** Does one pair for each element and stores how many cycles it took. */
void runner_single(struct runner *runner, uint32_t *cycles_out, size_t count);

/** The next step of the random replacement. */
const struct step *runner_next(struct runner *runner);

/** A block, or the end of the process. */
uint64_t take(const struct allocator *allocator, uint64_t size_bytes);

/** Gives a block back, or ends the process. */
void give(const struct allocator *allocator, uint64_t block);

/** Widens the range in use by where a live block lies. The allocator can tell
 *  that. */
void place_add(const struct allocator *allocator, uint64_t block,
               uint64_t size_bytes, struct place *used);

/** Prints the most bytes that were alive, how far the blocks lay apart, and the
 *  allocator's own books, which must say that live_bytes are alive. */
void print_use(const struct allocator *allocator, uint64_t peak_live_bytes,
               struct place used, uint64_t live_bytes);

/** How many of count repeats fit into the budget, if one took so long. */
uint64_t affordable(uint64_t count, double each_ns, uint64_t budget_ns);

/** Anonymous and shared memory of the process that is resident. */
double resident_bytes(void);

/** Memory that the process has from the system now: its own, and pages of files
 *  in memory that it holds open, mapped or not. */
double held_bytes(void);

/** Writes a byte into each page of a block. */
void write_pages(uint64_t block, uint64_t size_bytes);

/** Plain arithmetic, in which every step needs the one before. */
uint64_t arithmetic(uint64_t rounds);

/* Each measures and prints members of a JSON object. */

/** Hot pairs and random replacement in one thread. */
void run_one_thread(const struct allocator *allocator,
                    const struct options *options);

/** The same in one thread against two. */
void run_two_threads(const struct allocator *allocator,
                     const struct options *options);

/** One thread allocates, another frees. */
void run_queue(const struct allocator *allocator,
               const struct options *options);

/** Many blocks of one size at once. */
void run_batch(const struct allocator *allocator,
               const struct options *options);

/** A recorded trace, as fast as it goes. */
void run_trace(const struct allocator *allocator,
               const struct options *options);

/** Pairs of one size after many pairs of another. */
void run_phases(const struct allocator *allocator,
                const struct options *options);

/** A model that loads, serves, sleeps, wakes and serves again. */
void run_model(const struct allocator *allocator,
               const struct options *options);

/** Threads that start, take blocks of each other, and end. */
void run_churn(const struct allocator *allocator,
               const struct options *options);

/** What many live blocks cost in memory. */
void run_tables(const struct allocator *allocator,
                const struct options *options);

#endif

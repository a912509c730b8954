/* The workloads that measure allocators. */
#ifndef FERRUM_BENCH_WORKLOADS_H
#define FERRUM_BENCH_WORKLOADS_H

#include "bench.h"

/** The options of a run. Each workload reads the options that it needs. */
struct options {
    struct adapter_settings adapter;
    const char *workload;
    /** Size of every block. 0: random sizes. */
    uint64_t size_bytes;
    /** Random sizes are log-uniform between these two. */
    uint64_t smallest_bytes, largest_bytes;
    /** The size and the number of pairs before the pairs of size_bytes. */
    uint64_t first_bytes, first_pairs;
    /** Live blocks of the random replacement, at any time. */
    uint64_t live_blocks;
    /** Blocks of a batch. */
    uint64_t batch_blocks;
    /** Pairs that a repetition times together. For batches, their number. */
    uint64_t pairs;
    /** About how often each block of the random replacement is replaced
     *  before the measurement. Until then the blocks are at the offsets
     *  where an empty allocator placed them, and the allocator still takes
     *  new memory. 0: as many pairs as one repetition. */
    uint64_t settle_rounds;
    /** About how long a repetition may take. A slower allocator does fewer
     *  pairs. */
    uint64_t budget_ns;
    uint64_t repetitions;
    /** Pairs that are timed one by one. */
    uint64_t singles;
    uint64_t seed;
    /** File with the steps of a trace. */
    const char *trace;
    /** The value of resident_bytes before the allocator was opened. */
    double resident_at_start;
};

/** One pair of the random replacement: the block of a slot is freed, and a
 *  block of another size is allocated for the slot. */
struct step {
    uint32_t slot;
    uint32_t size_bytes;
};

/** Hot pairs of one size, or the random replacement if the size is 0. */
struct workload {
    uint64_t size_bytes;
    uint64_t live_blocks;
    /** steps_count is a power of two. The steps are repeated in a circle. */
    struct step *steps;
    size_t steps_count;
};

/** The state of one thread in a workload. */
struct runner {
    const struct allocator *allocator;
    const struct workload *workload;
    size_t position;
    uint64_t live[];
};

/**
 * Creates a workload. The steps of the random replacement have uniform slots
 * and log-uniform sizes. The same options give the same steps for every
 * allocator, on every machine with IEEE arithmetic.
 */
struct workload workload_make(const struct options *options);

/** Creates a runner, to be freed by free. */
struct runner *runner_make(const struct allocator *allocator,
                           const struct workload *workload);

/** Allocates the blocks that are live at the start. */
void runner_open(struct runner *runner);

/** Frees the live blocks. */
void runner_close(struct runner *runner);

/** Does this many pairs. */
void runner_pairs(struct runner *runner, uint64_t pairs);

/** Does this many pairs, or fewer if they would take longer than limit_ns.
 *  Returns the time of one of the last pairs. */
double runner_warm(struct runner *runner, uint64_t pairs, uint64_t limit_ns);

/** Does one pair for each element, and stores its number of cycles. */
void runner_single(struct runner *runner, uint32_t *cycles_out, size_t count);

/** The next step of the random replacement. */
const struct step *runner_next(struct runner *runner);

/** Allocates a block, or ends the process. */
uint64_t take(const struct allocator *allocator, uint64_t size_bytes);

/** Frees a block, or ends the process. */
void give(const struct allocator *allocator, uint64_t block);

/** Extends the used range by the place of a live block. The allocator must
 *  support place. */
void place_add(const struct allocator *allocator, uint64_t block,
               uint64_t size_bytes, struct place *used);

/** Prints the peak of live bytes, the distance between the blocks, and the
 *  allocator's own counters. The counters must state that live_bytes are
 *  live. */
void print_use(const struct allocator *allocator, uint64_t peak_live_bytes,
               struct place used, uint64_t live_bytes);

/** How many of count repetitions fit into the budget if each takes each_ns. */
uint64_t affordable(uint64_t count, double each_ns, uint64_t budget_ns);

/** Resident anonymous and shared memory of the process. */
double resident_bytes(void);

/** Memory that the process holds from the system now: its own memory, and
 *  pages of memory files that it keeps open, mapped or not. */
double held_bytes(void);

/** Writes a byte into each page of a block. */
void write_pages(uint64_t block, uint64_t size_bytes);

/** Plain arithmetic in which every step depends on the step before. */
uint64_t arithmetic(uint64_t rounds);

/* Each function measures one workload and prints members of a JSON object. */

/** Hot pairs and random replacement in one thread. */
void run_one_thread(const struct allocator *allocator,
                    const struct options *options);

/** The same, in one thread and in two. */
void run_two_threads(const struct allocator *allocator,
                     const struct options *options);

/** One thread allocates, another frees. */
void run_queue(const struct allocator *allocator,
               const struct options *options);

/** Many blocks of one size at once. */
void run_batch(const struct allocator *allocator,
               const struct options *options);

/** A recorded trace, as fast as possible. */
void run_trace(const struct allocator *allocator,
               const struct options *options);

/** Pairs of one size after many pairs of another. */
void run_phases(const struct allocator *allocator,
                const struct options *options);

/** A model that loads, serves, sleeps, wakes and serves again. */
void run_model(const struct allocator *allocator,
               const struct options *options);

/** Threads that start, take over blocks of other threads, and end. */
void run_churn(const struct allocator *allocator,
               const struct options *options);

/** The memory that an allocator keeps for many live blocks. */
void run_tables(const struct allocator *allocator,
                const struct options *options);

#endif

/*
 * Threads that start and end: generation after generation, two threads start,
 * take over blocks that two others left, do their pairs, leave half of their
 * blocks to the next ones, and end. All of this is timed, including the start
 * and the end of the threads. An allocator with data for each thread pays for
 * it there.
 *
 * More generations write to their blocks, so that the blocks have memory.
 * After the last thread has ended and every block was freed, the held memory
 * is reported: after a short pause, for allocators that release memory in the
 * background, and after the allocator was asked to release unused memory.
 */
#include "workloads.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 2, WRITING_GENERATIONS = 4, REST_NS = 100000000 };

/* A block on its way from an ended thread to a new one. */
struct parcel {
    uint64_t block;
    uint64_t size_bytes;
};

static struct counts {
    atomic_uint_fast64_t taken, given, handed;
    /** Counted only while blocks are written. */
    atomic_uint_fast64_t live_bytes, peak_bytes;
} counts;

struct worker {
    pthread_t thread;
    const struct allocator *allocator;
    struct runner *runner;
    unsigned number;
    bool writing;
    uint64_t pairs;
    uint64_t *sizes;
    /** The blocks that a thread takes over, and the blocks that it leaves. */
    struct parcel *inherited, *left;
    uint64_t inherited_count, left_count;
};

static void count_live(struct worker *worker, uint64_t block,
                       uint64_t size_bytes) {
    if (!worker->writing)
        return;
    write_pages(block, size_bytes);
    uint64_t live = atomic_fetch_add(&counts.live_bytes, size_bytes);
    uint64_t peak = atomic_load(&counts.peak_bytes);
    while (live + size_bytes > peak &&
           !atomic_compare_exchange_weak(&counts.peak_bytes, &peak,
                                         live + size_bytes))
        ;
}

static void put(struct worker *worker, uint64_t slot, uint64_t size_bytes) {
    uint64_t block = take(worker->allocator, size_bytes);
    worker->runner->live[slot] = block;
    worker->sizes[slot] = size_bytes;
    count_live(worker, block, size_bytes);
}

static void drop(struct worker *worker, struct parcel parcel) {
    give(worker->allocator, parcel.block);
    if (worker->writing)
        atomic_fetch_sub(&counts.live_bytes, parcel.size_bytes);
}

static struct parcel in_slot(const struct worker *worker, uint64_t slot) {
    return (struct parcel){worker->runner->live[slot], worker->sizes[slot]};
}

static void *live_through(void *argument) {
    struct worker *worker = argument;
    struct runner *runner = worker->runner;
    uint64_t slots = runner->workload->live_blocks;
    stay_on_core(worker->number);
    for (uint64_t i = 0; i < worker->inherited_count; i++)
        drop(worker, worker->inherited[i]);
    for (uint64_t slot = 0; slot < slots; slot++)
        put(worker, slot, runner_next(runner)->size_bytes);
    for (uint64_t i = 0; i < worker->pairs; i++) {
        const struct step *step = runner_next(runner);
        drop(worker, in_slot(worker, step->slot));
        put(worker, step->slot, step->size_bytes);
    }
    for (uint64_t slot = 0; slot < slots; slot++)
        if (slot < worker->left_count)
            worker->left[slot] = in_slot(worker, slot);
        else
            drop(worker, in_slot(worker, slot));
    atomic_fetch_add(&counts.taken, slots + worker->pairs);
    atomic_fetch_add(&counts.given, worker->inherited_count + worker->pairs +
                                        slots - worker->left_count);
    atomic_fetch_add(&counts.handed, worker->inherited_count);
    return NULL;
}

/* What one generation left for the threads of the next one. */
struct heirs {
    struct worker workers[THREADS];
    struct parcel *left[2][THREADS];
    uint64_t generations;
};

/* Runs one generation. The last one leaves nothing. Each thread takes over
 * what a thread on another core has left. */
static void generation(struct heirs *heirs, bool writing, bool last) {
    uint64_t turn = heirs->generations++;
    for (unsigned i = 0; i < THREADS; i++) {
        struct worker *worker = &heirs->workers[i];
        uint64_t left = worker->runner->workload->live_blocks / 2;
        worker->writing = writing;
        worker->inherited = heirs->left[(turn + 1) % 2][(i + 1) % THREADS];
        worker->inherited_count = turn > 0 ? left : 0;
        worker->left = heirs->left[turn % 2][i];
        worker->left_count = last ? 0 : left;
    }
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&heirs->workers[i].thread, NULL, live_through,
                           &heirs->workers[i]) != 0)
            die("no thread");
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(heirs->workers[i].thread, NULL);
}

static struct parcel *parcels(uint64_t count) {
    struct parcel *made = calloc(count, sizeof *made);
    if (made == NULL)
        die("no memory for %" PRIu64 " blocks", count);
    return made;
}

static void heirs_make(struct heirs *heirs, const struct allocator *allocator,
                       const struct workload *workload, uint64_t pairs) {
    *heirs = (struct heirs){0};
    for (unsigned i = 0; i < THREADS; i++) {
        struct worker *worker = &heirs->workers[i];
        worker->allocator = allocator;
        worker->number = i;
        worker->pairs = pairs;
        worker->runner = runner_make(allocator, workload);
        worker->runner->position = i * workload->steps_count / THREADS;
        worker->sizes = calloc(workload->live_blocks, sizeof *worker->sizes);
        if (worker->sizes == NULL)
            die("no memory for sizes");
        heirs->left[0][i] = parcels(workload->live_blocks);
        heirs->left[1][i] = parcels(workload->live_blocks);
    }
}

static void heirs_free(struct heirs *heirs) {
    for (unsigned i = 0; i < THREADS; i++) {
        free(heirs->workers[i].runner), free(heirs->workers[i].sizes);
        free(heirs->left[0][i]), free(heirs->left[1][i]);
    }
}

/* Runs generations that write. The first of them is the first generation
 * that counts live bytes, so the earlier ones must have left nothing. */
static void print_held(struct heirs *heirs, const struct allocator *allocator) {
    double before = held_bytes();
    heirs->generations = 0;
    for (unsigned i = 0; i < WRITING_GENERATIONS; i++)
        generation(heirs, true, i + 1 == WRITING_GENERATIONS);
    nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    double rested = held_bytes() - before;
    if (allocator->trim != NULL)
        allocator->trim(allocator->context);
    double trimmed = held_bytes() - before;
    printf("\"peak_bytes\": %" PRIuFAST64 ", \"live_bytes\": %" PRIuFAST64
           ", \"held_bytes\": %.0f, \"held_trimmed_bytes\": %.0f, ",
           atomic_load(&counts.peak_bytes), atomic_load(&counts.live_bytes),
           rested, trimmed);
}

void run_churn(const struct allocator *allocator,
               const struct options *options) {
    struct workload workload = workload_make(options);
    struct heirs heirs;
    uint64_t generations = options->repetitions;
    double *pair_ns = numbers(generations);
    heirs_make(&heirs, allocator, &workload, options->pairs);
    if (allocator->writable)
        print_held(&heirs, allocator);
    heirs.generations = 0;
    for (uint64_t i = 0; i < generations; i++) {
        uint64_t begin = clock_ns();
        generation(&heirs, false, i + 1 == generations);
        pair_ns[i] = (double)(clock_ns() - begin) / (double)options->pairs;
    }
    struct books books = {0};
    if (allocator->books != NULL)
        allocator->books(allocator->context, &books);
    uint64_t taken = atomic_load(&counts.taken);
    if (taken != atomic_load(&counts.given) || books.requested_bytes != 0)
        die("blocks are live after all threads have ended");
    printf("\"taken\": %" PRIu64 ", \"given\": %" PRIuFAST64
           ", \"handed\": %" PRIuFAST64 ", ",
           taken, atomic_load(&counts.given), atomic_load(&counts.handed));
    print_list("pair_ns", pair_ns, generations);
    heirs_free(&heirs);
    free(pair_ns), free(workload.steps);
}

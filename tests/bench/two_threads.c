/*
 * Two threads compared with one. Each thread has blocks of its own. In the
 * same repetition a plain arithmetic loop runs, which shares nothing between
 * the threads. The scaling of the loop shows how much the machine could scale
 * at that time.
 */
#include "workloads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 2 };

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    /** NULL for the arithmetic loop. */
    struct runner *runner;
    /** The number of the core to run on. */
    unsigned number;
    uint64_t amount;
    uint64_t begin_ns, end_ns;
    uint64_t result;
};

/* Each thread is bound to its core. Without that, a repetition would end
 * before the scheduler moved a thread away from the core of the thread that
 * woke it. Two threads on one core measure nothing. */
static void *work(void *argument) {
    struct worker *worker = argument;
    stay_on_core(worker->number);
    struct runner *runner = worker->runner;
    if (runner != NULL) {
        runner_open(runner);
        runner_pairs(runner, worker->amount / 4);
    }
    pthread_barrier_wait(worker->start);
    worker->begin_ns = clock_ns();
    if (runner != NULL)
        runner_pairs(runner, worker->amount);
    else
        worker->result = arithmetic(worker->amount);
    worker->end_ns = clock_ns();
    pthread_barrier_wait(worker->start);
    if (runner != NULL)
        runner_close(runner);
    return NULL;
}

/* Nanoseconds from the start of the first thread to the end of the last,
 * divided by the work of one thread. allocator is NULL for the arithmetic
 * loop. */
static double run_threads(unsigned threads, const struct allocator *allocator,
                          const struct workload *workload, uint64_t amount) {
    struct worker workers[THREADS_MAX] = {0};
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].start = &start;
        workers[i].amount = amount;
        workers[i].number = i;
        if (allocator != NULL) {
            workers[i].runner = runner_make(allocator, workload);
            workers[i].runner->position = i * workload->steps_count / threads;
        }
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            die("no thread");
    }
    uint64_t begin = UINT64_MAX, end = 0;
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        begin = workers[i].begin_ns < begin ? workers[i].begin_ns : begin;
        end = workers[i].end_ns > end ? workers[i].end_ns : end;
        if (allocator == NULL && workers[i].result == 0)
            die("the arithmetic loop went wrong");
        free(workers[i].runner);
    }
    pthread_barrier_destroy(&start);
    return (double)(end - begin) / (double)amount;
}

/* Each repetition makes the four measurements one after the other, so that
 * a change of the machine's speed affects them alike. */
void run_two_threads(const struct allocator *allocator,
                     const struct options *options) {
    struct workload workload = workload_make(options);
    uint64_t repetitions = options->repetitions;
    double *one = numbers(repetitions), *two = numbers(repetitions);
    double *plain_one = numbers(repetitions), *plain_two = numbers(repetitions);
    uint64_t rounds = options->pairs * 50;
    double each = run_threads(2, allocator, &workload, options->pairs / 4 + 1);
    uint64_t pairs = affordable(options->pairs, each, options->budget_ns);
    for (uint64_t i = 0; i < repetitions; i++) {
        plain_one[i] = run_threads(1, NULL, &workload, rounds);
        one[i] = run_threads(1, allocator, &workload, pairs);
        two[i] = run_threads(2, allocator, &workload, pairs);
        plain_two[i] = run_threads(2, NULL, &workload, rounds);
    }
    print_list("pair_ns", one, repetitions);
    printf(", ");
    print_list("two_threads_pair_ns", two, repetitions);
    printf(", ");
    print_list("arithmetic_ns", plain_one, repetitions);
    printf(", ");
    print_list("two_threads_arithmetic_ns", plain_two, repetitions);
    free(one), free(two), free(plain_one), free(plain_two);
    free(workload.steps);
}

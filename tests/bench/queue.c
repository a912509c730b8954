/*
 * One thread allocates and puts blocks into a bounded queue. Another takes
 * them out and frees them, so that every block is freed by a thread that did
 * not allocate it. Beside it, in each repetition, the same queue runs with
 * numbers in place of blocks. The difference is the allocator's time.
 */
#include "workloads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* The maximum number of blocks in the queue. */
enum { QUEUE_PLACES = 1024, CACHE_LINE = 64 };

/* One producer, one consumer. Each keeps the last position that it read of
 * the other, so that the shared lines move only when the queue seems full
 * or empty. */
struct queue {
    _Alignas(CACHE_LINE) atomic_size_t head;
    size_t tail_seen;
    _Alignas(CACHE_LINE) atomic_size_t tail;
    size_t head_seen;
    _Alignas(CACHE_LINE) uint64_t places[QUEUE_PLACES];
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void queue_put(struct queue *queue, uint64_t value) {
    size_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    while (tail - queue->head_seen == QUEUE_PLACES) {
        queue->head_seen =
            atomic_load_explicit(&queue->head, memory_order_acquire);
        if (tail - queue->head_seen == QUEUE_PLACES)
            relax();
    }
    queue->places[tail % QUEUE_PLACES] = value;
    atomic_store_explicit(&queue->tail, tail + 1, memory_order_release);
}

static uint64_t queue_take(struct queue *queue) {
    size_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    while (head == queue->tail_seen) {
        queue->tail_seen =
            atomic_load_explicit(&queue->tail, memory_order_acquire);
        if (head == queue->tail_seen)
            relax();
    }
    uint64_t value = queue->places[head % QUEUE_PLACES];
    atomic_store_explicit(&queue->head, head + 1, memory_order_release);
    return value;
}

struct side {
    const struct allocator *allocator;
    const struct workload *workload;
    struct queue *queue;
    pthread_barrier_t *start;
    /** This many pairs are timed, after some that are not. */
    uint64_t pairs, warm_pairs;
    uint64_t begin_ns, end_ns;
    uint64_t sum;
};

static void *produce(void *argument) {
    struct side *side = argument;
    stay_on_core(0);
    struct runner *runner = runner_make(side->allocator, side->workload);
    uint64_t size_bytes = side->workload->size_bytes;
    pthread_barrier_wait(side->start);
    for (uint64_t i = 0; i < side->warm_pairs + side->pairs; i++) {
        uint64_t size =
            size_bytes != 0 ? size_bytes : runner_next(runner)->size_bytes;
        queue_put(side->queue,
                  side->allocator != NULL ? take(side->allocator, size) : size);
    }
    pthread_barrier_wait(side->start);
    free(runner);
    return NULL;
}

static void consume_some(struct side *side, uint64_t pairs) {
    for (uint64_t i = 0; i < pairs; i++) {
        uint64_t block = queue_take(side->queue);
        if (side->allocator != NULL)
            give(side->allocator, block);
        else
            side->sum += block;
    }
}

static void *consume(void *argument) {
    struct side *side = argument;
    stay_on_core(1);
    pthread_barrier_wait(side->start);
    consume_some(side, side->warm_pairs);
    side->begin_ns = clock_ns();
    consume_some(side, side->pairs);
    side->end_ns = clock_ns();
    pthread_barrier_wait(side->start);
    return NULL;
}

/* Nanoseconds for each pair, from the first free to the last. With no
 * allocator, the time of the queue alone. */
static double pass(const struct allocator *allocator,
                   const struct workload *workload, uint64_t pairs) {
    static struct queue queue;
    queue = (struct queue){0};
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 2);
    struct side producer = {.allocator = allocator,
                            .workload = workload,
                            .queue = &queue,
                            .start = &start,
                            .pairs = pairs,
                            .warm_pairs = pairs / 4};
    struct side consumer = producer;
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, produce, &producer) != 0 ||
        pthread_create(&threads[1], NULL, consume, &consumer) != 0)
        die("no thread");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    pthread_barrier_destroy(&start);
    if (allocator == NULL && consumer.sum == 0)
        die("the queue lost its numbers");
    return (double)(consumer.end_ns - consumer.begin_ns) / (double)pairs;
}

void run_queue(const struct allocator *allocator,
               const struct options *options) {
    struct workload workload = workload_make(options);
    uint64_t repetitions = options->repetitions;
    double *with = numbers(repetitions), *without = numbers(repetitions);
    double each = pass(allocator, &workload, options->pairs / 4 + 1);
    uint64_t pairs = affordable(options->pairs, each, options->budget_ns);
    for (uint64_t i = 0; i < repetitions; i++) {
        without[i] = pass(NULL, &workload, options->pairs);
        with[i] = pass(allocator, &workload, pairs);
    }
    print_list("pair_ns", with, repetitions);
    printf(", ");
    print_list("queue_alone_ns", without, repetitions);
    free(with), free(without);
    free(workload.steps);
}

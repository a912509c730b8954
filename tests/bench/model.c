/*
 * The life of a model in one pool: its weights are loaded (large blocks), a
 * trace of conversations is served (small and large blocks), it sleeps
 * (everything is freed, and a trim releases the unused memory), it wakes and
 * serves once more.
 *
 * A page of each block is written as soon as the block is allocated, so that
 * it has memory. The calls are timed without that, one by one. The held memory
 * is the process's memory above the amount before the first phase.
 */
#include "trace.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* How often the held memory is read while a trace is served. */
enum { LOOKS = 64 };

/* More than a model has at its peak. */
enum { WARM_BYTES = 768 << 20 };

struct model {
    const struct allocator *allocator;
    struct trace trace;
    uint64_t weights_count;
    uint64_t *weights, *weight_sizes;
    /** Indexed by slot of the trace. */
    uint64_t *blocks, *sizes;
    uint64_t live_bytes, peak_bytes;
    double held_before;
};

/** The time and the results of a phase. */
struct phase {
    uint64_t calls_ns;
    uint64_t all_ns;
    /** Held over live memory at the end of the phase. For a trace, the mean. */
    double held_over_live;
};

static uint64_t timed_take(struct model *model, struct phase *phase,
                           uint64_t size_bytes) {
    uint64_t begin = clock_ns();
    uint64_t block = take(model->allocator, size_bytes);
    phase->calls_ns += clock_ns() - begin;
    write_pages(block, size_bytes);
    model->live_bytes += size_bytes;
    if (model->live_bytes > model->peak_bytes)
        model->peak_bytes = model->live_bytes;
    return block;
}

static void timed_give(struct model *model, struct phase *phase, uint64_t block,
                       uint64_t size_bytes) {
    uint64_t begin = clock_ns();
    give(model->allocator, block);
    phase->calls_ns += clock_ns() - begin;
    model->live_bytes -= size_bytes;
}

static double held(const struct model *model) {
    return held_bytes() - model->held_before;
}

static struct phase load(struct model *model) {
    struct phase phase = {0};
    uint64_t begin = clock_ns();
    for (uint64_t i = 0; i < model->weights_count; i++)
        model->weights[i] = timed_take(model, &phase, model->weight_sizes[i]);
    phase.all_ns = clock_ns() - begin;
    phase.held_over_live = held(model) / (double)model->live_bytes;
    return phase;
}

static struct phase serve(struct model *model) {
    struct phase phase = {0};
    const struct trace *trace = &model->trace;
    double held_sum = 0, live_sum = 0;
    uint64_t every = trace->count / LOOKS + 1;
    for (uint64_t i = 0; i < trace->count; i++) {
        uint64_t slot = slot_of(trace->steps[i]);
        uint64_t size = size_of(trace->steps[i]);
        if (size != 0) {
            model->blocks[slot] = timed_take(model, &phase, size);
            model->sizes[slot] = size;
        } else {
            timed_give(model, &phase, model->blocks[slot], model->sizes[slot]);
        }
        if (i % every == every - 1) {
            held_sum += held(model);
            live_sum += (double)model->live_bytes;
        }
    }
    if (live_sum > 0)
        phase.held_over_live = held_sum / live_sum;
    return phase;
}

/* Nothing is live at the end, so the held memory is compared with the peak. */
static struct phase go_to_sleep(struct model *model) {
    struct phase phase = {0};
    uint64_t begin = clock_ns();
    for (uint64_t i = 0; i < model->weights_count; i++)
        timed_give(model, &phase, model->weights[i], model->weight_sizes[i]);
    if (model->allocator->trim != NULL)
        model->allocator->trim(model->allocator->context);
    phase.all_ns = clock_ns() - begin;
    phase.held_over_live = held(model) / (double)model->peak_bytes;
    return phase;
}

static uint64_t *resident_numbers(uint64_t count) {
    uint64_t *values = calloc(count, sizeof *values);
    if (values == NULL)
        die("no memory for %" PRIu64 " blocks", count);
    return memset(values, 1, count * sizeof *values);
}

/* Allocates memory in huge pages and frees it. In a virtual machine the
 * first use of a page that the machine has not used yet takes many times as
 * long, and the first allocator would pay for it. */
static void warm_machine(void) {
    void *memory = mmap(NULL, WARM_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        die("no memory to warm the machine with");
    madvise(memory, WARM_BYTES, MADV_HUGEPAGE);
    memset(memory, 1, WARM_BYTES);
    munmap(memory, WARM_BYTES);
}

static struct model model_make(const struct allocator *allocator,
                               const struct options *options) {
    struct workload workload = workload_make(options);
    struct model model = {.allocator = allocator,
                          .trace = trace_read(options->trace),
                          .weights_count = options->live_blocks,
                          .weights = resident_numbers(options->live_blocks),
                          .weight_sizes =
                              resident_numbers(options->live_blocks)};
    for (uint64_t i = 0; i < model.weights_count; i++)
        model.weight_sizes[i] = workload.steps[i].size_bytes;
    free(workload.steps);
    model.blocks = resident_numbers(model.trace.slots);
    model.sizes = resident_numbers(model.trace.slots);
    model.held_before = held_bytes();
    return model;
}

static void model_free(struct model *model) {
    free(model->weights), free(model->weight_sizes);
    free(model->blocks), free(model->sizes), free(model->trace.steps);
}

static void print_number(const char *phase, const char *what, double value) {
    printf("\"%s_%s\": %.6f, ", phase, what, value);
}

void run_model(const struct allocator *allocator,
               const struct options *options) {
    if (!allocator->writable)
        die("%s has no memory that can be written", options->adapter.name);
    warm_machine();
    struct model model = model_make(allocator, options);
    static const char *const loads[] = {"load", "wake"};
    static const char *const serves[] = {"serve", "serve_again"};
    static const char *const sleeps[] = {"sleep", "sleep_again"};
    double pairs = (double)model.trace.count / 2;
    uint64_t loaded_bytes = 0;
    for (unsigned life = 0; life < 2; life++) {
        struct phase loaded = load(&model);
        loaded_bytes = model.live_bytes;
        struct phase served = serve(&model);
        if (model.live_bytes != loaded_bytes)
            die("the trace left %" PRIu64 " bytes",
                model.live_bytes - loaded_bytes);
        struct phase slept = go_to_sleep(&model);
        print_number(loads[life], "calls_ms", (double)loaded.calls_ns / 1e6);
        print_number(loads[life], "ms", (double)loaded.all_ns / 1e6);
        print_number(loads[life], "held_over_live", loaded.held_over_live);
        print_number(serves[life], "pair_ns", (double)served.calls_ns / pairs);
        print_number(serves[life], "held_over_live", served.held_over_live);
        print_number(sleeps[life], "ms", (double)slept.all_ns / 1e6);
        print_number(sleeps[life], "held_over_peak", slept.held_over_live);
    }
    printf("\"weights\": %" PRIu64 ", \"weights_bytes\": %" PRIu64
           ", \"serve_pairs\": %" PRIu64 ", \"peak_bytes\": %" PRIu64
           ", \"live_bytes\": %" PRIu64,
           model.weights_count, loaded_bytes, model.trace.count / 2,
           model.peak_bytes, model.live_bytes);
    model_free(&model);
}

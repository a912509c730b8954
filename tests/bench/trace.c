/*
 * A recorded trace: its allocations and frees in their order, as fast as
 * possible. schedule.py writes the file: 8 bytes of name, then little-endian
 * 64-bit numbers: the number of slots, the number of steps, and the steps.
 * Each step has a slot in the upper 24 bits. Below it is the size of the block
 * to allocate, or 0 to free the block of the slot. The trace frees every block
 * that it allocates.
 */
#include "trace.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_NAME "ferrumt1"

static void read_exactly(FILE *file, const char *path, void *to, size_t bytes) {
    if (fread(to, 1, bytes, file) != bytes)
        die("%s is too short", path);
}

struct trace trace_read(const char *path) {
    struct trace trace;
    char name[8];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        die("%s cannot be read", path);
    read_exactly(file, path, name, sizeof name);
    if (memcmp(name, TRACE_NAME, sizeof name) != 0)
        die("%s is no file of steps", path);
    read_exactly(file, path, &trace.slots, sizeof trace.slots);
    read_exactly(file, path, &trace.count, sizeof trace.count);
    if (trace.count == 0 || trace.count >> 32 != 0 || trace.slots >> 24 != 0)
        die("%s has %" PRIu64 " steps in %" PRIu64 " slots", path, trace.count,
            trace.slots);
    trace.steps = calloc(trace.count, sizeof *trace.steps);
    if (trace.steps == NULL)
        die("no memory for %" PRIu64 " steps", trace.count);
    read_exactly(file, path, trace.steps, trace.count * sizeof *trace.steps);
    fclose(file);
    return trace;
}

static void play(const struct allocator *allocator, const struct trace *trace,
                 uint64_t *live) {
    for (uint64_t i = 0; i < trace->count; i++) {
        uint64_t step = trace->steps[i];
        if (size_of(step) != 0)
            live[slot_of(step)] = take(allocator, size_of(step));
        else
            give(allocator, live[slot_of(step)]);
    }
}

/* Plays the trace once more, and prints the maximum of live bytes and the
 * distance between the blocks. */
static void print_memory(const struct allocator *allocator,
                         const struct trace *trace, uint64_t *live) {
    uint64_t *sizes = calloc(trace->slots, sizeof *sizes);
    if (sizes == NULL)
        die("no memory for %" PRIu64 " sizes", trace->slots);
    uint64_t alive = 0, peak = 0;
    struct place used = {UINT64_MAX, 0};
    for (uint64_t i = 0; i < trace->count; i++) {
        uint64_t slot = slot_of(trace->steps[i]);
        uint64_t size = size_of(trace->steps[i]);
        if (size == 0) {
            alive -= sizes[slot];
            give(allocator, live[slot]);
            continue;
        }
        live[slot] = take(allocator, size);
        sizes[slot] = size;
        alive += size;
        peak = alive > peak ? alive : peak;
        place_add(allocator, live[slot], size, &used);
    }
    free(sizes);
    print_use(allocator, peak, used, alive);
}

/* The memory is measured first, on an allocator that was not used before. */
void run_trace(const struct allocator *allocator,
               const struct options *options) {
    struct trace trace = trace_read(options->trace);
    uint64_t *live = calloc(trace.slots, sizeof *live);
    double *pair_ns = numbers(options->repetitions);
    if (live == NULL)
        die("no memory for %" PRIu64 " blocks", trace.slots);
    if (allocator->place != NULL)
        print_memory(allocator, &trace, live);
    for (uint64_t i = 0; i < options->repetitions; i++) {
        uint64_t begin = clock_ns();
        play(allocator, &trace, live);
        pair_ns[i] = (double)(clock_ns() - begin) * 2 / (double)trace.count;
    }
    printf("\"pairs\": %" PRIu64 ", ", trace.count / 2);
    print_list("pair_ns", pair_ns, options->repetitions);
    free(pair_ns), free(live), free(trace.steps);
}

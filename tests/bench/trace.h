/* The steps of a trace, as schedule.py writes them. */
#ifndef FERRUM_BENCH_TRACE_H
#define FERRUM_BENCH_TRACE_H

#include <stdint.h>

enum { TRACE_SIZE_BITS = 40 };

struct trace {
    uint64_t slots, count;
    uint64_t *steps;
};

/** Reads a file of steps, or ends the process. The steps are freed with free. */
struct trace trace_read(const char *path);

/** The slot that a step takes a block into, or whose block it gives back. */
static inline uint64_t slot_of(uint64_t step) {
    return step >> TRACE_SIZE_BITS;
}

/** The size of the block that a step takes; 0: it gives one back. */
static inline uint64_t size_of(uint64_t step) {
    return step & ((UINT64_C(1) << TRACE_SIZE_BITS) - 1);
}

#endif

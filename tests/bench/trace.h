/* The steps of a trace, as schedule.py writes them. */
#ifndef FERRUM_BENCH_TRACE_H
#define FERRUM_BENCH_TRACE_H

#include <stdint.h>

enum { TRACE_SIZE_BITS = 40 };

struct trace {
    uint64_t slots, count;
    uint64_t *steps;
};

/** Reads a file of steps, or ends the process. The steps are freed by free. */
struct trace trace_read(const char *path);

/** The slot of a step, for the block that it allocates or frees. */
static inline uint64_t slot_of(uint64_t step) {
    return step >> TRACE_SIZE_BITS;
}

/** The size of the block that a step allocates. 0: it frees one. */
static inline uint64_t size_of(uint64_t step) {
    return step & ((UINT64_C(1) << TRACE_SIZE_BITS) - 1);
}

#endif

/* A small call of each operator. */
#ifndef FERRUM_TESTS_OPERATIONS_H
#define FERRUM_TESTS_OPERATIONS_H

#include <stddef.h>

#include "ferrum_mem.h"

enum { OPERATION_INPUTS = 5, OPERATION_OUTPUTS = 4 };

typedef struct {
    const char *name, *attributes;
    /** For each input its type (f: F32, i: I64, n: I32, b: BOOL, q: Q8_0), its
     *  shape, and after a colon its elements, otherwise small numbers. */
    const char *inputs;
    uint64_t output_count;
} operation;

/** All operators of the library. */
extern const operation operations[];
extern const size_t operation_count;

/** Makes the inputs in a memory, and returns their number. Ends the process
 *  after an error. */
uint64_t make_inputs(const operation *of, const ferrum_weights_memory *memory,
                     ferrum_tensor *inputs);

#endif

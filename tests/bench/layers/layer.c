/* A layer for tests/bench/python/layers.py: y = x + 1 for 16 elements. */
#include "ferrum_mem.h"

#include <time.h>

enum { ELEMENTS = 16 };

ferrum_status bench_forward(const ferrum_compute_call *call, void *user_data) {
    (void)user_data;
    const float *x = (const float *)(uintptr_t)call->inputs[0].address;
    float *y = (float *)(uintptr_t)call->outputs[0].address;
    for (int i = 0; i < ELEMENTS; i++)
        y[i] = x[i] + 1;
    return FERRUM_OK;
}

/* The nanoseconds of some calls without the library. */
double bench_bare(uint64_t calls) {
    float x[ELEMENTS] = {0}, y[ELEMENTS];
    ferrum_tensor_desc in = FERRUM_TENSOR_DESC_INIT, out = in;
    in.address = (uintptr_t)x;
    out.address = (uintptr_t)y;
    ferrum_compute_call call = {.inputs = &in, .outputs = &out};
    ferrum_status (*volatile forward)(const ferrum_compute_call *, void *) =
        bench_forward;
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (uint64_t i = 0; i < calls; i++)
        forward(&call, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) * 1e9 +
           (double)(end.tv_nsec - begin.tv_nsec);
}

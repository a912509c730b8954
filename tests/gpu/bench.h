/* The declarations that the two benchmarks share: the device with a stream that the
 * benchmark created, and numbers as JSON. */
#ifndef GPU_BENCH_H
#define GPU_BENCH_H

#include "driver.h"

static ferrum_device device;
static CUcontext context;
static CUstream native;
static ferrum_stream stream;

static inline void end_unless(bool good, const char *what) {
    if (good)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    fprintf(stderr, "bench: %s: %s\n", what, error.message);
    exit(1);
}
#define MUST(call) end_unless((call) == FERRUM_OK, #call)
#define CUDA_MUST(call) end_unless((call) == CUDA_SUCCESS, #call)

static inline void start(void) {
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    CUDA_MUST(CU(cuInit)(0));
    CUDA_MUST(CU(cuDevicePrimaryCtxRetain)(&context, device_ordinal()));
    CUDA_MUST(CU(cuCtxSetCurrent)(context));
    CUDA_MUST(CU(cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING));
    MUST(ferrum_init(NULL));
    MUST(ferrum_device_open(device_id(), &device));
    foreign.native_handle = (uint64_t)(uintptr_t)native;
    MUST(ferrum_stream_adopt(device, &foreign, &stream));
}

static inline void stop(void) {
    CUDA_MUST(CU(cuCtxSynchronize)());
    MUST(ferrum_stream_destroy(stream, 0));
    MUST(ferrum_device_close(device, 0));
    MUST(ferrum_shutdown(0));
    CUDA_MUST(CU(cuStreamDestroy)(native));
    CUDA_MUST(CU(cuCtxSetCurrent)(NULL));
    CUDA_MUST(CU(cuDevicePrimaryCtxRelease)(device_ordinal()));
}

static inline void print_values(const char *name, const double *values,
                                int count) {
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.3f", i > 0 ? ", " : "", values[i]);
    printf("]");
}

#endif

/* Modules, launches and injected faults: the n-th call, sticky errors,
 * delays, and what counts as a leak after them. */
#include "rules.h"

#include <time.h>

static const char image[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".visible .entry add(.param .u64 to) { ret; }\n"
                            ".visible .entry unknown() { ret; }\n";

static void add(const simcuda_launch *launch) {
    CUdeviceptr to = *(CUdeviceptr *)launch->arguments[0];
    size_t count = launch->grid[0] * launch->block[0];
    unsigned char *bytes = simcuda_kernel_memory(to, count, 1);
    for (size_t i = 0; bytes != NULL && i < count; i++)
        bytes[i] =
            (unsigned char)(bytes[i] + *(unsigned char *)launch->arguments[1]);
}

static CUmodule module;
static CUfunction function;

static void load(void) {
    size_t sizes[] = {sizeof(CUdeviceptr), 1};
    EXPECT(simcuda_register_kernel("add", add, sizes, 2) == 0);
    EXPECT(simcuda_register_kernel("add", add, sizes, 2) == -1);
    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&function, module, "add"));
}

static CUresult launch(CUdeviceptr to, unsigned blocks, unsigned threads,
                       CUstream stream) {
    unsigned char more = 3;
    void *arguments[] = {&to, &more};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream,
                          arguments, NULL);
}

static void kernels_run(void) {
    begin();
    load();
    CUdeviceptr a;
    CUfunction none;
    CUmodule bad;
    unsigned char byte;
    OK(cuMemAlloc(&a, 100));
    OK(cuMemsetD8(a, 1, 100));
    OK(launch(a, 10, 10, NULL));
    OK(cuMemcpyDtoH(&byte, a + 99, 1));
    EXPECT(byte == 4);
    BREAKS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "unknown"));
    BREAKS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "ad"));
    BREAKS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&bad, "no code"));
    BREAKS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&bad, ".version 7.0\n"));
    BREAKS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
           cuModuleLoadData(&bad, ".version 9.9\n.target sm_70\n"));
    BREAKS(CUDA_ERROR_INVALID_PTX,
           cuModuleLoadData(&bad, ".version 7.0\n.target sm_120\n"));
    INVALID(launch(a, 1, 1025, NULL));
    INVALID(launch(a, 0, 10, NULL));
    INVALID(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    simcuda_clear_violations();
    EXPECT(simcuda_violations(NULL, 0) == 0);
    broken = 0;
    OK(cuModuleUnload(module));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, launch(a, 1, 1, NULL));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
    OK(cuMemFree(a));
    end();
}

static void limits_of_a_kernel(void) {
    static const char limited[] =
        ".version 7.0\n.target sm_50\n"
        ".visible .entry add(.param .u64 to, .param .u8 more)\n"
        ".maxntid 32, 2, 1\n{ ret; }\n";
    begin();
    load();
    OK(cuModuleUnload(module));
    CUdeviceptr a;
    int most;
    OK(cuMemAlloc(&a, 100));
    OK(cuModuleLoadData(&module, limited));
    OK(cuModuleGetFunction(&function, module, "add"));
    OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                          function));
    EXPECT(most == 64);
    OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                          function));
    EXPECT(most == 0);
    OK(launch(a, 1, 64, NULL));
    INVALID(launch(a, 1, 65, NULL));
    INVALID(cuFuncGetAttribute(NULL, 0, function));
    INVALID(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX, function));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetAttribute(&most, 0, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuModuleUnload(module));
    OK(cuMemFree(a));
    end();
}

static void the_log_of_errors(void) {
    begin();
    CUmodule none;
    char log[64] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    BREAKS(CUDA_ERROR_INVALID_PTX,
           cuModuleLoadDataEx(&none, ".version 7.0\n.target sm_50\n{", 2,
                              options, values));
    EXPECT(strstr(log, "218") != NULL);
    EXPECT((uintptr_t)values[1] == strlen(log));
    INVALID(cuModuleLoadDataEx(&none, image, 1, options, values));
    values[1] = (void *)(uintptr_t)sizeof log;
    OK(cuModuleLoadDataEx(&module, image, 2, options, values));
    EXPECT(values[1] == NULL);
    OK(cuModuleUnload(module));
    end();
}

static void kernel_of_another_context(void) {
    begin();
    load();
    CUcontext made;
    CUstream stream;
    OK(cuCtxCreate(&made, 0, 1));
    OK(cuStreamCreate(&stream, 0));
    OK(cuCtxPushCurrent(context));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, launch(1, 1, 1, stream));
    OK(cuCtxPopCurrent(NULL));
    OK(cuCtxDestroy(made));
    OK(cuModuleUnload(module));
    end();
}

/* A kernel that accesses memory out of bounds spoils its context. All calls
 * return the error, and memory that remains in the context is no leak. */
static void a_fault_is_sticky(void) {
    begin();
    load();
    CUdeviceptr a, b;
    size_t left, total;
    CUstream stream;
    OK(cuMemAlloc(&a, 100));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(launch(a, 1, 101, stream));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    broken++;
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&b, 16));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemGetInfo(&left, &total));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamQuery(stream));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamDestroy(stream));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(a));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuModuleUnload(module));
    EXPECT(simcuda_leaks(NULL, 0) == 1);
    end();
    /* Only a new process gets the primary context again, or a test that asks
     * for the device of a new process. */
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuDevicePrimaryCtxRetain(&context, 0));
    simcuda_clear_faults();
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&b, 16));
    OK(cuMemFree(b));
    OK(cuDevicePrimaryCtxRelease(0));
}

static void sticky_on_order(void) {
    begin();
    CUdeviceptr a;
    EXPECT(simcuda_fault("cuMemAlloc_v2", 1, CUDA_ERROR_ECC_UNCORRECTABLE) ==
           0);
    GIVES(CUDA_ERROR_ECC_UNCORRECTABLE, cuMemAlloc(&a, 16));
    GIVES(CUDA_ERROR_ECC_UNCORRECTABLE, cuCtxSynchronize());
    end();
}

static void the_worker_fails(void) {
    begin();
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 16));
    simcuda_fault("async", 2, CUDA_ERROR_LAUNCH_FAILED);
    OK(cuMemsetD8(a, 1, 16));
    OK(cuCtxSynchronize());
    OK(cuMemsetD8(a, 1, 16));
    GIVES(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
    end();
}

typedef struct Told {
    CUresult status;
    Gate gate;
} Told;

static void CUDA_CB told(CUstream stream, CUresult status, void *data) {
    (void)stream;
    ((Told *)data)->status = status;
    gate_open(&((Told *)data)->gate);
}

static void count(void *data) { ++*(int *)data; }

/* Callbacks of the older form receive a sticky error. Host functions do not
 * run after one. */
static void callbacks_after_a_fault(void) {
    begin();
    CUdeviceptr a;
    Told before = {CUDA_ERROR_UNKNOWN, GATE_INIT}, after = before;
    int runs = 0;
    static Gate gate = GATE_INIT;
    OK(cuMemAlloc(&a, 16));
    OK(cuStreamAddCallback(NULL, told, &before, 0));
    OK(cuLaunchHostFunc(NULL, count, &runs));
    OK(cuStreamSynchronize(NULL));
    EXPECT(before.status == CUDA_SUCCESS && runs == 1);
    simcuda_fault("async", 2, CUDA_ERROR_LAUNCH_FAILED);
    OK(cuLaunchHostFunc(NULL, gate_pass, &gate));
    OK(cuMemsetD8(a, 1, 16));
    OK(cuLaunchHostFunc(NULL, count, &runs));
    OK(cuStreamAddCallback(NULL, told, &after, 0));
    gate_open(&gate);
    GIVES(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(NULL));
    gate_pass(&after.gate);
    EXPECT(after.status == CUDA_ERROR_LAUNCH_FAILED && runs == 1);
    end();
}

static void the_nth_call(void) {
    begin();
    CUdeviceptr a, b;
    uint64_t before = simcuda_calls("cuMemAlloc_v2"), all = simcuda_calls(NULL);
    simcuda_fault("cuMemAlloc_v2", 2, CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&a, 16));
    EXPECT(simcuda_faults_left() == 1);
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&b, 16));
    EXPECT(simcuda_faults_left() == 0);
    OK(cuMemAlloc(&b, 16));
    EXPECT(simcuda_calls("cuMemAlloc_v2") == before + 3);
    EXPECT(simcuda_calls("*") == all + 3);
    simcuda_fault("*", 3, CUDA_ERROR_UNKNOWN);
    OK(cuMemFree(a));
    OK(cuCtxSynchronize());
    GIVES(CUDA_ERROR_UNKNOWN, cuCtxSynchronize());
    simcuda_fault("cuMemAlloc_v2", 0, CUDA_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < 3; i++)
        GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&a, 16));
    simcuda_clear_faults();
    OK(cuMemAlloc(&a, 16));
    OK(cuMemFree(a));
    /* Memory whose free was made to fail is no leak. Other memory is still
     * counted. */
    simcuda_fault("cuMemFree_v2", 1, CUDA_ERROR_UNKNOWN);
    GIVES(CUDA_ERROR_UNKNOWN, cuMemFree(b));
    EXPECT(simcuda_leaks(NULL, 0) == 1);
    OK(cuMemFree(b));
    end();
}

static void from_the_environment(void) {
    GIVES(CUDA_ERROR_OPERATING_SYSTEM, cuInit(0));
    begin();
    CUdeviceptr a;
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&a, 16));
    OK(cuMemAlloc(&a, 16));
    OK(cuMemFree(a));
    end();
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void calls_take_longer(void) {
    begin();
    double start = seconds();
    OK(cuCtxSynchronize());
    EXPECT(seconds() - start >= 0.02);
    simcuda_delay("*", 10000);
    start = seconds();
    OK(cuCtxSynchronize());
    EXPECT(seconds() - start >= 0.03);
    end();
}

static void leak_module(void) {
    begin();
    load();
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

/* A reference is no leak if the caller tried to release it and the release
 * was made to fail. */
static void a_release_fails(void) {
    begin();
    OK(cuCtxSetCurrent(NULL));
    EXPECT(simcuda_leaks(NULL, 0) == 1);
    EXPECT(simcuda_fault("cuDevicePrimaryCtxRelease_v2", 1,
                         CUDA_ERROR_UNKNOWN) == 0);
    GIVES(CUDA_ERROR_UNKNOWN, cuDevicePrimaryCtxRelease(0));
    EXPECT(simcuda_leaks(NULL, 0) == 0);
    OK(cuDevicePrimaryCtxRelease(0));
}

static const Case cases[] = {
    {"kernels run", kernels_run, 0, NULL},
    {"limits of a kernel", limits_of_a_kernel, 0, NULL},
    {"the log of errors", the_log_of_errors, 0, NULL},
    {"a kernel of another context", kernel_of_another_context, 0, NULL},
    {"a fault is sticky", a_fault_is_sticky, 0, NULL},
    {"sticky on order", sticky_on_order, 0, NULL},
    {"the worker fails", the_worker_fails, 0, NULL},
    {"callbacks after a fault", callbacks_after_a_fault, 0, NULL},
    {"the n-th call", the_nth_call, 0, NULL},
    {"from the environment", from_the_environment, 0,
     "SIMCUDA_FAULT=cuInit:1:304,cuMemAlloc_v2:1:2"},
    {"calls take longer", calls_take_longer, 0,
     "SIMCUDA_DELAY=cuCtxSynchronize:20000"},
    {"a release fails", a_release_fails, 0, NULL},
    {"leaked module", leak_module, LEAKS, NULL},
};

int main(void) { return RUN(cases); }

/* Kernels whose code a real device can run, and other cases that need a
 * usual device. The same cases run with a real driver. */
#include "rules.h"

/* store(to, count, value): one thread writes count bytes. */
static const char image[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry store(.param .u64 to, .param .u32 count,\n"
    "                      .param .u32 value)\n"
    "{\n"
    "    .reg .pred %p<2>;\n"
    "    .reg .b32 %r<4>;\n"
    "    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [to];\n"
    "    ld.param.u32 %r1, [count];\n"
    "    ld.param.u32 %r2, [value];\n"
    "    mov.u32 %r3, 0;\n"
    "NEXT:\n"
    "    setp.ge.u32 %p1, %r3, %r1;\n"
    "    @%p1 bra DONE;\n"
    "    cvt.u64.u32 %rd2, %r3;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n"
    "    st.global.u8 [%rd3], %r2;\n"
    "    add.u32 %r3, %r3, 1;\n"
    "    bra NEXT;\n"
    "DONE:\n"
    "    ret;\n"
    "}\n"
    ".visible .entry narrow()\n"
    ".maxntid 32, 1, 1\n"
    "{\n"
    "    ret;\n"
    "}\n";

static void store(const simcuda_launch *launch) {
    CUdeviceptr to;
    unsigned count, value;
    memcpy(&to, launch->arguments[0], sizeof to);
    memcpy(&count, launch->arguments[1], sizeof count);
    memcpy(&value, launch->arguments[2], sizeof value);
    unsigned char *bytes = simcuda_kernel_memory(to, count, 1);
    if (bytes != NULL)
        memset(bytes, (int)value, count);
}

static void nothing(const simcuda_launch *launch) { (void)launch; }

static CUmodule module;
static CUfunction function;
static CUstream stream;

static void load(void) {
    static const size_t sizes[] = {8, 4, 4};
    begin();
    if (SIMULATED) {
        simcuda_register_kernel("store", store, sizes, 3);
        simcuda_register_kernel("narrow", nothing, sizes, 0);
    }
    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&function, module, "store"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void unload(void) {
    OK(cuStreamDestroy(stream));
    OK(cuModuleUnload(module));
    end();
}

static CUresult launch(CUdeviceptr to, unsigned count, unsigned value) {
    void *arguments[] = {&to, &count, &value};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments,
                          NULL);
}

static void a_kernel_stores(void) {
    load();
    CUdeviceptr a;
    unsigned char bytes[8];
    OK(cuMemAlloc(&a, 8));
    OK(cuMemsetD8Async(a, 1, 8, stream));
    OK(launch(a + 2, 4, 7));
    OK(cuMemcpyDtoHAsync(bytes, a, 8, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(memcmp(bytes, "\1\1\7\7\7\7\1\1", 8) == 0);
    OK(cuMemFree(a));
    unload();
}

static void images_and_launches(void) {
    load();
    CUmodule bad;
    CUfunction none;
    BREAKS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "absent"));
    BREAKS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&bad, "no code"));
    BREAKS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&bad, ".version 7.0\n"));
    BREAKS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
           cuModuleLoadData(&bad, ".version 99.9\n.target sm_70\n"));
    BREAKS(CUDA_ERROR_INVALID_PTX,
           cuModuleLoadData(&bad, ".version 7.0\n.target sm_999\n"));
    CUdeviceptr to = 0;
    unsigned count = 0, value = 0;
    void *arguments[] = {&to, &count, &value};
    INVALID(
        cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    INVALID(cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, stream, arguments,
                           NULL));
    INVALID(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuModuleUnload(module));
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
    OK(cuModuleLoadData(&module, image));
    unload();
}

/* The attributes of an entry of a module, and errors in the text of a
 * module. */
static void entries_and_texts(void) {
    load();
    static const char unbalanced[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".visible .entry half()\n{\n";
    CUfunction narrow;
    CUmodule bad;
    int value;
    char log[256];
    CUjit_option only_log = CU_JIT_ERROR_LOG_BUFFER;
    void *only_buffer = log;
    OK(cuModuleGetFunction(&narrow, module, "narrow"));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                          narrow));
    EXPECT(value == 32);
    INVALID(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                               narrow));
    INVALID(cuFuncGetAttribute(&value, (CUfunction_attribute)9999, narrow));
    BREAKS(CUDA_ERROR_INVALID_HANDLE,
           cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                              NULL));
    OK(cuLaunchKernel(narrow, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    INVALID(cuLaunchKernel(narrow, 1, 1, 1, 33, 1, 1, 0, stream, NULL, NULL));
    OK(cuStreamSynchronize(stream));
    BREAKS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&bad, unbalanced));
    OPEN(CUDA_ERROR_INVALID_VALUE,
         cuModuleLoadDataEx(&bad, image, 1, &only_log, &only_buffer));
    unload();
}

/* The documentation does not promise that unloading waits, so a late launch
 * has no code. */
static void unloaded_under_a_launch(void) {
    load();
    static Gate gate = GATE_INIT;
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 8));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(launch(a, 8, 1));
    OK(cuModuleUnload(module));
    gate_open(&gate);
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    broken++;
    end();
}

static void launched_in_another_context(void) {
    load();
    CUcontext made;
    CUstream there;
    CUdeviceptr to = 0;
    unsigned count = 0, value = 0;
    void *arguments[] = {&to, &count, &value};
    OK(cuCtxCreate(&made, 0, 0));
    OK(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
    BREAKS(
        CUDA_ERROR_INVALID_HANDLE,
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, there, arguments, NULL));
    OK(cuStreamDestroy(there));
    OK(cuCtxDestroy(made));
    unload();
}

/* The result of each kind of call after a kernel accessed memory that is
 * not mapped. The process gets no primary context of the device any more. */
static void after_a_fault(CUdeviceptr faulty) {
    CUdeviceptr a, b = 0;
    CUevent event;
    CUcontext again = NULL;
    static Gate gate = GATE_INIT;
    size_t left, total;
    OK(cuMemAlloc(&a, 16));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(launch(faulty, 1, 1));
    OK(cuEventRecord(event, stream));
    gate_open(&gate);
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    broken++;
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamQuery(stream));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuEventQuery(event));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuEventSynchronize(event));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&b, 16));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemGetInfo(&left, &total));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemsetD8Async(a, 1, 1, stream));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuEventDestroy(event));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamDestroy(stream));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(a));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuModuleUnload(module));
    GIVES(CUDA_SUCCESS, cuCtxSetCurrent(NULL));
    GIVES(CUDA_SUCCESS, cuDevicePrimaryCtxRelease(0));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuDevicePrimaryCtxRetain(&again, 0));
    GIVES(CUDA_SUCCESS, cuCtxSetCurrent(again));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&b, 16));
    GIVES(CUDA_SUCCESS, cuMemFree(b));
    GIVES(CUDA_SUCCESS, cuCtxSetCurrent(NULL));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
    all_on_purpose();
}

static void a_store_where_nothing_is(void) {
    load();
    CUdeviceptr reserved;
    OK(cuMemAddressReserve(&reserved, PAGE, 0, 0, 0));
    after_a_fault(reserved);
    OK(cuMemAddressFree(reserved, PAGE));
}

static void a_store_where_only_reading_is_allowed(void) {
    load();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc read = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                            CU_MEM_ACCESS_FLAGS_PROT_READ};
    OK(cuMemAddressReserve(&at, PAGE, 0, 0, 0));
    OK(cuMemCreate(&handle, PAGE, &prop, 0));
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    OK(cuMemSetAccess(at, PAGE, &read, 1));
    after_a_fault(at);
    GIVES(CUDA_SUCCESS, cuMemUnmap(at, PAGE));
    GIVES(CUDA_SUCCESS, cuMemRelease(handle));
    GIVES(CUDA_SUCCESS, cuMemAddressFree(at, PAGE));
}

static void questions_to_a_device(void) {
    begin();
    int value;
    CUdevice device;
    CUmemoryPool pool;
    cuuint64_t zero = 0, one = 1;
    INVALID(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0));
    BREAKS(CUDA_ERROR_INVALID_DEVICE,
           cuDeviceGetByPCIBusId(&device, "0000:ff:1f.7"));
    BREAKS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 99));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    INVALID(
        cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &one));
    INVALID(
        cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
    INVALID(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &one));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    end();
}

static const Case cases[] = {
    {"a kernel stores", a_kernel_stores, 0, NULL},
    {"images and launches", images_and_launches, 0, NULL},
    {"entries and texts", entries_and_texts, 0, NULL},
    {"unloaded under a launch", unloaded_under_a_launch, UNDEFINED, NULL},
    {"launched in another context", launched_in_another_context, 0, NULL},
    {"a store where nothing is mapped", a_store_where_nothing_is, 0, NULL},
    {"a store where only reading is allowed",
     a_store_where_only_reading_is_allowed, 0, NULL},
    {"questions to a device", questions_to_a_device, 0, NULL},
};

int main(void) { return RUN(cases); }

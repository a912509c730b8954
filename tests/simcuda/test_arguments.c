/* Missing arguments and arguments out of range: the call rejects each of
 * them and does not crash. */
#include "rules.h"

#define NONE ((void *)0)

static void of_devices(void) {
    begin();
    int value;
    char text[32];
    CUdevice device;
    unsigned flags;
    INVALID(cuDriverGetVersion(NONE));
    INVALID(cuDeviceGetCount(NONE));
    INVALID(cuDeviceGet(NONE, 0));
    INVALID(cuDeviceGetName(NONE, 10, 0));
    INVALID(cuDeviceGetName(text, 0, 0));
    INVALID(cuDeviceTotalMem(NONE, 0));
    INVALID(cuDeviceGetUuid(NONE, 0));
    INVALID(cuDeviceGetUuid_v2(NONE, 0));
    INVALID(cuDeviceGetPCIBusId(text, 0, 0));
    INVALID(cuDeviceGetByPCIBusId(NONE, "0000:17:00.0"));
    INVALID(cuDeviceGetByPCIBusId(&device, "nowhere"));
    INVALID(cuDeviceCanAccessPeer(NONE, 0, 1));
    INVALID(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)9, 0, 1));
    BREAKS(CUDA_ERROR_INVALID_DEVICE,
           cuDeviceGetP2PAttribute(
               &value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
    INVALID(cuDevicePrimaryCtxRetain(NONE, 0));
    INVALID(cuDevicePrimaryCtxSetFlags(0, 0x8000));
    INVALID(cuDevicePrimaryCtxGetState(0, &flags, NONE));
    GIVES(CUDA_SUCCESS, cuMemGetInfo(NONE, NONE));
    void *found;
    INVALID(cuGetProcAddress(NONE, &found, 12090, 0, NONE));
    end();
}

static void of_contexts(void) {
    begin();
    CUcontext made;
    INVALID(cuCtxCreate(NONE, 0, 0));
    INVALID(cuCtxCreate(&made, 0x8000, 0));
    INVALID(cuCtxGetCurrent(NONE));
    INVALID(cuCtxGetDevice(NONE));
    INVALID(cuCtxGetFlags(NONE));
    INVALID(cuCtxGetApiVersion(NULL, NONE));
    INVALID(cuCtxGetId(NULL, NONE));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(NULL, 0));
    int pushed = 0;
    while (pushed < 100 && cuCtxPushCurrent(context) == CUDA_SUCCESS)
        pushed++;
    /* The documentation does not state the depth of the stack. */
    SHOWS(pushed == 63);
    broken++;
    if (SIMULATED)
        INVALID(cuCtxCreate(&made, 0, 0));
    while (pushed-- > 0)
        OK(cuCtxPopCurrent(NULL));
    end();
}

static void of_streams(void) {
    begin();
    CUstream stream;
    CUevent event, far;
    CUstreamCaptureStatus status;
    CUcontext other;
    unsigned flags;
    float time;
    INVALID(cuStreamCreate(NONE, 0));
    OK(cuStreamCreate(&stream, 0));
    INVALID(cuStreamGetPriority(stream, NONE));
    INVALID(cuStreamGetFlags(stream, NONE));
    INVALID(cuStreamGetId(stream, NONE));
    INVALID(cuStreamGetCtx(stream, NONE));
    INVALID(cuStreamGetDevice(stream, NONE));
    INVALID(cuStreamIsCapturing(stream, NONE));
    BREAKS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, NONE));
    INVALID(cuStreamGetCaptureInfo(stream, NONE, NONE, NONE, NONE, NONE));
    INVALID(cuLaunchHostFunc(stream, NULL, NONE));
    INVALID(cuStreamAddCallback(stream, NULL, NONE, 0));
    OK(cuEventCreate(&event, 0));
    INVALID(cuEventCreate(NONE, 0));
    INVALID(cuEventRecordWithFlags(event, stream, 2));
    OK(cuEventRecord(event, stream));
    INVALID(cuStreamWaitEvent(stream, event, 2));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(NONE, event, event));
    OK(cuCtxCreate(&other, 0, 0));
    OK(cuEventCreate(&far, 0));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&time, event, far));
    OK(cuCtxDestroy(other));
    /* The legacy stream cannot be part of a capture. */
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, stream));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
           cuStreamWaitEvent(NULL, event, 0));
    OK(cuStreamIsCapturing(stream, &status));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
           cuStreamIsCapturing(NULL, &status));
    OK(cuStreamDestroy(stream));
    OK(cuEventDestroy(event));
    OK(cuCtxSetCurrent(NULL));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuStreamGetCtx(NULL, &other));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuStreamGetFlags(NULL, &flags));
    end();
}

static void of_graphs(void) {
    begin();
    CUgraph graph;
    CUgraphExec exec;
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamEndCapture(stream, &graph));
    INVALID(cuGraphGetNodes(graph, NONE, NONE));
    INVALID(cuGraphInstantiate(NONE, graph, 0));
    INVALID(cuGraphInstantiate(&exec, graph, 16));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
    end();
}

static void nothing_allocated_in_a_capture(void) {
    begin();
    CUdeviceptr a;
    CUgraph graph;
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cuMemAllocAsync(&a, 16, stream));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
           cuStreamEndCapture(stream, &graph));
    OK(cuStreamDestroy(stream));
    end();
}

static void of_memory(void) {
    begin();
    CUdeviceptr a, base;
    static char own[64];
    size_t size;
    unsigned flags;
    int value = 1;
    void *data[] = {NULL};
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_CONTEXT;
    OK(cuMemAlloc(&a, 100));
    INVALID(cuMemHostRegister(NONE, 10, 0));
    INVALID(cuMemHostRegister(own, 0, 0));
    INVALID(cuMemHostRegister((void *)a, 10, 0));
    INVALID(cuMemHostGetFlags(&flags, own));
    INVALID(cuPointerGetAttribute(NONE, which, a));
    INVALID(cuPointerGetAttributes(0, &which, data, a));
    INVALID(cuPointerGetAttributes(1, &which, data, a));
    OK(cuPointerSetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    INVALID(cuPointerSetAttribute(&value, which, a));
    INVALID(cuIpcGetMemHandle(NONE, a));
    CUipcEventHandle nothing;
    CUevent event;
    memset(&nothing, 0, sizeof nothing);
    BREAKS(CUDA_ERROR_MAP_FAILED, cuIpcOpenEventHandle(&event, nothing));
    OK(cuMemFree(a));
    OK(cuMemAddressReserve(&a, PAGE, 0, 0, 0));
    BREAKS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, a));
    OK(cuMemAddressFree(a, PAGE));
    end();
}

static void of_managed(void) {
    begin();
    CUdeviceptr a;
    int values[2];
    void *data[] = {values};
    size_t sizes[] = {sizeof(int)};
    CUmem_range_attribute which[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY};
    CUmemLocation wrong = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 9};
    OK(cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_GLOBAL));
    INVALID(cuMemPrefetchAsync_v2(a, 100, wrong, 0, NULL));
    wrong.id = 0;
    INVALID(cuMemAdvise_v2(a, 100, CU_MEM_ADVISE_SET_ACCESSED_BY, wrong));
    wrong.type = (CUmemLocationType)77;
    INVALID(
        cuMemAdvise_v2(a, 100, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, wrong));
    OK(cuMemAdvise(a, 100, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    OK(cuMemRangeGetAttributes(data, sizes, which, 1, a, 100));
    EXPECT(values[0] == 1);
    INVALID(cuMemRangeGetAttributes(NONE, sizes, which, 1, a, 100));
    INVALID(cuMemRangeGetAttribute(values, 3, which[0], a, 100));
    INVALID(
        cuMemRangeGetAttribute(values, 4, (CUmem_range_attribute)77, a, 100));
    OK(cuMemFree(a));
    end();
}

static void not_concurrent(void) {
    begin();
    CUdeviceptr a;
    OK(cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_GLOBAL));
    BREAKS(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync(a, 100, 0, NULL));
    OK(cuMemPrefetchAsync(a, 100, CU_DEVICE_CPU, NULL));
    OK(cuMemFree(a));
    end();
}

static void of_pools(void) {
    begin();
    CUmemoryPool pool;
    CUmemPoolProps props;
    CUmemAccess_flags flags;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_HOST, 0},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    INVALID(cuDeviceGetDefaultMemPool(NONE, 0));
    INVALID(cuDeviceGetMemPool(NONE, 0));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    INVALID(
        cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NONE));
    INVALID(cuMemPoolSetAccess(pool, NONE, 1));
    BREAKS(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolSetAccess(pool, &access, 1));
    INVALID(cuMemPoolGetAccess(NONE, pool, &access.location));
    GIVES(CUDA_SUCCESS, cuMemPoolGetAccess(&flags, pool, &access.location));
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.reserved[3] = 1;
    INVALID(cuMemPoolCreate(&pool, &props));
    end();
}

static void pools_without_peers(void) {
    begin();
    CUmemoryPool pool;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    INVALID(cuMemPoolSetAccess(pool, &access, 1));
    end();
}

static void of_virtual_memory(void) {
    begin();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle, none;
    CUmemAllocationProp prop, wrong;
    CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    unsigned long long flags;
    size_t size;
    int fd;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wrong = prop;
    wrong.win32HandleMetaData = &wrong;
    INVALID(cuMemCreate(&handle, PAGE, &wrong, 0));
    wrong = prop;
    wrong.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    INVALID(cuMemCreate(&handle, PAGE, &wrong, 0));
    INVALID(cuMemGetAllocationGranularity(NONE, &prop,
                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(&handle, PAGE, &prop, 0));
    INVALID(cuMemGetAllocationPropertiesFromHandle(NONE, handle));
    OK(cuMemAddressReserve(&at, PAGE, 0, 0, 0));
    INVALID(cuMemSetAccess(at, PAGE, NONE, 1));
    INVALID(cuMemUnmap(at, 0));
    INVALID(cuMemUnmap(0x1000, PAGE));
    INVALID(cuMemGetAccess(&flags, &host, at));
    INVALID(cuMemRetainAllocationHandle(&none, (void *)at));
    INVALID(
        cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_WIN32, 0));
    INVALID(
        cuMemImportFromShareableHandle(&none, NONE, CU_MEM_HANDLE_TYPE_WIN32));
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    /* No device has access. */
    BREAKS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(NULL, &size, at + 5));
    CUmemAccessDesc own = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemSetAccess(at, PAGE, &own, 1));
    OK(cuMemGetAddressRange(NULL, &size, at + 5));
    EXPECT(size == PAGE);
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemAddressFree(at, PAGE));
    OK(cuMemRelease(handle));
    end();
}

static void virtual_memory_without_peers(void) {
    begin();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    CUmemAccessDesc far = {{CU_MEM_LOCATION_TYPE_DEVICE, 1},
                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuMemAddressReserve(&at, PAGE, 0, 0, 0));
    OK(cuMemCreate(&handle, PAGE, &prop, 0));
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    INVALID(cuMemSetAccess(at, PAGE, &far, 1));
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemAddressFree(at, PAGE));
    OK(cuMemRelease(handle));
    end();
}

static void of_modules(void) {
    begin();
    CUmodule module;
    CUfunction function;
    INVALID(cuModuleLoadData(&module, NONE));
    INVALID(cuModuleLoadDataEx(&module, "", 1, NONE, NONE));
    OK(cuModuleLoadData(&module, ".version 7.0\n.target sm_70\n"));
    INVALID(cuModuleGetFunction(&function, module, NONE));
    BREAKS(CUDA_ERROR_INVALID_HANDLE,
           cuModuleGetFunction(&function, NULL, "name"));
    OK(cuModuleUnload(module));
    end();
}

static const Case cases[] = {
    {"of devices", of_devices, 0, NULL},
    {"of contexts", of_contexts, 0, NULL},
    {"of streams and events", of_streams, 0, NULL},
    {"of graphs", of_graphs, 0, NULL},
    {"nothing is allocated in a capture", nothing_allocated_in_a_capture, 0,
     "SIMCUDA_DRIVER_VERSION=11020"},
    {"of memory", of_memory, 0, NULL},
    {"of managed memory", of_managed, 0, NULL},
    {"managed memory that is not concurrent", not_concurrent, 0,
     "SIMCUDA_WITHOUT=concurrent"},
    {"of pools", of_pools, 0, NULL},
    {"pools without peers", pools_without_peers, 0, "SIMCUDA_WITHOUT=peer"},
    {"of virtual memory", of_virtual_memory, 0, NULL},
    {"virtual memory without peers", virtual_memory_without_peers, 0,
     "SIMCUDA_WITHOUT=peer"},
    {"of modules", of_modules, 0, NULL},
};

int main(void) { return RUN(cases); }

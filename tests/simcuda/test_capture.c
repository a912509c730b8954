/* Stream capture: what it records, and what it forbids in each mode. */
#include "rules.h"

enum {
    GLOBAL = CU_STREAM_CAPTURE_MODE_GLOBAL,
    LOCAL = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    RELAXED = CU_STREAM_CAPTURE_MODE_RELAXED,
    SIZE = 4096,
};

static CUstream stream, second;
static CUevent event;
static CUdeviceptr a;

static void prepare(void) {
    begin();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuMemAlloc(&a, SIZE));
    OK(cuMemsetD8(a, 0, SIZE));
    OK(cuCtxSynchronize());
}

static void finish(void) {
    OK(cuMemFree(a));
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(second));
    OK(cuStreamDestroy(stream));
    end();
}

static unsigned char first_byte(void) {
    unsigned char byte;
    OK(cuMemcpyDtoH(&byte, a, 1));
    return byte;
}

static void start(int mode) {
    OK(cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
}

static void ends_with(CUresult code) {
    CUgraph graph = (CUgraph)(uintptr_t)1;
    if (code == CUDA_SUCCESS) {
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphDestroy(graph));
        return;
    }
    BREAKS(code, cuStreamEndCapture(stream, &graph));
    EXPECT(graph == NULL);
}

/* The capture was not disturbed. */
static void goes_on(void) {
    CUgraph graph = NULL;
    GIVES(CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
    EXPECT_NOT(graph == NULL);
    CLEAN(cuGraphDestroy(graph));
}

static void a_graph_runs_again(void) {
    prepare();
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    size_t nodes = 0;
    start(GLOBAL);
    OK(cuMemsetD8Async(a, 1, SIZE, stream));
    OK(cuMemcpyDtoDAsync(a + 8, a, 8, stream));
    OK(cuStreamIsCapturing(stream, &status));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    EXPECT(nodes == 2);
    EXPECT(first_byte() == 0);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < 3; i++) {
        OK(cuMemsetD8Async(a, 9, SIZE, stream));
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        EXPECT(first_byte() == 1);
    }
    OK(cuGraphExecDestroy(exec));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuGraphExecDestroy(exec));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
    INVALID(cuGraphDestroy(NULL));
    INVALID(cuGraphLaunch(exec, stream));
    finish();
}

/* A fork and a join. Without an edge between them, two writes may run in
 * either order. */
static void edges_are_the_order(void) {
    prepare();
    int late = 0;
    for (int ordered = 0; ordered < 2; ordered++) {
        CUgraph graph;
        CUgraphExec exec;
        CUevent joined;
        OK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
        start(GLOBAL);
        OK(cuEventRecord(event, stream));
        OK(cuStreamWaitEvent(second, event, 0));
        OK(cuMemsetD8Async(a, 1, SIZE, second));
        OK(cuEventRecord(joined, second));
        if (ordered)
            OK(cuStreamWaitEvent(stream, joined, 0));
        OK(cuMemsetD8Async(a, 2, SIZE, stream));
        if (!ordered)
            OK(cuStreamWaitEvent(stream, joined, 0));
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphInstantiate(&exec, graph, 0));
        for (int i = 0; i < 40; i++) {
            OK(cuGraphLaunch(exec, stream));
            OK(cuStreamSynchronize(stream));
            unsigned char byte = first_byte();
            EXPECT(byte == 2 || !ordered);
            late += byte == 1;
        }
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));
        OK(cuEventDestroy(joined));
    }
    SHOWS(late > 0 && late < 40);
    finish();
}

/* In relaxed mode a thread may make unsafe calls, except those that
 * conflict with the capture. */
static void relaxed_thread(void) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUdeviceptr b;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuMemAlloc(&b, 16));
    OK(cuMemFree(b));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
}

static void *unsafe_refused(void *unused) {
    CUdeviceptr b;
    OK(cuCtxSetCurrent(context));
    relaxed_thread();
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&b, 16));
    return unused;
}

static void *unsafe_allowed(void *unused) {
    CUdeviceptr b;
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&b, 16));
    OK(cuMemFree(b));
    return unused;
}

static void modes(void) {
    prepare();
    CUdeviceptr b;
    start(GLOBAL);
    relaxed_thread();
    ends_with(CUDA_SUCCESS);
    start(GLOBAL);
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&b, 16));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
           cuMemsetD8Async(a, 1, SIZE, stream));
    ends_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    start(GLOBAL);
    on_thread(unsafe_refused, NULL);
    ends_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    start(LOCAL);
    on_thread(unsafe_allowed, NULL);
    ends_with(CUDA_SUCCESS);
    start(LOCAL);
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemFree(a));
    ends_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    start(RELAXED);
    OK(cuMemAlloc(&b, 16));
    on_thread(unsafe_allowed, NULL);
    OK(cuMemFree(b));
    ends_with(CUDA_SUCCESS);
    CUstreamCaptureMode none = (CUstreamCaptureMode)3;
    INVALID(cuThreadExchangeStreamCaptureMode(&none));
    INVALID(cuStreamBeginCapture(stream, none));
    finish();
}

static void each_unsafe_call(void) {
    prepare();
    void *host;
    CUdeviceptr b;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    char byte;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuEventRecord(event, second));
    OK(cuStreamSynchronize(second));
#define UNSAFE(call)                                     \
    start(GLOBAL);                                       \
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call); \
    ends_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
#define ALLOWED(call)          \
    start(GLOBAL);             \
    GIVES(CUDA_SUCCESS, call); \
    goes_on()
    UNSAFE(cuEventQuery(event));
    UNSAFE(cuEventSynchronize(event));
    UNSAFE(cuMemHostAlloc(&host, 16, 0));
    UNSAFE(cuMemAllocManaged(&b, 16, CU_MEM_ATTACH_GLOBAL));
    ALLOWED(cuMemcpyDtoH(&byte, a, 1));
    ALLOWED(cuMemsetD8(a, 1, 1));
    ALLOWED(cuMemAddressReserve(&b, PAGE, 0, 0, 0));
    CLEAN(cuMemAddressFree(b, PAGE));
    ALLOWED(cuMemCreate(&handle, PAGE, &prop, 0));
    CLEAN(cuMemRelease(handle));
    UNSAFE(cuStreamSynchronize(stream));
    UNSAFE(cuStreamQuery(stream));
    UNSAFE(cuCtxSynchronize());
    ALLOWED(cuMemcpyDtoHAsync(&byte, a, 1, stream));
    finish();
}

/* The other calls that allocate or free memory, or change the access to it. */
static void calls_for_others(void) {
    prepare();
    CUdeviceptr base;
    CUevent shared;
    CUipcEventHandle event_handle;
    CUipcMemHandle memory_handle;
    CUmemoryPool pool;
    CUmemGenericAllocationHandle handle, imported;
    CUmemAllocationProp prop;
    CUmemAccessDesc own = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    int fd;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMemAlloc(&base, PAGE));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuEventCreate(&shared, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    OK(cuMemCreate(&handle, PAGE, &prop, 0));
    OK(cuMemExportToShareableHandle(
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ALLOWED(cuIpcGetMemHandle(&memory_handle, base));
    ALLOWED(cuIpcGetEventHandle(&event_handle, shared));
    UNSAFE(cuMemPoolSetAccess(pool, &own, 1));
    ALLOWED(cuMemImportFromShareableHandle(
        &imported, (void *)(intptr_t)fd,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CLEAN(cuMemRelease(imported));
    close(fd);
    OK(cuMemRelease(handle));
    OK(cuEventDestroy(shared));
    OK(cuMemFree(base));
    finish();
}

static void contexts_and_captures(void) {
    prepare();
    CUcontext made, other;
    OK(cuCtxCreate(&made, 0, 1));
    OK(cuCtxPopCurrent(NULL));
    UNSAFE(cuDevicePrimaryCtxRetain(&other, 1));
    UNSAFE(cuCtxEnablePeerAccess(made, 0));
    UNSAFE(cuCtxDestroy(made));
    UNSAFE(cuCtxCreate(&other, 0, 0));
    OK(cuCtxDestroy(made));
    finish();
}

/* A graph has no node for a prefetch. */
static void prefetch_in_a_capture(void) {
    prepare();
    CUdeviceptr managed;
    OK(cuMemAllocManaged(&managed, PAGE, CU_MEM_ATTACH_GLOBAL));
    UNSAFE(cuMemPrefetchAsync(managed, PAGE, 0, stream));
    OK(cuMemFree(managed));
    finish();
}

static void *ends_elsewhere(void *unused) {
    CUgraph graph;
    OK(cuCtxSetCurrent(context));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
           cuStreamEndCapture(stream, &graph));
    return unused;
}

static void event_of_a_capture(void) {
    prepare();
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(cuEventRecord(event, stream));
    BREAKS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event));
    ends_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    finish();
}

static void forks_and_joins(void) {
    prepare();
    CUgraph graph;
    CUstream blocking;
    /* The fork is not joined. */
    start(GLOBAL);
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuMemsetD8Async(a, 1, SIZE, second));
    ends_with(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    /* The capture is ended in the wrong stream or thread. The wrong thread
     * ends it too. */
    start(GLOBAL);
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(second, event, 0));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
           cuStreamEndCapture(second, &graph));
    ends_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    start(GLOBAL);
    on_thread(ends_elsewhere, NULL);
    BREAKS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
    /* An event from outside the capture, and an event of another capture. */
    OK(cuEventRecord(event, second));
    start(GLOBAL);
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
           cuStreamWaitEvent(stream, event, 0));
    ends_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    start(GLOBAL);
    OK(cuStreamBeginCapture(second, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(event, second));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_MERGE,
           cuStreamWaitEvent(stream, event, 0));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
           cuStreamEndCapture(second, &graph));
    ends_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    /* After the end of a capture its events still belong to it. */
    float milliseconds = 0;
    BREAKS(CUDA_ERROR_INVALID_VALUE, cuEventQuery(event));
    BREAKS(CUDA_ERROR_INVALID_VALUE,
           cuEventElapsedTime(&milliseconds, event, event));
    BREAKS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(second, event, 0));
    OK(cuEventRecord(event, second));
    OK(cuEventSynchronize(event));
    /* The legacy stream. */
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUstreamCaptureStatus status;
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
           cuStreamIsCapturing(NULL, &status));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
           cuStreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL));
    OK(cuStreamIsCapturing(blocking, &status));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
           cuMemsetD8Async(a, 1, SIZE, NULL));
    BREAKS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
           cuStreamEndCapture(blocking, &graph));
    OK(cuStreamDestroy(blocking));
    BREAKS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
    start(GLOBAL);
    BREAKS(CUDA_ERROR_ILLEGAL_STATE,
           cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ends_with(CUDA_SUCCESS);
    finish();
}

static size_t free_bytes(void) {
    size_t left, total;
    OK(cuMemGetInfo(&left, &total));
    return left;
}

/* Memory of a capture exists as long as a graph that can use it. */
static void memory_of_a_graph(void) {
    prepare();
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr b;
    size_t before = free_bytes();
    start(GLOBAL);
    OK(cuMemAllocAsync(&b, MEGABYTE, stream));
    OK(cuMemsetD8Async(b, 5, SIZE, stream));
    OK(cuMemcpyDtoDAsync(a, b, SIZE, stream));
    OK(cuMemFreeAsync(b, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(first_byte() == 5);
    INVALID(cuMemFreeAsync(b, stream));
    INVALID(cuMemFree(b));
    SHOWS(free_bytes() == before - MEGABYTE);
    OK(cuGraphExecDestroy(exec));
    SHOWS(free_bytes() == before);
    finish();
}

/* A graph whose memory was freed before the graph was destroyed. */
static void a_graph_outlives_memory(void) {
    begin();
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&a, SIZE));
    start(RELAXED);
    OK(cuMemsetD8Async(a, 1, SIZE, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuMemFree(a));
    OK(cuGraphLaunch(exec, stream));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    broken++;
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    end();
}

static void leak_graph(void) {
    begin();
    CUgraph graph;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    start(GLOBAL);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuStreamDestroy(stream));
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

static void leak_executable(void) {
    begin();
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    start(GLOBAL);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

static const Case cases[] = {
    {"a graph runs again", a_graph_runs_again, 0, NULL},
    {"edges are the order", edges_are_the_order, 0, NULL},
    {"modes", modes, 0, NULL},
    {"each unsafe call", each_unsafe_call, 0, NULL},
    {"calls for others", calls_for_others, 0, NULL},
    {"contexts and captures", contexts_and_captures, 0, NULL},
    {"prefetch in a capture", prefetch_in_a_capture, 0, NULL},
    {"an event of a capture", event_of_a_capture, 0, NULL},
    {"forks and joins", forks_and_joins, 0, NULL},
    {"memory of a graph", memory_of_a_graph, 0, NULL},
    {"a graph outlives memory", a_graph_outlives_memory, UNDEFINED, NULL},
    {"leaked graph", leak_graph, LEAKS, NULL},
    {"leaked executable graph", leak_executable, LEAKS, NULL},
};

int main(void) { return RUN(cases); }

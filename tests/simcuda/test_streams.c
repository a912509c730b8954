/* Streams and events: the order that they guarantee, and operations that
 * have no guaranteed order. */
#include "rules.h"

enum { SIZE = 4096 };

static CUdeviceptr device_bytes(unsigned char value) {
    CUdeviceptr a;
    OK(cuMemAlloc(&a, SIZE));
    OK(cuMemsetD8(a, value, SIZE));
    OK(cuCtxSynchronize());
    return a;
}

static unsigned char first_of(CUdeviceptr a) {
    unsigned char byte;
    OK(cuMemcpyDtoH(&byte, a, 1));
    return byte;
}

/* How many of several tries read old bytes while another stream writes. */
static int stale_reads(bool wait) {
    int stale = 0;
    unsigned char *host;
    CUstream writer, reader;
    CUevent written;
    CUdeviceptr a = device_bytes(0);
    OK(cuMemHostAlloc((void **)&host, SIZE, 0));
    OK(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&reader, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&written, CU_EVENT_DISABLE_TIMING));
    for (int i = 1; i <= 100; i++) {
        OK(cuMemsetD8Async(a, (unsigned char)i, SIZE, writer));
        OK(cuEventRecord(written, writer));
        if (wait)
            OK(cuStreamWaitEvent(reader, written, 0));
        OK(cuMemcpyDtoHAsync(host, a, SIZE, reader));
        OK(cuStreamSynchronize(reader));
        stale += host[0] != i;
        OK(cuStreamSynchronize(writer));
    }
    OK(cuEventDestroy(written));
    OK(cuStreamDestroy(reader));
    OK(cuStreamDestroy(writer));
    OK(cuMemFreeHost(host));
    OK(cuMemFree(a));
    return stale;
}

static void a_missing_wait_shows(void) {
    begin();
    EXPECT(stale_reads(true) == 0);
    SHOWS(stale_reads(false) > 0);
    end();
}

/* A copy reads pinned memory when the copy runs. It reads pageable memory
 * when the call is made. */
static void sources_are_read_late(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUstream stream;
    unsigned char *pinned, pageable[SIZE];
    CUdeviceptr a = device_bytes(0), b = device_bytes(0);
    OK(cuMemHostAlloc((void **)&pinned, SIZE, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    memset(pinned, 1, SIZE);
    memset(pageable, 1, SIZE);
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuMemcpyHtoDAsync(a, pinned, SIZE, stream));
    OK(cuMemcpyHtoDAsync(b, pageable, SIZE, stream));
    memset(pinned, 2, SIZE);
    memset(pageable, 2, SIZE);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    EXPECT(first_of(a) == 2 && first_of(b) == 1);
    OK(cuStreamDestroy(stream));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    end();
}

/* The legacy stream and blocking streams wait for each other. Other streams
 * do not. */
static void the_legacy_stream(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUstream blocking, free_one;
    CUdeviceptr a = device_bytes(0);
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&free_one, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(blocking, gate_pass, &gate));
    OK(cuMemsetD8Async(a, 1, SIZE, CU_STREAM_LEGACY));
    OK(cuMemsetD8Async(a, 2, SIZE, free_one));
    OK(cuStreamSynchronize(free_one));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
    gate_open(&gate);
    OK(cuStreamSynchronize(NULL));
    EXPECT(first_of(a) == 1);
    OK(cuStreamDestroy(blocking));
    OK(cuStreamDestroy(free_one));
    OK(cuMemFree(a));
    end();
}

static void *on_own_stream(void *a) {
    OK(cuCtxSetCurrent(context));
    OK(cuStreamQuery(CU_STREAM_PER_THREAD));
    OK(cuMemsetD8Async(*(CUdeviceptr *)a, 3, SIZE, CU_STREAM_PER_THREAD));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

static void each_thread_has_a_stream(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUdeviceptr a = device_bytes(0);
    OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, gate_pass, &gate));
    on_thread(on_own_stream, &a);
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_PER_THREAD));
    gate_open(&gate);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT(first_of(a) == 3);
    OK(cuMemFree(a));
    end();
}

/* Fills, and copies on a device, do not wait, although their names do not
 * say so. */
static void plain_calls_that_do_not_wait(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUdeviceptr a = device_bytes(0), b = device_bytes(1);
    OK(cuLaunchHostFunc(NULL, gate_pass, &gate));
    OK(cuMemsetD8(a, 7, SIZE));
    OK(cuMemcpyDtoD(b, a, SIZE));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    gate_open(&gate);
    EXPECT(first_of(b) == 7);
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    end();
}

static void event_rules(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUevent event, other, untimed;
    CUstream stream;
    float milliseconds;
    INVALID(cuEventCreate(&event, 8));
    INVALID(cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&other, 0));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventQuery(event));
    BREAKS(CUDA_ERROR_INVALID_HANDLE,
           cuEventElapsedTime(&milliseconds, event, other));
    BREAKS(CUDA_SUCCESS, cuStreamWaitEvent(stream, event, 0));
    OK(cuEventRecord(event, stream));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuEventRecord(other, stream));
    OK(cuEventRecord(untimed, stream));
    GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(other));
    GIVES(CUDA_ERROR_NOT_READY,
          cuEventElapsedTime(&milliseconds, event, other));
    gate_open(&gate);
    OK(cuEventSynchronize(untimed));
    OK(cuEventElapsedTime(&milliseconds, event, other));
    EXPECT(milliseconds >= 0);
    BREAKS(CUDA_ERROR_INVALID_HANDLE,
           cuEventElapsedTime(&milliseconds, event, untimed));
    BREAKS(CUDA_ERROR_ILLEGAL_STATE,
           cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    BREAKS(CUDA_ERROR_ILLEGAL_STATE,
           cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    OK(cuEventDestroy(event));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(NULL));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(NULL));
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(event));
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, stream));
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuEventQuery((CUevent)stream));
    OK(cuEventDestroy(other));
    OK(cuEventDestroy(untimed));
    OK(cuStreamDestroy(stream));
    end();
}

static void stream_rules(void) {
    begin();
    CUstream stream;
    CUcontext of;
    int priority, least, greatest;
    unsigned flags;
    INVALID(cuStreamCreate(&stream, 2));
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    EXPECT(least == 0 && greatest < 0);
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -99));
    OK(cuStreamGetPriority(stream, &priority));
    EXPECT(priority == greatest);
    OK(cuStreamGetFlags(stream, &flags));
    EXPECT(flags == CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetCtx(stream, &of));
    EXPECT(of == context);
    OK(cuStreamDestroy(stream));
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(NULL));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(CU_STREAM_PER_THREAD));
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery((CUstream)(uintptr_t)0x5555));
    end();
}

/* The driver chooses the error code. The context continues to work. */
static void a_destroyed_stream(void) {
    begin();
    CUstream stream, other;
    const char *answer = getenv("SIMCUDA_STALE_STREAM");
    int code = answer == NULL ? CUDA_ERROR_INVALID_HANDLE : atoi(answer);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamDestroy(stream));
    OPEN(code, cuStreamQuery(stream));
    OPEN(code, cuStreamSynchronize(stream));
    OK(cuStreamSynchronize(other));
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy(other));
    end();
}

/* The legacy stream waits for work on the default stream of one thread. The
 * default stream of another thread waits for the legacy stream after that. */
static Gate thread_gate = GATE_INIT;

static void *queue_on_own_stream(void *a) {
    OK(cuCtxSetCurrent(context));
    OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, gate_pass, &thread_gate));
    OK(cuMemsetD8Async(*(CUdeviceptr *)a, 4, SIZE, CU_STREAM_PER_THREAD));
    return NULL;
}

static void the_legacy_stream_waits_for_threads(void) {
    begin();
    CUevent passed;
    CUdeviceptr a = device_bytes(0);
    OK(cuEventCreate(&passed, CU_EVENT_DISABLE_TIMING));
    on_thread(queue_on_own_stream, &a);
    OK(cuStreamQuery(CU_STREAM_PER_THREAD));
    OK(cuEventRecord(passed, CU_STREAM_LEGACY));
    GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(passed));
    OK(cuMemsetD8Async(a, 5, SIZE, CU_STREAM_PER_THREAD));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_PER_THREAD));
    gate_open(&thread_gate);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    OK(cuEventQuery(passed));
    EXPECT(first_of(a) == 5);
    OK(cuEventDestroy(passed));
    OK(cuMemFree(a));
    end();
}

static void events_of_another_context(void) {
    begin();
    CUcontext made;
    CUevent event;
    CUstream stream, here;
    OK(cuStreamCreate(&here, CU_STREAM_NON_BLOCKING));
    OK(cuCtxCreate(&made, 0, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamCreate(&stream, 0));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, here));
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(here, event, 0));
    OK(cuStreamSynchronize(here));
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(stream));
    OK(cuCtxDestroy(made));
    OK(cuStreamDestroy(here));
    end();
}

static void calls_driver(void *result) {
    CUdeviceptr a;
    *(CUresult *)result = cuMemAlloc(&a, 16);
}

static void functions_of_the_host_stay_out(void) {
    begin();
    CUresult result = CUDA_SUCCESS;
    OK(cuLaunchHostFunc(NULL, calls_driver, &result));
    OK(cuStreamSynchronize(NULL));
    EXPECT(result == CUDA_ERROR_NOT_PERMITTED);
    broken++;
    end();
}

/* Work in a destroyed stream still runs. */
static void destroyed_with_work(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUstream stream;
    CUevent event;
    CUdeviceptr a = device_bytes(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuMemsetD8Async(a, 9, SIZE, stream));
    OK(cuEventRecord(event, stream));
    OK(cuStreamDestroy(stream));
    gate_open(&gate);
    OK(cuEventSynchronize(event));
    EXPECT(first_of(a) == 9);
    OK(cuEventDestroy(event));
    OK(cuMemFree(a));
    end();
}

static void *busy(void *number) {
    unsigned char value = (unsigned char)(uintptr_t)number, *host;
    CUstream stream;
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc((void **)&host, SIZE, 0));
    for (int i = 0; i < 50; i++) {
        CUdeviceptr one, two;
        OK(cuMemAllocAsync(&one, SIZE, stream));
        OK(cuMemAlloc(&two, SIZE));
        OK(cuMemsetD8Async(one, value, SIZE, stream));
        OK(cuMemcpyDtoDAsync(two, one, SIZE, stream));
        OK(cuMemFreeAsync(one, stream));
        OK(cuMemcpyDtoHAsync(host, two, SIZE, stream));
        OK(cuStreamSynchronize(stream));
        EXPECT(host[0] == value && host[SIZE - 1] == value);
        OK(cuMemFree(two));
    }
    OK(cuMemFreeHost(host));
    OK(cuStreamDestroy(stream));
    return NULL;
}

static void many_threads(void) {
    begin();
    pthread_t threads[6];
    for (uintptr_t i = 0; i < 6; i++)
        EXPECT(pthread_create(&threads[i], NULL, busy, (void *)(i + 1)) == 0);
    for (int i = 0; i < 6; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    end();
}

static void leak_stream(void) {
    begin();
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

static void leak_event(void) {
    begin();
    CUevent event;
    OK(cuEventCreate(&event, 0));
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

static const Case cases[] = {
    {"a missing wait shows", a_missing_wait_shows, 0, NULL},
    {"a missing wait shows, other seed", a_missing_wait_shows, 0,
     "SIMCUDA_SEED=7"},
    {"sources are read late", sources_are_read_late, 0, NULL},
    {"the legacy stream", the_legacy_stream, 0, NULL},
    {"each thread has a stream", each_thread_has_a_stream, 0, NULL},
    {"plain calls that do not wait", plain_calls_that_do_not_wait, 0, NULL},
    {"event rules", event_rules, 0, NULL},
    {"stream rules", stream_rules, 0, NULL},
    {"a destroyed stream", a_destroyed_stream, 0, NULL},
    {"a destroyed stream, the other answer", a_destroyed_stream, UNDEFINED,
     "SIMCUDA_STALE_STREAM=709"},
    {"the legacy stream waits for threads", the_legacy_stream_waits_for_threads,
     0, NULL},
    {"events of another context", events_of_another_context, 0, NULL},
    {"functions of the host", functions_of_the_host_stay_out, 0, NULL},
    {"destroyed with work", destroyed_with_work, 0, NULL},
    {"many threads", many_threads, 0, "SIMCUDA_JITTER_US=20"},
    {"leaked stream", leak_stream, LEAKS, NULL},
    {"leaked event", leak_event, LEAKS, NULL},
};

int main(void) { return RUN(cases); }

/* Initialisation, devices and contexts. */
#include "rules.h"

static void nothing_before_init(void) {
    int count, version;
    CUdeviceptr a;
    OK(cuDriverGetVersion(&version));
    EXPECT(version == 12090);
    BREAKS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    BREAKS(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&a, 16));
    INVALID(cuInit(1));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    EXPECT(count == 2);
}

static void no_device(void) { GIVES(CUDA_ERROR_NO_DEVICE, cuInit(0)); }

static void chosen_error(void) {
    GIVES(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, cuInit(0));
}

static void devices_are_as_chosen(void) {
    int count, value;
    size_t bytes;
    char name[64], address[32];
    CUdevice device;
    CUuuid one, two;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    EXPECT(count == 3);
    OK(cuDeviceTotalMem(&bytes, 0));
    EXPECT(bytes == (size_t)16 << 30);
    OK(cuDeviceTotalMem(&bytes, 2));
    EXPECT(bytes == (size_t)4 << 30);
    OK(cuDeviceGetName(name, sizeof name, 1));
    EXPECT(strcmp(name, "Card") == 0);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0));
    EXPECT(value == 0);
    OK(cuDeviceGetAttribute(
        &value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    EXPECT(value == 1);
    OK(cuDeviceGetUuid_v2(&one, 0));
    OK(cuDeviceGetUuid_v2(&two, 1));
    EXPECT(memcmp(&one, &two, sizeof one) != 0);
    OK(cuDeviceGetPCIBusId(address, sizeof address, 2));
    OK(cuDeviceGetByPCIBusId(&device, address));
    EXPECT(device == 2);
    BREAKS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 3));
    BREAKS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    BREAKS(CUDA_ERROR_INVALID_DEVICE, cuDeviceTotalMem(&bytes, 3));
    BREAKS(CUDA_ERROR_INVALID_DEVICE,
           cuDeviceGetByPCIBusId(&device, "0000:99:00.0"));
    INVALID(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0));
}

static void some_are_visible(void) {
    int count;
    size_t bytes;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    EXPECT(count == 2);
    OK(cuDeviceTotalMem(&bytes, 0));
    EXPECT(bytes == (size_t)3 << 30);
    OK(cuDeviceTotalMem(&bytes, 1));
    EXPECT(bytes == (size_t)1 << 30);
}

static void *without_context(void *unused) {
    CUdeviceptr a;
    CUcontext current = context;
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == NULL);
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&a, 16));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(NULL));
    return unused;
}

static void current_is_of_a_thread(void) {
    begin();
    on_thread(without_context, NULL);
    end();
}

static void the_stack(void) {
    begin();
    CUcontext made, current, primary;
    CUdevice device;
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    EXPECT(primary == context);
    OK(cuCtxCreate(&made, 0, 1));
    OK(cuCtxGetDevice(&device));
    EXPECT(device == 1);
    OK(cuCtxPushCurrent(context));
    OK(cuCtxGetDevice(&device));
    EXPECT(device == 0);
    OK(cuCtxPopCurrent(&current));
    EXPECT(current == context);
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == made);
    OK(cuCtxDestroy(made));
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == context);
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(NULL));
    OPEN(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(made));
    OPEN(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxPushCurrent(made));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(context));
    OPEN(CUDA_ERROR_INVALID_CONTEXT,
         cuCtxSetCurrent((CUcontext)(uintptr_t)0x1234));
    OK(cuDevicePrimaryCtxRelease(0));
    end();
}

static void nothing_after_destroy(void) {
    begin();
    CUcontext made;
    CUdeviceptr a;
    CUstream stream;
    CUevent event;
    OK(cuCtxCreate(&made, 0, 0));
    OK(cuMemAlloc(&a, 16));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuCtxPushCurrent(context));
    OK(cuCtxDestroy(made));
    OPEN(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamSynchronize(stream));
    OPEN(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuEventQuery(event));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuMemFree(a));
    /* The destroyed context is the next one on the stack. */
    OK(cuCtxPopCurrent(NULL));
    BREAKS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&a, 16));
    OK(cuCtxPopCurrent(NULL));
    end();
}

static void reset_by_the_host(void) {
    begin();
    CUdeviceptr a, b;
    CUstream stream;
    unsigned flags;
    int active;
    OK(cuMemAlloc(&a, 16));
    OK(cuStreamCreate(&stream, 0));
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(!active);
    BREAKS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&b, 16));
    BREAKS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemFree(a));
    CUcontext again;
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    EXPECT(again == context);
    OPEN(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    INVALID(cuMemFree(a));
    OK(cuDevicePrimaryCtxRelease(0));
    end();
}

static void released_too_often(void) {
    begin();
    end();
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
}

static void leak_primary(void) {
    char text[256];
    begin();
    EXPECT(simcuda_leaks(text, sizeof text) == 1);
    EXPECT(strstr(text, "references to a primary context"));
}

static void leak_made(void) {
    CUcontext made;
    OK(cuInit(0));
    OK(cuCtxCreate(&made, 0, 0));
    EXPECT(simcuda_leaks(NULL, 0) == 1);
}

static void errors_have_names(void) {
    const char *text = NULL;
    OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    EXPECT(strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    EXPECT(strcmp(text, "out of memory") == 0);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
    EXPECT(text == NULL);
}

/* A stream of a green context works in the primary context. Only the second
 * form of the query returns the green context. When the green context is
 * destroyed, the stream can no longer be used. */
static void streams_of_green_contexts(void) {
    begin();
    CUdevResource all;
    CUdevResourceDesc description;
    CUgreenCtx green, of = NULL;
    CUcontext primary;
    CUstream stream;
    CUdeviceptr a;
    INVALID(cuDeviceGetDevResource(0, NULL, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    INVALID(cuDevResourceGenerateDesc(&description, NULL, 1));
    OK(cuDevResourceGenerateDesc(&description, &all, 1));
    INVALID(cuGreenCtxCreate(&green, description, 0, 0));
    OK(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    INVALID(cuGreenCtxStreamCreate(&stream, green, 0, 0));
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    BREAKS(CUDA_ERROR_NOT_SUPPORTED, cuStreamGetCtx(stream, &primary));
    INVALID(cuStreamGetCtx_v2(stream, &primary, NULL));
    OK(cuStreamGetCtx_v2(stream, &primary, &of));
    EXPECT(primary == context && of == green);
    OK(cuMemAlloc(&a, 4096));
    OK(cuMemsetD8Async(a, 1, 4096, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree(a));
    OK(cuGreenCtxDestroy(green));
    BREAKS(917, cuStreamQuery(stream));
    OK(cuStreamDestroy(stream));
    OPEN(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxDestroy(green));
    end();
}

static void an_instance_of_a_device(void) {
    begin();
    CUuuid own, whole;
    int count = 0, can = 1;
    OK(cuDeviceGetCount(&count));
    EXPECT(count == 1);
    OK(cuDeviceGetUuid_v2(&own, 0));
    OK((cuDeviceGetUuid)(&whole, 0));
    EXPECT(memcmp(&own, &whole, sizeof own) != 0);
    EXPECT(own.bytes[3] == 1 && whole.bytes[3] == 1);
    OK(cuDeviceCanAccessPeer(&can, 0, 0));
    EXPECT(can == 0);
    end();
}

static const Case cases[] = {
    {"streams of green contexts", streams_of_green_contexts, UNDEFINED, NULL},
    {"an instance of a device", an_instance_of_a_device, UNDEFINED,
     "SIMCUDA_MIG=1 SIMCUDA_DEVICES=3 "
     "CUDA_VISIBLE_DEVICES=MIG-53494d01-2222-2222-2222-222222222222"},
    {"nothing before cuInit", nothing_before_init, 0, NULL},
    {"no device", no_device, 0, "SIMCUDA_DEVICES=0"},
    {"none is visible", no_device, 0, "CUDA_VISIBLE_DEVICES=-1"},
    {"an error that was chosen", chosen_error, 0, "SIMCUDA_INIT_ERROR=803"},
    {"devices are as chosen", devices_are_as_chosen, 0,
     "SIMCUDA_DEVICES=3 SIMCUDA_BYTES=16G,8G,4G SIMCUDA_NAME=Card "
     "SIMCUDA_WITHOUT=managed"},
    {"some devices are visible", some_are_visible, 0,
     "SIMCUDA_DEVICES=4 SIMCUDA_BYTES=1G,2G,3G CUDA_VISIBLE_DEVICES=2,0"},
    {"devices are visible by UUID", some_are_visible, 0,
     "SIMCUDA_DEVICES=4 SIMCUDA_BYTES=1G,2G,3G "
     "CUDA_VISIBLE_DEVICES=GPU-53494d02,GPU-53494d00"},
    {"a context is current on one thread", current_is_of_a_thread, 0, NULL},
    {"the stack of contexts", the_stack, 0, NULL},
    {"nothing after a context's end", nothing_after_destroy, 0, NULL},
    {"the host resets the primary context", reset_by_the_host, 0, NULL},
    {"released too often", released_too_often, 0, NULL},
    {"leaked reference", leak_primary, LEAKS, NULL},
    {"leaked context", leak_made, LEAKS, NULL},
    {"errors have names", errors_have_names, 0, NULL},
};

int main(void) { return RUN(cases); }

/* Contexts: primary and created ones, the stack of each thread, limits and
 * flags. */
#include "internal.h"

#include <string.h>

static _Thread_local Context *stack[STACK_DEPTH];
static _Thread_local int depth;
static _Thread_local struct {
    Context *context;
    Stream *stream;
} own_streams[MAX_DEVICES];

Context *context_current(void) { return depth == 0 ? NULL : stack[depth - 1]; }

Context *context_find(CUcontext handle) {
    return object_find(KIND_CONTEXT, handle);
}

/* Where this thread stores its own default stream of a context. */
Stream **thread_stream(Context *context) {
    for (int i = 0; i < MAX_DEVICES; i++) {
        if (own_streams[i].context == NULL)
            own_streams[i].context = context;
        if (own_streams[i].context == context)
            return &own_streams[i].stream;
    }
    own_streams[0].context = context;
    own_streams[0].stream = NULL;
    return &own_streams[0].stream;
}

static CUcontext handle_of(const Context *context) {
    return context == NULL ? NULL
                           : (CUcontext)(uintptr_t)context->object.handle;
}

/* The first sticky error stays, and wakes all threads that wait so that
 * they see it. */
void context_spoil(Context *context, CUresult code) {
    if (context->sticky == CUDA_SUCCESS)
        context->sticky = code;
    pthread_cond_broadcast(&sim.progress);
}

/* A sticky error stays with the device until the process ends. A test that
 * goes on in the same process asks for the device of a new one. */
void contexts_recover(void) {
    for (int i = 0; i < sim.device_count; i++) {
        Context *primary = sim.devices[i].primary;
        if (primary == NULL || primary->sticky == CUDA_SUCCESS)
            continue;
        if (primary->object.alive)
            primary->recovers = true;
        else
            primary->sticky = CUDA_SUCCESS;
    }
}

static uint64_t next_number(void) {
    static uint64_t last;
    return ++last;
}

static void end_context(Context *context, bool leaked) {
    context->object.alive = false;
    objects_end_of(context);
    ranges_end_of(context, leaked);
    context->legacy = NULL;
    if (context->recovers)
        context->sticky = CUDA_SUCCESS;
    context->recovers = false;
    memset(context->peers, 0, sizeof context->peers);
    pthread_cond_broadcast(&sim.progress);
}

CUresult context_retain(Device *device, CUcontext *out, const char *call) {
    bool is_there = device->primary != NULL && device->primary->object.alive;
    CUresult code = is_there ? CUDA_SUCCESS : capture_forbids(call);
    if (code != CUDA_SUCCESS)
        return code;
    if (device->primary == NULL) {
        device->primary = object_new(KIND_CONTEXT, sizeof(Context), NULL, call);
        device->primary->device = device;
        device->primary->primary = true;
        device->primary->number = next_number();
    }
    Context *context = device->primary;
    if (context->sticky != CUDA_SUCCESS)
        return context->sticky;
    if (!context->object.alive) {
        context->object.alive = true;
        context->number = next_number();
    }
    context->flags = device->primary_flags;
    device->primary_references++;
    *out = handle_of(context);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (out == NULL)
        return INVALID("pctx is NULL");
    return context_retain(device, out, __func__);
}

CUresult context_release(Device *device, const char *call) {
    if (device->primary_references == 0)
        return fail(call, CUDA_ERROR_INVALID_CONTEXT,
                    "the primary context of device %d was not retained",
                    device->ordinal);
    CUresult code =
        device->primary_references == 1 ? capture_forbids(call) : CUDA_SUCCESS;
    if (code != CUDA_SUCCESS)
        return code;
    if (--device->primary_references == 0)
        end_context(device->primary, device->primary->sticky == CUDA_SUCCESS);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
    SIM_CALL_KEY(IS_RELEASE, REFERENCE_KEY(dev));
    Device *device;
    FIND_DEVICE(dev, &device);
    return context_release(device, __func__);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
    SIM_CALL(UNSAFE);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (device->primary != NULL && device->primary->object.alive)
        end_context(device->primary, false);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return INVALID("flags is 0x%x", flags);
    device->primary_flags = flags;
    if (device->primary != NULL)
        device->primary->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags,
                                    int *active) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (flags == NULL || active == NULL)
        return INVALID("flags or active is NULL");
    *flags = device->primary_flags;
    *active = device->primary != NULL && device->primary->object.alive;
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice dev,
                       const char *call) {
    Device *device;
    CUresult code = device_find(dev, call, &device);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL || (flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "pctx is NULL or flags is 0x%x", flags);
    if (depth == STACK_DEPTH)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "the stack of contexts has no room for one that is made");
    Context *context = object_new(KIND_CONTEXT, sizeof *context, NULL, call);
    context->device = device;
    context->number = next_number();
    context->flags = flags;
    stack[depth++] = context;
    *out = handle_of(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice dev) {
    SIM_CALL(UNSAFE);
    return create(out, flags, dev, __func__);
}

/* Contexts with execution affinity or for graphics are not simulated. */
CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params,
                        unsigned flags, CUdevice dev) {
    SIM_CALL(UNSAFE);
    if (params != NULL &&
        (params->numExecAffinityParams != 0 || params->cigParams != NULL))
        return CUDA_ERROR_NOT_SUPPORTED;
    return create(out, flags, dev, __func__);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
    SIM_CALL_KEY(UNSAFE | IS_RELEASE, (uintptr_t)handle);
    Context *context = context_find(handle);
    if (context == NULL || !context->object.alive || context->primary)
        return FAIL(CUDA_ERROR_INVALID_CONTEXT, "ctx %p is not a live context",
                    (void *)handle);
    if (context->sticky == CUDA_SUCCESS)
        context_wait(context);
    end_context(context, false);
    if (context_current() == context)
        depth--;
    return CUDA_SUCCESS;
}

static CUresult usable(const Context *context, const char *call) {
    if (context == NULL)
        return fail(call, CUDA_ERROR_INVALID_CONTEXT, "ctx is not a context");
    if (!context->object.alive)
        return fail(call, CUDA_ERROR_CONTEXT_IS_DESTROYED,
                    "ctx was destroyed or reset");
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    SIM_CALL(0);
    Context *context = context_find(handle);
    CUresult code = usable(context, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    if (depth == STACK_DEPTH)
        return INVALID("the stack of contexts is full");
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *out) {
    SIM_CALL(0);
    if (depth == 0)
        return FAIL(CUDA_ERROR_INVALID_CONTEXT, "no context is current");
    if (out != NULL)
        *out = handle_of(stack[depth - 1]);
    depth--;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) {
    SIM_CALL(0);
    if (handle == NULL) {
        depth -= depth > 0;
        return CUDA_SUCCESS;
    }
    Context *context = context_find(handle);
    CUresult code = usable(context, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    if (depth == 0)
        depth = 1;
    stack[depth - 1] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *out) {
    SIM_CALL(0);
    if (out == NULL)
        return INVALID("pctx is NULL");
    *out = handle_of(context_current());
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *out) {
    SIM_CALL(IN_CONTEXT | EVEN_SPOILT);
    if (out == NULL)
        return INVALID("device is NULL");
    *out = context_current()->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned *out) {
    SIM_CALL(IN_CONTEXT | EVEN_SPOILT);
    if (out == NULL)
        return INVALID("flags is NULL");
    *out = context_current()->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
    SIM_CALL(0);
    Context *context =
        handle == NULL ? context_current() : context_find(handle);
    CUresult code = usable(context, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    if (version == NULL)
        return INVALID("version is NULL");
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *out) {
    SIM_CALL(0);
    Context *context =
        handle == NULL ? context_current() : context_find(handle);
    CUresult code = usable(context, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL)
        return INVALID("ctxId is NULL");
    *out = context->number;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    SIM_CALL(IN_CONTEXT);
    Context *context = context_current();
    CUresult code = capture_context_wait(context, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    context_wait(context);
    pools_trim_idle();
    return context->sticky;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    SIM_CALL(IN_CONTEXT);
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = -5;
    return CUDA_SUCCESS;
}

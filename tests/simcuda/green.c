/* Green contexts, with the functions that their streams need. The whole
 * device is one resource, and a stream works in the primary context of the
 * device. */
#include "internal.h"

#include <string.h>

/* Error code of the header 13.5: the green context of the stream was
 * destroyed. */
#define STREAM_DETACHED ((CUresult)917)

static char all_of_it; /* stands for the whole device */

CUresult cuDeviceGetDevResource(CUdevice dev, CUdevResource *resource,
                                CUdevResourceType type) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (resource == NULL || type != CU_DEV_RESOURCE_TYPE_SM)
        return INVALID("resource is NULL or type is %d", (int)type);
    memset(resource, 0, sizeof *resource);
    resource->type = type;
    resource->sm.smCount = 132;
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out,
                                   CUdevResource *resources, unsigned count) {
    SIM_CALL(0);
    if (out == NULL || resources == NULL || count == 0)
        return INVALID("phDesc or resources is NULL, or nbResources is %u",
                       count);
    *out = (CUdevResourceDesc)(void *)&all_of_it;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice dev,
                          unsigned flags) {
    SIM_CALL(UNSAFE);
    Device *device;
    CUcontext primary;
    FIND_DEVICE(dev, &device);
    if (out == NULL || desc != (CUdevResourceDesc)(void *)&all_of_it ||
        flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return INVALID(
            "phCtx is NULL, desc is not a descriptor, or flags is %u", flags);
    CUresult code = context_retain(device, &primary, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    Object *green = object_new(KIND_GREEN_CONTEXT, sizeof *green,
                               context_find(primary), __func__);
    *out = (CUgreenCtx)(uintptr_t)green->handle;
    return CUDA_SUCCESS;
}

static CUresult find(CUgreenCtx handle, const char *call, Object **found) {
    Object *green = object_find(KIND_GREEN_CONTEXT, handle);
    *found = green;
    if (green == NULL || !green->alive)
        return fail(call, CUDA_ERROR_INVALID_CONTEXT,
                    "hCtx %p is not a live green context", (void *)handle);
    return CUDA_SUCCESS;
}

static void spoil_capture_of(Stream *stream, void *green) {
    if (stream->green == green && stream->capture != NULL)
        capture_spoil(stream->capture);
}

/* The streams remain. They can only be destroyed. */
CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
    SIM_CALL_KEY(UNSAFE | IS_RELEASE, (uintptr_t)handle);
    Object *green;
    CUresult code = find(handle, __func__, &green);
    if (code != CUDA_SUCCESS)
        return code;
    streams_each(green->context, spoil_capture_of, green);
    object_end(green);
    return context_release(green->context->device, __func__);
}

CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx handle,
                                unsigned flags, int priority) {
    SIM_CALL(UNSAFE);
    Object *green;
    CUresult code = find(handle, __func__, &green);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL || flags != CU_STREAM_NON_BLOCKING)
        return INVALID("phStream is NULL or flags is %u", flags);
    Stream *stream = stream_make(green->context, flags, priority, __func__);
    stream->green = green;
    *out = (CUstream)(uintptr_t)stream->object.handle;
    return CUDA_SUCCESS;
}

CUresult green_allows(const Stream *stream, const char *call) {
    if (stream->green == NULL || stream->green->alive)
        return CUDA_SUCCESS;
    return fail(call, STREAM_DETACHED,
                "the green context of the stream was destroyed");
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *context,
                           CUgreenCtx *green) {
    SIM_CALL(0);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (context == NULL || green == NULL)
        return INVALID("pCtx or pGreenCtx is NULL");
    *context = (CUcontext)(uintptr_t)stream->object.context->object.handle;
    *green = stream->green == NULL
                 ? NULL
                 : (CUgreenCtx)(uintptr_t)stream->green->handle;
    return CUDA_SUCCESS;
}

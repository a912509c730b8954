/* Streams, and the calls about them. */
#include "internal.h"

#include <stdlib.h>

Stream *stream_make(Context *context, unsigned flags, int priority,
                    const char *call) {
    Stream *stream = object_new(KIND_STREAM, sizeof *stream, context, call);
    stream->non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
    stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    stream->random = sim.config.seed * 1000003u + stream->object.handle;
    pthread_cond_init(&stream->wake, NULL);
    stream->next_of_context = context->streams;
    context->streams = stream;
    return stream;
}

void streams_each(Context *context, void (*visit)(Stream *, void *),
                  void *user_data) {
    Stream **at = &context->streams;
    while (*at != NULL) {
        Stream *stream = *at;
        if (!stream->object.alive && stream->done == stream->submitted) {
            *at = stream->next_of_context;
            continue;
        }
        visit(stream, user_data);
        at = &stream->next_of_context;
    }
}

Stream *stream_legacy(Context *context) {
    if (context->legacy == NULL) {
        context->legacy = stream_make(context, 0, 0, "the driver");
        context->legacy->legacy = true;
        context->legacy->object.hidden = true;
    }
    return context->legacy;
}

static Stream *stream_of_thread(Context *context) {
    Stream **own = thread_stream(context);
    if (*own == NULL || !(*own)->object.alive) {
        *own = stream_make(context, 0, 0, "the driver");
        (*own)->per_thread = true;
        (*own)->object.hidden = true;
    }
    return *own;
}

CUresult stream_find(CUstream handle, const char *call, Stream **found) {
    Context *context = context_current();
    if (handle == NULL || handle == CU_STREAM_LEGACY ||
        handle == CU_STREAM_PER_THREAD) {
        if (context == NULL || !context->object.alive)
            return fail(call, CUDA_ERROR_INVALID_CONTEXT,
                        "a default stream without a current context");
        *found = handle == CU_STREAM_PER_THREAD ? stream_of_thread(context)
                                                : stream_legacy(context);
        return CUDA_SUCCESS;
    }
    Stream *stream = object_find(KIND_STREAM, handle);
    if (stream == NULL || stream->object.hidden)
        return fail(call, CUDA_ERROR_INVALID_HANDLE,
                    "hStream %p is not a stream", (void *)handle);
    if (!stream->object.alive)
        return fail(call,
                    stream->object.context->object.alive
                        ? sim.config.stale_stream
                        : CUDA_ERROR_CONTEXT_IS_DESTROYED,
                    "hStream %p was destroyed", (void *)handle);
    if (stream->object.context->sticky != CUDA_SUCCESS)
        return stream->object.context->sticky;
    *found = stream;
    return green_allows(stream, call);
}

static CUresult create(CUstream *out, unsigned flags, int priority,
                       const char *call) {
    if (out == NULL)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "phStream is NULL");
    if ((flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "Flags is 0x%x", flags);
    Stream *stream = stream_make(context_current(), flags, priority, call);
    *out = (CUstream)(uintptr_t)stream->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned flags) {
    SIM_CALL(IN_CONTEXT);
    return create(out, flags, 0, __func__);
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags,
                                    int priority) {
    SIM_CALL(IN_CONTEXT);
    return create(out, flags, priority, __func__);
}

/* The handle is invalid at once. Work that is queued in the stream still
 * runs. */
CUresult cuStreamDestroy_v2(CUstream handle) {
    SIM_CALL_KEY(IN_CONTEXT | IS_RELEASE, (uintptr_t)handle);
    Stream *stream = object_find(KIND_STREAM, handle);
    if (stream == NULL || !stream->object.alive || stream->object.hidden)
        return FAIL(CUDA_ERROR_INVALID_HANDLE,
                    "hStream %p is not a live stream", (void *)handle);
    if (stream->capture != NULL)
        capture_spoil(stream->capture);
    stream_end(stream);
    object_end(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int *out) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (out == NULL)
        return INVALID("priority is NULL");
    *out = stream->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *out) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (out == NULL)
        return INVALID("flags is NULL");
    *out = stream->non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *out) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (out == NULL)
        return INVALID("streamId is NULL");
    *out = stream->object.handle >> 6;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *out) {
    SIM_CALL(0);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (out == NULL)
        return INVALID("pctx is NULL");
    if (stream->green != NULL)
        return FAIL(CUDA_ERROR_NOT_SUPPORTED,
                    "the stream is of a green context: the _v2 form says so");
    *out = (CUcontext)(uintptr_t)stream->object.context->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *out) {
    SIM_CALL(0);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (out == NULL)
        return INVALID("device is NULL");
    *out = stream->object.context->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    CUresult code = capture_forbids_wait(stream, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    if (stream->legacy) {
        code = capture_of_legacy(stream->object.context, __func__);
        if (code != CUDA_SUCCESS)
            return code;
    }
    return stream->done == stream->submitted ? CUDA_SUCCESS
                                             : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    CUresult code = capture_forbids_wait(stream, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    if (stream->legacy) {
        code = capture_of_legacy(stream->object.context, __func__);
        if (code != CUDA_SUCCESS)
            return code;
    }
    code = stream_wait(stream);
    pools_trim_idle();
    return code;
}

/* --- functions of the host ------------------------------------------------- */

static CUresult run_host(Op *op) {
    CUhostFn function;
    *(void **)&function = op->pointer;
    pthread_mutex_unlock(&sim.lock);
    in_callback = true;
    function(op->user_data);
    in_callback = false;
    pthread_mutex_lock(&sim.lock);
    return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (function == NULL)
        return INVALID("fn is NULL");
    Op *op = op_new(__func__, run_host, stream->object.context);
    op->pointer = *(void **)&function;
    op->user_data = data;
    return stream_submit(stream, op);
}

/* The older form of a callback receives the error of the stream. */
static CUresult run_callback(Op *op) {
    CUstreamCallback callback;
    *(void **)&callback = op->pointer;
    CUresult status = op->context->sticky;
    pthread_mutex_unlock(&sim.lock);
    in_callback = true;
    callback((CUstream)(uintptr_t)op->stream->object.handle, status,
             op->user_data);
    in_callback = false;
    pthread_mutex_lock(&sim.lock);
    return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
                             void *data, unsigned flags) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (callback == NULL || flags != 0)
        return INVALID("callback is NULL or flags is %u", flags);
    CUresult code = capture_forbids_wait(stream, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    Op *op = op_new(__func__, run_callback, stream->object.context);
    op->even_spoilt = true;
    op->pointer = *(void **)&callback;
    op->user_data = data;
    return stream_submit(stream, op);
}

/* Events: a point in a stream, with a time unless timing is disabled. */
#include "internal.h"

#include <stdlib.h>

CUresult cuEventCreate(CUevent *out, unsigned flags) {
    SIM_CALL(IN_CONTEXT);
    if (out == NULL || (flags & ~7u) != 0)
        return INVALID("phEvent is NULL or Flags is 0x%x", flags);
    if ((flags & CU_EVENT_INTERPROCESS) != 0 &&
        (flags & CU_EVENT_DISABLE_TIMING) == 0)
        return INVALID("an event between processes without DISABLE_TIMING");
    Event *event =
        object_new(KIND_EVENT, sizeof *event, context_current(), __func__);
    event->flags = flags;
    event->shared_fd = -1;
    *out = (CUevent)(uintptr_t)event->object.handle;
    return CUDA_SUCCESS;
}

static CUresult find(CUevent handle, const char *call, Event **found) {
    Event *event = object_find(KIND_EVENT, handle);
    *found = event;
    if (event == NULL)
        return fail(call, CUDA_ERROR_INVALID_HANDLE,
                    "hEvent %p is not an event", (void *)handle);
    if (!event->object.alive)
        return fail(call,
                    event->object.context->object.alive
                        ? CUDA_ERROR_INVALID_HANDLE
                        : CUDA_ERROR_CONTEXT_IS_DESTROYED,
                    "hEvent %p was destroyed", (void *)handle);
    if (event->object.context->sticky != CUDA_SUCCESS)
        return event->object.context->sticky;
    return CUDA_SUCCESS;
}
#define FIND_EVENT(handle, found)                              \
    do {                                                       \
        CUresult event_result = find(handle, __func__, found); \
        if (event_result != CUDA_SUCCESS)                      \
            return event_result;                               \
    } while (0)

CUresult cuEventDestroy_v2(CUevent handle) {
    SIM_CALL_KEY(IN_CONTEXT | IS_RELEASE, (uintptr_t)handle);
    Event *event = object_find(KIND_EVENT, handle);
    if (event == NULL || !event->object.alive)
        return FAIL(CUDA_ERROR_INVALID_HANDLE, "hEvent %p is not a live event",
                    (void *)handle);
    object_end(event);
    return CUDA_SUCCESS;
}

static CUresult run_record(Op *op) {
    Event *event = op->pointer;
    event->recorded_at_ns = now_ns();
    if (event->shared != NULL)
        event->shared[1] = op->from;
    return CUDA_SUCCESS;
}

static CUresult record(CUevent handle, CUstream stream_handle, unsigned flags,
                       const char *call) {
    Stream *stream;
    Event *event;
    CUresult code = find(handle, call, &event);
    if (code == CUDA_SUCCESS)
        code = stream_find(stream_handle, call, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    if (flags > CU_EVENT_RECORD_EXTERNAL)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "flags is 0x%x", flags);
    if (event->object.context != stream->object.context)
        return fail(call, CUDA_ERROR_INVALID_HANDLE,
                    "the event and the stream are of different contexts");
    if (stream->capture != NULL)
        return capture_record(stream, event, call);
    if (flags == CU_EVENT_RECORD_EXTERNAL)
        return fail(call, CUDA_ERROR_ILLEGAL_STATE,
                    "an external record outside of a capture");
    Op *op = op_new(call, run_record, stream->object.context);
    op->pointer = event;
    if (event->shared != NULL)
        op->from = event->shared_wanted = ++event->shared[0];
    code = stream_submit(stream, op);
    if (code == CUDA_SUCCESS) {
        event->recorded = true;
        event->captured = NULL;
        event->place = (Place){stream, stream->submitted};
    }
    return code;
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
    SIM_CALL(IN_CONTEXT);
    return record(handle, stream, 0, __func__);
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream,
                                unsigned flags) {
    SIM_CALL(IN_CONTEXT);
    return record(handle, stream, flags, __func__);
}

/* For an event that another process records, shared memory holds two
 * numbers: how often it was recorded, and the last record that has
 * completed. */
static bool passed(const Event *event) {
    if (event->shared != NULL && event->foreign)
        return event->shared[1] >= event->shared[0];
    return !event->recorded || event->place.stream->done >= event->place.ticket;
}

static CUresult uncaptured(const Event *event, const char *call) {
    if (!capture_holds(event))
        return CUDA_SUCCESS;
    if (!capture_is_active(event->captured))
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "the event was last recorded in a capture that has ended");
    capture_spoil(event->captured);
    return fail(call, CUDA_ERROR_CAPTURED_EVENT,
                "the event was last recorded in a capture");
}

CUresult cuEventQuery(CUevent handle) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    Event *event;
    FIND_EVENT(handle, &event);
    CUresult code = uncaptured(event, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    return passed(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    Event *event;
    FIND_EVENT(handle, &event);
    CUresult code = uncaptured(event, __func__);
    if (code != CUDA_SUCCESS)
        return code;
    while (event->foreign && !passed(event)) {
        pthread_mutex_unlock(&sim.lock);
        nanosleep(&(struct timespec){0, 100000}, NULL);
        pthread_mutex_lock(&sim.lock);
    }
    if (event->recorded)
        code = place_wait(event->place);
    pools_trim_idle();
    return code;
}

static CUresult elapsed(float *out, CUevent first, CUevent second,
                        const char *call) {
    Event *start, *end;
    CUresult code = find(first, call, &start);
    if (code == CUDA_SUCCESS)
        code = find(second, call, &end);
    if (code == CUDA_SUCCESS)
        code = uncaptured(start, call);
    if (code == CUDA_SUCCESS)
        code = uncaptured(end, call);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL)
        return fail(call, CUDA_ERROR_INVALID_HANDLE, "pMilliseconds is NULL");
    if (start->object.context != end->object.context)
        return fail(call, CUDA_ERROR_INVALID_HANDLE,
                    "the events are of different contexts");
    if (!start->recorded || !end->recorded)
        return fail(call, CUDA_ERROR_INVALID_HANDLE,
                    "an event was never recorded");
    if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0)
        return fail(call, CUDA_ERROR_INVALID_HANDLE, "an event has no timing");
    if (!passed(start) || !passed(end))
        return CUDA_ERROR_NOT_READY;
    *out = (float)(int64_t)(end->recorded_at_ns - start->recorded_at_ns) / 1e6f;
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *out, CUevent start, CUevent end) {
    SIM_CALL(IN_CONTEXT);
    return elapsed(out, start, end, __func__);
}

CUresult cuEventElapsedTime_v2(float *out, CUevent start, CUevent end) {
    SIM_CALL(IN_CONTEXT);
    return elapsed(out, start, end, __func__);
}

static CUresult run_nothing(Op *op) {
    const Event *event = op->pointer;
    while (event != NULL && event->shared[1] < op->from) {
        pthread_mutex_unlock(&sim.lock);
        nanosleep(&(struct timespec){0, 100000}, NULL);
        pthread_mutex_lock(&sim.lock);
    }
    return CUDA_SUCCESS;
}

/* An event that was never recorded counts as completed, so the wait has no
 * effect. The caller probably did not intend this, so the driver reports a
 * broken rule. */
CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle,
                           unsigned flags) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    Event *event;
    FIND_STREAM(handle, &stream);
    FIND_EVENT(event_handle, &event);
    if (flags > CU_EVENT_WAIT_EXTERNAL)
        return INVALID("Flags is 0x%x", flags);
    if (flags == CU_EVENT_WAIT_EXTERNAL && stream->capture == NULL)
        return FAIL(CUDA_ERROR_ILLEGAL_STATE,
                    "an external wait outside of a capture");
    if (stream->capture != NULL || capture_holds(event))
        return capture_event(stream, event, __func__);
    if (!event->recorded && event->shared == NULL) {
        FAIL(CUDA_SUCCESS, "hEvent was never recorded: nothing is waited for");
        return CUDA_SUCCESS;
    }
    Op *op = op_new(__func__, run_nothing, stream->object.context);
    if (event->foreign) {
        op->pointer = event;
        op->from = event->shared[0];
    } else if (event->recorded) {
        op_after(op, event->place);
    }
    return stream_submit(stream, op);
}

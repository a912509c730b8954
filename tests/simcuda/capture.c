/* Stream capture: the three modes, forks and joins by events, and the calls
 * that a capture forbids and that invalidate it. */
#include "internal.h"

#include <stdlib.h>

struct Capture {
    uint64_t id;
    Graph *graph;
    CUstreamCaptureMode mode;
    pthread_t thread;
    Stream *origin;
    bool active, invalid;
    Stream **members;
    size_t member_count;
    Capture *next;
};

static Capture *captures; /* active captures; events keep ended ones */
static uint64_t last_id;
static _Thread_local CUstreamCaptureMode thread_mode =
    CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    SIM_CALL(0);
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return INVALID("mode is NULL or not a mode");
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

void capture_spoil(Capture *capture) {
    if (capture->active)
        capture->invalid = true;
}

/* For potentially unsafe calls: calls that could make a capture depend on
 * work that is not captured. */
CUresult capture_forbids(const char *call) {
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    CUresult code = CUDA_SUCCESS;
    for (Capture *at = captures; at != NULL; at = at->next) {
        bool own = pthread_equal(at->thread, pthread_self());
        bool global = at->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                      thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!global && !(own && at->mode != CU_STREAM_CAPTURE_MODE_RELAXED))
            continue;
        capture_spoil(at);
        code = fail(call, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "not allowed while %s thread captures",
                    own ? "this" : "another");
    }
    return code;
}

/* Work in the legacy stream would make that stream wait for a captured
 * stream. A query of the capture status alone does not invalidate the
 * capture. */
static CUresult of_legacy(Context *context, const char *call, bool spoils) {
    CUresult code = CUDA_SUCCESS;
    for (Capture *at = captures; at != NULL; at = at->next)
        for (size_t i = 0; i < at->member_count; i++) {
            const Stream *stream = at->members[i];
            if (stream->non_blocking || stream->object.context != context)
                continue;
            if (spoils)
                capture_spoil(at);
            code = fail(call, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                        "the legacy stream while a blocking stream captures");
        }
    return code;
}

CUresult capture_of_legacy(Context *context, const char *call) {
    return of_legacy(context, call, true);
}

CUresult capture_forbids_wait(Stream *stream, const char *call) {
    if (stream->capture == NULL)
        return CUDA_SUCCESS;
    capture_spoil(stream->capture);
    return fail(call, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "the stream is capturing");
}

CUresult capture_context_wait(Context *context, const char *call) {
    CUresult code = CUDA_SUCCESS;
    for (Capture *at = captures; at != NULL; at = at->next)
        if (at->origin->object.context == context) {
            capture_spoil(at);
            code = fail(call, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                        "a stream of the context is capturing");
        }
    return code;
}

bool capture_holds(const Event *event) { return event->captured != NULL; }

bool capture_is_active(const Capture *capture) { return capture->active; }

Graph *capture_graph(const Stream *stream) { return stream->capture->graph; }

static CUresult invalidated(const Capture *capture, const char *call) {
    if (!capture->invalid)
        return CUDA_SUCCESS;
    return fail(call, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                "the capture was spoilt before");
}

CUresult capture_add(Stream *stream, Op *op) {
    Capture *capture = stream->capture;
    CUresult code = invalidated(capture, op->name);
    if (code != CUDA_SUCCESS) {
        op_free(op);
        return code;
    }
    stream->captured_last =
        1 + graph_add(capture->graph, op, stream->captured_last, 0);
    return CUDA_SUCCESS;
}

static void join(Capture *capture, Stream *stream, size_t last) {
    capture->members = realloc(capture->members, (capture->member_count + 1) *
                                                     sizeof *capture->members);
    if (capture->members == NULL)
        abort();
    capture->members[capture->member_count++] = stream;
    stream->capture = capture;
    stream->captured_last = last;
}

static CUresult run_nothing(Op *op) {
    (void)op;
    return CUDA_SUCCESS;
}

CUresult capture_record(Stream *stream, Event *event, const char *call) {
    CUresult code =
        capture_add(stream, op_new(call, run_nothing, stream->object.context));
    if (code != CUDA_SUCCESS)
        return code;
    event->recorded = false;
    event->captured = stream->capture;
    event->captured_node = stream->captured_last;
    return CUDA_SUCCESS;
}

/* Handles a stream that waits for an event where the stream or the event
 * belongs to a capture. */
CUresult capture_event(Stream *stream, Event *event, const char *call) {
    Capture *capture = event->captured;
    if (capture != NULL && !capture->active)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "the event was last recorded in a capture that has ended");
    if (stream->capture == NULL) {
        if (stream->legacy) {
            capture_spoil(capture);
            return fail(call, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                        "the legacy stream can not take part in a capture");
        }
        CUresult code = invalidated(capture, call);
        if (code == CUDA_SUCCESS)
            join(capture, stream, event->captured_node);
        return code;
    }
    if (capture == NULL) {
        capture_spoil(stream->capture);
        return fail(call, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                    "a capture waits for an event from outside of it");
    }
    if (capture != stream->capture) {
        capture_spoil(capture);
        capture_spoil(stream->capture);
        return fail(call, CUDA_ERROR_STREAM_CAPTURE_MERGE,
                    "two captures would become one");
    }
    CUresult code = invalidated(capture, call);
    if (code != CUDA_SUCCESS)
        return code;
    Op *op = op_new(call, run_nothing, stream->object.context);
    stream->captured_last =
        1 + graph_add(capture->graph, op, stream->captured_last,
                      event->captured_node);
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return INVALID("mode is %d", (int)mode);
    if (stream->legacy)
        return FAIL(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "the legacy stream can not capture");
    if (stream->capture != NULL)
        return FAIL(CUDA_ERROR_ILLEGAL_STATE, "the stream captures already");
    Capture *capture = calloc(1, sizeof *capture);
    if (capture == NULL)
        abort();
    capture->id = ++last_id;
    capture->graph = graph_new(__func__);
    capture->graph->object.hidden = true;
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->origin = stream;
    capture->active = true;
    capture->next = captures;
    captures = capture;
    join(capture, stream, 0);
    return CUDA_SUCCESS;
}

static bool all_joined(const Capture *capture) {
    for (size_t i = 0; i < capture->member_count; i++)
        if (!graph_reaches(capture->graph, capture->origin->captured_last,
                           capture->members[i]->captured_last))
            return false;
    return true;
}

static void leave(Capture *capture) {
    Capture **at = &captures;
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    capture->active = false;
    for (size_t i = 0; i < capture->member_count; i++)
        capture->members[i]->capture = NULL;
    free(capture->members);
    capture->members = NULL;
    capture->member_count = 0;
}

/* The call of a wrong thread ends the capture too. */
CUresult cuStreamEndCapture(CUstream handle, CUgraph *out) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    Capture *capture = stream->capture;
    if (out != NULL)
        *out = NULL;
    if (capture == NULL || out == NULL)
        return FAIL(capture == NULL ? CUDA_ERROR_ILLEGAL_STATE
                                    : CUDA_ERROR_INVALID_VALUE,
                    "the stream does not capture, or phGraph is NULL");
    if (capture->origin != stream) {
        capture_spoil(capture);
        return FAIL(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                    "the capture began in another stream");
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(capture->thread, pthread_self())) {
        leave(capture);
        graph_drop(capture->graph);
        return FAIL(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                    "the capture began in another thread");
    }
    CUresult code = invalidated(capture, __func__);
    if (code == CUDA_SUCCESS && !all_joined(capture))
        code = FAIL(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                    "a stream that the capture took in was not joined again");
    leave(capture);
    if (code != CUDA_SUCCESS) {
        graph_drop(capture->graph);
        return code;
    }
    capture->graph->object.hidden = false;
    *out = (CUgraph)(uintptr_t)capture->graph->object.handle;
    return CUDA_SUCCESS;
}

static CUstreamCaptureStatus status_of(const Stream *stream) {
    if (stream->capture == NULL)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *out) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    if (out == NULL)
        return INVALID("captureStatus is NULL");
    if (stream->legacy) {
        CUresult code = of_legacy(stream->object.context, __func__, false);
        if (code != CUDA_SUCCESS)
            return code;
    }
    *out = status_of(stream);
    return CUDA_SUCCESS;
}

static CUresult information(CUstream handle, CUstreamCaptureStatus *status,
                            cuuint64_t *id, CUgraph *graph,
                            const CUgraphNode **dependencies, size_t *count,
                            const char *call) {
    Stream *stream;
    CUresult code = stream_find(handle, call, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    if (status == NULL)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "captureStatus_out is NULL");
    if (stream->legacy) {
        code = of_legacy(stream->object.context, call, false);
        if (code != CUDA_SUCCESS)
            return code;
    }
    *status = status_of(stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    const Graph *captured = stream->capture->graph;
    stream->dependency = (CUgraphNode)(uintptr_t)(captured->object.handle +
                                                  stream->captured_last);
    if (id != NULL)
        *id = stream->capture->id;
    if (graph != NULL)
        *graph = (CUgraph)(uintptr_t)captured->object.handle;
    if (dependencies != NULL)
        *dependencies = stream->captured_last == 0 ? NULL : &stream->dependency;
    if (count != NULL)
        *count = stream->captured_last != 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle,
                                   CUstreamCaptureStatus *status,
                                   cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **dependencies,
                                   size_t *count) {
    SIM_CALL(IN_CONTEXT);
    return information(handle, status, id, graph, dependencies, count,
                       __func__);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle,
                                   CUstreamCaptureStatus *status,
                                   cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **dependencies,
                                   const CUgraphEdgeData **edges,
                                   size_t *count) {
    SIM_CALL(IN_CONTEXT);
    /* The simulated graph has no edges with data. */
    if (edges != NULL)
        *edges = NULL;
    return information(handle, status, id, graph, dependencies, count,
                       __func__);
}

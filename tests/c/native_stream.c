#include "native_stream.h"

#include "on_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct item {
    ferrum_host_fn work;
    void *data;
    struct item *next;
} item;

struct native_stream {
    /* A handle of the driver. 0 on the host. */
    uint64_t handle;
    bool dropped;
    /* Used on the host only. */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    item *first, **last;
    bool ending;
};

/* --- the host ------------------------------------------------------------------- */

static void *run_queue(void *data) {
    native_stream *s = data;
    for (;;) {
        pthread_mutex_lock(&s->mutex);
        while (s->first == NULL && !s->ending)
            pthread_cond_wait(&s->changed, &s->mutex);
        item *i = s->first;
        if (i != NULL && (s->first = i->next) == NULL)
            s->last = &s->first;
        pthread_mutex_unlock(&s->mutex);
        if (i == NULL)
            return NULL;
        i->work(i->data);
        free(i);
    }
}

static ferrum_status enqueue(ferrum_host_fn work, void *work_data, void *data) {
    native_stream *s = data;
    item *i = malloc(sizeof *i);
    if (i == NULL)
        abort();
    *i = (item){work, work_data, NULL};
    pthread_mutex_lock(&s->mutex);
    *s->last = i;
    s->last = &i->next;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    return FERRUM_OK;
}

/* --- the driver ----------------------------------------------------------------- */

static void must_driver(int code, const char *call) {
    if (code == 0)
        return;
    fprintf(stderr, "%s: the driver says %d\n", call, code);
    _exit(70);
}

/* CALL(cuStreamDestroy_v2, (void *), (stream)) */
#define CODE(name, types, arguments) \
    ((int(*) types)driver_function(#name)) arguments
#define CALL(name, types, arguments) \
    must_driver(CODE(name, types, arguments), #name)

static void *pointer(uint64_t handle) { return (void *)(uintptr_t)handle; }

enum { NON_BLOCKING = 1, NO_TIMING = 2, PER_THREAD = 2 };

/* -------------------------------------------------------------- host and driver */

native_stream *native_stream_make(void) {
    native_stream *s = calloc(1, sizeof *s);
    if (s == NULL)
        abort();
    if (!on_host()) {
        void *made;
        CALL(cuStreamCreate, (void **, unsigned), (&made, NON_BLOCKING));
        s->handle = (uint64_t)(uintptr_t)made;
        return s;
    }
    s->last = &s->first;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (pthread_create(&s->thread, NULL, run_queue, s) != 0)
        abort();
    return s;
}

native_stream *native_stream_of_threads(void) {
    static native_stream of_threads = {.handle = PER_THREAD};
    return on_host() ? NULL : &of_threads;
}

ferrum_foreign_stream native_stream_foreign(native_stream *s) {
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    foreign.native_handle = s->handle;
    if (on_host()) {
        foreign.enqueue = enqueue;
        foreign.user_data = s;
    }
    return foreign;
}

void native_stream_end(native_stream *s) {
    if (s->handle == PER_THREAD)
        return;
    if (!on_host()) {
        if (!s->dropped) {
            CALL(cuStreamSynchronize, (void *), (pointer(s->handle)));
            CALL(cuStreamDestroy_v2, (void *), (pointer(s->handle)));
        }
    } else {
        pthread_mutex_lock(&s->mutex);
        s->ending = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
        pthread_cond_destroy(&s->changed);
        pthread_mutex_destroy(&s->mutex);
    }
    free(s);
}

/* --- CUDA only ------------------------------------------------------------------ */

void native_relax(void) {
    int relaxed = 2;
    CALL(cuThreadExchangeStreamCaptureMode, (int *), (&relaxed));
}

void native_stream_drop(native_stream *s) {
    CALL(cuStreamDestroy_v2, (void *), (pointer(s->handle)));
    s->dropped = true;
}

void native_capture_begin(native_stream *s, int mode) {
    CALL(cuStreamBeginCapture_v2, (void *, int), (pointer(s->handle), mode));
}

bool native_captures(native_stream *s) {
    int status;
    CALL(cuStreamIsCapturing, (void *, int *), (pointer(s->handle), &status));
    return status == 1;
}

int native_capture_end(native_stream *s) {
    void *graph = NULL;
    int code = CODE(cuStreamEndCapture, (void *, void **),
                    (pointer(s->handle), &graph));
    if (graph != NULL)
        CALL(cuGraphDestroy, (void *), (graph));
    return code;
}

static void *record(uint64_t stream) {
    void *event;
    CALL(cuEventCreate, (void **, unsigned), (&event, NO_TIMING));
    CALL(cuEventRecord, (void *, void *), (event, pointer(stream)));
    return event;
}

void *native_event_record(native_stream *s) { return record(s->handle); }

void native_stream_join(native_stream *s, uint64_t other) {
    void *event = record(other);
    CALL(cuStreamWaitEvent, (void *, void *, unsigned),
         (pointer(s->handle), event, 0));
    native_event_end(event);
}

void native_event_end(void *event) {
    CALL(cuEventDestroy_v2, (void *), (event));
}

void native_print_violations(void) {
    char text[1 << 14];
    size_t (*list)(char *, size_t);
    *(void **)&list = simulator_function("simcuda_violations");
    if (list != NULL && list(text, sizeof text) != 0)
        fprintf(stderr, "broken rules of the driver:\n%s", text);
}

int native_fill_in(uint64_t context, uint64_t address, uint64_t size) {
    void *popped;
    CALL(cuCtxPushCurrent_v2, (void *), (pointer(context)));
    int code = CODE(cuMemsetD8_v2, (uint64_t, unsigned char, size_t),
                    (address, 1, (size_t)size));
    int later = CODE(cuCtxSynchronize, (void), ());
    CALL(cuCtxPopCurrent_v2, (void **), (&popped));
    return code != 0 ? code : later;
}

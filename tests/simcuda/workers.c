/* The workers. Each stream has one. It runs the operations of the stream in
 * order, and waits for operations of other streams that they depend on. It
 * delays operations by a random time that the seed determines. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

Op *op_new(const char *name, CUresult (*run)(Op *), Context *context) {
    Op *op = calloc(1, sizeof *op);
    if (op == NULL)
        abort();
    op->name = name;
    op->run = run;
    op->context = op->to_context = op->from_context = context;
    return op;
}

void op_after(Op *op, Place place) {
    if (place.stream->done >= place.ticket)
        return;
    op->after = realloc(op->after, (op->after_count + 1) * sizeof *op->after);
    if (op->after == NULL)
        abort();
    op->after[op->after_count++] = place;
}

Payload *payload_new(size_t size) {
    Payload *payload = calloc(1, sizeof *payload + size);
    if (payload != NULL) {
        payload->references = 1;
        payload->size = size;
    }
    return payload;
}

void payload_drop(Payload *payload) {
    if (payload != NULL && --payload->references == 0)
        free(payload);
}

void op_free(Op *op) {
    payload_drop(op->payload);
    free(op->after);
    free(op);
}

/* Copies an operation of a graph, to queue the copy. */
Op *op_copy(const Op *op) {
    Op *copy = malloc(sizeof *copy);
    if (copy == NULL)
        abort();
    *copy = *op;
    copy->next = NULL;
    copy->after = NULL;
    copy->after_count = 0;
    if (copy->payload != NULL)
        copy->payload->references++;
    return copy;
}

/* Half of the operations start at once. */
static void shuffle(Stream *stream) {
    uint64_t random = next_random(&stream->random);
    if (sim.config.jitter_us == 0 || random % 2 == 0)
        return;
    uint64_t wait_ns = (random >> 8) % (sim.config.jitter_us * 1000u);
    struct timespec pause = {0, (long)(wait_ns % 1000000000u)};
    pause.tv_sec = (time_t)(wait_ns / 1000000000u);
    pthread_mutex_unlock(&sim.lock);
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&sim.lock);
}

static bool is_due(const Op *op) {
    for (size_t i = 0; i < op->after_count; i++)
        if (op->after[i].stream->done < op->after[i].ticket)
            return false;
    return true;
}

/* After a sticky error, and in a destroyed context, no operation runs. */
static void carry_out(Stream *stream, Op *op) {
    Context *context = op->context;
    CUresult code;
    if (stream->killed || !context->object.alive ||
        (context->sticky != CUDA_SUCCESS && !op->even_spoilt))
        return;
    if (!fault_of_worker(&code))
        code = op->run(op);
    if (code != CUDA_SUCCESS)
        context_spoil(context, code);
}

static void *work(void *argument) {
    Stream *stream = argument;
    pthread_mutex_lock(&sim.lock);
    for (;;) {
        while (stream->head == NULL && !stream->ending)
            pthread_cond_wait(&stream->wake, &sim.lock);
        Op *op = stream->head;
        if (op == NULL)
            break;
        shuffle(stream);
        while (!is_due(op))
            pthread_cond_wait(&sim.progress, &sim.lock);
        carry_out(stream, op);
        stream->head = op->next;
        stream->done = op->ticket;
        op_free(op);
        pthread_cond_broadcast(&sim.progress);
    }
    stream->has_worker = false;
    pthread_mutex_unlock(&sim.lock);
    return NULL;
}

static void start_worker(Stream *stream) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)256 << 10);
    if (pthread_create(&thread, &attributes, work, stream) != 0) {
        fprintf(stderr, "simcuda: no thread for a stream\n");
        abort();
    }
    pthread_attr_destroy(&attributes);
    stream->has_worker = true;
}

struct Gather {
    Op *op;
    const Stream *legacy;
};

/* The legacy stream waits for every blocking stream of its context. */
static void gather(Stream *stream, void *user_data) {
    struct Gather *to = user_data;
    if (stream != to->legacy && !stream->non_blocking)
        op_after(to->op, (Place){stream, stream->submitted});
}

CUresult stream_submit(Stream *stream, Op *op) {
    Context *context = stream->object.context;
    op->stream = stream;
    if (stream->capture != NULL)
        return capture_add(stream, op);
    if (stream->legacy) {
        CUresult code = capture_of_legacy(context, op->name);
        if (code != CUDA_SUCCESS) {
            op_free(op);
            return code;
        }
        streams_each(context, gather, &(struct Gather){op, stream});
    } else if (!stream->non_blocking && context->legacy != NULL) {
        op_after(op, (Place){context->legacy, context->legacy->submitted});
    }
    op->ticket = ++stream->submitted;
    if (stream->head == NULL)
        stream->head = op;
    else
        stream->tail->next = op;
    stream->tail = op;
    if (!stream->has_worker)
        start_worker(stream);
    pthread_cond_signal(&stream->wake);
    return CUDA_SUCCESS;
}

/* The worker ends after the queued operations. */
void stream_end(Stream *stream) {
    stream->ending = true;
    pthread_cond_signal(&stream->wake);
}

/* Waits also in a spoiled context: the worker still empties the queue. */
CUresult place_wait(Place place) {
    while (place.stream->done < place.ticket)
        pthread_cond_wait(&sim.progress, &sim.lock);
    return place.stream->object.context->sticky;
}

CUresult stream_wait(Stream *stream) {
    return place_wait((Place){stream, stream->submitted});
}

static void find_busy(Stream *stream, void *user_data) {
    if (stream->done < stream->submitted)
        *(Stream **)user_data = stream;
}

/* Searches the streams again after each wait, because another thread may
 * have created a stream. */
void context_wait(Context *context) {
    for (;;) {
        Stream *busy = NULL;
        streams_each(context, find_busy, &busy);
        if (busy == NULL)
            return;
        stream_wait(busy);
    }
}

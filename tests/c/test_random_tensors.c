/*
 * Random programs with tensors on one thread, compared with a simple model.
 *
 * A program makes tensors in a pool, in two models of an elastic pool and in
 * the memory of a backend, and views of them. It writes, fills, copies and
 * reads them on several streams, runs operations and sequences, packs weights,
 * puts models to sleep and wakes them. The model keeps the elements of each
 * memory and computes each operation itself. It predicts the status of calls,
 * checks elements, and counts the memories that must be alive. Work on several
 * streams is ordered by events, as a user would do. In the end everything is
 * destroyed without force, and nothing may be left.
 */
#include "fixture.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAMS = 12 / SANITIZER_SHARE, STEPS = 3000 };
enum { STREAMS = 3, TENSORS = 40, STEPS_MOST = 4, SEQUENCES = 3, RANK = 4 };

/* Where a memory is. */
enum place { IN_POOL, IN_MODEL_A, IN_MODEL_B, IN_BACKEND, PLACES };

typedef struct {
    enum place place;
    int users; /* tensors, steps of sequences */
    int last;  /* the stream whose queue has the last work, or -1 */
    bool packed, has_memory;
    float *values;
} storage;

typedef struct {
    ferrum_tensor handle;
    storage *of; /* NULL: the place is free */
    uint64_t rank;
    int64_t shape[RANK], strides[RANK], first;
} tensor;

enum { ADD, SUB, RELU, MATMUL, OPS };
static const char *const names[] = {"Add", "Sub", "Relu", "MatMul"};

typedef struct {
    int op;
    tensor inputs[2], output;
} step_model;

typedef struct {
    ferrum_sequence handle;
    int count;
    step_model steps[STEPS_MOST];
} sequence_model;

static struct {
    unsigned long program;
    uint64_t random;
    int step, failed;
    ferrum_device device;
    ferrum_stream streams[STREAMS];
    ferrum_pool pool;
    ferrum_elastic_pool elastic;
    ferrum_compute compute;
    ferrum_op ops[OPS];
    tensor tensors[TENSORS];
    sequence_model sequences[SEQUENCES];
    int alive[PLACES];
    bool asleep[PLACES];
    uint64_t dead;
} m;

static uint64_t draw(uint64_t below) {
    m.random ^= m.random << 13;
    m.random ^= m.random >> 7;
    m.random ^= m.random << 17;
    return m.random % below;
}

static void wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "program %lu, step %d: ", m.program, m.step);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    m.failed = 1;
}

#define GIVES(want, call) gives((call), (want), #call, wrong)
#define WORKS(call) GIVES(FERRUM_OK, call)

/* ------------------------------------------------------------- the elements */

static int64_t count_of(const tensor *t) {
    int64_t count = 1;
    for (uint64_t i = 0; i < t->rank; i++)
        count *= t->shape[i];
    return count;
}
static bool has_repeats(const tensor *t) {
    for (uint64_t i = 0; i < t->rank; i++)
        if (t->strides[i] == 0 && t->shape[i] > 1 && count_of(t) > 0)
            return true;
    return false;
}
/* The place of the n-th element in the order of the shape. */
static float *element(const tensor *t, int64_t n) {
    int64_t at = t->first;
    for (uint64_t i = t->rank; i-- > 0; n /= t->shape[i])
        at += n % t->shape[i] * t->strides[i];
    return &t->of->values[at];
}
static bool same(float a, float b) { return a == b || (isnan(a) && isnan(b)); }
static bool same_shape(const tensor *a, const tensor *b) {
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}
static void set_contiguous(tensor *t) {
    int64_t step = 1;
    for (uint64_t i = t->rank; i-- > 0;) {
        t->strides[i] = step;
        step *= t->shape[i] > 0 ? t->shape[i] : 1;
    }
}

static storage *new_storage(enum place place, int64_t count) {
    storage *s = calloc(1, sizeof *s);
    s->place = place;
    s->last = -1;
    s->values = calloc((size_t)count + 1, sizeof *s->values);
    /* A tensor without elements has no memory. */
    s->has_memory = count > 0;
    m.alive[place] += s->has_memory;
    return s;
}
static void use(storage *s) { s->users++; }
static void leave(storage *s) {
    if (--s->users > 0)
        return;
    m.alive[s->place] -= s->has_memory;
    free(s->values);
    free(s);
}
static bool sleeps(const tensor *t) {
    return t->of->has_memory && m.asleep[t->of->place];
}

/* ------------------------------------------------------------ random choices */

static tensor *any_tensor(void) {
    for (int tries = 0; tries < 20; tries++) {
        tensor *t = &m.tensors[draw(TENSORS)];
        if (t->of != NULL && !t->of->packed)
            return t;
    }
    return NULL;
}
static tensor *like(const tensor *other) {
    for (int tries = 0; tries < 60; tries++) {
        tensor *t = any_tensor();
        if (t != NULL && same_shape(t, other))
            return t;
    }
    return NULL;
}
static tensor *free_place(void) {
    tensor *t = &m.tensors[draw(TENSORS)];
    return t->of == NULL ? t : NULL;
}
static ferrum_weights_memory memory_of(enum place place) {
    ferrum_weights_memory memory = {.pool = {0}};
    if (place == IN_POOL)
        memory.pool = m.pool;
    else
        memory.elastic_pool = m.elastic;
    memory.model = place == IN_MODEL_A ? "a" : place == IN_MODEL_B ? "b" : NULL;
    return memory;
}

/* Makes the stream wait for the work that is queued on the memory. */
static void order(storage *s, int stream) {
    if (s->last >= 0 && s->last != stream) {
        ferrum_event event;
        WORKS(ferrum_event_record(m.streams[s->last], &event));
        WORKS(ferrum_stream_wait_event(m.streams[stream], event));
        WORKS(ferrum_event_destroy(event));
    }
    s->last = stream;
}
static void pause_stream(void *unused) {
    (void)unused;
    usleep(200);
}
/* Sometimes the stream is busy, so that work is queued. */
static int any_stream(void) {
    int stream = (int)draw(STREAMS);
    if (draw(4) == 0)
        WORKS(
            ferrum_stream_host_function(m.streams[stream], pause_stream, NULL));
    return stream;
}
static void wait_for_streams(void) {
    for (int i = 0; i < STREAMS; i++)
        WORKS(ferrum_stream_synchronize(m.streams[i], FERRUM_WAIT_FOREVER));
}

/* ----------------------------------------------------------- making and ending */

static void enter(tensor *t, storage *s, ferrum_tensor handle) {
    t->of = s;
    t->handle = handle;
    use(s);
}
static void make_tensor(void) {
    tensor *t = free_place();
    enum place place = (enum place)draw(IN_BACKEND);
    ferrum_weights_memory memory = memory_of(place);
    ferrum_tensor handle;
    int stream = any_stream();
    if (t == NULL)
        return;
    t->rank = draw(2) ? 2 : draw(RANK);
    for (uint64_t i = 0; i < t->rank; i++)
        t->shape[i] = 1 + (int64_t)draw(3);
    t->first = 0;
    set_contiguous(t);
    if (!GIVES(m.asleep[place] ? FERRUM_ERROR_INVALID_STATE : FERRUM_OK,
               ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, t->shape,
                                    t->rank, m.streams[stream], &handle)))
        return;
    int64_t count = count_of(t);
    enter(t, new_storage(place, count), handle);
    t->of->last = stream;
    for (int64_t i = 0; i < count; i++)
        t->of->values[i] = (float)draw(17) - 8;
    WORKS(ferrum_tensor_write(handle, t->of->values,
                              (uint64_t)count * sizeof(float),
                              m.streams[stream]));
}
static void end_tensor(void) {
    tensor *t = &m.tensors[draw(TENSORS)];
    if (t->of == NULL)
        return;
    WORKS(ferrum_tensor_destroy(t->handle));
    m.dead = t->handle.id;
    leave(t->of);
    t->of = NULL;
}

/* ---------------------------------------------------------------------- views */

/* Draws a view of t, and makes it. */
static ferrum_status draw_view(const tensor *t, tensor *view,
                               ferrum_tensor *handle, bool *may_fail) {
    *view = *t;
    int32_t axes[RANK];
    uint64_t axis = t->rank == 0 ? 0 : draw(t->rank);
    switch (t->rank == 0 ? 3 : draw(4)) {
    case 0: {
        int64_t start = (int64_t)draw((uint64_t)t->shape[axis] + 1);
        int64_t length = (int64_t)draw((uint64_t)(t->shape[axis] - start) + 1);
        int32_t side = (int32_t)axis - (draw(2) ? (int32_t)t->rank : 0);
        view->first += start * t->strides[axis];
        view->shape[axis] = length;
        if (draw(2))
            return ferrum_tensor_narrow(t->handle, side, start, length, handle);
        /* Every second one of them, in one of both directions. */
        int64_t kept = (length + 1) / 2, first = draw(2) ? 0 : (kept - 1) * 2;
        first = kept == 0 ? 0 : first;
        view->first += first * t->strides[axis];
        view->strides[axis] *= first > 0 ? -2 : 2;
        view->shape[axis] = kept;
        return ferrum_tensor_slice(t->handle, side, start + first, kept,
                                   first > 0 ? -2 : 2, handle);
    }
    case 1:
        for (uint64_t i = 0; i < t->rank; i++)
            axes[i] = (int32_t)((i + axis) % t->rank);
        for (uint64_t i = 0; i < t->rank; i++) {
            view->shape[i] = t->shape[axes[i]];
            view->strides[i] = t->strides[axes[i]];
        }
        return ferrum_tensor_permute(t->handle, axes, t->rank, handle);
    case 2: /* joins two dimensions, which strides may not express */
        if (t->rank < 2)
            break;
        axis = draw(t->rank - 1);
        view->shape[axis] *= t->shape[axis + 1];
        for (uint64_t i = axis + 1; i + 1 < t->rank; i++)
            view->shape[i] = t->shape[i + 1];
        view->rank--;
        *may_fail =
            t->shape[axis] > 1 && t->shape[axis + 1] > 1 &&
            t->strides[axis] != t->shape[axis + 1] * t->strides[axis + 1];
        return ferrum_tensor_reshape(t->handle, view->shape, view->rank,
                                     handle);
    default: /* repeats a dimension of length 1, or a new one */
        if (t->rank < RANK) {
            view->rank++;
            for (uint64_t i = t->rank; i > 0; i--) {
                view->shape[i] = t->shape[i - 1];
                view->strides[i] = t->strides[i - 1];
            }
            view->shape[0] = 1 + (int64_t)draw(3);
            view->strides[0] = 0;
        }
        return ferrum_tensor_expand(t->handle, view->shape, view->rank, handle);
    }
    return ferrum_tensor_reshape(t->handle, view->shape, view->rank, handle);
}
static void make_view(void) {
    tensor *t = any_tensor(), *place = free_place(), view;
    ferrum_tensor handle = {0};
    bool may_fail = false;
    if (t == NULL || place == NULL)
        return;
    ferrum_status status = draw_view(t, &view, &handle, &may_fail);
    if (may_fail && count_of(t) > 0 && status == FERRUM_ERROR_UNSUPPORTED)
        return;
    if (!WORKS(status))
        return;
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    WORKS(ferrum_tensor_describe(handle, &desc));
    if (desc.rank != view.rank ||
        memcmp(desc.shape, view.shape, view.rank * sizeof *view.shape) != 0)
        wrong("a view has another shape");
    /* The elements show whether the strides of a reshape are right. */
    memcpy(view.strides, desc.strides, view.rank * sizeof *view.strides);
    *place = view;
    enter(place, t->of, handle);
}

/* ---------------------------------------------------- reading and writing */

static void check_elements(const tensor *t) {
    int64_t count = count_of(t);
    float *got = malloc((size_t)count * sizeof *got + 1);
    int stream = t->of->last < 0 ? 0 : t->of->last;
    if (GIVES(sleeps(t) ? FERRUM_ERROR_BUSY : FERRUM_OK,
              ferrum_tensor_read(t->handle, got, (uint64_t)count * sizeof *got,
                                 m.streams[stream])))
        for (int64_t i = 0; i < count && !m.failed; i++)
            if (!same(got[i], *element(t, i)))
                wrong("element %d of %d is %g, not %g", (int)i, (int)count,
                      (double)got[i], (double)*element(t, i));
    free(got);
}
static void check_some(void) {
    tensor *t = any_tensor();
    if (t != NULL)
        check_elements(t);
}
static void fill(void) {
    tensor *t = any_tensor();
    float value = (float)draw(9) - 4;
    if (t == NULL)
        return;
    int stream = any_stream();
    if (!sleeps(t))
        order(t->of, stream);
    ferrum_status want = has_repeats(t) ? FERRUM_ERROR_INVALID_ARGUMENT
                         : sleeps(t)    ? FERRUM_ERROR_BUSY
                                        : FERRUM_OK;
    if (GIVES(want,
              ferrum_tensor_fill(t->handle, (double)value, m.streams[stream])))
        for (int64_t i = count_of(t); i-- > 0;)
            *element(t, i) = value;
}
static void copy(void) {
    tensor *to = any_tensor(), *from = to == NULL ? NULL : like(to);
    if (from == NULL || from->of == to->of || has_repeats(to) || sleeps(to) ||
        sleeps(from))
        return;
    int stream = any_stream();
    order(to->of, stream);
    order(from->of, stream);
    if (WORKS(ferrum_tensor_copy(to->handle, from->handle, m.streams[stream])))
        for (int64_t i = count_of(to); i-- > 0;)
            *element(to, i) = *element(from, i);
}
static void move(void) {
    tensor *t = any_tensor(), *place = free_place();
    enum place where = (enum place)draw(IN_BACKEND);
    ferrum_weights_memory memory = memory_of(where);
    ferrum_tensor handle;
    if (t == NULL || place == NULL || m.asleep[where])
        return;
    int stream = any_stream();
    if (!sleeps(t))
        order(t->of, stream);
    if (!GIVES(sleeps(t) ? FERRUM_ERROR_BUSY : FERRUM_OK,
               ferrum_tensor_to(t->handle, &memory, FERRUM_DTYPE_F32,
                                m.streams[stream], &handle)))
        return;
    tensor made = *t;
    made.first = 0;
    set_contiguous(&made);
    storage *s = new_storage(where, count_of(t));
    s->last = stream;
    for (int64_t i = count_of(t); i-- > 0;)
        s->values[i] = *element(t, i);
    *place = made;
    enter(place, s, handle);
}

/* ----------------------------------------------------------------- operations */

static bool is_small(const tensor *t) {
    for (int64_t i = count_of(t); i-- > 0;)
        if (!(fabsf(*element(t, i)) <= 64))
            return false;
    return true;
}
/* Draws an operation with inputs that fit, and the shape of its output. */
static bool draw_operation(step_model *s, int op) {
    tensor *a = any_tensor(), *b;
    for (int tries = 0; op == MATMUL && tries < 20; tries++)
        if (a != NULL && a->rank != 2)
            a = any_tensor();
    if (a == NULL)
        return false;
    s->op = op;
    s->inputs[0] = s->inputs[1] = s->output = *a;
    if (s->op == MATMUL) {
        b = any_tensor();
        for (int tries = 0; tries < 40; tries++)
            if (b != NULL && (b->rank != 2 || a->shape[1] != b->shape[0]))
                b = any_tensor();
        if (b == NULL || a->rank != 2 || b->rank != 2 ||
            a->shape[1] != b->shape[0] || !is_small(a) || !is_small(b))
            return false;
        s->output.shape[1] = b->shape[1];
    } else {
        b = like(a);
        if (b == NULL)
            return false;
    }
    s->inputs[1] = *b;
    s->output.first = 0;
    s->output.of = NULL;
    set_contiguous(&s->output);
    return true;
}
static uint64_t inputs_of(const step_model *s) { return s->op == RELU ? 1 : 2; }

/* Sums of small integers are exact in any order. */
static void compute(step_model *s) {
    const tensor *a = &s->inputs[0], *b = &s->inputs[1];
    for (int64_t i = count_of(&s->output); i-- > 0;) {
        float sum = 0;
        switch (s->op) {
        case ADD:
            sum = *element(a, i) + *element(b, i);
            break;
        case SUB:
            sum = *element(a, i) - *element(b, i);
            break;
        case RELU:
            sum = *element(a, i) < 0 ? 0 : *element(a, i);
            break;
        default:
            for (int64_t k = 0; k < a->shape[1]; k++)
                sum += *element(a, i / b->shape[1] * a->shape[1] + k) *
                       *element(b, k * b->shape[1] + i % b->shape[1]);
        }
        *element(&s->output, i) = sum;
    }
}
static void order_step(step_model *s, int stream) {
    for (uint64_t i = 0; i < inputs_of(s); i++)
        if (!sleeps(&s->inputs[i]))
            order(s->inputs[i].of, stream);
    if (s->output.of != NULL && !sleeps(&s->output))
        order(s->output.of, stream);
}
static bool step_sleeps(const step_model *s) {
    bool output = s->output.of != NULL && sleeps(&s->output);
    return output || sleeps(&s->inputs[0]) ||
           (inputs_of(s) == 2 && sleeps(&s->inputs[1]));
}
/* Chooses a live tensor as the output, or leaves it to the call. */
static tensor *choose_output(step_model *s) {
    tensor *to = draw(2) ? like(&s->output) : NULL;
    if (to != NULL && (to->of == s->inputs[0].of || to->of == s->inputs[1].of ||
                       has_repeats(to)))
        to = NULL;
    if (to != NULL)
        s->output = *to;
    return to;
}
static void made_output(step_model *s, tensor *place, ferrum_tensor handle) {
    s->output.of = new_storage(IN_BACKEND, count_of(&s->output));
    *place = s->output;
    enter(place, s->output.of, handle);
}
static void run_operation(void) {
    step_model s;
    tensor *place = free_place();
    if (place == NULL || !draw_operation(&s, (int)draw(OPS)))
        return;
    tensor *to = choose_output(&s);
    int stream = any_stream();
    order_step(&s, stream);
    ferrum_tensor inputs[] = {s.inputs[0].handle, s.inputs[1].handle};
    ferrum_tensor output = {to == NULL ? 0 : to->handle.id};
    if (GIVES(step_sleeps(&s) ? FERRUM_ERROR_BUSY : FERRUM_OK,
              ferrum_op_run(m.ops[s.op], inputs, inputs_of(&s), &output, 1,
                            m.streams[stream]))) {
        if (to == NULL)
            made_output(&s, place, output);
        s.output.of->last = stream;
        compute(&s);
    } else if (output.id != (to == NULL ? 0 : to->handle.id)) {
        wrong("a failed run has changed its outputs");
    }
}

/* Packs the second matrix of a product, and multiplies by it. */
static void run_packed(void) {
    step_model s;
    tensor *place = free_place();
    ferrum_tensor packed, output = {0};
    enum place where = (enum place)draw(IN_BACKEND);
    ferrum_weights_memory memory = memory_of(where);
    if (place == NULL || !draw_operation(&s, MATMUL) || m.asleep[where] ||
        step_sleeps(&s) || count_of(&s.inputs[1]) == 0)
        return;
    int stream = any_stream();
    order_step(&s, stream);
    if (!WORKS(ferrum_op_pack(m.ops[MATMUL], 1, s.inputs[1].handle, &memory,
                              m.streams[stream], &packed)))
        return;
    ferrum_tensor inputs[] = {s.inputs[0].handle, packed};
    if (WORKS(ferrum_op_run(m.ops[MATMUL], inputs, 2, &output, 1,
                            m.streams[stream]))) {
        made_output(&s, place, output);
        s.output.of->last = stream;
        compute(&s);
    }
    /* Sometimes the packed tensor stays, and sleeps with its model. */
    tensor *keeps = draw(2) ? free_place() : NULL;
    if (keeps == NULL || keeps == place) {
        WORKS(ferrum_tensor_destroy(packed));
        return;
    }
    *keeps = s.inputs[1];
    storage *weights = new_storage(where, count_of(&s.inputs[1]));
    weights->packed = true;
    weights->last = stream;
    keeps->first = 0;
    enter(keeps, weights, packed);
}

/* ------------------------------------------------------------------ sequences */

static void make_sequence(void) {
    sequence_model *q = &m.sequences[draw(SEQUENCES)];
    if (q->handle.id == 0)
        WORKS(ferrum_sequence_create(m.compute, &q->handle));
}
static void add_step(void) {
    sequence_model *q = &m.sequences[draw(SEQUENCES)];
    tensor *place = free_place();
    step_model s;
    if (q->handle.id == 0 || q->count == STEPS_MOST || place == NULL ||
        /* Products of products are not small. */
        !draw_operation(&s, (int)draw(MATMUL)))
        return;
    tensor *to = choose_output(&s);
    wait_for_streams();
    ferrum_tensor inputs[] = {s.inputs[0].handle, s.inputs[1].handle};
    ferrum_tensor output = {to == NULL ? 0 : to->handle.id};
    if (!GIVES(step_sleeps(&s) ? FERRUM_ERROR_BUSY : FERRUM_OK,
               ferrum_sequence_add(q->handle, m.ops[s.op], inputs,
                                   inputs_of(&s), &output, 1)))
        return;
    if (to == NULL) {
        /* Its elements have no value yet. */
        made_output(&s, place, output);
        WORKS(ferrum_tensor_fill(output, 0, m.streams[0]));
        s.output.of->last = 0;
    }
    for (uint64_t i = 0; i < inputs_of(&s); i++)
        use(s.inputs[i].of);
    use(s.output.of);
    q->steps[q->count++] = s;
}
static void run_sequence(void) {
    sequence_model *q = &m.sequences[draw(SEQUENCES)];
    if (q->handle.id == 0)
        return;
    bool is_busy = false;
    for (int i = 0; i < q->count; i++)
        is_busy |= step_sleeps(&q->steps[i]);
    int stream = any_stream();
    for (int i = 0; i < q->count; i++)
        order_step(&q->steps[i], stream);
    if (GIVES(is_busy ? FERRUM_ERROR_BUSY : FERRUM_OK,
              ferrum_sequence_run(q->handle, m.streams[stream])))
        for (int i = 0; i < q->count; i++)
            compute(&q->steps[i]);
}
static void end_sequence(sequence_model *q) {
    if (q->handle.id == 0)
        return;
    wait_for_streams();
    WORKS(ferrum_sequence_destroy(q->handle));
    for (int i = 0; i < q->count; i++) {
        for (uint64_t k = 0; k < inputs_of(&q->steps[i]); k++)
            leave(q->steps[i].inputs[k].of);
        leave(q->steps[i].output.of);
    }
    memset(q, 0, sizeof *q);
}
static void end_any_sequence(void) {
    if (draw(3) == 0)
        end_sequence(&m.sequences[draw(SEQUENCES)]);
}

/* ------------------------------------------------------------- sleep and errors */

static void sleep_or_wake(void) {
    enum place place = draw(2) ? IN_MODEL_A : IN_MODEL_B;
    const char *model = memory_of(place).model;
    if (m.alive[place] == 0 && !m.asleep[place])
        return;
    wait_for_streams();
    if (m.asleep[place])
        WORKS(ferrum_elastic_pool_wake_model(m.elastic, model, NULL, NULL));
    else
        WORKS(ferrum_elastic_pool_sleep_model(m.elastic, model, NULL, NULL));
    m.asleep[place] = !m.asleep[place];
}
static void bad_calls(void) {
    tensor *t = any_tensor();
    ferrum_tensor none = {0};
    if (t == NULL)
        return;
    GIVES(FERRUM_ERROR_BUSY, ferrum_compute_close(m.compute, 0));
    if (m.alive[IN_POOL] > 0)
        GIVES(FERRUM_ERROR_BUSY, ferrum_pool_destroy(m.pool, 0));
    if (m.alive[IN_MODEL_A] > 0)
        GIVES(FERRUM_ERROR_BUSY,
              ferrum_elastic_pool_unregister_model(m.elastic, "a", 0));
    if (m.dead != 0)
        GIVES(FERRUM_ERROR_INVALID_HANDLE,
              ferrum_tensor_fill((ferrum_tensor){m.dead}, 0, m.streams[0]));
    GIVES(sleeps(t) ? FERRUM_ERROR_BUSY : FERRUM_ERROR_INVALID_ARGUMENT,
          ferrum_op_run(m.ops[ADD], &t->handle, 1, &none, 1, m.streams[0]));
    GIVES(FERRUM_ERROR_INVALID_ARGUMENT,
          ferrum_tensor_narrow(t->handle, (int32_t)t->rank, 0, 0, &none));
    if (t->rank > 0)
        GIVES(FERRUM_ERROR_INVALID_OFFSET,
              ferrum_tensor_narrow(t->handle, 0, 1, t->shape[0], &none));
    if (none.id != 0)
        wrong("a failed call has made a tensor");
}

static void check_books(void) {
    static char text[4096];
    char want[64];
    size_t length;
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    wait_for_streams();
    if (WORKS(ferrum_pool_get_statistics(m.pool, &s)) &&
        s.live_blocks.current != (uint64_t)m.alive[IN_POOL])
        wrong("the pool has %d blocks, not %d", (int)s.live_blocks.current,
              m.alive[IN_POOL]);
    snprintf(want, sizeof want, "\"tensors\":%d,", m.alive[IN_BACKEND]);
    if (WORKS(ferrum_compute_status_json(m.compute, text, sizeof text,
                                         &length)) &&
        strstr(text, want) == NULL)
        wrong("the backend does not have %s: %s", want, text);
}

/* ------------------------------------------------------------------- programs */

static void step(void) {
    static void (*const often[])(void) = {
        make_tensor,   make_tensor, make_view, make_view,    end_tensor,
        end_tensor,    check_some,  fill,      copy,         move,
        run_operation, run_packed,  add_step,  run_sequence, run_operation};
    static void (*const seldom[])(void) = {
        sleep_or_wake, bad_calls, make_sequence, end_any_sequence, check_books};
    if (draw(100) < 90)
        often[draw(sizeof often / sizeof *often)]();
    else
        seldom[draw(sizeof seldom / sizeof *seldom)]();
}

static void begin(void) {
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    MUST(ferrum_init(NULL));
    MUST(ferrum_device_open("cpu:0", &m.device));
    for (int i = 1; i < STREAMS; i++)
        MUST(ferrum_stream_create(m.device, &m.streams[i]));
    MUST(ferrum_stream_default(m.device, &m.streams[0]));
    MUST(ferrum_pool_create(m.device, NULL, &m.pool));
    MUST(ferrum_elastic_pool_create(m.device, NULL, &m.elastic));
    model.virtual_bytes = UINT64_C(64) << 20;
    MUST(ferrum_elastic_pool_register_model(m.elastic, "a", &model));
    MUST(ferrum_elastic_pool_register_model(m.elastic, "b", &model));
    config.device = m.device;
    config.threads = 1;
    config.enable_debug = draw(2) == 0;
    config.optimization_level = (uint32_t)draw(4);
    MUST(ferrum_compute_open(&config, &m.compute));
    for (int i = 0; i < OPS; i++)
        MUST(ferrum_op_prepare(m.compute, names[i], NULL, 0, 0, &m.ops[i]));
}

/* Nothing is left, in any order of the ends. */
static void end(void) {
    for (int i = 0; i < TENSORS; i++)
        if (m.tensors[i].of != NULL && !m.tensors[i].of->packed)
            check_elements(&m.tensors[i]);
    bool first = draw(2);
    for (int i = 0; first && i < SEQUENCES; i++)
        end_sequence(&m.sequences[i]);
    for (int i = 0; i < TENSORS; i++)
        if (m.tensors[i].of != NULL) {
            WORKS(ferrum_tensor_destroy(m.tensors[i].handle));
            leave(m.tensors[i].of);
        }
    for (int i = 0; i < SEQUENCES; i++)
        end_sequence(&m.sequences[i]);
    for (int i = 0; i < PLACES; i++)
        if (m.alive[i] != 0)
            wrong("the model itself has memory left");
    check_books();
    for (int i = 0; i < OPS; i++)
        WORKS(ferrum_op_destroy(m.ops[i]));
    WORKS(ferrum_compute_close(m.compute, 0));
    WORKS(ferrum_elastic_pool_unregister_model(m.elastic, "a", 0));
    WORKS(ferrum_elastic_pool_unregister_model(m.elastic, "b", 0));
    WORKS(ferrum_elastic_pool_destroy(m.elastic, 0));
    WORKS(ferrum_pool_destroy(m.pool, 0));
    for (int i = 1; i < STREAMS; i++)
        WORKS(ferrum_stream_destroy(m.streams[i], 0));
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    WORKS(ferrum_device_get_statistics(m.device, &s));
    if (s.reserved.current != 0 || s.live_blocks.current != 0)
        wrong("memory is left on the device");
    WORKS(ferrum_device_close(m.device, 0));
}

static int program_fails(unsigned long seed) {
    memset(&m, 0, sizeof m);
    m.program = seed;
    m.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    begin();
    for (m.step = 0; m.step < STEPS && !m.failed; m.step++)
        step();
    if (!m.failed)
        end();
    MUST(ferrum_shutdown(m.failed ? FERRUM_FORCE : 0));
    return m.failed;
}

/* test_random_tensors [SEED [PROGRAMS]]: with a seed one program, if no number
 * is given. */
int main(int argc, char **argv) {
    int failed = 0, ran = 0;
    unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    int programs = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : PROGRAMS;
    for (; ran < programs; ran++)
        failed += program_fails(first + (unsigned long)ran);
    printf("%d passed, %d failed\n", ran - failed, failed);
    return failed != 0;
}

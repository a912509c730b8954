/*
 * The header's promises about compute backends of the program: registration,
 * calls and their descriptions, errors, calls of the library from inside,
 * ends, forks, threads, and the manager of a backend. Each test ends with a
 * clean stop of the library, which fails if anything is left.
 */
#include "asserts.h"
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static fixture f;

/* What the functions of the backend do, and what they saw. */
typedef struct backend {
    ferrum_status plan_gives, run_gives, synchronize_gives;
    const char *message;
    uint32_t plan_flags;
    uint64_t workspace_bytes;
    /* The number of runs that succeed before one fails; -1: none fails. */
    int runs_before_failure;
    void (*inside)(struct backend *b, const ferrum_compute_call *call);
    ferrum_registration registration;
    ferrum_compute compute;
    _Atomic int plans, runs, synchronized, released;
    /* Of the last plan and run. */
    char planned[256], ran[256];
    uint64_t input_count, output_count;
    ferrum_tensor_desc inputs[4], outputs[4];
    ferrum_device device;
    ferrum_address workspace;
} backend;

static void note(char *to, const ferrum_compute_call *call) {
    assert_int_equal(call->struct_size, sizeof *call);
    assert_int_equal(strlen(call->attributes_json), call->attributes_bytes);
    snprintf(to, 256, "%s:%s@%u%s", call->domain, call->name, call->opset,
             call->attributes_json);
}

static ferrum_status plan(const ferrum_compute_call *call,
                          ferrum_compute_plan *plan_out, void *user_data) {
    backend *b = user_data;
    b->plans++;
    assert_int_equal(plan_out->struct_size, sizeof *plan_out);
    assert_int_equal(call->workspace, 0);
    for (uint64_t i = 0; i < call->input_count; i++)
        assert_int_equal(call->inputs[i].address, 0);
    note(b->planned, call);
    plan_out->flags = b->plan_flags;
    plan_out->workspace_bytes = b->workspace_bytes;
    if (b->plan_gives != FERRUM_OK && b->message != NULL)
        snprintf(call->message_out, FERRUM_COMPUTE_MESSAGE_MAX, "%s",
                 b->message);
    return b->plan_gives;
}

/* Visits the elements of a tensor of f32 in the order of its shape. */
static float *element(const ferrum_tensor_desc *of, int64_t number) {
    int64_t place = 0;
    for (int axis = (int)of->rank - 1; axis >= 0; axis--) {
        place += number % of->shape[axis] * of->strides[axis];
        number /= of->shape[axis];
    }
    return (float *)(uintptr_t)of->address + place;
}

/* Every output gets the sum of the inputs, or of its first elements. */
static ferrum_status run(const ferrum_compute_call *call, void *user_data) {
    backend *b = user_data;
    int number = b->runs++;
    if (b->inside != NULL)
        b->inside(b, call);
    if (b->run_gives != FERRUM_OK ||
        (b->runs_before_failure >= 0 && number >= b->runs_before_failure)) {
        if (b->message != NULL)
            memcpy(call->message_out, b->message,
                   strnlen(b->message, FERRUM_COMPUTE_MESSAGE_MAX));
        return b->run_gives != FERRUM_OK ? b->run_gives : FERRUM_ERROR_DEVICE;
    }
    for (uint64_t o = 0; o < call->output_count; o++) {
        const ferrum_tensor_desc *to = &call->outputs[o];
        if (to->flags & FERRUM_ELEMENTS_ABSENT)
            continue;
        int64_t count = (int64_t)(to->size_bytes / sizeof(float));
        for (int64_t i = 0; i < count; i++) {
            float sum = 0;
            for (uint64_t k = 0; k < call->input_count; k++)
                if (!(call->inputs[k].flags & FERRUM_ELEMENTS_ABSENT) &&
                    call->inputs[k].dtype == FERRUM_DTYPE_F32)
                    sum += *element(&call->inputs[k], i);
            *element(to, i) = sum;
        }
    }
    return FERRUM_OK;
}

/* For one thread at a time: keeps what the call has. */
static void keep(backend *b, const ferrum_compute_call *call) {
    if (call == NULL)
        return;
    note(b->ran, call);
    b->input_count = call->input_count;
    b->output_count = call->output_count;
    memcpy(b->inputs, call->inputs, call->input_count * sizeof *call->inputs);
    memcpy(b->outputs, call->outputs,
           call->output_count * sizeof *call->outputs);
    b->device = call->device;
    b->workspace = call->workspace;
    if (call->workspace != 0)
        memset((void *)(uintptr_t)call->workspace, 7, call->workspace_bytes);
}

static ferrum_status synchronize(ferrum_device device, void *user_data) {
    backend *b = user_data;
    b->synchronized++;
    assert_int_equal(device.id, f.device.id);
    if (b->inside != NULL)
        b->inside(b, NULL);
    return b->synchronize_gives;
}

static void release(void *user_data) {
    backend *b = user_data;
    b->released++;
    if (b->registration.id != 0) {
        assert_true(ferrum_registration_remove(b->registration) != FERRUM_OK);
        assert_status(ferrum_compute_synchronize(f.compute, 0),
                      FERRUM_ERROR_INVALID_STATE);
    }
}

static const char properties[] =
    "{\"supported_devices\": [\"cpu:0\"], \"supported_dtypes\": [\"f32\"],"
    " \"extra_capabilities\": {\"speed\": 9, \"a\": 1, \"b\": 1, \"c\": 1,"
    " \"d\": 1, \"e\": 1, \"f\": 1}}";

static ferrum_compute_backend described(backend *b) {
    ferrum_compute_backend made = FERRUM_COMPUTE_BACKEND_INIT;
    made.name = "mine";
    made.version = "7";
    made.capabilities_json = properties;
    made.capabilities_bytes = sizeof properties - 1;
    made.plan = plan;
    made.run = run;
    made.synchronize = synchronize;
    made.release = release;
    made.user_data = b;
    return made;
}

static ferrum_registration add(backend *b) {
    ferrum_compute_backend made = described(b);
    ferrum_registration registration;
    assert_ok(ferrum_compute_register(&made, &registration));
    return registration;
}

static ferrum_compute open_as(const char *name) {
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.type = FERRUM_COMPUTE_CUSTOM;
    config.name = name;
    config.device = f.device;
    ferrum_compute compute;
    assert_ok(ferrum_compute_open(&config, &compute));
    return compute;
}

static backend mine;
static ferrum_registration registration;
static ferrum_op op;
static ferrum_tensor x;

static ferrum_op prepare(const char *name, const char *attributes) {
    ferrum_op made;
    assert_ok(ferrum_op_prepare(mine.compute, name, attributes,
                                strlen(attributes), 0, &made));
    return made;
}

static ferrum_tensor make(const float *values, const int64_t *shape,
                          uint64_t count) {
    ferrum_weights_memory memory = {.pool = f.pool};
    ferrum_tensor tensor;
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, shape, count,
                                   f.stream, &tensor));
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(tensor, &desc));
    assert_ok(ferrum_tensor_write(tensor, values, desc.size_bytes, f.stream));
    return tensor;
}

static void holds(ferrum_tensor tensor, const float *want, size_t count) {
    float got[64];
    assert_ok(ferrum_tensor_read(tensor, got, count * sizeof *got, f.stream));
    for (size_t i = 0; i < count; i++)
        if (got[i] != want[i])
            fail_msg("element %zu is %g, not %g", i, got[i], want[i]);
}

static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    memset(&mine, 0, sizeof mine);
    mine.runs_before_failure = -1;
    registration = add(&mine);
    mine.compute = open_as("mine");
    op = prepare("Add", "");
    x = make((float[]){1, 2, 3, 4, 5, 6}, SHAPE(2, 3));
    return 0;
}

static void close_mine(void) {
    assert_ok(ferrum_tensor_destroy(x));
    assert_ok(ferrum_op_destroy(op));
    assert_ok(ferrum_compute_close(mine.compute, 0));
}

static int tear_down(void **state) {
    (void)state;
    close_mine();
    assert_int_equal(mine.released, 0);
    assert_ok(ferrum_registration_remove(registration));
    assert_int_equal(mine.released, 1);
    fixture_end(&f);
    return 0;
}

/* A test that ends the backend itself. */
static int tear_down_rest(void **state) {
    (void)state;
    assert_int_equal(mine.released, 1);
    fixture_end(&f);
    return 0;
}

static ferrum_status add_twice(ferrum_tensor *out) {
    return ferrum_op_run(op, (ferrum_tensor[]){x, x}, 2, out, 1, f.stream);
}

static void test_a_call_is_described(void **state) {
    (void)state;
    mine.inside = keep;
    mine.workspace_bytes = 1000;
    ferrum_tensor out = {0};
    assert_ok(add_twice(&out));
    holds(out, (float[]){2, 4, 6, 8, 10, 12}, 6);
    assert_string_equal(mine.planned, ":Add@14{}");
    assert_string_equal(mine.ran, mine.planned);
    assert_int_equal(mine.device.id, f.device.id);
    assert_int_equal(mine.input_count, 2);
    assert_int_equal(mine.output_count, 1);
    assert_true(mine.workspace != 0 && mine.workspace % 64 == 0);
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(x, &desc));
    assert_int_equal(mine.inputs[1].address, desc.address);
    assert_int_equal(mine.inputs[1].dtype, FERRUM_DTYPE_F32);
    assert_int_equal(mine.inputs[1].rank, 2);
    assert_int_equal(mine.inputs[1].shape[1], 3);
    assert_int_equal(mine.inputs[1].size_bytes, 24);
    assert_int_equal(mine.inputs[1].flags,
                     FERRUM_ELEMENTS_CONTIGUOUS | FERRUM_ELEMENTS_READ_ONLY);
    assert_int_equal(mine.outputs[0].flags, FERRUM_ELEMENTS_CONTIGUOUS);

    /* The plan is kept. Strides of a view are those of the call. */
    assert_ok(add_twice(&out));
    assert_int_equal(mine.plans, 1);
    assert_int_equal(mine.runs, 2);
    ferrum_tensor columns, sum = {0};
    assert_ok(ferrum_tensor_permute(x, (int32_t[]){1, 0}, 2, &columns));
    assert_ok(ferrum_op_run(op, (ferrum_tensor[]){columns, columns}, 2, &sum, 1,
                            f.stream));
    holds(sum, (float[]){2, 8, 4, 10, 6, 12}, 6);
    assert_int_equal(mine.inputs[0].strides[0], 1);
    assert_int_equal(mine.inputs[0].strides[1], 3);
    assert_int_equal(mine.plans, 2);
    assert_ok(ferrum_tensor_destroy(columns));
    assert_ok(ferrum_tensor_destroy(sum));
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_compute_synchronize(mine.compute, FERRUM_WAIT_FOREVER));
    assert_int_equal(mine.synchronized, 1);
}

static void test_attributes_and_absent_operands(void **state) {
    (void)state;
    mine.inside = keep;
    static const struct {
        const char *name, *attributes, *want;
    } ops[] = {
        {"Softmax", "", "{\"axis\":-1}"},
        {"Softmax", "{\"axis\": 1}", "{\"axis\":1}"},
        {"Gelu", "{\"approximate\":\"tanh\"}", "{\"approximate\":\"tanh\"}"},
        {"Transpose", "{\"perm\": [0, 1]}", "{\"perm\":[0,1]}"},
        {"LayerNormalization", "{\"epsilon\": 0.25}",
         "{\"axis\":-1,\"epsilon\":0.25,\"stash_type\":\"f32\"}"},
        {"Cast", "{\"to\": 1}",
         "{\"round_mode\":\"up\",\"saturate\":1,\"to\":\"f32\"}"},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        ferrum_op made = prepare(ops[i].name, ops[i].attributes);
        ferrum_tensor out = {0};
        uint64_t count = strcmp(ops[i].name, "LayerNormalization") ? 1 : 2;
        ferrum_tensor scale = make((float[]){1, 1, 1}, SHAPE(3));
        assert_ok(ferrum_op_run(made, (ferrum_tensor[]){x, scale}, count, &out,
                                1, f.stream));
        char *attributes = strchr(mine.ran, '{');
        assert_string_equal(attributes, ops[i].want);
        assert_int_equal(mine.ran[0], ':');
        assert_memory_equal(mine.ran + 1, ops[i].name, strlen(ops[i].name));
        assert_ok(ferrum_tensor_destroy(scale));
        assert_ok(ferrum_tensor_destroy(out));
        assert_ok(ferrum_op_destroy(made));
    }
    ferrum_op made = prepare("ferrum.linear", "");
    ferrum_tensor square =
                      make((float[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, SHAPE(3, 3)),
                  out = {0};
    assert_ok(ferrum_op_run(made, (ferrum_tensor[]){x, square, {0}}, 3, &out, 1,
                            f.stream));
    assert_int_equal(strncmp(mine.ran, "ferrum:linear@", 14), 0);
    assert_int_equal(mine.input_count, 3);
    assert_int_equal(mine.inputs[2].flags, FERRUM_ELEMENTS_ABSENT);
    assert_int_equal(mine.inputs[2].address, 0);
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_tensor_destroy(square));
    assert_ok(ferrum_op_destroy(made));

    /* An input with a shape is read at its address. */
    made = prepare("Expand", "");
    int64_t shape[] = {2, 2, 3};
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = FERRUM_DTYPE_I64;
    desc.rank = 1;
    desc.shape[0] = 3;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    ferrum_tensor lengths;
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)shape, sizeof shape,
                                 &desc, NULL, NULL, &lengths));
    out.id = 0;
    mine.run_gives = FERRUM_ERROR_CANCELLED;
    assert_status(ferrum_op_run(made, (ferrum_tensor[]){x, lengths}, 2, &out, 1,
                                f.stream),
                  FERRUM_ERROR_CANCELLED);
    assert_int_equal(mine.inputs[1].address, (uintptr_t)shape);
    assert_int_equal(mine.outputs[0].shape[0], 2);
    assert_ok(ferrum_tensor_destroy(lengths));
    assert_ok(ferrum_op_destroy(made));
}

static void test_runs_in_place_in_sequences_and_on_streams(void **state) {
    (void)state;
    ferrum_tensor out = x;
    assert_status(add_twice(&out), FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("in place");
    mine.plan_flags = FERRUM_COMPUTE_PLAN_IN_PLACE;
    ferrum_op placed = prepare("Add", "");
    assert_ok(
        ferrum_op_run(placed, (ferrum_tensor[]){x, x}, 2, &out, 1, f.stream));
    holds(x, (float[]){2, 4, 6, 8, 10, 12}, 6);

    ferrum_sequence sequence;
    ferrum_tensor made = {0}, again = {0};
    mine.workspace_bytes = 64;
    assert_ok(ferrum_sequence_create(mine.compute, &sequence));
    assert_ok(ferrum_sequence_add(sequence, placed, (ferrum_tensor[]){x, x}, 2,
                                  &made, 1));
    assert_ok(ferrum_sequence_add(sequence, placed, (ferrum_tensor[]){made, x},
                                  2, &again, 1));
    assert_ok(ferrum_sequence_run(sequence, f.stream));
    holds(again, (float[]){6, 12, 18, 24, 30, 36}, 6);

    /* Queued work keeps its order and its tensors. */
    gate door = GATE;
    ferrum_tensor queued = {0};
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &door));
    assert_ok(ferrum_sequence_run(sequence, f.stream));
    assert_ok(ferrum_op_run(op, (ferrum_tensor[]){again, x}, 2, &queued, 1,
                            f.stream));
    assert_status(ferrum_compute_close(mine.compute, 0), FERRUM_ERROR_BUSY);
    gate_open(&door);
    holds(queued, (float[]){8, 16, 24, 32, 40, 48}, 6);

    /* The error of queued work comes with the stream. */
    door = (gate)GATE;
    mine.run_gives = FERRUM_ERROR_DEVICE_LOST;
    mine.message = "the card has left";
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &door));
    assert_ok(ferrum_sequence_run(sequence, f.stream));
    gate_open(&door);
    assert_status(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER),
                  FERRUM_ERROR_DEVICE_LOST);
    char text[4096];
    size_t length;
    assert_ok(
        ferrum_compute_status_json(mine.compute, text, sizeof text, &length));
    assert_non_null(strstr(text, "the card has left"));
    mine.run_gives = FERRUM_OK;
    assert_ok(ferrum_sequence_destroy(sequence));
    assert_ok(ferrum_op_destroy(placed));
    const ferrum_tensor all[] = {made, again, queued};
    for (size_t i = 0; i < 3; i++)
        assert_ok(ferrum_tensor_destroy(all[i]));

    ferrum_tensor_desc in[2] = {FERRUM_TENSOR_DESC_INIT,
                                FERRUM_TENSOR_DESC_INIT},
                       result = FERRUM_TENSOR_DESC_INIT;
    uint64_t bytes;
    mine.workspace_bytes = 12345;
    assert_ok(ferrum_tensor_describe(x, &in[0]));
    assert_ok(ferrum_tensor_describe(x, &in[1]));
    assert_ok(ferrum_op_infer(op, in, 2, &result, 1, &bytes));
    assert_int_equal(bytes, 12345);
    ferrum_weights_memory memory = {0};
    ferrum_tensor packed;
    assert_status(ferrum_op_pack(op, 1, x, &memory, f.stream, &packed),
                  FERRUM_ERROR_UNSUPPORTED);
}

static void test_the_lists_have_it(void **state) {
    (void)state;
    char text[1 << 16];
    size_t length;
    const char *need = "{\"extra_requirements\": {\"speed\": 8},"
                       " \"required_devices\": [\"cpu:0\"]}";
    assert_ok(ferrum_compute_find_json(need, strlen(need), text, sizeof text,
                                       &length));
    assert_non_null(strstr(text, "\"best\":\"mine\""));
    need = "{\"extra_requirements\": {\"speed\": 10}}";
    assert_ok(ferrum_compute_find_json(need, strlen(need), text, sizeof text,
                                       &length));
    assert_non_null(strstr(text, "\"best\":\"\""));
    assert_non_null(strstr(text, "is \\\"9\\\""));
    char *list = text_of(ferrum_compute_backends_json);
    assert_non_null(strstr(list,
                           "{\"name\":\"mine\",\"backend_type\":\"custom\""
                           ",\"available\":true,\"version\":\"7\""));
    free(list);
    assert_ok(ferrum_compute_capabilities_json(mine.compute, text, sizeof text,
                                               &length));
    assert_non_null(strstr(text, "\"supported_dtypes\":[\"f32\"]"));
    list = text_of(ferrum_leak_report_json);
    assert_non_null(strstr(list, "compute backend \\\"mine\\\""));
    free(list);
}

static void test_wrong_registrations(void **state) {
    (void)state;
    backend other = {.runs_before_failure = -1};
    ferrum_compute_backend made;
    ferrum_registration out = {5};
#define REFUSED(change, want, says)                            \
    made = described(&other);                                  \
    made.name = "other";                                       \
    change;                                                    \
    assert_status(ferrum_compute_register(&made, &out), want); \
    assert_message(says);                                      \
    assert_int_equal(out.id, 0)
#define CAPABLE(text) \
    made.capabilities_json = text, made.capabilities_bytes = strlen(text)
    REFUSED(made.run = NULL, FERRUM_ERROR_NULL_POINTER, "backend->run is NULL");
    REFUSED(made.name = "mine", FERRUM_ERROR_ALREADY_EXISTS, "mine");
    REFUSED(made.name = "cpu", FERRUM_ERROR_ALREADY_EXISTS, "cpu");
    REFUSED(made.name = NULL, FERRUM_ERROR_INVALID_ARGUMENT, "0 bytes");
    REFUSED(made.name = "a b", FERRUM_ERROR_INVALID_ARGUMENT, "' '");
    REFUSED(made.name = "\xff", FERRUM_ERROR_INVALID_ARGUMENT, "UTF-8");
    REFUSED(made.name = properties, FERRUM_ERROR_INVALID_ARGUMENT, "63");
    REFUSED(made.version = properties, FERRUM_ERROR_INVALID_ARGUMENT,
            "backend->version");
    REFUSED(made.reserved = 1, FERRUM_ERROR_INVALID_STRUCT, "reserved");
    REFUSED(made.struct_size = 4, FERRUM_ERROR_INVALID_STRUCT, "struct_size");
    REFUSED(made.struct_size = 79, FERRUM_ERROR_INVALID_STRUCT, "struct_size");
    REFUSED(made.capabilities_json = NULL, FERRUM_ERROR_NULL_POINTER,
            "capabilities_json");
    REFUSED(made.capabilities_bytes = 0, FERRUM_ERROR_INVALID_ARGUMENT,
            "capabilities_bytes");
    REFUSED(made.capabilities_bytes = UINT64_MAX, FERRUM_ERROR_INVALID_ARGUMENT,
            "capabilities_bytes");
    REFUSED(CAPABLE("[]"), FERRUM_ERROR_INVALID_FORMAT, "capabilities");
    REFUSED(CAPABLE("{}"), FERRUM_ERROR_INVALID_CONFIG, "supported_devices");
    REFUSED(CAPABLE("{\"supported_devices\": [\"cpu:x\"]}"),
            FERRUM_ERROR_INVALID_FORMAT, "cpu:x");
    REFUSED(CAPABLE("{\"supported_devices\": [\"cpu:0\"], \"speed\": 1}"),
            FERRUM_ERROR_INVALID_FORMAT, "speed");
    REFUSED(CAPABLE("{\"supported_devices\": [\"cpu:0\"],"
                    " \"max_tensor_dims\": 99}"),
            FERRUM_ERROR_INVALID_CONFIG, "max_tensor_dims");
    assert_status(ferrum_compute_register(NULL, &out),
                  FERRUM_ERROR_NULL_POINTER);
    assert_status(ferrum_compute_register(&made, NULL),
                  FERRUM_ERROR_NULL_POINTER);
    assert_int_equal(other.released, 0);

    /* A struct of an older program ends before its further functions. */
    made = described(&other);
    made.name = "older";
    made.struct_size = offsetof(ferrum_compute_backend, synchronize);
    made.plan = NULL;
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    assert_ok(ferrum_compute_register(&made, &out));
    config.type = FERRUM_COMPUTE_CUSTOM;
    config.name = "older";
    config.device = f.other_device;
    ferrum_compute compute;
    assert_status(ferrum_compute_open(&config, &compute),
                  FERRUM_ERROR_UNSUPPORTED_DEVICE);
    assert_message("older");
    compute = open_as("older");
    assert_ok(ferrum_compute_synchronize(compute, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_compute_close(compute, 0));
    assert_ok(ferrum_registration_remove(out));
    config.name = "older";
    config.device = f.device;
    assert_status(ferrum_compute_open(&config, &compute),
                  FERRUM_ERROR_NOT_FOUND);
}

static void test_errors_of_the_functions(void **state) {
    (void)state;
    static char endless[FERRUM_COMPUTE_MESSAGE_MAX + 1];
    memset(endless, 'z', FERRUM_COMPUTE_MESSAGE_MAX);
    const struct {
        ferrum_status gives, want;
        const char *message, *says;
    } wrong[] = {
        {FERRUM_ERROR_DEVICE, FERRUM_ERROR_DEVICE, "no card", "no card"},
        {FERRUM_ERROR_DEVICE, FERRUM_ERROR_DEVICE, NULL, "FERRUM_ERROR_DEVICE"},
        {FERRUM_ERROR_BUSY, FERRUM_ERROR_BUSY, "\xff!", "?!"},
        {FERRUM_ERROR_TIMEOUT, FERRUM_ERROR_TIMEOUT, endless, "zzz"},
        {1, FERRUM_ERROR_INTERNAL, "odd", "it returned 1"},
        {INT32_MIN, FERRUM_ERROR_INTERNAL, NULL, "no status"},
        {-1000, FERRUM_ERROR_INTERNAL, NULL, "-1000"},
    };
    ferrum_manager manager;
    ferrum_statistics before = FERRUM_STATISTICS_INIT, after = before;
    assert_ok(ferrum_compute_get_manager(mine.compute, &manager));
    assert_ok(ferrum_manager_get_statistics(manager, &before));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ferrum_tensor out = {0};
        mine.message = wrong[i].message;
        mine.run_gives = wrong[i].gives;
        assert_status(add_twice(&out), wrong[i].want);
        assert_message("backend \"mine\": run of Add: ");
        assert_message(wrong[i].says);
        assert_int_equal(out.id, 0);
        mine.run_gives = FERRUM_OK;
        mine.plan_gives = wrong[i].gives;
        if (wrong[i].message != endless && wrong[i].message != NULL) {
            ferrum_op fresh = prepare("Add", "");
            assert_status(ferrum_op_run(fresh, (ferrum_tensor[]){x, x}, 2, &out,
                                        1, f.stream),
                          wrong[i].want);
            assert_message("backend \"mine\": plan of Add: ");
            assert_message(wrong[i].says);
            assert_ok(ferrum_op_destroy(fresh));
        }
        mine.plan_gives = FERRUM_OK;
        mine.synchronize_gives = wrong[i].gives;
        assert_status(
            ferrum_compute_synchronize(mine.compute, FERRUM_WAIT_FOREVER),
            wrong[i].want);
        assert_message("backend \"mine\": synchronize: ");
        mine.synchronize_gives = FERRUM_OK;
    }
    /* The n-th run fails. */
    for (int n = 0; n < 3; n++) {
        ferrum_tensor out = {0};
        mine.runs_before_failure = mine.runs + n;
        for (int i = 0; i < n; i++) {
            assert_ok(add_twice(&out));
            assert_ok(ferrum_tensor_destroy(out));
            out.id = 0;
        }
        assert_status(add_twice(&out), FERRUM_ERROR_DEVICE);
        assert_int_equal(out.id, 0);
    }
    mine.runs_before_failure = -1;
    mine.plan_flags = 0x80000001;
    ferrum_op fresh = prepare("Add", "");
    ferrum_tensor out = {0};
    assert_status(
        ferrum_op_run(fresh, (ferrum_tensor[]){x, x}, 2, &out, 1, f.stream),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("plan_out->flags is 0x80000001");
    mine.plan_flags = 0;
    mine.workspace_bytes = UINT64_MAX;
    assert_status(
        ferrum_op_run(fresh, (ferrum_tensor[]){x, x}, 2, &out, 1, f.stream),
        FERRUM_ERROR_OVERFLOW);
    assert_ok(ferrum_op_destroy(fresh));
    fresh = prepare("Add", "");
    mine.workspace_bytes = 4 * GIB;
    assert_status(
        ferrum_op_run(fresh, (ferrum_tensor[]){x, x}, 2, &out, 1, f.stream),
        FERRUM_ERROR_OUT_OF_MEMORY);
    mine.workspace_bytes = 0;
    assert_ok(ferrum_op_destroy(fresh));
    assert_ok(ferrum_manager_get_statistics(manager, &after));
    assert_int_equal(after.live_blocks.current, before.live_blocks.current);
    assert_ok(add_twice(&out));
    assert_ok(ferrum_tensor_destroy(out));
}

/* Calls of the library from a function of the backend. */
static void call_everything(backend *b, const ferrum_compute_call *call) {
    ferrum_tensor out = {0}, wrapped;
    assert_status(
        ferrum_op_run(f.op, (ferrum_tensor[]){x, x}, 2, &out, 1, f.stream),
        FERRUM_ERROR_INVALID_STATE);
    assert_message("host function");
    assert_status(ferrum_compute_close(b->compute, 0),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_compute_close(b->compute, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_compute_synchronize(b->compute, 0),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_sequence_run(f.sequence, f.stream),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_device_close(f.device, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_shutdown(FERRUM_FORCE), FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_registration_remove(registration), FERRUM_ERROR_BUSY);
    assert_message("open 1 time");
    ferrum_manager manager;
    assert_ok(ferrum_compute_get_manager(b->compute, &manager));
    assert_status(ferrum_manager_destroy(manager, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    backend other = {0};
    ferrum_compute_backend made = described(&other);
    ferrum_registration second;
    assert_status(ferrum_compute_register(&made, &second),
                  FERRUM_ERROR_ALREADY_EXISTS);
    made.name = "second";
    assert_ok(ferrum_compute_register(&made, &second));
    ferrum_compute inner = open_as("second");
    assert_status(ferrum_registration_remove(second), FERRUM_ERROR_BUSY);
    ferrum_op prepared;
    assert_ok(ferrum_op_prepare(inner, "Add", "", 0, 0, &prepared));
    assert_ok(ferrum_op_destroy(prepared));
    assert_status(ferrum_compute_close(inner, 0), FERRUM_ERROR_INVALID_STATE);
    mine.registration = second; /* closed after the run */
    mine.input_count = inner.id;
    if (call == NULL)
        return;
    ferrum_tensor_desc of = call->inputs[0];
    assert_ok(ferrum_tensor_wrap(call->device, of.address, of.size_bytes, &of,
                                 NULL, NULL, &wrapped));
    assert_status(ferrum_tensor_fill(wrapped, 1, f.stream),
                  FERRUM_ERROR_PERMISSION_DENIED);
    assert_ok(ferrum_tensor_destroy(wrapped));
}

static void close_inner(void) {
    assert_ok(ferrum_compute_close((ferrum_compute){mine.input_count}, 0));
    ferrum_registration second = mine.registration;
    mine.registration.id = 0;
    assert_ok(ferrum_registration_remove(second));
}

static void test_calls_from_inside(void **state) {
    (void)state;
    ferrum_tensor out = {0};
    mine.inside = call_everything;
    assert_ok(add_twice(&out));
    close_inner();
    assert_ok(ferrum_compute_synchronize(mine.compute, FERRUM_WAIT_FOREVER));
    close_inner();
    gate door = GATE;
    ferrum_tensor queued = {0};
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &door));
    assert_ok(
        ferrum_op_run(op, (ferrum_tensor[]){out, x}, 2, &queued, 1, f.stream));
    gate_open(&door);
    holds(queued, (float[]){3, 6, 9, 12, 15, 18}, 6);
    close_inner();
    mine.inside = NULL;
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_tensor_destroy(queued));
}

static void end_own_things(backend *b, const ferrum_compute_call *call) {
    (void)call;
    assert_ok(ferrum_op_destroy(op));
    assert_ok(ferrum_tensor_destroy(x));
    b->inside = NULL;
}

/* The operation and the inputs of a run may end inside of it. */
static void test_ends_from_inside(void **state) {
    (void)state;
    ferrum_tensor out = {0};
    mine.inside = end_own_things;
    assert_ok(add_twice(&out));
    holds(out, (float[]){2, 4, 6, 8, 10, 12}, 6);
    assert_status(add_twice(&out), FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_tensor_destroy(out));
    x = make((float[]){1, 2, 3, 4, 5, 6}, SHAPE(2, 3));
    op = prepare("Add", "");
}

static void test_ends(void **state) {
    (void)state;
    assert_status(ferrum_registration_remove(registration), FERRUM_ERROR_BUSY);
    assert_message("backend \"mine\" is open 1 time");
    ferrum_tensor out = {0};
    assert_ok(add_twice(&out));
    assert_ok(ferrum_compute_close(mine.compute, FERRUM_FORCE));
    ferrum_tensor none = {0};
    assert_status(add_twice(&none), FERRUM_ERROR_INVALID_HANDLE);
    assert_int_equal(mine.runs, 1);
    assert_ok(ferrum_op_destroy(op));
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_tensor_destroy(x));
    mine.registration = registration; /* release tries to remove it */
    assert_ok(ferrum_registration_remove(registration));
    assert_int_equal(mine.released, 1);
    assert_status(ferrum_registration_remove(registration),
                  FERRUM_ERROR_INVALID_HANDLE);
    mine.registration.id = 0;
}

static void test_a_forced_stop(void **state) {
    (void)state;
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_BUSY);
    assert_message("compute backend \"mine\"");
    assert_int_equal(mine.released, 0);
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    assert_int_equal(mine.released, 1);
    assert_status(ferrum_registration_remove(registration),
                  FERRUM_ERROR_NOT_INITIALIZED);
    fixture_make(&f);
    assert_status(ferrum_registration_remove(registration),
                  FERRUM_ERROR_INVALID_HANDLE);
    /* The name is free. */
    backend again = {.runs_before_failure = -1};
    assert_ok(ferrum_registration_remove(add(&again)));
    assert_int_equal(again.released, 1);
}

static void fork_here(backend *b, const ferrum_compute_call *call) {
    pid_t child = fork();
    if (child == 0) {
        ferrum_tensor out = {0};
        int good =
            ferrum_op_run(f.op, (ferrum_tensor[]){x, x}, 2, &out, 1,
                          f.stream) == FERRUM_ERROR_FORKED &&
            ferrum_registration_remove(registration) == FERRUM_ERROR_FORKED &&
            call->inputs[0].address != 0;
        _exit(good ? 0 : 1);
    }
    int state = 1;
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_int_equal(state, 0);
    b->inside = NULL;
}

static void test_a_fork_inside(void **state) {
    (void)state;
    ferrum_tensor out = {0};
    mine.inside = fork_here;
    assert_ok(add_twice(&out));
    holds(out, (float[]){2, 4, 6, 8, 10, 12}, 6);
    assert_ok(ferrum_tensor_destroy(out));
}

/* A run that waits in its function. */
static gate inside_gate;
static _Atomic int is_inside;
static void wait_inside(backend *b, const ferrum_compute_call *call) {
    (void)b;
    (void)call;
    is_inside = 1;
    gate_wait(&inside_gate);
}

static void *run_once(void *result) {
    ferrum_tensor out = {0};
    *(ferrum_status *)result = add_twice(&out);
    if (out.id != 0)
        ferrum_tensor_destroy(out);
    return NULL;
}

static void *close_by_force(void *result) {
    *(ferrum_status *)result = ferrum_compute_close(mine.compute, FERRUM_FORCE);
    return NULL;
}

static void *stop_by_force(void *result) {
    *(ferrum_status *)result = ferrum_shutdown(FERRUM_FORCE);
    return NULL;
}

static void end_during_a_run(void *(*end)(void *)) {
    pthread_t runner, closer;
    ferrum_status ran = 1, closed = 1;
    inside_gate = (gate)GATE;
    is_inside = 0;
    mine.inside = wait_inside;
    assert_int_equal(pthread_create(&runner, NULL, run_once, &ran), 0);
    while (!is_inside)
        usleep(1000);
    assert_status(ferrum_registration_remove(registration), FERRUM_ERROR_BUSY);
    assert_status(ferrum_compute_close(mine.compute, 0), FERRUM_ERROR_BUSY);
    assert_int_equal(pthread_create(&closer, NULL, end, &closed), 0);
    usleep(30000);
    assert_int_equal(closed, 1); /* it waits for the run */
    assert_int_equal(mine.released, 0);
    gate_open(&inside_gate);
    assert_int_equal(pthread_join(runner, NULL), 0);
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_ok(closed);
    assert_true(ran == FERRUM_OK || ran == FERRUM_ERROR_INVALID_HANDLE ||
                ran == FERRUM_ERROR_NOT_INITIALIZED);
}

static void test_a_forced_close_waits_for_a_run(void **state) {
    (void)state;
    end_during_a_run(close_by_force);
    assert_ok(ferrum_op_destroy(op));
    assert_ok(ferrum_tensor_destroy(x));
    assert_ok(ferrum_registration_remove(registration));
}

static void test_a_forced_stop_waits_for_a_run(void **state) {
    (void)state;
    end_during_a_run(stop_by_force);
    assert_int_equal(mine.released, 1);
    fixture_make(&f);
}

/* Threads register, open, run, close and remove under the same names. */
static void *churn(void *seed) {
    char name[16];
    for (int i = 0; i < 60; i++) {
        backend own = {.runs_before_failure = -1};
        ferrum_compute_backend made = described(&own);
        snprintf(name, sizeof name, "n%d", (i + (int)(intptr_t)seed) % 3);
        made.name = name;
        ferrum_registration handle;
        ferrum_status status = ferrum_compute_register(&made, &handle);
        if (status == FERRUM_ERROR_ALREADY_EXISTS)
            continue;
        MUST(status);
        ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
        config.type = FERRUM_COMPUTE_CUSTOM;
        config.name = name;
        config.device = f.device;
        ferrum_compute compute;
        MUST(ferrum_compute_open(&config, &compute));
        ferrum_op added;
        MUST(ferrum_op_prepare(compute, "Add", "", 0, 0, &added));
        ferrum_tensor out = {0};
        MUST(ferrum_op_run(added, (ferrum_tensor[]){x, x}, 2, &out, 1,
                           (ferrum_stream){0}));
        MUST(ferrum_tensor_destroy(out));
        MUST(ferrum_op_destroy(added));
        if (ferrum_registration_remove(handle) != FERRUM_ERROR_BUSY)
            return "removed while open";
        MUST(ferrum_compute_close(compute, 0));
        MUST(ferrum_registration_remove(handle));
        if (own.released != 1)
            return "not released";
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i),
                         0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        if (wrong != NULL)
            fail_msg("%s", (char *)wrong);
    }
}

static void test_the_manager_of_a_backend(void **state) {
    (void)state;
    ferrum_manager manager, same, of_cpu;
    assert_ok(ferrum_compute_get_manager(mine.compute, &manager));
    assert_ok(ferrum_compute_get_manager(mine.compute, &same));
    assert_int_equal(manager.id, same.id);
    assert_ok(ferrum_compute_get_manager(f.compute, &of_cpu));
    assert_true(of_cpu.id != manager.id);
    ferrum_tensor out = {0};
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_manager_get_statistics(manager, &books));
    uint64_t blocks = books.live_blocks.current;
    assert_ok(add_twice(&out));
    assert_ok(ferrum_manager_get_statistics(manager, &books));
    assert_int_equal(books.live_blocks.current, blocks + 1);
    assert_ok(ferrum_tensor_destroy(out));
    assert_status(ferrum_manager_destroy(manager, 0),
                  FERRUM_ERROR_INVALID_STATE);
    assert_message("belongs to the compute backend mine");
    assert_status(ferrum_manager_destroy(manager, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    assert_status(
        ferrum_manager_configure_pool(manager, FERRUM_MEMORY_GENERAL, &config),
        FERRUM_ERROR_INVALID_STATE);

    /* A block of the program keeps the backend open, and is reported. */
    ferrum_memory block;
    assert_ok(ferrum_manager_alloc(manager, 1000, &block));
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    assert_ok(ferrum_memory_get_handle_info(block, &info));
    assert_int_equal(info.manager.id, manager.id);
    ferrum_compute second = open_as("mine");
    ferrum_manager other;
    assert_ok(ferrum_compute_get_manager(second, &other));
    ferrum_memory kept;
    assert_ok(ferrum_manager_alloc(other, 77, &kept));
    assert_status(ferrum_compute_close(second, 0), FERRUM_ERROR_BUSY);
    char *report = text_of(ferrum_leak_report_json);
    assert_non_null(strstr(report, "\"bytes\":77"));
    assert_null(strstr(report, "\"kind\":\"manager\",\"device\":\"cpu:0\","
                               "\"handle\":0"));
    free(report);
    assert_ok(ferrum_compute_close(second, FERRUM_FORCE));
    assert_status(ferrum_manager_get_statistics(other, &books),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_status(ferrum_memory_free(kept), FERRUM_ERROR_INVALID_HANDLE);
    assert_status(ferrum_manager_destroy(other, 0),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_memory_free(block));
    char *snapshot = text_of(ferrum_snapshot_json);
    assert_non_null(strstr(snapshot, "\"managers\":["));
    free(snapshot);
    assert_status(
        ferrum_compute_get_manager((ferrum_compute){f.dead[COMPUTE]}, &other),
        FERRUM_ERROR_INVALID_HANDLE);
    assert_int_equal(other.id, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define ENDS(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_rest)
        TEST(test_a_call_is_described),
        TEST(test_attributes_and_absent_operands),
        TEST(test_runs_in_place_in_sequences_and_on_streams),
        TEST(test_the_lists_have_it),
        TEST(test_wrong_registrations),
        TEST(test_errors_of_the_functions),
        TEST(test_calls_from_inside),
        TEST(test_ends_from_inside),
        ENDS(test_ends),
        ENDS(test_a_forced_stop),
        TEST(test_a_fork_inside),
        ENDS(test_a_forced_close_waits_for_a_run),
        ENDS(test_a_forced_stop_waits_for_a_run),
        TEST(test_threads),
        TEST(test_the_manager_of_a_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

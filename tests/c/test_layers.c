/*
 * The header's promises about layer types of the program: registration, layers in
 * models, single operations, parameters, errors, calls of the library from inside,
 * ends, and threads. Each test ends with a clean stop of the library, which fails
 * if anything is left.
 */
#include "asserts.h"
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fixture f;
/* The backend of models: that of the fixture, or one of ONNX Runtime; 0: that is
 * not installed. */
static ferrum_compute engine;

static void needs_engine(void) {
    if (engine.id == 0)
        skip();
}

/* What the functions of the layer do, and what they saw. The layer computes
 * out = in * factor + gain, with factor from the configuration. */
typedef struct layer {
    ferrum_status infer_gives, parameters_gives, initialize_gives, plan_gives,
        forward_gives;
    const char *message, *list;
    uint64_t workspace_bytes;
    /* Changes the output that was inferred. */
    void (*changes)(ferrum_tensor_desc *output);
    void (*inside)(struct layer *l, const ferrum_compute_call *call);
    ferrum_registration registration;
    ferrum_executor executor;
    ferrum_layer_list_fn take;
    uint64_t list_number;
    _Atomic int infers, forwards, released, now, most;
    char config[256];
    uint64_t input_count, workspace;
    int is_in_place;
} layer;

static ferrum_status said(layer *l, const ferrum_compute_call *call,
                          ferrum_status gives) {
    assert_int_equal(call->struct_size, sizeof *call);
    assert_string_equal(call->domain, "mine");
    assert_string_equal(call->name, "scale");
    assert_int_equal(strlen(call->attributes_json), call->attributes_bytes);
    if (gives != FERRUM_OK && l->message != NULL)
        snprintf(call->message_out, FERRUM_COMPUTE_MESSAGE_MAX, "%s",
                 l->message);
    return gives;
}

static ferrum_status infer(const ferrum_compute_call *call,
                           ferrum_tensor_desc *outputs_out, void *user_data) {
    layer *l = user_data;
    l->infers++;
    assert_int_equal(call->output_count, 1);
    assert_ptr_equal(call->outputs, outputs_out);
    assert_int_equal(call->inputs[0].address, 0);
    assert_int_equal(outputs_out[0].rank, call->inputs[0].rank);
    if (l->changes != NULL)
        l->changes(&outputs_out[0]);
    return said(l, call, l->infer_gives);
}

static ferrum_status parameters(const ferrum_compute_call *call,
                                ferrum_layer_list_fn take, uint64_t list,
                                void *user_data) {
    layer *l = user_data;
    assert_int_equal(call->input_count, 0);
    l->take = take;
    l->list_number = list;
    if (l->list != NULL)
        assert_ok(take(list, l->list, strlen(l->list)));
    return said(l, call, l->parameters_gives);
}

static ferrum_status initialize(const ferrum_compute_call *call,
                                const char *parameter, void *user_data) {
    layer *l = user_data;
    assert_string_equal(parameter, "gain");
    assert_int_equal(call->output_count, 1);
    float *gain = (float *)(uintptr_t)call->outputs[0].address;
    for (int64_t i = 0; i < call->outputs[0].shape[0]; i++)
        gain[i] = (float)(i + 1) / 4;
    return said(l, call, l->initialize_gives);
}

static ferrum_status plan(const ferrum_compute_call *call,
                          ferrum_compute_plan *plan_out, void *user_data) {
    layer *l = user_data;
    plan_out->workspace_bytes = l->workspace_bytes;
    return said(l, call, l->plan_gives);
}

static ferrum_status forward(const ferrum_compute_call *call, void *user_data) {
    layer *l = user_data;
    int now = ++l->now;
    if (now > l->most)
        l->most = now;
    l->forwards++;
    snprintf(l->config, sizeof l->config, "%s", call->attributes_json);
    l->input_count = call->input_count;
    l->workspace = call->workspace;
    if (call->workspace != 0)
        memset((void *)(uintptr_t)call->workspace, 7, call->workspace_bytes);
    const ferrum_tensor_desc *x = &call->inputs[0], *y = &call->outputs[0];
    l->is_in_place = x->address == y->address;
    assert_true(x->flags & FERRUM_ELEMENTS_READ_ONLY);
    const char *at = strstr(call->attributes_json, "\"factor\":");
    float factor = at != NULL ? strtof(at + 9, NULL) : 1;
    const float *in = (const float *)(uintptr_t)x->address;
    float *out = (float *)(uintptr_t)y->address;
    const float *gain = NULL;
    int64_t width = x->shape[x->rank - 1];
    if (call->input_count > 1)
        gain = (const float *)(uintptr_t)call->inputs[1].address;
    for (uint64_t i = 0; i < y->size_bytes / sizeof(float); i++)
        out[i] = in[i] * factor + (gain ? gain[i % (uint64_t)width] : 0);
    if (l->inside != NULL)
        l->inside(l, call);
    l->now--;
    return said(l, call, l->forward_gives);
}

static void release(void *user_data) { ((layer *)user_data)->released++; }

static ferrum_layer raw(layer *l) {
    ferrum_layer made = FERRUM_LAYER_INIT;
    made.type = "mine.scale";
    made.config_json = "{\"factor\":2,\"other\":[1]}";
    made.config_bytes = strlen(made.config_json);
    made.infer = infer;
    made.parameters = parameters;
    made.initialize = initialize;
    made.plan = plan;
    made.forward = forward;
    made.release = release;
    made.user_data = l;
    return made;
}

static void put(layer *l, uint32_t flags) {
    ferrum_layer made = raw(l);
    made.flags = flags;
    assert_ok(ferrum_layer_register(&made, &l->registration));
}

static void take_away(layer *l) {
    assert_ok(ferrum_registration_remove(l->registration));
    assert_int_equal(l->released, 1);
}

static const char GAIN[] =
    "[{\"name\":\"gain\",\"shape\":[4],\"dtype\":\"f32\"}]";

#define T(name, shape) \
    "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"f32\"}"
/* x -> s (mine.scale) -> r (Relu). The arguments are the parameters of the
 * model, further inputs of s, its parameters and its configuration. */
static const char GRAPH[] =
    "{\"metadata\":{\"name\":\"m\",\"version\":\"1\",\"model_type\":\"m\","
    "\"architecture_family\":\"custom\"},\"architecture\":{\"name\":\"m\","
    "\"dimensions\":{\"vocab_size\":1,\"hidden_size\":4,\"num_layers\":1,"
    "\"num_heads\":1,\"max_sequence_length\":1}},\"parameters\":[%s],"
    "\"layers\":[{\"name\":\"x\",\"layer_type\":\"Input\",\"inputs\":[],"
    "\"parameters\":[],\"outputs\":[" T(
        "x",
        "[-1,4]") "]},"
                  "{\"name\":\"s\",\"layer_type\":\"mine.scale\",\"inputs\":"
                  "[" T("in", "[-1,4]") "%s],\"outputs\":[" T(
                      "out",
                      "[-1,4]") "],"
                                "\"parameters\":[%s],\"config\":%s},"
                                "{\"name\":\"r\",\"layer_type\":\"Relu\","
                                "\"inputs\":[" T(
                                    "X",
                                    "[-1,4]") "],\"parameters\":[],\"outputs\":"
                                              "[" T("Y",
                                                    "[-1,4]") "]}],"
                                                              "\"graph\":{"
                                                              "\"inputs\":["
                                                              "\"x\"],"
                                                              "\"outputs\":["
                                                              "\"r\"],"
                                                              "\"nodes\":["
                                                              "{\"id\":\"x\","
                                                              "\"layer_name\":"
                                                              "\"x\"},{\"id\":"
                                                              "\"s\",\"layer_"
                                                              "name\":\"s\"},"
                                                              "{\"id\":\"r\","
                                                              "\"layer_name\":"
                                                              "\"r\"}],"
                                                              "\"edges\":[{"
                                                              "\"source\":"
                                                              "\"x\","
                                                              "\"target\":"
                                                              "\"s\"},{"
                                                              "\"source\":"
                                                              "\"s\","
                                                              "\"target\":"
                                                              "\"r\"}]}}";

static const char *definition(const char *model, const char *inputs,
                              const char *names, const char *config) {
    static char text[1 << 14];
    snprintf(text, sizeof text, GRAPH, model, inputs, names, config);
    return text;
}

static ferrum_status build(const char *text, ferrum_executor *executor) {
    ferrum_build_request r = FERRUM_BUILD_REQUEST_INIT;
    r.model = "layered";
    r.definition_json = text;
    r.definition_bytes = strlen(text);
    r.compute = engine;
    r.elastic_pool = f.models;
    return ferrum_executor_build(&r, executor);
}

static ferrum_tensor make(const float *values, const int64_t *shape,
                          uint64_t rank) {
    ferrum_weights_memory memory = {.pool = f.pool};
    ferrum_tensor tensor;
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, shape, rank,
                                   f.stream, &tensor));
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(tensor, &desc));
    assert_ok(ferrum_tensor_write(tensor, values, desc.size_bytes, f.stream));
    return tensor;
}

static const float ROWS[8] = {1, -2, 3, -4, 5, 6, -7, 8};

static ferrum_status run(ferrum_executor executor, float *y) {
    ferrum_tensor x = make(ROWS, SHAPE(2, 4));
    ferrum_named_tensor in = {"x", x}, out = {"r", {0}};
    ferrum_status status = ferrum_executor_run(executor, &in, 1, &out, 1,
                                               f.stream, FERRUM_WAIT_FOREVER);
    if (status == FERRUM_OK) {
        assert_ok(
            ferrum_tensor_read(out.tensor, y, 8 * sizeof(float), f.stream));
        assert_ok(ferrum_tensor_destroy(out.tensor));
    }
    assert_ok(ferrum_tensor_destroy(x));
    return status;
}

static void expect(const float *y, float factor, int has_gain) {
    for (int i = 0; i < 8; i++) {
        float sum = ROWS[i] * factor + (has_gain ? (float)(i % 4 + 1) / 4 : 0);
        assert_true(y[i] == (sum > 0 ? sum : 0));
    }
}

static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    engine = f.compute;
    return 0;
}
static int set_up_runtime(void **state) {
    set_up(state);
    engine.id = 0;
    if (!fixture_loads_onnx_runtime())
        return 0;
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = f.device;
    config.type = FERRUM_COMPUTE_ONNX_RUNTIME;
    config.threads = 1;
    assert_ok(ferrum_compute_open(&config, &engine));
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    if (engine.id != 0 && engine.id != f.compute.id)
        assert_ok(ferrum_compute_close(engine, 0));
    fixture_end(&f);
    return 0;
}

static void test_a_model_computes_a_layer(void **state) {
    (void)state;
    needs_engine();
    layer l = {.list = GAIN, .workspace_bytes = 1000};
    put(&l, 0);
    ferrum_executor executor;
    assert_ok(build(definition("", "", "", "{\"factor\":3}"), &executor));
    float y[8], again[8];
    assert_ok(run(executor, y));
    expect(y, 3, 1);
    assert_string_equal(l.config, "{\"factor\":3,\"other\":[1]}");
    assert_int_equal(l.input_count, 2);
    assert_int_equal(l.workspace % 64, 0);
    assert_true(l.workspace != 0);
    assert_false(l.is_in_place);
    char text[1 << 15];
    size_t length;
    if (engine.id == f.compute.id) { /* a session has no steps */
        const char *dims = "{\"x.0\":5}";
        assert_ok(ferrum_executor_plan_json(executor, dims, strlen(dims), text,
                                            sizeof text, &length));
        assert_non_null(strstr(text, "\"operation\":\"mine.scale\",\"workspace_"
                                     "bytes\":1000"));
    }
    assert_ok(
        ferrum_executor_definition_json(executor, text, sizeof text, &length));
    assert_non_null(strstr(text, "\"s.gain\""));
    assert_ok(ferrum_executor_sleep(executor, NULL, NULL));
    assert_ok(ferrum_executor_wake(executor, NULL, NULL));
    assert_ok(run(executor, again));
    assert_memory_equal(y, again, sizeof y);
    assert_ok(ferrum_layers_json(text, sizeof text, &length));
    assert_non_null(strstr(text, "\"layer_type\":\"mine.scale\""));
    assert_non_null(strstr(text, "\"uses\":1"));
    assert_status(ferrum_registration_remove(l.registration),
                  FERRUM_ERROR_BUSY);
    assert_message("mine.scale");
    assert_int_equal(l.released, 0);
    assert_ok(ferrum_executor_destroy(executor, 0));
    take_away(&l);
    assert_ok(ferrum_layers_json(text, sizeof text, &length));
    assert_string_equal(text, "{\"layers\":[]}");
    /* The definition has no such layer any more. */
    assert_status(build(definition("", "", "", "{}"), &executor),
                  FERRUM_ERROR_INVALID_CONFIG);
    assert_message("mine.scale");
}

static void test_computes_in_place_if_it_may(void **state) {
    (void)state;
    layer l = {0};
    put(&l, FERRUM_LAYER_IN_PLACE);
    ferrum_executor executor;
    assert_ok(build(definition("", "", "", "{}"), &executor));
    float y[8];
    assert_ok(run(executor, y));
    expect(y, 2, 0);
    assert_true(l.is_in_place);
    assert_ok(ferrum_executor_destroy(executor, 0));
    take_away(&l);
}

/* A definition may list the parameters of the layer itself. */
static void test_takes_listed_parameters(void **state) {
    (void)state;
    needs_engine();
    layer l = {.list = GAIN};
    put(&l, 0);
    ferrum_executor executor;
    float y[8];
    const char *zeros = "{\"name\":\"w\",\"shape\":[4],\"dtype\":\"f32\","
                        "\"trainable\":true,\"initialization\":{\"strategy\":"
                        "\"zeros\"}}";
    assert_ok(
        build(definition(zeros, "," T("w", "[4]"), "\"w\"", "{}"), &executor));
    assert_ok(run(executor, y));
    expect(y, 2, 0);
    assert_ok(ferrum_executor_destroy(executor, 0));
    /* By the rule of the layer, under another name. */
    const char *by_rule = "{\"name\":\"w\",\"shape\":[4],\"dtype\":\"f32\","
                          "\"trainable\":true,\"initialization\":{\"strategy\":"
                          "\"custom\",\"name\":\"mine.scale.gain\"}}";
    assert_ok(build(definition(by_rule, "," T("w", "[4]"), "\"w\"", "{}"),
                    &executor));
    assert_ok(run(executor, y));
    expect(y, 2, 1);
    assert_ok(ferrum_executor_destroy(executor, 0));
    /* Others than the type states. */
    const char *short_one = "{\"name\":\"w\",\"shape\":[3],\"dtype\":\"f32\","
                            "\"trainable\":true,\"initialization\":{"
                            "\"strategy\":\"zeros\"}}";
    assert_status(build(definition(short_one, "," T("w", "[3]"), "\"w\"", "{}"),
                        &executor),
                  FERRUM_ERROR_INVALID_CONFIG);
    assert_message("gain");
    /* A parameter of the model has the name. */
    const char *taken = "{\"name\":\"s.gain\",\"shape\":[4],\"dtype\":\"f32\","
                        "\"trainable\":true,\"initialization\":{\"strategy\":"
                        "\"zeros\"}}";
    assert_status(build(definition(taken, "", "", "{}"), &executor),
                  FERRUM_ERROR_INVALID_CONFIG);
    assert_message("s.gain");
    /* Lists that are none. */
    const char *const bad[] = {
        "",
        "{}",
        "[{\"name\":\"gain\"}]",
        "[1]",
        "[] []",
        "[{\"name\":\"a.b\",\"shape\":[4],\"dtype\":\"f32\"}]",
        "[{\"name\":\"\",\"shape\":[4],\"dtype\":\"f32\"}]",
        "[{\"name\":\"gain\",\"shape\":[4],\"dtype\":\"f33\"}]",
        "[{\"name\":\"gain\",\"shape\":[0],\"dtype\":\"f32\"}]",
        "[{\"name\":\"gain\",\"shape\":[-1],\"dtype\":\"f32\"}]",
        "[{\"name\":\"gain\",\"shape\":[4611686018427387904,8],"
        "\"dtype\":\"f64\"}]",
        "[{\"name\":\"gain\",\"shape\":[4],\"dtype\":\"f32\",\"x\":1}]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        l.list = bad[i];
        ferrum_status got = build(definition("", "", "", "{}"), &executor);
        assert_true(got == FERRUM_ERROR_INVALID_CONFIG ||
                    got == FERRUM_ERROR_INVALID_FORMAT);
        assert_int_equal(executor.id, 0);
    }
    /* After the callback the list takes nothing. */
    assert_status(l.take(l.list_number, "[]", 2), FERRUM_ERROR_INVALID_HANDLE);
    take_away(&l);
}

static void test_runs_as_an_operation(void **state) {
    (void)state;
    layer l = {0};
    ferrum_layer made = raw(&l);
    made.input_rank = 2;
    made.input_shape[0] = -1;
    made.input_shape[1] = 4;
    assert_ok(ferrum_layer_register(&made, &l.registration));
    ferrum_op op;
    assert_status(ferrum_op_prepare(f.compute, "mine.scales", NULL, 0, 0, &op),
                  FERRUM_ERROR_NOT_FOUND);
    assert_message("mine.scale");
    const char *wrong[] = {"[1]", "{", "1", "null", "{}{}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status(ferrum_op_prepare(f.compute, "mine.scale", wrong[i],
                                        strlen(wrong[i]), 0, &op),
                      FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_op_prepare(f.compute, "mine.scale", NULL, 0, 7, &op),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_ok(ferrum_op_prepare(f.compute, "mine.scale", "{\"factor\":-1}", 13,
                                0, &op));
    ferrum_tensor x = make(ROWS, SHAPE(2, 4)), y[2] = {{0}, {0}};
    assert_ok(ferrum_op_run(op, &x, 1, y, 1, f.stream));
    float got[8];
    assert_ok(ferrum_tensor_read(y[0], got, sizeof got, f.stream));
    for (int i = 0; i < 8; i++)
        assert_true(got[i] == -ROWS[i]);
    assert_ok(ferrum_tensor_destroy(y[0]));
    y[0].id = 0;
    assert_status(ferrum_op_run(op, &x, 0, y, 1, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_op_run(op, &x, 1, y, 2, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    ferrum_tensor wide = make(ROWS, SHAPE(1, 8));
    assert_status(ferrum_op_run(op, &wide, 1, y, 1, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("[-1, 4]");
    ferrum_tensor packed;
    ferrum_weights_memory memory = {.pool = f.pool};
    assert_status(ferrum_op_pack(op, 0, x, &memory, f.stream, &packed),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_status(ferrum_registration_remove(l.registration),
                  FERRUM_ERROR_BUSY);
    assert_ok(ferrum_tensor_destroy(wide));
    assert_ok(ferrum_op_destroy(op));
    assert_ok(ferrum_tensor_destroy(x));
    take_away(&l);
}

static void test_gets_gaps_with_a_flag(void **state) {
    (void)state;
    for (uint32_t flags = 0; flags <= FERRUM_LAYER_STRIDES;
         flags += FERRUM_LAYER_STRIDES) {
        layer l = {0};
        put(&l, flags);
        ferrum_op op;
        assert_ok(ferrum_op_prepare(f.compute, "mine.scale", NULL, 0, 0, &op));
        ferrum_tensor x = make(ROWS, SHAPE(2, 4)), part, y = {0};
        assert_ok(ferrum_tensor_narrow(x, 1, 0, 2, &part));
        ferrum_status got = ferrum_op_run(op, &part, 1, &y, 1, f.stream);
        if (flags == 0) {
            assert_status(got, FERRUM_ERROR_UNSUPPORTED);
            assert_message("gaps");
        } else {
            assert_ok(got);
            assert_ok(ferrum_tensor_destroy(y));
        }
        assert_ok(ferrum_tensor_destroy(part));
        assert_ok(ferrum_tensor_destroy(x));
        assert_ok(ferrum_op_destroy(op));
        take_away(&l);
    }
}

static void test_rejects_wrong_registrations(void **state) {
    (void)state;
    layer l = {0};
    ferrum_registration made;
    const char *const types[] = {NULL,
                                 "",
                                 "scale",
                                 ".scale",
                                 "mine.",
                                 "ferrum.scale",
                                 "ai.onnx.scale",
                                 "mine.a b",
                                 "mine.\xc3\xa4",
                                 "Input"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        ferrum_layer r = raw(&l);
        r.type = types[i];
        assert_status(ferrum_layer_register(&r, &made),
                      FERRUM_ERROR_INVALID_ARGUMENT);
        assert_int_equal(made.id, 0);
    }
    ferrum_layer r = raw(&l);
    r.forward = NULL;
    assert_status(ferrum_layer_register(&r, &made), FERRUM_ERROR_NULL_POINTER);
    r = raw(&l);
    r.output_count = 0;
    assert_status(ferrum_layer_register(&r, &made),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    r.output_count = 65;
    assert_status(ferrum_layer_register(&r, &made),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    r = raw(&l);
    r.input_rank = 9;
    assert_status(ferrum_layer_register(&r, &made),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    r.input_rank = 1;
    r.input_shape[0] = -2;
    assert_status(ferrum_layer_register(&r, &made),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    r = raw(&l);
    r.config_json = "[]";
    r.config_bytes = 2;
    assert_status(ferrum_layer_register(&r, &made),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    r = raw(&l);
    r.flags = 8;
    assert_status(ferrum_layer_register(&r, &made),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    put(&l, 0);
    r = raw(&l);
    assert_status(ferrum_layer_register(&r, &made),
                  FERRUM_ERROR_ALREADY_EXISTS);
    take_away(&l);
    assert_status(ferrum_registration_remove(l.registration),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_int_equal(l.released, 1);
}

static void unknown_type(ferrum_tensor_desc *d) { d->dtype = 12345; }
static void many_dimensions(ferrum_tensor_desc *d) { d->rank = 9; }
static void negative(ferrum_tensor_desc *d) { d->shape[0] = -1; }
static void another_length(ferrum_tensor_desc *d) { d->shape[1] = 5; }
static void another_type(ferrum_tensor_desc *d) { d->dtype = FERRUM_DTYPE_F64; }
static void too_large(ferrum_tensor_desc *d) {
    d->shape[0] = d->shape[1] = INT64_C(1) << 40;
}
static void not_there(ferrum_tensor_desc *d) {
    d->flags |= FERRUM_ELEMENTS_ABSENT;
}

static void test_checks_what_a_layer_infers(void **state) {
    (void)state;
    void (*const all[])(ferrum_tensor_desc *) = {
        unknown_type, many_dimensions, negative, another_length,
        another_type, too_large,       not_there};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        layer l = {.changes = all[i]};
        put(&l, 0);
        ferrum_executor executor;
        assert_status(build(definition("", "", "", "{}"), &executor),
                      FERRUM_ERROR_INVALID_CONFIG);
        assert_message("mine.scale");
        assert_int_equal(l.forwards, 0);
        take_away(&l);
    }
}

/* Each function fails in turn; nothing is left, and the next build succeeds. */
static void test_carries_errors_back(void **state) {
    (void)state;
    needs_engine();
    layer l = {.list = GAIN, .message = "the scale is broken"};
    put(&l, 0);
    ferrum_executor executor;
    ferrum_status *const gives[] = {&l.parameters_gives, &l.infer_gives,
                                    &l.plan_gives, &l.initialize_gives,
                                    &l.forward_gives};
    ferrum_elastic_pool_info books = FERRUM_ELASTIC_POOL_INFO_INIT;
    assert_ok(ferrum_elastic_pool_get_info(f.models, &books));
    uint64_t used = books.physical_bytes;
    for (size_t i = 0; i < sizeof gives / sizeof *gives; i++) {
        *gives[i] = FERRUM_ERROR_DEVICE;
        ferrum_status got = build(definition("", "", "", "{}"), &executor);
        assert_true(got == FERRUM_ERROR_DEVICE ||
                    (got == FERRUM_ERROR_INVALID_CONFIG && i == 1));
        assert_message("the scale is broken");
        assert_message("mine.scale");
        assert_int_equal(executor.id, 0);
        *gives[i] = FERRUM_OK;
        assert_ok(ferrum_elastic_pool_get_info(f.models, &books));
        assert_int_equal(books.physical_bytes, used);
    }
    assert_ok(build(definition("", "", "", "{}"), &executor));
    float y[8];
    l.forward_gives = FERRUM_ERROR_TIMEOUT;
    assert_status(run(executor, y), FERRUM_ERROR_TIMEOUT);
    l.forward_gives = 42;
    assert_status(run(executor, y), FERRUM_ERROR_INTERNAL);
    l.forward_gives = FERRUM_OK;
    assert_ok(run(executor, y));
    expect(y, 2, 1);
    assert_ok(ferrum_executor_destroy(executor, 0));
    take_away(&l);
}

static void calls_back(layer *l, const ferrum_compute_call *call) {
    (void)call;
    if (l->executor.id == 0)
        return;
    ferrum_named_tensor in = {"x", {f.live[TENSOR]}}, out = {"r", {0}};
    assert_status(ferrum_executor_run(l->executor, &in, 1, &out, 1, f.stream,
                                      FERRUM_WAIT_FOREVER),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_executor_destroy(l->executor, 0),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_executor_destroy(l->executor, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_executor_sleep(l->executor, NULL, NULL),
                  FERRUM_ERROR_INVALID_STATE);
    ferrum_executor inner;
    assert_status(build(definition("", "", "", "{}"), &inner),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_compute_close(engine, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_elastic_pool_destroy(f.models, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_registration_remove(l->registration),
                  FERRUM_ERROR_BUSY);
    /* What does not wait works. */
    ferrum_pool_info info = FERRUM_POOL_INFO_INIT;
    assert_ok(ferrum_pool_get_info(f.pool, &info));
    char text[1 << 14];
    size_t length;
    assert_ok(
        ferrum_executor_info_json(l->executor, text, sizeof text, &length));
    assert_ok(ferrum_layers_json(text, sizeof text, &length));
}

static void test_may_not_end_its_model(void **state) {
    (void)state;
    needs_engine();
    layer l = {.inside = calls_back};
    put(&l, 0);
    assert_ok(build(definition("", "", "", "{}"), &l.executor));
    float y[8];
    assert_ok(run(l.executor, y));
    expect(y, 2, 0);
    assert_ok(ferrum_executor_destroy(l.executor, 0));
    take_away(&l);
}

/* A forced end of the backend ends the model; the layer can then be removed. */
static void test_ends_with_what_uses_it(void **state) {
    (void)state;
    layer l = {0};
    put(&l, 0);
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = f.device;
    ferrum_compute compute;
    assert_ok(ferrum_compute_open(&config, &compute));
    ferrum_op op;
    assert_ok(ferrum_op_prepare(compute, "mine.scale", NULL, 0, 0, &op));
    assert_ok(ferrum_compute_close(compute, FERRUM_FORCE));
    assert_status(ferrum_registration_remove(l.registration),
                  FERRUM_ERROR_BUSY);
    assert_ok(ferrum_op_destroy(op));
    take_away(&l);
}

/* A forced stop ends models, operations and layers. */
static void test_a_forced_stop_ends_layers(void **state) {
    (void)state;
    layer l = {0};
    assert_ok(ferrum_init(NULL));
    ferrum_device device;
    assert_ok(ferrum_device_open("cpu:0", &device));
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = device;
    ferrum_compute compute;
    assert_ok(ferrum_compute_open(&config, &compute));
    put(&l, 0);
    ferrum_op op;
    assert_ok(ferrum_op_prepare(compute, "mine.scale", NULL, 0, 0, &op));
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    assert_int_equal(l.released, 1);
}

enum { THREADS = 4, RUNS = 50 };

static void lingers(layer *l, const ferrum_compute_call *call) {
    (void)call;
    (void)l;
    struct timespec moment = {0, 200000};
    nanosleep(&moment, NULL);
}

static void *runs_often(void *data) {
    ferrum_op *op = data;
    for (int i = 0; i < RUNS; i++) {
        ferrum_tensor x = make(ROWS, SHAPE(2, 4)), y = {0};
        assert_ok(ferrum_op_run(*op, &x, 1, &y, 1, (ferrum_stream){0}));
        float got[8];
        assert_ok(ferrum_tensor_read(y, got, sizeof got, f.stream));
        for (int k = 0; k < 8; k++)
            assert_true(got[k] == 2 * ROWS[k]);
        assert_ok(ferrum_tensor_destroy(y));
        assert_ok(ferrum_tensor_destroy(x));
    }
    return NULL;
}

static void test_one_thread_at_a_time(void **state) {
    (void)state;
    layer l = {.inside = lingers};
    put(&l, FERRUM_LAYER_ONE_AT_A_TIME);
    ferrum_op op;
    assert_ok(ferrum_op_prepare(f.compute, "mine.scale", NULL, 0, 0, &op));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, runs_often, &op), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(l.forwards, THREADS * RUNS);
    assert_int_equal(l.most, 1);
    assert_ok(ferrum_op_destroy(op));
    take_away(&l);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
/* A case whose models are sessions of ONNX Runtime, where that is installed. */
#define ON_RUNTIME(test) \
    {#test "_in_a_session", test, set_up_runtime, tear_down, NULL}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_a_model_computes_a_layer),
        CASE(test_computes_in_place_if_it_may),
        CASE(test_takes_listed_parameters),
        CASE(test_runs_as_an_operation),
        CASE(test_gets_gaps_with_a_flag),
        CASE(test_rejects_wrong_registrations),
        CASE(test_checks_what_a_layer_infers),
        CASE(test_carries_errors_back),
        CASE(test_may_not_end_its_model),
        CASE(test_ends_with_what_uses_it),
        cmocka_unit_test(test_a_forced_stop_ends_layers),
        CASE(test_one_thread_at_a_time),
        ON_RUNTIME(test_a_model_computes_a_layer),
        ON_RUNTIME(test_takes_listed_parameters),
        ON_RUNTIME(test_carries_errors_back),
        ON_RUNTIME(test_may_not_end_its_model),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}

/*
 * ONNX Runtime as a backend, from C. Without its library the error says what was
 * tried. With the library of the environment of the tests, operations have the
 * right numbers and a definition runs, sleeps and wakes; where that is not
 * installed, the tests of it are skipped. Each test ends with a clean stop of
 * the library, which fails if anything is left.
 */
#include "asserts.h"
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static fixture f;

static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static ferrum_compute_config runtime_config(void) {
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = f.device;
    config.type = FERRUM_COMPUTE_ONNX_RUNTIME;
    config.threads = 1;
    return config;
}

/* The first test: nothing has loaded the library yet. */
static void test_a_library_that_is_missing(void **state) {
    (void)state;
    ferrum_compute_config config = runtime_config();
    ferrum_compute compute = {1};
    assert_ok(ferrum_compute_validate(&config));
    ferrum_status status = ferrum_compute_open(&config, &compute);
    if (status == FERRUM_OK) { /* the system has it */
        assert_ok(ferrum_compute_close(compute, 0));
        return;
    }
    assert_int_equal(status, FERRUM_ERROR_UNSUPPORTED);
    assert_message("libonnxruntime.so.1");
    assert_message("FERRUM_ORT_LIBRARY");
    assert_int_equal(compute.id, 0);
}

static ferrum_tensor make(const float *values, int64_t rows, int64_t columns) {
    ferrum_weights_memory memory = {.pool = f.pool};
    int64_t shape[] = {rows, columns};
    ferrum_tensor tensor;
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, shape, 2,
                                   f.stream, &tensor));
    assert_ok(ferrum_tensor_write(
        tensor, values, (uint64_t)(rows * columns) * sizeof *values, f.stream));
    return tensor;
}

static void holds(ferrum_tensor tensor, const float *want, size_t count) {
    float got[16];
    assert_true(count <= 16);
    assert_ok(ferrum_tensor_read(tensor, got, count * sizeof *got, f.stream));
    for (size_t i = 0; i < count; i++) {
        float distance = got[i] - want[i];
        assert_true(distance < 1e-5f && distance > -1e-5f);
    }
}

static void test_an_operation(void **state) {
    (void)state;
    if (!fixture_loads_onnx_runtime())
        skip();
    ferrum_compute_config config = runtime_config();
    ferrum_compute compute;
    assert_ok(ferrum_compute_open(&config, &compute));
    ferrum_op op;
    assert_ok(ferrum_op_prepare(compute, "MatMul", NULL, 0, 0, &op));
    ferrum_tensor inputs[] = {make((float[]){1, 2, 3, 4}, 2, 2),
                              make((float[]){5, 6, 7, 8}, 2, 2)};
    ferrum_tensor out = {0};
    assert_ok(ferrum_op_run(op, inputs, 2, &out, 1, f.stream));
    holds(out, (float[]){19, 22, 43, 50}, 4);
    ferrum_tensor packed = {1};
    ferrum_weights_memory memory = {0};
    assert_status(ferrum_op_pack(op, 1, inputs[1], &memory, f.stream, &packed),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_message("onnx_runtime");
    /* Shapes that do not fit are an error of the operator. */
    ferrum_tensor other = make((float[]){1, 2, 3}, 3, 1), none = {0};
    ferrum_tensor wrong[] = {inputs[0], other};
    assert_status(ferrum_op_run(op, wrong, 2, &none, 1, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_compute_close(compute, 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_tensor_destroy(other));
    assert_ok(ferrum_tensor_destroy(inputs[0]));
    assert_ok(ferrum_tensor_destroy(inputs[1]));
    assert_ok(ferrum_op_destroy(op));
    assert_ok(ferrum_compute_close(compute, 0));
}

/* y = x + 1 + 1 + 1, with a parameter of ones. */
static const char definition[] =
    "{\"metadata\": {\"name\": \"plus\", \"version\": \"1\", \"model_type\": "
    "\"small\", \"architecture_family\": \"custom\"}, \"architecture\": "
    "{\"name\": \"small\", \"dimensions\": {\"vocab_size\": 1, "
    "\"hidden_size\": 4, \"num_layers\": 1, \"num_heads\": 1, "
    "\"max_sequence_length\": 1}}, \"parameters\": [{\"name\": \"one\", "
    "\"shape\": [4], \"dtype\": \"f32\", \"trainable\": true, "
    "\"initialization\": {\"strategy\": \"ones\"}}], \"layers\": [{\"name\": "
    "\"x\", \"layer_type\": \"Input\", \"inputs\": [], \"parameters\": [], "
    "\"outputs\": [{\"name\": \"x\", \"shape\": [-1, 4], \"dtype\": "
    "\"f32\"}]}, {\"name\": \"add\", \"layer_type\": \"Add\", \"inputs\": "
    "[{\"name\": \"a\", \"shape\": [-1, 4], \"dtype\": \"f32\"}, {\"name\": "
    "\"one\", \"shape\": [4], \"dtype\": \"f32\"}], \"parameters\": "
    "[\"one\"], \"outputs\": [{\"name\": \"y\", \"shape\": [-1, 4], "
    "\"dtype\": \"f32\"}]}], \"graph\": {\"inputs\": [\"x\"], \"outputs\": "
    "[\"y\"], \"nodes\": [{\"id\": \"x\", \"layer_name\": \"x\", "
    "\"metadata\": {\"dims\": [\"batch\", \"\"]}}, {\"id\": \"y\", "
    "\"layer_name\": \"add\"}], \"edges\": [{\"source\": \"x\", \"target\": "
    "\"y\"}]}}";

static void test_a_model(void **state) {
    (void)state;
    if (!fixture_loads_onnx_runtime())
        skip();
    ferrum_compute_config config = runtime_config();
    ferrum_compute compute;
    assert_ok(ferrum_compute_open(&config, &compute));
    ferrum_build_request request = FERRUM_BUILD_REQUEST_INIT;
    request.definition_json = definition;
    request.definition_bytes = strlen(definition);
    request.compute = compute;
    request.elastic_pool = f.shared;
    ferrum_executor executor;
    assert_ok(ferrum_executor_build(&request, &executor));
    ferrum_tensor x = make((float[]){1, 2, 3, 4, 5, 6, 7, 8}, 2, 4);
    const float want[] = {2, 3, 4, 5, 6, 7, 8, 9};
    for (int turn = 0; turn < 3; turn++) {
        ferrum_named_tensor in = {"x", x}, out = {"y", {0}};
        assert_ok(ferrum_executor_run(executor, &in, 1, &out, 1, f.stream,
                                      FERRUM_WAIT_FOREVER));
        holds(out.tensor, want, 8);
        assert_ok(ferrum_tensor_destroy(out.tensor));
        ferrum_sleep_config sleep = FERRUM_SLEEP_CONFIG_INIT;
        assert_ok(ferrum_executor_sleep(executor, &sleep, NULL));
        out.tensor.id = 0;
        assert_status(
            ferrum_executor_run(executor, &in, 1, &out, 1, f.stream, 0),
            FERRUM_ERROR_BUSY);
        ferrum_wake_config wake = FERRUM_WAKE_CONFIG_INIT;
        assert_ok(ferrum_executor_wake(executor, &wake, NULL));
    }
    /* The backend stays while the model does. */
    assert_status(ferrum_compute_close(compute, 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_executor_destroy(executor, 0));
    /* A forced close ends it below the model, which can only be destroyed. */
    assert_ok(ferrum_executor_build(&request, &executor));
    assert_ok(ferrum_compute_close(compute, FERRUM_FORCE));
    ferrum_named_tensor in = {"x", x}, out = {"y", {0}};
    assert_true(ferrum_executor_run(executor, &in, 1, &out, 1, f.stream, 0) !=
                FERRUM_OK);
    assert_ok(ferrum_executor_destroy(executor, 0));
    assert_ok(ferrum_tensor_destroy(x));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_library_that_is_missing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_an_operation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_model, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The header's promises about executors: builds from definitions with progress
 * and cancellation, runs by name, plans, sleep and wake, names, ends, and wrong
 * arguments. The model is FIXTURE_DEFINITION, whose outputs are compared with
 * sums in double precision. Each test ends with a clean stop of the library,
 * which fails if anything is left.
 */
#include "asserts.h"
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static ferrum_status run(ferrum_executor executor, ferrum_tensor x,
                         ferrum_tensor *y, uint64_t timeout_ns) {
    ferrum_named_tensor in = {"x", x}, out = {"y", *y};
    ferrum_status status =
        ferrum_executor_run(executor, &in, 1, &out, 1, f.stream, timeout_ns);
    *y = out.tensor;
    return status;
}

static void read_y(ferrum_tensor y, float *values, size_t rows) {
    assert_ok(
        ferrum_tensor_read(y, values, rows * 3 * sizeof(float), f.stream));
}

/* Runs one row, and returns its outputs. */
static void row(ferrum_executor executor, const float *x, float *y) {
    ferrum_tensor in = make(x, SHAPE(1, 4)), out = {0};
    assert_ok(run(executor, in, &out, FERRUM_WAIT_FOREVER));
    read_y(out, y, 1);
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_tensor_destroy(in));
}

static ferrum_build_request request(void) {
    ferrum_build_request made = FERRUM_BUILD_REQUEST_INIT;
    made.model = "another";
    made.definition_json = FIXTURE_DEFINITION;
    made.definition_bytes = strlen(FIXTURE_DEFINITION);
    made.compute = f.compute;
    made.elastic_pool = f.models;
    return made;
}

static ferrum_executor build(void) {
    ferrum_build_request r = request();
    ferrum_executor executor;
    assert_ok(ferrum_executor_build(&r, &executor));
    return executor;
}

/* The output is affine: its parts for single inputs give it for every input. */
static void test_runs_any_number_of_rows(void **state) {
    (void)state;
    float zero[4] = {0}, bias[3], weight[4][3];
    row(f.executor, zero, bias);
    for (int j = 0; j < 3; j++)
        assert_true(bias[j] == 1);
    for (int i = 0; i < 4; i++) {
        float one[4] = {0};
        one[i] = 1;
        row(f.executor, one, weight[i]);
    }
    enum { ROWS = 37 };
    float x[ROWS * 4], y[ROWS * 3];
    for (int i = 0; i < ROWS * 4; i++)
        x[i] = (float)((i * 31) % 23 - 11) / 8;
    ferrum_tensor in = make(x, SHAPE(ROWS, 4)), out = {0};
    assert_ok(run(f.executor, in, &out, FERRUM_WAIT_FOREVER));
    read_y(out, y, ROWS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 1;
            for (int k = 0; k < 4; k++)
                sum += (double)x[i * 4 + k] * ((double)weight[k][j] - 1);
            double distance = sum - (double)y[i * 3 + j];
            assert_true(distance < 1e-5 && distance > -1e-5);
        }
    /* Into a given output, which stays the caller's. */
    ferrum_tensor into = make(y, SHAPE(ROWS, 3)), given = into;
    assert_ok(ferrum_tensor_fill(into, 0, f.stream));
    assert_ok(run(f.executor, in, &given, FERRUM_WAIT_FOREVER));
    assert_int_equal(given.id, into.id);
    float again[ROWS * 3];
    read_y(into, again, ROWS);
    assert_memory_equal(again, y, sizeof y);
    assert_ok(ferrum_tensor_destroy(into));
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_tensor_destroy(in));
}

static void test_same_seed_makes_the_same_parameters(void **state) {
    (void)state;
    ferrum_executor another = build();
    float x[4] = {1, -2, 3, -4}, first[3], second[3];
    row(f.executor, x, first);
    row(another, x, second);
    assert_memory_equal(first, second, sizeof first);
    assert_ok(ferrum_executor_destroy(another, 0));
    ferrum_build_request r = request();
    r.options_json = "{\"additional_options\":{\"seed\":7}}";
    r.options_bytes = strlen(r.options_json);
    assert_ok(ferrum_executor_build(&r, &another));
    row(another, x, second);
    assert_memory_not_equal(first, second, sizeof first);
    assert_ok(ferrum_executor_destroy(another, 0));
}

/* What a run rejects makes no output and names what is wrong. */
static void rejects(ferrum_status want, const char *word,
                    const ferrum_named_tensor *inputs, uint64_t input_count,
                    ferrum_named_tensor *outputs, uint64_t output_count) {
    assert_status(ferrum_executor_run(f.executor, inputs, input_count, outputs,
                                      output_count, f.stream,
                                      FERRUM_WAIT_FOREVER),
                  want);
    assert_message(word);
}

static void test_rejects_wrong_runs(void **state) {
    (void)state;
    float values[12] = {0};
    ferrum_tensor x = make(values, SHAPE(2, 4)),
                  wide = make(values, SHAPE(2, 5));
    ferrum_tensor small = make(values, SHAPE(1, 3));
    ferrum_named_tensor in[] = {{"x", x}, {"x", x}}, out[] = {{"y", {0}}};
    ferrum_named_tensor unknown = {"z", x}, wrong = {"x", wide},
                        none = {"x", {0}};
    ferrum_named_tensor nowhere = {"logits", {0}}, other = {"y", small};
    ferrum_named_tensor stale = {"x", {f.dead[TENSOR]}}, nameless = {NULL, x};
    rejects(FERRUM_ERROR_INVALID_ARGUMENT, "x", in, 0, out, 1);
    rejects(FERRUM_ERROR_INVALID_ARGUMENT, "twice", in, 2, out, 1);
    rejects(FERRUM_ERROR_INVALID_ARGUMENT, "z", &unknown, 1, out, 1);
    rejects(FERRUM_ERROR_INVALID_ARGUMENT, "[2, 5]", &wrong, 1, out, 1);
    rejects(FERRUM_ERROR_INVALID_HANDLE, "", &none, 1, out, 1);
    rejects(FERRUM_ERROR_INVALID_HANDLE, "", &stale, 1, out, 1);
    rejects(FERRUM_ERROR_INVALID_ARGUMENT, "", &nameless, 1, out, 1);
    rejects(FERRUM_ERROR_INVALID_ARGUMENT, "logits", in, 1, &nowhere, 1);
    rejects(FERRUM_ERROR_INVALID_ARGUMENT, "[1, 3]", in, 1, &other, 1);
    rejects(FERRUM_ERROR_INVALID_ARGUMENT, "1024", in,
            FERRUM_EXECUTOR_TENSORS_MAX + 1, out, 1);
    assert_int_equal(out[0].tensor.id, 0);
    assert_ok(ferrum_tensor_destroy(small));
    assert_ok(ferrum_tensor_destroy(wide));
    assert_ok(ferrum_tensor_destroy(x));
}

static void test_sleeps_and_wakes_with_the_same_bits(void **state) {
    (void)state;
    float x[4] = {1, 2, 3, 4}, before[3], after[3];
    row(f.executor, x, before);
    ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
    ferrum_sleep_report slept = FERRUM_SLEEP_REPORT_INIT;
    assert_ok(ferrum_executor_sleep(f.executor, NULL, &slept));
    assert_true(slept.released_bytes >= FIXTURE_PAGE);
    assert_ok(ferrum_elastic_pool_get_model_info(f.models, "small", &info));
    assert_int_equal(info.physical_bytes, 0);
    assert_status(ferrum_executor_sleep(f.executor, NULL, NULL),
                  FERRUM_ERROR_INVALID_STATE);
    ferrum_tensor in = make(x, SHAPE(1, 4)), out = {0};
    assert_status(run(f.executor, in, &out, 0), FERRUM_ERROR_BUSY);
    assert_status(run(f.executor, in, &out, 1000000), FERRUM_ERROR_TIMEOUT);
    assert_int_equal(out.id, 0);
    ferrum_wake_report woken = FERRUM_WAKE_REPORT_INIT;
    assert_ok(ferrum_executor_wake(f.executor, NULL, &woken));
    assert_int_equal(woken.restored_bytes, slept.released_bytes);
    assert_status(ferrum_executor_wake(f.executor, NULL, NULL),
                  FERRUM_ERROR_INVALID_STATE);
    row(f.executor, x, after);
    assert_memory_equal(before, after, sizeof before);
    assert_ok(ferrum_tensor_destroy(in));

    ferrum_sleep_config config = FERRUM_SLEEP_CONFIG_INIT;
    config.backing = FERRUM_SLEEP_DISCARD;
    assert_status(ferrum_executor_sleep(f.executor, &config, NULL),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    config.backing = FERRUM_SLEEP_FILE;
    config.tag = "parameters";
    assert_status(ferrum_executor_sleep(f.executor, &config, NULL),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    config.tag = NULL;
    assert_ok(ferrum_executor_sleep(f.executor, &config, &slept));
    assert_true(slept.path[0] == '/');
    assert_ok(ferrum_executor_wake(f.executor, NULL, NULL));
    row(f.executor, x, after);
    assert_memory_equal(before, after, sizeof before);
}

static void *wake_soon(void *unused) {
    (void)unused;
    struct timespec a_moment = {0, 20000000};
    nanosleep(&a_moment, NULL);
    ferrum_executor_wake(f.executor, NULL, NULL);
    return NULL;
}

static void test_a_run_waits_for_the_wake(void **state) {
    (void)state;
    float x[4] = {1, 2, 3, 4}, before[3], after[3];
    row(f.executor, x, before);
    assert_ok(ferrum_executor_sleep(f.executor, NULL, NULL));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wake_soon, NULL), 0);
    row(f.executor, x, after);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_names_keep_a_model(void **state) {
    (void)state;
    ferrum_executor built = build(), found, removed;
    assert_ok(ferrum_executor_add_name(built, "chat"));
    assert_status(ferrum_executor_add_name(built, "chat"),
                  FERRUM_ERROR_ALREADY_EXISTS);
    assert_status(ferrum_executor_add_name(built, "another name"),
                  FERRUM_ERROR_ALREADY_EXISTS);
    assert_status(ferrum_executor_add_name(f.executor, "chat"),
                  FERRUM_ERROR_ALREADY_EXISTS);
    assert_status(ferrum_executor_add_name(f.executor, ""),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    char text[1 << 14];
    size_t length;
    assert_ok(ferrum_executors_json(text, sizeof text, &length));
    assert_non_null(strstr(text, "\"registered_name\":\"chat\""));
    assert_ok(ferrum_executor_find("chat", &found));
    assert_true(found.id != built.id);
    assert_ok(ferrum_executor_destroy(built, 0));
    assert_status(ferrum_executor_destroy(built, 0),
                  FERRUM_ERROR_INVALID_HANDLE);
    float x[4] = {1}, y[3];
    row(found, x, y);
    assert_ok(ferrum_executor_remove_name("chat", &removed));
    assert_status(ferrum_executor_remove_name("chat", &built),
                  FERRUM_ERROR_NOT_FOUND);
    assert_status(ferrum_executor_find("chat", &built), FERRUM_ERROR_NOT_FOUND);
    assert_ok(ferrum_executor_destroy(found, 0));
    row(removed, x, y);
    assert_ok(ferrum_executor_destroy(removed, 0));
    /* The last handle has freed the memory: the id can be built again. */
    assert_ok(ferrum_executor_destroy(build(), 0));
}

static void test_the_model_belongs_to_the_executor(void **state) {
    (void)state;
    ferrum_address address;
    assert_status(ferrum_elastic_pool_alloc(f.models, "small", FIXTURE_PAGE,
                                            &address, NULL),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(
        ferrum_elastic_pool_free(f.models, "small", 0, FIXTURE_PAGE, f.stream),
        FERRUM_ERROR_INVALID_STATE);
    assert_status(
        ferrum_elastic_pool_sleep_model(f.models, "small", NULL, NULL),
        FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_elastic_pool_unregister_model(f.models, "small", 0),
                  FERRUM_ERROR_BUSY);
    assert_status(ferrum_elastic_pool_destroy(f.models, 0), FERRUM_ERROR_BUSY);
    assert_status(ferrum_compute_close(f.compute, 0), FERRUM_ERROR_BUSY);
    ferrum_build_request r = request();
    r.model = "small";
    ferrum_executor executor;
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_MODEL_ALREADY_EXISTS);
    assert_int_equal(executor.id, 0);
}

/* A forced end of the pool, of the model or of the backend ends executors. */
static void test_ends_with_its_pool(void **state) {
    (void)state;
    ferrum_executor executor = build(), named;
    assert_ok(ferrum_executor_add_name(executor, "chat"));
    assert_ok(ferrum_elastic_pool_unregister_model(f.models, "another",
                                                   FERRUM_FORCE));
    float x[4] = {0};
    ferrum_tensor in = make(x, SHAPE(1, 4)), out = {0};
    assert_status(run(executor, in, &out, 0), FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_executor_destroy(executor, 0));
    assert_ok(ferrum_executor_remove_name("chat", &named));
    assert_ok(ferrum_executor_destroy(named, 0));

    ferrum_elastic_pool pool;
    assert_ok(ferrum_elastic_pool_create(f.device, NULL, &pool));
    ferrum_build_request r = request();
    r.elastic_pool = pool;
    assert_ok(ferrum_executor_build(&r, &executor));
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
    assert_status(run(executor, in, &out, 0), FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_executor_destroy(executor, 0));

    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = f.device;
    ferrum_compute compute;
    assert_ok(ferrum_compute_open(&config, &compute));
    r = request();
    r.compute = compute;
    assert_ok(ferrum_executor_build(&r, &executor));
    assert_ok(ferrum_compute_close(compute, FERRUM_FORCE));
    assert_status(run(executor, in, &out, 0), FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_executor_destroy(executor, 0));
    assert_ok(ferrum_tensor_destroy(in));
}

/* The callback of a build, and what it has seen. */
struct seen {
    int calls, stop_at, last_phase;
    double last;
    ferrum_status inside;
};

static int32_t watch(const ferrum_build_progress *now, void *data) {
    struct seen *seen = data;
    if (now->phase < seen->last_phase || now->progress < seen->last ||
        now->progress > 1 || now->operation == NULL)
        seen->stop_at = -1;
    seen->last_phase = now->phase;
    seen->last = now->progress;
    /* It may call the library, but not wait for its own build. */
    if (seen->calls++ == 0)
        seen->inside = ferrum_elastic_pool_destroy(f.models, FERRUM_FORCE);
    return seen->stop_at != 0 && seen->calls >= seen->stop_at;
}

static void test_tells_progress_and_can_be_cancelled(void **state) {
    (void)state;
    ferrum_build_request r = request();
    struct seen seen = {0};
    r.progress = watch;
    r.user_data = &seen;
    ferrum_executor executor;
    ferrum_elastic_pool_info before = FERRUM_ELASTIC_POOL_INFO_INIT,
                             after = before;
    assert_ok(ferrum_elastic_pool_get_info(f.models, &before));
    assert_ok(ferrum_executor_build(&r, &executor));
    assert_ok(ferrum_executor_destroy(executor, 0));
    assert_true(seen.calls >= 8);
    assert_int_equal(seen.stop_at, 0);
    assert_int_equal(seen.last_phase, FERRUM_BUILD_FINALIZATION);
    assert_true(seen.last == 1);
    assert_status(seen.inside, FERRUM_ERROR_INVALID_STATE);
    for (int at = 1; at < seen.calls; at++) {
        struct seen stopped = {.stop_at = at};
        r.user_data = &stopped;
        assert_status(ferrum_executor_build(&r, &executor),
                      FERRUM_ERROR_CANCELLED);
        assert_int_equal(executor.id, 0);
    }
    assert_ok(ferrum_elastic_pool_get_info(f.models, &after));
    assert_int_equal(after.physical_bytes, before.physical_bytes);
    assert_int_equal(after.num_models, before.num_models);
}

static void test_rejects_wrong_builds(void **state) {
    (void)state;
    ferrum_executor executor;
    ferrum_build_request r = request();
    r.options_json = "{\"optimization_level\":4}";
    r.options_bytes = strlen(r.options_json);
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_INVALID_CONFIG);
    r.options_json = "{\"enable_compression\":true}";
    r.options_bytes = strlen(r.options_json);
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_UNSUPPORTED);
    r = request();
    r.path = "/nowhere";
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    r.definition_json = NULL;
    r.definition_bytes = 0;
    assert_status(ferrum_executor_build(&r, &executor), FERRUM_ERROR_NOT_FOUND);
    r.path = NULL;
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    r = request();
    r.definition_bytes -= 1;
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_INVALID_FORMAT);
    r = request();
    r.elastic_pool.id = f.dead[ELASTIC_POOL];
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_INVALID_HANDLE);
    r = request();
    r.max_bytes = 1;
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_INVALID_CONFIG);
    r = request();
    r.reserved = 1;
    assert_status(ferrum_executor_build(&r, &executor),
                  FERRUM_ERROR_INVALID_STRUCT);
}

static void test_describes_models_as_json(void **state) {
    (void)state;
    static char text[1 << 16], again[1 << 16];
    size_t length;
    static const char dims[] = "{\"batch\":5}";
    assert_ok(ferrum_executor_plan_json(f.executor, dims, strlen(dims), text,
                                        sizeof text, &length));
    assert_non_null(strstr(text, "\"arena_bytes\":"));
    assert_ok(ferrum_compute_plan_json(
        f.compute, FIXTURE_DEFINITION, strlen(FIXTURE_DEFINITION), 2, dims,
        strlen(dims), again, sizeof again, &length));
    assert_string_equal(text, again);
    assert_status(ferrum_executor_plan_json(f.executor, "[1]", 3, text,
                                            sizeof text, &length),
                  FERRUM_ERROR_INVALID_FORMAT);
    assert_status(ferrum_executor_plan_json(f.executor, "{\"rows\":1}", 10,
                                            text, sizeof text, &length),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_ok(
        ferrum_executor_info_json(f.executor, text, sizeof text, &length));
    assert_non_null(strstr(text, "\"state\":\"awake\""));
    assert_ok(
        ferrum_executor_report_json(f.executor, text, sizeof text, &length));
    assert_non_null(strstr(text, "\"passes\":"));
    assert_ok(ferrum_executor_definition_json(f.executor, text, sizeof text,
                                              &length));
    assert_ok(ferrum_definition_validate_json(text, length, again, sizeof again,
                                              &length));
    assert_non_null(strstr(again, "\"stops_build\":false"));
    assert_ok(ferrum_builder_info_json(text, sizeof text, &length));
    assert_non_null(strstr(text, "\"bert\""));
    assert_ok(ferrum_build_estimate_json(FIXTURE_DEFINITION,
                                         strlen(FIXTURE_DEFINITION), text,
                                         sizeof text, &length));
    assert_non_null(strstr(text, "\"expected_time_seconds\":"));
    assert_status(
        ferrum_model_export_json("/nowhere", text, sizeof text, &length),
        FERRUM_ERROR_NOT_FOUND);
}

/* A model that is written as a file of ONNX is built from it. */
static void test_writes_a_file_of_onnx(void **state) {
    (void)state;
    char folder[] = "/tmp/ferrum-onnx-XXXXXX", file[64], data[80];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/small.onnx", folder);
    snprintf(data, sizeof data, "%s.data", file);
    assert_ok(ferrum_executor_export_onnx(f.executor, file, 0));
    assert_status(ferrum_executor_export_onnx(f.executor, file, 0),
                  FERRUM_ERROR_ALREADY_EXISTS);
    assert_status(ferrum_executor_export_onnx(f.executor, file, 4),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_ok(ferrum_definition_export_onnx(
        FIXTURE_DEFINITION, strlen(FIXTURE_DEFINITION), (ferrum_weights){0},
        file, FERRUM_ONNX_EXTERNAL | FERRUM_ONNX_REPLACE));
    assert_int_equal(access(data, R_OK), 0);
    char text[4096];
    size_t length;
    assert_ok(ferrum_model_validate_json(file, text, sizeof text, &length));
    assert_non_null(strstr(text, "\"stops_build\":false"));
    assert_status(ferrum_model_export_onnx("/nowhere", file, 0),
                  FERRUM_ERROR_NOT_FOUND);
    assert_ok(ferrum_model_export_onnx(file, data, FERRUM_ONNX_REPLACE));
    assert_int_equal(unlink(file) | unlink(data) | rmdir(folder), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_runs_any_number_of_rows),
        CASE(test_same_seed_makes_the_same_parameters),
        CASE(test_rejects_wrong_runs),
        CASE(test_sleeps_and_wakes_with_the_same_bits),
        CASE(test_a_run_waits_for_the_wake),
        CASE(test_names_keep_a_model),
        CASE(test_writes_a_file_of_onnx),
        CASE(test_the_model_belongs_to_the_executor),
        CASE(test_ends_with_its_pool),
        CASE(test_tells_progress_and_can_be_cancelled),
        CASE(test_rejects_wrong_builds),
        CASE(test_describes_models_as_json),
    };
    return cmocka_run_group_tests_name("executors", tests, NULL, NULL);
}

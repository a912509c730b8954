/*
 * Executors and memory that is not as they need it: tensors that sleep, that
 * lie over each other or over the model's own memory, pools and models with
 * too little room, and several callers of one model. After each error the
 * books are as before, and the model runs.
 */
#include "each.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static float X[4] = {1, -2, 3, -4};

static ferrum_tensor wrap(ferrum_address at, uint64_t size, int64_t rows,
                          int64_t columns) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = FERRUM_DTYPE_F32;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    desc.rank = 2;
    desc.shape[0] = rows;
    desc.shape[1] = columns;
    ferrum_tensor made;
    assert_ok(ferrum_tensor_wrap(f.device, at, size, &desc, NULL, NULL, &made));
    return made;
}

static ferrum_tensor over(const float *values, int64_t rows, int64_t columns) {
    return wrap((uintptr_t)values, (uint64_t)(rows * columns) * sizeof(float),
                rows, columns);
}

static ferrum_status run(ferrum_executor executor, ferrum_tensor x,
                         ferrum_tensor *y) {
    ferrum_named_tensor in = {"x", x}, out = {"y", *y};
    ferrum_status status = ferrum_executor_run(executor, &in, 1, &out, 1,
                                               f.stream, FERRUM_WAIT_FOREVER);
    *y = out.tensor;
    return status;
}

/* Runs one row. */
static void row(ferrum_executor executor, float *y) {
    ferrum_tensor in = over(X, 1, 4), out = {0};
    assert_ok(run(executor, in, &out));
    assert_ok(ferrum_tensor_read(out, y, 3 * sizeof(float), f.stream));
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_tensor_destroy(in));
}

static ferrum_build_request request(const char *model) {
    ferrum_build_request made = FERRUM_BUILD_REQUEST_INIT;
    made.model = model;
    made.definition_json = FIXTURE_DEFINITION;
    made.definition_bytes = strlen(FIXTURE_DEFINITION);
    made.compute = f.compute;
    made.elastic_pool = f.models;
    return made;
}

/* The numbers that a failed call must not change. */
typedef struct {
    uint64_t physical, models, tensors_bytes;
} books;

static books books_of(ferrum_elastic_pool pool) {
    ferrum_elastic_pool_info info = FERRUM_ELASTIC_POOL_INFO_INIT;
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    ferrum_manager manager;
    assert_ok(ferrum_elastic_pool_get_info(pool, &info));
    assert_ok(ferrum_compute_get_manager(f.compute, &manager));
    assert_ok(ferrum_manager_get_statistics(manager, &statistics));
    return (books){info.physical_bytes, info.num_models,
                   statistics.active.current};
}

static void same_books(books before, books after) {
    assert_int_equal(before.physical, after.physical);
    assert_int_equal(before.models, after.models);
    assert_int_equal(before.tensors_bytes, after.tensors_bytes);
}

/* ------------------------------------------------------ inputs and outputs */

static void test_tensors_that_sleep(void **state) {
    (void)state;
    float want[3], got[3];
    row(f.executor, want);
    ferrum_weights_memory memory = {
        .elastic_pool = f.shared, .model = "chat", .tag = "tensors"};
    ferrum_tensor in, out, made = {0}, none = {0};
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, SHAPE(1, 4),
                                   f.stream, &in));
    assert_ok(ferrum_tensor_write(in, X, sizeof X, f.stream));
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, SHAPE(1, 3),
                                   f.stream, &out));
    ferrum_sleep_config sleep = FERRUM_SLEEP_CONFIG_INIT;
    sleep.tag = "tensors";
    assert_ok(ferrum_elastic_pool_sleep_model(f.shared, "chat", &sleep, NULL));
    books before = books_of(f.models);
    assert_status(run(f.executor, in, &none), FERRUM_ERROR_BUSY);
    assert_message("input \"x\"");
    assert_int_equal(none.id, 0);
    ferrum_tensor awake = over(X, 1, 4), asleep = out;
    assert_status(run(f.executor, awake, &asleep), FERRUM_ERROR_BUSY);
    assert_message("output \"y\"");
    assert_int_equal(asleep.id, out.id);
    same_books(before, books_of(f.models));
    ferrum_wake_config wake = FERRUM_WAKE_CONFIG_INIT;
    wake.tag = "tensors";
    assert_ok(ferrum_elastic_pool_wake_model(f.shared, "chat", &wake, NULL));
    assert_ok(run(f.executor, in, &out));
    assert_ok(ferrum_tensor_read(out, got, sizeof got, f.stream));
    assert_memory_equal(want, got, sizeof want);
    assert_ok(run(f.executor, in, &made));
    assert_ok(ferrum_tensor_destroy(made));
    assert_ok(ferrum_tensor_destroy(awake));
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_tensor_destroy(in));
}

/* Inputs are read before outputs are written, also for many rows. */
static void test_an_output_over_its_input(void **state) {
    (void)state;
    enum { ROWS = 700 };
    static float memory[ROWS * 4], want[ROWS * 3];
    for (int at = 0; at < 2; at++) {
        for (int i = 0; i < ROWS * 4; i++)
            memory[i] = (float)(i % 17) - 8;
        ferrum_tensor in = over(memory, ROWS, 4), made = {0};
        assert_ok(run(f.executor, in, &made));
        assert_ok(ferrum_tensor_read(made, want, sizeof want, f.stream));
        /* At the start of the input, and at its end. */
        float *to = memory + at * ROWS;
        ferrum_tensor out = over(to, ROWS, 3);
        assert_ok(run(f.executor, in, &out));
        assert_memory_equal(to, want, sizeof want);
        assert_ok(ferrum_tensor_destroy(out));
        assert_ok(ferrum_tensor_destroy(made));
        assert_ok(ferrum_tensor_destroy(in));
    }
}

/* The first bytes are the parameters; the arena follows in the next page. */
static void test_tensors_in_the_memory_of_the_model(void **state) {
    (void)state;
    float want[3], got[3];
    row(f.executor, want);
    ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
    assert_ok(ferrum_elastic_pool_get_model_info(f.models, "small", &info));
    const ferrum_address places[] = {info.base_address,
                                     info.base_address + FIXTURE_PAGE};
    for (int i = 0; i < 2; i++) {
        ferrum_tensor in = wrap(places[i], 64, 1, 4),
                      out = wrap(places[i], 64, 1, 3), good = over(X, 1, 4),
                      none = {0};
        assert_status(run(f.executor, in, &none),
                      FERRUM_ERROR_INVALID_ARGUMENT);
        assert_message("input \"x\" is in the memory of the model");
        assert_status(run(f.executor, good, &out),
                      FERRUM_ERROR_INVALID_ARGUMENT);
        assert_message("output \"y\" is in the memory of the model");
        row(f.executor, got);
        assert_memory_equal(want, got, sizeof want);
        assert_ok(ferrum_tensor_destroy(good));
        assert_ok(ferrum_tensor_destroy(out));
        assert_ok(ferrum_tensor_destroy(in));
    }
}

/* ------------------------------------------------------------ too little */

static ferrum_elastic_pool pool_of(uint64_t pages) {
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.page_bytes = FIXTURE_PAGE;
    config.limit_bytes = pages * FIXTURE_PAGE;
    config.ready_pages = 0;
    ferrum_elastic_pool pool;
    assert_ok(ferrum_elastic_pool_create(f.device, &config, &pool));
    return pool;
}

/* The weight has 3 pages, and its packed form needs scratch memory. */
static const char WIDE[] =
    "{\"metadata\":{\"name\":\"wide\",\"version\":\"1\",\"model_type\":"
    "\"wide\",\"architecture_family\":\"custom\"},\"architecture\":{\"name\":"
    "\"wide\",\"dimensions\":{\"vocab_size\":1,\"hidden_size\":4,"
    "\"num_layers\":1,\"num_heads\":1,\"max_sequence_length\":1}},"
    "\"parameters\":[{\"name\":\"weight\",\"shape\":[256,192],\"dtype\":"
    "\"f32\",\"trainable\":true,\"initialization\":{\"strategy\":\"normal\","
    "\"std\":1}}],\"layers\":[{\"name\":\"x\",\"layer_type\":\"Input\","
    "\"inputs\":[],\"outputs\":[{\"name\":\"x\",\"shape\":[-1,192],\"dtype\":"
    "\"f32\"}],\"parameters\":[]},{\"name\":\"y\",\"layer_type\":"
    "\"ferrum.linear\",\"inputs\":[{\"name\":\"in\",\"shape\":[-1,192],"
    "\"dtype\":\"f32\"},{\"name\":\"weight\",\"shape\":[256,192],\"dtype\":"
    "\"f32\"}],\"outputs\":[{\"name\":\"y\",\"shape\":[-1,256],\"dtype\":"
    "\"f32\"}],\"parameters\":[\"weight\"]}],\"graph\":{\"inputs\":[\"x\"],"
    "\"outputs\":[\"y\"],\"nodes\":[{\"id\":\"x\",\"layer_name\":\"x\"},"
    "{\"id\":\"y\",\"layer_name\":\"y\"}],\"edges\":[{\"source\":\"x\","
    "\"target\":\"y\"}]}}";

static void test_pools_without_room_for_a_build(void **state) {
    (void)state;
    int failed = 0;
    for (uint64_t pages = 1;; pages++) {
        ferrum_elastic_pool pool = pool_of(pages);
        ferrum_build_request r = request("wide");
        r.definition_json = WIDE;
        r.definition_bytes = sizeof WIDE - 1;
        r.elastic_pool = pool;
        books before = books_of(pool);
        ferrum_executor executor;
        ferrum_status status = ferrum_executor_build(&r, &executor);
        if (status == FERRUM_OK)
            assert_ok(ferrum_executor_destroy(executor, 0));
        else
            assert_message("model \"wide\"");
        uint64_t released;
        assert_ok(ferrum_elastic_pool_trim(pool, 0, &released));
        same_books(before, books_of(pool));
        assert_ok(ferrum_elastic_pool_destroy(pool, 0));
        if (status == FERRUM_OK)
            break;
        assert_int_equal(status, FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
        assert_int_equal(executor.id, 0);
        failed++;
    }
    assert_true(failed >= 3);
}

/* The device has less than the limit of the pool allows. */
static void test_devices_without_room_for_a_build(void **state) {
    (void)state;
    ferrum_elastic_pool pool = pool_of(64);
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_device_get_statistics(f.device, &statistics));
    int failed = 0;
    for (uint64_t more = 0;; more += FIXTURE_PAGE) {
        assert_ok(ferrum_device_set_limit(f.device,
                                          statistics.reserved.current + more));
        ferrum_build_request r = request("wide");
        r.definition_json = WIDE;
        r.definition_bytes = sizeof WIDE - 1;
        r.elastic_pool = pool;
        books before = books_of(pool);
        ferrum_executor executor;
        ferrum_status status = ferrum_executor_build(&r, &executor);
        if (status == FERRUM_OK)
            assert_ok(ferrum_executor_destroy(executor, 0));
        uint64_t released;
        assert_ok(ferrum_elastic_pool_trim(pool, 0, &released));
        same_books(before, books_of(pool));
        if (status == FERRUM_OK)
            break;
        assert_int_equal(status, FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
        failed++;
    }
    assert_true(failed >= 3);
    assert_ok(ferrum_device_set_limit(f.device, 0));
    assert_ok(ferrum_elastic_pool_destroy(pool, 0));
}

/* The backend has less memory than an output that the run makes. */
static void test_a_backend_without_room_for_an_output(void **state) {
    (void)state;
    enum { ROOM = 64 << 10, ROWS = ROOM / 12 + 64 };
    static float many[ROWS * 4];
    float want[3], got[3];
    row(f.executor, want);
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = f.device;
    config.growth = FERRUM_COMPUTE_GROWTH_STATIC;
    config.pool_size_bytes = ROOM;
    ferrum_build_request r = request("narrow");
    ferrum_executor executor;
    assert_ok(ferrum_compute_open(&config, &r.compute));
    assert_ok(ferrum_executor_build(&r, &executor));
    ferrum_tensor in = over(many, ROWS, 4), out = {0};
    assert_status(run(executor, in, &out), FERRUM_ERROR_OUT_OF_MEMORY);
    assert_message("output \"y\"");
    assert_int_equal(out.id, 0);
    row(executor, got);
    assert_memory_equal(want, got, sizeof want);
    assert_ok(ferrum_tensor_destroy(in));
    assert_ok(ferrum_executor_destroy(executor, 0));
    /* Nothing is left in the backend. */
    assert_ok(ferrum_compute_close(r.compute, 0));
}

/* A run whose arena does not fit takes nothing, and shorter ones go on. */
static void test_a_model_that_reaches_its_maximum(void **state) {
    (void)state;
    enum { ROWS = 1 << 14 };
    static float many[ROWS * 4];
    float want[3], got[3];
    row(f.executor, want);
    ferrum_build_request r = request("bounded");
    r.max_bytes = 2 * FIXTURE_PAGE;
    ferrum_executor executor;
    assert_ok(ferrum_executor_build(&r, &executor));
    row(executor, got);
    assert_memory_equal(want, got, sizeof want);
    books before = books_of(f.models);
    ferrum_tensor in = over(many, ROWS, 4), out = {0};
    for (int i = 0; i < 3; i++) {
        assert_status(run(executor, in, &out),
                      FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
        assert_message("model \"bounded\"");
        assert_int_equal(out.id, 0);
        same_books(before, books_of(f.models));
        row(executor, got);
        assert_memory_equal(want, got, sizeof want);
    }
    assert_ok(ferrum_tensor_destroy(in));
    assert_ok(ferrum_executor_destroy(executor, 0));
}

/* ---------------------------------------------------------- several callers */

enum { CALLERS = 6 };

static void *build_one_id(void *data) {
    ferrum_build_request r = request("same");
    ferrum_executor *executor = data;
    ferrum_status status = ferrum_executor_build(&r, executor);
    if (status != FERRUM_OK && status != FERRUM_ERROR_MODEL_ALREADY_EXISTS)
        must(status, "a build of an id that another one builds");
    return NULL;
}

/* Only one of several builds of an id makes a model. */
static void test_builds_of_one_id_at_the_same_time(void **state) {
    (void)state;
    books before = books_of(f.models);
    for (int round = 0; round < 20; round++) {
        ferrum_executor built[CALLERS] = {0};
        pthread_t threads[CALLERS];
        for (int i = 0; i < CALLERS; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, build_one_id, &built[i]), 0);
        for (int i = 0; i < CALLERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        int made = 0;
        for (int i = 0; i < CALLERS; i++)
            if (built[i].id != 0) {
                float y[3];
                row(built[i], y);
                made++;
                assert_ok(ferrum_executor_destroy(built[i], 0));
            }
        assert_int_equal(made, 1);
    }
    uint64_t released;
    assert_ok(ferrum_elastic_pool_trim(f.models, 0, &released));
    same_books(before, books_of(f.models));
}

/* A build from the progress callback of a build of the same id. */
static int32_t build_inside(const ferrum_build_progress *now, void *data) {
    (void)now;
    ferrum_build_request r = request("outer");
    ferrum_executor executor;
    *(ferrum_status *)data = ferrum_executor_build(&r, &executor);
    return executor.id != 0;
}

static void test_a_build_inside_a_build_of_the_same_id(void **state) {
    (void)state;
    ferrum_build_request r = request("outer");
    ferrum_status inside = FERRUM_OK;
    r.progress = build_inside;
    r.user_data = &inside;
    ferrum_executor executor;
    assert_ok(ferrum_executor_build(&r, &executor));
    assert_status(inside, FERRUM_ERROR_MODEL_ALREADY_EXISTS);
    assert_ok(ferrum_executor_destroy(executor, 0));
}

static ferrum_executor ending;
static ferrum_tensor shared_input;
static atomic_int destroyed;

/* Uses an executor until its handle has ended, and tries to end it. */
static void *use_and_end(void *data) {
    int self = *(int *)data;
    for (int i = 0;; i++) {
        ferrum_named_tensor x = {"x", shared_input}, y = {"y", {0}};
        ferrum_status status;
        switch ((i + self) % 5) {
        case 0:
        case 1:
            status = ferrum_executor_run(ending, &x, 1, &y, 1, f.stream, 0);
            if (y.tensor.id != 0)
                must(ferrum_tensor_destroy(y.tensor), "the end of an output");
            break;
        case 2:
            status = ferrum_executor_sleep(ending, NULL, NULL);
            break;
        case 3:
            status = ferrum_executor_wake(ending, NULL, NULL);
            break;
        default:
            status = i < 200 ? FERRUM_OK
                             : ferrum_executor_destroy(
                                   ending, self % 2 ? FERRUM_FORCE : 0);
            if (i >= 200 && status == FERRUM_OK)
                atomic_fetch_add(&destroyed, 1);
        }
        if (status == FERRUM_ERROR_INVALID_HANDLE)
            break;
        if (status != FERRUM_OK && status != FERRUM_ERROR_BUSY &&
            status != FERRUM_ERROR_INVALID_STATE)
            must(status, "a call on a shared executor");
    }
    return NULL;
}

/* Threads run, put to sleep, wake and end one executor. One of them ends it. */
static void test_threads_end_the_executor_they_use(void **state) {
    (void)state;
    books before = books_of(f.models);
    shared_input = over(X, 1, 4);
    for (int round = 0; round < 5; round++) {
        ferrum_build_request r = request("shared");
        assert_ok(ferrum_executor_build(&r, &ending));
        atomic_store(&destroyed, 0);
        pthread_t threads[CALLERS];
        int numbers[CALLERS];
        for (int i = 0; i < CALLERS; i++) {
            numbers[i] = i;
            assert_int_equal(
                pthread_create(&threads[i], NULL, use_and_end, &numbers[i]), 0);
        }
        for (int i = 0; i < CALLERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(atomic_load(&destroyed), 1);
    }
    assert_ok(ferrum_tensor_destroy(shared_input));
    uint64_t released;
    assert_ok(ferrum_elastic_pool_trim(f.models, 0, &released));
    same_books(before, books_of(f.models));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_tensors_that_sleep),
        CASE(test_an_output_over_its_input),
        CASE(test_tensors_in_the_memory_of_the_model),
        CASE(test_pools_without_room_for_a_build),
        CASE(test_devices_without_room_for_a_build),
        CASE(test_a_backend_without_room_for_an_output),
        CASE(test_a_model_that_reaches_its_maximum),
        CASE(test_builds_of_one_id_at_the_same_time),
        CASE(test_a_build_inside_a_build_of_the_same_id),
        CASE(test_threads_end_the_executor_they_use),
    };
    return cmocka_run_group_tests_name("executor memory", tests, NULL, NULL);
}

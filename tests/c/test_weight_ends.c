/*
 * The header's promises about running loads of weights: progress,
 * cancellation, threads, and the ends of the objects that a load or a set
 * uses. A progress callback blocks each load here until the test continues it.
 */
#include "asserts.h"
#include "fixture.h"
#include "weight_files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static fixture f;
static char folder[64], path[96];
static ferrum_weights weights;

enum { BIG = 24 << 20 };

static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    if (weight_folder_make(folder, path, BIG) != 0)
        return 1;
    weights = weight_file_open(path);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    /* A test may have closed it. */
    ferrum_weights_close(weights, FERRUM_FORCE);
    fixture_end(&f);
    return weight_folder_end(folder, path);
}

/* A load that its callback blocks. */
typedef struct {
    ferrum_weights_load_request request;
    ferrum_weights_memory memory;
    ferrum_tensor_set set;
    gate entered, left;
    int32_t answer;
    _Atomic int calls;
} held_load;

static held_load held;

static int32_t hold(const ferrum_weights_progress *progress, void *user_data) {
    held_load *h = user_data;
    assert_int_equal(progress->struct_size, sizeof *progress);
    assert_true(progress->done_bytes <= progress->total_bytes);
    if (atomic_fetch_add(&h->calls, 1) > 0)
        return 0;
    gate_open(&h->entered);
    gate_wait(&h->left);
    return h->answer;
}

/* Prepares a load into the pool of the fixture. */
static void prepare(void) {
    static const held_load none = {.entered = GATE, .left = GATE};
    held = none;
    held.memory.pool = f.pool;
    held.request =
        (ferrum_weights_load_request)FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    held.request.memories = &held.memory;
    held.request.memory_count = 1;
    held.request.progress = hold;
    held.request.user_data = &held;
}

/* Starts the load, and waits until its callback blocks it. */
static void start(void) {
    assert_ok(ferrum_weights_load(weights, &held.request, &held.set));
    gate_wait(&held.entered);
}

static void go_on(void) { gate_open(&held.left); }

/* Continues the load some time after its start. */
static void *go_on_later(void *unused) {
    usleep(20000);
    go_on();
    return unused;
}
static pthread_t later(void) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, go_on_later, NULL), 0);
    return thread;
}

static void test_running_load_is_busy(void **state) {
    (void)state;
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, NULL, &pool));
    prepare();
    held.memory.pool = pool;
    start();
    uint64_t count = 7;
    ferrum_weights_progress progress = FERRUM_WEIGHTS_PROGRESS_INIT;
    assert_ok(ferrum_tensor_set_get_progress(held.set, &progress));
    assert_int_equal(progress.is_over, 0);
    assert_int_equal(progress.total_bytes, BIG + 40);
    assert_status(ferrum_tensor_set_wait(held.set, 0), FERRUM_ERROR_TIMEOUT);
    assert_status(ferrum_tensor_set_wait(held.set, 1000), FERRUM_ERROR_TIMEOUT);
    assert_status(ferrum_tensor_set_get_count(held.set, &count),
                  FERRUM_ERROR_INVALID_STATE);
    assert_int_equal(count, 0);
    assert_status(ferrum_tensor_set_check(held.set),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_tensor_set_free(held.set, 0), FERRUM_ERROR_BUSY);
    assert_message("its load runs");
    assert_status(ferrum_weights_close(weights, 0), FERRUM_ERROR_BUSY);
    assert_message("a load reads the files");
    assert_status(ferrum_pool_destroy(pool, 0), FERRUM_ERROR_BUSY);
    assert_message(path);
    go_on();
    assert_ok(ferrum_tensor_set_wait(held.set, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_tensor_set_wait(held.set, 0));
    assert_true(held.calls > 1);
    /* The set exists, so its pool cannot be destroyed. */
    assert_status(ferrum_pool_destroy(pool, 0), FERRUM_ERROR_BUSY);
    assert_message("has its tensors there");
    assert_ok(ferrum_tensor_set_free(held.set, 0));
    assert_ok(ferrum_pool_destroy(pool, 0));
}

static void test_cancel_ends_a_load(void **state) {
    (void)state;
    int blocks = weight_leaks("block");
    prepare();
    start();
    assert_ok(ferrum_tensor_set_cancel(held.set));
    assert_ok(ferrum_tensor_set_cancel(held.set));
    go_on();
    assert_status(ferrum_tensor_set_wait(held.set, FERRUM_WAIT_FOREVER),
                  FERRUM_ERROR_CANCELLED);
    assert_int_equal(weight_leaks("block"), blocks);
    assert_int_equal(weight_leaks("tensor_set"), 2);
    assert_ok(ferrum_tensor_set_free(held.set, 0));
    assert_int_equal(weight_leaks("tensor_set"), 1);
    /* Its callback cancels too. */
    prepare();
    held.answer = 1;
    go_on();
    start();
    assert_status(ferrum_tensor_set_wait(held.set, FERRUM_WAIT_FOREVER),
                  FERRUM_ERROR_CANCELLED);
    assert_ok(ferrum_tensor_set_free(held.set, 0));
    assert_int_equal(weight_leaks("block"), blocks);
}

static void test_forced_free_ends_a_load(void **state) {
    (void)state;
    prepare();
    start();
    pthread_t thread = later();
    assert_ok(ferrum_tensor_set_free(held.set, FERRUM_FORCE));
    assert_int_equal(held.left.open, 1);
    pthread_join(thread, NULL);
    assert_status(ferrum_tensor_set_wait(held.set, 0),
                  FERRUM_ERROR_INVALID_HANDLE);
}

static void test_forced_close_ends_a_load(void **state) {
    (void)state;
    prepare();
    start();
    pthread_t thread = later();
    assert_ok(ferrum_weights_close(weights, FERRUM_FORCE));
    pthread_join(thread, NULL);
    assert_status(ferrum_tensor_set_wait(held.set, 0), FERRUM_ERROR_CANCELLED);
    assert_ok(ferrum_tensor_set_free(held.set, 0));
}

static void test_forced_end_of_a_pool_ends_a_load(void **state) {
    (void)state;
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, NULL, &pool));
    prepare();
    held.memory.pool = pool;
    start();
    pthread_t thread = later();
    assert_ok(ferrum_pool_destroy(pool, FERRUM_FORCE));
    pthread_join(thread, NULL);
    assert_status(ferrum_tensor_set_wait(held.set, 0), FERRUM_ERROR_CANCELLED);
    assert_ok(ferrum_tensor_set_free(held.set, 0));
}

static void load_all(const ferrum_weights_memory *memory,
                     ferrum_tensor_set *set_out) {
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.memories = memory;
    request.memory_count = 1;
    assert_ok(ferrum_weights_load(weights, &request, set_out));
    assert_ok(ferrum_tensor_set_wait(*set_out, FERRUM_WAIT_FOREVER));
}

/* A small file, which fits the pages of the fixture. */
static void open_small_file(void) {
    assert_ok(ferrum_weights_close(weights, 0));
    weight_file_write(path, 1000);
    weights = weight_file_open(path);
}

static void test_set_outlives_its_pools(void **state) {
    (void)state;
    open_small_file();
    ferrum_pool pool;
    ferrum_vpool vpool;
    ferrum_elastic_pool shared;
    ferrum_vpool_config pages = FERRUM_VPOOL_CONFIG_INIT;
    pages.capacity_bytes = 16 * FIXTURE_PAGE;
    pages.page_bytes = FIXTURE_PAGE;
    ferrum_elastic_pool_config several = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    several.page_bytes = FIXTURE_PAGE;
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    model.virtual_bytes = 16 * FIXTURE_PAGE;
    assert_ok(ferrum_pool_create(f.device, NULL, &pool));
    assert_ok(ferrum_vpool_create(f.device, &pages, &vpool));
    assert_ok(ferrum_elastic_pool_create(f.device, &several, &shared));
    assert_ok(ferrum_elastic_pool_register_model(shared, "one", &model));
    assert_ok(ferrum_elastic_pool_register_model(shared, "two", &model));
    ferrum_weights_memory memories[4] = {
        {.pool = pool},
        {.vpool = vpool},
        {.elastic_pool = shared, .model = "one"},
        {.elastic_pool = shared, .model = "two"}};
    ferrum_tensor_set sets[4];
    for (int i = 0; i < 4; i++)
        load_all(&memories[i], &sets[i]);
    assert_status(ferrum_pool_destroy(pool, 0), FERRUM_ERROR_BUSY);
    assert_message("tensor set handle");
    assert_status(ferrum_vpool_destroy(vpool, 0), FERRUM_ERROR_BUSY);
    assert_message("tensor set handle");
    assert_status(ferrum_elastic_pool_unregister_model(shared, "one", 0),
                  FERRUM_ERROR_BUSY);
    assert_message("tensor set handle");
    assert_status(ferrum_elastic_pool_destroy(shared, 0), FERRUM_ERROR_BUSY);
    assert_message("tensor set handle");
    assert_ok(
        ferrum_elastic_pool_unregister_model(shared, "one", FERRUM_FORCE));
    /* Another model of the same id does not have its tensors. */
    assert_ok(ferrum_elastic_pool_register_model(shared, "one", &model));
    assert_ok(ferrum_tensor_set_free(sets[2], 0));
    assert_ok(ferrum_pool_destroy(pool, FERRUM_FORCE));
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    assert_ok(ferrum_elastic_pool_destroy(shared, FERRUM_FORCE));
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            continue;
        ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
        assert_status(ferrum_tensor_set_find(sets[i], "a", &info),
                      FERRUM_ERROR_INVALID_STATE);
        assert_message("ended by force");
        assert_true(info.address == 0);
        assert_ok(ferrum_tensor_set_free(sets[i], 0));
    }
}

/* ------------------------------------------------------- inside of callbacks */

static void call_inside(void) {
    char text[4096];
    size_t length;
    /* Calls that do not wait for the load succeed. */
    assert_ok(
        ferrum_weights_metadata_json(weights, text, sizeof text, &length));
    assert_status(ferrum_tensor_set_wait(held.set, FERRUM_WAIT_FOREVER),
                  FERRUM_ERROR_INVALID_STATE);
    assert_message("progress callback");
    assert_status(ferrum_tensor_set_free(held.set, 0), FERRUM_ERROR_BUSY);
    assert_status(ferrum_tensor_set_free(held.set, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_weights_close(weights, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_pool_destroy(f.pool, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_shutdown(FERRUM_FORCE), FERRUM_ERROR_INVALID_STATE);
    ferrum_tensor_set another;
    assert_ok(
        weight_file_load(weights, f.pool, "{\"include\":[\"a\"]}", &another));
    assert_ok(ferrum_tensor_set_wait(another, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_tensor_set_free(another, 0));
}

static gate known = GATE;

static int32_t wait_and_call(const ferrum_weights_progress *progress,
                             void *user_data) {
    (void)progress;
    int *calls = user_data;
    gate_wait(&known);
    if ((*calls)++ == 0)
        call_inside();
    return 0;
}

static void test_callback_may_call_the_library(void **state) {
    (void)state;
    int calls = 0;
    prepare();
    held.request.progress = wait_and_call;
    held.request.user_data = &calls;
    assert_ok(ferrum_weights_load(weights, &held.request, &held.set));
    gate_open(&known);
    assert_ok(ferrum_tensor_set_wait(held.set, FERRUM_WAIT_FOREVER));
    assert_true(calls > 1);
    assert_ok(ferrum_tensor_set_free(held.set, 0));
}

/* A callback of a verification runs on the thread of the call. */
static int32_t close_from_verification(const ferrum_weights_progress *progress,
                                       void *user_data) {
    (void)progress;
    ++*(int *)user_data;
    assert_status(ferrum_weights_close(weights, 0), FERRUM_ERROR_BUSY);
    assert_message("a verification reads the files");
    assert_status(ferrum_weights_close(weights, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    return 0;
}

static void test_verification_keeps_the_source_open(void **state) {
    (void)state;
    char text[512];
    size_t length;
    int calls = 0;
    assert_ok(ferrum_weights_verify(weights, NULL, 0, close_from_verification,
                                    &calls, text, sizeof text, &length));
    assert_true(calls > 0);
}

/* ------------------------------------------------------------------- the stop */

static void test_shutdown_reports_and_ends_loads(void **state) {
    (void)state;
    prepare();
    start();
    assert_int_equal(weight_leaks("weights"), 2);
    assert_int_equal(weight_leaks("tensor_set"), 2);
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_BUSY);
    assert_message("2 weight sources, 2 tensor sets");
    pthread_t thread = later();
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    pthread_join(thread, NULL);
    assert_int_equal(weight_leaks("tensor_set"), 2);
    fixture_make(&f);
    assert_status(ferrum_tensor_set_wait(held.set, 0),
                  FERRUM_ERROR_INVALID_HANDLE);
}

static void test_forced_close_of_a_device_ends_its_sets(void **state) {
    (void)state;
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.other_device, NULL, &pool));
    prepare();
    held.memory.pool = pool;
    start();
    assert_status(ferrum_device_close(f.other_device, 0), FERRUM_ERROR_BUSY);
    assert_message("1 tensor set");
    pthread_t thread = later();
    assert_ok(ferrum_device_close(f.other_device, FERRUM_FORCE));
    pthread_join(thread, NULL);
    assert_status(ferrum_tensor_set_wait(held.set, 0),
                  FERRUM_ERROR_INVALID_HANDLE);
    /* The fixture ends with the same objects as at its start. */
    while (ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK)
        ;
    fixture_make(&f);
}

/* Threads that load, cancel and free sets of one source and one pool. */
static void *load_often(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    for (int i = 0; i < 40; i++) {
        ferrum_tensor_set set;
        ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
        const char *order = i % 2 == 0 ? "{\"exclude\":[\"big\"]}" : NULL;
        if (weight_file_load(weights, f.pool, order, &set) != FERRUM_OK)
            return "a load was refused";
        int choice = rand_r(&state) % 3;
        if (choice == 0)
            ferrum_tensor_set_cancel(set);
        if (choice < 2 &&
            ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER) == FERRUM_OK &&
            (ferrum_tensor_set_find(set, "b", &info) != FERRUM_OK ||
             ((int64_t *)(uintptr_t)info.address)[1] != -8))
            return "a tensor is wrong";
        if (ferrum_tensor_set_free(set, FERRUM_FORCE) != FERRUM_OK)
            return "a set was not freed";
    }
    return NULL;
}

static void test_threads_load_from_one_source(void **state) {
    (void)state;
    int blocks = weight_leaks("block");
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, load_often, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        if (wrong != NULL)
            fail_msg("%s", (char *)wrong);
    }
    assert_int_equal(weight_leaks("block"), blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_running_load_is_busy),
        TEST(test_cancel_ends_a_load),
        TEST(test_forced_free_ends_a_load),
        TEST(test_forced_close_ends_a_load),
        TEST(test_forced_end_of_a_pool_ends_a_load),
        TEST(test_set_outlives_its_pools),
        TEST(test_callback_may_call_the_library),
        TEST(test_verification_keeps_the_source_open),
        TEST(test_shutdown_reports_and_ends_loads),
        TEST(test_forced_close_of_a_device_ends_its_sets),
        TEST(test_threads_load_from_one_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

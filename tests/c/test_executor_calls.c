/*
 * Hostile and careless use of executors: calls with the handle of a model that
 * is being built, calls from callbacks and host functions, forced ends during
 * a build and a run, several threads on one model, and a forked child. Each
 * check runs in a separate process with an alarm, so that a crash or a
 * deadlock is a failure with a name.
 */
#include "alone.h"
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPORT_BYTES = 1 << 16, LIMIT_SECONDS = 60 };

static fixture f;
static float zeros[64];

static void begin(void) {
    alarm(LIMIT_SECONDS);
    fixture_make(&f);
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

static ferrum_tensor rows(int64_t count) {
    ferrum_weights_memory memory = {.pool = f.pool};
    ferrum_tensor tensor;
    MUST(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, SHAPE(count, 4),
                              f.stream, &tensor));
    MUST(ferrum_tensor_write(tensor, zeros, (uint64_t)count * 16, f.stream));
    return tensor;
}

static ferrum_status run(ferrum_executor executor, ferrum_tensor x,
                         uint64_t timeout_ns) {
    ferrum_named_tensor in = {"x", x}, out = {"y", {0}};
    ferrum_status status =
        ferrum_executor_run(executor, &in, 1, &out, 1, f.stream, timeout_ns);
    if (status == FERRUM_OK)
        MUST(ferrum_tensor_destroy(out.tensor));
    return status;
}

/* The handle that the leak report shows for a model; 0: none. */
static ferrum_executor leaked(const char *tag) {
    static _Thread_local char report[REPORT_BYTES], key[100];
    size_t length;
    MUST(ferrum_leak_report_json(report, sizeof report, &length));
    snprintf(key, sizeof key, "\"tag\":\"%s\"", tag);
    for (char *at = report; (at = strstr(at, "{\"kind\":\"executor\"")) != NULL;
         at++) {
        char *end = strchr(at, '}'), *found = strstr(at, key);
        if (found != NULL && found < end)
            return (ferrum_executor){
                strtoull(strstr(at, "\"handle\":") + 9, NULL, 10)};
    }
    return (ferrum_executor){0};
}

/* -------------------------------------------------- the handle of a build */

static int calls;

static int32_t use_the_handle(const ferrum_build_progress *now, void *data) {
    (void)now;
    (void)data;
    ferrum_executor early = leaked("early"), found;
    char text[1 << 14];
    size_t length;
    EXPECT(early.id != 0);
    EXPECT(run(early, f.tensor, 0) == FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_info_json(early, text, sizeof text, &length) ==
           FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_plan_json(early, "{\"batch\":1}", 11, text,
                                     sizeof text,
                                     &length) == FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_report_json(early, text, sizeof text, &length) ==
           FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_definition_json(early, text, sizeof text, &length) ==
           FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_sleep(early, NULL, NULL) == FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_wake(early, NULL, NULL) == FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_add_name(early, "early") == FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_find("early", &found) == FERRUM_ERROR_NOT_FOUND);
    EXPECT(ferrum_executor_destroy(early, 0) == FERRUM_ERROR_BUSY);
    EXPECT(ferrum_executor_destroy(early, FERRUM_FORCE) == FERRUM_ERROR_BUSY);
    calls++;
    return 0;
}

static void check_a_handle_of_a_build_is_busy(void) {
    begin();
    ferrum_build_request r = request("early");
    r.progress = use_the_handle;
    ferrum_executor executor;
    MUST(ferrum_executor_build(&r, &executor));
    EXPECT(calls >= 8);
    EXPECT(executor.id == leaked("early").id);
    MUST(ferrum_executor_destroy(executor, 0));
    fixture_end(&f);
}

/* ------------------------------------------------------- inside callbacks */

static int32_t call_everything(const ferrum_build_progress *now, void *data) {
    (void)now;
    EXPECT(ferrum_shutdown(0) == FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_shutdown(FERRUM_FORCE) == FERRUM_ERROR_INVALID_STATE);
    ferrum_build_request same = request("outer"), other = request("inner");
    ferrum_executor executor;
    EXPECT(ferrum_executor_build(&same, &executor) ==
           FERRUM_ERROR_MODEL_ALREADY_EXISTS);
    MUST(ferrum_executor_build(&other, &executor));
    MUST(run(executor, *(ferrum_tensor *)data, FERRUM_WAIT_FOREVER));
    MUST(ferrum_executor_sleep(executor, NULL, NULL));
    MUST(ferrum_executor_wake(executor, NULL, NULL));
    MUST(ferrum_executor_destroy(executor, FERRUM_FORCE));
    EXPECT(ferrum_elastic_pool_destroy(f.models, FERRUM_FORCE) ==
           FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_elastic_pool_unregister_model(
               f.models, "outer", FERRUM_FORCE) == FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_device_close(f.device, FERRUM_FORCE) ==
           FERRUM_ERROR_INVALID_STATE);
    calls++;
    return 0;
}

static void check_a_callback_can_call_everything(void) {
    begin();
    ferrum_tensor x = rows(2);
    ferrum_build_request r = request("outer");
    r.progress = call_everything;
    r.user_data = &x;
    ferrum_executor executor;
    MUST(ferrum_executor_build(&r, &executor));
    EXPECT(calls >= 8);
    MUST(run(executor, x, FERRUM_WAIT_FOREVER));
    MUST(ferrum_executor_destroy(executor, 0));
    MUST(ferrum_tensor_destroy(x));
    fixture_end(&f);
}

static int32_t close_the_backend(const ferrum_build_progress *now, void *data) {
    if (now->phase == *(ferrum_build_phase *)data) {
        ferrum_status status = ferrum_compute_close(f.compute, FERRUM_FORCE);
        EXPECT(status == FERRUM_OK || status == FERRUM_ERROR_INVALID_HANDLE);
    }
    return 0;
}

static void check_a_callback_closes_the_backend(void) {
    for (ferrum_build_phase at = 0; at <= FERRUM_BUILD_FINALIZATION; at++) {
        begin();
        ferrum_elastic_pool_info before = FERRUM_ELASTIC_POOL_INFO_INIT,
                                 after = before;
        MUST(ferrum_executor_destroy(f.executor, 0));
        MUST(ferrum_elastic_pool_get_info(f.models, &before));
        ferrum_build_request r = request("homeless");
        r.progress = close_the_backend;
        r.user_data = &at;
        ferrum_executor executor;
        ferrum_status status = ferrum_executor_build(&r, &executor);
        if (status == FERRUM_OK)
            MUST(ferrum_executor_destroy(executor, 0));
        else
            EXPECT(status == FERRUM_ERROR_INVALID_HANDLE && executor.id == 0);
        MUST(ferrum_elastic_pool_get_info(f.models, &after));
        EXPECT(after.num_models == before.num_models);
        EXPECT(after.physical_bytes == before.physical_bytes);
        MUST(ferrum_elastic_pool_destroy(f.models, 0));
        MUST(ferrum_shutdown(FERRUM_FORCE));
    }
}

static void in_host_function(void *data) {
    ferrum_build_request r = request("hosted");
    ferrum_executor executor;
    char text[1 << 14];
    size_t length;
    EXPECT(run(f.executor, *(ferrum_tensor *)data, FERRUM_WAIT_FOREVER) ==
           FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_executor_build(&r, &executor) == FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_executor_sleep(f.executor, NULL, NULL) ==
           FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_executor_wake(f.executor, NULL, NULL) ==
           FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_executor_destroy(f.executor, FERRUM_FORCE) ==
           FERRUM_ERROR_INVALID_STATE);
    MUST(ferrum_executor_info_json(f.executor, text, sizeof text, &length));
    /* The run that waits for this function uses the model. */
    ferrum_status status = ferrum_executor_plan_json(
        f.executor, "{\"batch\":3}", 11, text, sizeof text, &length);
    EXPECT(status == FERRUM_OK || status == FERRUM_ERROR_BUSY);
    calls++;
}

static void check_a_host_function_never_waits(void) {
    begin();
    ferrum_tensor x = rows(2);
    MUST(run(f.executor, x, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < 20; i++) {
        MUST(ferrum_stream_host_function(f.stream, in_host_function, &x));
        MUST(run(f.executor, x, FERRUM_WAIT_FOREVER));
    }
    EXPECT(calls == 20);
    MUST(ferrum_tensor_destroy(x));
    fixture_end(&f);
}

/* ------------------------------------------------------- nested callbacks */

/* What the innermost callback does. The callbacks around it wait for it. */
static void (*attempt)(void);

static int32_t attempt_now(const ferrum_build_progress *now, void *data) {
    (void)now;
    (void)data;
    attempt();
    calls++;
    return 0;
}

static int32_t attempt_in_load(const ferrum_weights_progress *now, void *data) {
    (void)now;
    (void)data;
    attempt();
    calls++;
    return 0;
}

/* A build inside of a callback, whose own callback attempts. */
static void build_inside(void) {
    ferrum_build_request r = request("inner");
    r.progress = attempt_now;
    ferrum_executor executor;
    MUST(ferrum_executor_build(&r, &executor));
    MUST(ferrum_executor_destroy(executor, 0));
}

/* The length of the header, the header, and a tensor of four bytes. */
static const char FILE_OF_ONE[] = "\x38\0\0\0\0\0\0\0"
                                  "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],"
                                  "\"data_offsets\":[0,4]}}   1234";

static ferrum_weights open_one(void) {
    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    source.kind = FERRUM_WEIGHTS_SOURCE_MEMORY;
    source.data = FILE_OF_ONE;
    source.data_bytes = sizeof FILE_OF_ONE - 1;
    ferrum_weights weights;
    MUST(ferrum_weights_open(&source, &weights));
    return weights;
}

/* A load, whose callback attempts on a thread of the library. */
static void load_inside(void) {
    ferrum_weights weights = open_one();
    ferrum_weights_memory memory = {.pool = f.pool};
    ferrum_weights_load_request r = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    r.memories = &memory;
    r.memory_count = 1;
    r.progress = attempt_in_load;
    ferrum_tensor_set set;
    MUST(ferrum_weights_load(weights, &r, &set));
    MUST(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    MUST(ferrum_tensor_set_free(set, 0));
    MUST(ferrum_weights_close(weights, 0));
}

static int32_t nested(const ferrum_build_progress *now, void *inside) {
    if (now->phase == FERRUM_BUILD_OPTIMIZATION)
        ((void (*)(void))inside)();
    return 0;
}

static void end_the_outer_build(void) {
    EXPECT(ferrum_elastic_pool_unregister_model(
               f.models, "outer", FERRUM_FORCE) == FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_elastic_pool_destroy(f.models, FERRUM_FORCE) ==
           FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_device_close(f.device, FERRUM_FORCE) ==
           FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_shutdown(FERRUM_FORCE) == FERRUM_ERROR_INVALID_STATE);
}

static void build_outer(ferrum_build_request *r) {
    calls = 0;
    ferrum_executor executor;
    MUST(ferrum_executor_build(r, &executor));
    EXPECT(calls > 0);
    MUST(ferrum_executor_destroy(executor, 0));
}

static ferrum_status build_in_pass(const ferrum_pass_call *call, void *data) {
    (void)call;
    (void)data;
    build_inside();
    return FERRUM_OK;
}

static void check_a_nested_callback_ends_the_outer_build(void) {
    begin();
    attempt = end_the_outer_build;
    ferrum_build_request r = request("outer");
    r.progress = nested;
    r.user_data = (void *)build_inside;
    build_outer(&r);
    r.user_data = (void *)load_inside;
    build_outer(&r);
    ferrum_pass pass = FERRUM_PASS_INIT;
    pass.name = "nests";
    pass.apply = build_in_pass;
    ferrum_registration registration;
    MUST(ferrum_pass_register(&pass, &registration));
    r.progress = NULL;
    r.options_json = "{\"passes\":[\"nests\"]}";
    r.options_bytes = strlen(r.options_json);
    build_outer(&r);
    MUST(ferrum_registration_remove(registration));
    fixture_end(&f);
}

static ferrum_weights read_by_outer;

static void close_the_weights(void) {
    EXPECT(ferrum_weights_close(read_by_outer, FERRUM_FORCE) ==
           FERRUM_ERROR_INVALID_STATE);
}

static int32_t nested_in_verify(const ferrum_weights_progress *now,
                                void *inside) {
    (void)now;
    ((void (*)(void))inside)();
    return 0;
}

static void check_a_nested_callback_closes_the_weights(void) {
    begin();
    attempt = close_the_weights;
    read_by_outer = open_one();
    void (*const insides[])(void) = {build_inside, load_inside};
    for (int i = 0; i < 2; i++) {
        calls = 0;
        char text[1 << 12];
        size_t length;
        MUST(ferrum_weights_verify(read_by_outer, NULL, 0, nested_in_verify,
                                   (void *)insides[i], text, sizeof text,
                                   &length));
        EXPECT(calls > 0);
    }
    MUST(ferrum_weights_close(read_by_outer, 0));
    fixture_end(&f);
}

/* A function of the program removes its own registration in a nested callback: the
 * call does not wait for it. */
static ferrum_registration own;
static ferrum_placement own_placement;

static void remove_once(void) {
    if (own.id != 0)
        MUST(ferrum_registration_remove(own));
    if (own_placement.id != 0)
        MUST(ferrum_placement_destroy(own_placement));
    own.id = own_placement.id = 0;
}

static int32_t recognise_all(const void *start, size_t start_bytes,
                             uint64_t file_bytes, void *data) {
    (void)start;
    (void)start_bytes;
    (void)file_bytes;
    ((void (*)(void))data)();
    return 0;
}

static ferrum_status decode_nothing(const ferrum_weights_file *file,
                                    void *data) {
    (void)file;
    (void)data;
    return FERRUM_ERROR_INVALID_FORMAT;
}

static ferrum_status place_first(const ferrum_placement_request *asked,
                                 const ferrum_placement_option *options,
                                 size_t count, int64_t *chosen_out,
                                 void *data) {
    (void)asked;
    (void)options;
    (void)count;
    ((void (*)(void))data)();
    *chosen_out = 0;
    return FERRUM_OK;
}

static void check_a_nested_callback_removes_the_outer_one(void) {
    begin();
    attempt = remove_once;
    void (*const insides[])(void) = {build_inside, load_inside};
    for (int i = 0; i < 2; i++) {
        calls = 0;
        ferrum_weights_decoder decoder = FERRUM_WEIGHTS_DECODER_INIT;
        decoder.format = "nothing";
        decoder.recognises = recognise_all;
        decoder.decode = decode_nothing;
        decoder.user_data = (void *)insides[i];
        uint32_t number;
        MUST(ferrum_weights_decoder_add(&decoder, &number, &own));
        ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
        source.kind = FERRUM_WEIGHTS_SOURCE_MEMORY;
        source.data = "no format of the library";
        source.data_bytes = strlen(source.data);
        ferrum_weights weights;
        EXPECT(ferrum_weights_open(&source, &weights) != FERRUM_OK);
        EXPECT(calls > 0);
        EXPECT(own.id == 0);
        calls = 0;
        MUST(ferrum_placement_create_own("nested", place_first,
                                         (void *)insides[i], &own_placement));
        ferrum_placement_request asked = FERRUM_PLACEMENT_REQUEST_INIT;
        asked.size_bytes = 4096;
        ferrum_device chosen;
        ferrum_placement_select(own_placement, &asked, &chosen);
        EXPECT(calls > 0);
        EXPECT(own_placement.id == 0);
    }
    fixture_end(&f);
}

/* ------------------------------------------------------------ forced ends */

static atomic_int is_inside, is_ending;

/* The build lasts until the forced end has had two seconds to begin. */
static int32_t linger(const ferrum_build_progress *now, void *data) {
    (void)data;
    if (now->phase == FERRUM_BUILD_OPTIMIZATION &&
        !atomic_exchange(&is_inside, 1)) {
        while (!atomic_load(&is_ending))
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        nanosleep(&(struct timespec){2, 0}, NULL);
    }
    return 0;
}

static void *build_slowly(void *data) {
    (void)data;
    ferrum_build_request r = request("slow");
    r.progress = linger;
    ferrum_executor executor;
    ferrum_status status = ferrum_executor_build(&r, &executor);
    EXPECT(status != FERRUM_OK && executor.id == 0);
    EXPECT(status == FERRUM_ERROR_CANCELLED ||
           status == FERRUM_ERROR_INVALID_HANDLE ||
           status == FERRUM_ERROR_NOT_INITIALIZED);
    return NULL;
}

static void begin_slow_build(pthread_t *thread) {
    begin();
    EXPECT(pthread_create(thread, NULL, build_slowly, NULL) == 0);
    while (!atomic_load(&is_inside))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void check_pool_ends_during_build(void) {
    pthread_t thread;
    begin_slow_build(&thread);
    EXPECT(ferrum_elastic_pool_destroy(f.models, 0) == FERRUM_ERROR_BUSY);
    atomic_store(&is_ending, 1);
    MUST(ferrum_elastic_pool_destroy(f.models, FERRUM_FORCE));
    EXPECT(pthread_join(thread, NULL) == 0);
    MUST(ferrum_shutdown(FERRUM_FORCE));
}
static void check_backend_ends_during_build(void) {
    pthread_t thread;
    begin_slow_build(&thread);
    EXPECT(ferrum_compute_close(f.compute, 0) == FERRUM_ERROR_BUSY);
    atomic_store(&is_ending, 1);
    MUST(ferrum_compute_close(f.compute, FERRUM_FORCE));
    EXPECT(pthread_join(thread, NULL) == 0);
    MUST(ferrum_shutdown(FERRUM_FORCE));
}
static void check_device_ends_during_build(void) {
    pthread_t thread;
    begin_slow_build(&thread);
    EXPECT(ferrum_device_close(f.device, 0) == FERRUM_ERROR_BUSY);
    atomic_store(&is_ending, 1);
    MUST(ferrum_device_close(f.device, FERRUM_FORCE));
    EXPECT(pthread_join(thread, NULL) == 0);
    MUST(ferrum_shutdown(FERRUM_FORCE));
}
static void check_library_stops_during_build(void) {
    pthread_t thread;
    begin_slow_build(&thread);
    atomic_store(&is_ending, 1);
    MUST(ferrum_shutdown(FERRUM_FORCE));
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(ferrum_executor_destroy(f.executor, 0) ==
           FERRUM_ERROR_NOT_INITIALIZED);
    fixture_make(&f);
    fixture_end(&f);
}

/* --------------------------------------------------------- many threads */

static atomic_int ends, has_ended;

/* Statuses of a call that a call of another thread has come before. */
static int is_expected(ferrum_status status) {
    switch (status) {
    case FERRUM_OK:
    case FERRUM_ERROR_BUSY:
    case FERRUM_ERROR_TIMEOUT:
    case FERRUM_ERROR_INVALID_STATE:
    case FERRUM_ERROR_NOT_FOUND:
    case FERRUM_ERROR_ALREADY_EXISTS:
    case FERRUM_ERROR_MODEL_ALREADY_EXISTS:
        return 1;
    case FERRUM_ERROR_INVALID_HANDLE:
    case FERRUM_ERROR_NOT_INITIALIZED:
    case FERRUM_ERROR_CANCELLED:
    case FERRUM_ERROR_MODEL_NOT_FOUND:
        return atomic_load(&has_ended);
    default:
        return 0;
    }
}

#define ALLOW(call)                                              \
    do {                                                         \
        ferrum_status status_ = (call);                          \
        if (!is_expected(status_)) {                             \
            ferrum_error_info info_ = FERRUM_ERROR_INFO_INIT;    \
            ferrum_last_error(&info_);                           \
            fprintf(stderr, "  %s: %s: %s\n", #call,             \
                    ferrum_status_name(status_), info_.message); \
            exit(1);                                             \
        }                                                        \
    } while (0)

static void *use_everything(void *data) {
    ferrum_tensor x = *(ferrum_tensor *)data;
    char text[1 << 14];
    size_t length;
    unsigned seed = (unsigned)(uintptr_t)&text;
    while (!atomic_load(&ends)) {
        ferrum_executor executor;
        ferrum_build_request r = request("shared");
        switch (rand_r(&seed) % 12) {
        case 0:
        case 1: {
            ferrum_named_tensor in = {"x", x}, out = {"y", {0}};
            ALLOW(ferrum_executor_run(f.executor, &in, 1, &out, 1, f.stream,
                                      rand_r(&seed) % 2 * 2000000));
            if (out.tensor.id != 0)
                ALLOW(ferrum_tensor_destroy(out.tensor));
            break;
        }
        case 2:
            ALLOW(ferrum_executor_plan_json(f.executor, "{\"batch\":9}", 11,
                                            text, sizeof text, &length));
            break;
        case 3:
            ALLOW(ferrum_executor_info_json(f.executor, text, sizeof text,
                                            &length));
            break;
        case 4:
            ALLOW(ferrum_executor_sleep(f.executor, NULL, NULL));
            break;
        case 5:
        case 6:
            ALLOW(ferrum_executor_wake(f.executor, NULL, NULL));
            break;
        case 7:
            ALLOW(ferrum_executor_add_name(f.executor, "shared"));
            break;
        case 8: {
            ferrum_status status = ferrum_executor_find("shared", &executor);
            ALLOW(status);
            if (status == FERRUM_OK)
                ALLOW(ferrum_executor_destroy(executor, FERRUM_FORCE));
            break;
        }
        case 9: {
            ferrum_status status =
                ferrum_executor_remove_name("shared", &executor);
            ALLOW(status);
            /* Two threads that get one handle would both destroy it. */
            if (status == FERRUM_OK)
                ALLOW(ferrum_executor_destroy(executor, FERRUM_FORCE));
            break;
        }
        case 10: {
            ferrum_status status = ferrum_executor_build(&r, &executor);
            ALLOW(status);
            if (status == FERRUM_OK)
                ALLOW(ferrum_executor_destroy(executor, FERRUM_FORCE));
            break;
        }
        case 11:
            ALLOW(ferrum_executors_json(text, sizeof text, &length));
            break;
        }
    }
    return NULL;
}

enum { THREADS = 4 };
static pthread_t threads[THREADS];
static ferrum_tensor input;

static void begin_threads(void) {
    begin();
    input = rows(2);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, use_everything, &input) == 0);
    nanosleep(&(struct timespec){1, 0}, NULL);
}
static void join_threads(void) {
    atomic_store(&ends, 1);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void check_threads_share_an_executor(void) {
    begin_threads();
    join_threads();
    ferrum_executor named;
    if (ferrum_executor_remove_name("shared", &named) == FERRUM_OK)
        MUST(ferrum_executor_destroy(named, 0));
    ferrum_status status = ferrum_executor_wake(f.executor, NULL, NULL);
    EXPECT(status == FERRUM_OK || status == FERRUM_ERROR_INVALID_STATE);
    MUST(run(f.executor, input, FERRUM_WAIT_FOREVER));
    MUST(ferrum_tensor_destroy(input));
    fixture_end(&f);
}
static void check_pool_ends_under_threads(void) {
    begin_threads();
    atomic_store(&has_ended, 1);
    MUST(ferrum_elastic_pool_destroy(f.models, FERRUM_FORCE));
    join_threads();
    MUST(ferrum_shutdown(FERRUM_FORCE));
}
static void check_backend_ends_under_threads(void) {
    begin_threads();
    atomic_store(&has_ended, 1);
    MUST(ferrum_compute_close(f.compute, FERRUM_FORCE));
    join_threads();
    MUST(ferrum_shutdown(FERRUM_FORCE));
}
static void check_device_ends_under_threads(void) {
    begin_threads();
    atomic_store(&has_ended, 1);
    MUST(ferrum_device_close(f.device, FERRUM_FORCE));
    join_threads();
    MUST(ferrum_shutdown(FERRUM_FORCE));
}
static void check_library_stops_under_threads(void) {
    begin_threads();
    atomic_store(&has_ended, 1);
    MUST(ferrum_shutdown(FERRUM_FORCE));
    join_threads();
    fixture_make(&f);
    fixture_end(&f);
}

/* A child of a process whose threads use executors. */
static void check_a_forked_child_is_refused(void) {
    begin_threads();
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            ferrum_build_request r = request("child");
            ferrum_executor executor;
            ferrum_named_tensor in = {"x", input}, out = {"y", {0}};
            char text[100];
            size_t length;
            _exit(ferrum_executor_build(&r, &executor) != FERRUM_ERROR_FORKED ||
                  ferrum_executor_run(f.executor, &in, 1, &out, 1, f.stream,
                                      0) != FERRUM_ERROR_FORKED ||
                  ferrum_executor_sleep(f.executor, NULL, NULL) !=
                      FERRUM_ERROR_FORKED ||
                  ferrum_executor_find("shared", &executor) !=
                      FERRUM_ERROR_FORKED ||
                  ferrum_executors_json(text, sizeof text, &length) !=
                      FERRUM_ERROR_FORKED ||
                  ferrum_executor_destroy(f.executor, FERRUM_FORCE) !=
                      FERRUM_ERROR_FORKED);
        }
        int status;
        EXPECT(waitpid(child, &status, 0) == child);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    join_threads();
    MUST(ferrum_shutdown(FERRUM_FORCE));
}

int main(int argc, char **argv) {
    static const alone_check checks[] = {
        {"a handle of a build is busy", check_a_handle_of_a_build_is_busy, NULL,
         NULL},
        {"a callback can call everything", check_a_callback_can_call_everything,
         NULL, NULL},
        {"a callback closes the backend", check_a_callback_closes_the_backend,
         NULL, NULL},
        {"a nested callback ends the outer build",
         check_a_nested_callback_ends_the_outer_build, NULL, NULL},
        {"a nested callback closes the weights",
         check_a_nested_callback_closes_the_weights, NULL, NULL},
        {"a nested callback removes the outer one",
         check_a_nested_callback_removes_the_outer_one, NULL, NULL},
        {"a host function never waits", check_a_host_function_never_waits, NULL,
         NULL},
        {"a pool ends during a build", check_pool_ends_during_build, NULL,
         NULL},
        {"a backend ends during a build", check_backend_ends_during_build, NULL,
         NULL},
        {"a device ends during a build", check_device_ends_during_build, NULL,
         NULL},
        {"the library stops during a build", check_library_stops_during_build,
         NULL, NULL},
        {"threads share an executor", check_threads_share_an_executor, NULL,
         NULL},
        {"a pool ends under threads", check_pool_ends_under_threads, NULL,
         NULL},
        {"a backend ends under threads", check_backend_ends_under_threads, NULL,
         NULL},
        {"a device ends under threads", check_device_ends_under_threads, NULL,
         NULL},
        {"the library stops under threads", check_library_stops_under_threads,
         NULL, NULL},
        {"a forked child is refused", check_a_forked_child_is_refused, NULL,
         NULL},
    };
    return alone_main(argc, argv, checks, sizeof checks / sizeof *checks);
}

/*
 * The header's promises about passes of the program: registration, the call
 * that a pass gets, changed and broken definitions, errors, warnings, builds
 * that name passes, measured times, ends, threads, forks and forced stops.
 * Each test ends with a clean stop of the library, which fails if anything is
 * left.
 */
#include "asserts.h"
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static fixture f;

/* What a pass does, and what it saw. */
typedef struct pass {
    /* Replaces the first text by the second, if it is not NULL. */
    const char *old, *by;
    /* Is passed to replace as it is, if it is not NULL. */
    const char *whole;
    uint64_t whole_bytes;
    const char *warning;
    int warnings;
    ferrum_status gives, check_gives;
    const char *message;
    uint32_t is_applicable;
    void (*inside)(struct pass *p, const ferrum_pass_call *call);
    ferrum_registration registration;
    ferrum_pass_call last;
    _Atomic int checked, applied, released;
} pass;

static void note(pass *p, const ferrum_pass_call *call) {
    assert_int_equal(call->struct_size, sizeof *call);
    assert_int_equal(strlen(call->definition_json), call->definition_bytes);
    p->last = *call;
}

static ferrum_status is_applicable(const ferrum_pass_call *call,
                                   uint32_t *is_applicable_out,
                                   void *user_data) {
    pass *p = user_data;
    p->checked++;
    assert_int_equal(*is_applicable_out, 0);
    note(p, call);
    *is_applicable_out = p->is_applicable;
    return p->check_gives;
}

static ferrum_status apply(const ferrum_pass_call *call, void *user_data) {
    pass *p = user_data;
    p->applied++;
    note(p, call);
    if (p->inside != NULL)
        p->inside(p, call);
    for (int i = 0; i < p->warnings; i++) {
        ferrum_status status = call->warn(call->call, p->warning);
        if (status != FERRUM_OK)
            return status;
    }
    if (p->whole != NULL) {
        ferrum_status status =
            call->replace(call->call, p->whole, p->whole_bytes);
        if (status != FERRUM_OK)
            return status;
    }
    if (p->old != NULL) {
        const char *at = strstr(call->definition_json, p->old);
        if (at == NULL)
            return FERRUM_ERROR_NOT_FOUND;
        size_t before = (size_t)(at - call->definition_json);
        char *made = malloc(call->definition_bytes + strlen(p->by) + 1);
        int length = sprintf(made, "%.*s%s%s", (int)before,
                             call->definition_json, p->by, at + strlen(p->old));
        ferrum_status status =
            call->replace(call->call, made, (uint64_t)length);
        free(made); /* the library has copied it */
        if (status != FERRUM_OK)
            return status;
    }
    if (p->message != NULL)
        memcpy(call->message_out, p->message,
               strnlen(p->message, FERRUM_PASS_MESSAGE_MAX));
    return p->gives;
}

static void release(void *user_data) {
    pass *p = user_data;
    p->released++;
    /* The handle has ended before. */
    if (ferrum_registration_remove(p->registration) == FERRUM_OK)
        p->released = 99;
}

static ferrum_pass described(pass *p, const char *name) {
    ferrum_pass made = FERRUM_PASS_INIT;
    made.name = name;
    made.apply = apply;
    made.release = release;
    made.user_data = p;
    return made;
}

static void add(pass *p, const char *name) {
    ferrum_pass made = described(p, name);
    assert_ok(ferrum_pass_register(&made, &p->registration));
}

static void remove_pass(pass *p) {
    assert_ok(ferrum_registration_remove(p->registration));
    assert_int_equal(p->released, 1);
}

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

/* The last result of optimize, or "". */
static char result[1 << 16];
static int received;

static void receive(const char *text, uint64_t size, void *user_data) {
    assert_ptr_equal(user_data, &received);
    assert_int_equal(strlen(text), size);
    snprintf(result, sizeof result, "%s", text);
    received++;
}

static ferrum_status optimize(const char *passes) {
    result[0] = 0;
    return ferrum_definition_optimize(
        FIXTURE_DEFINITION, strlen(FIXTURE_DEFINITION), passes,
        passes != NULL ? strlen(passes) : 0, receive, &received);
}

static ferrum_status build(const char *options, ferrum_executor *executor) {
    ferrum_build_request request = FERRUM_BUILD_REQUEST_INIT;
    request.model = "another";
    request.definition_json = FIXTURE_DEFINITION;
    request.definition_bytes = strlen(FIXTURE_DEFINITION);
    request.compute = f.compute;
    request.elastic_pool = f.models;
    request.options_json = options;
    request.options_bytes = strlen(options);
    return ferrum_executor_build(&request, executor);
}

static uint64_t models(void) {
    ferrum_elastic_pool_info info = FERRUM_ELASTIC_POOL_INFO_INIT;
    assert_ok(ferrum_elastic_pool_get_info(f.models, &info));
    return info.num_models;
}

static void test_a_pass_changes_a_definition(void **state) {
    (void)state;
    pass mine = {.old = "\"version\":\"1\"", .by = "\"version\":\"2\""};
    add(&mine, "mine");
    int before = received;
    assert_ok(optimize("[\"mine\", \"fold_constants\"]"));
    assert_int_equal(received, before + 1);
    assert_int_equal(mine.applied, 1);
    assert_non_null(strstr(result, "\"version\":\"2\""));
    assert_non_null(strstr(result, "{\"pass\":\"mine\",\"applied\":true"));
    assert_non_null(strstr(result, "\"total\":{\"parameters_eliminated\":0"));
    assert_int_equal(strncmp(result, "{\"definition\":{", 15), 0);
    /* After the call its number is not known any more. */
    assert_status(mine.last.replace(mine.last.call, "{}", 2),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_status(mine.last.warn(mine.last.call, "late"),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_status(mine.last.replace(12345, "{}", 2),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_status(mine.last.replace(mine.last.call, NULL, 2),
                  FERRUM_ERROR_NULL_POINTER);
    assert_status(mine.last.warn(mine.last.call, NULL),
                  FERRUM_ERROR_NULL_POINTER);

    /* The standard passes, none, and a build. */
    assert_ok(optimize(NULL));
    assert_non_null(strstr(result, "\"pass\":\"fuse_norm\""));
    assert_ok(optimize("[]"));
    assert_non_null(strstr(result, "\"passes\":[]"));
    ferrum_executor executor;
    assert_ok(build("{\"passes\": [\"mine\"]}", &executor));
    char text[1 << 16];
    size_t length;
    assert_ok(
        ferrum_executor_definition_json(executor, text, sizeof text, &length));
    assert_non_null(strstr(text, "\"version\":\"2\""));
    assert_ok(
        ferrum_executor_report_json(executor, text, sizeof text, &length));
    assert_non_null(strstr(text, "{\"pass\":\"mine\",\"applied\":true"));
    assert_null(strstr(text, "fuse_norm"));
    assert_null(strstr(text, "\"times\""));
    assert_ok(ferrum_executor_destroy(executor, 0));
    assert_ok(
        build("{\"passes\": [\"mine\"], \"measure_passes\": true}", &executor));
    assert_ok(
        ferrum_executor_report_json(executor, text, sizeof text, &length));
    assert_non_null(strstr(text, "\"times\":{\"before_ns\":"));
    assert_ok(ferrum_executor_destroy(executor, 0));

    char *info = text_of(ferrum_builder_info_json);
    assert_non_null(strstr(info,
                           "{\"name\":\"mine\",\"level\":0,"
                           "\"dependencies\":[],\"is_registered\":true}"));
    free(info);
    info = text_of(ferrum_leak_report_json);
    assert_non_null(strstr(info, "pass \\\"mine\\\""));
    free(info);
    remove_pass(&mine);
    info = text_of(ferrum_builder_info_json);
    assert_null(strstr(info, "\"mine\""));
    free(info);
}

static void test_dependencies_and_applicability(void **state) {
    (void)state;
    pass first = {.old = "\"version\":\"1\"", .by = "\"version\":\"7\""};
    pass second = {.old = "\"version\":\"7\"",
                   .by = "\"version\":\"8\"",
                   .is_applicable = 1};
    add(&first, "first");
    const char *needs[] = {"first", "fold_constants"};
    ferrum_pass made = described(&second, "second");
    made.dependencies = needs;
    made.dependency_count = 2;
    made.is_applicable = is_applicable;
    assert_ok(ferrum_pass_register(&made, &second.registration));
    assert_ok(optimize("[\"second\", \"fold_constants\", \"first\"]"));
    assert_non_null(strstr(result, "\"version\":\"8\""));
    assert_int_equal(second.checked, 1);
    second.is_applicable = 0;
    assert_ok(optimize("[\"second\", \"fold_constants\", \"first\"]"));
    assert_non_null(strstr(result, "\"version\":\"7\""));
    assert_non_null(strstr(result, "{\"pass\":\"second\",\"applied\":false"));
    assert_int_equal(second.applied, 1);
    second.check_gives = FERRUM_ERROR_IO;
    assert_status(optimize("[\"second\", \"fold_constants\", \"first\"]"),
                  FERRUM_ERROR_IO);
    assert_message("pass \"second\"");
    assert_status(optimize("[\"second\", \"first\"]"), FERRUM_ERROR_NOT_FOUND);
    assert_message("fold_constants");
    remove_pass(&second);
    needs[0] = "second";
    made.is_applicable = NULL;
    second.released = 0;
    assert_ok(ferrum_pass_register(&made, &second.registration));
    assert_status(optimize("[\"second\", \"fold_constants\"]"),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("second -> second");
    remove_pass(&second);
    remove_pass(&first);
}

static void test_what_a_pass_breaks_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *old, *by;
        ferrum_status want;
        const char *says;
    } cases[] = {
        {"\"id\":\"y\"", "\"id\":\"x\"", FERRUM_ERROR_INVALID_CONFIG, "graph."},
        {"\"source\":\"x\"", "\"source\":\"y\"", FERRUM_ERROR_INVALID_CONFIG,
         "graph."},
        {"\"ferrum.linear\"", "\"ferrum.liner\"", FERRUM_ERROR_INVALID_CONFIG,
         "layers[1]"},
        {"\"shape\":[3,4]", "\"shape\":[4,3]", FERRUM_ERROR_INVALID_CONFIG,
         "weight"},
        {"\"outputs\": [\"y\"]", "\"outputs\": [\"x\"]", FERRUM_ERROR_MODEL,
         "outputs"},
        {"\"graph\":", "\"graf\":", FERRUM_ERROR_INVALID_FORMAT, "graf"},
        {"{", "", FERRUM_ERROR_INVALID_FORMAT, "returned"},
    };
    uint64_t before = models();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pass mine = {.old = cases[i].old, .by = cases[i].by};
        add(&mine, "mine");
        assert_status(optimize("[\"mine\"]"), cases[i].want);
        assert_message("pass \"mine\"");
        assert_message(cases[i].says);
        assert_string_equal(result, "");
        ferrum_executor executor = {5};
        assert_status(build("{\"passes\": [\"mine\"]}", &executor),
                      cases[i].want);
        assert_message("pass \"mine\"");
        assert_int_equal(executor.id, 0);
        assert_int_equal(models(), before);
        remove_pass(&mine);
    }
    pass huge = {.whole = "",
                 .whole_bytes = (uint64_t)FERRUM_DEFINITION_MAX + 1};
    add(&huge, "huge");
    assert_status(optimize("[\"huge\"]"), FERRUM_ERROR_INVALID_SIZE);
    huge.whole_bytes = UINT64_MAX;
    assert_status(optimize("[\"huge\"]"), FERRUM_ERROR_INVALID_SIZE);
    huge.whole_bytes = 0;
    assert_status(optimize("[\"huge\"]"), FERRUM_ERROR_INVALID_FORMAT);
    huge.whole = "\0{}";
    huge.whole_bytes = 3;
    assert_status(optimize("[\"huge\"]"), FERRUM_ERROR_INVALID_FORMAT);
    remove_pass(&huge);
}

static void test_errors_and_warnings(void **state) {
    (void)state;
    pass mine = {.gives = FERRUM_ERROR_DEVICE_LOST,
                 .message = "too old",
                 .whole = FIXTURE_DEFINITION,
                 .whole_bytes = strlen(FIXTURE_DEFINITION)};
    add(&mine, "mine");
    assert_status(optimize("[\"mine\"]"), FERRUM_ERROR_DEVICE_LOST);
    assert_message("too old");
    assert_message("pass \"mine\"");
    static char longest[FERRUM_PASS_MESSAGE_MAX];
    memset(longest, 'z', sizeof longest);
    mine.message = longest;
    assert_status(optimize("[\"mine\"]"), FERRUM_ERROR_DEVICE_LOST);
    assert_message("zzzz");
    mine.message = "\xff\xfe";
    assert_status(optimize("[\"mine\"]"), FERRUM_ERROR_DEVICE_LOST);
    assert_message("?");
    mine.message = NULL;
    mine.gives = 77;
    assert_status(optimize("[\"mine\"]"), FERRUM_ERROR_INTERNAL);
    assert_message("77, which is no status");
    mine.gives = FERRUM_OK;
    mine.warning = "one product was not joined";
    mine.warnings = 2;
    mine.whole = NULL;
    assert_ok(optimize("[\"mine\"]"));
    assert_non_null(strstr(result,
                           "\"warnings\":[\"one product was not joined\","
                           "\"one product was not joined\"]"));
    mine.warning = "\xff";
    assert_status(optimize("[\"mine\"]"), FERRUM_ERROR_INVALID_ARGUMENT);
    static char endless[FERRUM_PASS_WARNING_MAX + 1];
    memset(endless, 'w', sizeof endless - 1);
    mine.warning = endless;
    assert_status(optimize("[\"mine\"]"), FERRUM_ERROR_INVALID_ARGUMENT);
    mine.warning = "w";
    mine.warnings = FERRUM_PASS_WARNINGS_MAX + 1;
    assert_status(optimize("[\"mine\"]"), FERRUM_ERROR_RESOURCE_EXHAUSTED);
    remove_pass(&mine);
}

static void test_wrong_registrations_and_calls(void **state) {
    (void)state;
    pass mine = {0};
    ferrum_pass made;
    ferrum_registration out = {5};
    const char *needs[FERRUM_PASS_DEPENDENCIES_MAX + 1] = {"a b"};
#define REFUSED(change, want, says)                         \
    made = described(&mine, "new");                         \
    change;                                                 \
    assert_status(ferrum_pass_register(&made, &out), want); \
    assert_message(says);                                   \
    assert_int_equal(out.id, 0)
    REFUSED(made.apply = NULL, FERRUM_ERROR_NULL_POINTER,
            "pass->apply is NULL");
    REFUSED(made.name = "fuse_norm", FERRUM_ERROR_ALREADY_EXISTS, "fuse_norm");
    REFUSED(made.name = NULL, FERRUM_ERROR_INVALID_ARGUMENT, "0 bytes");
    REFUSED(made.name = "a b", FERRUM_ERROR_INVALID_ARGUMENT, "' '");
    REFUSED(made.name = "\xff", FERRUM_ERROR_INVALID_ARGUMENT, "UTF-8");
    REFUSED(made.name = FIXTURE_DEFINITION, FERRUM_ERROR_INVALID_ARGUMENT,
            "63");
    REFUSED(made.dependency_count = 1, FERRUM_ERROR_NULL_POINTER,
            "dependencies is NULL");
    REFUSED(made.dependencies = needs;
            made.dependency_count = FERRUM_PASS_DEPENDENCIES_MAX + 1,
            FERRUM_ERROR_INVALID_ARGUMENT, "at most 64");
    REFUSED(made.dependencies = needs; made.dependency_count = 1,
                                       FERRUM_ERROR_INVALID_ARGUMENT,
                                       "dependencies[0]");
    REFUSED(made.dependencies = needs + 1; made.dependency_count = 1,
                                           FERRUM_ERROR_INVALID_ARGUMENT,
                                           "dependencies[0]");
    REFUSED(made.struct_size = 4, FERRUM_ERROR_INVALID_STRUCT, "struct_size");
    assert_status(ferrum_pass_register(NULL, &out), FERRUM_ERROR_NULL_POINTER);
    made = described(&mine, "new");
    assert_status(ferrum_pass_register(&made, NULL), FERRUM_ERROR_NULL_POINTER);
    assert_int_equal(mine.released, 0);

    const char *text = FIXTURE_DEFINITION;
    size_t size = strlen(text);
    assert_status(ferrum_definition_optimize(NULL, 5, NULL, 0, receive, NULL),
                  FERRUM_ERROR_NULL_POINTER);
    assert_status(ferrum_definition_optimize(text, size, NULL, 0, NULL, NULL),
                  FERRUM_ERROR_NULL_POINTER);
    assert_status(ferrum_definition_optimize(text, 0, NULL, 0, receive, NULL),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(
        ferrum_definition_optimize(text, size, NULL, 7, receive, NULL),
        FERRUM_ERROR_NULL_POINTER);
    assert_status(
        ferrum_definition_optimize(text, SIZE_MAX, NULL, 0, receive, NULL),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_definition_optimize(text, 3, NULL, 0, receive, NULL),
                  FERRUM_ERROR_INVALID_FORMAT);
    assert_status(optimize("{}"), FERRUM_ERROR_INVALID_FORMAT);
    assert_status(optimize("[\"nwe\"]"), FERRUM_ERROR_NOT_FOUND);
    assert_status(optimize("[\"pruning\"]"), FERRUM_ERROR_UNSUPPORTED);
    assert_status(optimize("[\"fuse_norm\",\"fuse_norm\"]"),
                  FERRUM_ERROR_ALREADY_EXISTS);
    ferrum_executor executor;
    assert_status(build("{\"passes\": [\"nwe\"]}", &executor),
                  FERRUM_ERROR_NOT_FOUND);
    assert_status(
        build("{\"passes\": [], \"optimization_level\": 0}", &executor),
        FERRUM_ERROR_INVALID_CONFIG);
}

/* Calls of the library from a pass. A call that would wait for the build
 * fails. */
static void call_inside(pass *p, const ferrum_pass_call *call) {
    (void)call;
    assert_status(ferrum_registration_remove(p->registration),
                  FERRUM_ERROR_BUSY);
    assert_status(ferrum_shutdown(FERRUM_FORCE), FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_INVALID_STATE);
    ferrum_pool pool;
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    assert_ok(ferrum_pool_create(f.device, &config, &pool));
    assert_ok(ferrum_pool_destroy(pool, 0));
    char text[1 << 15];
    size_t length;
    assert_ok(ferrum_builder_info_json(text, sizeof text, &length));
    p->inside = NULL; /* the pass runs inside itself once */
    assert_ok(optimize("[\"mine\"]"));
    p->inside = call_inside;
}

static void end_the_build(pass *p, const ferrum_pass_call *call) {
    (void)p, (void)call;
    assert_status(ferrum_elastic_pool_destroy(f.models, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_device_close(f.device, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_STATE);
    assert_status(ferrum_elastic_pool_destroy(f.models, 0), FERRUM_ERROR_BUSY);
}

static void test_calls_from_inside(void **state) {
    (void)state;
    pass mine = {.inside = call_inside};
    add(&mine, "mine");
    assert_ok(optimize("[\"mine\"]"));
    assert_int_equal(mine.applied, 2);
    mine.inside = end_the_build;
    ferrum_executor executor;
    assert_ok(build("{\"passes\": [\"mine\"]}", &executor));
    assert_ok(ferrum_executor_destroy(executor, 0));
    remove_pass(&mine);
}

/* Counts; on several threads at a time. */
static void count_result(const char *text, uint64_t size, void *user_data) {
    *(int *)user_data += size > 0 && text[0] == '{';
}

static void *build_often(void *arg) {
    for (int i = 0; i < 10; i++) {
        ferrum_executor executor;
        ferrum_status status = build("{\"passes\": [\"mine\"]}", &executor);
        if (status == FERRUM_OK)
            status = ferrum_executor_destroy(executor, 0);
        /* Both threads build the model "another". */
        if (status != FERRUM_OK && status != FERRUM_ERROR_MODEL_ALREADY_EXISTS)
            return arg;
        int count = 0;
        if (ferrum_definition_optimize(FIXTURE_DEFINITION,
                                       strlen(FIXTURE_DEFINITION), "[\"mine\"]",
                                       8, count_result, &count) != FERRUM_OK ||
            count != 1)
            return arg;
    }
    return NULL;
}

static void test_many_threads(void **state) {
    (void)state;
    pass mine = {.whole = FIXTURE_DEFINITION,
                 .whole_bytes = strlen(FIXTURE_DEFINITION)};
    add(&mine, "mine");
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, build_often, &mine),
                         0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_true(mine.applied >= 40);
    remove_pass(&mine);
}

static void test_a_child_of_fork_cannot_use_passes(void **state) {
    (void)state;
    pass mine = {0};
    add(&mine, "mine");
    pid_t child = fork();
    if (child == 0) {
        ferrum_pass made = described(&mine, "other");
        ferrum_registration out;
        int fine = ferrum_pass_register(&made, &out) == FERRUM_ERROR_FORKED &&
                   optimize("[\"mine\"]") == FERRUM_ERROR_FORKED &&
                   mine.applied == 0;
        _exit(fine ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    remove_pass(&mine);
}

/* A pass that waits, so that another thread can stop the library. */
static gate door = GATE;
static void wait_for_the_gate(pass *p, const ferrum_pass_call *call) {
    (void)p, (void)call;
    gate_wait(&door);
}

static void *run_the_waiting_pass(void *status_out) {
    *(ferrum_status *)status_out = optimize("[\"mine\"]");
    return NULL;
}

static void *stop(void *unused) {
    (void)unused;
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    return NULL;
}

static void test_a_forced_stop_waits_for_a_pass(void **state) {
    (void)state;
    pass mine = {.inside = wait_for_the_gate};
    add(&mine, "mine");
    ferrum_status status = FERRUM_ERROR_INTERNAL;
    pthread_t runner, stopper;
    assert_int_equal(
        pthread_create(&runner, NULL, run_the_waiting_pass, &status), 0);
    while (mine.applied == 0)
        usleep(1000);
    assert_status(ferrum_registration_remove(mine.registration),
                  FERRUM_ERROR_BUSY);
    assert_int_equal(pthread_create(&stopper, NULL, stop, NULL), 0);
    size_t length;
    while (ferrum_builder_info_json(NULL, 0, &length) == FERRUM_OK)
        usleep(1000);
    assert_int_equal(mine.released, 0);
    gate_open(&door);
    pthread_join(stopper, NULL);
    pthread_join(runner, NULL);
    assert_int_equal(mine.released, 1);
    assert_true(status == FERRUM_OK);
}

static int without_tear_down(void **state) {
    (void)state;
    return 0;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_pass_changes_a_definition),
        CASE(test_dependencies_and_applicability),
        CASE(test_what_a_pass_breaks_is_refused),
        CASE(test_errors_and_warnings),
        CASE(test_wrong_registrations_and_calls),
        CASE(test_calls_from_inside),
        CASE(test_many_threads),
        CASE(test_a_child_of_fork_cannot_use_passes),
        cmocka_unit_test_setup_teardown(test_a_forced_stop_waits_for_a_pass,
                                        set_up, without_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Loads of weights on any device: where the tensors go, their bytes after a
 * sleep, loads that are cancelled or ended by force, and threads. A device that
 * the host cannot write gets its tensors through staging memory. The tests
 * read the bytes back from the device. test_device_load_faults.c has the
 * loads that fail.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"
#include "device_loads.h"
#include "fixture.h"
#include "on_device.h"
#include "weight_files.h"

enum { GUARD = 64 };

/* ------------------------------------------------------- where tensors go */

static void check_pool(void) {
    begin(BIG);
    ferrum_weights_memory memory = {.pool = pool};
    ferrum_tensor_set set = load_into(&memory);
    EXPECT(allocated() >= BIG);
    check_tensors(set);
    ferrum_weights_progress progress = FERRUM_WEIGHTS_PROGRESS_INIT;
    MUST(ferrum_tensor_set_get_progress(set, &progress));
    EXPECT(progress.done_bytes == BIG + 40 && progress.total_bytes == BIG + 40);
    MUST(ferrum_tensor_set_free(set, 0));
    end();
}

static void check_changed_tensors(void) {
    static const double turned[6] = {0, 3, 1, 4, 2, 5};
    begin(BIG);
    ferrum_weights_memory memory = {.pool = pool};
    ferrum_weights_load_request request = request_for(&memory);
    request.specs_json = "{\"tensors\":[{\"name\":\"a\",\"transformations\":["
                         "{\"kind\":\"transpose\",\"dim0\":0,\"dim1\":1},"
                         "{\"kind\":\"cast\",\"dtype\":\"f64\"}]}]}";
    request.specs_bytes = strlen(request.specs_json);
    ferrum_tensor_set set;
    MUST(ferrum_weights_load(weights, &request, &set));
    MUST(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    EXPECT(has_bytes(found(set, "a").address, turned, sizeof turned));
    MUST(ferrum_tensor_set_free(set, 0));
    end();
}

static void check_memory_of_the_caller(void) {
    begin(BIG);
    char order[256];
    unsigned char guard[GUARD];
    memset(guard, 0xa5, sizeof guard);
    ferrum_stream first = {0};
    ferrum_address block;
    MUST(ferrum_pool_alloc(pool, BIG + GUARD, first, &block));
    fill_bytes(block, 0xa5, BIG + GUARD);
    ferrum_weights_memory memory = {.device = device};
    ferrum_weights_load_request request = request_for(&memory);
    request.specs_json = order;
    request.specs_bytes = (uint64_t)snprintf(
        order, sizeof order,
        "{\"tensors\":[{\"name\":\"big\",\"into\":{\"address\":%llu,"
        "\"size_bytes\":%d}}]}",
        (unsigned long long)block, BIG);
    ferrum_tensor_set set;
    MUST(ferrum_weights_load(weights, &request, &set));
    MUST(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    EXPECT(found(set, "big").address == block);
    MUST(ferrum_tensor_set_free(set, 0));
    check_big(block, BIG);
    EXPECT(has_bytes(block + BIG, guard, sizeof guard));
    MUST(ferrum_pool_free(pool, block, first));
    end();
}

/* The tensors keep their addresses and bytes. */
static void check_virtual_pool(void) {
    begin(BIG);
    ferrum_vpool vpool = make_vpool();
    ferrum_weights_memory memory = {
        .vpool = vpool, .offset_bytes = device_page(device), .tag = "weights"};
    ferrum_tensor_set set = load_into(&memory);
    check_tensors(set);
    uint64_t address = found(set, "big").address;
    ferrum_sleep_config sleep = FERRUM_SLEEP_CONFIG_INIT;
    sleep.tag = "weights";
    const ferrum_sleep_backing places[] = {FERRUM_SLEEP_HOST,
                                           FERRUM_SLEEP_FILE};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        ferrum_sleep_report report = FERRUM_SLEEP_REPORT_INIT;
        sleep.backing = places[i];
        MUST(ferrum_vpool_sleep(vpool, &sleep, &report));
        EXPECT(report.released_bytes >= BIG);
        MUST(ferrum_vpool_wake(vpool, NULL, NULL));
        EXPECT(found(set, "big").address == address);
        check_tensors(set);
    }
    MUST(ferrum_tensor_set_free(set, 0));
    MUST(ferrum_vpool_destroy(vpool, 0));
    end();
}

static void check_elastic_model(void) {
    begin(BIG);
    ferrum_elastic_pool shared = make_elastic_pool();
    ferrum_weights_memory memory = {.elastic_pool = shared, .model = "chat"};
    ferrum_tensor_set set = load_into(&memory);
    check_tensors(set);
    MUST(ferrum_elastic_pool_sleep_model(shared, "chat", NULL, NULL));
    MUST(ferrum_elastic_pool_wake_model(shared, "chat", NULL, NULL));
    check_tensors(set);
    /* A set that sleeps is freed. */
    MUST(ferrum_elastic_pool_sleep_model(shared, "chat", NULL, NULL));
    MUST(ferrum_tensor_set_free(set, 0));
    MUST(ferrum_elastic_pool_destroy(shared, FERRUM_FORCE));
    end();
}

/* ------------------------------------------------------- loads that end early */

/* A load that its callback holds after some of its bytes. */
typedef struct {
    gate entered, left;
    atomic_int calls;
    int32_t answer;
} held_load;

static held_load held;

static int32_t hold(const ferrum_weights_progress *progress, void *unused) {
    (void)unused;
    if (progress->done_bytes == 0 || atomic_fetch_add(&held.calls, 1) > 0)
        return 0;
    gate_open(&held.entered);
    gate_wait(&held.left);
    return held.answer;
}

static ferrum_tensor_set start_held(const ferrum_weights_memory *memory) {
    static const held_load none = {.entered = GATE, .left = GATE};
    held = none;
    ferrum_weights_load_request request = request_for(memory);
    request.progress = hold;
    ferrum_tensor_set set;
    MUST(ferrum_weights_load(weights, &request, &set));
    gate_wait(&held.entered);
    return set;
}

static void *go_on_later(void *unused) {
    usleep(20000);
    gate_open(&held.left);
    return unused;
}
static pthread_t later(void) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, go_on_later, NULL) == 0);
    return thread;
}

typedef struct {
    ferrum_vpool vpool;
    ferrum_elastic_pool shared;
    atomic_int calls;
} sleeper;

/* A sleep would wait for the load that the callback belongs to. */
static int32_t sleep_inside(const ferrum_weights_progress *progress,
                            void *user_data) {
    (void)progress;
    sleeper *s = user_data;
    ferrum_sleep_config other = FERRUM_SLEEP_CONFIG_INIT;
    other.tag = "other";
    if (atomic_fetch_add(&s->calls, 1) > 0)
        return 0;
    EXPECT(ferrum_vpool_sleep(s->vpool, NULL, NULL) ==
           FERRUM_ERROR_INVALID_STATE);
    EXPECT(ferrum_vpool_sleep(s->vpool, &other, NULL) ==
           FERRUM_ERROR_NOT_FOUND);
    return 0;
}

/* A sleep waits for loads into its memory, also between two copies. */
static void check_sleep_during_a_load(void) {
    begin(4 * BIG);
    sleeper s = {make_vpool(), make_elastic_pool(), 0};
    ferrum_weights_memory memory = {.vpool = s.vpool, .tag = "weights"};
    ferrum_sleep_config sleep = FERRUM_SLEEP_CONFIG_INIT;
    sleep.backing = FERRUM_SLEEP_HOST;
    ferrum_tensor_set set = start_held(&memory);
    for (sleep.timeout_ns = 0; sleep.timeout_ns < 3000000;
         sleep.timeout_ns += 1000000)
        EXPECT(ferrum_vpool_sleep(s.vpool, &sleep, NULL) ==
               FERRUM_ERROR_TIMEOUT);
    pthread_t thread = later();
    MUST(ferrum_vpool_sleep(s.vpool, NULL, NULL));
    EXPECT(ferrum_tensor_set_wait(set, 0) == FERRUM_OK);
    pthread_join(thread, NULL);
    MUST(ferrum_vpool_wake(s.vpool, NULL, NULL));
    check_tensors(set);
    MUST(ferrum_tensor_set_free(set, 0));

    memory = (ferrum_weights_memory){.elastic_pool = s.shared, .model = "chat"};
    set = start_held(&memory);
    thread = later();
    MUST(ferrum_elastic_pool_sleep_model(s.shared, "chat", NULL, NULL));
    EXPECT(ferrum_tensor_set_wait(set, 0) == FERRUM_OK);
    pthread_join(thread, NULL);
    MUST(ferrum_elastic_pool_wake_model(s.shared, "chat", NULL, NULL));
    check_tensors(set);
    MUST(ferrum_tensor_set_free(set, 0));

    memory = (ferrum_weights_memory){.vpool = s.vpool, .tag = "weights"};
    ferrum_weights_load_request request = request_for(&memory);
    request.progress = sleep_inside;
    request.user_data = &s;
    MUST(ferrum_weights_load(weights, &request, &set));
    MUST(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    EXPECT(atomic_load(&s.calls) > 0);
    MUST(ferrum_tensor_set_free(set, 0));
    MUST(ferrum_elastic_pool_unregister_model(s.shared, "chat", 0));
    MUST(ferrum_elastic_pool_destroy(s.shared, 0));
    MUST(ferrum_vpool_destroy(s.vpool, 0));
    end();
}

/* Some parts have been copied to the device, others have not. */
static void check_cancelled_loads(void) {
    begin(4 * BIG);
    ferrum_weights_memory memory = {.pool = pool};
    for (int32_t answer = 0; answer < 2; answer++) {
        ferrum_tensor_set set = start_held(&memory);
        held.answer = answer;
        EXPECT(allocated() > 0);
        if (answer == 0)
            MUST(ferrum_tensor_set_cancel(set));
        gate_open(&held.left);
        EXPECT(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER) ==
               FERRUM_ERROR_CANCELLED);
        EXPECT(allocated() == 0);
        MUST(ferrum_tensor_set_free(set, 0));
    }
    ferrum_tensor_set set = load_into(&memory);
    check_tensors(set);
    MUST(ferrum_tensor_set_free(set, 0));
    end();
}

static void check_forced_ends(void) {
    begin(4 * BIG);
    ferrum_weights_memory memory = {.pool = pool};
    ferrum_tensor_set set = start_held(&memory);
    pthread_t thread = later();
    MUST(ferrum_tensor_set_free(set, FERRUM_FORCE));
    pthread_join(thread, NULL);
    EXPECT(allocated() == 0);

    set = start_held(&memory);
    thread = later();
    MUST(ferrum_weights_close(weights, FERRUM_FORCE));
    pthread_join(thread, NULL);
    EXPECT(allocated() == 0);
    MUST(ferrum_tensor_set_free(set, 0));
    weights = weight_file_open(path);

    MUST(ferrum_pool_create(device, NULL, &memory.pool));
    set = start_held(&memory);
    thread = later();
    MUST(ferrum_pool_destroy(memory.pool, FERRUM_FORCE));
    pthread_join(thread, NULL);
    EXPECT(ferrum_tensor_set_wait(set, 0) == FERRUM_ERROR_CANCELLED);
    MUST(ferrum_tensor_set_free(set, 0));

    memory.pool = pool;
    set = start_held(&memory);
    thread = later();
    MUST(ferrum_device_close(device, FERRUM_FORCE));
    pthread_join(thread, NULL);
    EXPECT(ferrum_tensor_set_wait(set, 0) == FERRUM_ERROR_INVALID_HANDLE);
    MUST(ferrum_device_open(first_device(), &device));
    MUST(ferrum_pool_create(device, NULL, &pool));
    end();
}

static void *load_often(void *number) {
    unsigned state = (unsigned)(uintptr_t)number;
    for (int i = 0; i < 8; i++) {
        ferrum_tensor_set set;
        MUST(weight_file_load(weights, pool, NULL, &set));
        int choice = rand_r(&state) % 3;
        if (choice == 0)
            MUST(ferrum_tensor_set_cancel(set));
        if (choice < 2 &&
            ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER) == FERRUM_OK)
            check_tensors(set);
        MUST(ferrum_tensor_set_free(set, FERRUM_FORCE));
    }
    return NULL;
}

static void check_threads(void) {
    begin(SMALL);
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        EXPECT(pthread_create(&threads[i], NULL, load_often, (void *)(i + 1)) ==
               0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    end();
}

static void (*const checks[])(void) = {
    check_pool,         check_changed_tensors, check_memory_of_the_caller,
    check_virtual_pool, check_elastic_model,   check_cancelled_loads,
    check_forced_ends,  check_threads,         check_sleep_during_a_load,
};

int main(void) {
    size_t count = sizeof checks / sizeof *checks;
    for (size_t i = 0; i < count; i++)
        checks[i]();
    printf("%zu passed, 0 failed\n", count);
    return 0;
}

/*
 * Callbacks that behave badly: they remove themselves and each other, exceed
 * their deadline, allocate, add more callbacks and call the library wherever
 * they run. None of this may hang, and the library stops cleanly afterwards.
 * The program that runs this one ends a hang.
 */
#include "asserts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define CAPACITY (64 * MIB)

static ferrum_device device;
static ferrum_pool pool;

static int set_up(void **state) {
    (void)state;
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = CAPACITY;
    assert_ok(ferrum_init(&config));
    assert_ok(ferrum_device_open("cpu:0", &device));
    ferrum_pool_config small = FERRUM_POOL_CONFIG_INIT;
    small.initial_size_bytes = MIB;
    small.growth_increment_bytes = MIB;
    assert_ok(ferrum_pool_create(device, &small, &pool));
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    assert_ok(ferrum_pool_destroy(pool, 0));
    assert_ok(ferrum_device_close(device, 0));
    assert_ok(ferrum_shutdown(0));
    return 0;
}

/* A flag that threads wait for. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int up;
} flag;
#define FLAG {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}

static void wait_for(flag *f) {
    pthread_mutex_lock(&f->mutex);
    while (!f->up)
        pthread_cond_wait(&f->changed, &f->mutex);
    pthread_mutex_unlock(&f->mutex);
}
static void raise_flag(flag *f) {
    pthread_mutex_lock(&f->mutex);
    f->up = 1;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
}
static void wait_for_data(void *data) { wait_for(data); }

/* -------------------------------------------------------------------- log */

typedef struct {
    flag done;
    int calls;
    ferrum_status set[3];
} setter;

static void ignore(ferrum_log_level level, const char *message, void *data) {
    (void)level;
    (void)message;
    (void)data;
}
static void set_thrice(ferrum_log_level level, const char *message,
                       void *data) {
    setter *s = data;
    (void)level;
    (void)message;
    s->calls++;
    /* From the second message on another receiver is set. */
    s->set[0] = ferrum_log_set_callback(FERRUM_LOG_DEBUG, ignore, NULL);
    s->set[1] = ferrum_log_set_callback(FERRUM_LOG_DEBUG, ignore, s);
    s->set[2] = ferrum_log_set_callback(FERRUM_LOG_DEBUG, NULL, NULL);
    raise_flag(&s->done);
}
static void test_log_receiver_is_set_from_inside(void **state) {
    (void)state;
    setter s = {FLAG, 0, {-1, -1, -1}};
    assert_ok(ferrum_log_set_callback(FERRUM_LOG_DEBUG, set_thrice, &s));
    ferrum_pool other;
    assert_ok(ferrum_pool_create(device, NULL, &other));
    assert_ok(ferrum_pool_destroy(other, 0));
    wait_for(&s.done);
    for (int i = 0; i < 3; i++)
        assert_ok(s.set[i]);
    assert_int_equal(s.calls, 1);
}

typedef struct {
    flag done;
    ferrum_status alloc, synchronize, shutdown, free;
} log_caller;
static void call_from_log(ferrum_log_level level, const char *message,
                          void *data) {
    log_caller *c = data;
    (void)level;
    (void)message;
    if (c->done.up)
        return;
    ferrum_address block;
    c->alloc = ferrum_pool_alloc(pool, 4096, default_stream, &block);
    c->synchronize = ferrum_device_synchronize(device, FERRUM_WAIT_FOREVER);
    c->shutdown = ferrum_shutdown(FERRUM_FORCE);
    c->free = ferrum_pool_free(pool, block, default_stream);
    raise_flag(&c->done);
}
static void test_log_receiver_calls_the_library(void **state) {
    (void)state;
    log_caller c = {FLAG, -1, -1, -1, -1};
    assert_ok(ferrum_log_set_callback(FERRUM_LOG_DEBUG, call_from_log, &c));
    ferrum_pool other;
    assert_ok(ferrum_pool_create(device, NULL, &other));
    assert_ok(ferrum_pool_destroy(other, 0));
    wait_for(&c.done);
    assert_ok(ferrum_log_set_callback(FERRUM_LOG_DEBUG, NULL, NULL));
    assert_ok(c.alloc);
    assert_ok(c.synchronize);
    assert_status(c.shutdown, FERRUM_ERROR_INVALID_STATE);
    assert_ok(c.free);
}

/* --------------------------------------------------------- host functions */

typedef struct {
    flag *freed;
    ferrum_status alloc;
} allocator;
static void allocate_all(void *data) {
    allocator *a = data;
    wait_for(a->freed);
    ferrum_address block;
    a->alloc = ferrum_pool_alloc(pool, CAPACITY, default_stream, &block);
}
/* The freed block waits for a stream that waits for the host function.
 * Waiting for the block in the host function would be waiting for itself. */
static void test_host_function_does_not_wait_for_memory(void **state) {
    (void)state;
    flag freed = FLAG;
    allocator a = {&freed, FERRUM_OK};
    ferrum_stream first, second;
    ferrum_event event;
    ferrum_address block;
    assert_ok(ferrum_stream_create(device, &first));
    assert_ok(ferrum_stream_create(device, &second));
    assert_ok(ferrum_pool_alloc(pool, CAPACITY, first, &block));
    assert_ok(ferrum_stream_host_function(first, allocate_all, &a));
    assert_ok(ferrum_event_record(first, &event));
    assert_ok(ferrum_stream_wait_event(second, event));
    assert_ok(ferrum_pool_free(pool, block, second));
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_pool_get_statistics(pool, &s));
    assert_int_equal(s.active.current, CAPACITY);
    raise_flag(&freed);
    assert_ok(ferrum_stream_synchronize(first, FERRUM_WAIT_FOREVER));
    assert_status(a.alloc, FERRUM_ERROR_OUT_OF_MEMORY);
    assert_ok(ferrum_event_destroy(event));
    assert_ok(ferrum_stream_synchronize(second, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_stream_destroy(first, 0));
    assert_ok(ferrum_stream_destroy(second, 0));
}

typedef struct {
    ferrum_stream self, other;
    ferrum_event event;
    ferrum_registration registration;
    ferrum_pool made;
    ferrum_status status[6];
} worker;
static void hear(ferrum_device d, ferrum_pressure_level level, void *data) {
    (void)d;
    (void)level;
    (void)data;
}
static void make_things(void *data) {
    worker *w = data;
    w->status[0] = ferrum_event_record(w->self, &w->event);
    w->status[1] = ferrum_stream_wait_event(w->other, w->event);
    w->status[2] =
        ferrum_device_pressure_callback_add(device, hear, w, &w->registration);
    w->status[3] = ferrum_registration_remove(w->registration);
    w->status[4] = ferrum_pool_create(device, NULL, &w->made);
    w->status[5] = ferrum_event_synchronize(w->event, FERRUM_WAIT_FOREVER);
}
static void test_host_function_creates_objects(void **state) {
    (void)state;
    worker w = {.self = {0}};
    assert_ok(ferrum_stream_create(device, &w.self));
    assert_ok(ferrum_stream_create(device, &w.other));
    assert_ok(ferrum_stream_host_function(w.self, make_things, &w));
    assert_ok(ferrum_device_synchronize(device, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_stream_synchronize(w.other, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < 5; i++)
        assert_ok(w.status[i]);
    assert_status(w.status[5], FERRUM_ERROR_INVALID_STATE);
    assert_ok(ferrum_event_synchronize(w.event, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_event_destroy(w.event));
    assert_ok(ferrum_pool_destroy(w.made, 0));
    assert_ok(ferrum_stream_destroy(w.self, 0));
    assert_ok(ferrum_stream_destroy(w.other, 0));
}

/* ---------------------------------------------------------------- reclaim */

typedef struct {
    flag go_on;
    atomic_int calls;
    ferrum_registration removes, removes_too;
    ferrum_status removed, removed_too, nested;
} reclaimer;
#define RECLAIMER {FLAG, 0, {0}, {0}, FERRUM_OK, FERRUM_OK, FERRUM_OK}

static uint64_t overrun(ferrum_device d, uint64_t needed, void *data) {
    reclaimer *r = data;
    (void)d;
    (void)needed;
    atomic_fetch_add(&r->calls, 1);
    wait_for(&r->go_on);
    return 0;
}
static uint64_t remove_registrations(ferrum_device d, uint64_t needed,
                                     void *data) {
    reclaimer *r = data;
    (void)d;
    (void)needed;
    atomic_fetch_add(&r->calls, 1);
    r->removed = ferrum_registration_remove(r->removes);
    r->removed_too = ferrum_registration_remove(r->removes_too);
    ferrum_address block;
    r->nested = ferrum_pool_alloc(pool, CAPACITY, default_stream, &block);
    return 0;
}
static ferrum_registration add(ferrum_reclaim_fn callback, int32_t priority,
                               uint64_t deadline_ns, void *data) {
    ferrum_reclaim_config config = FERRUM_RECLAIM_CONFIG_INIT;
    config.priority = priority;
    config.deadline_ns = deadline_ns;
    ferrum_registration registration;
    assert_ok(ferrum_device_reclaim_callback_add(device, &config, callback,
                                                 data, &registration));
    return registration;
}
static void ask(ferrum_address *held) {
    ferrum_address none;
    assert_ok(ferrum_pool_alloc(pool, MIB, default_stream, held));
    assert_status(ferrum_pool_alloc(pool, CAPACITY, default_stream, &none),
                  FERRUM_ERROR_OUT_OF_MEMORY);
}

/* A callback that exceeds its deadline is called once. Calls that would
 * follow are dropped. It can be removed as soon as it has ended. */
static void test_reclaim_overruns_its_deadline(void **state) {
    (void)state;
    reclaimer r = RECLAIMER;
    ferrum_registration slow = add(overrun, 0, 1000000, &r);
    ferrum_address held, none;
    assert_ok(ferrum_pool_alloc(pool, MIB, default_stream, &held));
    while (atomic_load(&r.calls) == 0)
        assert_status(ferrum_pool_alloc(pool, CAPACITY, default_stream, &none),
                      FERRUM_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < 100; i++)
        assert_status(ferrum_pool_alloc(pool, CAPACITY, default_stream, &none),
                      FERRUM_ERROR_OUT_OF_MEMORY);
    raise_flag(&r.go_on);
    assert_ok(ferrum_registration_remove(slow));
    assert_int_equal(atomic_load(&r.calls), 1);
    assert_ok(ferrum_pool_free(pool, held, default_stream));
}

/* It removes itself and the callback that would be called next. */
static void test_reclaim_removes_itself_and_another(void **state) {
    (void)state;
    reclaimer first = RECLAIMER, second = RECLAIMER;
    first.removes = add(remove_registrations, -1, 60000000000u, &first);
    first.removes_too = add(overrun, 1, 60000000000u, &second);
    ferrum_address held;
    ask(&held);
    assert_int_equal(atomic_load(&first.calls), 1);
    assert_int_equal(atomic_load(&second.calls), 0);
    assert_ok(first.removed);
    assert_ok(first.removed_too);
    assert_status(first.nested, FERRUM_ERROR_OUT_OF_MEMORY);
    assert_status(ferrum_registration_remove(first.removes),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_pool_free(pool, held, default_stream));
}

/* --------------------------------------------------------------- pressure */

typedef struct {
    flag done;
    ferrum_registration added[4];
    ferrum_status status[4], alloc, closed;
} adder;
static void add_more(ferrum_device d, ferrum_pressure_level level, void *data) {
    adder *a = data;
    (void)level;
    if (a->done.up)
        return;
    for (int i = 0; i < 4; i++)
        a->status[i] =
            ferrum_device_pressure_callback_add(d, hear, a, &a->added[i]);
    ferrum_address block;
    a->alloc = ferrum_pool_alloc(pool, CAPACITY, default_stream, &block);
    a->closed = ferrum_device_close(d, 0);
    raise_flag(&a->done);
}
static void test_pressure_callback_adds_callbacks(void **state) {
    (void)state;
    adder a = {.done = FLAG};
    ferrum_registration registration;
    ferrum_address block;
    assert_ok(ferrum_device_pressure_callback_add(device, add_more, &a,
                                                  &registration));
    assert_ok(ferrum_pool_alloc(pool, CAPACITY - MIB, default_stream, &block));
    wait_for(&a.done);
    for (int i = 0; i < 4; i++) {
        assert_ok(a.status[i]);
        assert_ok(ferrum_registration_remove(a.added[i]));
    }
    assert_status(a.alloc, FERRUM_ERROR_OUT_OF_MEMORY);
    assert_status(a.closed, FERRUM_ERROR_BUSY);
    assert_ok(ferrum_pool_free(pool, block, default_stream));
    assert_ok(ferrum_registration_remove(registration));
}

/* A forced shutdown waits for a running host function and a running
 * callback. */
static atomic_int stopped;
static void *stop(void *data) {
    ferrum_status *status = data;
    *status = ferrum_shutdown(FERRUM_FORCE);
    atomic_store(&stopped, 1);
    return NULL;
}
static void test_shutdown_waits_for_running_callbacks(void **state) {
    (void)state;
    set_up(state);
    flag go_on = FLAG;
    ferrum_stream stream;
    assert_ok(ferrum_stream_create(device, &stream));
    assert_ok(ferrum_stream_host_function(stream, wait_for_data, &go_on));
    ferrum_status status = FERRUM_ERROR_INTERNAL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop, &status), 0);
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    while (ferrum_device_get_info(device, &info) !=
           FERRUM_ERROR_NOT_INITIALIZED)
        sched_yield();
    assert_int_equal(atomic_load(&stopped), 0);
    raise_flag(&go_on);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(status);
}

/* A callback has removed itself, and perhaps closed its device by force. It
 * still runs and uses memory of its caller, so a shutdown waits for its
 * end. */
typedef struct {
    flag added, left, go_on;
    int closes;
    ferrum_registration registration;
    ferrum_status removed, closed;
    atomic_int ended;
} leaver;
static void leave(ferrum_device d, ferrum_pressure_level level, void *data) {
    leaver *l = data;
    (void)level;
    wait_for(&l->added);
    l->removed = ferrum_registration_remove(l->registration);
    if (l->closes)
        l->closed = ferrum_device_close(d, FERRUM_FORCE);
    raise_flag(&l->left);
    wait_for(&l->go_on);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_store(&l->ended, 1);
}
static void test_shutdown_waits_for_a_removed_callback(void **state) {
    for (int closes = 0; closes < 2; closes++) {
        set_up(state);
        leaver l = {.added = FLAG, .left = FLAG, .go_on = FLAG};
        l.closes = closes;
        ferrum_address block;
        assert_ok(ferrum_device_pressure_callback_add(device, leave, &l,
                                                      &l.registration));
        raise_flag(&l.added);
        assert_ok(
            ferrum_pool_alloc(pool, CAPACITY - MIB, default_stream, &block));
        wait_for(&l.left);
        assert_ok(l.removed);
        assert_ok(l.closed);
        ferrum_status status = FERRUM_ERROR_INTERNAL;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop, &status), 0);
        ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
        while (ferrum_device_get_info(device, &info) !=
               FERRUM_ERROR_NOT_INITIALIZED)
            sched_yield();
        raise_flag(&l.go_on);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(atomic_load(&l.ended), 1);
        assert_ok(status);
    }
}

int main(void) {
#define WITH_LIBRARY(test) \
    cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_LIBRARY(test_log_receiver_is_set_from_inside),
        WITH_LIBRARY(test_log_receiver_calls_the_library),
        WITH_LIBRARY(test_host_function_does_not_wait_for_memory),
        WITH_LIBRARY(test_host_function_creates_objects),
        WITH_LIBRARY(test_reclaim_overruns_its_deadline),
        WITH_LIBRARY(test_reclaim_removes_itself_and_another),
        WITH_LIBRARY(test_pressure_callback_adds_callbacks),
        cmocka_unit_test(test_shutdown_waits_for_running_callbacks),
        cmocka_unit_test(test_shutdown_waits_for_a_removed_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

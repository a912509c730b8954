/*
 * Two threads use an object while a third tries again and again to end it
 * without force. While the end fails, the calls of the other threads work as
 * usual. When it succeeds, nothing that was allocated ends with the object.
 */
#include "asserts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

#define THREADS 2
/* The number of uses of each thread, and the maximum number of blocks that
 * it holds at once. */
#define TURNS 400
#define HELD 5

static ferrum_config config = FERRUM_CONFIG_INIT;
static ferrum_device place, host;
static union {
    ferrum_device device;
    ferrum_pool pool;
    ferrum_manager manager;
    ferrum_vpool vpool;
    ferrum_elastic_pool shared;
    ferrum_fallback_manager buffers;
} x;

/* A kind of object. take starts one of a bounded number of uses, and drop
 * ends the use. Both identify the use by word. */
struct closable {
    const char *name;
    int rounds;
    void (*make)(void);
    ferrum_status (*take)(unsigned thread, unsigned turn, uint64_t *word);
    ferrum_status (*drop)(unsigned thread, uint64_t word);
    ferrum_status (*end)(void);
};

static void make_device(void) { MUST(ferrum_device_open("cpu:2", &x.device)); }
static ferrum_status take_device(unsigned thread, unsigned turn,
                                 uint64_t *word) {
    ferrum_stream stream;
    ferrum_event event;
    (void)thread;
    ferrum_status status;
    if (turn % 2 == 0) {
        status = ferrum_stream_create(x.device, &stream);
        *word = stream.id;
        return status;
    }
    status = ferrum_stream_default(x.device, &stream);
    if (status == FERRUM_OK)
        status = ferrum_event_record(stream, &event);
    *word = event.id;
    return status;
}
static ferrum_status drop_device(unsigned thread, uint64_t word) {
    (void)thread;
    return word >> 56 == 2 ? ferrum_stream_destroy((ferrum_stream){word}, 0)
                           : ferrum_event_destroy((ferrum_event){word});
}
static ferrum_status end_device(void) {
    return ferrum_device_close(x.device, 0);
}

static void make_pool(void) { MUST(ferrum_pool_create(place, NULL, &x.pool)); }
static ferrum_status take_pool(unsigned thread, unsigned turn, uint64_t *word) {
    (void)thread;
    /* Sizes inside and outside of the range of the thread caches. */
    return ferrum_pool_alloc(x.pool, (turn * 7 % 9 + 1) << (turn % 5 * 5),
                             default_stream, word);
}
static ferrum_status drop_pool(unsigned thread, uint64_t word) {
    (void)thread;
    return ferrum_pool_free(x.pool, word, default_stream);
}
static ferrum_status end_pool(void) { return ferrum_pool_destroy(x.pool, 0); }

static void make_manager(void) {
    MUST(ferrum_manager_create(place, NULL, &x.manager));
}
static ferrum_status take_manager(unsigned thread, unsigned turn,
                                  uint64_t *word) {
    (void)thread;
    ferrum_memory memory;
    ferrum_status status =
        ferrum_manager_alloc(x.manager, 4096 * (turn % 9 + 1), &memory);
    *word = memory.id;
    return status;
}
static ferrum_status drop_manager(unsigned thread, uint64_t word) {
    (void)thread;
    return ferrum_memory_free((ferrum_memory){word});
}
static ferrum_status end_manager(void) {
    return ferrum_manager_destroy(x.manager, 0);
}

static void make_vpool(void) {
    ferrum_vpool_config settings = FERRUM_VPOOL_CONFIG_INIT;
    settings.capacity_bytes = 64 * FIXTURE_PAGE;
    settings.page_bytes = FIXTURE_PAGE;
    MUST(ferrum_vpool_create(place, &settings, &x.vpool));
}
static ferrum_status take_vpool(unsigned thread, unsigned turn,
                                uint64_t *word) {
    ferrum_address address;
    *word = (thread * 32 + turn % 32) * FIXTURE_PAGE;
    return ferrum_vpool_alloc(x.vpool, *word, FIXTURE_PAGE, &address);
}
static ferrum_status drop_vpool(unsigned thread, uint64_t word) {
    (void)thread;
    return ferrum_vpool_free(x.vpool, word, FIXTURE_PAGE, default_stream);
}
static ferrum_status end_vpool(void) {
    return ferrum_vpool_destroy(x.vpool, 0);
}

static const char *const models[THREADS] = {"first", "last"};
static void make_shared(void) {
    ferrum_elastic_pool_config settings = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    settings.limit_bytes = 64 * FIXTURE_PAGE;
    settings.page_bytes = FIXTURE_PAGE;
    model.virtual_bytes = 64 * FIXTURE_PAGE;
    MUST(ferrum_elastic_pool_create(place, &settings, &x.shared));
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "between %d", i);
        const char *id = i == 0 ? models[0] : i == 19 ? models[1] : name;
        MUST(ferrum_elastic_pool_register_model(x.shared, id, &model));
    }
}
static ferrum_status take_shared(unsigned thread, unsigned turn,
                                 uint64_t *word) {
    ferrum_address address;
    (void)turn;
    return ferrum_elastic_pool_alloc(x.shared, models[thread], FIXTURE_PAGE,
                                     &address, word);
}
static ferrum_status drop_shared(unsigned thread, uint64_t word) {
    return ferrum_elastic_pool_free(x.shared, models[thread], word,
                                    FIXTURE_PAGE, default_stream);
}
static ferrum_status end_shared(void) {
    return ferrum_elastic_pool_destroy(x.shared, 0);
}

static void make_buffers(void) {
    ferrum_memory_config settings = FERRUM_MEMORY_CONFIG_INIT;
    settings.min_free_bytes = 0;
    MUST(ferrum_fallback_manager_create(place, host, &settings, &x.buffers));
}
static ferrum_status take_buffers(unsigned thread, unsigned turn,
                                  uint64_t *word) {
    ferrum_buffer_request request = FERRUM_BUFFER_REQUEST_INIT;
    ferrum_fallback_buffer buffer;
    (void)thread;
    request.dtype = FERRUM_DTYPE_U8;
    request.num_elements = 1000 * (turn % 5 + 1);
    ferrum_status status =
        ferrum_fallback_manager_alloc(x.buffers, &request, &buffer);
    *word = buffer.id;
    return status;
}
static ferrum_status drop_buffers(unsigned thread, uint64_t word) {
    (void)thread;
    return ferrum_fallback_buffer_free((ferrum_fallback_buffer){word},
                                       default_stream);
}
static ferrum_status end_buffers(void) {
    return ferrum_fallback_manager_destroy(x.buffers, 0);
}

/* ------------------------------------------------------------------- threads */

static const struct closable *now;
static atomic_int over, warm;

/* Ends the program, because the threads cannot continue. */
static void wrong(const char *what, ferrum_status got) {
    ferrum_error_info info = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&info);
    printf("%s, %s: %s (%s: %s)\n[  FAILED  ] %s\n", now->name, what,
           ferrum_status_name(got), info.function, info.message, now->name);
    fflush(stdout);
    _exit(1);
}

static void *use(void *number) {
    unsigned thread = (unsigned)(uintptr_t)number;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        uint64_t held[HELD];
        unsigned count = 0;
        ferrum_status got = FERRUM_OK;
        while (count <= turn % HELD && count < HELD && got == FERRUM_OK) {
            got = now->take(thread, turn + count, &held[count]);
            count += got == FERRUM_OK;
        }
        while (count > 0) {
            ferrum_status status = now->drop(thread, held[--count]);
            if (status != FERRUM_OK)
                wrong("an object that was created before has ended", status);
        }
        if (turn == 5)
            atomic_fetch_add(&warm, 1);
        if (got == FERRUM_ERROR_INVALID_HANDLE) {
            atomic_fetch_add(&over, 1);
            if (turn < 5)
                atomic_fetch_add(&warm, 1);
            return NULL;
        }
        if (got != FERRUM_OK)
            wrong("a use", got);
    }
    return NULL;
}

/* Returns whether the object ended while the other threads used it. */
static int run_round(void) {
    pthread_t thread[THREADS];
    atomic_store(&over, 0);
    atomic_store(&warm, 0);
    now->make();
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use, (void *)i), 0);
    while (atomic_load(&warm) < THREADS)
        usleep(50);
    int ended = 0;
    for (int tries = 0; tries < 2000 && !ended; tries++) {
        ferrum_status got = now->end();
        ended = got == FERRUM_OK;
        if (!ended && got != FERRUM_ERROR_BUSY)
            wrong("an end", got);
        if (!ended && atomic_load(&over) > 0)
            wrong(
                "a close was rejected, and a call reported the object as ended",
                got);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    if (!ended && atomic_load(&over) > 0)
        wrong("a close was rejected, and a call reported the object as ended",
              FERRUM_OK);
    if (!ended)
        MUST(now->end());
    assert_int_equal(now->end(), FERRUM_ERROR_INVALID_HANDLE);
    return ended;
}

static void test_ends_without_force(void **state) {
    now = *state;
    for (int round = 0; round < now->rounds; round++)
        run_round();
}

static int set_up(void **state) {
    (void)state;
    config.host_devices = 3;
    config.host_memory_bytes = 768 * MIB;
    MUST(ferrum_init(&config));
    MUST(ferrum_device_open("cpu:0", &place));
    MUST(ferrum_device_open("cpu:1", &host));
    return 0;
}

/* The threads must have left nothing behind. */
static int tear_down(void **state) {
    (void)state;
    MUST(ferrum_device_close(host, 0));
    MUST(ferrum_device_close(place, 0));
    MUST(ferrum_shutdown(0));
    return 0;
}

#define KIND(name, rounds, what) \
    {name, rounds, make_##what, take_##what, drop_##what, end_##what}

int main(void) {
    static struct closable kinds[] = {
        KIND("device", 30, device),       KIND("pool", 60, pool),
        KIND("manager", 30, manager),     KIND("virtual pool", 30, vpool),
        KIND("elastic pool", 20, shared), KIND("fallback manager", 30, buffers),
    };
    struct CMUnitTest tests[sizeof kinds / sizeof *kinds];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        tests[i] = (struct CMUnitTest){kinds[i].name, test_ends_without_force,
                                       NULL, NULL, &kinds[i]};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

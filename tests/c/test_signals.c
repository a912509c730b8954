/*
 * Signal handlers that were installed without SA_ONSTACK: each is found, gets
 * the flag, keeps its other settings, and is named. Without the flag, a
 * handler that interrupts a thread inside the library overwrites the library's
 * memory.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "alone.h"
#include "ferrum_mem.h"

static ferrum_device device;
static atomic_int seen;
/* All messages of the log. */
static char said[1 << 15];
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static void hear(ferrum_log_level level, const char *message, void *data) {
    (void)data;
    pthread_mutex_lock(&said_lock);
    size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%d %s\n", (int)level,
             message);
    pthread_mutex_unlock(&said_lock);
}

/* Everything that was logged until now. */
static const char *log_so_far(void) {
    EXPECT(ferrum_log_set_callback(FERRUM_LOG_INFO, NULL, NULL) == FERRUM_OK);
    EXPECT(ferrum_log_set_callback(FERRUM_LOG_INFO, hear, NULL) == FERRUM_OK);
    return said;
}

/* Not static, so that the linker knows their names. */
void profiler_of_the_test(int number);
void second_of_the_test(int number);

void profiler_of_the_test(int number) {
    (void)number;
    /* As much stack as an unwinder needs. */
    volatile char room[2048];
    memset((char *)room, 1, sizeof room);
    atomic_fetch_add(&seen, 1);
}
void second_of_the_test(int number) {
    (void)number;
    atomic_fetch_add(&seen, 1000);
}

static void install(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaddset(&action.sa_mask, SIGUSR2);
    EXPECT(sigaction(number, &action, NULL) == 0);
}

/* The installed handler is this one, with these flags and the mask of
 * install. */
static void expect_action(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    EXPECT(sigaction(number, NULL, &action) == 0);
    EXPECT(action.sa_handler == handler);
    if (handler == SIG_DFL || handler == SIG_IGN)
        return;
    /* The C library adds its own flag, which has no name. */
    int named = SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_SIGINFO |
                (int)SA_RESETHAND | SA_NOCLDSTOP | SA_NOCLDWAIT;
    EXPECT((action.sa_flags & named) == flags);
    EXPECT(sigismember(&action.sa_mask, SIGUSR2) == 1);
    EXPECT(sigismember(&action.sa_mask, SIGHUP) == 0);
}

static void start(uint32_t flags) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = UINT64_C(256) << 20;
    config.flags = flags;
    EXPECT(ferrum_log_set_callback(FERRUM_LOG_INFO, hear, NULL) == FERRUM_OK);
    EXPECT(ferrum_init(&config) == FERRUM_OK);
}

static void open_device(void) {
    EXPECT(ferrum_device_open("cpu:0", &device) == FERRUM_OK);
}

static void expect_in_snapshot(const char *part) {
    static char text[1 << 16];
    size_t length;
    EXPECT(ferrum_snapshot_json(text, sizeof text, &length) == FERRUM_OK);
    EXPECT(strstr(text, part) != NULL);
}

static void check_before_init(void) {
    install(SIGALRM, profiler_of_the_test, SA_RESTART | SA_NODEFER);
    install(SIGRTMIN + 3, profiler_of_the_test, 0);
    install(SIGUSR1, second_of_the_test, SA_ONSTACK);
    install(SIGTERM, SIG_IGN, 0);
    start(0);
    expect_action(SIGALRM, profiler_of_the_test,
                  SA_ONSTACK | SA_RESTART | SA_NODEFER);
    expect_action(SIGRTMIN + 3, profiler_of_the_test, SA_ONSTACK);
    expect_action(SIGUSR1, second_of_the_test, SA_ONSTACK);
    expect_action(SIGTERM, SIG_IGN, 0);
    expect_action(SIGHUP, SIG_DFL, 0);
    EXPECT(raise(SIGALRM) == 0 && atomic_load(&seen) == 1);
    /* A handler from before the start is no warning, and a handler with the
     * flag is not named. */
    EXPECT(strstr(log_so_far(), "1 signal handler without SA_ONSTACK; the flag "
                                "was added: SIGALRM") != NULL);
    EXPECT(strstr(said, "SIGUSR1") == NULL && strstr(said, "SIGTERM") == NULL);
}

static void check_after_init(void) {
    start(0);
    install(SIGPROF, profiler_of_the_test, SA_RESTART);
    open_device();
    expect_action(SIGPROF, profiler_of_the_test, SA_ONSTACK | SA_RESTART);
    EXPECT(strstr(log_so_far(), "2 signal handler was installed without "
                                "SA_ONSTACK after ferrum_init") != NULL);
    EXPECT(strstr(said, "SIGPROF: ") != NULL);
    EXPECT(strstr(said, "test_signals") != NULL);
    expect_in_snapshot("\"signal\":27,\"name\":\"SIGPROF\"");
    expect_in_snapshot("\"repaired\":true,\"late\":true");
    /* Each handler is named once. */
    said[0] = 0;
    install(SIGPROF, profiler_of_the_test, SA_RESTART);
    ferrum_stream stream;
    EXPECT(ferrum_stream_create(device, &stream) == FERRUM_OK);
    expect_action(SIGPROF, profiler_of_the_test, SA_ONSTACK | SA_RESTART);
    EXPECT(strstr(log_so_far(), "SIGPROF") == NULL);
    /* A caller that joins the running library checks the handlers too. */
    install(SIGPROF, second_of_the_test, 0);
    EXPECT(ferrum_init(NULL) == FERRUM_OK);
    expect_action(SIGPROF, second_of_the_test, SA_ONSTACK);
    EXPECT(strstr(log_so_far(), "SIGPROF") != NULL);
}

/* The flags of the handler of the C library for the cancellation of threads,
 * which sigaction does not show, or 0 without a handler. */
enum { CANCELLATION = 32 };
static unsigned long cancellation_flags(void) {
    struct {
        uintptr_t handler;
        unsigned long flags;
        uintptr_t restorer;
        uint64_t mask;
    } action = {0, 0, 0, 0};
    EXPECT(syscall(SYS_rt_sigaction, CANCELLATION, NULL, &action,
                   sizeof action.mask) == 0);
    return action.handler != 0 ? action.flags : 0;
}

/* The C library installs its handler for cancelled threads at the first
 * cancellation, or with the program (glibc before 2.34). A handler that was
 * there when the runtime started has the flag already and is no finding. */
static void *waits(void *data) {
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pause();
    return data;
}
static void check_handler_of_the_c_library(void) {
    start(0);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, waits, NULL) == 0);
    EXPECT(pthread_cancel(thread) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    bool is_finding = (cancellation_flags() & SA_ONSTACK) == 0;
    open_device();
    EXPECT((cancellation_flags() & SA_ONSTACK) != 0);
    expect_in_snapshot(is_finding ? "\"signal\":32,\"name\":\"\""
                                  : "\"signal_handlers\":[]");
}

/* --------------------------------------- every call that creates an object */

static ferrum_manager a_manager;
static ferrum_elastic_pool a_elastic_pool;

static ferrum_status opens_manager(void) {
    return ferrum_manager_create(device, NULL, &a_manager);
}
static ferrum_status opens_stream(void) {
    ferrum_stream stream;
    return ferrum_stream_create(device, &stream);
}
static ferrum_status opens_pool(void) {
    ferrum_pool pool;
    return ferrum_pool_create(device, NULL, &pool);
}
static ferrum_status opens_vpool(void) {
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = UINT64_C(64) << 20;
    ferrum_vpool pool;
    return ferrum_vpool_create(device, &config, &pool);
}
static ferrum_status opens_elastic_pool(void) {
    return ferrum_elastic_pool_create(device, NULL, &a_elastic_pool);
}
static ferrum_status opens_model(void) {
    ferrum_model_config config = FERRUM_MODEL_CONFIG_INIT;
    config.virtual_bytes = UINT64_C(64) << 20;
    return ferrum_elastic_pool_register_model(a_elastic_pool, "m", &config);
}
static ferrum_status opens_monitor(void) {
    ferrum_monitor monitor;
    return ferrum_monitor_create(NULL, &monitor);
}
static ferrum_status opens_placement(void) {
    ferrum_placement placement;
    return ferrum_placement_create("best_fit", &placement);
}
static ferrum_status opens_tracker(void) {
    ferrum_tracker tracker;
    return ferrum_tracker_create(&tracker);
}
static ferrum_status opens_generic_pool(void) {
    ferrum_generic_pool pool;
    return ferrum_generic_pool_create(NULL, &pool);
}
static ferrum_status opens_device(void) {
    return ferrum_device_open("cpu:0", &device);
}
static ferrum_status opens_backend(void) {
    ferrum_device opened;
    return ferrum_backend_open(FERRUM_BACKEND_CPU, 0, &opened, NULL);
}

static void check_every_call(void) {
    start(0);
    static const struct {
        const char *name;
        ferrum_status (*call)(void);
    } calls[] = {
        {"device", opens_device},
        {"backend", opens_backend},
        {"stream", opens_stream},
        {"pool", opens_pool},
        {"manager", opens_manager},
        {"vpool", opens_vpool},
        {"elastic pool", opens_elastic_pool},
        {"model", opens_model},
        {"monitor", opens_monitor},
        {"placement", opens_placement},
        {"tracker", opens_tracker},
        {"generic pool", opens_generic_pool},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        install(SIGVTALRM, profiler_of_the_test, 0);
        ferrum_status status = calls[i].call();
        if (status != FERRUM_OK)
            fprintf(stderr, "  %s: %s\n", calls[i].name,
                    ferrum_status_name(status));
        EXPECT(status == FERRUM_OK);
        expect_action(SIGVTALRM, profiler_of_the_test, SA_ONSTACK);
    }
}

/* ---------------------------------------------------------------- disabled */

static void left_alone(uint32_t flags) {
    install(SIGALRM, profiler_of_the_test, 0);
    start(flags);
    install(SIGPROF, second_of_the_test, SA_RESTART);
    open_device();
    expect_action(SIGALRM, profiler_of_the_test, 0);
    expect_action(SIGPROF, second_of_the_test, SA_RESTART);
    EXPECT(strstr(log_so_far(), "2 signal handler without SA_ONSTACK, left as "
                                "it is: SIGALRM") != NULL);
    EXPECT(strstr(said, "left as it is: SIGPROF") != NULL);
    expect_in_snapshot("\"repaired\":false,\"late\":true");
}
static void check_left_by_flag(void) {
    left_alone(FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS);
}
static void check_left_by_environment(void) { left_alone(0); }
static void check_bad_environment(void) {
    EXPECT(ferrum_init(NULL) == FERRUM_ERROR_INVALID_CONFIG);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    EXPECT(ferrum_last_error(&error) == FERRUM_OK);
    EXPECT(strstr(error.message, "FERRUM_SIGNAL_HANDLERS=\"some\"") != NULL);
}

/* ------------------------------------------------------------------- races */

static atomic_int stop;

static void *creates(void *data) {
    while (!atomic_load(&stop)) {
        ferrum_tracker tracker;
        EXPECT(ferrum_tracker_create(&tracker) == FERRUM_OK);
        EXPECT(ferrum_tracker_destroy(tracker) == FERRUM_OK);
    }
    return data;
}

/* A program changes its handler while other threads check: the last handler
 * that it set stays. */
static void check_changes_meanwhile(void) {
    start(0);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&threads[i], NULL, creates, NULL) == 0);
    static void (*const handlers[])(int) = {profiler_of_the_test,
                                            second_of_the_test, SIG_IGN};
    for (int i = 0; i < 20000; i++)
        install(SIGPROF, handlers[i % 3], i % 2 ? SA_RESTART : SA_NODEFER);
    install(SIGPROF, second_of_the_test, SA_RESTART);
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    nanosleep(&(struct timespec){1, 100000000},
              NULL); /* a new second: another check */
    ferrum_tracker tracker;
    EXPECT(ferrum_tracker_create(&tracker) == FERRUM_OK);
    expect_action(SIGPROF, second_of_the_test, SA_ONSTACK | SA_RESTART);
}

/* ------------------------------------------------------------ under load */

/* Calls into Go that use its stacks, on a thread of the program. */
static void busy_round(void) {
    ferrum_pool pool;
    ferrum_address address;
    size_t length;
    ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
    EXPECT(ferrum_device_get_memory_info(device, &info) == FERRUM_OK);
    EXPECT(ferrum_snapshot_json(NULL, 0, &length) == FERRUM_OK);
    EXPECT(ferrum_pool_create(device, NULL, &pool) == FERRUM_OK);
    EXPECT(ferrum_pool_alloc(pool, 100000, (ferrum_stream){0}, &address) == 0);
    EXPECT(ferrum_pool_free(pool, address, (ferrum_stream){0}) == 0);
    EXPECT(ferrum_pool_destroy(pool, 0) == FERRUM_OK);
}
static void *busy(void *data) {
    while (!atomic_load(&stop))
        busy_round();
    return data;
}

/* An ordinary profiler: 1000 signals for each second of processor time, and
 * as many by the clock, sent to every thread in turn. */
static void profile(int seconds) {
    enum { THREADS = 3 };
    EXPECT(nice(10) != -1);
    start(0);
    open_device();
    install(SIGPROF, profiler_of_the_test, SA_RESTART);
    install(SIGRTMIN + 1, profiler_of_the_test, SA_RESTART);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, busy, NULL) == 0);
    /* From its first round on, the handlers have the flag. */
    busy_round();
    struct itimerval often = {{0, 1000}, {0, 1000}};
    EXPECT(setitimer(ITIMER_PROF, &often, NULL) == 0);
    for (int i = 0; i < seconds * 1000; i++) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        /* As many as may be pending are enough. */
        int sent = pthread_kill(threads[i % THREADS], SIGRTMIN + 1);
        EXPECT(sent == 0 || sent == EAGAIN);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(atomic_load(&seen) >= seconds * 200);
    EXPECT(ferrum_device_close(device, 0) == FERRUM_OK);
    EXPECT(ferrum_shutdown(0) == FERRUM_OK);
}
/* One minute with make soak. */
static void check_profiler(void) { profile(getenv("SOAK") != NULL ? 60 : 5); }

static const alone_check checks[] = {
    {"before_init", check_before_init, NULL, NULL},
    {"after_init", check_after_init, NULL, NULL},
    {"handler_of_the_c_library", check_handler_of_the_c_library, NULL, NULL},
    {"every_call", check_every_call, NULL, NULL},
    {"left_by_flag", check_left_by_flag, NULL, NULL},
    {"left_by_environment", check_left_by_environment, NULL,
     "FERRUM_SIGNAL_HANDLERS=leave"},
    {"bad_environment", check_bad_environment, NULL,
     "FERRUM_SIGNAL_HANDLERS=some"},
    {"changes_meanwhile", check_changes_meanwhile, NULL, NULL},
    {"profiler", check_profiler, NULL, NULL},
};

int main(int argc, char **argv) {
#ifdef __SANITIZE_ADDRESS__
    /* The sanitizer has its own handlers. */
    (void)checks;
    (void)argc;
    (void)argv;
    printf("0 passed, 0 failed, %zu skipped\n", sizeof checks / sizeof *checks);
    return 0;
#else
    return alone_main(argc, argv, checks, sizeof checks / sizeof *checks);
#endif
}

/*
 * The library as a guest in a host program: signals, environment, output, idle
 * time, fork, threads that start and end, and a defect of the library itself.
 *
 * Each check runs in a separate process: this program, started again with the
 * name of the check. The check opens the library by dlopen, so that it can
 * prepare the process before that.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ferrum_mem.h"

extern char **environ;

#define EXPECT(condition)                                             \
    do {                                                              \
        if (!(condition)) {                                           \
            fprintf(stderr, "  line %d: %s\n", __LINE__, #condition); \
            exit(1);                                                  \
        }                                                             \
    } while (0)

/* The functions that the checks use, found at run time. */
/* clang-format off */
#define FUNCTIONS(X) \
    X(ferrum_abi_version) X(ferrum_version_string) X(ferrum_status_name) X(ferrum_status_text) \
    X(ferrum_last_error) X(ferrum_init) X(ferrum_shutdown) X(ferrum_log_set_callback) \
    X(ferrum_device_open) X(ferrum_device_close) X(ferrum_device_get_statistics) X(ferrum_backends_json) \
    X(ferrum_stream_create) X(ferrum_stream_destroy) X(ferrum_stream_synchronize) X(ferrum_stream_host_function) \
    X(ferrum_pool_create) X(ferrum_pool_destroy) X(ferrum_pool_alloc) X(ferrum_pool_free) X(ferrum_pool_get_statistics) \
    X(ferrum_manager_create) X(ferrum_manager_destroy) X(ferrum_manager_alloc) X(ferrum_memory_free) X(ferrum_memory_fill_async)
/* clang-format on */

static struct {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    ferrum_status (*ferrum_test_panic)(uint32_t in_worker);
} lib;

/* POSIX allows a function pointer from dlsym; ISO C has no conversion for
 * it. */
static void *find(void *handle, const char *name, void *to, size_t size) {
    void *symbol = dlsym(handle, name);
    memcpy(to, &symbol, size);
    return symbol;
}

static void load_file(const char *file) {
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        fprintf(stderr, "  %s\n", dlerror());
        exit(1);
    }
#define LOOK_UP(name) \
    EXPECT(find(handle, #name, &lib.name, sizeof lib.name) != NULL);
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    find(handle, "ferrum_test_panic", &lib.ferrum_test_panic,
         sizeof lib.ferrum_test_panic);
}
static void load(void) { load_file("libferrum_mem.so.0"); }

static ferrum_device device;
static ferrum_pool pool;

static void start(void) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = UINT64_C(256) << 20;
    EXPECT(lib.ferrum_init(&config) == FERRUM_OK);
    EXPECT(lib.ferrum_device_open("cpu:0", &device) == FERRUM_OK);
    ferrum_pool_config settings = FERRUM_POOL_CONFIG_INIT;
    settings.initial_size_bytes = UINT64_C(16) << 20;
    settings.growth_increment_bytes = UINT64_C(16) << 20;
    EXPECT(lib.ferrum_pool_create(device, &settings, &pool) == FERRUM_OK);
}

static void stop(void) {
    EXPECT(lib.ferrum_pool_destroy(pool, 0) == FERRUM_OK);
    EXPECT(lib.ferrum_device_close(device, 0) == FERRUM_OK);
    EXPECT(lib.ferrum_shutdown(0) == FERRUM_OK);
}

/* Work of every kind: a stream, blocks, and errors with their messages. */
static void work(int rounds) {
    ferrum_stream stream;
    ferrum_manager manager;
    EXPECT(lib.ferrum_stream_create(device, &stream) == FERRUM_OK);
    EXPECT(lib.ferrum_manager_create(device, NULL, &manager) == FERRUM_OK);
    for (int i = 0; i < rounds; i++) {
        ferrum_address address;
        ferrum_memory memory;
        EXPECT(lib.ferrum_pool_alloc(pool, 4096, stream, &address) == 0);
        EXPECT(lib.ferrum_manager_alloc(manager, 65536, &memory) == 0);
        ferrum_fill fill = FERRUM_FILL_INIT;
        fill.memory = memory;
        fill.size_bytes = 65536;
        EXPECT(lib.ferrum_memory_fill_async(&fill, stream) == 0);
        EXPECT(lib.ferrum_pool_free(pool, address, stream) == 0);
        EXPECT(lib.ferrum_pool_free(pool, 12345, stream) ==
               FERRUM_ERROR_INVALID_ADDRESS);
        EXPECT(lib.ferrum_memory_free(memory) == 0);
    }
    EXPECT(lib.ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER) == 0);
    EXPECT(lib.ferrum_manager_destroy(manager, 0) == 0);
    EXPECT(lib.ferrum_stream_destroy(stream, 0) == 0);
}

/* ----------------------------------------------------------------- signals */

static volatile sig_atomic_t seen;
static sigjmp_buf back;

static void count(int number) {
    (void)number;
    seen++;
}
static void jump(int number) {
    (void)number;
    seen++;
    siglongjmp(back, 1);
}
static void handle(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    EXPECT(sigaction(number, &action, NULL) == 0);
}

/* volatile hides the address from the compiler. */
static int *volatile nowhere;

static void segv_once(void) {
    int before = seen;
    if (sigsetjmp(back, 1) == 0)
        *nowhere = 1;
    EXPECT(seen == before + 1);
}
static void check_segv_handler_before(void) {
    handle(SIGSEGV, jump);
    load();
    start();
    work(20);
    segv_once();
    work(20);
    segv_once();
    stop();
}
static void check_segv_handler_after(void) {
    load();
    start();
    handle(SIGSEGV, jump);
    work(20);
    segv_once();
    work(20);
    stop();
}

static void broken_pipe(void) {
    int ends[2];
    EXPECT(pipe(ends) == 0);
    close(ends[0]);
    EXPECT(write(ends[1], "x", 1) == -1 && errno == EPIPE);
    close(ends[1]);
}
static void check_sigpipe_handler(void) {
    handle(SIGPIPE, count);
    load();
    start();
    work(20);
    broken_pipe();
    EXPECT(seen == 1);
    stop();
}
static void check_sigpipe_ignored(void) {
    handle(SIGPIPE, SIG_IGN);
    load();
    start();
    work(20);
    broken_pipe();
    stop();
}
static void check_sigint_handler(void) {
    handle(SIGINT, count);
    load();
    start();
    work(20);
    raise(SIGINT);
    EXPECT(seen == 1);
    stop();
}
static void check_sigint_default(void) { /* must end by SIGINT */
    /* A shell starts background processes with SIGINT ignored. */
    handle(SIGINT, SIG_DFL);
    load();
    start();
    work(20);
    raise(SIGINT);
    exit(1);
}
static void check_sigprof_handler(void) {
    handle(SIGPROF, count);
    load();
    start();
    struct itimerval often = {{0, 1000}, {0, 1000}};
    EXPECT(setitimer(ITIMER_PROF, &often, NULL) == 0);
    while (seen < 20)
        work(50);
    stop();
}

/* ----------------------------------------------- environment, output, idle */

static long resident_kib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    EXPECT(file != NULL && fscanf(file, "%*s %ld", &pages) == 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
/* Runs with the worst collector settings in the environment. */
static void check_go_environment(void) {
    load();
    start();
    work(2000);
    long before = resident_kib();
    work(40000);
    /* 40,000 rounds create over 60 MiB of garbage, which would stay without
     * a collector. */
    EXPECT(resident_kib() - before < 40 * 1024);
    stop();
}

/* A variable that the host program sets after the library is loaded. */
static void check_late_environment(void) {
    load();
    EXPECT(setenv("FERRUM_HOST_DEVICES", "3", 1) == 0);
    EXPECT(setenv("FERRUM_HOST_MEMORY", "96MiB", 1) == 0);
    EXPECT(lib.ferrum_init(NULL) == FERRUM_OK);
    EXPECT(lib.ferrum_device_open("cpu:2", &device) == FERRUM_OK);
    EXPECT(lib.ferrum_device_close(device, 0) == FERRUM_OK);
    EXPECT(lib.ferrum_device_open("cpu:3", &device) ==
           FERRUM_ERROR_DEVICE_NOT_FOUND);
    EXPECT(lib.ferrum_shutdown(0) == FERRUM_OK);
    EXPECT(setenv("FERRUM_HOST_MEMORY", "many", 1) == 0);
    EXPECT(lib.ferrum_init(NULL) == FERRUM_ERROR_INVALID_CONFIG);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    EXPECT(lib.ferrum_last_error(&error) == FERRUM_OK);
    EXPECT(strstr(error.message, "FERRUM_HOST_MEMORY") != NULL);
    EXPECT(strstr(error.message, "many") != NULL);
    EXPECT(unsetenv("FERRUM_HOST_MEMORY") == 0);
    EXPECT(setenv("FERRUM_LOG", "loud", 1) == 0);
    EXPECT(lib.ferrum_init(NULL) == FERRUM_ERROR_INVALID_CONFIG);
    EXPECT(lib.ferrum_last_error(&error) == FERRUM_OK);
    EXPECT(strstr(error.message, "FERRUM_LOG=\"loud\"") != NULL);
}

/* If the program that queries vendors' libraries cannot be started, the
 * flag makes it unnecessary. */
static int is_helper_missed(uint32_t flags) {
    static char text[1 << 16];
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.flags = flags;
    size_t length;
    EXPECT(lib.ferrum_init(&config) == FERRUM_OK);
    EXPECT(lib.ferrum_backends_json(text, sizeof text, &length) == FERRUM_OK);
    EXPECT(lib.ferrum_shutdown(0) == FERRUM_OK);
    return strstr(text, "helper_unavailable") != NULL;
}
static void check_probe_in_process(void) {
    load();
    EXPECT(setenv("FERRUM_PROBE_HELPER", "/nonexistent/helper", 1) == 0);
    EXPECT(is_helper_missed(0));
    EXPECT(!is_helper_missed(FERRUM_CONFIG_PROBE_IN_PROCESS));
}

/* Loading keeps no file open, and starting keeps the two files of the
 * runtime's timers. Both keep the limit on open files, because the host
 * program may depend on its own. */
static int open_files(void) {
    DIR *files = opendir("/proc/self/fd");
    EXPECT(files != NULL);
    int count = 0;
    while (readdir(files) != NULL)
        count++;
    closedir(files);
    return count;
}

/* Until it has started, the Go runtime reads files of the system on a thread of
 * its own: the size of huge pages and the limits of the control group. So the
 * count is compared until it is right, for ten seconds at most. */
static int has_open_files(int expected) {
    for (int tries = 0; tries < 10000; tries++) {
        if (open_files() == expected)
            return 1;
        usleep(1000);
    }
    fprintf(stderr, "%d files are open, not %d\n", open_files(), expected);
    return 0;
}

static void check_few_files(void) {
    int before = open_files();
    struct rlimit limit, after;
    EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    EXPECT(limit.rlim_max > 64);
    limit.rlim_cur = 64;
    EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    load();
    EXPECT(has_open_files(before));
    EXPECT(lib.ferrum_init(NULL) == FERRUM_OK);
    EXPECT(open_files() == before + 2);
    EXPECT(getrlimit(RLIMIT_NOFILE, &after) == 0);
    EXPECT(after.rlim_cur == limit.rlim_cur);
    EXPECT(lib.ferrum_shutdown(0) == FERRUM_OK);
    EXPECT(lib.ferrum_init(NULL) == FERRUM_OK);
    EXPECT(lib.ferrum_shutdown(0) == FERRUM_OK);
    EXPECT(open_files() == before + 2);
}

static void check_silent(void) { /* the parent looks at the output */
    load();
    start();
    work(50);
    ferrum_address leaked;
    EXPECT(lib.ferrum_pool_alloc(pool, 64, (ferrum_stream){0}, &leaked) == 0);
    EXPECT(lib.ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK);
}

/* The voluntary context switches of the threads of this process. */
static long switches(void) {
    DIR *tasks = opendir("/proc/self/task");
    EXPECT(tasks != NULL);
    long sum = 0;
    char path[300], line[256];
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        if (status == NULL)
            continue;
        long value;
        while (fgets(line, sizeof line, status) != NULL)
            if (sscanf(line, "voluntary_ctxt_switches: %ld", &value) == 1)
                sum += value;
        fclose(status);
    }
    closedir(tasks);
    return sum;
}
static void check_idle(void) {
    load();
    start();
    work(50);
    /* First, wait until the background work has ended. */
    nanosleep(&(struct timespec){1, 0}, NULL);
    long before = switches();
    nanosleep(&(struct timespec){3, 0}, NULL);
    long made = switches() - before;
    /* One is this thread's own sleep. The runtime's monitor thread sleeps
     * for a minute at a time and may wake once in the window. */
    if (made > 3)
        fprintf(stderr, "  %ld wake-ups in 3 s\n", made);
    EXPECT(made <= 3);
    stop();
}

/* -------------------------------------------------------- fork and threads */

static void all_forked(void) {
    ferrum_device d;
    ferrum_stream s;
    ferrum_address a;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    size_t length;
    EXPECT(lib.ferrum_abi_version() == FERRUM_ABI_VERSION);
    EXPECT(lib.ferrum_version_string()[0] != 0);
    EXPECT(lib.ferrum_status_name(0)[0] != 0);
    EXPECT(lib.ferrum_init(NULL) == FERRUM_ERROR_FORKED);
    EXPECT(lib.ferrum_device_open("cpu:0", &d) == FERRUM_ERROR_FORKED);
    EXPECT(lib.ferrum_backends_json(NULL, 0, &length) == FERRUM_ERROR_FORKED);
    EXPECT(lib.ferrum_stream_create(device, &s) == FERRUM_ERROR_FORKED);
    EXPECT(lib.ferrum_pool_alloc(pool, 64, (ferrum_stream){0}, &a) ==
           FERRUM_ERROR_FORKED);
    EXPECT(lib.ferrum_pool_free(pool, 64, (ferrum_stream){0}) ==
           FERRUM_ERROR_FORKED);
    EXPECT(lib.ferrum_pool_destroy(pool, FERRUM_FORCE) == FERRUM_ERROR_FORKED);
    EXPECT(lib.ferrum_shutdown(FERRUM_FORCE) == FERRUM_ERROR_FORKED);
    EXPECT(lib.ferrum_last_error(&error) == FERRUM_OK);
    EXPECT(error.status == FERRUM_ERROR_FORKED);
    EXPECT(strstr(error.message, "fork") != NULL);
    EXPECT(strcmp(error.function, "ferrum_shutdown") == 0);
}

enum { SMALL_BYTES = 512, PAGED_BYTES = 5 << 20 };

static void expect_bytes(ferrum_address address, int byte) {
    const unsigned char *at = (const unsigned char *)(uintptr_t)address;
    for (size_t i = 0; i < PAGED_BYTES; i += 4096)
        EXPECT(at[i] == byte);
}

/* The child of a process with a paged pool: no page is allocated or
 * released, the child has its own copy of the memory, and the parent does
 * not notice. */
static void check_fork(void) {
    load();
    start();
    work(50);
    ferrum_stream none = {0};
    ferrum_address small, large, other;
    EXPECT(lib.ferrum_pool_alloc(pool, SMALL_BYTES, none, &small) == 0);
    EXPECT(lib.ferrum_pool_alloc(pool, PAGED_BYTES, none, &large) == 0);
    memset((void *)(uintptr_t)large, 7, PAGED_BYTES);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        all_forked();
        EXPECT(lib.ferrum_pool_alloc(pool, PAGED_BYTES, none, &other) ==
               FERRUM_ERROR_FORKED);
        EXPECT(lib.ferrum_pool_free(pool, small, none) == FERRUM_ERROR_FORKED);
        EXPECT(lib.ferrum_pool_free(pool, large, none) == FERRUM_ERROR_FORKED);
        expect_bytes(large, 7);
        memset((void *)(uintptr_t)large, 9, PAGED_BYTES);
        _exit(0);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    expect_bytes(large, 7);
    EXPECT(lib.ferrum_pool_free(pool, small, none) == 0);
    EXPECT(lib.ferrum_pool_free(pool, large, none) == 0);
    EXPECT(lib.ferrum_pool_free(pool, large, none) == FERRUM_ERROR_DOUBLE_FREE);
    work(50);
    stop();
}

static void *short_thread(void *data) {
    ferrum_address address;
    (void)data;
    EXPECT(lib.ferrum_pool_alloc(pool, 512, (ferrum_stream){0}, &address) == 0);
    EXPECT(lib.ferrum_pool_free(pool, 1, (ferrum_stream){0}) != FERRUM_OK);
    EXPECT(lib.ferrum_pool_free(pool, address, (ferrum_stream){0}) == 0);
    return NULL;
}
static void check_short_threads(void) {
    load();
    start();
    for (int i = 0; i < 1000; i++) {
        pthread_t threads[4];
        for (int t = 0; t < 4; t++)
            EXPECT(pthread_create(&threads[t], NULL, short_thread, NULL) == 0);
        for (int t = 0; t < 4; t++)
            EXPECT(pthread_join(threads[t], NULL) == 0);
    }
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    EXPECT(lib.ferrum_pool_get_statistics(pool, &s) == FERRUM_OK);
    EXPECT(s.live_blocks.current == 0 && s.active.current == 0);
    EXPECT(s.allocations == 4000 && s.frees == 4000);
    EXPECT(s.reserved.current ==
           s.active.current + s.cached.current + s.unusable.current);
    stop();
}

/* ------------------------------------------------- a defect of the library */

static void poisoned(const char *message) {
    ferrum_device d;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    if (message != NULL) {
        EXPECT(lib.ferrum_last_error(&error) == FERRUM_OK);
        EXPECT(error.status == FERRUM_ERROR_INTERNAL);
        EXPECT(strstr(error.message, message) != NULL);
    }
    EXPECT(lib.ferrum_device_open("cpu:0", &d) == FERRUM_ERROR_POISONED);
    EXPECT(lib.ferrum_pool_destroy(pool, 0) == FERRUM_ERROR_POISONED);
    EXPECT(lib.ferrum_shutdown(FERRUM_FORCE) == FERRUM_ERROR_POISONED);
    EXPECT(lib.ferrum_abi_version() == FERRUM_ABI_VERSION);
    EXPECT(strcmp(lib.ferrum_status_name(FERRUM_ERROR_POISONED),
                  "FERRUM_ERROR_POISONED") == 0);
}
static void load_test_build(void) {
    const char *file = getenv("FERRUM_TEST_LIBRARY");
    if (file == NULL) {
        fprintf(stderr, "  FERRUM_TEST_LIBRARY is not set\n");
        exit(1);
    }
    load_file(file);
    EXPECT(lib.ferrum_test_panic != NULL);
}
static void check_panic_in_a_call(void) {
    load_test_build();
    start();
    EXPECT(lib.ferrum_test_panic(0) == FERRUM_ERROR_INTERNAL);
    poisoned("provoked in a call");
}
static void check_panic_in_a_worker(void) {
    load_test_build();
    start();
    EXPECT(lib.ferrum_test_panic(1) == FERRUM_OK);
    poisoned(NULL);
}

/* ------------------------------------------------------------------ running */

typedef struct {
    const char *name;
    void (*run)(void);
    int signal; /* must end the process; 0: it exits with 0 */
    const char *environment[4];
    int output; /* 0: any, 1: must be empty, 2: must not be empty */
} check;

static const check checks[] = {
    {"segv_handler_before", check_segv_handler_before, 0, {NULL}, 0},
    {"segv_handler_after", check_segv_handler_after, 0, {NULL}, 0},
    {"sigpipe_handler", check_sigpipe_handler, 0, {NULL}, 0},
    {"sigpipe_ignored", check_sigpipe_ignored, 0, {NULL}, 0},
    {"sigint_handler", check_sigint_handler, 0, {NULL}, 0},
    {"sigint_default", check_sigint_default, SIGINT, {NULL}, 0},
    {"sigprof_handler", check_sigprof_handler, 0, {NULL}, 0},
    {"go_environment",
     check_go_environment,
     0,
     {"GOGC=off", "GOMEMLIMIT=1", "GOMAXPROCS=1"},
     0},
    {"late_environment", check_late_environment, 0, {NULL}, 0},
    {"probe_in_process", check_probe_in_process, 0, {NULL}, 0},
    {"few_files", check_few_files, 0, {NULL}, 0},
    {"silent", check_silent, 0, {NULL}, 1},
    {"log_on_request", check_silent, 0, {"FERRUM_LOG=info"}, 2},
    {"idle", check_idle, 0, {NULL}, 0},
    {"fork", check_fork, 0, {NULL}, 0},
    {"short_threads", check_short_threads, 0, {NULL}, 0},
    {"panic_in_a_call", check_panic_in_a_call, 0, {NULL}, 0},
    {"panic_in_a_worker", check_panic_in_a_worker, 0, {NULL}, 0},
};
#define CHECKS (sizeof checks / sizeof *checks)

static int wait_for(pid_t pid, const check *c) {
    int status;
    for (int waited = 0; waited < 120000; waited += 5) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            if (c->signal != 0)
                return WIFSIGNALED(status) && WTERMSIG(status) == c->signal;
            if (WIFSIGNALED(status))
                fprintf(stderr, "  ended by signal %d\n", WTERMSIG(status));
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    fprintf(stderr, "  hung\n");
    return 0;
}

static int run(const check *c) {
    char template[] = "/tmp/ferrum_manners_XXXXXX";
    int output = mkstemp(template);
    if (output < 0)
        return 0;
    unlink(template);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (c->output != 0) {
        posix_spawn_file_actions_adddup2(&actions, output, 1);
        posix_spawn_file_actions_adddup2(&actions, output, 2);
    }
    char *arguments[] = {"test_manners", (char *)c->name, NULL};
    size_t variables = 0;
    while (environ[variables] != NULL)
        variables++;
    char **environment = calloc(variables + 5, sizeof *environment);
    size_t extra = 0;
    for (; c->environment[extra] != NULL; extra++)
        environment[extra] = (char *)c->environment[extra];
    memcpy(environment + extra, environ, variables * sizeof *environment);
    pid_t pid;
    int passed = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments,
                             environment) == 0 &&
                 wait_for(pid, c);
    free(environment);
    posix_spawn_file_actions_destroy(&actions);
    off_t written = lseek(output, 0, SEEK_END);
    if (c->output != 0 && (written > 0) != (c->output == 2)) {
        fprintf(stderr, "  wrote %ld bytes\n", (long)written);
        passed = 0;
    }
    close(output);
    return passed;
}

int main(int argc, char **argv) {
#ifdef __SANITIZE_ADDRESS__
    /* The sanitizer has its own handlers and threads. */
    (void)run;
    (void)argc;
    (void)argv;
    printf("0 passed, 0 failed, %zu skipped\n", CHECKS);
    return 0;
#else
    if (argc == 2) {
        for (size_t i = 0; i < CHECKS; i++)
            if (strcmp(checks[i].name, argv[1]) == 0) {
                checks[i].run();
                return 0;
            }
        fprintf(stderr, "no check %s\n", argv[1]);
        return 2;
    }
    int failed = 0;
    for (size_t i = 0; i < CHECKS; i++)
        if (!run(&checks[i])) {
            fprintf(stderr, "FAILED %s\n", checks[i].name);
            failed++;
        }
    printf("%zu passed, %d failed\n", CHECKS - (size_t)failed, failed);
    return failed != 0;
#endif
}

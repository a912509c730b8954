/*
 * Resources that the system refuses to the process, before the library starts
 * and after: limits of memory, descriptors, threads and file sizes, and system
 * calls that a filter makes fail. Each case does the main actions. Every call
 * must return OK or an error that names the refused resource, the counters
 * must be right all the time, and the process must survive.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "refusals.h"

/* When a call must fail in a case, because the case would test nothing
 * otherwise. */
enum { NEVER = 0, BEFORE = 1, AFTER = 2, LATER = 4, ALWAYS = 7 };

/* The main actions, with the limit set before ferrum_init, after it, and
 * after objects were created and used without it. */
#define CASES(name, when, refusal)                          \
    static void check_##name##_before(void) {               \
        things_loaded();                                    \
        refusal;                                            \
        if (things_init()) {                                \
            things_create();                                \
            things_use();                                   \
            things_end();                                   \
        }                                                   \
        EXPECT(!((when) & BEFORE) || things_refused() > 0); \
    }                                                       \
    static void check_##name##_after(void) {                \
        EXPECT(things_init());                              \
        refusal;                                            \
        things_create();                                    \
        things_use();                                       \
        things_end();                                       \
        EXPECT(!((when) & AFTER) || things_refused() > 0);  \
    }                                                       \
    static void check_##name##_later(void) {                \
        EXPECT(things_init());                              \
        things_create();                                    \
        things_use();                                       \
        EXPECT(things_refused() == 0);                      \
        refusal;                                            \
        things_use();                                       \
        things_end();                                       \
        EXPECT(!((when) & LATER) || things_refused() > 0);  \
    }
#define CALLS(name, when, error, ...) \
    CASES(name, when, refuse_calls(((const int[]){__VA_ARGS__, 0}), error))

/* clang-format off */
/* None of the needed memory is available, and then a part of it. */
CASES(address_space, ALWAYS, refuse_more(RLIMIT_AS, 0))
CASES(little_address_space, BEFORE, refuse_more(RLIMIT_AS, UINT64_C(192) << 20))
CASES(data, ALWAYS, refuse_more(RLIMIT_DATA, 0))
CASES(little_data, BEFORE, refuse_more(RLIMIT_DATA, UINT64_C(192) << 20))
CASES(files, ALWAYS, refuse_descriptors())
CASES(threads, BEFORE, (refuse_rights(), refuse_above(RLIMIT_NPROC, 1)))
CASES(locked, ALWAYS, (refuse_rights(), refuse_above(RLIMIT_MEMLOCK, 0)))
CASES(file_size, ALWAYS, refuse_above(RLIMIT_FSIZE, 1 << 20))
CALLS(mmap, ALWAYS, ENOMEM, SYS_mmap)
CALLS(mmap_forbidden, ALWAYS, EPERM, SYS_mmap)
CALLS(munmap, ALWAYS, ENOMEM, SYS_munmap)
CALLS(munmap_forbidden, ALWAYS, EPERM, SYS_munmap)
CALLS(mremap, NEVER, ENOMEM, SYS_mremap)
CALLS(mprotect, ALWAYS, ENOMEM, SYS_mprotect)
CALLS(mprotect_forbidden, ALWAYS, EPERM, SYS_mprotect)
CALLS(madvise, ALWAYS, EINVAL, SYS_madvise)
CALLS(madvise_forbidden, ALWAYS, EPERM, SYS_madvise)
CALLS(memfd_create, BEFORE | AFTER, ENOSYS, SYS_memfd_create)
CALLS(memfd_create_forbidden, BEFORE | AFTER, EPERM, SYS_memfd_create)
CALLS(ftruncate, BEFORE | AFTER, EPERM, SYS_ftruncate)
CALLS(fallocate, NEVER, EOPNOTSUPP, SYS_fallocate)
CALLS(fallocate_forbidden, NEVER, EPERM, SYS_fallocate)
CALLS(openat, ALWAYS, EACCES, SYS_openat)
CALLS(openat_full, ALWAYS, EMFILE, SYS_openat)
CALLS(clone3, NEVER, ENOSYS, SYS_clone3)
CALLS(clone, BEFORE, EAGAIN, SYS_clone3, SYS_clone)
CALLS(clone_forbidden, BEFORE, EPERM, SYS_clone3, SYS_clone)
CALLS(poll, BEFORE, EMFILE, SYS_epoll_create1)
CALLS(poll_forbidden, BEFORE, EPERM, SYS_epoll_create1, SYS_eventfd2)
/* clang-format on */

/* Host functions that do not return, on more streams than there are
 * threads: each is queued with its thread or fails. */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void wait_for_it(void *data) {
    pthread_mutex_lock(&held);
    (*(int *)data)++;
    pthread_mutex_unlock(&held);
}

static void many_host_functions(void) {
    enum { STREAMS = 100 };
    ferrum_device device;
    ferrum_stream streams[STREAMS];
    int ran = 0, queued = 0;
    EXPECT(ferrum_device_open("cpu:0", &device) == FERRUM_OK);
    for (int i = 0; i < STREAMS; i++)
        EXPECT(ferrum_stream_create(device, &streams[i]) == FERRUM_OK);
    pthread_mutex_lock(&held);
    for (int i = 0; i < STREAMS; i++) {
        ferrum_status status =
            ferrum_stream_host_function(streams[i], wait_for_it, &ran);
        queued += status == FERRUM_OK;
        ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
        EXPECT(ferrum_last_error(&error) == FERRUM_OK);
        EXPECT(status == FERRUM_OK ||
               (status == FERRUM_ERROR_RESOURCE_EXHAUSTED &&
                strstr(error.message, "did not provide a thread") != NULL));
    }
    /* Other work continues beside the blocked threads. */
    ferrum_pool pool;
    ferrum_address address;
    EXPECT(ferrum_pool_create(device, NULL, &pool) == FERRUM_OK);
    EXPECT(ferrum_pool_alloc(pool, 1 << 20, streams[0], &address) == FERRUM_OK);
    EXPECT(ferrum_pool_free(pool, address, streams[0]) == FERRUM_OK);
    pthread_mutex_unlock(&held);
    for (int i = 0; i < STREAMS; i++)
        EXPECT(ferrum_stream_synchronize(streams[i], FERRUM_WAIT_FOREVER) == 0);
    EXPECT(ran == queued);
    fprintf(stderr, "%d of %d queued\n", queued, STREAMS);
    /* The threads that could not be created can be created now. */
    for (int i = 0; i < STREAMS; i++) {
        EXPECT(ferrum_stream_host_function(streams[i], wait_for_it, &ran) == 0);
        EXPECT(ferrum_stream_synchronize(streams[i], FERRUM_WAIT_FOREVER) == 0);
    }
    EXPECT(ran == queued + STREAMS && queued >= 4);
    EXPECT(ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK);
}
static void check_host_functions(void) {
    EXPECT(things_init());
    many_host_functions();
}
static void check_host_functions_without_threads(void) {
    EXPECT(things_init());
    refuse_rights();
    refuse_above(RLIMIT_NPROC, 1);
    many_host_functions();
}

/* The library's threads are not bound to the processor of the thread that
 * starts it. */
static void check_threads_run_anywhere(void) {
    cpu_set_t all, one, of;
    things_loaded();
    EXPECT(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) < 2) {
        fprintf(stderr, "one processor\n");
        exit(ALONE_SKIPPED);
    }
    int first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
    EXPECT(things_init());
    DIR *tasks = opendir("/proc/self/task");
    EXPECT(tasks != NULL);
    int threads = 0;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        pid_t thread = atoi(task->d_name);
        if (thread == 0 || thread == getpid())
            continue;
        /* Each thread sets this itself before it does anything else. */
        do
            EXPECT(sched_getaffinity(thread, sizeof of, &of) == 0);
        while (!CPU_EQUAL(&of, &all));
        threads++;
    }
    closedir(tasks);
    EXPECT(threads >= CPU_COUNT(&all) + 10);
}

/* A call that failed for lack of descriptors succeeds when descriptors are free. */
static void check_files_come_back(void) {
    ferrum_device device;
    EXPECT(things_init());
    refuse_descriptors();
    EXPECT(ferrum_device_open("cpu:0", &device) ==
           FERRUM_ERROR_RESOURCE_EXHAUSTED);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    EXPECT(ferrum_last_error(&error) == FERRUM_OK);
    EXPECT(error.native_code == EMFILE);
    EXPECT(strstr(error.message, "did not open a file") != NULL);
    for (int descriptor = 40; descriptor < 64; descriptor++)
        EXPECT(close(descriptor) == 0);
    things_create();
    EXPECT(things_refused() == 0);
    things_use();
    EXPECT(things_refused() == 0);
    things_end();
    EXPECT(things_refused() == 0);
}

/* clang-format off */
#define CASE(name) \
    {#name "_before", check_##name##_before, NULL, NULL}, \
    {#name "_after", check_##name##_after, NULL, NULL}, \
    {#name "_later", check_##name##_later, NULL, NULL},

static const alone_check checks[] = {
    CASE(address_space)
    CASE(little_address_space)
    CASE(data)
    CASE(little_data)
    CASE(files)
    CASE(threads)
    CASE(locked)
    CASE(file_size)
    CASE(mmap)
    CASE(mmap_forbidden)
    CASE(munmap)
    CASE(munmap_forbidden)
    CASE(mremap)
    CASE(mprotect)
    CASE(mprotect_forbidden)
    CASE(madvise)
    CASE(madvise_forbidden)
    CASE(memfd_create)
    CASE(memfd_create_forbidden)
    CASE(ftruncate)
    CASE(fallocate)
    CASE(fallocate_forbidden)
    CASE(openat)
    CASE(openat_full)
    CASE(clone3)
    CASE(clone)
    CASE(clone_forbidden)
    CASE(poll)
    CASE(poll_forbidden)
    {"files_come_back", check_files_come_back, NULL, NULL},
    {"threads_run_anywhere", check_threads_run_anywhere, NULL, NULL},
    {"host_functions", check_host_functions, NULL, NULL},
    {"host_functions_without_threads", check_host_functions_without_threads, NULL, NULL},
};
/* clang-format on */

int main(int argc, char **argv) {
#ifdef __SANITIZE_ADDRESS__
    /* The sanitizer uses address space and system calls of its own. */
    (void)checks;
    (void)argc;
    (void)argv;
    printf("0 passed, 0 failed, %zu skipped\n", sizeof checks / sizeof *checks);
    return 0;
#else
    return alone_main(argc, argv, checks, sizeof checks / sizeof *checks);
#endif
}

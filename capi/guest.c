#include "guest.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "signals.h"

static void *fm_hold_memory(size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

int fm_try_memory(size_t bytes) {
    /* Where memory cannot be taken back it is not tried again and again. */
    static _Atomic int kept;
    if (atomic_load(&kept) != 0)
        return atomic_load(&kept);
    void *memory = fm_hold_memory(bytes);
    if (memory == MAP_FAILED)
        return errno;
    if (munmap(memory, bytes) != 0)
        atomic_store(&kept, errno);
    return atomic_load(&kept);
}

int fm_try_descriptors(void) {
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0)
        return errno;
    int error = 0, event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event readable = {.events = EPOLLIN};
    if (event < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, event, &readable) != 0 ||
        epoll_wait(poll, &readable, 1, 0) < 0)
        error = errno;
    if (event >= 0)
        close(event);
    close(poll);
    return error;
}

/* Threads that wait until all of them are there. */
struct fm_gathering {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open;
};

static void *fm_gathered(void *data) {
    struct fm_gathering *all = data;
    pthread_mutex_lock(&all->lock);
    while (!all->open)
        pthread_cond_wait(&all->opened, &all->lock);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Made in parts: an array on the stack is not sized by what is asked for. */
enum { FM_GATHERING = 64 };

static int fm_gather(struct fm_gathering *all, int count, int *made_out) {
    pthread_t threads[FM_GATHERING];
    int made = 0, error = 0;
    while (made < count && made < FM_GATHERING &&
           (error = pthread_create(&threads[made], NULL, fm_gathered, all)) ==
               0)
        made++;
    *made_out += made;
    if (error == 0 && made < count)
        error = fm_gather(all, count - made, made_out);
    pthread_mutex_lock(&all->lock);
    all->open = true;
    pthread_cond_broadcast(&all->opened);
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    return error;
}

int fm_try_threads(int count, int *made_out) {
    struct fm_gathering all = {PTHREAD_MUTEX_INITIALIZER,
                               PTHREAD_COND_INITIALIZER, false};
    *made_out = 0;
    /* The program's handlers do not run on threads that it does not know. */
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int error = fm_gather(&all, count, made_out);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_cond_destroy(&all.opened);
    pthread_mutex_destroy(&all.lock);
    return error;
}

/* ------------------------------------------------------------- the look */

/* A program that creates objects by the ten thousand is looked at this often a
 * second, by a clock that ticks a few hundred times in it. */
enum { FM_LOOKS_A_SECOND = 1000 };

static bool fm_look_is_due(void) {
    static _Atomic int64_t second;
    static _Atomic int looks;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (atomic_exchange(&second, (int64_t)now.tv_sec) != (int64_t)now.tv_sec)
        atomic_store(&looks, 0);
    return atomic_fetch_add(&looks, 1) < FM_LOOKS_A_SECOND;
}

/* Keeps that the system refused what, with its number. */
static ferrum_status fm_refused(const char *function, int error,
                                const char *what) {
    char reason[128], message[384];
    snprintf(message, sizeof message, "the system refused %s: %s", what,
             strerror_r(error, reason, sizeof reason));
    ferrum_status status = FERRUM_ERROR_PERMISSION_DENIED;
    switch (error) {
    case ENOMEM:
        status = FERRUM_ERROR_OUT_OF_MEMORY;
        break;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
        status = FERRUM_ERROR_RESOURCE_EXHAUSTED;
        break;
    case ENOSYS:
    case EINVAL:
        status = FERRUM_ERROR_UNSUPPORTED;
        break;
    default:
        break;
    }
    fm_error_keep(status, error, "capi.guest", "", message);
    return fm_failed_in(function, status);
}

ferrum_status fm_guest_look(const char *function) {
    if (!fm_look_is_due())
        return FERRUM_OK;
    fm_handlers_look();
    int error = fm_try_memory(FM_HEADROOM_BYTES);
    if (error == 0)
        return FERRUM_OK;
    char what[128];
    snprintf(what, sizeof what,
             "%zu bytes of memory, which the library wants free for its own "
             "runtime",
             FM_HEADROOM_BYTES);
    return fm_refused(function, error, what);
}

/* --------------------------------------------------------------- the start */

static int fm_processors(void) {
    static unsigned char mask[8192];
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    int count = 0;
    for (long i = 0; i < bytes; i++)
        count += __builtin_popcount(mask[i]);
    return count > 2 ? count : 2;
}

static ferrum_status fm_start_look(const char *function) {
    char what[256];
    int error = fm_try_memory(FM_START_BYTES);
    if (error != 0) {
        snprintf(what, sizeof what,
                 "%zu bytes of address space for the runtime of the library",
                 FM_START_BYTES);
        return fm_refused(function, error, what);
    }
    error = fm_try_descriptors();
    if (error != 0)
        return fm_refused(function, error,
                          "2 descriptors for the timers of the library "
                          "(epoll_create1, eventfd2, epoll_ctl, epoll_wait)");
    /* Beside that memory: it is all needed at once. The C library aborts for stacks
     * that it cannot unmap, so that has been tried by now. */
    int made, wanted = fm_processors() + FM_SPARE_THREADS + FM_HOST_THREADS;
    void *memory = fm_hold_memory(FM_START_BYTES);
    error = fm_try_threads(wanted, &made);
    if (memory != MAP_FAILED)
        munmap(memory, FM_START_BYTES);
    if (error == 0)
        return FERRUM_OK;
    snprintf(what, sizeof what,
             "thread %d of %d for the runtime of the library (RLIMIT_NPROC, "
             "pids.max of the control group, address space for stacks)",
             made + 1, wanted);
    return fm_refused(function, error, what);
}

ferrum_status fm_guest_start(const char *function) {
    static _Atomic bool started;
    if (atomic_load(&started))
        return FERRUM_OK;
    ferrum_status status = fm_start_look(function);
    if (status == FERRUM_OK)
        atomic_store(&started, true);
    return status;
}

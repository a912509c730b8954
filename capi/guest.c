#include "guest.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "reserve.h"
#include "signals.h"
#include "threads.h"

int fm_try_memory(size_t bytes) {
    /* If memory cannot be unmapped again, it is not tried a second time. */
    static _Atomic int kept;
    if (atomic_load(&kept) != 0)
        return atomic_load(&kept);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

/* ------------------------------------------------------------- the look */

/* A program that creates objects by the ten thousand is checked at most
 * this often a second. The clock has a resolution of a few milliseconds. */
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

/* Records that the system rejected what, with the error number. */
static ferrum_status fm_refused(const char *function, int error,
                                const char *what) {
    char reason[128], message[384];
    snprintf(message, sizeof message, "the system did not provide %s: %s", what,
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
    snprintf(
        what, sizeof what,
        "%zu bytes of memory, which the library keeps free for its runtime",
        FM_HEADROOM_BYTES);
    return fm_refused(function, error, what);
}

/* --------------------------------------------------------------- the start */

static ferrum_status fm_start_look(const char *function) {
    /* This check comes before the threads, because the C library aborts for
     * stacks that it cannot unmap. */
    char what[256];
    int error = fm_try_memory(FM_START_BYTES);
    if (error != 0) {
        snprintf(what, sizeof what,
                 "%zu bytes of address space for the runtime of the library",
                 FM_START_BYTES);
        return fm_refused(function, error, what);
    }
    error = fm_reserve_make();
    if (error != 0)
        return fm_refused(function, error,
                          "a reserve for the runtime of the library");
    error = fm_try_descriptors();
    if (error != 0)
        return fm_refused(function, error,
                          "2 descriptors for the timers of the library "
                          "(epoll_create1, eventfd2, epoll_ctl, epoll_wait)");
    int had, wanted = fm_threads_processors() + FM_SPARE_THREADS +
                      FM_HOST_THREADS + FM_RUNTIME_THREADS;
    error = fm_threads_have(wanted, &had);
    if (error == 0)
        return FERRUM_OK;
    snprintf(what, sizeof what,
             "thread %d of %d for the runtime of the library (RLIMIT_NPROC, "
             "pids.max of the control group, address space for stacks)",
             had + 1, wanted);
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

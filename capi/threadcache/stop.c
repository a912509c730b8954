/* Thread caches: the mutex, and stopping the threads. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "parts.h"

#ifdef __SANITIZE_THREAD__
#define FM_ALWAYS_FENCED true
#else
#define FM_ALWAYS_FENCED false
#endif

_Atomic uint32_t fm_stop = FM_STOP_FENCED;
uint64_t fm_epoch;

static pthread_mutex_t fm_mutex = PTHREAD_MUTEX_INITIALIZER;

static void fm_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static long fm_membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0);
}

/* Registration is done once. */
static bool fm_registered;

void fm_stop_register(void) {
    if (fm_registered)
        return;
    fm_registered = true;
    if (!FM_ALWAYS_FENCED &&
        fm_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0)
        atomic_fetch_and(&fm_stop, ~(uint32_t)FM_STOP_FENCED);
}

/* A variable of glibc; other C libraries do not have it. */
extern char __libc_single_threaded __attribute__((weak));

/* Registration costs nothing while the process has one thread, and
 * milliseconds later. So this function registers when the library is loaded,
 * before the Go runtime starts threads, if the process has one thread.
 * Otherwise the first use of a cache registers. */
__attribute__((constructor(101))) static void fm_stop_load(void) {
    if (&__libc_single_threaded != NULL && __libc_single_threaded)
        fm_stop_register();
}

/* A thread seldom holds the mutex for long. Trying again for some microseconds
 * costs less than to sleep and be woken. */
#define FM_LOCK_TRIES 256

void fm_lock(void) {
    for (int i = 0; i < FM_LOCK_TRIES; i++) {
        if (pthread_mutex_trylock(&fm_mutex) == 0)
            return;
        fm_relax();
    }
    pthread_mutex_lock(&fm_mutex);
}

void fm_unlock(void) { pthread_mutex_unlock(&fm_mutex); }

static void fm_sleep_ns(long ns) { nanosleep(&(struct timespec){0, ns}, NULL); }

/* Far longer than any processor delays the visibility of a store. */
#define FM_STORES_SEEN_NS 10000000

/*
 * Forces a barrier in all threads. membarrier may be forbidden although it was
 * registered, because programs install system call filters after they have
 * started. From then on threads use fences. A thread that began before it could
 * know this has written busy without a fence; after the sleep its store is
 * visible.
 */
static void fm_barrier(void) {
    int error = errno;
    while (fm_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
        if (errno == ENOMEM) {
            sched_yield();
            continue;
        }
        atomic_fetch_or(&fm_stop, FM_STOP_FENCED);
        fm_sleep_ns(FM_STORES_SEEN_NS);
        break;
    }
    errno = error;
}

/* A thread is busy for nanoseconds, unless it was preempted. A waiting thread
 * of higher priority that only yields would keep it from its processor, so it
 * sleeps. */
#define FM_YIELDS 64
#define FM_WAIT_NS 50000

static void fm_await(const struct fm_thread *thread) {
    for (unsigned tries = 0;
         atomic_load_explicit(&thread->busy, memory_order_seq_cst) != 0;
         tries++)
        if (tries < FM_YIELDS)
            sched_yield();
        else
            fm_sleep_ns(FM_WAIT_NS);
}

void fm_stop_begin(void) {
    if ((atomic_fetch_or(&fm_stop, FM_STOP_ALL) & FM_STOP_FENCED) == 0)
        fm_barrier();
    for (const struct fm_thread *t = fm_threads; t != NULL; t = t->next)
        fm_await(t);
}

bool fm_has_lane(const struct fm_cache *cache) {
    const struct fm_store *s = cache->stores;
    while (s != NULL && s->thread == NULL)
        s = s->next_of_all;
    return s != NULL;
}

bool fm_stop_begin_for(const struct fm_cache *cache) {
    bool stop = fm_has_lane(cache);
    if (stop)
        fm_stop_begin();
    return stop;
}

void fm_stop_end(void) {
    atomic_fetch_and_explicit(&fm_stop, ~(uint32_t)FM_STOP_ALL,
                              memory_order_release);
}

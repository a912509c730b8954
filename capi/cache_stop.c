/* Thread caches: the mutex, and stopping the threads. */
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache_types.h"

#ifdef __SANITIZE_THREAD__
#define FM_ALWAYS_FENCED true
#else
#define FM_ALWAYS_FENCED false
#endif

_Atomic uint32_t fm_stop;
bool fm_fenced = true;
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

__attribute__((constructor)) static void fm_stop_load(void) {
    fm_fenced = FM_ALWAYS_FENCED ||
                fm_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
}

/* Who holds the mutex seldom holds it for long, and to sleep and be woken costs
 * more than to look again for some microseconds. */
#define FM_LOCK_TRIES 64

void fm_lock(void) {
    for (int i = 0; i < FM_LOCK_TRIES; i++) {
        if (pthread_mutex_trylock(&fm_mutex) == 0)
            return;
        fm_relax();
    }
    pthread_mutex_lock(&fm_mutex);
}

void fm_unlock(void) { pthread_mutex_unlock(&fm_mutex); }

void fm_stop_begin(void) {
    atomic_store_explicit(&fm_stop, 1, memory_order_seq_cst);
    /* It fails for want of kernel memory only, and must not be passed over. */
    while (!fm_fenced && fm_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
        sched_yield();
    for (struct fm_thread *t = fm_threads; t != NULL; t = t->next)
        while (atomic_load_explicit(&t->busy, memory_order_seq_cst) != 0)
            sched_yield();
}

void fm_stop_end(void) {
    atomic_store_explicit(&fm_stop, 0, memory_order_release);
}

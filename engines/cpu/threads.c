//go:build cgo && (amd64 || arm64) && !windows

/*
 * The threads of the engine.
 *
 * A run publishes its fields, then the word `claims`: the number of the round, how
 * many parts it has, and which of them no thread has taken. Threads take parts by
 * changing that word: the caller takes the last one, the others the first one. So
 * with as many parts as threads each computes the same part in every run, whose
 * operands its caches may still have; and a thread that wakes late delays nothing,
 * because the others take its parts. Only a thread that has taken a part reads
 * the fields, and the caller waits for all parts, so the fields do not change
 * while a thread reads them.
 *
 * A thread that finds no new round tries again for a while and then sleeps. A
 * thread that goes to sleep first counts itself in `sleepers` and then reads
 * `claims`; the caller first writes `claims` and then reads `sleepers`. Both orders
 * are sequentially consistent, so one of the two sees the other.
 */
#include "threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define FK_PAUSE() _mm_pause()
#else
#define FK_PAUSE() __asm__ volatile("yield")
#endif

/* How long a thread tries again before it sleeps. Waking a thread takes 30 to 100
 * microseconds in a virtual machine. The parts of a product may differ by that
 * time, and between two operations of a model less passes. */
#define FK_TRY_NS 100000
/* Attempts between two readings of the clock. */
#define FK_ATTEMPTS 32
#define FK_STACK_BYTES (1 << 20)
/* The most threads that leave the processor of the caller. Of many threads one that
 * wakes late costs less than changing the processors of all. */
#define FK_FEW 8

/* `claims` has four fields of 16 bits: the number of the round, its parts, and the
 * first and the end of those that are not taken. */
#define FK_FIELD 0xFFFFu
#define FK_ROUND(claims) ((claims) >> 48)
#define FK_PARTS(claims) ((claims) >> 32 & FK_FIELD)
#define FK_FIRST(claims) ((claims) >> 16 & FK_FIELD)
#define FK_LAST(claims) ((claims) & FK_FIELD)
/* The parts of a round that ends the threads. */
#define FK_END FK_FIELD

/* A thread other than the caller. */
struct fk_worker {
    struct fk_threads *threads;
    int64_t slot; /* of the workspace; the caller has slot 0 */
    pthread_t thread;
#if defined(__linux__)
    cpu_set_t allowed, given;
#endif
};

struct fk_threads {
    int count; /* with the caller */
    int fits;  /* whether each thread can have a processor of its own */
    int caller_processor;
    unsigned forks;
    atomic_flag is_used;

    /* Fields of a run. */
    const struct fk_kernel *kernel;
    const void *request;
    char *workspace;
    int64_t step, parts;

    _Alignas(64) _Atomic uint64_t claims;
    _Alignas(64) atomic_int pending; /* parts that are not complete */
    atomic_int sleepers;
    atomic_int caller_sleeps;

    pthread_mutex_t lock;
    pthread_cond_t started, done;
    int live; /* threads that have not ended; lock guards it */
    struct fk_worker workers[];
};

/* Forks of this process and its parents. */
static atomic_uint fk_forks;
static pthread_once_t fk_fork_once = PTHREAD_ONCE_INIT;

static void fk_after_fork(void) { atomic_fetch_add(&fk_forks, 1); }

static void fk_watch_forks(void) { pthread_atfork(NULL, NULL, fk_after_fork); }

static int64_t fk_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The attempts of a thread that waits. */
struct fk_wait {
    int64_t attempts, end_ns;
};

/* Waits for a moment. Returns 0 when the thread should sleep. */
static int fk_tries_again(const struct fk_threads *t, struct fk_wait *wait) {
    if (!t->fits)
        return 0;
    FK_PAUSE();
    if (++wait->attempts % FK_ATTEMPTS != 0)
        return 1;
    const int64_t now = fk_now_ns();
    if (wait->end_ns == 0)
        wait->end_ns = now + FK_TRY_NS;
    return now < wait->end_ns;
}

/* Rounds have 16 bits, so a thread that missed many may have seen the number. */
static int fk_is_new(uint64_t claims, uint64_t seen) {
    return FK_ROUND(claims) != seen || FK_PARTS(claims) == FK_END;
}

static uint64_t fk_wait_for_round(struct fk_threads *t, uint64_t seen) {
    struct fk_wait wait = {0, 0};
    uint64_t claims;
    do {
        claims = atomic_load_explicit(&t->claims, memory_order_acquire);
        if (fk_is_new(claims, seen))
            return claims;
    } while (fk_tries_again(t, &wait));
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    while (!fk_is_new(claims = atomic_load(&t->claims), seen))
        pthread_cond_wait(&t->started, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
    return claims;
}

static void fk_start_round(struct fk_threads *t, uint64_t parts) {
    const uint64_t number = FK_ROUND(atomic_load(&t->claims)) + 1;
    atomic_store(&t->claims, number << 48 | parts << 32 | parts);
    if (atomic_load(&t->sleepers) > 0) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->started);
        pthread_mutex_unlock(&t->lock);
    }
}

/* Computes parts that no thread has taken, as long as the round has any. */
static void fk_compute_parts(struct fk_threads *t, uint64_t round,
                             int64_t slot) {
    uint64_t claims = atomic_load(&t->claims);
    for (;;) {
        const uint64_t first = FK_FIRST(claims), last = FK_LAST(claims);
        if (FK_ROUND(claims) != round || first == last ||
            (uint64_t)slot >= FK_PARTS(claims))
            return;
        const int64_t part = (int64_t)(slot == 0 ? last - 1 : first);
        const uint64_t taken = slot == 0 ? claims - 1 : claims + (1 << 16);
        if (!atomic_compare_exchange_weak(&t->claims, &claims, taken))
            continue;
        t->kernel->run(t->request, part, t->parts,
                       t->workspace + slot * t->step);
        if (atomic_fetch_sub(&t->pending, 1) == 1 &&
            atomic_load(&t->caller_sleeps)) {
            pthread_mutex_lock(&t->lock);
            pthread_cond_signal(&t->done);
            pthread_mutex_unlock(&t->lock);
        }
        claims = atomic_load(&t->claims);
    }
}

static void fk_wait_for_parts(struct fk_threads *t) {
    struct fk_wait wait = {0, 0};
    do {
        if (atomic_load_explicit(&t->pending, memory_order_acquire) == 0)
            return;
    } while (fk_tries_again(t, &wait));
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->caller_sleeps, 1);
    while (atomic_load(&t->pending) > 0)
        pthread_cond_wait(&t->done, &t->lock);
    atomic_store(&t->caller_sleeps, 0);
    pthread_mutex_unlock(&t->lock);
}

static void *fk_thread(void *data) {
    const struct fk_worker *worker = data;
    struct fk_threads *t = worker->threads;
    uint64_t round = 0;
    for (;;) {
        const uint64_t claims = fk_wait_for_round(t, round);
        if (FK_PARTS(claims) == FK_END)
            break;
        round = FK_ROUND(claims);
        fk_compute_parts(t, round, worker->slot);
    }
    pthread_mutex_lock(&t->lock);
    t->live--;
    pthread_cond_signal(&t->done);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static int fk_start_thread(struct fk_threads *t, int64_t slot) {
    struct fk_worker *worker = &t->workers[slot - 1];
    *worker = (struct fk_worker){.threads = t, .slot = slot};
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, FK_STACK_BYTES);
    error = pthread_create(&worker->thread, &attributes, fk_thread, worker);
    pthread_attr_destroy(&attributes);
    return error;
}

struct fk_threads *fk_threads_open(int count, int *error) {
    pthread_once(&fk_fork_once, fk_watch_forks);
    const size_t bytes =
        sizeof(struct fk_threads) + (size_t)count * sizeof(struct fk_worker);
    struct fk_threads *t = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!t) {
        *error = ENOMEM;
        return NULL;
    }
    const int processors = fk_processors();
    *t = (struct fk_threads){.count = count,
                             .fits = processors == 0 || count <= processors,
                             .caller_processor = -1,
                             .forks = atomic_load(&fk_forks)};
    atomic_flag_clear(&t->is_used);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->started, NULL);
    pthread_cond_init(&t->done, NULL);
    /* Signals of the program go to its own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *error = 0;
    for (int i = 1; i < count && *error == 0; i++) {
        pthread_mutex_lock(&t->lock);
        t->live++;
        pthread_mutex_unlock(&t->lock);
        *error = fk_start_thread(t, i);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (*error == 0)
        return t;
    pthread_mutex_lock(&t->lock);
    t->live--; /* the one that did not start */
    pthread_mutex_unlock(&t->lock);
    fk_threads_close(t);
    return NULL;
}

static int fk_is_forked(const struct fk_threads *t) {
    return t->forks != atomic_load(&fk_forks);
}

void fk_threads_close(struct fk_threads *t) {
    if (!fk_is_forked(t)) {
        fk_start_round(t, FK_END);
        pthread_mutex_lock(&t->lock);
        while (t->live > 0)
            pthread_cond_wait(&t->done, &t->lock);
        pthread_mutex_unlock(&t->lock);
        pthread_cond_destroy(&t->started);
        pthread_cond_destroy(&t->done);
        pthread_mutex_destroy(&t->lock);
    }
    free(t);
}

/* Excludes the processor of the caller from those of the other threads. A kernel
 * that lets processors of a virtual machine sleep may else place a thread that
 * wakes where the caller runs, and both would run in turns. */
static void fk_leave_processor_of_caller(struct fk_threads *t) {
#if defined(__linux__)
    const int here = sched_getcpu();
    if (!t->fits || t->count > FK_FEW || here < 0 ||
        here == t->caller_processor)
        return;
    t->caller_processor = here;
    for (int i = 0; i + 1 < t->count; i++) {
        struct fk_worker *w = &t->workers[i];
        cpu_set_t set;
        if (pthread_getaffinity_np(w->thread, sizeof set, &set) != 0)
            continue;
        /* The program has chosen other processors. */
        if (!CPU_EQUAL(&set, &w->given))
            w->allowed = set;
        set = w->allowed;
        CPU_CLR((size_t)here, &set);
        if (pthread_setaffinity_np(w->thread, sizeof set, &set) == 0)
            w->given = set;
    }
#else
    (void)t;
#endif
}

void fk_threads_run(struct fk_threads *t, const struct fk_kernel *kernel,
                    const void *request, int64_t parts, char *workspace,
                    int64_t step) {
    if (parts == 1 || t->count == 1 || fk_is_forked(t) ||
        atomic_flag_test_and_set(&t->is_used)) {
        for (int64_t part = 0; part < parts; part++)
            kernel->run(request, part, parts, workspace);
        return;
    }
    t->kernel = kernel;
    t->request = request;
    t->workspace = workspace;
    t->step = step;
    t->parts = parts;
    atomic_store(&t->pending, (int)parts);
    fk_leave_processor_of_caller(t);
    fk_start_round(t, (uint64_t)parts);
    fk_compute_parts(t, FK_ROUND(atomic_load(&t->claims)), 0);
    fk_wait_for_parts(t);
    atomic_flag_clear(&t->is_used);
}

int fk_processors(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
#endif
    return 0;
}

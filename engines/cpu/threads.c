//go:build cgo && (amd64 || arm64) && !windows

/*
 * The threads of the engine.
 *
 * A run publishes its fields, then the word `round`, which holds the number of the
 * round and of its parts. Thread i computes part i if the round has it, and
 * then counts `pending` down; the caller computes the last part. Only a thread that
 * takes part reads the fields, and the caller waits for all of these, so the fields
 * do not change while a thread reads them.
 *
 * A thread that finds no new round tries again for some microseconds and then
 * sleeps. A thread that goes to sleep first counts itself in `sleepers` and then
 * reads `round`; the caller first writes `round` and then reads `sleepers`. Both
 * orders are sequentially consistent, so one of the two sees the other.
 */
#include "threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define FK_PAUSE() _mm_pause()
#else
#define FK_PAUSE() __asm__ volatile("yield")
#endif

/* Attempts before a thread sleeps: 30 to 100 microseconds. Waking a thread takes 30
 * microseconds in a virtual machine. Two parts of a product differ by about that, so
 * with fewer attempts each product would wait for both threads to wake. */
#define FK_ATTEMPTS 2000
#define FK_STACK_BYTES (1 << 20)
/* The low bits of a round are its number of parts. */
#define FK_PARTS_BITS 16
#define FK_PARTS_MASK ((1u << FK_PARTS_BITS) - 1)
#define FK_END FK_PARTS_MASK

struct fk_threads {
    int count; /* with the caller */
    unsigned forks;
    atomic_flag is_used;

    /* Fields of a run. */
    const struct fk_kernel *kernel;
    const void *request;
    char *workspace;
    int64_t step, parts;

    _Alignas(64) _Atomic uint64_t round;
    _Alignas(64) atomic_int pending;
    atomic_int sleepers;
    atomic_int caller_sleeps;

    pthread_mutex_t lock;
    pthread_cond_t started, done;
    int live; /* threads that have not ended; lock guards it */
};

/* Forks of this process and its parents. */
static atomic_uint fk_forks;
static pthread_once_t fk_fork_once = PTHREAD_ONCE_INIT;

static void fk_after_fork(void) { atomic_fetch_add(&fk_forks, 1); }

static void fk_watch_forks(void) { pthread_atfork(NULL, NULL, fk_after_fork); }

static uint64_t fk_wait_for_round(struct fk_threads *t, uint64_t seen) {
    for (int i = 0; i < FK_ATTEMPTS; i++) {
        uint64_t round = atomic_load_explicit(&t->round, memory_order_acquire);
        if (round != seen)
            return round;
        FK_PAUSE();
    }
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    uint64_t round;
    while ((round = atomic_load(&t->round)) == seen)
        pthread_cond_wait(&t->started, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
    return round;
}

static void fk_start_round(struct fk_threads *t, uint64_t parts) {
    uint64_t number = atomic_load(&t->round) >> FK_PARTS_BITS;
    atomic_store(&t->round, (number + 1) << FK_PARTS_BITS | parts);
    if (atomic_load(&t->sleepers) > 0) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->started);
        pthread_mutex_unlock(&t->lock);
    }
}

static void fk_part_is_done(struct fk_threads *t) {
    if (atomic_fetch_sub(&t->pending, 1) == 1 &&
        atomic_load(&t->caller_sleeps)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_signal(&t->done);
        pthread_mutex_unlock(&t->lock);
    }
}

static void fk_wait_for_parts(struct fk_threads *t) {
    for (int i = 0; i < FK_ATTEMPTS; i++) {
        if (atomic_load_explicit(&t->pending, memory_order_acquire) == 0)
            return;
        FK_PAUSE();
    }
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->caller_sleeps, 1);
    while (atomic_load(&t->pending) > 0)
        pthread_cond_wait(&t->done, &t->lock);
    atomic_store(&t->caller_sleeps, 0);
    pthread_mutex_unlock(&t->lock);
}

static void fk_run_one(const struct fk_threads *t, int64_t part) {
    t->kernel->run(t->request, part, t->parts, t->workspace + part * t->step);
}

struct fk_thread_start {
    struct fk_threads *threads;
    int64_t index;
};

static void *fk_thread(void *data) {
    struct fk_thread_start start = *(struct fk_thread_start *)data;
    struct fk_threads *t = start.threads;
    free(data);
    uint64_t seen = 0;
    for (;;) {
        seen = fk_wait_for_round(t, seen);
        uint64_t parts = seen & FK_PARTS_MASK;
        if (parts == FK_END)
            break;
        if ((uint64_t)start.index + 1 < parts) {
            fk_run_one(t, start.index);
            fk_part_is_done(t);
        }
    }
    pthread_mutex_lock(&t->lock);
    t->live--;
    pthread_cond_signal(&t->done);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static int fk_start_thread(struct fk_threads *t, int index) {
    struct fk_thread_start *start = malloc(sizeof *start);
    if (!start)
        return ENOMEM;
    *start = (struct fk_thread_start){t, index};
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, FK_STACK_BYTES);
        error = pthread_create(&thread, &attributes, fk_thread, start);
        pthread_attr_destroy(&attributes);
    }
    if (error != 0)
        free(start);
    return error;
}

struct fk_threads *fk_threads_open(int count, int *error) {
    pthread_once(&fk_fork_once, fk_watch_forks);
    struct fk_threads *t = aligned_alloc(64, (sizeof *t + 63) / 64 * 64);
    if (!t) {
        *error = ENOMEM;
        return NULL;
    }
    *t = (struct fk_threads){.count = count, .forks = atomic_load(&fk_forks)};
    atomic_flag_clear(&t->is_used);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->started, NULL);
    pthread_cond_init(&t->done, NULL);
    /* Signals of the program go to its own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *error = 0;
    for (int i = 0; i + 1 < count && *error == 0; i++) {
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

void fk_threads_run(struct fk_threads *t, const struct fk_kernel *kernel,
                    const void *request, int64_t parts, char *workspace,
                    int64_t step) {
    if (parts == 1 || fk_is_forked(t) ||
        atomic_flag_test_and_set(&t->is_used)) {
        for (int64_t part = 0; part < parts; part++)
            kernel->run(request, part, parts, workspace + part * step);
        return;
    }
    t->kernel = kernel;
    t->request = request;
    t->workspace = workspace;
    t->step = step;
    t->parts = parts;
    atomic_store(&t->pending, (int)parts - 1);
    fk_start_round(t, (uint64_t)parts);
    fk_run_one(t, parts - 1);
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

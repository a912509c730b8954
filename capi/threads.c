#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A sleeping thread of the stock. The struct is on its own stack. */
struct fm_waiting {
    struct fm_waiting *next;
    pthread_t thread;
    pthread_cond_t called;
    bool is_called;
    void *(*run)(void *); /* NULL: the thread ends */
    void *data;
};

enum { FM_MASK_BYTES = 8192 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    /* The sleeping threads. `idle` also counts threads that have not
     * started to sleep yet. */
    struct fm_waiting *waiting;
    int idle;
    /* Threads of the runtime, which never ends one. */
    int started;
    /* The processors on which the thread that loaded the library may run. */
    unsigned char mask[FM_MASK_BYTES];
    long mask_bytes;
} stock = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .arrived = PTHREAD_COND_INITIALIZER};

/* The linker replaces every pthread_create in this library by the function
 * below. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *data);

/* The runtime counts the size of its stack from the start of its function,
 * which comes after the frames of the sleeping thread. */
enum { FM_STACK_EXTRA = 64 << 10 };

static int fm_stack_attributes(pthread_attr_t *attributes) {
    size_t bytes;
    int error = pthread_attr_init(attributes);
    if (error != 0)
        return error;
    pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_getstacksize(attributes, &bytes);
    return pthread_attr_setstacksize(attributes, bytes + FM_STACK_EXTRA);
}

/* Does not inherit the processors and the priority of the thread that
 * created this one. */
static void fm_leave_maker(void) {
    if (sched_getscheduler(0) != SCHED_OTHER)
        sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    if (stock.mask_bytes > 0)
        syscall(SYS_sched_setaffinity, 0, stock.mask_bytes, stock.mask);
}

static void *fm_wait(void *unused) {
    (void)unused;
    fm_leave_maker();
    struct fm_waiting self = {.thread = pthread_self(),
                              .called = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&stock.lock);
    self.next = stock.waiting;
    stock.waiting = &self;
    pthread_cond_signal(&stock.arrived);
    while (!self.is_called)
        pthread_cond_wait(&self.called, &stock.lock);
    pthread_mutex_unlock(&stock.lock);
    pthread_cond_destroy(&self.called);
    return self.run == NULL ? NULL : self.run(self.data);
}

/* Wakes one of the idle threads. The caller holds the lock. */
static pthread_t fm_call(void *(*run)(void *), void *data) {
    stock.idle--;
    while (stock.waiting == NULL)
        pthread_cond_wait(&stock.arrived, &stock.lock);
    struct fm_waiting *called = stock.waiting;
    stock.waiting = called->next;
    pthread_t thread = called->thread;
    called->run = run;
    called->data = data;
    called->is_called = true;
    pthread_cond_signal(&called->called);
    return thread;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *data) {
    size_t wanted = 0, usual = 0;
    pthread_attr_t usual_attributes;
    if (attributes != NULL &&
        pthread_attr_getstacksize(attributes, &wanted) == 0 &&
        pthread_attr_init(&usual_attributes) == 0) {
        pthread_attr_getstacksize(&usual_attributes, &usual);
        pthread_attr_destroy(&usual_attributes);
    }
    pthread_mutex_lock(&stock.lock);
    /* The first thread is created while the library is loaded. */
    if (stock.started == 0)
        stock.mask_bytes =
            syscall(SYS_sched_getaffinity, 0, sizeof stock.mask, stock.mask);
    bool served = stock.idle > 0 && wanted <= usual;
    if (served)
        *thread = fm_call(run, data);
    stock.started++;
    pthread_mutex_unlock(&stock.lock);
    if (served)
        return 0;
    int error = __real_pthread_create(thread, attributes, run, data);
    if (error != 0) {
        pthread_mutex_lock(&stock.lock);
        stock.started--;
        pthread_mutex_unlock(&stock.lock);
    }
    return error;
}

/* Creates one more thread if fewer than wanted exist. Returns 1 if it
 * created one, 0 if enough exist, or the negative error number of the
 * system. */
static int fm_make_one(const pthread_attr_t *attributes, int wanted,
                       int *had_out) {
    pthread_t thread;
    pthread_mutex_lock(&stock.lock);
    *had_out = stock.started + stock.idle;
    int made = *had_out < wanted;
    if (made) {
        int error = __real_pthread_create(&thread, attributes, fm_wait, NULL);
        if (error == 0)
            stock.idle++;
        else
            made = -error;
    }
    pthread_mutex_unlock(&stock.lock);
    return made;
}

static int fm_make(int wanted, int *had_out) {
    pthread_attr_t attributes;
    int error = fm_stack_attributes(&attributes);
    if (error != 0)
        return error;
    int made = 0, last;
    while ((last = fm_make_one(&attributes, wanted, had_out)) > 0)
        made++;
    pthread_attr_destroy(&attributes);
    if (last == 0)
        return 0;
    /* If not enough could be created, the new threads end. */
    pthread_mutex_lock(&stock.lock);
    for (; made > 0 && stock.idle > 0; made--)
        fm_call(NULL, NULL);
    pthread_mutex_unlock(&stock.lock);
    return -last;
}

int fm_threads_have(int wanted, int *had_out) {
    *had_out = 0;
    /* The program's signal handlers must not run on threads that the
     * program does not know. */
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int error = fm_make(wanted, had_out);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int fm_threads_processors(void) {
    int count = 0;
    pthread_mutex_lock(&stock.lock);
    for (long i = 0; i < stock.mask_bytes; i++)
        count += __builtin_popcount(stock.mask[i]);
    pthread_mutex_unlock(&stock.lock);
    return count > 2 ? count : 2;
}

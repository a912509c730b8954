/* Thread caches: the threads that use them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "parts.h"

_Thread_local struct fm_thread *fm_self;
struct fm_thread *fm_threads;

/* Destructors of other keys may still allocate after this key's destructor has
 * run. These calls work without a lane. */
static _Thread_local bool fm_ended;

static pthread_key_t fm_thread_key;
static bool fm_thread_key_made;

/* Runs at the end of a thread. Its blocks go to the depots, its counts to the
 * pools. */
static void fm_thread_end(void *ending) {
    if (fm_is_forked())
        return;
    struct fm_thread *thread = ending;
    fm_lock();
    while (thread->lanes != NULL) {
        struct fm_store *lane = thread->lanes, *depot = lane->depot;
        thread->lanes = lane->next;
        fm_store_retire(lane, depot);
    }
    if (thread->previous != NULL)
        thread->previous->next = thread->next;
    else
        fm_threads = thread->next;
    if (thread->next != NULL)
        thread->next->previous = thread->previous;
    fm_unlock();
    fm_self = NULL;
    fm_ended = true;
    free(thread);
}

__attribute__((constructor)) static void fm_threads_load(void) {
    fm_thread_key_made = pthread_key_create(&fm_thread_key, fm_thread_end) == 0;
}

struct fm_thread *fm_thread_here(void) {
    if (fm_self != NULL || fm_ended || !fm_thread_key_made)
        return fm_self;
    /* On cache lines of its own, because every call writes busy. */
    size_t size = (sizeof(struct fm_thread) + FM_LINE - 1) / FM_LINE * FM_LINE;
    struct fm_thread *thread = aligned_alloc(FM_LINE, size);
    if (thread == NULL)
        return NULL;
    memset(thread, 0, size);
    if (pthread_setspecific(fm_thread_key, thread) != 0) {
        free(thread);
        return NULL;
    }
    thread->next = fm_threads;
    if (fm_threads != NULL)
        fm_threads->previous = thread;
    fm_threads = thread;
    fm_self = thread;
    return thread;
}

/* Keys are written only with the mutex. */
bool fm_keys_known(uint64_t pool) {
    for (const struct fm_thread *t = fm_threads; t != NULL; t = t->next)
        for (size_t i = 0; i < FM_KEYS; i++)
            if (t->keys[i].pool == pool)
                return true;
    return false;
}

void fm_keys_forget(uint64_t pool, const struct fm_store *lane) {
    static const struct fm_key none;
    for (struct fm_thread *t = fm_threads; t != NULL; t = t->next)
        for (size_t i = 0; i < FM_KEYS; i++)
            if (t->keys[i].pool == pool &&
                (lane == NULL || t->keys[i].lane == lane))
                t->keys[i] = none;
}

#include "signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "_cgo_export.h"

/*
 * The kernel's own struct and call, because the C library does not show the
 * handlers that it installs itself (for pthread_cancel, for example).
 */
#if defined(__x86_64__) || defined(__aarch64__)
typedef struct {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    uint64_t mask;
} fm_action;

static int fm_action_swap(int number, const fm_action *to, fm_action *from) {
    return (int)syscall(SYS_rt_sigaction, number, to, from, sizeof to->mask);
}
#else
/* Other processors have another layout of the struct. */
typedef struct {
    uintptr_t handler;
    unsigned long flags;
    struct sigaction whole;
} fm_action;

static int fm_action_swap(int number, const fm_action *to, fm_action *from) {
    struct sigaction next, former;
    if (to != NULL) {
        next = to->whole;
        next.sa_flags = (int)to->flags;
    }
    if (sigaction(number, to != NULL ? &next : NULL, &former) != 0)
        return -1;
    from->whole = former;
    from->flags = (unsigned long)former.sa_flags;
    from->handler = (uintptr_t)former.sa_handler;
    return 0;
}
#endif

enum { FM_SIGNALS = 64 };

static _Atomic int fm_handlers_chosen;
/* The lock allows one check at a time. The array holds the handler that was
 * reported for each signal. */
static pthread_mutex_t fm_handlers_lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t fm_handlers_reported[FM_SIGNALS + 1];

static bool fm_action_lacks(const fm_action *action) {
    return action->handler != (uintptr_t)SIG_DFL &&
           action->handler != (uintptr_t)SIG_IGN &&
           (action->flags & SA_ONSTACK) == 0;
}

static bool fm_action_same(const fm_action *a, const fm_action *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/*
 * Adds the flag and keeps everything else. The system has no compare-and-swap
 * for this. If the program has set another action since the read, the swap
 * returns that action. It is then installed again, with the flag if it is a
 * handler. Until then the older handler is installed for a moment.
 */
static bool fm_action_mend(int number, const fm_action *read) {
    fm_action expected = *read, next = *read, former;
    next.flags |= SA_ONSTACK;
    for (int round = 0; round < 16; round++) {
        memset(&former, 0, sizeof former);
        if (fm_action_swap(number, &next, &former) != 0)
            return false;
        if (fm_action_same(&former, &expected))
            return true;
        expected = next;
        next = former;
        if (fm_action_lacks(&next))
            next.flags |= SA_ONSTACK;
        if (fm_action_same(&next, &expected))
            return true;
    }
    return true;
}

/* Reports a handler, with its symbol and file if the linker knows them. */
static void fm_handler_report(int number, uintptr_t handler, bool repaired) {
    Dl_info found;
    memset(&found, 0, sizeof found);
    char symbol[128] = "", file[256] = "";
    if (dladdr((void *)handler, &found) != 0) {
        if (found.dli_sname != NULL)
            snprintf(symbol, sizeof symbol, "%s", found.dli_sname);
        if (found.dli_fname != NULL)
            snprintf(file, sizeof file, "%s", found.dli_fname);
    }
    fmgo_handler_found(number, handler, symbol, file, repaired);
}

void fm_handlers_look(void) {
    int chosen =
        atomic_load_explicit(&fm_handlers_chosen, memory_order_acquire);
    if (chosen == FM_HANDLERS_UNSEEN)
        return;
    int before = errno;
    uintptr_t found[FM_SIGNALS + 1];
    bool repaired[FM_SIGNALS + 1];
    bool any = false;
    memset(found, 0, sizeof found);
    pthread_mutex_lock(&fm_handlers_lock);
    for (int number = 1; number <= FM_SIGNALS; number++) {
        fm_action action;
        memset(&action, 0, sizeof action);
        if (fm_action_swap(number, NULL, &action) != 0 ||
            !fm_action_lacks(&action))
            continue;
        repaired[number] =
            chosen == FM_HANDLERS_MEND && fm_action_mend(number, &action);
        if (fm_handlers_reported[number] == action.handler)
            continue;
        fm_handlers_reported[number] = found[number] = action.handler;
        any = true;
    }
    pthread_mutex_unlock(&fm_handlers_lock);
    /* Go takes its own locks, so it must not be called under this one. */
    for (int number = 1; any && number <= FM_SIGNALS; number++)
        if (found[number] != 0)
            fm_handler_report(number, found[number], repaired[number]);
    errno = before;
}

void fm_handlers_choose(enum fm_handlers chosen) {
    atomic_store_explicit(&fm_handlers_chosen, (int)chosen,
                          memory_order_release);
    fm_handlers_look();
}

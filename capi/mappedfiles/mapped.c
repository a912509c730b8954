#include "mapped.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The handler traverses this list without a lock. An entry is never freed, and
 * next never changes once the entry is in the list. The next watch reuses the
 * entry of a watch that has ended. version is odd while the entry changes. The
 * handler skips such an entry: no thread uses a mapping whose entry changes.
 */
struct fm_mapped {
    struct fm_mapped *next;
    _Atomic uint32_t version;
    /* start is 0 for an entry without a watch. */
    _Atomic uintptr_t start, end;
    _Atomic int fd;
    _Atomic bool damaged;
};

static struct fm_mapped *_Atomic fm_mapped_ranges;
/* Held while the list or an entry changes, and while the handler is
 * installed. */
static pthread_mutex_t fm_mapped_lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t fm_mapped_page_bytes;

/* ------------------------------------------------------------ the handler */

/* The action that was installed before. */
static struct sigaction fm_mapped_former;
static _Atomic bool fm_mapped_former_is_spent;

static struct fm_mapped *fm_mapped_find(uintptr_t address) {
    struct fm_mapped *range = atomic_load(&fm_mapped_ranges);
    for (; range != NULL; range = range->next) {
        uint32_t version = atomic_load(&range->version);
        bool is_inside = atomic_load(&range->start) <= address &&
                         address < atomic_load(&range->end);
        if (is_inside && version % 2 == 0 &&
            atomic_load(&range->version) == version)
            return range;
    }
    return NULL;
}

/*
 * Replaces the page of an address by zeros. If the file ends before the page,
 * all pages behind its end are replaced, because the system limits the number
 * of mappings. The function makes system calls directly, because this library
 * replaces mmap of the C library.
 */
static bool fm_mapped_replace(struct fm_mapped *range, uintptr_t address) {
    uintptr_t mask = fm_mapped_page_bytes - 1;
    uintptr_t from = address & ~mask, to = from + fm_mapped_page_bytes;
    struct stat now;
    if (fstat(atomic_load(&range->fd), &now) == 0) {
        uintptr_t left = atomic_load(&range->start) +
                         (((uintptr_t)now.st_size + mask) & ~mask);
        if (left <= from) {
            from = left;
            to = (atomic_load(&range->end) + mask) & ~mask;
        }
    }
    atomic_store(&range->damaged, true);
    return syscall(SYS_mmap, from, to - from, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                   0L) == (long)from;
}

/* The cause of the signal is an instruction. No program has sent it. */
static bool fm_mapped_is_fault(const siginfo_t *info) {
    return info->si_code > 0;
}

/* Restores the default action. After the handler returns, the instruction
 * faults again, or the raised signal arrives, and the process ends. */
static void fm_mapped_default(int number, const siginfo_t *info) {
    struct sigaction none;
    memset(&none, 0, sizeof none);
    none.sa_handler = SIG_DFL;
    sigaction(number, &none, NULL);
    if (!fm_mapped_is_fault(info))
        raise(number);
}

/* Passes the signal to the action that was installed before. */
static void fm_mapped_pass_on(int number, siginfo_t *info, void *context) {
    const struct sigaction *to = &fm_mapped_former;
    if (to->sa_handler == SIG_IGN && !fm_mapped_is_fault(info))
        return;
    if (to->sa_handler == SIG_DFL || to->sa_handler == SIG_IGN ||
        ((to->sa_flags & (int)SA_RESETHAND) != 0 &&
         atomic_exchange(&fm_mapped_former_is_spent, true)))
        fm_mapped_default(number, info);
    else if ((to->sa_flags & SA_SIGINFO) != 0)
        to->sa_sigaction(number, info, context);
    else
        to->sa_handler(number);
}

static void fm_mapped_fault(int number, siginfo_t *info, void *context) {
    int before = errno;
    /* A page of zeros does not help an instruction that needs an aligned
     * address. */
    if (fm_mapped_is_fault(info) && info->si_code != BUS_ADRALN) {
        uintptr_t address = (uintptr_t)info->si_addr;
        struct fm_mapped *range = fm_mapped_find(address);
        bool is_done = range != NULL && fm_mapped_replace(range, address);
        errno = before;
        if (is_done)
            return;
    }
    fm_mapped_pass_on(number, info, context);
}

/* Installs the handler, with the mask and the flags of the one before. */
static bool fm_mapped_install(void) {
    static bool installed;
    if (installed)
        return true;
    fm_mapped_page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction ours, former;
    if (sigaction(SIGBUS, NULL, &fm_mapped_former) != 0)
        return false;
    ours = fm_mapped_former;
    ours.sa_sigaction = fm_mapped_fault;
    ours.sa_flags &= ~(int)SA_RESETHAND;
    ours.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    if (sigaction(SIGBUS, &ours, &former) != 0)
        return false;
    /* The program may have installed another one in between. */
    if (former.sa_sigaction != fm_mapped_former.sa_sigaction)
        fm_mapped_former = former;
    return installed = true;
}

/* -------------------------------------------------------------- the watch */

/* Finds an entry without a watch, or adds one. The caller holds the lock. */
static struct fm_mapped *fm_mapped_entry(void) {
    struct fm_mapped *first = atomic_load(&fm_mapped_ranges);
    for (struct fm_mapped *at = first; at != NULL; at = at->next)
        if (atomic_load(&at->start) == 0)
            return at;
    struct fm_mapped *added = calloc(1, sizeof *added);
    if (added == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    added->next = first;
    atomic_store(&fm_mapped_ranges, added);
    return added;
}

static void fm_mapped_set(struct fm_mapped *range, uintptr_t start,
                          uintptr_t end, int fd) {
    atomic_fetch_add(&range->version, 1);
    atomic_store(&range->start, start);
    atomic_store(&range->end, end);
    atomic_store(&range->fd, fd);
    atomic_store(&range->damaged, false);
    atomic_fetch_add(&range->version, 1);
}

struct fm_mapped *fm_mapped_watch(uintptr_t start, size_t size_bytes, int fd) {
    struct fm_mapped *range = NULL;
    pthread_mutex_lock(&fm_mapped_lock);
    if (fm_mapped_install())
        range = fm_mapped_entry();
    if (range != NULL)
        fm_mapped_set(range, start, start + size_bytes, fd);
    pthread_mutex_unlock(&fm_mapped_lock);
    return range;
}

bool fm_mapped_is_damaged(const struct fm_mapped *range) {
    return atomic_load(&range->damaged);
}

void fm_mapped_end(struct fm_mapped *range) {
    pthread_mutex_lock(&fm_mapped_lock);
    fm_mapped_set(range, 0, 0, -1);
    pthread_mutex_unlock(&fm_mapped_lock);
}

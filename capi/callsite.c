#include "callsite.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define FM_HAS_BACKTRACE 1
#endif
#endif

/* The core keeps the same number of frames. */
#define FM_FRAMES_MAX 16
/* Frames after lines of an interpreted program. Further ones are mostly functions of the
 * interpreter, and the unwinder takes about 0.3 microseconds for each. */
#define FM_FRAMES_AFTER_LINES 6

struct fm_call_site {
    /* Stands for lines of an interpreted program; 0: there are none. */
    uintptr_t lines;
    int count;
    void *frames[FM_FRAMES_MAX];
};

/* A pointer, because static TLS is scarce. */
static _Thread_local struct fm_call_site *fm_site;
static pthread_key_t fm_site_key;
static bool fm_site_key_made;

static void fm_site_free(void *site) {
    fm_site = NULL;
    free(site);
}

__attribute__((constructor)) static void fm_site_load(void) {
    fm_site_key_made = pthread_key_create(&fm_site_key, fm_site_free) == 0;
}

static struct fm_call_site *fm_site_get(void) {
    if (fm_site == NULL && fm_site_key_made) {
        struct fm_call_site *made = calloc(1, sizeof *made);
        if (made != NULL && pthread_setspecific(fm_site_key, made) != 0) {
            free(made);
            made = NULL;
        }
        fm_site = made;
    }
    return fm_site;
}

static inline __attribute__((always_inline)) void
fm_call_site_take(void *function) {
    struct fm_call_site *site = fm_site_get();
    if (site == NULL)
        return;
    site->lines = fm_lines_take();
#ifdef FM_HAS_BACKTRACE
    /* The first frame is this function itself. */
    void *frames[FM_FRAMES_MAX + 1];
    int most = site->lines != 0 ? FM_FRAMES_AFTER_LINES : FM_FRAMES_MAX;
    int count = backtrace(frames, most + 1) - 1;
    site->count = count > 0 ? count : 0;
    memcpy(site->frames, frames + 1, (size_t)site->count * sizeof frames[0]);
#else
    site->count = 1;
    site->frames[0] = __builtin_return_address(0);
#endif
    /* The frame then looks like a call from the function's first
     * instruction. */
    if (function != NULL && site->count > 0)
        site->frames[0] = (char *)function + 1;
}

__attribute__((noinline)) void fm_call_site_keep(void) {
    fm_call_site_take(NULL);
}

__attribute__((noinline)) void fm_call_site_keep_for(void *function) {
    fm_call_site_take(function);
}

int32_t fm_call_site_read(uintptr_t *to, int32_t capacity) {
    if (fm_site == NULL)
        return 0;
    int32_t count = 0;
    if (fm_site->lines != 0 && capacity > 0)
        to[count++] = fm_site->lines;
    for (int32_t i = 0; i < fm_site->count && count < capacity; i++)
        to[count++] = (uintptr_t)fm_site->frames[i];
    return count;
}

void fm_call_sites_watch(int32_t on) {
#ifdef FM_HAS_BACKTRACE
    if (on) {
        /* The first call loads the unwinder. It happens here, where no lock
         * is held. */
        void *frame;
        (void)backtrace(&frame, 1);
    }
#endif
    int32_t from = on ? 0 : 1;
    atomic_compare_exchange_strong(&fm_gate, &from, on ? 1 : 0);
}

void fm_call_site_describe(uintptr_t address, char *to, size_t capacity) {
    /* The call instruction is before the return address. */
    uintptr_t call = address - 1;
    Dl_info found;
    memset(&found, 0, sizeof found);
    if (dladdr((void *)call, &found) == 0 || found.dli_fname == NULL) {
        snprintf(to, capacity, "0x%" PRIxPTR, call);
        return;
    }
    const char *slash = strrchr(found.dli_fname, '/');
    const char *file = slash != NULL ? slash + 1 : found.dli_fname;
    uintptr_t offset = call - (uintptr_t)found.dli_fbase;
    if (found.dli_sname != NULL)
        snprintf(to, capacity, "%s+0x%" PRIxPTR " (%s)", file, offset,
                 found.dli_sname);
    else
        snprintf(to, capacity, "%s+0x%" PRIxPTR, file, offset);
}

/* Helpers for the programs of this folder. They load the CUDA driver
 * (FERRUM_CUDA_LIBRARY, or its usual name) beside the library. They print
 * each result in a line that the parts read: `ok - NAME`,
 * `not ok - NAME: why`, `skip - NAME: why`. */
#ifndef GPU_DRIVER_H
#define GPU_DRIVER_H

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferrum_mem.h"

static inline void *driver_symbol(const char *name) {
    static void *library;
    if (library == NULL) {
        const char *path = getenv("FERRUM_CUDA_LIBRARY");
        library = dlopen(path != NULL && *path != 0 ? path : "libcuda.so.1",
                         RTLD_NOW);
    }
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(3);
    }
    return found;
}

/* A function of the driver, by its name in the header. */
#define CU(name) CU_EXPANDED(name)
#define CU_EXPANDED(name) ((__typeof__(&name))driver_symbol(#name))

/* --- results --------------------------------------------------------------- */

static const char *check_name;
static int check_failures, checks_passed, checks_failed, checks_skipped;
static char check_skipped[256];

static inline void check_that(bool good, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void check_that(bool good, const char *format, ...) {
    va_list arguments;
    if (good)
        return;
    if (check_failures++ == 0) {
        char text[512];
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        printf("not ok - %s: %s\n", check_name, text);
    }
}
#define CHECK(condition) \
    check_that(condition, "%s:%d: %s", __FILE__, __LINE__, #condition)
/* Checks that a call of the driver returns this code. */
#define GIVES_CODE(code, call)                                             \
    do {                                                                   \
        int got_code = (int)(call), wanted_code = (int)(code);             \
        check_that(got_code == wanted_code, "%s:%d: %s gave %d", __FILE__, \
                   __LINE__, #call, got_code);                             \
    } while (0)
#define CUDA_OK(call) GIVES_CODE(CUDA_SUCCESS, call)
/* Checks that a call of the library returns this status. */
#define GIVES(wanted, call)                                                  \
    do {                                                                     \
        ferrum_status got_status = (call);                                   \
        if (got_status != (wanted)) {                                        \
            ferrum_error_info why = FERRUM_ERROR_INFO_INIT;                  \
            ferrum_last_error(&why);                                         \
            check_that(false, "%s:%d: %s: %s %s", __FILE__, __LINE__, #call, \
                       ferrum_status_name(got_status),                       \
                       got_status == FERRUM_OK ? "" : why.message);          \
        }                                                                    \
    } while (0)
#define OK(call) GIVES(FERRUM_OK, call)

static inline void check_skip(const char *why) {
    snprintf(check_skipped, sizeof check_skipped, "%s", why);
}

static inline void check_run(const char *name, void (*run)(void)) {
    check_name = name;
    check_failures = 0;
    check_skipped[0] = 0;
    run();
    if (check_failures != 0)
        checks_failed++;
    else if (check_skipped[0] != 0)
        checks_skipped++, printf("skip - %s: %s\n", name, check_skipped);
    else
        checks_passed++, printf("ok - %s\n", name);
    fflush(stdout);
}

static inline int check_end(void) {
    printf("%d passed, %d failed, %d skipped\n", checks_passed, checks_failed,
           checks_skipped);
    return checks_failed != 0;
}

/* --- the device ------------------------------------------------------------ */

/* The value of FERRUM_TEST_DEVICE, or "cuda:0". */
static inline const char *device_id(void) {
    const char *id = getenv("FERRUM_TEST_DEVICE");
    return id != NULL && *id != 0 ? id : "cuda:0";
}
static inline int device_ordinal(void) {
    const char *colon = strchr(device_id(), ':');
    return colon == NULL ? 0 : atoi(colon + 1);
}

static inline double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A host function that blocks a stream until the gate is opened. */
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
} gate;
#define GATE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false}

static inline void gate_wait(void *data) {
    gate *g = (gate *)data;
    pthread_mutex_lock(&g->mutex);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}
static inline void gate_open(gate *g) {
    pthread_mutex_lock(&g->mutex);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

#endif

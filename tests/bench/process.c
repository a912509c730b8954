/* Functions for every measuring process. */
#include "bench.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool missing(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void *library_open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        missing("%s", dlerror());
    return library;
}

bool library_symbol(void *library, const char *name, void *function_out) {
    void *function = dlsym(library, name);
    memcpy(function_out, &function, sizeof function);
    return function != NULL;
}

void stay_on_core(unsigned n) {
    cpu_set_t one;
    static cpu_set_t allowed;
    /* The allowed cores of the process do not change. But a thread that a
     * bound thread started may use only the core of that thread. */
    if (CPU_COUNT(&allowed) == 0 &&
        sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    n %= (unsigned)CPU_COUNT(&allowed);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &allowed) || n-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void print_list(const char *name, const double *values, uint64_t count) {
    printf("\"%s\": [", name);
    for (uint64_t i = 0; i < count; i++)
        printf("%s%.4f", i > 0 ? ", " : "", values[i]);
    printf("]");
}

double *numbers(uint64_t count) {
    double *values = calloc(count, sizeof *values);
    if (values == NULL)
        die("no memory for %" PRIu64 " numbers", count);
    return values;
}

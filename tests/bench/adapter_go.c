/*
 * The bare crossing: a separate C-shared Go library (crossing/) whose only
 * function returns at once. Its pair is two such calls.
 */
#include "bench.h"

#include <stdio.h>

static uint64_t (*cross)(uint64_t);

static uint64_t cross_allocate(void *context, uint64_t size_bytes) {
    (void)context;
    return cross(size_bytes);
}

static bool cross_release(void *context, uint64_t block) {
    (void)context;
    return cross(block) == block;
}

static void cross_close(void *context) { (void)context; }

static bool cross_open(const struct adapter_settings *settings,
                       struct allocator *allocator_out) {
    if (settings->library == NULL)
        return missing("%s needs --library FILE", settings->name);
    void *library = library_open(settings->library);
    if (library == NULL)
        return false;
    if (!library_symbol(library, "bench_cross", &cross))
        return missing("%s has no bench_cross", settings->library);
    /* The first call waits until the Go runtime has started. */
    if (cross(1) != 1)
        die("bench_cross does not return what it is given");
    allocator_out->allocate = cross_allocate;
    allocator_out->release = cross_release;
    allocator_out->close = cross_close;
    return true;
}

const struct adapter go_adapters[] = {
    {"bare_crossing", cross_open},
    {NULL, NULL},
};

/*
 * The process's malloc: the C library's, or one that replaces it by
 * LD_PRELOAD, as programs do. The adapter checks that malloc is the requested
 * one. "none" returns invented addresses.
 */
#include "bench.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t malloc_allocate(void *context, uint64_t size_bytes) {
    (void)context;
    return (uint64_t)(uintptr_t)malloc(size_bytes);
}

static bool malloc_release(void *context, uint64_t address) {
    (void)context;
    free((void *)(uintptr_t)address);
    return true;
}

static void malloc_close(void *context) { (void)context; }

static uint64_t none_allocate(void *context, uint64_t size_bytes) {
    (void)context;
    return size_bytes;
}

static bool none_release(void *context, uint64_t address) {
    (void)context;
    return address != 0;
}

static bool none_open(const struct adapter_settings *settings,
                      struct allocator *allocator_out) {
    (void)settings;
    allocator_out->allocate = none_allocate;
    allocator_out->release = none_release;
    allocator_out->close = malloc_close;
    return true;
}

static bool glibc_version(char *version, size_t capacity) {
    snprintf(version, capacity, "%s", gnu_get_libc_version());
    return true;
}

static bool mimalloc_version(char *version, size_t capacity) {
    int (*mi_version)(void);
    if (!library_symbol(RTLD_DEFAULT, "mi_version", &mi_version))
        return false;
    int number = mi_version();
    snprintf(version, capacity, "%d.%d.%d", number / 100, number / 10 % 10,
             number % 10);
    return true;
}

static bool jemalloc_version(char *version, size_t capacity) {
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    const char *text = NULL;
    size_t length = sizeof text;
    if (!library_symbol(RTLD_DEFAULT, "mallctl", &mallctl) ||
        mallctl("version", &text, &length, NULL, 0) != 0)
        return false;
    snprintf(version, capacity, "%.*s", (int)strcspn(text, "-"), text);
    return true;
}

static bool tcmalloc_version(char *version, size_t capacity) {
    const char *(*tc_version)(int *, int *, const char **);
    int major, minor;
    const char *patch;
    if (!library_symbol(RTLD_DEFAULT, "tc_version", &tc_version))
        return false;
    tc_version(&major, &minor, &patch);
    snprintf(version, capacity, "%d.%d%s", major, minor, patch);
    return true;
}

static void glibc_trim(void *context) {
    (void)context;
    malloc_trim(0);
}

static void mimalloc_trim(void *context) {
    void (*mi_collect)(bool force);
    (void)context;
    if (library_symbol(RTLD_DEFAULT, "mi_collect", &mi_collect))
        mi_collect(true);
}

/* The number means all arenas in its interface (MALLCTL_ARENAS_ALL). */
static void jemalloc_trim(void *context) {
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    (void)context;
    if (!library_symbol(RTLD_DEFAULT, "mallctl", &mallctl))
        return;
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
}

static void tcmalloc_trim(void *context) {
    void (*release)(void);
    (void)context;
    if (library_symbol(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory",
                       &release))
        release();
}

static const struct {
    const char *name;
    const char *file_prefix;
    bool (*version)(char *version, size_t capacity);
    void (*trim)(void *context);
} mallocs[] = {
    {"glibc", "libc.so", glibc_version, glibc_trim},
    {"mimalloc", "libmimalloc", mimalloc_version, mimalloc_trim},
    {"jemalloc", "libjemalloc", jemalloc_version, jemalloc_trim},
    {"tcmalloc", "libtcmalloc", tcmalloc_version, tcmalloc_trim},
};

static bool malloc_open(const struct adapter_settings *settings,
                        struct allocator *allocator_out) {
    Dl_info here;
    void *function = dlsym(RTLD_DEFAULT, "malloc");
    if (function == NULL || dladdr(function, &here) == 0)
        return missing("no library has malloc");
    const char *slash = strrchr(here.dli_fname, '/');
    const char *file = slash != NULL ? slash + 1 : here.dli_fname;
    for (size_t i = 0; i < sizeof mallocs / sizeof mallocs[0]; i++) {
        if (strcmp(mallocs[i].name, settings->name) != 0)
            continue;
        if (strncmp(file, mallocs[i].file_prefix,
                    strlen(mallocs[i].file_prefix)) != 0)
            return missing("malloc is %s, not %s", file, settings->name);
        if (!mallocs[i].version(allocator_out->version,
                                sizeof allocator_out->version))
            return missing("%s does not tell its version", file);
        allocator_out->allocate = malloc_allocate;
        allocator_out->release = malloc_release;
        allocator_out->trim = mallocs[i].trim;
        allocator_out->close = malloc_close;
        allocator_out->writable = true;
        return true;
    }
    return missing("no malloc is called %s", settings->name);
}

const struct adapter malloc_adapters[] = {
    {"none", none_open},       {"glibc", malloc_open},
    {"mimalloc", malloc_open}, {"jemalloc", malloc_open},
    {"tcmalloc", malloc_open}, {NULL, NULL},
};

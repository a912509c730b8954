/* Names of backends, and the queries of Go about the process for discovery. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "backends_gen.h"
#include "discovery.h"

extern char **environ;

size_t fm_library_path(char *buffer, size_t capacity) {
    Dl_info info;
    if (dladdr((void *)&ferrum_backend_name, &info) == 0 ||
        info.dli_fname == NULL)
        return 0;
    char real[PATH_MAX];
    const char *path = realpath(info.dli_fname, real);
    size_t length = path == NULL ? 0 : strlen(path);
    if (length == 0 || length >= capacity)
        return 0;
    memcpy(buffer, path, length + 1);
    return length;
}

char **fm_environment(void) { return environ; }

static const struct {
    const char *name, *display;
} backends[] = {
#define FM_BACKEND(name, display) {name, display},
    FM_BACKENDS(FM_BACKEND)
#undef FM_BACKEND
};

static int is_backend(ferrum_backend backend) {
    return backend >= 0 && backend < (int)(sizeof backends / sizeof *backends);
}

const char *ferrum_backend_name(ferrum_backend backend) {
    return is_backend(backend) ? backends[backend].name : "";
}

const char *ferrum_backend_display_name(ferrum_backend backend) {
    return is_backend(backend) ? backends[backend].display : "";
}

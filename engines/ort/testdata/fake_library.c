/* A test tool: a library that looks like ONNX Runtime and lacks something. The
 * tests compile it with one of the macros. */
#include <stddef.h>
#include <stdint.h>

struct api_base {
    const void *(*get_api)(uint32_t version);
    const char *(*version)(void);
};

/* C++ runtimes have it under this name. */
#ifndef WITHOUT_EXCEPTIONS
void _ZSt17__throw_bad_allocv(void) {}
#endif

static void *table[300];

static const void *get_api(uint32_t version) {
    if (version > NEWEST)
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        table[i] = (void *)(uintptr_t)get_api;
#ifdef WITHOUT_FUNCTION
    table[WITHOUT_FUNCTION] = NULL;
#endif
    return table;
}

static const char *get_version(void) { return VERSION; }

#ifndef WITHOUT_BASE
const struct api_base *OrtGetApiBase(void) {
#ifdef NULL_BASE
    return NULL;
#else
    static struct api_base base;
    base.get_api = get_api;
    base.version = get_version;
#ifdef WITHOUT_GET_API
    base.get_api = NULL;
#endif
    return &base;
#endif
}
#endif

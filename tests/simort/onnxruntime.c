/*
 * A simulated CUDA provider of ONNX Runtime for tests. It is a libonnxruntime
 * that lets a real library, which has only the CPU, compute on the memory of
 * the simulated CUDA driver. What the real library does not see is the device:
 * addresses of tensors and of the allocator are converted.
 *
 *   SIMORT_LIBRARY   the real library
 *   FERRUM_CUDA_LIBRARY   the simulated driver, which the process has loaded
 *   SIMORT_FAULT     what fails: "load" (the library of the provider)
 *
 * It checks what the real provider needs: an environment, a stream that the
 * settings name, and a current context where the provider works.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* The places of the functions in struct OrtApi. */
enum {
    CREATE_STATUS = 0,
    CREATE_ENVIRONMENT = 3,
    CREATE_SESSION = 8,
    CREATE_TENSOR = 49,
    TENSOR_DATA = 51,
    CREATE_MEMORY_INFO = 68,
    CREATE_CPU_MEMORY_INFO = 69,
    RELEASE_SESSION = 95,
    PROVIDERS = 125,
    RELEASE_PROVIDERS = 126,
    RUN_BOUND = 133,
    REGISTER = 176,
    APPEND_CUDA = 204,
    CREATE_CUDA = 205,
    UPDATE_CUDA = 206,
    RELEASE_CUDA = 208,
    SET_CUDA = 263,
    SHARED = 376,
    /* Of version 22, and of the newest one that is asked for. */
    OLDER_ENTRIES = 280,
    TABLE_ENTRIES = 380,
};

struct memory_info;
struct allocator {
    uint32_t version;
    void *(*alloc)(struct allocator *self, size_t size);
    void (*free)(struct allocator *self, void *block);
    const struct memory_info *(*info)(const struct allocator *self);
    void *later[8];
    struct allocator *inner;
};
struct api_base {
    void *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};
struct cuda_options {
    bool has_device, has_stream;
};
typedef void *(*any)(void *, void *, void *, void *, void *, void *, void *);

static void *table[TABLE_ENTRIES];
static void *const *real;
static const struct api_base *real_base;
static void *driver;

/* The descriptions of memory of devices. The real library has them as memory of
 * the CPU. */
static struct memory_info *device_infos[16];

static void *call(int at, void *a, void *b, void *c, void *d, void *e, void *f,
                  void *g) {
    return ((any)(uintptr_t)real[at])(a, b, c, d, e, f, g);
}

static void *failed(const char *text) {
    return call(CREATE_STATUS, (void *)1, (void *)(uintptr_t)text, 0, 0, 0, 0,
                0);
}

static bool is_device(const struct memory_info *info) {
    for (size_t i = 0; i < sizeof device_infos / sizeof *device_infos; i++)
        if (info != NULL && device_infos[i] == info)
            return true;
    return false;
}

/* The bytes of an address of a device are at a fixed distance from it. */
static uintptr_t distance(void) {
    uintptr_t (*of)(void) =
        (uintptr_t (*)(void))(uintptr_t)dlsym(driver, "simcuda_distance");
    return of == NULL ? 0 : of();
}

static bool has_context(void) {
    void *now = NULL;
    int (*current)(void **) =
        (int (*)(void **))(uintptr_t)dlsym(driver, "cuCtxGetCurrent");
    return current != NULL && current(&now) == 0 && now != NULL;
}

static bool has_environment;

static void *create_environment(void *level, void *name, void *made) {
    has_environment = true;
    return call(CREATE_ENVIRONMENT, level, name, made, 0, 0, 0, 0);
}

static void *create_memory_info(const char *name, uintptr_t kind, uintptr_t id,
                                uintptr_t type, struct memory_info **made) {
    if (strcmp(name, "Cuda") != 0)
        return call(CREATE_MEMORY_INFO, (void *)(uintptr_t)name, (void *)kind,
                    (void *)id, (void *)type, made, 0, 0);
    void *status = call(CREATE_CPU_MEMORY_INFO, 0, 0, made, 0, 0, 0, 0);
    for (size_t i = 0; status == NULL; i++) {
        if (i == sizeof device_infos / sizeof *device_infos)
            return failed("simulated: too many memory infos");
        if (device_infos[i] == NULL) {
            device_infos[i] = *made;
            break;
        }
    }
    return status;
}

static void *create_tensor(struct memory_info *info, uintptr_t data,
                           void *bytes, void *shape, void *rank, void *type,
                           void *made) {
    if (is_device(info) && data != 0)
        data += distance();
    return call(CREATE_TENSOR, info, (void *)data, bytes, shape, rank, type,
                made);
}

/* An address with bytes of a device is above the distance. Sessions of the CPU
 * beside those of the device are not simulated. */
static void *tensor_data(void *value, uintptr_t *data) {
    void *status = call(TENSOR_DATA, value, data, 0, 0, 0, 0, 0);
    if (status == NULL && *data != 0)
        *data -= distance();
    return status;
}

static void *device_alloc(struct allocator *self, size_t size) {
    char *made = self->inner->alloc(self->inner, size);
    return made == NULL ? NULL : made + distance();
}

static void device_free(struct allocator *self, void *block) {
    if (block != NULL)
        self->inner->free(self->inner, (char *)block - distance());
}

static const struct memory_info *device_info(const struct allocator *self) {
    return self->inner->info(self->inner);
}

/* A session keeps the allocator, so it is never freed. */
static void *register_allocator(void *environment, struct allocator *given) {
    if (!is_device(given->info(given)))
        return failed("simulated: the allocator of a device is required");
    struct allocator *made = calloc(1, sizeof *made);
    if (made == NULL)
        return failed("simulated: no memory");
    made->version = 17;
    made->alloc = device_alloc;
    made->free = device_free;
    made->info = device_info;
    made->inner = given;
    return call(REGISTER, environment, made, 0, 0, 0, 0, 0);
}

static void *providers(char ***names, int *count) {
    static char *known[] = {"CUDAExecutionProvider", "CPUExecutionProvider"};
    *names = known;
    *count = 2;
    return NULL;
}

static void *release_providers(char **names, int count) {
    (void)names;
    (void)count;
    return NULL;
}

static void *create_cuda(struct cuda_options **made) {
    *made = calloc(1, sizeof **made);
    return *made == NULL ? failed("simulated: no memory") : NULL;
}

static void *update_cuda(struct cuda_options *options, const char *const *keys,
                         const char *const *values, size_t count) {
    if (!has_environment)
        return failed("simulated: a provider needs an environment");
    const char *fault = getenv("SIMORT_FAULT");
    if (fault != NULL && strcmp(fault, "load") == 0)
        return failed("Failed to load library libonnxruntime_providers_cuda.so "
                      "with error: libcudnn.so.9: cannot open shared object "
                      "file: No such file or directory");
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i], "device_id") == 0 && values[i][0] != '\0')
            options->has_device = true;
    return NULL;
}

static void *set_cuda(struct cuda_options *options, const char *key,
                      void *value) {
    if (strcmp(key, "user_compute_stream") == 0 && value != NULL)
        options->has_stream = true;
    return NULL;
}

static void release_cuda(struct cuda_options *options) { free(options); }

static void *append_cuda(void *session, const struct cuda_options *options) {
    (void)session;
    if (!options->has_device || !options->has_stream)
        return failed("simulated: a device and a stream are required");
    return NULL;
}

static void *create_session(void *environment, void *bytes, void *size,
                            void *options, void *made) {
    if (!has_context())
        return failed("simulated: no context is current");
    return call(CREATE_SESSION, environment, bytes, size, options, made, 0, 0);
}

static void *run_bound(void *session, void *options, void *binding) {
    if (!has_context())
        return failed("simulated: no context is current");
    return call(RUN_BOUND, session, options, binding, 0, 0, 0, 0);
}

static void release_session(void *session) {
    if (!has_context()) {
        fprintf(stderr, "simulated: a session ends without a context\n");
        abort();
    }
    call(RELEASE_SESSION, session, 0, 0, 0, 0, 0, 0);
}

/* No other part of the process registers an allocator. */
static void *shared_allocator(void *environment, struct memory_info *info,
                              void **made) {
    (void)environment;
    (void)info;
    *made = NULL;
    return NULL;
}

static void replace(int at, uintptr_t with) { table[at] = (void *)with; }

static void *const *get_api(uint32_t version) {
    real = real_base->get_api(version);
    if (real == NULL)
        return NULL;
    memcpy(table, real,
           (version < 23 ? OLDER_ENTRIES : TABLE_ENTRIES) * sizeof *table);
    replace(CREATE_ENVIRONMENT, (uintptr_t)create_environment);
    replace(CREATE_SESSION, (uintptr_t)create_session);
    replace(CREATE_TENSOR, (uintptr_t)create_tensor);
    replace(TENSOR_DATA, (uintptr_t)tensor_data);
    replace(CREATE_MEMORY_INFO, (uintptr_t)create_memory_info);
    replace(RELEASE_SESSION, (uintptr_t)release_session);
    replace(PROVIDERS, (uintptr_t)providers);
    replace(RELEASE_PROVIDERS, (uintptr_t)release_providers);
    replace(RUN_BOUND, (uintptr_t)run_bound);
    replace(REGISTER, (uintptr_t)register_allocator);
    if (version >= 23)
        replace(SHARED, (uintptr_t)shared_allocator);
    replace(APPEND_CUDA, (uintptr_t)append_cuda);
    replace(CREATE_CUDA, (uintptr_t)create_cuda);
    replace(UPDATE_CUDA, (uintptr_t)update_cuda);
    replace(RELEASE_CUDA, (uintptr_t)release_cuda);
    replace(SET_CUDA, (uintptr_t)set_cuda);
    return table;
}

static const char *get_version(void) { return real_base->get_version(); }

API const struct api_base *OrtGetApiBase(void);
API const struct api_base *OrtGetApiBase(void) {
    static const struct api_base base = {get_api, get_version};
    const char *path = getenv("SIMORT_LIBRARY");
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW);
    const struct api_base *(*start)(void) = NULL;
    if (library != NULL)
        start = (const struct api_base *(*)(void))(uintptr_t)dlsym(
            library, "OrtGetApiBase");
    path = getenv("FERRUM_CUDA_LIBRARY");
    driver = path == NULL ? NULL : dlopen(path, RTLD_NOW);
    if (start == NULL || driver == NULL)
        return NULL;
    real_base = start();
    return &base;
}

/* Modules and launches. A module is PTX text. A kernel that the text names
 * runs if a C function was registered under that name. The limit of threads
 * in the text (.maxntid) is enforced. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 64 };

typedef struct Kernel {
    char name[128];
    simcuda_kernel run;
    size_t argument_bytes[MAX_ARGUMENTS], arguments;
} Kernel;

typedef struct Module {
    Object object;
    char *text;
} Module;

typedef struct Function {
    Object object;
    Module *module;
    const Kernel *kernel;
    unsigned most_threads;
} Function;

static Kernel kernels[MAX_KERNELS];
static int kernel_count;
static _Thread_local Op *running;

int simcuda_register_kernel(const char *name, simcuda_kernel kernel,
                            const size_t *argument_bytes, size_t arguments) {
    pthread_mutex_lock(&sim.lock);
    bool good = kernel_count < MAX_KERNELS && arguments <= MAX_ARGUMENTS &&
                strlen(name) < sizeof kernels->name;
    for (int i = 0; i < kernel_count; i++)
        good = good && strcmp(kernels[i].name, name) != 0;
    if (good) {
        Kernel *to = &kernels[kernel_count++];
        strcpy(to->name, name);
        to->run = kernel;
        to->arguments = arguments;
        for (size_t i = 0; i < arguments; i++)
            to->argument_bytes[i] = argument_bytes[i];
    }
    pthread_mutex_unlock(&sim.lock);
    return good ? 0 : -1;
}

/* The newest PTX version that a driver of the generation accepts. */
static int newest_ptx(void) {
    return sim.config.version >= 12090   ? 88
           : sim.config.version >= 12040 ? 84
           : sim.config.version >= 12000 ? 80
                                         : 72;
}

static bool is_balanced(const char *text) {
    int depth = 0;
    for (; *text != 0 && depth >= 0; text++)
        depth += (*text == '{') - (*text == '}');
    return depth == 0;
}

static CUresult load(CUmodule *out, const void *image, const char *call) {
    if (out == NULL || image == NULL)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "module or image is NULL");
    const char *text = image, *version = strstr(text, ".version "),
               *target = strstr(text, ".target sm_");
    int major = 0, minor = 0, capability = 0;
    if (version == NULL)
        return fail(call, CUDA_ERROR_INVALID_IMAGE, "the image is not PTX");
    if (sscanf(version, ".version %d.%d", &major, &minor) != 2 ||
        target == NULL || sscanf(target, ".target sm_%d", &capability) != 1)
        return fail(call, CUDA_ERROR_INVALID_PTX,
                    "the PTX has no version or no target");
    if (!is_balanced(text))
        return fail(call, CUDA_ERROR_INVALID_PTX,
                    "the PTX has a brace without its other one");
    if (major * 10 + minor > newest_ptx())
        return fail(call, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                    "PTX %d.%d is newer than the driver", major, minor);
    if (capability > 90)
        return fail(call, CUDA_ERROR_INVALID_PTX,
                    "sm_%d is newer than the device", capability);
    Module *module =
        object_new(KIND_MODULE, sizeof *module, context_current(), call);
    module->text = strdup(text);
    if (module->text == NULL)
        abort();
    *out = (CUmodule)(uintptr_t)module->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    return load(out, image, __func__);
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    if (count != 0 && (options == NULL || values == NULL))
        return INVALID("numOptions is %u and a list is NULL", count);
    char *log = NULL;
    size_t room = 0;
    void **written = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            log = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            written = &values[i];
            room = (unsigned)(uintptr_t)values[i];
        }
    }
    if (log != NULL && written == NULL)
        return INVALID("a buffer for the log of errors has no size");
    CUresult code = load(out, image, __func__);
    int length = 0;
    if (log != NULL && room > 0 && code != CUDA_SUCCESS)
        length = snprintf(log, room,
                          "ptxas application ptx input; fatal: error %d", code);
    if (written != NULL)
        *written =
            (void *)(uintptr_t)(length < (int)room ? (size_t)length : room);
    return code;
}

static CUresult find(CUmodule handle, const char *call, Module **found) {
    Module *module = object_find(KIND_MODULE, handle);
    *found = module;
    if (module == NULL || !module->object.alive)
        return fail(call, CUDA_ERROR_INVALID_HANDLE,
                    "hmod %p is not a live module", (void *)handle);
    return CUDA_SUCCESS;
}

static void end_function(Object *object, void *module) {
    if (object->kind == KIND_FUNCTION && ((Function *)object)->module == module)
        object_end(object);
}

/* Does not wait, because the documentation does not promise a wait. A
 * launch that is still queued has no code then. */
CUresult cuModuleUnload(CUmodule handle) {
    SIM_CALL_KEY(IN_CONTEXT | UNSAFE | IS_RELEASE, (uintptr_t)handle);
    Module *module;
    CUresult code = find(handle, __func__, &module);
    if (code != CUDA_SUCCESS)
        return code;
    object_end(module);
    objects_each(end_function, module);
    free(module->text);
    module->text = NULL;
    return CUDA_SUCCESS;
}

/* Returns the text of an entry, starting at its name. */
static const char *entry(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, ".entry ")) != NULL;) {
        at += strlen(".entry ");
        at += strspn(at, " \t\n");
        if (strncmp(at, name, length) == 0 &&
            strspn(at + length, " \t\n({") != 0)
            return at;
    }
    return NULL;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle,
                             const char *name) {
    SIM_CALL(IN_CONTEXT);
    Module *module;
    CUresult code = find(handle, __func__, &module);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL || name == NULL)
        return INVALID("hfunc or name is NULL");
    const Kernel *kernel = NULL;
    for (int i = 0; i < kernel_count; i++)
        if (strcmp(kernels[i].name, name) == 0)
            kernel = &kernels[i];
    const char *at = entry(module->text, name);
    if (at == NULL || kernel == NULL)
        return FAIL(CUDA_ERROR_NOT_FOUND,
                    "%s is not an entry of the registered module", name);
    Function *function = object_new(KIND_FUNCTION, sizeof *function,
                                    module->object.context, __func__);
    function->module = module;
    function->kernel = kernel;
    const char *most = strstr(at, ".maxntid"), *body = strchr(at, '{');
    unsigned sizes[3] = {1024, 1, 1};
    if (most != NULL && (body == NULL || most < body))
        sscanf(most, ".maxntid %u , %u , %u", &sizes[0], &sizes[1], &sizes[2]);
    function->most_threads = sizes[0] * sizes[1] * sizes[2];
    *out = (CUfunction)(uintptr_t)function->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *out, CUfunction_attribute which,
                            CUfunction handle) {
    SIM_CALL(IN_CONTEXT);
    Function *function = object_find(KIND_FUNCTION, handle);
    if (function == NULL || !function->object.alive)
        return FAIL(CUDA_ERROR_INVALID_HANDLE, "hfunc %p is not a function",
                    (void *)handle);
    if (out == NULL || which < 0 || which >= CU_FUNC_ATTRIBUTE_MAX)
        return INVALID("pi is NULL or the attribute is %d", which);
    *out = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
               ? (int)function->most_threads
               : 0;
    return CUDA_SUCCESS;
}

void *simcuda_kernel_memory(uint64_t address, size_t bytes, int write) {
    if (running == NULL)
        return NULL;
    Context *context = running->context;
    const char *why =
        range_forbids(context, address, bytes, write ? WRITE : READ, false);
    if (why == NULL && !peer_reaches(context, range_find(address)))
        why = "it is a peer's, and access was not enabled";
    if (why == NULL)
        return range_host(address);
    context_spoil(context, fail(running->name, CUDA_ERROR_ILLEGAL_ADDRESS,
                                "a kernel at 0x%llx, %zu bytes: %s",
                                (unsigned long long)address, bytes, why));
    return NULL;
}

static CUresult run_kernel(Op *op) {
    const Function *function = op->pointer;
    if (!function->object.alive)
        return fail(op->name, CUDA_ERROR_ILLEGAL_ADDRESS,
                    "when it ran, the module of %s was unloaded",
                    function->kernel->name);
    running = op;
    function->kernel->run(&op->payload->launch);
    running = NULL;
    return op->context->sticky;
}

/* Copies the values of the arguments when the call is made. */
static Payload *take_arguments(const Kernel *kernel, void **values) {
    size_t size = 0;
    for (size_t i = 0; i < kernel->arguments; i++)
        size += ROUND_UP(kernel->argument_bytes[i], 16);
    Payload *payload = payload_new(size);
    if (payload == NULL)
        abort();
    unsigned char *at = payload->bytes;
    for (size_t i = 0; i < kernel->arguments; i++) {
        memcpy(at, values[i], kernel->argument_bytes[i]);
        payload->arguments[i] = at;
        at += ROUND_UP(kernel->argument_bytes[i], 16);
    }
    payload->launch.arguments = payload->arguments;
    return payload;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared,
                        CUstream stream_handle, void **arguments,
                        void **extra) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(stream_handle, &stream);
    Function *function = object_find(KIND_FUNCTION, handle);
    if (function == NULL || !function->object.alive ||
        function->object.context != context_current() ||
        stream->object.context != context_current())
        return FAIL(CUDA_ERROR_INVALID_HANDLE,
                    "the function or the stream is not of this context");
    if (extra != NULL || (arguments == NULL && function->kernel->arguments > 0))
        return INVALID("kernelParams is NULL or extra is not");
    if (grid_x == 0 || grid_y == 0 || grid_z == 0 || grid_x > 0x7fffffff ||
        grid_y > 65535 || grid_z > 65535 || block_x == 0 || block_y == 0 ||
        block_z == 0 || block_z > 64 || shared > 49152 ||
        (uint64_t)block_x * block_y * block_z > 1024)
        return INVALID("a grid of %u, %u, %u with blocks of %u, %u, %u", grid_x,
                       grid_y, grid_z, block_x, block_y, block_z);
    if (block_x * block_y * block_z > function->most_threads)
        return INVALID("blocks of %u threads of a kernel that allows %u",
                       block_x * block_y * block_z, function->most_threads);
    Op *op = op_new(__func__, run_kernel, stream->object.context);
    op->pointer = function;
    op->payload = take_arguments(function->kernel, arguments);
    simcuda_launch *launch = &op->payload->launch;
    memcpy(launch->grid, (unsigned[]){grid_x, grid_y, grid_z},
           sizeof launch->grid);
    memcpy(launch->block, (unsigned[]){block_x, block_y, block_z},
           sizeof launch->block);
    launch->shared_bytes = shared;
    return stream_submit(stream, op);
}

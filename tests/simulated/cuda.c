/* libcuda.so.1 with the functions that are needed to list devices. A device
 * handle differs from the device number, because the real library does not
 * promise that they are equal. */
#include <stdint.h>

#include "behaviour.h"

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100 };
enum { INVALID_DEVICE = 101, INVALID_CONTEXT = 201 };

static int initialised;
static uintptr_t retained[2];
static uintptr_t current;

static int handle_index(int device) {
    return device == 40 || device == 41 ? device - 40 : -1;
}

EXPORT int cuInit(unsigned flags) {
    if (flags != 0)
        return INVALID_VALUE;
    int code = simulated_initialise(NO_DEVICE);
    initialised = code == SUCCESS;
    return code;
}

EXPORT int cuDriverGetVersion(int *version) {
    *version = simulated_is("old") ? 10020 : 12040;
    return SUCCESS;
}

EXPORT int cuGetErrorName(int code, const char **name) {
    if (code != 999 && code != NO_DEVICE)
        return INVALID_VALUE;
    *name = code == 999 ? "CUDA_ERROR_UNKNOWN" : "CUDA_ERROR_NO_DEVICE";
    return SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count) {
    if (!initialised)
        return NOT_INITIALIZED;
    *count = 2;
    return SUCCESS;
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
    if (!initialised)
        return NOT_INITIALIZED;
    if (ordinal < 0 || ordinal > 1)
        return INVALID_DEVICE;
    *device = 40 + ordinal;
    return SUCCESS;
}

EXPORT int cuDeviceGetName(char *name, int length, int device) {
    if (handle_index(device) < 0)
        return INVALID_DEVICE;
    snprintf(name, (size_t)length, "Simulated  GPU %c",
             'A' + handle_index(device));
    return simulated_number("late_error");
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    if (handle_index(device) < 0)
        return INVALID_DEVICE;
    *bytes = (size_t)(80 - 40 * handle_index(device)) << 30;
    return SUCCESS;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    if (handle_index(device) < 0)
        return INVALID_DEVICE;
    switch (attribute) {
    case 75:
        *value = 9;
        return SUCCESS;
    case 76:
        *value = 0;
        return SUCCESS;
    case 18:
        *value = handle_index(device);
        return SUCCESS;
    default:
        return INVALID_VALUE;
    }
}

EXPORT int cuDevicePrimaryCtxRetain(uintptr_t *context, int device) {
    if (handle_index(device) < 0)
        return INVALID_DEVICE;
    if (simulated_is("no_context"))
        return 2;
    retained[handle_index(device)]++;
    *context = 0x1000u + (uintptr_t)handle_index(device);
    return SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    /* The caller released the context more often than it retained it, or
     * while the context was current. Abort, so that the test sees this bug. */
    if (handle_index(device) < 0 || retained[handle_index(device)] == 0 ||
        current != 0)
        abort();
    retained[handle_index(device)]--;
    return SUCCESS;
}

EXPORT int cuCtxPushCurrent_v2(uintptr_t context) {
    if (current != 0)
        abort();
    current = context;
    return SUCCESS;
}

EXPORT int cuCtxPopCurrent_v2(uintptr_t *context) {
    if (current == 0)
        return INVALID_CONTEXT;
    *context = current;
    current = 0;
    return SUCCESS;
}

#ifndef WITHOUT_SYMBOL
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    if (current == 0)
        return INVALID_CONTEXT;
    *total = (size_t)(80 - 40 * (int)(current - 0x1000)) << 30;
    *free_bytes = *total - ((size_t)1 << 30);
    return SUCCESS;
}
#endif

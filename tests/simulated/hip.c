/* libamdhip64.so.6 with the functions that are needed to list devices. */
#include "behaviour.h"

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101 };

static int present = -1;

EXPORT int hipInit(unsigned flags) {
    return flags != 0 ? INVALID_VALUE : simulated_initialise(INVALID_DEVICE);
}

EXPORT int hipRuntimeGetVersion(int *version) {
    *version = simulated_is("old") ? 50013601 : 60342134;
    return SUCCESS;
}

EXPORT int hipGetDeviceCount(int *count) {
    *count = 2;
    return SUCCESS;
}

EXPORT int hipDeviceGetName(char *name, int length, int device) {
    if (device < 0 || device > 1)
        return INVALID_DEVICE;
    snprintf(name, (size_t)length, "Simulated Instinct %d", device);
    return simulated_number("late_error");
}

EXPORT int hipDeviceTotalMem(size_t *bytes, int device) {
    *bytes = (size_t)(192 >> device) << 30;
    return SUCCESS;
}

EXPORT int hipDeviceGetAttribute(int *value, int attribute, int device) {
    if (attribute != 16)
        return INVALID_VALUE;
    *value = device == 1;
    return SUCCESS;
}

EXPORT int hipDeviceComputeCapability(int *major, int *minor, int device) {
    *major = 9;
    *minor = 4 - device;
    return SUCCESS;
}

EXPORT int hipSetDevice(int device) {
    present = device;
    return simulated_is("no_context") ? 2 : SUCCESS;
}

#ifndef WITHOUT_SYMBOL
EXPORT int hipMemGetInfo(size_t *free_bytes, size_t *total) {
    *total = (size_t)(192 >> present) << 30;
    *free_bytes = *total / 2;
    return SUCCESS;
}
#endif

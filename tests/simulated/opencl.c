/* libOpenCL.so.1 with the functions that are needed to list devices: an old
 * platform, a platform without devices, and a platform with two devices. */
#include <stdint.h>

#include "behaviour.h"

enum { SUCCESS = 0, DEVICE_NOT_FOUND = -1, INVALID_VALUE = -30 };
enum { INVALID_PLATFORM = -32, PLATFORM_NOT_FOUND = -1001 };

EXPORT int32_t clGetPlatformIDs(uint32_t entries, uintptr_t *platforms,
                                uint32_t *count) {
    int code = simulated_initialise(PLATFORM_NOT_FOUND);
    if (code != SUCCESS)
        return code;
    *count = simulated_is("old") ? 1 : 3;
    for (uint32_t i = 0; i < *count && i < entries; i++)
        platforms[i] = 0x100 + i;
    return SUCCESS;
}

static int32_t give(const void *value, size_t length, size_t size, void *out,
                    size_t *needed) {
    if (needed != NULL)
        *needed = length;
    if (out == NULL)
        return SUCCESS;
    if (size < length)
        return INVALID_VALUE;
    memcpy(out, value, length);
    return SUCCESS;
}

static int32_t give_text(const char *text, size_t size, void *out,
                         size_t *needed) {
    return give(text, strlen(text) + 1, size, out, needed);
}

EXPORT int32_t clGetPlatformInfo(uintptr_t platform, uint32_t what, size_t size,
                                 void *out, size_t *needed) {
    int old = platform == 0x100;
    if (what == 0x0901)
        return give_text(old ? "OpenCL 1.1 Old" : "OpenCL 3.0 Simulated", size,
                         out, needed);
    return give_text(old ? "Old Platform" : "Simulated Platform", size, out,
                     needed);
}

EXPORT int32_t clGetDeviceIDs(uintptr_t platform, uint64_t type,
                              uint32_t entries, uintptr_t *devices,
                              uint32_t *count) {
    int code = simulated_number("late_error");
    if (code != 0)
        return -code;
    if (type != 0xFFFFFFFF || platform == 0x100)
        return INVALID_PLATFORM;
    if (platform == 0x101)
        return DEVICE_NOT_FOUND;
    *count = 2;
    for (uint32_t i = 0; i < 2 && i < entries; i++)
        devices[i] = 0x200 + i;
    return SUCCESS;
}

#ifndef WITHOUT_SYMBOL
EXPORT int32_t clGetDeviceInfo(uintptr_t device, uint32_t what, size_t size,
                               void *out, size_t *needed) {
    uint64_t total = (uint64_t)16 << 30, block = (uint64_t)4 << 30;
    uint32_t align_bits = 1024, yes = 1, unified = device == 0x201;
    size_t free_kib[2] = {8u << 20, 1u << 20};
    switch (what) {
    case 0x1010:
        return give(&block, sizeof block, size, out, needed);
    case 0x1019:
        return give(&align_bits, sizeof align_bits, size, out, needed);
    case 0x101F:
        return give(&total, sizeof total, size, out, needed);
    case 0x1027:
        return give(&yes, sizeof yes, size, out, needed);
    case 0x102B:
        return give_text(device == 0x200 ? "Card 0" : "Card 1", size, out,
                         needed);
    case 0x102F:
        return give_text("OpenCL 2.1 Simulated", size, out, needed);
    case 0x1035:
        return give(&unified, sizeof unified, size, out, needed);
    case 0x4039:
        if (device == 0x200)
            return give(free_kib, sizeof free_kib, size, out, needed);
        return INVALID_VALUE;
    default:
        return INVALID_VALUE;
    }
}
#endif

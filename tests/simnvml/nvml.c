/*
 * A simulated libnvidia-ml.so.1 for tests. It reports the memory of the
 * devices of the simulated CUDA driver and finds each device by its UUID.
 *
 *   SIMNVML_TOTAL     bytes of each device
 *   SIMNVML_FREE      free bytes of each device
 *   SIMNVML_KIND      the first letters of the UUIDs that the library knows:
 *                     GPU- (the default) or MIG-
 *   SIMNVML_FAULT     the name of a function that fails
 *   SIMNVML_PROCESSES how many processes use each device: the first has the number
 *                     1000 and 1 byte, the third 1002 and 3 bytes, and so on; the
 *                     bytes of the second process are reported as unknown
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_UNKNOWN = 999
};

/** nvmlMemory_t. */
struct memory {
    unsigned long long total, free, used;
};

static int users;
static struct device {
    int unused;
} the_device;

static unsigned long long number(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static int fails(const char *function) {
    const char *fault = getenv("SIMNVML_FAULT");
    return fault != NULL && strcmp(fault, function) == 0;
}

API int nvmlInit_v2(void) {
    if (fails("nvmlInit_v2"))
        return NVML_ERROR_UNKNOWN;
    users++;
    return NVML_SUCCESS;
}

API int nvmlShutdown(void) {
    if (users == 0)
        return NVML_ERROR_UNINITIALIZED;
    users--;
    return NVML_SUCCESS;
}

/* UUIDs of the simulated driver start with 53494dNN-1111, and with
 * 53494dNN-2222 for a MIG instance. */
API int nvmlDeviceGetHandleByUUID(const char *uuid, struct device **out) {
    const char *kind = getenv("SIMNVML_KIND");
    if (users == 0)
        return NVML_ERROR_UNINITIALIZED;
    if (uuid == NULL || out == NULL || strlen(uuid) != 40)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (fails("nvmlDeviceGetHandleByUUID") ||
        strncmp(uuid, kind != NULL ? kind : "GPU-", 4) != 0 ||
        strncmp(uuid + 4, "53494d", 6) != 0 || uuid[12] != '-' ||
        uuid[17] != '-' || uuid[22] != '-' || uuid[27] != '-')
        return NVML_ERROR_NOT_FOUND;
    *out = &the_device;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetMemoryInfo(struct device *device, struct memory *out) {
    if (users == 0)
        return NVML_ERROR_UNINITIALIZED;
    if (device != &the_device || out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (fails("nvmlDeviceGetMemoryInfo"))
        return NVML_ERROR_UNKNOWN;
    out->total = number("SIMNVML_TOTAL");
    out->free = number("SIMNVML_FREE");
    out->used = out->total - out->free;
    return NVML_SUCCESS;
}

/** nvmlProcessInfo_v2_t. */
struct process {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute;
};

API int nvmlDeviceGetComputeRunningProcesses_v3(struct device *device,
                                                unsigned *count,
                                                struct process *out) {
    unsigned have = (unsigned)number("SIMNVML_PROCESSES"), room;
    if (users == 0)
        return NVML_ERROR_UNINITIALIZED;
    if (device != &the_device || count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (fails("nvmlDeviceGetComputeRunningProcesses_v3"))
        return NVML_ERROR_NO_PERMISSION;
    room = *count;
    *count = have;
    if (have > room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < have; i++)
        out[i] = (struct process){1000 + i, i == 1 ? ~0ULL : i + 1, ~0u, ~0u};
    return NVML_SUCCESS;
}

/** For tests: the number of initialisations without a matching shutdown. */
API int simnvml_users(void) { return users; }

/* Initialisation, versions, and the devices with their attributes. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUresult initialise(void) {
    config_read(&sim.config);
    if (sim.config.init_error != 0)
        return (CUresult)sim.config.init_error;
    Device *in_order[64] = {NULL};
    int order, count = 0;
    for (int i = 0; i < sim.config.devices; i++) {
        if (!device_is_visible(i, &order) || order >= 64)
            continue;
        Device *device = calloc(1, sizeof *device);
        if (device == NULL)
            abort();
        device->number = i;
        device->total = sim.config.bytes[i];
        device->others = sim.config.others[i];
        device->physical_fd = -1;
        in_order[order] = device;
    }
    /* A process sees only the first MIG instance. */
    const int most = sim.config.mig ? 1 : MAX_DEVICES;
    for (int i = 0; i < 64 && count < most; i++)
        if (in_order[i] != NULL) {
            in_order[i]->ordinal = count;
            sim.devices[count++] = *in_order[i];
            free(in_order[i]);
        }
    if (count == 0)
        return CUDA_ERROR_NO_DEVICE;
    sim.device_count = count;
    sim.initialised = true;
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags) {
    SIM_CALL(NO_INIT);
    if (flags != 0)
        return INVALID("Flags is %u", flags);
    return sim.initialised ? CUDA_SUCCESS : initialise();
}

CUresult cuDriverGetVersion(int *version) {
    SIM_CALL(NO_INIT);
    if (version == NULL)
        return INVALID("driverVersion is NULL");
    Config config;
    config_read(&config);
    *version = config.version;
    return CUDA_SUCCESS;
}

CUresult device_find(CUdevice device, const char *call, Device **found) {
    if (device < 0 || device >= sim.device_count)
        return fail(call, CUDA_ERROR_INVALID_DEVICE, "device is %d", device);
    *found = &sim.devices[device];
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
    SIM_CALL(0);
    if (count == NULL)
        return INVALID("count is NULL");
    *count = sim.device_count;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *out, int ordinal) {
    SIM_CALL(0);
    Device *device;
    if (out == NULL)
        return INVALID("device is NULL");
    FIND_DEVICE(ordinal, &device);
    *out = device->ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice dev) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (name == NULL || length <= 0)
        return INVALID("name is NULL or len is %d", length);
    snprintf(name, (size_t)length, "%s", sim.config.name);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (bytes == NULL)
        return INVALID("bytes is NULL");
    *bytes = device->total;
    return CUDA_SUCCESS;
}

/* 53494dNN-...: "SIM" and the number of the device among all devices. */
static void uuid_of(const Device *device, CUuuid *uuid) {
    memset(uuid, 0x11, sizeof *uuid);
    memcpy(uuid->bytes, "SIM", 3);
    uuid->bytes[3] = (char)device->number;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (uuid == NULL)
        return INVALID("uuid is NULL");
    uuid_of(device, uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (uuid == NULL)
        return INVALID("uuid is NULL");
    uuid_of(device, uuid);
    if (sim.config.mig)
        memset(uuid->bytes + 4, 0x22, sizeof uuid->bytes - 4);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice dev) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    if (text == NULL || length <= 0)
        return INVALID("pciBusId is NULL or len is %d", length);
    snprintf(text, (size_t)length, "0000:%02X:00.0", 0x17 + device->number);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *text) {
    SIM_CALL(0);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    if (out == NULL || text == NULL)
        return INVALID("dev or pciBusId is NULL");
    if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3 &&
        (domain = 0, sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2))
        return INVALID("pciBusId is %s", text);
    for (int i = 0; i < sim.device_count; i++)
        if (domain == 0 && slot == 0 && function == 0 &&
            (int)bus == 0x17 + sim.devices[i].number) {
            *out = i;
            return CUDA_SUCCESS;
        }
    return FAIL(CUDA_ERROR_INVALID_DEVICE, "no device has the address %s",
                text);
}

static int attribute(const Device *device, CUdevice_attribute which) {
    const Config *config = &sim.config;
    bool pools = !config->without_pools && config->version >= 11020;
    bool fd = !config->without_fd && !config->without_vmm;
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
        return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
        return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        return 49152;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        return 32;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        return 1980000;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return 132;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
        return 512;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
        return 1;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
        return !config->integrated;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
        return config->integrated;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        return !config->without_mapped;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return 0x17 + device->number;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        return 3;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        return 2619000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        return 5120;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        return 50 << 20;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        return !config->without_unified;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return 9;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        return !config->without_managed;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        return !config->without_managed && !config->without_concurrent;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        return !config->without_register;
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        return !config->without_register;
    case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
        return !config->without_register && !config->without_readonly;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        return !config->without_vmm;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
        return fd;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
        return !config->without_fabric && !config->without_vmm;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
        return !config->without_rdma && !config->without_vmm;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        return pools;
    case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
        return !config->without_ipc;
    default:
        /* These kinds of memory and of sharing are not simulated. */
        return 0;
    }
}

CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute which,
                              CUdevice dev) {
    SIM_CALL(0);
    Device *device;
    FIND_DEVICE(dev, &device);
    /* An attribute that the driver of this generation does not know is an
     * error. */
    int last = sim.config.version >= 12090   ? CU_DEVICE_ATTRIBUTE_MAX - 1
               : sim.config.version >= 12040 ? 135
               : sim.config.version >= 12000 ? 125
                                             : 118;
    if (out == NULL || (int)which < 1 || (int)which > last)
        return INVALID("pi is NULL or attrib is %d", (int)which);
    *out = attribute(device, which);
    return CUDA_SUCCESS;
}

bool device_take(Device *device, uint64_t bytes) {
    uint64_t gone = device->used + device->others;
    if (gone > device->total || bytes > device->total - gone)
        return false;
    device->used += bytes;
    return true;
}

void device_give(Device *device, uint64_t bytes) { device->used -= bytes; }

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    SIM_CALL(IN_CONTEXT);
    const Device *device = context_current()->device;
    uint64_t gone = device->used + device->others;
    if (total != NULL)
        *total = device->total;
    if (free_bytes != NULL)
        *free_bytes = gone < device->total ? device->total - gone : 0;
    return CUDA_SUCCESS;
}

void simcuda_others_take(int device, uint64_t bytes) {
    pthread_mutex_lock(&sim.lock);
    if (device >= 0 && device < sim.device_count)
        sim.devices[device].others = bytes;
    pthread_mutex_unlock(&sim.lock);
}

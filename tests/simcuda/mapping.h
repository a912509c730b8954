/* The common start of the cases with virtual memory. */
#ifndef SIMCUDA_MAPPING_H
#define SIMCUDA_MAPPING_H

#include "rules.h"

static inline CUmemAllocationProp properties(int device, bool shared) {
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device};
    if (shared)
        prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
}

static inline CUmemGenericAllocationHandle create(size_t size) {
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = properties(0, false);
    OK(cuMemCreate(&handle, size, &prop, 0));
    return handle;
}

static inline CUdeviceptr reserve(size_t size) {
    CUdeviceptr address;
    OK(cuMemAddressReserve(&address, size, 0, 0, 0));
    return address;
}

static inline CUresult allow(CUdeviceptr address, size_t size, int device,
                             unsigned flags) {
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device},
                              (CUmemAccess_flags)flags};
    return cuMemSetAccess(address, size, &access, 1);
}

#endif

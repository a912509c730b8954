/* Queries about an address. */
#include "internal.h"

#include <string.h>

static CUcontext context_of(const Range *range) {
    return range->context == NULL
               ? NULL
               : (CUcontext)(uintptr_t)range->context->object.handle;
}

static bool is_host(const Range *range) {
    return range->kind == RANGE_HOST || range->kind == RANGE_REGISTERED;
}

#define ANSWER(type, value)                   \
    do {                                      \
        type answer = (value);                \
        memcpy(data, &answer, sizeof answer); \
        return CUDA_SUCCESS;                  \
    } while (0)

static CUresult ask(void *data, CUpointer_attribute which, const Range *range,
                    const Mapping *mapping, CUdeviceptr address) {
    const Device *device =
        mapping != NULL ? mapping->physical->device : range->device;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        ANSWER(CUcontext, context_of(range));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        ANSWER(unsigned,
               is_host(range) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        ANSWER(CUdeviceptr, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!is_host(range) && range->kind != RANGE_MANAGED)
            return CUDA_ERROR_INVALID_VALUE;
        ANSWER(void *, (void *)(uintptr_t)address);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        ANSWER(int, range->sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        ANSWER(unsigned long long, range->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        ANSWER(int, range->kind == RANGE_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        ANSWER(int, device == NULL ? CU_DEVICE_INVALID : device->ordinal);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        ANSWER(int, range->kind == RANGE_DEVICE && !sim.config.without_ipc);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        ANSWER(CUdeviceptr, range->address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        ANSWER(size_t, range->size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        ANSWER(int, range->kind != RANGE_RESERVED || mapping != NULL);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        ANSWER(unsigned, mapping != NULL && mapping->physical->exportable);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        ANSWER(unsigned,
               mapping != NULL && context_current() != NULL
                   ? mapping->access[context_current()->device->ordinal]
                   : 3);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        ANSWER(CUmemoryPool,
               range->pool == NULL
                   ? NULL
                   : (CUmemoryPool)(uintptr_t)((Object *)range->pool)->handle);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* An unknown address is a valid result and breaks no rule. */
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which,
                               CUdeviceptr address) {
    SIM_CALL(0);
    if (data == NULL)
        return INVALID("data is NULL");
    const Range *range = range_find(address);
    if (range == NULL || range->freeing)
        return CUDA_ERROR_INVALID_VALUE;
    return ask(data, which, range, mapping_at(range, address), address);
}

static size_t size_of(CUpointer_attribute which) {
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return 8;
    default:
        return 4;
    }
}

/* An unknown address, or an attribute that does not apply to it, gives
 * zeros. */
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *which,
                                void **data, CUdeviceptr address) {
    SIM_CALL(0);
    if (count == 0 || which == NULL || data == NULL)
        return INVALID("numAttributes is %u or a list is NULL", count);
    const Range *range = range_find(address);
    for (unsigned i = 0; i < count; i++) {
        if (data[i] == NULL)
            return INVALID("data[%u] is NULL", i);
        memset(data[i], 0, size_of(which[i]));
        if (range != NULL && !range->freeing)
            ask(data[i], which[i], range, mapping_at(range, address), address);
        else if (which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            memcpy(data[i], &(int){CU_DEVICE_INVALID}, sizeof(int));
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute which,
                               CUdeviceptr address) {
    SIM_CALL(0);
    Range *range = range_find(address);
    if (value == NULL || range == NULL ||
        which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return INVALID("value is NULL, attribute %d, or 0x%llx is unknown",
                       (int)which, address);
    int wanted;
    memcpy(&wanted, value, sizeof wanted);
    range->sync_memops = wanted != 0;
    return CUDA_SUCCESS;
}

/* Managed memory, prefetching and advice, in the form of each generation. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct ManagedAdvice {
    CUmemLocation preferred, prefetched;
    bool read_mostly, host_accesses, accesses[MAX_DEVICES];
} ManagedAdvice;

static const CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_INVALID,
                                      CU_DEVICE_INVALID};

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned flags) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    if (sim.config.without_managed)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (out == NULL || size == 0 ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return INVALID("dptr is NULL, bytesize %zu, flags 0x%x", size, flags);
    size_t pages = ROUND_UP(size, 4096);
    if (pages < size)
        return CUDA_ERROR_OUT_OF_MEMORY;
    void *host = mmap(NULL, pages, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ManagedAdvice *advice = calloc(1, sizeof *advice);
    if (host == MAP_FAILED || advice == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    advice->preferred = advice->prefetched = nowhere;
    /* Managed memory may be larger than any device, so no device is charged
     * for it. */
    Range *range =
        range_add(RANGE_MANAGED, (CUdeviceptr)(uintptr_t)host, pages);
    range->size = size;
    range->context = context_current();
    range->device = range->context->device;
    range->flags = flags;
    range->advice = advice;
    range->made_by = __func__;
    *out = range->address;
    return CUDA_SUCCESS;
}

void managed_forget(Range *range) { free(range->advice); }

static CUresult find(CUdeviceptr address, size_t size, const char *call,
                     Range **found) {
    Range *range = range_find(address);
    *found = range;
    if (size == 0 || range == NULL || range->kind != RANGE_MANAGED ||
        size > range->size - (address - range->address))
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "0x%llx, %zu bytes, is not managed memory", address, size);
    return CUDA_SUCCESS;
}

static CUresult check_place(CUmemLocation place, const char *call) {
    Device *device;
    switch (place.type) {
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return place.id == 0 ? CUDA_SUCCESS
                             : fail(call, CUDA_ERROR_INVALID_VALUE,
                                    "there is no node %d", place.id);
    case CU_MEM_LOCATION_TYPE_DEVICE: {
        CUresult code = device_find(place.id, call, &device);
        if (code == CUDA_SUCCESS && sim.config.without_concurrent)
            return fail(call, CUDA_ERROR_INVALID_DEVICE,
                        "the device has no concurrent managed access");
        return code;
    }
    default:
        return fail(call, CUDA_ERROR_INVALID_VALUE, "location type is %d",
                    (int)place.type);
    }
}

/* The older form names a device, or the host by a special number. */
static CUmemLocation place_of(CUdevice device) {
    if (device == CU_DEVICE_CPU)
        return (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0};
    return (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device};
}

static CUresult run_prefetch(Op *op) {
    Range *range = range_find(op->to);
    if (range == NULL || range->kind != RANGE_MANAGED)
        return fail(op->name, CUDA_ERROR_ILLEGAL_ADDRESS,
                    "when it ran, 0x%llx was no managed memory", op->to);
    range->advice->prefetched =
        (CUmemLocation){(CUmemLocationType)op->value, (int)op->value_size};
    return CUDA_SUCCESS;
}

static CUresult prefetch(CUdeviceptr address, size_t size, CUmemLocation place,
                         CUstream handle, const char *call) {
    Stream *stream;
    Range *range;
    CUresult code = stream_find(handle, call, &stream);
    if (code == CUDA_SUCCESS)
        code = find(address, size, call, &range);
    if (code == CUDA_SUCCESS)
        code = check_place(place, call);
    if (code == CUDA_SUCCESS && stream->capture != NULL) {
        capture_spoil(stream->capture);
        code = fail(call, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "no node of a graph prefetches");
    }
    if (code != CUDA_SUCCESS)
        return code;
    Op *op = op_new(call, run_prefetch, stream->object.context);
    op->to = address;
    op->size = size;
    op->value = place.type;
    op->value_size = (unsigned)place.id;
    return stream_submit(stream, op);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device,
                            CUstream stream) {
    SIM_CALL(IN_CONTEXT);
    return prefetch(address, size, place_of(device), stream, __func__);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size,
                               CUmemLocation place, unsigned flags,
                               CUstream stream) {
    SIM_CALL(IN_CONTEXT);
    if (flags != 0)
        return INVALID("flags is 0x%x", flags);
    return prefetch(address, size, place, stream, __func__);
}

static CUresult advise(CUdeviceptr address, size_t size, CUmem_advise advice,
                       CUmemLocation place, const char *call) {
    Range *range;
    CUresult code = find(address, size, call, &range);
    if (code != CUDA_SUCCESS)
        return code;
    ManagedAdvice *to = range->advice;
    bool placed = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                  advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                  advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (placed)
        code = check_place(place, call);
    if (code != CUDA_SUCCESS)
        return code;
    bool on_device = place.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (placed && advice != CU_MEM_ADVISE_SET_PREFERRED_LOCATION &&
        !on_device && place.type != CU_MEM_LOCATION_TYPE_HOST)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "advice %d for location type %d", (int)advice,
                    (int)place.type);
    switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        to->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        to->preferred = place;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        to->preferred = nowhere;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        *(on_device ? &to->accesses[place.id] : &to->host_accesses) =
            advice == CU_MEM_ADVISE_SET_ACCESSED_BY;
        return CUDA_SUCCESS;
    default:
        return fail(call, CUDA_ERROR_INVALID_VALUE, "advice is %d",
                    (int)advice);
    }
}

CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice,
                     CUdevice device) {
    SIM_CALL(IN_CONTEXT);
    return advise(address, size, advice, place_of(device), __func__);
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice,
                        CUmemLocation place) {
    SIM_CALL(IN_CONTEXT);
    return advise(address, size, advice, place, __func__);
}

static int device_of(CUmemLocation place) {
    if (place.type == CU_MEM_LOCATION_TYPE_DEVICE)
        return place.id;
    return place.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID
                                                      : CU_DEVICE_CPU;
}

static CUresult answer(void *data, size_t size, CUmem_range_attribute which,
                       const ManagedAdvice *advice, const char *call) {
    int *out = data;
    if (data == NULL || size == 0 || size % sizeof(int) != 0 ||
        (which != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY && size != sizeof(int)))
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "data is NULL or dataSize is %zu", size);
    size_t room = size / sizeof(int), used = 0;
    switch (which) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        *out = advice->read_mostly;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        *out = device_of(advice->preferred);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        *out = device_of(advice->prefetched);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        if (advice->host_accesses)
            out[used++] = CU_DEVICE_CPU;
        for (int i = 0; i < MAX_DEVICES && used < room; i++)
            if (advice->accesses[i])
                out[used++] = i;
        while (used < room)
            out[used++] = CU_DEVICE_INVALID;
        return CUDA_SUCCESS;
    default:
        return fail(call, CUDA_ERROR_INVALID_VALUE, "attribute is %d",
                    (int)which);
    }
}

CUresult cuMemRangeGetAttribute(void *data, size_t data_size,
                                CUmem_range_attribute which,
                                CUdeviceptr address, size_t size) {
    SIM_CALL(0);
    Range *range;
    CUresult code = find(address, size, __func__, &range);
    return code != CUDA_SUCCESS
               ? code
               : answer(data, data_size, which, range->advice, __func__);
}

CUresult cuMemRangeGetAttributes(void **data, size_t *data_sizes,
                                 CUmem_range_attribute *which, size_t count,
                                 CUdeviceptr address, size_t size) {
    SIM_CALL(0);
    Range *range;
    CUresult code = find(address, size, __func__, &range);
    if (code != CUDA_SUCCESS)
        return code;
    if (data == NULL || data_sizes == NULL || which == NULL || count == 0)
        return INVALID("a list is NULL or numAttributes is %zu", count);
    for (size_t i = 0; i < count && code == CUDA_SUCCESS; i++)
        code =
            answer(data[i], data_sizes[i], which[i], range->advice, __func__);
    return code;
}

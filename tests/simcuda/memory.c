/* Memory of a device: allocate, free, query. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    if (out == NULL || size == 0)
        return INVALID("dptr is NULL or bytesize is %zu", size);
    Context *context = context_current();
    uint64_t charged = ROUND_UP(size, 512);
    if (charged < size)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!device_take(context->device, charged)) {
        if (!pools_make_room(context->device, charged) ||
            !device_take(context->device, charged))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    /* A small allocation gets only the alignment that the driver promises. */
    size_t shift = size < (size_t)1 << 20 ? 512 : 0;
    size_t pages = ROUND_UP(size + shift, 4096);
    size_t alignment = size < (size_t)1 << 20 ? 4096 : GRANULARITY;
    CUdeviceptr page = range_place(pages, alignment, 0);
    if (page == 0 || !range_back(page, pages, -1, 0)) {
        device_give(context->device, charged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Range *range = range_add(RANGE_DEVICE, page, pages);
    range->address = page + shift;
    range->size = size;
    range->charged = charged;
    range->context = context;
    range->device = context->device;
    range->made_by = __func__;
    range_poison(range->address, size);
    *out = range->address;
    return CUDA_SUCCESS;
}

static void drop_device(Range *range) {
    range_unback(range->page, range->pages_size);
    device_give(range->device, range->charged);
    range_remove(range);
}

static void drop_host(Range *range) {
    munmap((void *)(uintptr_t)range->page, range->pages_size);
    if (range->kind == RANGE_MANAGED)
        device_give(range->device, range->charged);
    range_remove(range);
}

/* Waits for the device, as the real driver does. Address 0 is freed without a
 * context too. */
CUresult cuMemFree_v2(CUdeviceptr address) {
    SIM_CALL_KEY((address == 0 ? 0 : IN_CONTEXT) | UNSAFE | IS_RELEASE,
                 address);
    if (address == 0)
        return CUDA_SUCCESS;
    Range *range = range_find(address);
    if (range == NULL || range->address != address)
        return INVALID("dptr 0x%llx is not the start of an allocation",
                       address);
    if (range->kind != RANGE_DEVICE && range->kind != RANGE_MANAGED &&
        range->kind != RANGE_POOL)
        return INVALID("dptr 0x%llx was not had from cuMemAlloc", address);
    if (range->kind == RANGE_POOL)
        return pool_free_now(range);
    uint64_t id = range->id;
    context_wait(range->context);
    range = range_find(address);
    if (range == NULL || range->id != id)
        return INVALID("dptr 0x%llx was freed twice at once", address);
    if (range->kind == RANGE_MANAGED)
        drop_host(range);
    else
        drop_device(range);
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size,
                                 CUdeviceptr address) {
    SIM_CALL(IN_CONTEXT);
    Range *range = range_find(address);
    if (range == NULL)
        return FAIL(CUDA_ERROR_NOT_FOUND, "dptr 0x%llx is in no allocation",
                    address);
    const Mapping *mapping = mapping_at(range, address);
    if (range->kind == RANGE_RESERVED && !mapping_is_open(mapping))
        return FAIL(CUDA_ERROR_NOT_FOUND,
                    "dptr 0x%llx is not mapped, or no device has access",
                    address);
    if (base != NULL)
        *base = mapping != NULL ? mapping->address : range->address;
    if (size != NULL)
        *size = mapping != NULL ? mapping->size : range->size;
    return CUDA_SUCCESS;
}

/* --- pinned memory of the host --------------------------------------------- */

static CUresult host_alloc(void **out, size_t size, unsigned flags,
                           const char *call) {
    Context *context = context_current();
    if (out == NULL || (flags & ~7u) != 0)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "pp is NULL or Flags is 0x%x", flags);
    if (size == 0) {
        *out = NULL;
        return CUDA_SUCCESS;
    }
    size_t pages = ROUND_UP(size, 4096);
    if (pages < size)
        return CUDA_ERROR_OUT_OF_MEMORY;
    void *host = mmap(NULL, pages, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    Range *range = range_add(RANGE_HOST, (CUdeviceptr)(uintptr_t)host, pages);
    range->size = size;
    range->context = context;
    range->device = context->device;
    /* With unified addressing all of this memory is portable and mapped. */
    range->flags = flags;
    range->made_by = call;
    *out = host;
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **out, size_t size, unsigned flags) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    return host_alloc(out, size, flags, __func__);
}

CUresult cuMemAllocHost_v2(void **out, size_t size) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    return host_alloc(out, size, 0, __func__);
}

CUresult cuMemFreeHost(void *host) {
    SIM_CALL_KEY(IN_CONTEXT | UNSAFE | IS_RELEASE, (uintptr_t)host);
    Range *range = range_find((CUdeviceptr)(uintptr_t)host);
    if (range == NULL || range->kind != RANGE_HOST ||
        range->address != (CUdeviceptr)(uintptr_t)host)
        return INVALID("p %p was not had from cuMemHostAlloc", host);
    context_wait(range->context);
    range = range_find((CUdeviceptr)(uintptr_t)host);
    if (range == NULL)
        return INVALID("p %p was freed twice at once", host);
    drop_host(range);
    return CUDA_SUCCESS;
}

/* Whether the process may write to a page, according to the system. */
static bool is_writable(CUdeviceptr address) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512], mode[8];
    unsigned long long first, last;
    bool writable = maps == NULL;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%llx-%llx %7s", &first, &last, mode) == 3 &&
            address >= first && address < last)
            writable = mode[1] == 'w';
    if (maps != NULL)
        fclose(maps);
    return writable;
}

CUresult cuMemHostRegister_v2(void *host, size_t size, unsigned flags) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)host;
    if (host == NULL || size == 0 || (flags & ~15u) != 0 ||
        address + size < address)
        return INVALID("p is %p, bytesize %zu, Flags 0x%x", host, size, flags);
    if (sim.config.without_register)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (address_is_device(address))
        return INVALID("p %p is memory of a device", host);
    bool read_only = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;
    if (read_only && sim.config.without_readonly)
        return CUDA_ERROR_NOT_SUPPORTED;
    /* The system would not let the driver pin these pages for writing. */
    if (!read_only &&
        (!is_writable(address) || !is_writable(address + size - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    if (range_overlaps(address, size))
        return FAIL(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                    "p %p is registered already, or a part of it", host);
    Range *range = range_add(RANGE_REGISTERED, address, size);
    range->context = context_current();
    range->device = range->context->device;
    range->flags = flags;
    range->made_by = __func__;
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *host) {
    SIM_CALL_KEY(IN_CONTEXT | UNSAFE | IS_RELEASE, (uintptr_t)host);
    Range *range = range_find((CUdeviceptr)(uintptr_t)host);
    if (range == NULL || range->kind != RANGE_REGISTERED)
        return FAIL(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                    "p %p is not registered", host);
    if (range->address != (CUdeviceptr)(uintptr_t)host)
        return INVALID("p %p is not the start of registered memory", host);
    context_wait(range->context);
    range = range_find((CUdeviceptr)(uintptr_t)host);
    if (range != NULL)
        range_remove(range);
    return CUDA_SUCCESS;
}

static Range *pinned_at(const void *host) {
    Range *range = range_find((CUdeviceptr)(uintptr_t)host);
    if (range == NULL ||
        (range->kind != RANGE_HOST && range->kind != RANGE_REGISTERED))
        return NULL;
    return range;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *host,
                                      unsigned flags) {
    SIM_CALL(IN_CONTEXT);
    Range *range = pinned_at(host);
    if (out == NULL || flags != 0 || range == NULL)
        return INVALID("pdptr is NULL, p %p is not pinned or Flags is %u", host,
                       flags);
    if (sim.config.without_mapped)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (sim.config.without_unified &&
        (range->flags & CU_MEMHOSTALLOC_DEVICEMAP) == 0)
        return INVALID("p %p was not allocated as mapped memory", host);
    *out = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned *out, void *host) {
    SIM_CALL(IN_CONTEXT);
    Range *range = pinned_at(host);
    if (out == NULL || range == NULL)
        return INVALID("pFlags is NULL or p %p is not pinned", host);
    *out = range->flags;
    return CUDA_SUCCESS;
}

/* --- the end of a context --------------------------------------------------- */

void ranges_end_of(Context *context, bool leaked) {
    for (size_t i = sim.range_count; i-- > 0;) {
        Range *range = sim.ranges[i];
        if (range->context != context)
            continue;
        bool of_pool = range->kind == RANGE_POOL;
        if (leaked && !of_pool)
            fail(range->made_by, CUDA_ERROR_CONTEXT_IS_DESTROYED,
                 "0x%llx, %zu bytes, was not freed when its context ended",
                 range->address, range->size);
        switch (range->kind) {
        case RANGE_DEVICE:
            drop_device(range);
            break;
        case RANGE_HOST:
        case RANGE_MANAGED:
            drop_host(range);
            break;
        case RANGE_IPC:
            range_unback(range->page, range->pages_size);
            range_remove(range);
            break;
        case RANGE_REGISTERED:
            range_remove(range);
            break;
        case RANGE_POOL:
            /* Memory of a pool may exist longer than a context that was
             * only released. */
            if (!leaked && range->graph == NULL)
                pool_take_back(range);
            break;
        case RANGE_RESERVED:
            break; /* no context owns it */
        }
    }
}

/* Pools: the memory that they hold and keep, their counters, and the access
 * to their memory. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* A pool takes memory from its device in parts of this size, and its largest
 * size is a multiple of it. */
#define POOL_UNIT ((size_t)32 << 20)

static Pool *pools;

bool pools_are_missing(void) {
    return sim.config.without_pools || sim.config.version < 11020;
}

static Pool *make(Device *device, const char *call) {
    Pool *pool = object_new(KIND_POOL, sizeof *pool, NULL, call);
    pool->device = device;
    pool->access[device->ordinal] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    for (int i = 0; i < 4; i++)
        pool->reuse[i] = 1;
    pool->next = pools;
    pools = pool;
    return pool;
}

Pool *pool_default(Device *device) {
    if (device->default_pool == NULL) {
        device->default_pool = make(device, "the driver");
        device->default_pool->object.hidden = true;
    }
    return device->default_pool;
}

void pool_keep(Pool *pool, uint64_t bytes) {
    uint64_t least = pool->used > bytes ? pool->used : bytes;
    if (pool->reserved <= least)
        return;
    device_give(pool->device, pool->reserved - least);
    pool->reserved = least;
}

/* Whenever the host has waited, pools release their unused memory above the
 * threshold. */
void pools_trim_idle(void) {
    for (Pool *pool = pools; pool != NULL; pool = pool->next)
        pool_keep(pool, pool->object.alive ? pool->threshold : 0);
}

/* When a device is full, its pools release their unused memory. */
bool pools_make_room(Device *device, uint64_t bytes) {
    for (Pool *pool = pools; pool != NULL; pool = pool->next)
        if (pool->device == device)
            pool_keep(pool, 0);
    uint64_t gone = device->used + device->others;
    return gone <= device->total && bytes <= device->total - gone;
}

CUresult pool_find(CUmemoryPool handle, const char *call, Pool **found) {
    Pool *pool = object_find(KIND_POOL, handle);
    *found = pool;
    if (pool == NULL || !pool->object.alive)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "pool %p is not a live pool", (void *)handle);
    return CUDA_SUCCESS;
}
static CUmemoryPool handle_of(const Pool *pool) {
    return (CUmemoryPool)(uintptr_t)pool->object.handle;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev) {
    SIM_CALL(0);
    NEED_POOLS();
    Device *device;
    FIND_DEVICE(dev, &device);
    if (out == NULL)
        return INVALID("pool_out is NULL");
    *out = handle_of(pool_default(device));
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev) {
    SIM_CALL(0);
    NEED_POOLS();
    Device *device;
    FIND_DEVICE(dev, &device);
    if (out == NULL)
        return INVALID("pool is NULL");
    bool own = device->pool != NULL && device->pool->object.alive;
    *out = handle_of(own ? device->pool : pool_default(device));
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle) {
    SIM_CALL(0);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    if (pool->device->ordinal != dev)
        return INVALID("the pool is of device %d", pool->device->ordinal);
    pool->device->pool = pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props) {
    SIM_CALL(UNSAFE);
    NEED_POOLS();
    Device *device;
    if (out == NULL || props == NULL ||
        props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return INVALID("pool or poolProps is NULL, or its kind is not known");
    for (size_t i = 0; i < sizeof props->reserved; i++)
        if (props->reserved[i] != 0)
            return INVALID("a reserved byte of poolProps is not 0");
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    FIND_DEVICE(props->location.id, &device);
    Pool *pool = make(device, __func__);
    pool->limit = ROUND_UP(props->maxSize, POOL_UNIT);
    *out = handle_of(pool);
    return CUDA_SUCCESS;
}

/* Live allocations of the pool remain. The pool releases all other memory. */
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    SIM_CALL_KEY(UNSAFE | IS_RELEASE, (uintptr_t)handle);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    if (pool->object.hidden)
        return INVALID("the default pool of a device can not be destroyed");
    object_end(pool);
    pool_keep(pool, 0);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes) {
    SIM_CALL(UNSAFE);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    pool_keep(pool, bytes);
    return CUDA_SUCCESS;
}

static cuuint64_t *number_of(Pool *pool, CUmemPool_attribute which) {
    switch (which) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return &pool->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return &pool->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return &pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &pool->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &pool->used_high;
    default:
        return NULL;
    }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute which,
                               void *value) {
    SIM_CALL(0);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    cuuint64_t *number = number_of(pool, which);
    if (value == NULL || (number == NULL && ((int)which < 1 || which > 3)))
        return INVALID("value is NULL or attr is %d", (int)which);
    if (number != NULL)
        memcpy(value, number, sizeof *number);
    else
        memcpy(value, &pool->reuse[which], sizeof(int));
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute which,
                               void *value) {
    SIM_CALL(0);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    if (value == NULL)
        return INVALID("value is NULL");
    if ((int)which >= 1 && which <= 3) {
        memcpy(&pool->reuse[which], value, sizeof(int));
        return CUDA_SUCCESS;
    }
    cuuint64_t number;
    memcpy(&number, value, sizeof number);
    if (which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        pool->threshold = number;
    else if (number != 0)
        return INVALID("attr %d can only be set to 0", (int)which);
    else if (which == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        pool->reserved_high = pool->reserved;
    else if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        pool->used_high = pool->used;
    else
        return INVALID("attr %d can not be set", (int)which);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *given,
                            size_t count) {
    SIM_CALL(UNSAFE);
    NEED_POOLS();
    Pool *pool;
    Device *device;
    FIND_POOL(handle, &pool);
    if (given == NULL && count != 0)
        return INVALID("map is NULL");
    for (size_t i = 0; i < count; i++) {
        if (given[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return FAIL(CUDA_ERROR_NOT_SUPPORTED, "map[%zu] is for no device",
                        i);
        FIND_DEVICE(given[i].location.id, &device);
        if (device == pool->device && given[i].flags != 3)
            return INVALID("map[%zu] takes the pool from its own device", i);
        if (device != pool->device && sim.config.without_peer)
            return INVALID("device %d can not reach the pool", device->ordinal);
    }
    for (size_t i = 0; i < count; i++)
        pool->access[given[i].location.id] = given[i].flags;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle,
                            CUmemLocation *location) {
    SIM_CALL(0);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    bool host = location != NULL && location->type == CU_MEM_LOCATION_TYPE_HOST;
    if (flags == NULL || location == NULL ||
        (!host && (location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
                   location->id < 0 || location->id >= sim.device_count)))
        return INVALID("flags or location is NULL or no device");
    *flags = host ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                  : (CUmemAccess_flags)pool->access[location->id];
    return CUDA_SUCCESS;
}

bool peer_reaches(const Context *context, const Range *range) {
    if (range->device == NULL || range->device == context->device)
        return true;
    if (range->kind == RANGE_POOL && range->pool != NULL)
        return range->pool->access[context->device->ordinal] == 3;
    return range->kind != RANGE_DEVICE ||
           context->peers[range->device->ordinal];
}

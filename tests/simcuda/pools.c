/* Memory in the order of a stream, and the pools that it comes from. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct Pool {
    Object object;
    Device *device;
    cuuint64_t threshold, used, used_high, reserved, reserved_high, limit;
    int reuse[4];
    unsigned access[MAX_DEVICES];
    Pool *next;
};

static Pool *pools;

static bool there_are_none(void) {
    return sim.config.without_pools || sim.config.version < 11020;
}
#define NEED_POOLS()      \
    if (there_are_none()) \
    return CUDA_ERROR_NOT_SUPPORTED

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

static Pool *default_pool(Device *device) {
    if (device->default_pool == NULL) {
        device->default_pool = make(device, "the driver");
        device->default_pool->object.hidden = true;
    }
    return device->default_pool;
}

static void keep(Pool *pool, uint64_t bytes) {
    uint64_t least = pool->used > bytes ? pool->used : bytes;
    if (pool->reserved <= least)
        return;
    device_give(pool->device, pool->reserved - least);
    pool->reserved = least;
}

/* Whenever the host has waited, pools give back what they hold above their
 * threshold. */
void pools_trim_idle(void) {
    for (Pool *pool = pools; pool != NULL; pool = pool->next)
        keep(pool, pool->object.alive ? pool->threshold : 0);
}

/* When a device is full its pools give back what is not in use. */
bool pools_make_room(Device *device, uint64_t bytes) {
    for (Pool *pool = pools; pool != NULL; pool = pool->next)
        if (pool->device == device)
            keep(pool, 0);
    uint64_t gone = device->used + device->others;
    return gone <= device->total && bytes <= device->total - gone;
}

static CUresult find(CUmemoryPool handle, const char *call, Pool **found) {
    Pool *pool = object_find(KIND_POOL, handle);
    *found = pool;
    if (pool == NULL || !pool->object.alive)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "pool %p is none that is alive", (void *)handle);
    return CUDA_SUCCESS;
}
#define FIND_POOL(handle, found)                              \
    do {                                                      \
        CUresult pool_result = find(handle, __func__, found); \
        if (pool_result != CUDA_SUCCESS)                      \
            return pool_result;                               \
    } while (0)

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
    *out = handle_of(default_pool(device));
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
    *out = handle_of(own ? device->pool : default_pool(device));
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle) {
    SIM_CALL(0);
    NEED_POOLS();
    Device *device;
    Pool *pool;
    FIND_DEVICE(dev, &device);
    FIND_POOL(handle, &pool);
    if (pool->device != device)
        return INVALID("the pool is of device %d", pool->device->ordinal);
    device->pool = pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props) {
    SIM_CALL(UNSAFE);
    NEED_POOLS();
    Device *device;
    if (out == NULL || props == NULL ||
        props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return INVALID("pool or poolProps is NULL, or its kind is none");
    for (size_t i = 0; i < sizeof props->reserved; i++)
        if (props->reserved[i] != 0)
            return INVALID("a reserved byte of poolProps is not 0");
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    FIND_DEVICE(props->location.id, &device);
    Pool *pool = make(device, __func__);
    pool->limit = props->maxSize;
    *out = handle_of(pool);
    return CUDA_SUCCESS;
}

/* Memory that it has given out stays; the rest goes back. */
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    SIM_CALL_KEY(UNSAFE | IS_RELEASE, (uintptr_t)handle);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    if (pool->object.hidden)
        return INVALID("the default pool of a device can not be destroyed");
    object_end(pool);
    keep(pool, 0);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes) {
    SIM_CALL(UNSAFE);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    keep(pool, bytes);
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
    SIM_CALL(0);
    NEED_POOLS();
    Pool *pool;
    Device *device;
    FIND_POOL(handle, &pool);
    if (given == NULL && count != 0)
        return INVALID("map is NULL");
    for (size_t i = 0; i < count; i++) {
        if (given[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return INVALID("map[%zu] is for no device", i);
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
    Device *device;
    FIND_POOL(handle, &pool);
    if (flags == NULL || location == NULL ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return INVALID("flags or location is NULL or no device");
    FIND_DEVICE(location->id, &device);
    *flags = (CUmemAccess_flags)pool->access[device->ordinal];
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

/* --- allocation and free ----------------------------------------------------- */

/* Its range may be gone by the time the stream gets here. */
static Range *range_of(const Op *op) {
    Range *range = range_find(op->to);
    return range != NULL && range->id == op->from ? range : NULL;
}

static CUresult run_alloc(Op *op) {
    Range *range = range_of(op);
    if (range != NULL)
        range->live = true;
    return CUDA_SUCCESS;
}

static void give_back(Range *range) {
    Pool *pool = range->pool;
    pool->used -= range->charged;
    if (!pool->object.alive)
        keep(pool, 0);
    range_unback(range->page, range->pages_size);
    range_remove(range);
}

static CUresult run_free(Op *op) {
    Range *range = range_of(op);
    if (range == NULL)
        return CUDA_SUCCESS;
    if (!range->live)
        return fail(op->name, CUDA_ERROR_ILLEGAL_ADDRESS,
                    "0x%llx is freed before its stream has allocated it",
                    op->to);
    give_back(range);
    return CUDA_SUCCESS;
}

static bool charge(Pool *pool, uint64_t bytes) {
    uint64_t cached = pool->reserved - pool->used;
    uint64_t more = bytes > cached ? bytes - cached : 0;
    if (pool->limit != 0 && more > pool->limit - pool->reserved)
        return false;
    if (more != 0 && !device_take(pool->device, more)) {
        /* Other pools may hold what is not in use; this one's is used up. */
        pool->reserved -= cached;
        device_give(pool->device, cached);
        more = bytes;
        if (!pools_make_room(pool->device, more) ||
            !device_take(pool->device, more))
            return false;
    }
    pool->reserved += more;
    pool->used += bytes;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    return true;
}

static Range *place(Device *device, size_t size, const char *call) {
    size_t pages = ROUND_UP(size + 512, 4096);
    CUdeviceptr page = range_place(pages, 4096, 0);
    if (page == 0 || !range_back(page, pages, -1, 0))
        return NULL;
    Range *range = range_add(RANGE_POOL, page, pages);
    range->address = page + 512;
    range->size = size;
    range->charged = ROUND_UP(size, 512);
    range->device = device;
    range->made_by = call;
    range_poison(range->address, size);
    return range;
}

/* Memory of a capture is had at once and lives as long as its graphs. */
static CUresult alloc_in_capture(CUdeviceptr *out, size_t size, Stream *stream,
                                 const char *call) {
    Device *device = stream->object.context->device;
    if (sim.config.version < 11040) {
        capture_spoil(stream->capture);
        return fail(call, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "this driver allocates nothing in a capture");
    }
    uint64_t charged = ROUND_UP(size, 512);
    if (!device_take(device, charged))
        return CUDA_ERROR_OUT_OF_MEMORY;
    Range *range = place(device, size, call);
    if (range == NULL) {
        device_give(device, charged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Graph *graph = capture_graph(stream);
    graph->memory = realloc(graph->memory,
                            (graph->memory_count + 1) * sizeof *graph->memory);
    if (graph->memory == NULL)
        abort();
    graph->memory[graph->memory_count++] = range->address;
    range->graph = graph;
    range->live = true;
    *out = range->address;
    return CUDA_SUCCESS;
}

static CUresult alloc(CUdeviceptr *out, size_t size, Pool *pool,
                      CUstream handle, const char *call) {
    Stream *stream;
    CUresult code = stream_find(handle, call, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL || size == 0)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "dptr is NULL or bytesize is %zu", size);
    if (size > (size_t)1 << 46)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (stream->capture != NULL)
        return alloc_in_capture(out, size, stream, call);
    Device *device = stream->object.context->device;
    if (pool == NULL)
        pool = device->pool != NULL && device->pool->object.alive
                   ? device->pool
                   : default_pool(device);
    if (!charge(pool, ROUND_UP(size, 512)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    Range *range = place(pool->device, size, call);
    if (range == NULL) {
        pool->used -= ROUND_UP(size, 512);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    range->pool = pool;
    Op *op = op_new(call, run_alloc, stream->object.context);
    op->to = range->address;
    op->from = range->id;
    CUdeviceptr address = range->address;
    code = stream_submit(stream, op);
    if (code != CUDA_SUCCESS)
        give_back(range);
    else
        *out = address;
    return code;
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream) {
    SIM_CALL(IN_CONTEXT);
    NEED_POOLS();
    return alloc(out, size, NULL, stream, __func__);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size,
                                 CUmemoryPool handle, CUstream stream) {
    SIM_CALL(IN_CONTEXT);
    NEED_POOLS();
    Pool *pool;
    FIND_POOL(handle, &pool);
    return alloc(out, size, pool, stream, __func__);
}

static CUresult run_nothing(Op *op) {
    (void)op;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    SIM_CALL_KEY(IN_CONTEXT | IS_RELEASE, address);
    NEED_POOLS();
    Stream *stream;
    FIND_STREAM(handle, &stream);
    Range *range = range_find(address);
    if (range == NULL || range->kind != RANGE_POOL ||
        range->address != address || range->freeing)
        return INVALID("dptr 0x%llx is no memory of a pool that is given out",
                       address);
    bool captured = stream->capture != NULL;
    if (captured != (range->graph != NULL))
        return INVALID("dptr 0x%llx: a capture frees what it allocated, and "
                       "nothing else does",
                       address);
    Op *op = op_new(__func__, captured ? run_nothing : run_free,
                    stream->object.context);
    op->to = address;
    op->from = range->id;
    CUresult code = stream_submit(stream, op);
    if (code == CUDA_SUCCESS && !captured)
        range->freeing = true;
    return code;
}

/* cuMemFree of such memory, after everything that runs. */
CUresult pool_free_now(Range *range) {
    CUdeviceptr address = range->address;
    uint64_t id = range->id;
    if (range->freeing || range->graph != NULL)
        return fail("cuMemFree_v2", CUDA_ERROR_INVALID_VALUE,
                    "dptr 0x%llx is freed already, or is a graph's", address);
    range->freeing = true;
    context_wait(context_current());
    range = range_find(address);
    if (range != NULL && range->id == id)
        give_back(range);
    pools_trim_idle();
    return CUDA_SUCCESS;
}

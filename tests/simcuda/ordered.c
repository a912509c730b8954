/* Memory that is allocated and freed in the order of a stream. */
#include "internal.h"

#include <stdlib.h>

/* The range may be freed before the stream runs this operation. */
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

void pool_take_back(Range *range) {
    Pool *pool = range->pool;
    pool->used -= range->charged;
    if (!pool->object.alive)
        pool_keep(pool, 0);
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
    pool_take_back(range);
    return CUDA_SUCCESS;
}

static bool charge(Pool *pool, uint64_t bytes) {
    uint64_t cached = pool->reserved - pool->used;
    uint64_t more = bytes > cached ? bytes - cached : 0;
    if (pool->limit != 0 && more > pool->limit - pool->reserved)
        return false;
    if (more != 0 && !device_take(pool->device, more)) {
        /* This pool has no unused memory left. Other pools may have some. */
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

/* Memory of a capture is allocated at once and exists as long as its graphs. */
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
    if (out == NULL)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "dptr is NULL");
    if (size == 0) {
        *out = 0;
        return CUDA_SUCCESS;
    }
    if (size > (size_t)1 << 46)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (stream->capture != NULL)
        return alloc_in_capture(out, size, stream, call);
    Device *device = stream->object.context->device;
    if (pool == NULL)
        pool = device->pool != NULL && device->pool->object.alive
                   ? device->pool
                   : pool_default(device);
    if (!charge(pool, ROUND_UP(size, 512)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    Range *range = place(pool->device, size, call);
    if (range == NULL) {
        pool->used -= ROUND_UP(size, 512);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    range->pool = pool;
    range->context = stream->object.context;
    Op *op = op_new(call, run_alloc, stream->object.context);
    op->to = range->address;
    op->from = range->id;
    CUdeviceptr address = range->address;
    code = stream_submit(stream, op);
    if (code != CUDA_SUCCESS)
        pool_take_back(range);
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
        return INVALID("dptr 0x%llx is not allocated memory of a pool",
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

/* cuMemFree of such memory does not wait: the caller has already waited. */
CUresult pool_free_now(Range *range) {
    CUdeviceptr address = range->address;
    if (range->freeing || range->graph != NULL)
        return fail("cuMemFree_v2", CUDA_ERROR_INVALID_VALUE,
                    "dptr 0x%llx is freed already, or is a graph's", address);
    pool_take_back(range);
    return CUDA_SUCCESS;
}

/* Copies and fills. A range is checked when the call is made, and again
 * when the worker runs the operation: memory that was unmapped in between
 * is an illegal address. */
#include "internal.h"

#include <string.h>
#include <sys/mman.h>

enum { CHUNK = 1 << 18 };

/* Lets other threads take the lock between the parts of a long copy. */
static void breathe(void) {
    pthread_mutex_unlock(&sim.lock);
    pthread_mutex_lock(&sim.lock);
}

static const char *part_forbids(Context *context, CUdeviceptr address,
                                size_t size, Access access, bool pageable) {
    return pageable ? NULL
                    : range_forbids(context, address, size, access, false);
}

CUresult run_copy(Op *op) {
    for (size_t at = 0; at < op->size; at += CHUNK) {
        size_t part = op->size - at < CHUNK ? op->size - at : CHUNK;
        const char *why = part_forbids(op->to_context, op->to + at, part, WRITE,
                                       op->to_pageable);
        if (why == NULL)
            why = part_forbids(op->from_context, op->from + at, part, READ,
                               op->from_pageable);
        if (why != NULL)
            return fail(op->name, CUDA_ERROR_ILLEGAL_ADDRESS,
                        "when it ran, 0x%llx to 0x%llx, %zu bytes: %s",
                        op->from, op->to, op->size, why);
        char *to = op->to_pageable ? (char *)(uintptr_t)op->to + at
                                   : range_host(op->to + at);
        const char *from =
            op->payload != NULL ? (const char *)op->payload->bytes + at
            : op->from_pageable ? (const char *)(uintptr_t)op->from + at
                                : range_host(op->from + at);
        memmove(to, from, part);
        if (at + part < op->size)
            breathe();
    }
    return CUDA_SUCCESS;
}

/* Writes zeros to a long range of a file. The file releases its pages, and
 * new pages of a file are zero. No page is touched, so an unused page needs
 * neither time nor memory. */
static bool zero_by_holes(char *to, const Op *op) {
    return op->value == 0 && op->value_size == 1 &&
           op->size >= (size_t)1 << 15 && (uintptr_t)to % 4096 == 0 &&
           op->size % 4096 == 0 && madvise(to, op->size, MADV_REMOVE) == 0;
}

CUresult run_fill(Op *op) {
    const char *why =
        range_forbids(op->context, op->to, op->size, WRITE, false);
    if (why != NULL)
        return fail(op->name, CUDA_ERROR_ILLEGAL_ADDRESS,
                    "when it ran, 0x%llx, %zu bytes: %s", op->to, op->size,
                    why);
    char *to = range_host(op->to);
    if (zero_by_holes(to, op))
        return CUDA_SUCCESS;
    for (size_t row = 0; row < op->rows; row++, to += op->pitch)
        if (op->value_size == 1)
            memset(to, (int)op->value, op->row_size);
        else
            for (size_t at = 0; at < op->row_size; at += op->value_size)
                memcpy(to + at, &op->value, op->value_size);
    return CUDA_SUCCESS;
}

typedef enum { TO_DEVICE, TO_HOST, ON_DEVICE, UNIFIED } Way;

typedef struct Ends {
    CUdeviceptr to, from;
    size_t size;
    Way way;
    Context *to_context, *from_context;
} Ends;

/* Checks one end of a copy. Host memory that the driver does not know is
 * pageable. */
static CUresult look(const char *call, Context *context, CUdeviceptr address,
                     size_t size, Access access, bool host, bool unified,
                     bool *pageable) {
    *pageable = false;
    if (address == 0)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "a pointer is NULL");
    if (host && address_is_device(address))
        return fail(call, CUDA_ERROR_INVALID_VALUE, "0x%llx is not host memory",
                    address);
    if ((host || (unified && !address_is_device(address))) &&
        !range_is_pinned((void *)(uintptr_t)address, size)) {
        *pageable = true;
        return CUDA_SUCCESS;
    }
    const char *why = range_forbids(context, address, size, access, true);
    if (why != NULL)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "0x%llx, %zu bytes: %s",
                    address, size, why);
    return CUDA_SUCCESS;
}

static uint64_t pageable_copies, deepest_queue;

uint64_t simcuda_pageable_copies(void) {
    pthread_mutex_lock(&sim.lock);
    uint64_t copies = pageable_copies;
    pthread_mutex_unlock(&sim.lock);
    return copies;
}

uint64_t simcuda_deepest_queue(void) {
    pthread_mutex_lock(&sim.lock);
    uint64_t deepest = deepest_queue;
    deepest_queue = 0;
    pthread_mutex_unlock(&sim.lock);
    return deepest;
}

static bool on_device(CUdeviceptr address) {
    return address_is_device(address);
}

/* Queues a copy. A copy from pageable memory reads the bytes at once. A
 * copy into pageable memory waits for its end. A call that is not
 * asynchronous also waits, unless it has read the bytes already or both
 * ends are on devices. A copy in a graph uses pageable memory whenever the
 * graph runs. */
static CUresult copy(const char *call, Stream *stream, Ends ends,
                     bool asynchronous) {
    Context *context = context_current();
    Op *op = op_new(call, run_copy, stream->object.context);
    op->to = ends.to;
    op->from = ends.from;
    op->size = ends.size;
    op->to_context = ends.to_context != NULL ? ends.to_context : context;
    op->from_context = ends.from_context != NULL ? ends.from_context : context;
    CUresult code = CUDA_SUCCESS;
    if (ends.size != 0)
        code = look(call, op->to_context, ends.to, ends.size, WRITE,
                    ends.way == TO_HOST, ends.way == UNIFIED, &op->to_pageable);
    if (code == CUDA_SUCCESS && ends.size != 0)
        code = look(call, op->from_context, ends.from, ends.size, READ,
                    ends.way == TO_DEVICE, ends.way == UNIFIED,
                    &op->from_pageable);
    if (code != CUDA_SUCCESS || ends.size == 0) {
        op_free(op);
        return code;
    }
    if (!op->to_pageable && !op->from_pageable &&
        ends.to < ends.from + ends.size && ends.from < ends.to + ends.size) {
        op_free(op);
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "0x%llx to 0x%llx, %zu bytes, overlap", ends.from, ends.to,
                    ends.size);
    }
    bool captured = stream->capture != NULL;
    bool both_on_device = on_device(ends.to) && on_device(ends.from);
    bool wait = op->to_pageable ||
                (!asynchronous && !both_on_device && !op->from_pageable);
    if (op->from_pageable && !op->to_pageable && !captured) {
        op->payload = payload_new(ends.size);
        if (op->payload == NULL) {
            op_free(op);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        memcpy(op->payload->bytes, (const void *)(uintptr_t)ends.from,
               ends.size);
    }
    if (op->to_pageable || op->from_pageable)
        pageable_copies++;
    code = stream_submit(stream, op);
    if (code == CUDA_SUCCESS &&
        stream->submitted - stream->done > deepest_queue)
        deepest_queue = stream->submitted - stream->done;
    return code == CUDA_SUCCESS && wait && !captured ? stream_wait(stream)
                                                     : code;
}

/* A call that is not asynchronous uses the legacy stream. */
static CUresult copy_now(const char *call, Ends ends) {
    return copy(call, stream_legacy(context_current()), ends, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    SIM_CALL(IN_CONTEXT);
    return copy_now(__func__, (Ends){.to = to,
                                     .from = (CUdeviceptr)(uintptr_t)from,
                                     .size = size,
                                     .way = TO_DEVICE});
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    SIM_CALL(IN_CONTEXT);
    return copy_now(__func__, (Ends){.to = (CUdeviceptr)(uintptr_t)to,
                                     .from = from,
                                     .size = size,
                                     .way = TO_HOST});
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
    SIM_CALL(IN_CONTEXT);
    return copy_now(
        __func__,
        (Ends){.to = to, .from = from, .size = size, .way = ON_DEVICE});
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
    SIM_CALL(IN_CONTEXT);
    return copy_now(
        __func__, (Ends){.to = to, .from = from, .size = size, .way = UNIFIED});
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size,
                              CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    return copy(__func__, stream,
                (Ends){.to = to,
                       .from = (CUdeviceptr)(uintptr_t)from,
                       .size = size,
                       .way = TO_DEVICE},
                true);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size,
                              CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    return copy(__func__, stream,
                (Ends){.to = (CUdeviceptr)(uintptr_t)to,
                       .from = from,
                       .size = size,
                       .way = TO_HOST},
                true);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size,
                              CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    return copy(__func__, stream,
                (Ends){.to = to, .from = from, .size = size, .way = ON_DEVICE},
                true);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                       CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    return copy(__func__, stream,
                (Ends){.to = to, .from = from, .size = size, .way = UNIFIED},
                true);
}

static CUresult peer_ends(const char *call, Ends *ends, CUcontext to,
                          CUcontext from) {
    ends->to_context = context_find(to);
    ends->from_context = context_find(from);
    ends->way = ON_DEVICE;
    if (ends->to_context == NULL || !ends->to_context->object.alive ||
        ends->from_context == NULL || !ends->from_context->object.alive)
        return fail(call, CUDA_ERROR_INVALID_CONTEXT,
                    "dstContext or srcContext is not a live context");
    const Range *to_range = range_find(ends->to),
                *from_range = range_find(ends->from);
    if ((to_range != NULL && to_range->kind == RANGE_DEVICE &&
         to_range->device != ends->to_context->device) ||
        (from_range != NULL && from_range->kind == RANGE_DEVICE &&
         from_range->device != ends->from_context->device))
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "dstDevice 0x%llx or srcDevice 0x%llx is of another device "
                    "than its context",
                    ends->to, ends->from);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t size) {
    SIM_CALL(IN_CONTEXT);
    Ends ends = {.to = to, .from = from, .size = size};
    CUresult code = peer_ends(__func__, &ends, to_context, from_context);
    return code != CUDA_SUCCESS ? code : copy_now(__func__, ends);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context,
                           CUdeviceptr from, CUcontext from_context,
                           size_t size, CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    Ends ends = {.to = to, .from = from, .size = size};
    FIND_STREAM(handle, &stream);
    CUresult code = peer_ends(__func__, &ends, to_context, from_context);
    return code != CUDA_SUCCESS ? code : copy(__func__, stream, ends, true);
}

/* Fills with values of 1, 2 or 4 bytes. */
#include "internal.h"

static CUresult fill(const char *call, Stream *stream, CUdeviceptr to,
                     unsigned value, unsigned value_size, size_t count) {
    Context *context = context_current();
    size_t size = count * value_size;
    if (to % value_size != 0 || size / value_size != count)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "0x%llx is not aligned to %u, or %zu is too large", to,
                    value_size, count);
    if (size == 0)
        return CUDA_SUCCESS;
    const char *why = range_forbids(context, to, size, WRITE, true);
    if (why == NULL && !peer_reaches(context, range_find(to)))
        why = "it is a peer's, and access was not enabled";
    if (why != NULL)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "0x%llx, %zu bytes: %s", to,
                    size, why);
    Op *op = op_new(call, run_fill, stream->object.context);
    op->to = to;
    op->size = size;
    op->value = value;
    op->value_size = value_size;
    return stream_submit(stream, op);
}

/* Asynchronous for memory of a device, although the name of the call does
 * not say so. */
static CUresult fill_now(const char *call, CUdeviceptr to, unsigned value,
                         unsigned value_size, size_t count) {
    Stream *stream = stream_legacy(context_current());
    CUresult code = fill(call, stream, to, value, value_size, count);
    if (code == CUDA_SUCCESS && !address_is_device(to))
        return stream_wait(stream);
    return code;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    SIM_CALL(IN_CONTEXT);
    return fill_now(__func__, to, value, 1, count);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    SIM_CALL(IN_CONTEXT);
    return fill_now(__func__, to, value, 2, count);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
    SIM_CALL(IN_CONTEXT);
    return fill_now(__func__, to, value, 4, count);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    return fill(__func__, stream, to, value, 1, count);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                          CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    return fill(__func__, stream, to, value, 2, count);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    return fill(__func__, stream, to, value, 4, count);
}

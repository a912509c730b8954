/* Fills with values of 1, 2 or 4 bytes: of memory, or of the first columns of rows. */
#include "internal.h"

/* A matrix: width values are filled in each row, and the rows are pitch bytes apart.
 * The pitch of a single row does not matter. */
typedef struct Matrix {
    CUdeviceptr to;
    unsigned value_size;
    size_t width, rows, pitch;
} Matrix;

/* Finds the bytes from the first value to the end of the last one. */
static bool matrix_size(const Matrix *m, size_t *size) {
    size_t row, before;
    return !__builtin_mul_overflow(m->width, (size_t)m->value_size, &row) &&
           !__builtin_mul_overflow(m->rows - 1, m->pitch, &before) &&
           !__builtin_add_overflow(before, row, size);
}

static CUresult fill_matrix(const char *call, Stream *stream, Matrix m,
                            unsigned value) {
    Context *context = context_current();
    size_t size = 0;
    if (m.rows == 1)
        m.pitch = 0;
    if (m.to % m.value_size != 0 || m.pitch % m.value_size != 0)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "0x%llx or the pitch %zu is not aligned to %u", m.to,
                    m.pitch, m.value_size);
    if (m.width == 0 || m.rows == 0)
        return CUDA_SUCCESS;
    if (!matrix_size(&m, &size))
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "%zu rows of %zu values are too large", m.rows, m.width);
    if (m.rows > 1 && m.pitch < m.width * m.value_size)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "the pitch %zu is less than a row of %zu values", m.pitch,
                    m.width);
    const char *why = range_forbids(context, m.to, size, WRITE, true);
    if (why == NULL && !peer_reaches(context, range_find(m.to)))
        why = "it is a peer's, and access was not enabled";
    if (why != NULL)
        return fail(call, CUDA_ERROR_INVALID_VALUE, "0x%llx, %zu bytes: %s",
                    m.to, size, why);
    Op *op = op_new(call, run_fill, stream->object.context);
    op->to = m.to;
    op->size = size;
    op->value = value;
    op->value_size = m.value_size;
    op->rows = m.rows;
    op->row_size = m.width * m.value_size;
    op->pitch = m.pitch;
    return stream_submit(stream, op);
}

static CUresult fill(const char *call, Stream *stream, CUdeviceptr to,
                     unsigned value, unsigned value_size, size_t count) {
    Matrix row = {to, value_size, count, 1, 0};
    return fill_matrix(call, stream, row, value);
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

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value,
                            size_t width, size_t height, CUstream handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    FIND_STREAM(handle, &stream);
    Matrix matrix = {to, 4, width, height, pitch};
    return fill_matrix(__func__, stream, matrix, value);
}

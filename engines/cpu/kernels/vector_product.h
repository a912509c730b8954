/*
 * Products with one row on the left. Such a product reads each element of the
 * right matrix once, so it is as fast as memory if the reads are one stream and
 * the sums do not wait for each other: each column has several sums.
 */
#ifndef FK_VECTOR_PRODUCT_H
#define FK_VECTOR_PRODUCT_H

#include "panels.h"

/* FK_LANES elements of a plain type. */
FK_INLINE fk_v fk_load_type(const int type, const char *from) {
    switch (type) {
    case FK_F32:
        return fk_load((const float *)(const void *)from);
    case FK_F16:
        return fk_from_f16(fk_load_h(from));
    case FK_BF16:
        return fk_from_bf16(fk_load_h(from));
    default:
        return fk_from_i8(fk_load_b(from));
    }
}

/* The number of panels that are read at the same time. With several streams more
 * reads of memory are in flight than with one. */
#define FK_STREAMS 4

/* Rows that are summed before their sum is added to the sum of all rows. It
 * bounds the rounding errors of long columns. */
#define FK_SUMMED 512

/* How many bytes before their use a stream is asked for. */
#define FK_AHEAD 2048
/* Blocks are multiplied more slowly than plain types. */
#if FK_LANES == 8
#define FK_BLOCKS_AHEAD 3072
#else
#define FK_BLOCKS_AHEAD 2048
#endif

/* Asks for later bytes of a stream. The processor looks ahead by itself, but only
 * within a page, and a stream of few bytes in each step leaves it too little time. */
FK_INLINE void fk_ask_for(const char *at, const int bytes) {
    FK_UNROLL for (int i = 0; i < bytes; i += 64) __builtin_prefetch(at + i);
}

/* y of some panels = a times panels of a plain type, which are distance bytes
 * apart. */
FK_INLINE void fk_panel_product(const int type, const int streams, int64_t k,
                                const float *a, const char *b, int64_t distance,
                                float *y) {
    const int64_t size = fk_bytes(type);
    memset(y, 0, 4 * (size_t)(streams * FK_WIDTH));
    for (int64_t from = 0; from < k; from += FK_SUMMED) {
        int64_t rows = k - from < FK_SUMMED ? k - from : FK_SUMMED;
        fk_v sum[FK_STREAMS][FK_VECTORS];
        FK_UNROLL for (int s = 0; s < streams; s++)
            FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) sum[s][v] =
                fk_splat(0);
        for (int64_t i = 0; i < rows; i++, b += FK_WIDTH * size) {
            fk_v left = fk_splat(a[from + i]);
            FK_UNROLL for (int s = 0; s < streams; s++)
                fk_ask_for(b + s * distance + FK_AHEAD, (int)(FK_WIDTH * size));
            FK_UNROLL for (int s = 0; s < streams; s++)
                FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) sum[s][v] +=
                left *
                fk_load_type(type, b + s * distance + v * FK_LANES * size);
        }
        FK_UNROLL for (int s = 0; s < streams; s++)
            FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) {
            float *to = y + s * FK_WIDTH + v * FK_LANES;
            fk_store(to, fk_load(to) + sum[s][v]);
        }
    }
}

/* All sums go along k in one order, so the bits do not depend on how many panels
 * are read at the same time. */
FK_INLINE void fk_panels_product(const int type, int64_t panels, int64_t k,
                                 const float *a, const char *b,
                                 int64_t distance, float *y) {
    switch (panels) {
    case 4:
        fk_panel_product(type, 4, k, a, b, distance, y);
        return;
    case 3:
        fk_panel_product(type, 3, k, a, b, distance, y);
        return;
    case 2:
        fk_panel_product(type, 2, k, a, b, distance, y);
        return;
    default:
        fk_panel_product(type, 1, k, a, b, distance, y);
    }
}

/* The lower and the upper rows of a group have sums of their own where there are
 * registers for both, because one sum would wait for each product. */
#if FK_LANES == 16
#define FK_HALVES 2
#else
#define FK_HALVES 1
#endif

/* The same for a block type: the scale multiplies the sum of a group once. It
 * computes some vectors of each panel. */
FK_INLINE void fk_block_product(const int type, const int streams,
                                const int vectors, int64_t k, const float *a,
                                const char *b, int64_t distance, float *y) {
    const int each = type == FK_Q8_0 ? 2 * FK_WIDTH : FK_WIDTH;
    const int shift = fk_block_shift(type);
    memset(y, 0, 4 * (size_t)(streams * FK_WIDTH));
    for (int64_t group = 0; group < k / FK_BLOCK; group++, a += FK_BLOCK) {
        const char *numbers = b + 2 * FK_WIDTH;
        fk_v sum[FK_HALVES][FK_STREAMS][FK_VECTORS];
        FK_UNROLL for (int h = 0; h < FK_HALVES; h++)
            FK_UNROLL for (int s = 0; s < streams; s++)
                FK_UNROLL for (int v = 0; v < vectors; v++) sum[h][s][v] =
                    fk_splat(0);
        for (int i = 0; i < FK_BLOCK / 2; i++) {
            fk_v left = fk_splat(a[i]), right = fk_splat(a[i + 16]);
            FK_UNROLL for (int s = 0; s < streams; s++)
                fk_ask_for(b + s * distance + FK_BLOCKS_AHEAD + i * each, each);
            FK_UNROLL for (int s = 0; s < streams; s++)
                FK_UNROLL for (int v = 0; v < vectors; v++) {
                const char *of = numbers + s * distance;
                const fk_vi low =
                    fk_block_row(type, of, i, v * FK_LANES) >> shift;
                const fk_vi high =
                    fk_block_row(type, of, i + 16, v * FK_LANES) >> shift;
                sum[0][s][v] += left * __builtin_convertvector(low, fk_v);
                sum[FK_HALVES - 1][s][v] +=
                    right * __builtin_convertvector(high, fk_v);
            }
        }
        FK_UNROLL for (int s = 0; s < streams; s++)
            FK_UNROLL for (int v = 0; v < vectors; v++) {
            float *to = y + s * FK_WIDTH + v * FK_LANES;
            fk_v scale =
                fk_from_f16(fk_load_h(b + s * distance + 2 * v * FK_LANES));
            fk_v both = sum[0][s][v];
            if (FK_HALVES == 2)
                both += sum[FK_HALVES - 1][s][v];
            fk_store(to, fk_load(to) + both * scale);
        }
        b = numbers + FK_BLOCK / 2 * each;
    }
}

FK_INLINE void fk_block_panel(int64_t type, const int vectors, int64_t k,
                              const float *a, const char *b, int64_t distance,
                              float *y) {
    if (type == FK_Q8_0)
        fk_block_product(FK_Q8_0, 1, vectors, k, a, b, distance, y);
    else
        fk_block_product(FK_Q4_0, 1, vectors, k, a, b, distance, y);
}

/* Columns of 1 to FK_STREAMS panels of a packed matrix with k rows. y has place for
 * whole panels; what is behind the columns is of no use. */
FK_NOINLINE void fk_packed_product(int64_t type, int64_t columns, int64_t k,
                                   const float *a, const char *b, float *y) {
    const int64_t panels = fk_panels(columns);
    const int64_t distance = fk_panel_bytes(type, k);
    switch (type) {
    case FK_F32:
        fk_panels_product(FK_F32, panels, k, a, b, distance, y);
        return;
    case FK_F16:
        fk_panels_product(FK_F16, panels, k, a, b, distance, y);
        return;
    case FK_BF16:
        fk_panels_product(FK_BF16, panels, k, a, b, distance, y);
        return;
    case FK_I8:
        fk_panels_product(FK_I8, panels, k, a, b, distance, y);
        return;
    }
    if (panels == FK_STREAMS) {
        if (type == FK_Q8_0)
            fk_block_product(FK_Q8_0, FK_STREAMS, FK_VECTORS, k, a, b, distance,
                             y);
        else
            fk_block_product(FK_Q4_0, FK_STREAMS, FK_VECTORS, k, a, b, distance,
                             y);
        return;
    }
    for (int64_t p = 0; p < panels; p++, b += distance, y += FK_WIDTH)
        if (columns - p * FK_WIDTH <= FK_LANES)
            fk_block_panel(type, 1, k, a, b, distance, y);
        else
            fk_block_panel(type, FK_VECTORS, k, a, b, distance, y);
}

/* The number of columns of a b that is not packed that are computed together.
 * Their sums stay in the L1 cache, and the parts that are read of each row
 * are long. */
#define FK_RUN 1024

/* Multiplies each row of b by one number of a, and adds it to y. */
FK_INLINE void fk_add_rows(const int type, const int rows, const float *a,
                           const char *b, int64_t row, int64_t columns,
                           float *y) {
    const int64_t size = fk_bytes(type);
    int64_t j = 0;
    for (; j + FK_LANES <= columns; j += FK_LANES) {
        fk_v sum = fk_load(y + j);
        FK_UNROLL for (int c = 0; c < rows; c++) sum +=
            fk_splat(a[c]) * fk_load_type(type, b + (c * row + j) * size);
        fk_store(y + j, sum);
    }
    for (; j < columns; j++)
        for (int c = 0; c < rows; c++)
            y[j] += a[c] * fk_get(type, b + (c * row + j) * size);
}

/* A few vectors of columns. The sums stay in registers; each column has four. */
FK_INLINE void fk_narrow_product(const int type, const int vectors, int64_t k,
                                 const float *a, const char *b, int64_t step,
                                 float *y) {
    fk_v sum[4][2];
    FK_UNROLL for (int c = 0; c < 4; c++)
        FK_UNROLL for (int v = 0; v < vectors; v++) sum[c][v] = fk_splat(0);
    int64_t i = 0;
    for (; i + 4 <= k; i += 4)
        FK_UNROLL for (int c = 0; c < 4; c++, b += step) {
            fk_v left = fk_splat(a[i + c]);
            FK_UNROLL for (int v = 0; v < vectors; v++) sum[c][v] +=
                left * fk_load_type(type, b + v * FK_LANES * fk_bytes(type));
        }
    for (; i < k; i++, b += step)
        FK_UNROLL for (int v = 0; v < vectors; v++) sum[0][v] +=
            fk_splat(a[i]) *
            fk_load_type(type, b + v * FK_LANES * fk_bytes(type));
    FK_UNROLL for (int v = 0; v < vectors; v++) fk_store(
        y + v * FK_LANES, (sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v]));
}

/* Columns of a matrix whose columns are adjacent in memory. The form depends on the
 * columns of the whole matrix, so the bits do not depend on the parts. */
FK_INLINE void fk_rows_product(const int type, const struct fk_matmul *r,
                               const float *a, const char *b, int64_t columns,
                               float *y) {
    const int64_t k = r->k, row = r->b_row, step = row * fk_bytes(type);
    if (r->n == FK_LANES) {
        fk_narrow_product(type, 1, k, a, b, step, y);
        return;
    }
    if (r->n == 2 * FK_LANES) {
        fk_narrow_product(type, 2, k, a, b, step, y);
        return;
    }
    memset(y, 0, 4 * (size_t)columns);
    int64_t i = 0;
    for (; i + 4 <= k; i += 4)
        fk_add_rows(type, 4, a + i, b + i * step, row, columns, y);
    for (; i < k; i++)
        fk_add_rows(type, 1, a + i, b + i * step, row, columns, y);
}

/* One column of a matrix with adjacent rows (a dot product). */
FK_INLINE float fk_dot(const int type, int64_t k, const float *a,
                       const char *b) {
    const int64_t size = fk_bytes(type);
    fk_v sum[4] = {fk_splat(0), fk_splat(0), fk_splat(0), fk_splat(0)};
    int64_t i = 0;
    for (; i + 4 * FK_LANES <= k; i += 4 * FK_LANES)
        FK_UNROLL for (int c = 0; c < 4; c++) sum[c] +=
            fk_load(a + i + c * FK_LANES) *
            fk_load_type(type, b + (i + c * FK_LANES) * size);
    for (; i + FK_LANES <= k; i += FK_LANES)
        sum[0] += fk_load(a + i) * fk_load_type(type, b + i * size);
    float total = fk_sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; i < k; i++)
        total += a[i] * fk_get(type, b + i * size);
    return total;
}

/* Four columns whose rows are adjacent, if each is short. The sums have the bits
 * of fk_dot. */
FK_INLINE void fk_short_dots(const int type, int64_t k, const float *a,
                             const char *b, int64_t step, float *y) {
    const int64_t size = fk_bytes(type);
    fk_v sum[4] = {fk_splat(0), fk_splat(0), fk_splat(0), fk_splat(0)};
    int64_t i = 0;
    for (; i + FK_LANES <= k; i += FK_LANES) {
        const fk_v left = fk_load(a + i);
        FK_UNROLL for (int c = 0; c < 4; c++) sum[c] +=
            left * fk_load_type(type, b + c * step + i * size);
    }
    fk_sum_lanes_of_four(sum, y);
    for (; i < k; i++)
        for (int c = 0; c < 4; c++)
            y[c] += a[i] * fk_get(type, b + c * step + i * size);
}

/* Columns of a matrix whose rows are adjacent in memory. */
FK_INLINE void fk_dots(const int type, int64_t k, const float *a, const char *b,
                       int64_t column, int64_t columns, float *y) {
    const int64_t step = column * fk_bytes(type);
    int64_t j = 0;
    if (k < 4 * FK_LANES)
        for (; j + 4 <= columns; j += 4)
            fk_short_dots(type, k, a, b + j * step, step, y + j);
    for (; j < columns; j++)
        y[j] = fk_dot(type, k, a, b + j * step);
}

/* Whether the strides of a b that is not packed suit a product with one row. */
FK_INLINE int fk_is_plain_product(const struct fk_matmul *r) {
    return r->b_type != FK_I8 && (r->b_row == 1 || r->b_column == 1);
}

/* Up to FK_RUN columns of a b that is not packed. */
FK_NOINLINE void fk_plain_product(const struct fk_matmul *r, const float *a,
                                  const char *b, int64_t columns, float *y) {
    const int64_t type = r->b_type;
    if (r->b_column == 1) {
        if (type == FK_F32)
            fk_rows_product(FK_F32, r, a, b, columns, y);
        else if (type == FK_F16)
            fk_rows_product(FK_F16, r, a, b, columns, y);
        else
            fk_rows_product(FK_BF16, r, a, b, columns, y);
        return;
    }
    if (type == FK_F32)
        fk_dots(FK_F32, r->k, a, b, r->b_column, columns, y);
    else if (type == FK_F16)
        fk_dots(FK_F16, r->k, a, b, r->b_column, columns, y);
    else
        fk_dots(FK_BF16, r->k, a, b, r->b_column, columns, y);
}

#endif

/*
 * Operations on rows: Softmax, LayerNormalization, RMSNormalization. A row is a
 * run of n elements with a step; rows are computed one after the other. Sums are
 * in F32 over a tile, and in double over the tiles.
 */
#ifndef FK_ROWS_H
#define FK_ROWS_H

#include "map.h"

/* One row: the addresses of its first elements. */
struct fk_row {
    const struct fk_rows *request;
    const char *x, *residual;
    char *y, *sum;
};

FK_INLINE double fk_sum_of(const float *x, int64_t n) {
    fk_v sum[2] = {fk_splat(0), fk_splat(0)};
    int64_t i = 0;
    for (; i + 2 * FK_LANES <= n; i += 2 * FK_LANES) {
        sum[0] += fk_load(x + i);
        sum[1] += fk_load(x + i + FK_LANES);
    }
    for (; i + FK_LANES <= n; i += FK_LANES)
        sum[0] += fk_load(x + i);
    if (i < n)
        sum[1] += fk_load_part(x + i, n - i, 0);
    return fk_sum_lanes(sum[0] + sum[1]);
}

/* The sum of (x - center)^2. */
FK_INLINE double fk_squares_of(const float *x, int64_t n, float center) {
    fk_v c = fk_splat(center), sum = fk_splat(0);
    int64_t i = 0;
    for (; i + FK_LANES <= n; i += FK_LANES) {
        fk_v d = fk_load(x + i) - c;
        sum += d * d;
    }
    if (i < n) {
        fk_v d = fk_load_part(x + i, n - i, center) - c;
        /* center - center is NaN for an infinite center, as in a whole vector. */
        d = center - center == 0 ? d : fk_splat(center - center);
        sum += d * d;
    }
    return fk_sum_lanes(sum);
}

/* The largest of some elements and of a number that is not NaN; NaN if there is
 * one. */
FK_INLINE float fk_largest_of(const float *x, int64_t n, float largest) {
    fk_v most = fk_splat(largest), odd = fk_splat(0);
    for (int64_t i = 0; i < n; i += FK_LANES) {
        fk_v v = n - i < FK_LANES ? fk_load_part(x + i, n - i, largest)
                                  : fk_load(x + i);
        most = fk_max(v, most);
        odd = fk_select(v != v, v, odd);
    }
    if (!fk_any(odd != odd))
        return fk_largest_lane(most);
    float part[FK_LANES];
    fk_store(part, odd);
    for (int l = 0; l < FK_LANES; l++)
        if (part[l] != part[l])
            largest = part[l];
    return largest;
}

/* Elements first..first+n of the row, with the residual added. */
static const float *fk_row_tile(const struct fk_row *row, float *buffer,
                                int64_t first, int64_t n) {
    const struct fk_rows *r = row->request;
    const char *from = row->x + first * r->x_step * fk_bytes(r->x_type);
    const float *x = fk_run_of(buffer, r->x_type, from, r->x_step, n);
    if (!row->residual)
        return x;
    float other[FK_TILE_ELEMENTS];
    from =
        row->residual + first * r->residual_step * fk_bytes(r->residual_type);
    const float *z =
        fk_run_of(other, r->residual_type, from, r->residual_step, n);
    fk_map_add(n, x, z, buffer, 0);
    return buffer;
}

/* Where results of a tile are computed: in y if it has adjacent elements of F32,
 * else in the buffer. */
FK_INLINE float *fk_result_tile(const struct fk_row *row, float *buffer,
                                int64_t first) {
    const struct fk_rows *r = row->request;
    char *to = row->y + first * r->y_step * fk_bytes(r->y_type);
    return r->y_type == FK_F32 && r->y_step == 1 && (uintptr_t)to % 4 == 0
               ? (float *)(void *)to
               : buffer;
}

/* Writes what was computed in the buffer. */
FK_INLINE void fk_write_tile(const struct fk_row *row, const float *buffer,
                             const float *values, int64_t first, int64_t n) {
    const struct fk_rows *r = row->request;
    if (values == buffer)
        fk_write(r->y_type, row->y + first * r->y_step * fk_bytes(r->y_type),
                 r->y_step, values, n);
}

#define FK_EACH_TILE(r, first, count)                                  \
    for (int64_t first = 0, count;                                     \
         count = (r)->n - first < FK_TILE_ELEMENTS ? (r)->n - first    \
                                                   : FK_TILE_ELEMENTS, \
                 first < (r)->n;                                       \
         first += count)

/* A loop over vectors of x. y may be x, for which the compiler would make a loop
 * over elements. */
#define FK_ROWS_OF(name, value)                                      \
    FK_NOINLINE void name(int64_t n, const float *from, float shift, \
                          float factor, float *to) {                 \
        const fk_v s = fk_splat(shift), f = fk_splat(factor);        \
        (void)f;                                                     \
        int64_t i = 0;                                               \
        for (; i + FK_LANES <= n; i += FK_LANES) {                   \
            const fk_v x = fk_load(from + i) - s;                    \
            fk_store(to + i, value);                                 \
        }                                                            \
        if (i < n) {                                                 \
            const fk_v x = fk_load_part(from + i, n - i, shift) - s; \
            fk_store_part(to + i, value, n - i);                     \
        }                                                            \
    }

/* (x - shift) * factor, and e^(x - shift). */
FK_ROWS_OF(fk_shifted, x *f)
FK_ROWS_OF(fk_exponentials, fk_exp(x))

static void fk_softmax_row(const struct fk_row *row) {
    const struct fk_rows *r = row->request;
    float buffer[FK_TILE_ELEMENTS], y[FK_TILE_ELEMENTS];
    float largest = -__builtin_inff();
    FK_EACH_TILE(r, first, n) {
        largest = fk_largest_of(fk_row_tile(row, buffer, first, n), n, largest);
        if (largest != largest)
            break;
    }
    /* An output of F32 holds the exponentials until their sum is known. Another
     * type would round them twice, so they are computed again. */
    const int is_kept = r->y_type == FK_F32;
    const char *kept = row->y;
    double sum = 0;
    FK_EACH_TILE(r, first, n) {
        float *to = is_kept ? fk_result_tile(row, y, first) : y;
        fk_exponentials(n, fk_row_tile(row, buffer, first, n), largest, 1, to);
        sum += fk_sum_of(to, n);
        if (is_kept)
            fk_write_tile(row, y, to, first, n);
    }
    const float factor = (float)(1 / sum);
    FK_EACH_TILE(r, first, n) {
        float *to = fk_result_tile(row, y, first);
        if (!is_kept)
            fk_exponentials(n, fk_row_tile(row, buffer, first, n), largest, 1,
                            to);
        else if (to == y)
            fk_read(y, FK_F32, kept + first * r->y_step * 4, r->y_step, n);
        for (int64_t i = 0; i < n; i++)
            to[i] *= factor;
        fk_write_tile(row, y, to, first, n);
    }
}

/* (x - center) * factor * scale + bias. */
static void fk_write_normalized(const struct fk_row *row, float center,
                                float factor) {
    const struct fk_rows *r = row->request;
    float buffer[FK_TILE_ELEMENTS], other[FK_TILE_ELEMENTS];
    float y[FK_TILE_ELEMENTS];
    FK_EACH_TILE(r, first, n) {
        const float *x = fk_row_tile(row, buffer, first, n);
        if (r->sum)
            fk_write(r->sum_type,
                     row->sum + first * r->sum_step * fk_bytes(r->sum_type),
                     r->sum_step, x, n);
        /* y may be x. */
        float *to = fk_result_tile(row, y, first);
        fk_shifted(n, x, center, factor, to);
        if (r->scale) {
            const float *scale =
                fk_run_of(other, r->scale_type,
                          fk_at(r->scale, r->scale_type, first * r->scale_step),
                          r->scale_step, n);
            fk_map_mul(n, to, scale, to, 0);
        }
        if (r->bias) {
            const float *bias =
                fk_run_of(other, r->bias_type,
                          fk_at(r->bias, r->bias_type, first * r->bias_step),
                          r->bias_step, n);
            fk_map_add(n, to, bias, to, 0);
        }
        fk_write_tile(row, y, to, first, n);
    }
}

static void fk_normalize_row(const struct fk_row *row, int64_t index) {
    const struct fk_rows *r = row->request;
    float buffer[FK_TILE_ELEMENTS];
    double mean = 0, squares = 0;
    if (r->op == FK_ROWS_LAYER_NORM) {
        FK_EACH_TILE(r, first, n)
        mean += fk_sum_of(fk_row_tile(row, buffer, first, n), n);
        mean /= (double)r->n;
    }
    FK_EACH_TILE(r, first, n)
    squares +=
        fk_squares_of(fk_row_tile(row, buffer, first, n), n, (float)mean);
    float factor =
        1 / fk_sqrt_one((float)(squares / (double)r->n + r->epsilon));
    if (r->mean)
        memcpy((char *)fk_at(r->mean, FK_F32, index), &(float){(float)mean}, 4);
    if (r->deviation)
        memcpy((char *)fk_at(r->deviation, FK_F32, index), &factor, 4);
    fk_write_normalized(row, (float)mean, factor);
}

static int64_t fk_rows_count(const struct fk_rows *r) {
    int64_t n = 1;
    for (int64_t d = 0; d < r->rank; d++)
        n *= r->dims[d];
    return n;
}

static int64_t fk_rows_parts(const void *request) {
    const struct fk_rows *r = request;
    int64_t rows = fk_rows_count(r), parts = 1 + rows * (r->n + 1) / 8192;
    parts = parts < rows ? parts : rows;
    return parts > 1 ? parts : 1;
}

static void fk_rows_run(const void *request, int64_t part, int64_t parts,
                        char *workspace) {
    (void)workspace;
    const struct fk_rows *r = request;
    const struct fk_range rows = fk_range_of(fk_rows_count(r), part, parts);
    for (int64_t i = rows.first; i < rows.end; i++) {
        int64_t x = 0, residual = 0, y = 0, sum = 0, rest = i;
        for (int64_t d = r->rank - 1; d >= 0; d--) {
            int64_t at = rest % r->dims[d];
            rest /= r->dims[d];
            x += at * r->x_strides[d];
            y += at * r->y_strides[d];
            residual += at * r->residual_strides[d];
            sum += at * r->sum_strides[d];
        }
        struct fk_row row = {r, fk_at(r->x, r->x_type, x), NULL,
                             (char *)fk_at(r->y, r->y_type, y), NULL};
        if (r->residual)
            row.residual = fk_at(r->residual, r->residual_type, residual);
        if (r->sum)
            row.sum = (char *)fk_at(r->sum, r->sum_type, sum);
        if (r->op == FK_ROWS_SOFTMAX)
            fk_softmax_row(&row);
        else
            fk_normalize_row(&row, i);
    }
}

#endif

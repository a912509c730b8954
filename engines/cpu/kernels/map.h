/*
 * Operations on each element, with broadcasting and any strides.
 *
 * Dimensions that are adjacent for all operands are first merged. Then the last
 * dimension is computed in tiles. An operand of F32 with adjacent elements is used
 * where it is; any other is read into a buffer and written from one.
 */
#ifndef FK_MAP_H
#define FK_MAP_H

#include "elements.h"
#include "math.h"

#define FK_TILE_ELEMENTS 512

typedef void fk_map_run(int64_t n, const float *x, const float *z, float *y,
                        float factor);

/* A loop over vectors of x, z and the factor f. */
#define FK_MAP_OF(name, reads_z, value)                           \
    FK_NOINLINE void fk_map_##name(int64_t n, const float *from,  \
                                   const float *other, float *to, \
                                   float factor) {                \
        const fk_v f = fk_splat(factor);                          \
        (void)f;                                                  \
        int64_t i = 0;                                            \
        for (; i + FK_LANES <= n; i += FK_LANES) {                \
            fk_v x = fk_load(from + i), z = x;                    \
            if (reads_z)                                          \
                z = fk_load(other + i);                           \
            (void)z;                                              \
            fk_store(to + i, value);                              \
        }                                                         \
        if (i < n) {                                              \
            fk_v x = fk_load_part(from + i, n - i, 1), z = x;     \
            if (reads_z)                                          \
                z = fk_load_part(other + i, n - i, 1);            \
            (void)z;                                              \
            fk_store_part(to + i, value, n - i);                  \
        }                                                         \
    }

FK_MAP_OF(copy, 0, x)
FK_MAP_OF(add, 1, x + z)
FK_MAP_OF(sub, 1, x - z)
FK_MAP_OF(mul, 1, x *z)
FK_MAP_OF(div, 1, x / z)
FK_MAP_OF(silu_mul, 1, fk_swish(x, fk_splat(1)) * z)
FK_MAP_OF(sqrt, 0, fk_sqrt(x))
/* NaN stays NaN. */
FK_MAP_OF(relu, 0, fk_select(x < fk_splat(0), fk_splat(0), x))
FK_MAP_OF(tanh, 0, fk_tanh(x))
FK_MAP_OF(erf, 0, fk_erf(x))
FK_MAP_OF(gelu, 0, fk_gelu(x))
FK_MAP_OF(gelu_tanh, 0, fk_gelu_tanh(x))
FK_MAP_OF(swish, 0, fk_swish(x, f))
FK_MAP_OF(exp, 0, fk_exp(x))

FK_NOINLINE void fk_map_pow(int64_t n, const float *x, const float *z, float *y,
                            float factor) {
    (void)factor;
    for (int64_t i = 0; i < n; i++)
        y[i] = fk_pow(x[i], z[i]);
}

static fk_map_run *const fk_maps[FK_MAPS] = {
    [FK_MAP_COPY] = fk_map_copy,
    [FK_MAP_ADD] = fk_map_add,
    [FK_MAP_SUB] = fk_map_sub,
    [FK_MAP_MUL] = fk_map_mul,
    [FK_MAP_DIV] = fk_map_div,
    [FK_MAP_POW] = fk_map_pow,
    [FK_MAP_SILU_MUL] = fk_map_silu_mul,
    [FK_MAP_SQRT] = fk_map_sqrt,
    [FK_MAP_RELU] = fk_map_relu,
    [FK_MAP_TANH] = fk_map_tanh,
    [FK_MAP_ERF] = fk_map_erf,
    [FK_MAP_GELU] = fk_map_gelu,
    [FK_MAP_GELU_TANH] = fk_map_gelu_tanh,
    [FK_MAP_SWISH] = fk_map_swish,
    [FK_MAP_EXP] = fk_map_exp,
};

/* Merges dimensions, and removes those of length 1. The request then has at
 * least one dimension. */
static void fk_merge(struct fk_map *r) {
    int64_t rank = 0;
    for (int64_t d = 0; d < r->rank; d++) {
        const int64_t n = r->dims[d];
        if (n == 1)
            continue;
        if (rank > 0 && r->x_strides[rank - 1] == n * r->x_strides[d] &&
            r->z_strides[rank - 1] == n * r->z_strides[d] &&
            r->y_strides[rank - 1] == n * r->y_strides[d]) {
            r->dims[rank - 1] *= n;
            rank--;
        } else {
            r->dims[rank] = n;
        }
        r->x_strides[rank] = r->x_strides[d];
        r->z_strides[rank] = r->z_strides[d];
        r->y_strides[rank] = r->y_strides[d];
        rank++;
    }
    if (rank == 0) {
        r->dims[0] = 1;
        r->x_strides[0] = r->z_strides[0] = r->y_strides[0] = 1;
        rank = 1;
    }
    r->rank = rank;
}

static int64_t fk_map_elements(const struct fk_map *r) {
    int64_t n = 1;
    for (int64_t d = 0; d < r->rank; d++)
        n *= r->dims[d];
    return n;
}

static int64_t fk_map_parts(const void *request) {
    const struct fk_map *r = request;
    int64_t each = r->op >= FK_MAP_POW ? 4096 : 32768;
    return fk_map_elements(r) / each + 1;
}

/* A run of elements as F32: where they are, or read into the buffer. */
FK_INLINE const float *fk_run_of(float *buffer, int64_t type, const char *from,
                                 int64_t stride, int64_t n) {
    if (type == FK_F32 && (stride == 1 || n == 1) && (uintptr_t)from % 4 == 0)
        return (const float *)(const void *)from;
    if (stride == 0) {
        float value = fk_get(type, from);
        for (int64_t i = 0; i < n; i++)
            buffer[i] = value;
        return buffer;
    }
    fk_read(buffer, type, from, stride, n);
    return buffer;
}

static void fk_map_tile(const struct fk_map *r, const int64_t *at,
                        int64_t first, int64_t n) {
    float x_buffer[FK_TILE_ELEMENTS], z_buffer[FK_TILE_ELEMENTS];
    float y_buffer[FK_TILE_ELEMENTS];
    const int64_t last = r->rank - 1;
    int64_t x = 0, z = 0, y = 0;
    for (int64_t d = 0; d < r->rank; d++) {
        int64_t index = d == last ? first : at[d];
        x += index * r->x_strides[d];
        z += index * r->z_strides[d];
        y += index * r->y_strides[d];
    }
    const float *left = fk_run_of(
        x_buffer, r->x_type, fk_at(r->x, r->x_type, x), r->x_strides[last], n);
    const float *right = NULL;
    if (r->z)
        right = fk_run_of(z_buffer, r->z_type, fk_at(r->z, r->z_type, z),
                          r->z_strides[last], n);
    char *to = (char *)fk_at(r->y, r->y_type, y);
    if (r->y_type == FK_F32 && (r->y_strides[last] == 1 || n == 1) &&
        (uintptr_t)to % 4 == 0) {
        fk_maps[r->op](n, left, right, (float *)(void *)to, (float)r->factor);
        return;
    }
    const float *result = left;
    if (r->op != FK_MAP_COPY) {
        fk_maps[r->op](n, left, right, y_buffer, (float)r->factor);
        result = y_buffer;
    }
    fk_write(r->y_type, to, r->y_strides[last], result, n);
}

static void fk_map_run_part(const void *request, int64_t part, int64_t parts,
                            char *workspace) {
    (void)workspace;
    const struct fk_map *whole = request;
    if (parts == 1 && whole->rank == 1 && whole->dims[0] > 0 &&
        whole->dims[0] <= FK_TILE_ELEMENTS) {
        fk_map_tile(whole, NULL, 0, whole->dims[0]);
        return;
    }
    struct fk_map r = *whole;
    if (!r.z)
        memcpy(r.z_strides, r.x_strides, sizeof r.z_strides);
    if (fk_map_elements(&r) == 0)
        return;
    fk_merge(&r);
    const int64_t last = r.rank - 1, inner = r.dims[last];
    const int64_t each = (inner + FK_TILE_ELEMENTS - 1) / FK_TILE_ELEMENTS;
    const int64_t tiles = fk_map_elements(&r) / inner * each;
    int64_t tile = part * tiles / parts, end = (part + 1) * tiles / parts;
    int64_t at[FK_RANK], rest = tile / each, step = tile % each;
    for (int64_t d = last - 1; d >= 0; d--) {
        at[d] = rest % r.dims[d];
        rest /= r.dims[d];
    }
    for (; tile < end; tile++) {
        int64_t first = step * FK_TILE_ELEMENTS, n = inner - first;
        fk_map_tile(&r, at, first, n < FK_TILE_ELEMENTS ? n : FK_TILE_ELEMENTS);
        if (++step < each)
            continue;
        step = 0;
        for (int64_t d = last - 1; d >= 0 && ++at[d] == r.dims[d]; d--)
            at[d] = 0;
    }
}

#endif

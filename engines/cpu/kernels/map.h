/*
 * Operations on each element, with broadcasting and any strides.
 *
 * Dimensions that are adjacent for all operands are first merged. Then the elements
 * are computed in tiles: a tile has as many of the last dimensions as fit into it,
 * and a part of the one before them. An operand of F32 whose elements of a tile are
 * adjacent is used where it is; any other is read into a buffer and written from
 * one.
 */
#ifndef FK_MAP_H
#define FK_MAP_H

#include "elements.h"
#include "math.h"

#define FK_TILE_ELEMENTS 512
#define FK_LONG_RUN 64

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
FK_MAP_OF(pow, 1, fk_pow(x, z))
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

/* Some of the elements of a request: the dimensions from first on, of which the
 * first one has dims[0] indices. */
struct fk_tile_shape {
    int64_t rank, elements;
    int64_t dims[FK_RANK];
};

/* Whether the elements of a tile are adjacent, in the order of the dimensions. */
FK_INLINE int fk_is_dense(const struct fk_tile_shape *t,
                          const int64_t *strides) {
    int64_t expected = 1;
    for (int64_t d = t->rank - 1; d >= 0; d--) {
        if (t->dims[d] != 1 && strides[d] != expected)
            return 0;
        expected *= t->dims[d];
    }
    return 1;
}

/* Calls `each` for the runs along the last dimension of a tile. `at` is the offset
 * of the run in elements, and `done` counts the elements of the runs before it. */
#define FK_EACH_RUN(t, strides, at, done, each)                        \
    do {                                                               \
        int64_t index_[FK_RANK] = {0}, at = 0;                         \
        const int64_t inner_ = (t)->dims[(t)->rank - 1];               \
        for (int64_t done = 0; done < (t)->elements; done += inner_) { \
            each;                                                      \
            for (int64_t d_ = (t)->rank - 2; d_ >= 0; d_--) {          \
                at += (strides)[d_];                                   \
                if (++index_[d_] < (t)->dims[d_])                      \
                    break;                                             \
                at -= index_[d_] * (strides)[d_];                      \
                index_[d_] = 0;                                        \
            }                                                          \
        }                                                              \
    } while (0)

FK_INLINE int fk_is_one_element(const struct fk_tile_shape *t,
                                const int64_t *strides) {
    for (int64_t d = 0; d < t->rank; d++)
        if (t->dims[d] != 1 && strides[d] != 0)
            return 0;
    return 1;
}

/* A run of elements as F32 in the buffer. */
FK_INLINE void fk_gather_run_of(float *buffer, int64_t type, const char *from,
                                int64_t stride, int64_t n) {
    if (fk_run_of(buffer, type, from, stride, n) != buffer)
        memcpy(buffer, from, 4 * (size_t)n);
}

/* The elements of a tile as F32, in the order of the dimensions. */
static const float *fk_gathered(float *buffer, int64_t type, const char *from,
                                const struct fk_tile_shape *t,
                                const int64_t *strides) {
    const int64_t last = t->rank - 1, n = t->dims[last], step = strides[last];
    if (last == 0)
        return fk_run_of(buffer, type, from, step, n);
    if (fk_is_dense(t, strides))
        return fk_run_of(buffer, type, from, 1, t->elements);
    if (fk_is_one_element(t, strides))
        return fk_run_of(buffer, type, from, 0, t->elements);
    if (type == FK_F32 && n < FK_LANES)
        FK_EACH_RUN(t, strides, at, done, {
            for (int64_t i = 0; i < n; i++)
                memcpy(buffer + done + i, from + 4 * (at + i * step), 4);
        });
    else
        FK_EACH_RUN(t, strides, at, done,
                    fk_gather_run_of(buffer + done, type,
                                     from + at * fk_bytes(type), step, n));
    return buffer;
}

/* Computes a tile. The offsets are those of its first element. */
static void fk_map_tile(const struct fk_map *r, const struct fk_tile_shape *t,
                        int64_t x, int64_t z, int64_t y) {
    float x_buffer[FK_TILE_ELEMENTS], z_buffer[FK_TILE_ELEMENTS];
    float y_buffer[FK_TILE_ELEMENTS];
    const int64_t first = r->rank - t->rank, last = t->rank - 1;
    const int64_t n = t->elements, *strides = r->y_strides + first;
    const float *left =
        fk_gathered(x_buffer, r->x_type, fk_at(r->x, r->x_type, x), t,
                    r->x_strides + first);
    const float *right = NULL;
    if (r->z)
        right = fk_gathered(z_buffer, r->z_type, fk_at(r->z, r->z_type, z), t,
                            r->z_strides + first);
    char *to = (char *)fk_at(r->y, r->y_type, y);
    const int is_dense = fk_is_dense(t, strides);
    if (r->y_type == FK_F32 && is_dense && (uintptr_t)to % 4 == 0) {
        fk_maps[r->op](n, left, right, (float *)(void *)to, (float)r->factor);
        return;
    }
    const float *result = left;
    if (r->op != FK_MAP_COPY) {
        fk_maps[r->op](n, left, right, y_buffer, (float)r->factor);
        result = y_buffer;
    }
    if (is_dense)
        fk_write(r->y_type, to, 1, result, n);
    else
        FK_EACH_RUN(t, strides, at, done,
                    fk_write(r->y_type, to + at * fk_bytes(r->y_type),
                             strides[last], result + done, t->dims[last]));
}

static void fk_map_run_part(const void *request, int64_t part, int64_t parts,
                            char *workspace) {
    (void)workspace;
    const struct fk_map *whole = request;
    const int64_t elements = fk_map_elements(whole);
    if (elements == 0)
        return;
    struct fk_tile_shape tile;
    if (parts == 1 && whole->rank > 0 && elements <= FK_TILE_ELEMENTS) {
        tile.rank = whole->rank;
        tile.elements = elements;
        memcpy(tile.dims, whole->dims, sizeof tile.dims);
        fk_map_tile(whole, &tile, 0, 0, 0);
        return;
    }
    struct fk_map r = *whole;
    if (!r.z)
        memcpy(r.z_strides, r.x_strides, sizeof r.z_strides);
    fk_merge(&r);
    /* The dimensions behind `split` are whole in each tile. A long run is a tile of
     * its own, because operands that repeat are used where they are then. */
    int64_t split = r.rank - 1, inner = 1;
    while (split > 0 && inner < FK_LONG_RUN &&
           inner * r.dims[split] <= FK_TILE_ELEMENTS)
        inner *= r.dims[split--];
    const int64_t rows = inner < FK_LONG_RUN ? FK_TILE_ELEMENTS / inner : 1;
    const int64_t each = (r.dims[split] + rows - 1) / rows;
    const int64_t tiles = elements / (inner * r.dims[split]) * each;
    tile.rank = r.rank - split;
    memcpy(tile.dims, r.dims + split, 8 * (size_t)tile.rank);
    const struct fk_range range = fk_range_of(tiles, part, parts);
    for (int64_t i = range.first; i < range.end; i++) {
        int64_t from = i % each * rows, rest = i / each;
        int64_t x = from * r.x_strides[split], z = from * r.z_strides[split];
        int64_t y = from * r.y_strides[split];
        for (int64_t d = split - 1; d >= 0; d--) {
            const int64_t at = rest % r.dims[d];
            rest /= r.dims[d];
            x += at * r.x_strides[d];
            z += at * r.z_strides[d];
            y += at * r.y_strides[d];
        }
        const int64_t left = r.dims[split] - from;
        tile.dims[0] = left < rows ? left : rows;
        tile.elements = tile.dims[0] * inner;
        fk_map_tile(&r, &tile, x, z, y);
    }
}

#endif

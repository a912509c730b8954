/*
 * The end of a matrix product: what follows the sums, while they are in the L1
 * cache. A tile of whole vectors has a loop for each activation. Any other
 * rectangle is computed in runs of elements.
 *
 * A product of a large depth is summed in blocks along k, and y holds the sums of
 * the earlier blocks. The first block adds `add`, and also the residual if there is
 * no activation: so y may be either of them. The last block applies the activation,
 * and then adds the residual.
 */
#ifndef FK_FINISH_H
#define FK_FINISH_H

#include "map.h"
#include "panels.h"

FK_INLINE int64_t fk_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* One matrix of the batch. */
struct fk_product {
    const struct fk_matmul *request;
    uint64_t a, b, y, add, residual;
};

/* A rectangle of sums of one block along k. */
struct fk_sums {
    const float *from;
    int64_t from_row; /* the distance of two rows */
    int64_t row, rows, column, columns;
    int adds; /* y has the sums of earlier blocks */
    int is_last;
};

/* Whether a block that is the first or the last one does more than to sum. */
FK_INLINE int fk_changes(const struct fk_matmul *r, int is_first, int is_last) {
    return (is_first && (r->add || r->residual)) ||
           (is_last && r->activation != FK_MAP_COPY);
}

/* Whether a block adds the residual. */
FK_INLINE int fk_adds_residual(const struct fk_matmul *r,
                               const struct fk_sums *s) {
    if (!r->residual)
        return 0;
    return r->activation == FK_MAP_COPY ? !s->adds : s->is_last;
}

/* The operands of a tile of FK_WIDTH columns, as F32. NULL: not read. */
struct fk_tile_end {
    const float *from, *add, *residual;
    float *y;
    int64_t from_row, add_row, residual_row, y_row;
    int64_t rows;
    float alpha, beta;
    int adds;
};

/* A loop over the vectors of a tile. */
#define FK_TILE_END_OF(name, value)                                       \
    FK_NOINLINE void fk_tile_end_##name(const struct fk_tile_end *t) {    \
        const fk_v alpha = fk_splat(t->alpha), beta = fk_splat(t->beta);  \
        for (int64_t i = 0; i < t->rows; i++)                             \
            FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) {              \
                const int64_t at = v * FK_LANES;                          \
                float *y = t->y + i * t->y_row + at;                      \
                fk_v x = alpha * fk_load(t->from + i * t->from_row + at); \
                if (t->adds)                                              \
                    x += fk_load(y);                                      \
                if (t->add)                                               \
                    x += beta * fk_load(t->add + i * t->add_row + at);    \
                x = value;                                                \
                if (t->residual)                                          \
                    x += fk_load(t->residual + i * t->residual_row + at); \
                fk_store(y, x);                                           \
            }                                                             \
    }

FK_TILE_END_OF(copy, x)
FK_TILE_END_OF(relu, fk_select(x < fk_splat(0), fk_splat(0), x))
FK_TILE_END_OF(gelu, fk_gelu(x))
FK_TILE_END_OF(gelu_tanh, fk_gelu_tanh(x))
FK_TILE_END_OF(swish, fk_swish(x, fk_splat(1)))

typedef void fk_tile_end_run(const struct fk_tile_end *);

static fk_tile_end_run *const fk_tile_ends[FK_MAPS] = {
    [FK_MAP_COPY] = fk_tile_end_copy,
    [FK_MAP_RELU] = fk_tile_end_relu,
    [FK_MAP_GELU] = fk_tile_end_gelu,
    [FK_MAP_GELU_TANH] = fk_tile_end_gelu_tanh,
    [FK_MAP_SWISH] = fk_tile_end_swish,
};

/* Whether elements are adjacent F32 along a row. */
FK_INLINE int fk_is_line(uint64_t at, int64_t type, int64_t column) {
    return type == FK_F32 && column == 1 && at % 4 == 0;
}

/* Finishes a tile of whole vectors. Returns 0 if an operand does not suit. */
static int fk_finish_tile(const struct fk_product *p, const struct fk_sums *s) {
    const struct fk_matmul *r = p->request;
    struct fk_tile_end t = {.from = s->from,
                            .from_row = s->from_row,
                            .rows = s->rows,
                            .alpha = (float)r->alpha,
                            .beta = (float)r->beta,
                            .adds = s->adds,
                            .add_row = r->add_row,
                            .residual_row = r->residual_row,
                            .y_row = r->y_row};
    if (s->columns != FK_WIDTH || !fk_is_line(p->y, r->y_type, 1))
        return 0;
    t.y =
        (float *)(uintptr_t)fk_at(p->y, FK_F32, s->row * r->y_row + s->column);
    if (p->add && !s->adds) {
        if (!fk_is_line(p->add, r->add_type, r->add_column))
            return 0;
        t.add = (const float *)(uintptr_t)fk_at(
            p->add, FK_F32, s->row * r->add_row + s->column);
    }
    if (fk_adds_residual(r, s)) {
        if (!fk_is_line(p->residual, r->residual_type, r->residual_column))
            return 0;
        t.residual = (const float *)(uintptr_t)fk_at(
            p->residual, FK_F32, s->row * r->residual_row + s->column);
    }
    fk_tile_ends[s->is_last ? r->activation : FK_MAP_COPY](&t);
    return 1;
}

/* Adds factor times elements of an operand to a run. */
FK_INLINE void fk_add_run(float *run, float factor, uint64_t from, int64_t type,
                          int64_t index, int64_t stride, int64_t n) {
    float buffer[64];
    const float *other =
        fk_run_of(buffer, type, fk_at(from, type, index), stride, n);
    for (int64_t c = 0; c < n; c++)
        run[c] += factor * other[c];
}

/* Writes a rectangle of sums. */
FK_NOINLINE void fk_finish(const struct fk_product *p,
                           const struct fk_sums *s) {
    const struct fk_matmul *r = p->request;
    if (fk_finish_tile(p, s))
        return;
    const float alpha = (float)r->alpha;
    const float *from = s->from;
    float run[64];
    for (int64_t i = s->row; i < s->row + s->rows; i++, from += s->from_row)
        for (int64_t j = 0; j < s->columns; j += 64) {
            int64_t n = fk_least(64, s->columns - j), at = s->column + j;
            char *y = (char *)fk_at(p->y, r->y_type, i * r->y_row + at);
            for (int64_t c = 0; c < n; c++)
                run[c] = alpha * from[j + c];
            if (s->adds)
                fk_add_run(run, 1, (uint64_t)(uintptr_t)y, FK_F32, 0, 1, n);
            else if (p->add)
                fk_add_run(run, (float)r->beta, p->add, r->add_type,
                           i * r->add_row + at * r->add_column, r->add_column,
                           n);
            if (s->is_last && r->activation != FK_MAP_COPY)
                fk_maps[r->activation](n, run, NULL, run, 1);
            if (fk_adds_residual(r, s))
                fk_add_run(run, 1, p->residual, r->residual_type,
                           i * r->residual_row + at * r->residual_column,
                           r->residual_column, n);
            fk_write(r->y_type, y, 1, run, n);
        }
}

#endif

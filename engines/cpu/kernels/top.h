/*
 * The largest or smallest elements of lines. A tile is read as F32, and vectors
 * without an element that is better than the worst of the k best are passed over.
 * So a line of logits is read at about the speed of memory.
 */
#ifndef FK_TOP_H
#define FK_TOP_H

#include "data.h"
#include "order.h"
#include "rows.h"

static int64_t fk_top_lines(const struct fk_top *r) {
    int64_t lines = 1;
    for (int64_t d = 0; d < r->rank; d++)
        lines *= r->dims[d];
    return lines;
}

static int64_t fk_top_parts(const void *request) {
    const struct fk_top *r = request;
    int64_t lines = fk_top_lines(r), parts = 1 + lines * r->n / 16384;
    parts = parts < lines ? parts : lines;
    return parts > 1 ? parts : 1;
}

/* The place of a number in the order. NaN is the largest, and both zeros are
 * equal. */
FK_INLINE int64_t fk_key_of(float value) {
    int32_t bits;
    value += 0.0f;
    memcpy(&bits, &value, 4);
    if (value != value)
        return INT32_MAX;
    return bits < 0 ? bits ^ INT32_MAX : bits;
}

/* The number with a key, for comparisons with vectors. */
FK_INLINE float fk_number_of(int64_t key) {
    int32_t bits = (int32_t)key;
    float value;
    bits = bits < 0 ? bits ^ INT32_MAX : bits;
    memcpy(&value, &bits, 4);
    return value;
}

/* Vectors that are compared at the same time. */
#define FK_TOP_VECTORS 4

/* Whether one of some vectors may have an element that the heap takes. NaN may: it
 * is not less than any number. */
FK_INLINE int fk_may_enter(const struct fk_heap *h, const float *x) {
    const fk_v worst = fk_splat(fk_number_of(h->items[0].key ^ h->flip));
    fk_vi refused = fk_splat_i(-1);
    FK_UNROLL for (int i = 0; i < FK_TOP_VECTORS; i++) {
        const fk_v v = fk_load(x + i * FK_LANES);
        if (h->prefers_last)
            refused &= h->flip ? v > worst : v < worst;
        else
            refused &= h->flip ? v >= worst : v <= worst;
    }
    return fk_any(~refused);
}

static void fk_offer_tile(struct fk_heap *h, const float *x, int64_t first,
                          int64_t n) {
    const int64_t step = FK_TOP_VECTORS * FK_LANES;
    for (int64_t i = 0; i < n;) {
        if (h->count == h->size && i + step <= n && !fk_may_enter(h, x + i)) {
            i += step;
            continue;
        }
        for (int64_t end = fk_least(n, i + step); i < end; i++)
            fk_heap_offer(h, fk_key_of(x[i]), first + i);
    }
}

static void fk_top_run(const void *request, int64_t part, int64_t parts,
                       char *workspace) {
    const struct fk_top *r = request;
    const struct fk_range lines = fk_range_of(fk_top_lines(r), part, parts);
    const int64_t bytes = fk_bytes(r->x_type);
    float buffer[FK_TILE_ELEMENTS];
    struct fk_heap heap;
    for (int64_t i = lines.first; i < lines.end; i++) {
        int64_t x = 0, values = 0, indices = 0, rest = i;
        for (int64_t d = r->rank - 1; d >= 0; d--) {
            const int64_t at = rest % r->dims[d];
            rest /= r->dims[d];
            x += at * r->x_strides[d];
            values += at * r->values_strides[d];
            indices += at * r->indices_strides[d];
        }
        fk_heap_start(&heap, workspace, r);
        for (int64_t first = 0; first < r->n && r->k > 0;
             first += FK_TILE_ELEMENTS) {
            int64_t n = fk_least(FK_TILE_ELEMENTS, r->n - first);
            const char *from = fk_at(r->x, r->x_type, x + first * r->x_step);
            fk_offer_tile(&heap,
                          fk_run_of(buffer, r->x_type, from, r->x_step, n),
                          first, n);
        }
        fk_heap_sort(&heap);
        for (int64_t j = 0; j < r->k; j++) {
            const int64_t chosen = heap.items[j].index;
            if (r->values)
                fk_move((char *)fk_at(r->values, r->x_type,
                                      values + j * r->values_step),
                        fk_at(r->x, r->x_type, x + chosen * r->x_step), bytes);
            if (r->indices)
                memcpy((char *)(uintptr_t)r->indices +
                           8 * (indices + j * r->indices_step),
                       &chosen, 8);
        }
    }
}

#endif

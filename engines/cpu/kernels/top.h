/*
 * The largest or smallest elements of lines. A tile is read as F32, and vectors
 * without an element that is better than the worst of the k best are passed over.
 * So a line of logits is read at about the speed of memory. The elements of a short
 * line are ranked instead: each is compared with all others, without branches.
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

/* Where a line and its results begin, in elements. */
struct fk_top_line {
    int64_t x, values, indices;
};

static struct fk_top_line fk_top_line_at(const struct fk_top *r, int64_t i) {
    struct fk_top_line line = {0, 0, 0};
    for (int64_t d = r->rank - 1; d >= 0; d--) {
        const int64_t at = i % r->dims[d];
        i /= r->dims[d];
        line.x += at * r->x_strides[d];
        line.values += at * r->values_strides[d];
        line.indices += at * r->indices_strides[d];
    }
    return line;
}

/* Writes the j-th result of a line, which is the element `chosen`. */
FK_INLINE void fk_top_put(const struct fk_top *r, struct fk_top_line line,
                          int64_t j, int64_t chosen) {
    if (r->values)
        fk_move((char *)fk_at(r->values, r->x_type,
                              line.values + j * r->values_step),
                fk_at(r->x, r->x_type, line.x + chosen * r->x_step),
                fk_bytes(r->x_type));
    if (r->indices)
        memcpy((char *)(uintptr_t)r->indices +
                   8 * (line.indices + j * r->indices_step),
               &chosen, 8);
}

/* The elements of a line that are ranked. */
#define FK_RANKED 16
#define FK_RANKED_VECTORS (FK_RANKED / FK_LANES)

/* The keys of some elements of a line of n. NaN has a key from which 1 can be
 * subtracted after the flip. Lanes behind the line come after all elements. */
FK_INLINE fk_vi fk_keys_of(const float *x, fk_vi numbers, int64_t n,
                           int64_t flip) {
    const fk_v value = fk_load(x) + fk_splat(0);
    const fk_vi bits = (fk_vi)value, sign = bits >> 31;
    fk_vi key = bits ^ (sign & fk_splat_i(INT32_MAX));
    const fk_vi is_nan = value != value;
    key = (is_nan & fk_splat_i(INT32_MAX - 1)) | (~is_nan & key);
    key ^= fk_splat_i((int32_t)flip);
    const fk_vi is_element = numbers < fk_splat_i((int32_t)n);
    return (is_element & key) | (~is_element & fk_splat_i(INT32_MIN));
}

/*
 * The places of n <= FK_RANKED elements in the order: how many come before. An
 * equal element comes before those behind it, or before those in front of it if
 * prefers_last. x >= y is x > y - 1. Where an element counts itself, the count
 * begins at -1.
 */
FK_INLINE void fk_ranks_of(int32_t *ranks, const float *x, int64_t n,
                           const struct fk_top *r) {
    fk_vi numbers[FK_RANKED_VECTORS], rank[FK_RANKED_VECTORS];
    fk_vi ahead[FK_RANKED_VECTORS], behind[FK_RANKED_VECTORS];
    int32_t keys[FK_RANKED];
    const int32_t last = r->prefers_last != 0;
    FK_UNROLL for (int v = 0; v < FK_RANKED_VECTORS; v++) {
        FK_UNROLL for (int l = 0; l < FK_LANES; l++) numbers[v][l] =
            v * FK_LANES + l;
        const fk_vi key = fk_keys_of(x + v * FK_LANES, numbers[v], n,
                                     r->is_smallest ? -1 : 0);
        memcpy(keys + v * FK_LANES, &key, sizeof key);
        ahead[v] = key - fk_splat_i(last);
        behind[v] = key - fk_splat_i(1 - last);
        rank[v] = fk_splat_i(-last);
    }
    FK_UNROLL for (int i = 0; i < FK_RANKED; i++) {
        const fk_vi key = fk_splat_i(keys[i]);
        FK_UNROLL for (int v = 0; v < FK_RANKED_VECTORS; v++) {
            const fk_vi is_behind = numbers[v] > fk_splat_i(i);
            const fk_vi limit =
                (is_behind & behind[v]) | (~is_behind & ahead[v]);
            rank[v] -= (fk_vi)(key > limit);
        }
    }
    memcpy(ranks, rank, sizeof rank);
}

static void fk_top_ranked(const struct fk_top *r, struct fk_top_line line) {
    float buffer[FK_RANKED] = {0};
    int32_t ranks[FK_RANKED];
    int64_t order[FK_RANKED];
    const float *x = fk_run_of(buffer, r->x_type,
                               fk_at(r->x, r->x_type, line.x), r->x_step, r->n);
    if (r->n < FK_RANKED && x != buffer) {
        memcpy(buffer, x, 4 * (size_t)r->n);
        x = buffer;
    }
    fk_ranks_of(ranks, x, r->n, r);
    for (int64_t i = 0; i < r->n; i++)
        order[ranks[i]] = i;
    for (int64_t j = 0; j < r->k; j++)
        fk_top_put(r, line, j, order[j]);
}

static void fk_top_run(const void *request, int64_t part, int64_t parts,
                       char *workspace) {
    const struct fk_top *r = request;
    const struct fk_range lines = fk_range_of(fk_top_lines(r), part, parts);
    float buffer[FK_TILE_ELEMENTS];
    struct fk_heap heap;
    for (int64_t i = lines.first; i < lines.end; i++) {
        const struct fk_top_line line = fk_top_line_at(r, i);
        if (r->n <= FK_RANKED) {
            fk_top_ranked(r, line);
            continue;
        }
        fk_heap_start(&heap, workspace, r);
        for (int64_t first = 0; first < r->n && r->k > 0;
             first += FK_TILE_ELEMENTS) {
            int64_t n = fk_least(FK_TILE_ELEMENTS, r->n - first);
            const char *from =
                fk_at(r->x, r->x_type, line.x + first * r->x_step);
            fk_offer_tile(&heap,
                          fk_run_of(buffer, r->x_type, from, r->x_step, n),
                          first, n);
        }
        fk_heap_sort(&heap);
        for (int64_t j = 0; j < r->k; j++)
            fk_top_put(r, line, j, heap.items[j].index);
    }
}

#endif

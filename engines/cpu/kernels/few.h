/*
 * Attention of few queries to few keys: all scores stay in registers. A vector has
 * groups of four lanes, and a group belongs to a query: its lanes are four keys,
 * and later four elements of the result. So one e^x computes the weights of all
 * queries of a vector for four keys.
 *
 * Only keys after the last one that a query sees are hidden. If a result is NaN, a
 * weight of 0 may have met a value that is not finite. Then attention.h computes
 * the request again.
 */
#ifndef FK_FEW_H
#define FK_FEW_H

#include "attention.h"

#define FK_GROUPS (FK_LANES / 4)
/* The largest number of keys. */
#define FK_FEW_KEYS 16

typedef float fk_four __attribute__((vector_size(16), aligned(1), may_alias));

#if FK_LANES == 16
#define FK_GROUP_NUMBERS {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}
#define FK_LANE_NUMBERS {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}
#elif FK_LANES == 8
#define FK_GROUP_NUMBERS {0, 0, 0, 0, 1, 1, 1, 1}
#define FK_LANE_NUMBERS {0, 1, 2, 3, 0, 1, 2, 3}
#else
#define FK_GROUP_NUMBERS {0, 0, 0, 0}
#define FK_LANE_NUMBERS {0, 1, 2, 3}
#endif

/* Lane i of each group, in all lanes of the group. */
#define FK_LANE_OF(v, i) FK_LANES_OF(v, v, i, i, i, i)

/* Four floats in every group. */
FK_INLINE fk_v fk_load_four(const float *from) {
#if FK_LANES == 16
    return (fk_v)_mm512_broadcast_f32x4(_mm_loadu_ps(from));
#elif FK_LANES == 8
    return (fk_v)_mm256_broadcast_ps((const __m128 *)(const void *)from);
#else
    return fk_load(from);
#endif
}

/* Four floats of a row in each group. The rows after the last one are the last. */
FK_INLINE fk_v fk_load_groups(const float *from, int64_t row, int64_t last) {
#if FK_LANES == 16
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(from));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + row * fk_least(1, last)), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + row * fk_least(2, last)), 2);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + row * last), 3);
    return (fk_v)v;
#elif FK_LANES == 8
    __m256 v = _mm256_castps128_ps256(_mm_loadu_ps(from));
    v = _mm256_insertf128_ps(v, _mm_loadu_ps(from + row * last), 1);
    return (fk_v)v;
#else
    (void)row;
    (void)last;
    return fk_load(from);
#endif
}

FK_INLINE void fk_store_groups(float *to, int64_t row, int64_t last, fk_v v) {
    float lanes[FK_LANES];
    fk_store(lanes, v);
    for (int64_t g = 0; g <= last; g++)
        *(fk_four *)(to + g * row) = *(const fk_four *)(lanes + 4 * g);
}

/* Adds to scores the products of four elements of the queries with those of four
 * keys, which are turned so that a vector has one element of each key. */
FK_INLINE fk_v fk_add_scores(fk_v score, fk_v queries, const float *const *keys,
                             int64_t at) {
    const fk_v a = fk_load_four(keys[0] + at), b = fk_load_four(keys[1] + at);
    const fk_v c = fk_load_four(keys[2] + at), d = fk_load_four(keys[3] + at);
    const fk_v ab = FK_LANES_OF(a, b, 0, 1, 0, 1);
    const fk_v cd = FK_LANES_OF(c, d, 0, 1, 0, 1);
    score += FK_LANE_OF(queries, 0) * FK_LANES_OF(ab, cd, 0, 2, 0, 2);
    score += FK_LANE_OF(queries, 1) * FK_LANES_OF(ab, cd, 1, 3, 1, 3);
    const fk_v ab_later = FK_LANES_OF(a, b, 2, 3, 2, 3);
    const fk_v cd_later = FK_LANES_OF(c, d, 2, 3, 2, 3);
    score +=
        FK_LANE_OF(queries, 2) * FK_LANES_OF(ab_later, cd_later, 0, 2, 0, 2);
    score +=
        FK_LANE_OF(queries, 3) * FK_LANES_OF(ab_later, cd_later, 1, 3, 1, 3);
    return score;
}

/* The addresses of four rows. The rows after the last one are the last. */
FK_INLINE void fk_find_rows(const float **rows, const float *from, int64_t row,
                            int64_t first, int64_t last) {
    for (int i = 0; i < 4; i++)
        rows[i] = from + row * fk_least(first + i, last);
}

/* The matrices of one head. */
struct fk_few {
    const float *q, *k, *v;
    float *y;
};

/* Computes the results of FK_GROUPS queries, for up to four times `fours` keys.
 * Returns the lanes of results that are NaN. */
FK_INLINE fk_vi fk_attend_few(const struct fk_attention *r, struct fk_few head,
                              int64_t query, const int fours) {
    const int64_t last = fk_least(FK_GROUPS, r->queries - query) - 1;
    const fk_v scale = fk_splat((float)r->scale),
               none = fk_splat(-__builtin_inff());
    /* The last key that each query sees. */
    const int64_t keys = r->keys - 1;
    const int64_t most_seen =
        r->has_last ? fk_clamp(query + r->last, -FK_LANES, keys) : keys;
    const fk_vi seen =
        ((fk_vi)FK_GROUP_NUMBERS & fk_splat_i(r->has_last ? -1 : 0)) +
        fk_splat_i((int32_t)most_seen);
    const fk_vi end = fk_splat_i((int32_t)keys);
    const float *rows[4];
    fk_v scores[FK_FEW_KEYS / 4], largest = none, sum = fk_splat(0);
    FK_UNROLL for (int f = 0; f < fours; f++) {
        fk_v score = fk_splat(0);
        fk_find_rows(rows, head.k, r->k_row, 4 * f, keys);
        for (int64_t d = 0; d < r->depth; d += 4)
            score = fk_add_scores(
                score,
                fk_load_groups(head.q + query * r->q_row + d, r->q_row, last) *
                    scale,
                rows, d);
        const fk_vi key = (fk_vi)FK_LANE_NUMBERS + fk_splat_i(4 * f);
        scores[f] = fk_select((key > seen) | (key > end), none, score);
        largest = fk_max(scores[f], largest);
    }
    largest = fk_max(largest, FK_LANES_OF(largest, largest, 2, 3, 0, 1));
    largest = fk_max(largest, FK_LANES_OF(largest, largest, 1, 0, 3, 2));
    FK_UNROLL for (int f = 0; f < fours; f++) {
        scores[f] = fk_exp(scores[f] - largest);
        sum += scores[f];
    }
    sum += FK_LANES_OF(sum, sum, 2, 3, 0, 1);
    sum += FK_LANES_OF(sum, sum, 1, 0, 3, 2);
    const fk_v factor = fk_splat(1) / sum;
    fk_vi odd = fk_splat_i(0);
    for (int64_t d = 0; d < r->value_depth; d += 4) {
        fk_v y = fk_splat(0);
        FK_UNROLL for (int f = 0; f < fours; f++) {
            fk_find_rows(rows, head.v, r->v_row, 4 * f, keys);
            y += FK_LANE_OF(scores[f], 0) * fk_load_four(rows[0] + d);
            y += FK_LANE_OF(scores[f], 1) * fk_load_four(rows[1] + d);
            y += FK_LANE_OF(scores[f], 2) * fk_load_four(rows[2] + d);
            y += FK_LANE_OF(scores[f], 3) * fk_load_four(rows[3] + d);
        }
        y *= factor;
        odd |= y != y;
        fk_store_groups(head.y + query * r->y_row + d, r->y_row, last, y);
    }
    return odd;
}

static int64_t fk_one_part(const void *request) {
    (void)request;
    return 1;
}

static void fk_few_run(const void *request, int64_t part, int64_t parts,
                       char *workspace) {
    const struct fk_attention *r = request;
    fk_vi odd = fk_splat_i(0);
    for (int64_t b = 0; b < r->batch; b++)
        for (int64_t h = 0, group = 0, i = 0; h < r->heads; h++) {
            const struct fk_few head = {
                (const float *)(uintptr_t)r->q + b * r->q_batch + h * r->q_head,
                (const float *)(uintptr_t)r->k + b * r->k_batch +
                    group * r->k_head,
                (const float *)(uintptr_t)r->v + b * r->v_batch +
                    group * r->v_head,
                (float *)(uintptr_t)r->y + b * r->y_batch + h * r->y_head,
            };
            for (int64_t q = 0; q < r->queries; q += FK_GROUPS)
                odd |= r->keys <= 4
                           ? fk_attend_few(r, head, q, 1)
                           : fk_attend_few(r, head, q, FK_FEW_KEYS / 4);
            /* The next head of keys after each group of heads. */
            if (++i * r->key_heads == r->heads) {
                i = 0;
                group++;
            }
        }
    if (fk_any(odd))
        fk_attention_run(request, part, parts, workspace);
}

#endif

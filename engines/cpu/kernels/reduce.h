/*
 * Sums, means and maxima over some dimensions. Sums over tiles are in double.
 *
 * Where the elements of one result are adjacent, each result is computed alone.
 * Where results are adjacent, a tile of results is computed at the same time.
 */
#ifndef FK_REDUCE_H
#define FK_REDUCE_H

#include "rows.h"

/* Results that are computed at the same time. */
#define FK_RESULTS 128

static void fk_reduce_maps(const struct fk_reduce *r, struct fk_map *kept,
                           struct fk_map *reduced) {
    *kept = (struct fk_map){.rank = r->rank};
    memcpy(kept->dims, r->dims, sizeof kept->dims);
    memcpy(kept->x_strides, r->x_strides, sizeof kept->x_strides);
    memcpy(kept->z_strides, r->x_strides, sizeof kept->z_strides);
    memcpy(kept->y_strides, r->y_strides, sizeof kept->y_strides);
    *reduced = (struct fk_map){.rank = r->reduced_rank};
    memcpy(reduced->dims, r->reduced, sizeof reduced->dims);
    memcpy(reduced->x_strides, r->reduced_strides, sizeof reduced->x_strides);
    memcpy(reduced->z_strides, r->reduced_strides, sizeof reduced->z_strides);
    memcpy(reduced->y_strides, r->reduced_strides, sizeof reduced->y_strides);
}

/* The offset in x of an index that counts all dimensions but the last `skip`. */
FK_INLINE int64_t fk_offset_of(const struct fk_map *m, int64_t index,
                               int64_t skip) {
    int64_t offset = 0;
    for (int64_t d = m->rank - 1 - skip; d >= 0; d--) {
        offset += index % m->dims[d] * m->x_strides[d];
        index /= m->dims[d];
    }
    return offset;
}

static int64_t fk_reduce_parts(const void *request) {
    const struct fk_reduce *r = request;
    struct fk_map kept, reduced;
    fk_reduce_maps(r, &kept, &reduced);
    int64_t results = fk_map_elements(&kept);
    int64_t parts = 1 + results * fk_map_elements(&reduced) / 32768;
    parts = parts < results ? parts : results;
    return parts > 1 ? parts : 1;
}

FK_INLINE double fk_combine(int64_t op, double a, double b) {
    if (op != FK_REDUCE_MAX)
        return a + b;
    return b > a || b != b ? b : a;
}

/* One result: its elements are in runs along the last reduced dimension. */
static double fk_reduce_one(const struct fk_reduce *r,
                            const struct fk_map *reduced, int64_t x,
                            double result) {
    float buffer[FK_TILE_ELEMENTS];
    const int64_t inner = reduced->dims[reduced->rank - 1];
    const int64_t step = reduced->x_strides[reduced->rank - 1];
    const int64_t runs = fk_map_elements(reduced) / inner;
    for (int64_t run = 0; run < runs; run++) {
        int64_t from = x + fk_offset_of(reduced, run, 1);
        for (int64_t i = 0; i < inner; i += FK_TILE_ELEMENTS) {
            int64_t n = inner - i;
            n = n < FK_TILE_ELEMENTS ? n : FK_TILE_ELEMENTS;
            const float *values =
                fk_run_of(buffer, r->x_type,
                          fk_at(r->x, r->x_type, from + i * step), step, n);
            if (r->op == FK_REDUCE_MAX)
                result = fk_combine(
                    r->op, result, fk_largest_of(values, n, -__builtin_inff()));
            else
                result += fk_sum_of(values, n);
            if (result != result)
                return result;
        }
    }
    return result;
}

/* n results that are adjacent in x. */
static void fk_reduce_many(const struct fk_reduce *r,
                           const struct fk_map *reduced, int64_t x, int64_t n,
                           double *results) {
    float buffer[FK_TILE_ELEMENTS];
    const int64_t count = fk_map_elements(reduced);
    for (int64_t i = 0; i < count; i++) {
        int64_t from = x + fk_offset_of(reduced, i, 0);
        const float *values =
            fk_run_of(buffer, r->x_type, fk_at(r->x, r->x_type, from), 1, n);
        if (r->op == FK_REDUCE_MAX)
            for (int64_t j = 0; j < n; j++)
                results[j] = fk_combine(r->op, results[j], values[j]);
        else
            for (int64_t j = 0; j < n; j++)
                results[j] += values[j];
    }
}

static void fk_reduce_run(const void *request, int64_t part, int64_t parts,
                          char *workspace) {
    (void)workspace;
    const struct fk_reduce *r = request;
    struct fk_map kept, reduced;
    fk_reduce_maps(r, &kept, &reduced);
    const int64_t results = fk_map_elements(&kept);
    const int64_t count = fk_map_elements(&reduced);
    if (results == 0)
        return;
    fk_merge(&kept);
    if (count > 0)
        fk_merge(&reduced);
    const int64_t last = kept.rank - 1;
    const int has_runs = kept.x_strides[last] == 1 && kept.dims[last] > 1 &&
                         count > 0 && reduced.x_strides[reduced.rank - 1] != 1;
    const double start = r->op == FK_REDUCE_MAX ? -__builtin_inf() : 0;
    const struct fk_range range = fk_range_of(results, part, parts);
    const int64_t end = range.end;
    for (int64_t i = range.first; i < end;) {
        double values[FK_RESULTS];
        float narrow[FK_RESULTS];
        int64_t n = 1, y = 0, rest = i, x = fk_offset_of(&kept, i, 0);
        for (int64_t d = last; d >= 0; d--) {
            y += rest % kept.dims[d] * kept.y_strides[d];
            rest /= kept.dims[d];
        }
        if (has_runs) {
            n = kept.dims[last] - i % kept.dims[last];
            n = n < end - i ? n : end - i;
            n = n < FK_RESULTS ? n : FK_RESULTS;
        }
        for (int64_t j = 0; j < n; j++)
            values[j] = start;
        if (has_runs)
            fk_reduce_many(r, &reduced, x, n, values);
        else if (count > 0)
            values[0] = fk_reduce_one(r, &reduced, x, start);
        for (int64_t j = 0; j < n; j++)
            narrow[j] =
                (float)(r->op == FK_REDUCE_MEAN ? values[j] / (double)count
                                                : values[j]);
        fk_write(r->y_type, (char *)fk_at(r->y, r->y_type, y),
                 kept.y_strides[last], narrow, n);
        i += n;
    }
}

#endif

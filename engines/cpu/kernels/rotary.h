/*
 * Rotary embedding: pairs of elements of a row are rotated by angles of the row's
 * position. A pair is i and i + rotated / 2, or 2 i and 2 i + 1.
 */
#ifndef FK_ROTARY_H
#define FK_ROTARY_H

#include "data.h"

static int64_t fk_rotary_check(const void *request) {
    const struct fk_rotary *r = request;
    if (!r->positions)
        return -1;
    for (int64_t i = 0; i < r->batch * r->rows; i++) {
        int64_t position = fk_index_at(r->positions, 0, i);
        if (position < 0 || position >= r->most)
            return i;
    }
    return -1;
}

static int64_t fk_rotary_parts(const void *request) {
    const struct fk_rotary *r = request;
    int64_t rows = r->batch * r->heads * r->rows;
    int64_t parts = 1 + rows * r->depth / 16384;
    parts = parts < rows ? parts : rows;
    return parts > 1 ? parts : 1;
}

/* One row; x and y count its elements from their start. */
static void fk_rotate_row(const struct fk_rotary *r, const char *x, char *y,
                          int64_t angles) {
    enum { PAIRS = 128 };
    float a[PAIRS], b[PAIRS], cosine[PAIRS], sine[PAIRS], first[PAIRS];
    const int64_t half = r->rotated / 2, step = r->is_interleaved ? 2 : 1;
    const int64_t apart = r->is_interleaved ? 1 : half;
    const int64_t x_bytes = fk_bytes(r->x_type), y_bytes = fk_bytes(r->y_type);
    for (int64_t i = 0; i < half; i += PAIRS) {
        const int64_t n = half - i < PAIRS ? half - i : PAIRS;
        const char *from = x + i * step * x_bytes;
        char *to = y + i * step * y_bytes;
        fk_read(a, r->x_type, from, step, n);
        fk_read(b, r->x_type, from + apart * x_bytes, step, n);
        fk_read(cosine, r->angle_type,
                fk_at(r->cosines, r->angle_type, angles + i), 1, n);
        fk_read(sine, r->angle_type, fk_at(r->sines, r->angle_type, angles + i),
                1, n);
        for (int64_t j = 0; j < n; j++) {
            first[j] = cosine[j] * a[j] - sine[j] * b[j];
            b[j] = sine[j] * a[j] + cosine[j] * b[j];
        }
        fk_write(r->y_type, to, step, first, n);
        fk_write(r->y_type, to + apart * y_bytes, step, b, n);
    }
    for (int64_t i = r->rotated; i < r->depth; i += PAIRS) {
        const int64_t n = r->depth - i < PAIRS ? r->depth - i : PAIRS;
        fk_read(a, r->x_type, x + i * x_bytes, 1, n);
        fk_write(r->y_type, y + i * y_bytes, 1, a, n);
    }
}

static void fk_rotary_run(const void *request, int64_t part, int64_t parts,
                          char *workspace) {
    (void)workspace;
    const struct fk_rotary *r = request;
    const struct fk_range rows =
        fk_range_of(r->batch * r->heads * r->rows, part, parts);
    for (int64_t i = rows.first; i < rows.end; i++) {
        int64_t row = i % r->rows, head = i / r->rows % r->heads;
        int64_t batch = i / r->rows / r->heads;
        int64_t angles = batch * r->angle_batch + row * r->angle_row;
        if (r->positions)
            angles = fk_index_at(r->positions, 0, batch * r->rows + row) *
                     r->angle_row;
        fk_rotate_row(
            r,
            fk_at(r->x, r->x_type,
                  batch * r->x_batch + head * r->x_head + row * r->x_row),
            (char *)fk_at(r->y, r->y_type,
                          batch * r->y_batch + head * r->y_head +
                              row * r->y_row),
            angles);
    }
}

#endif

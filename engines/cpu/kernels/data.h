/*
 * Moving elements without reading their values: copies with any strides, and
 * Gather.
 */
#ifndef FK_DATA_H
#define FK_DATA_H

#include "map.h"

/* A block of a transpose: both sides stay in the L1 cache. */
#define FK_SIDE 32

FK_INLINE void fk_move(char *to, const char *from, int64_t bytes) {
    switch (bytes) {
    case 1:
        *to = *from;
        return;
    case 2:
        memcpy(to, from, 2);
        return;
    case 4:
        memcpy(to, from, 4);
        return;
    case 8:
        memcpy(to, from, 8);
        return;
    default:
        memcpy(to, from, 16);
    }
}

/* A rectangle of rows and columns with steps in bytes. */
FK_INLINE void fk_move_block(char *to, int64_t to_row, int64_t to_step,
                             const char *from, int64_t from_row,
                             int64_t from_step, int64_t rows, int64_t columns,
                             const int64_t bytes) {
    for (int64_t i = 0; i < rows; i++, to += to_row, from += from_row)
        for (int64_t j = 0; j < columns; j++)
            fk_move(to + j * to_step, from + j * from_step, bytes);
}

FK_NOINLINE void fk_move_rectangle(char *to, int64_t to_row, int64_t to_step,
                                   const char *from, int64_t from_row,
                                   int64_t from_step, int64_t rows,
                                   int64_t columns, int64_t bytes) {
    if (to_step == bytes && from_step == bytes) {
        for (int64_t i = 0; i < rows; i++)
            memcpy(to + i * to_row, from + i * from_row,
                   (size_t)(columns * bytes));
        return;
    }
#define FK_MOVE_OF(size)                                                    \
    case size:                                                              \
        fk_move_block(to, to_row, to_step, from, from_row, from_step, rows, \
                      columns, size);                                       \
        return;
    switch (bytes) {
        FK_MOVE_OF(1)
        FK_MOVE_OF(2)
        FK_MOVE_OF(4)
        FK_MOVE_OF(8)
        FK_MOVE_OF(16)
    }
}

static int64_t fk_absolute(int64_t n) { return n < 0 ? -n : n; }

/* A copy as a list of rectangles over the last two dimensions. */
struct fk_plan {
    struct fk_map map; /* merged dimensions and strides of the copy */
    int64_t rows, columns, row_blocks, column_blocks, blocks;
};

static struct fk_plan fk_plan_of(const struct fk_copy *r) {
    struct fk_plan p = {.map = {.rank = r->rank}};
    struct fk_map *m = &p.map;
    memcpy(m->dims, r->dims, sizeof m->dims);
    memcpy(m->x_strides, r->x_strides, sizeof m->x_strides);
    memcpy(m->z_strides, r->x_strides, sizeof m->z_strides);
    memcpy(m->y_strides, r->y_strides, sizeof m->y_strides);
    if (fk_map_elements(m) == 0)
        return p;
    fk_merge(m);
    const int64_t last = m->rank - 1;
    /* The second to last dimension becomes the one that is densest in x. */
    int64_t dense = last > 0 ? last - 1 : 0;
    for (int64_t d = 0; d < last; d++)
        if (m->x_strides[d] != 0 &&
            (m->x_strides[dense] == 0 ||
             fk_absolute(m->x_strides[d]) < fk_absolute(m->x_strides[dense])))
            dense = d;
    if (last > 0) {
        int64_t *const lists[] = {m->dims, m->x_strides, m->y_strides};
        for (int i = 0; i < 3; i++) {
            int64_t kept = lists[i][last - 1];
            lists[i][last - 1] = lists[i][dense];
            lists[i][dense] = kept;
        }
    }
    p.rows = last > 0 ? FK_SIDE : 1;
    p.columns =
        m->x_strides[last] == 1 && m->y_strides[last] == 1 ? 16384 : FK_SIDE;
    p.row_blocks = last > 0 ? (m->dims[last - 1] + p.rows - 1) / p.rows : 1;
    p.column_blocks = (m->dims[last] + p.columns - 1) / p.columns;
    p.blocks = p.row_blocks * p.column_blocks;
    for (int64_t d = 0; d < last - 1; d++)
        p.blocks *= m->dims[d];
    return p;
}

static int64_t fk_copy_elements(const struct fk_copy *r) {
    int64_t elements = 1;
    for (int64_t d = 0; d < r->rank; d++)
        elements *= r->dims[d];
    return elements;
}

/* Whether both sides are adjacent elements in the order of the dimensions. */
static int fk_is_dense_copy(const struct fk_copy *r) {
    int64_t expected = 1;
    for (int64_t d = r->rank - 1; d >= 0; d--) {
        if (r->dims[d] != 1 &&
            (r->x_strides[d] != expected || r->y_strides[d] != expected))
            return 0;
        expected *= r->dims[d];
    }
    return 1;
}

static int64_t fk_copy_parts(const void *request) {
    return fk_copy_elements(request) / 32768 + 1;
}

static void fk_copy_run(const void *request, int64_t part, int64_t parts,
                        char *workspace) {
    (void)workspace;
    const struct fk_copy *r = request;
    if (r->x == r->y) /* nothing moves */
        return;
    if (parts == 1 && fk_is_dense_copy(r)) {
        memcpy((char *)(uintptr_t)r->y, (const char *)(uintptr_t)r->x,
               (size_t)(fk_copy_elements(r) * r->bytes));
        return;
    }
    const struct fk_plan p = fk_plan_of(r);
    const struct fk_map *m = &p.map;
    const int64_t last = m->rank - 1, bytes = r->bytes;
    const struct fk_range blocks = fk_range_of(p.blocks, part, parts);
    for (int64_t b = blocks.first; b < blocks.end; b++) {
        int64_t column = b % p.column_blocks * p.columns, rest = b;
        rest /= p.column_blocks;
        int64_t row = rest % p.row_blocks * p.rows;
        rest /= p.row_blocks;
        int64_t x = column * m->x_strides[last],
                y = column * m->y_strides[last];
        int64_t rows = 1, from_row = 0, to_row = 0;
        if (last > 0) {
            from_row = m->x_strides[last - 1];
            to_row = m->y_strides[last - 1];
            x += row * from_row;
            y += row * to_row;
            rows = m->dims[last - 1] - row;
            rows = rows < p.rows ? rows : p.rows;
        }
        for (int64_t d = last - 2; d >= 0; d--) {
            x += rest % m->dims[d] * m->x_strides[d];
            y += rest % m->dims[d] * m->y_strides[d];
            rest /= m->dims[d];
        }
        int64_t columns = m->dims[last] - column;
        columns = columns < p.columns ? columns : p.columns;
        fk_move_rectangle((char *)(uintptr_t)r->y + y * bytes, to_row * bytes,
                          m->y_strides[last] * bytes,
                          (const char *)(uintptr_t)r->x + x * bytes,
                          from_row * bytes, m->x_strides[last] * bytes, rows,
                          columns, bytes);
    }
}

/* An index of I32 or I64. */
FK_INLINE int64_t fk_index_at(uint64_t indices, int64_t is_short, int64_t i) {
    const char *from = (const char *)(uintptr_t)indices;
    int32_t narrow;
    int64_t wide;
    if (is_short) {
        memcpy(&narrow, from + 4 * i, 4);
        return narrow;
    }
    memcpy(&wide, from + 8 * i, 8);
    return wide;
}

static int64_t fk_gather_check(const void *request) {
    const struct fk_gather *r = request;
    for (int64_t i = 0; i < r->count; i++) {
        int64_t index = fk_index_at(r->indices, r->is_short, i);
        if (index < -r->length || index >= r->length)
            return i;
    }
    return -1;
}

static int64_t fk_gather_runs(const struct fk_gather *r) {
    int64_t runs = r->count;
    for (int64_t d = 0; d < r->rank; d++)
        runs *= r->dims[d];
    return runs;
}

static int64_t fk_gather_parts(const void *request) {
    const struct fk_gather *r = request;
    int64_t runs = fk_gather_runs(r), parts = 1 + runs * r->run_bytes / 131072;
    parts = parts < runs ? parts : runs;
    return parts > 1 ? parts : 1;
}

static void fk_gather_run(const void *request, int64_t part, int64_t parts,
                          char *workspace) {
    (void)workspace;
    const struct fk_gather *r = request;
    const struct fk_range runs = fk_range_of(fk_gather_runs(r), part, parts);
    for (int64_t i = runs.first; i < runs.end; i++) {
        int64_t at = i % r->count, rest = i / r->count;
        int64_t index = fk_index_at(r->indices, r->is_short, at);
        index += index < 0 ? r->length : 0;
        int64_t x = index * r->x_index, y = at * r->y_index;
        for (int64_t d = r->rank - 1; d >= 0; d--) {
            x += rest % r->dims[d] * r->x_strides[d];
            y += rest % r->dims[d] * r->y_strides[d];
            rest /= r->dims[d];
        }
        memcpy((char *)(uintptr_t)r->y + y, (const char *)(uintptr_t)r->x + x,
               (size_t)r->run_bytes);
    }
}

#endif

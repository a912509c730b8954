/*
 * Panels: the packed layout of the right matrix of a product.
 *
 * A panel holds FK_WIDTH columns. Its elements are in the order in which a kernel
 * reads them: all columns of row 0, of row 1, and so on. So a product reads a
 * packed matrix as one stream. The last panel is filled with zeros.
 *
 * Q8_0 and Q4_0 have 32 rows in a group: the scales of the columns (F16), then
 * the numbers of each row. In Q4_0 a byte holds the numbers of rows i and i + 16
 * of the group, as in a GGUF file.
 */
#ifndef FK_PANELS_H
#define FK_PANELS_H

#include "elements.h"

/* A tile is FK_ROWS x FK_WIDTH. Its sums stay in registers: two vectors of
 * columns for 12, 6 or 4 rows, four on NEON with its 32 small registers. */
#if FK_LANES == 16
#define FK_ROWS 12
#define FK_VECTORS 2
#elif FK_LANES == 8
#define FK_ROWS 6
#define FK_VECTORS 2
#elif defined(__SSE2__)
#define FK_ROWS 4
#define FK_VECTORS 2
#else
#define FK_ROWS 6
#define FK_VECTORS 4
#endif
#define FK_WIDTH (FK_VECTORS * FK_LANES)

FK_INLINE int64_t fk_round_up(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

FK_INLINE int64_t fk_panels(int64_t n) {
    return n / FK_WIDTH + (n % FK_WIDTH != 0);
}

/* Bytes of rows of one panel. Rows of a block type are whole groups. */
FK_INLINE int64_t fk_panel_bytes(int64_t type, int64_t rows) {
    switch (type) {
    case FK_Q8_0:
        return rows / FK_BLOCK * FK_WIDTH * (2 + FK_BLOCK);
    case FK_Q4_0:
        return rows / FK_BLOCK * FK_WIDTH * (2 + FK_BLOCK / 2);
    default:
        return rows * FK_WIDTH * fk_bytes(type);
    }
}

static int64_t fk_packed_bytes(int64_t type, int64_t n, int64_t k) {
    const int64_t largest = INT64_MAX / 256;
    if (n < 0 || k < 0 || (k > 0 && n > largest / k - FK_WIDTH))
        return -1;
    return fk_round_up(fk_panels(n) * fk_panel_bytes(type, k), 64);
}

/* Copies columns of rows of b into a panel of F32, which it fills with zeros. */
static void fk_fill_panel(float *to, int64_t type, uint64_t b, int64_t row,
                          int64_t column, int64_t rows, int64_t columns) {
    if (columns < FK_WIDTH)
        memset(to, 0, 4 * (size_t)(rows * FK_WIDTH));
    if (column == 1 || row != 1) {
        for (int64_t i = 0; i < rows; i++)
            fk_read(to + i * FK_WIDTH, type, fk_at(b, type, i * row), column,
                    columns);
        return;
    }
    /* Columns are adjacent in memory: they are turned in blocks that fit the
     * L1 cache. */
    float run[16];
    for (int64_t i = 0; i < rows; i += 16) {
        int64_t count = rows - i < 16 ? rows - i : 16;
        for (int64_t j = 0; j < columns; j++) {
            const char *from = fk_at(b, type, i + j * column);
            fk_read(run, type, from, 1, count);
            for (int64_t r = 0; r < count; r++)
                to[(i + r) * FK_WIDTH + j] = run[r];
        }
    }
}

/* Widens rows of a packed panel to F32. */
static void fk_widen_panel(float *to, int64_t type, const char *from,
                           int64_t rows) {
    if (type != FK_Q8_0 && type != FK_Q4_0) {
        fk_read(to, type, from, 1, rows * FK_WIDTH);
        return;
    }
    for (int64_t group = 0; group < rows / FK_BLOCK; group++) {
        float scales[FK_WIDTH];
        fk_read(scales, FK_F16, from, 1, FK_WIDTH);
        from += 2 * FK_WIDTH;
        for (int i = 0; i < FK_BLOCK; i++)
            for (int v = 0; v < FK_WIDTH; v += FK_LANES) {
                fk_v scale = fk_load(scales + v), number;
                if (type == FK_Q8_0) {
                    number = fk_from_i8(fk_load_b(from + i * FK_WIDTH + v));
                } else {
                    fk_vb both = fk_load_b(from + i % 16 * FK_WIDTH + v);
                    fk_vi wide = fk_widen_i8(both);
                    wide = (i < 16 ? wide : wide >> 4) & 15;
                    number = __builtin_convertvector(wide - 8, fk_v);
                }
                fk_store(to + i * FK_WIDTH + v, scale * number);
            }
        to += FK_BLOCK * FK_WIDTH;
        from += FK_WIDTH * (type == FK_Q8_0 ? FK_BLOCK : FK_BLOCK / 2);
    }
}

/* Packs a panel of a block type. from is the first block of the first column. */
static void fk_pack_blocks(char *to, int64_t type, const char *from, int64_t k,
                           int64_t columns) {
    const int64_t numbers = type == FK_Q8_0 ? FK_BLOCK : FK_BLOCK / 2;
    const int64_t block = 2 + numbers, blocks = k / FK_BLOCK;
    memset(to, 0, (size_t)fk_panel_bytes(type, k));
    for (int64_t group = 0; group < blocks; group++) {
        for (int64_t j = 0; j < columns; j++) {
            const char *source = from + (j * blocks + group) * block;
            memcpy(to + 2 * j, source, 2);
            for (int64_t i = 0; i < numbers; i++)
                to[2 * FK_WIDTH + i * FK_WIDTH + j] = source[2 + i];
        }
        to += FK_WIDTH * block;
    }
}

/* Packs a panel of a plain type, without a change of the elements. */
static void fk_pack_plain(char *to, const struct fk_pack *r, int64_t first,
                          int64_t columns) {
    const int64_t size = fk_bytes(r->b_type);
    memset(to, 0, (size_t)fk_panel_bytes(r->b_type, r->k));
    for (int64_t i = 0; i < r->k; i++) {
        const char *from =
            fk_at(r->b, r->b_type, i * r->b_row + first * r->b_column);
        char *row = to + i * FK_WIDTH * size;
        if (r->b_column == 1)
            memcpy(row, from, (size_t)(columns * size));
        else
            for (int64_t j = 0; j < columns; j++)
                memcpy(row + j * size, from + j * r->b_column * size,
                       (size_t)size);
    }
}

static int64_t fk_pack_parts(const void *request) {
    int64_t panels = fk_panels(((const struct fk_pack *)request)->n);
    return panels > 1 ? panels : 1;
}

static int64_t fk_no_workspace(const void *request) {
    (void)request;
    return 0;
}

static void fk_pack_run(const void *request, int64_t part, int64_t parts,
                        char *workspace) {
    (void)workspace;
    const struct fk_pack *r = request;
    int64_t panels = fk_panels(r->n), size = fk_panel_bytes(r->b_type, r->k);
    char *packed = (char *)(uintptr_t)r->packed;
    const struct fk_range range = fk_range_of(panels, part, parts);
    for (int64_t p = range.first; p < range.end; p++) {
        int64_t first = p * FK_WIDTH;
        int64_t columns = r->n - first < FK_WIDTH ? r->n - first : FK_WIDTH;
        char *to = packed + p * size;
        if (r->b_type == FK_Q8_0 || r->b_type == FK_Q4_0) {
            int64_t block = 2 + (r->b_type == FK_Q8_0 ? 32 : 16);
            const char *from = (const char *)(uintptr_t)r->b +
                               first * (r->k / FK_BLOCK) * block;
            fk_pack_blocks(to, r->b_type, from, r->k, columns);
        } else {
            fk_pack_plain(to, r, first, columns);
        }
    }
    if (part == parts - 1)
        memset(
            packed + panels * size, 0,
            (size_t)(fk_packed_bytes(r->b_type, r->n, r->k) - panels * size));
}

#endif

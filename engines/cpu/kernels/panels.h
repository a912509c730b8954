/*
 * Panels: the packed layout of the right matrix of a product.
 *
 * A panel holds FK_WIDTH columns. Its elements are in the order in which a kernel
 * reads them: all columns of row 0, of row 1, and so on. So a product reads a
 * packed matrix as one stream. The last panel is filled with zeros.
 *
 * Q8_0 and Q4_0 have 32 rows in a group: the scales of the columns (F16), then
 * the numbers of each row. In Q4_0 a byte holds the numbers of rows i and i + 16
 * of the group, as in a GGUF file. With AVX2 and AVX-512 the bytes of four rows of
 * a column are adjacent, and the numbers of Q8_0 have 128 added: fixed_product.h
 * multiplies them as they are.
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
/* Whether the bytes of four rows of a column of blocks are adjacent. */
#define FK_FOUR_ROWS (FK_LANES >= 8)

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

/* The numbers that fk_block_row returns are shifted by this many bits. */
FK_INLINE int fk_block_shift(const int type) {
#if FK_FOUR_ROWS
    return type == FK_Q8_0 ? 24 : 28;
#else
    (void)type;
    return 0;
#endif
}

/* The numbers of FK_LANES columns of a row of a group. */
FK_INLINE fk_vi fk_block_row(const int type, const char *numbers, int row,
                             int column) {
#if FK_FOUR_ROWS
    const int at = type == FK_Q8_0 ? row : row % 16;
    const int bit = 8 * (at % 4) + 4 * (row - at) / 16;
    const int shift = fk_block_shift(type);
    const float *bytes =
        (const float *)(const void *)(numbers + at / 4 * 4 * FK_WIDTH +
                                      4 * column);
    /* Without their offset, numbers have a sign. */
    const uint32_t offsets = type == FK_Q8_0 ? 0x80808080 : 0x88888888;
    const fk_vu four = (fk_vu)fk_load(bytes) ^ offsets;
    return (fk_vi)((four << (shift - bit)) & UINT32_MAX << shift);
#else
    if (type == FK_Q8_0)
        return fk_widen_i8(fk_load_b(numbers + row * FK_WIDTH + column));
    const fk_vi both =
        fk_widen_i8(fk_load_b(numbers + row % 16 * FK_WIDTH + column));
    return ((row < 16 ? both : both >> 4) & 15) - 8;
#endif
}

/* Widens rows of a packed panel of blocks to F32. */
FK_INLINE void fk_widen_blocks(float *restrict to, const int type,
                               const char *restrict from, int64_t rows) {
    for (int64_t group = 0; group < rows / FK_BLOCK; group++) {
        float scales[FK_WIDTH];
        fk_read(scales, FK_F16, from, 1, FK_WIDTH);
        for (int v = 0; v < FK_WIDTH; v++)
            scales[v] *= 1 / (float)(1 << fk_block_shift(type));
        from += 2 * FK_WIDTH;
        _Pragma("GCC unroll 32") for (int i = 0; i < FK_BLOCK; i++)
            FK_UNROLL for (int v = 0; v < FK_WIDTH; v += FK_LANES) {
            fk_v number =
                __builtin_convertvector(fk_block_row(type, from, i, v), fk_v);
            fk_store(to + i * FK_WIDTH + v, fk_load(scales + v) * number);
        }
        to += FK_BLOCK * FK_WIDTH;
        from += FK_WIDTH * (type == FK_Q8_0 ? FK_BLOCK : FK_BLOCK / 2);
    }
}

/* Widens rows of a packed panel to F32. */
static void fk_widen_panel(float *to, int64_t type, const char *from,
                           int64_t rows) {
    if (type == FK_Q8_0)
        fk_widen_blocks(to, FK_Q8_0, from, rows);
    else if (type == FK_Q4_0)
        fk_widen_blocks(to, FK_Q4_0, from, rows);
    else
        fk_read(to, type, from, 1, rows * FK_WIDTH);
}

/* Where byte i of a column of a group is. */
FK_INLINE int64_t fk_byte_of_block(int64_t i, int64_t column) {
#if FK_FOUR_ROWS
    return i / 4 * 4 * FK_WIDTH + 4 * column + i % 4;
#else
    return i * FK_WIDTH + column;
#endif
}

/* Packs a panel of a block type. from is the first block of the first column. */
static void fk_pack_blocks(char *to, int64_t type, const char *from, int64_t k,
                           int64_t columns) {
    const int64_t numbers = type == FK_Q8_0 ? FK_BLOCK : FK_BLOCK / 2;
    const int64_t block = 2 + numbers, blocks = k / FK_BLOCK;
    const int offset = FK_FOUR_ROWS && type == FK_Q8_0 ? 128 : 0;
    memset(to, 0, (size_t)fk_panel_bytes(type, k));
    for (int64_t group = 0; group < blocks; group++) {
        for (int64_t j = 0; j < columns; j++) {
            const char *source = from + (j * blocks + group) * block;
            memcpy(to + 2 * j, source, 2);
            for (int64_t i = 0; i < numbers; i++)
                to[2 * FK_WIDTH + fk_byte_of_block(i, j)] =
                    (char)(source[2 + i] + offset);
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

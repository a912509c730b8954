/*
 * Matrix products.
 *
 * The loops, from the outside: batches; blocks of FK_BLOCK_ROWS rows; blocks of
 * FK_DEPTH along k; panels of columns; tiles of FK_ROWS rows. The rows of a block
 * are copied into the workspace as F32, so that they stay in the L2 cache. A
 * packed panel of F32 is read where it is. Any other is widened into the
 * workspace first, for all rows of the block.
 *
 * Each element is summed in the order of k, in blocks of the same length, so its
 * bits do not depend on the parts.
 *
 * workspace: rows of a | one panel of F32 | sums, if y is not F32
 *            row of a | one panel of F32, or the row in fixed point
 */
#ifndef FK_MATMUL_H
#define FK_MATMUL_H

#include "finish.h"
#include "fixed_product.h"
#include "tile.h"

/* The most rows of a block. Their copy has at most 225 KiB, which leaves room in
 * the L2 cache for a panel, and bounds the workspace of each thread. */
#if FK_LANES == 16
#define FK_BLOCK_ROWS 144
#else
#define FK_BLOCK_ROWS 192
#endif
/* Parts with fewer rows share the rows, and divide the panels. */
#define FK_PART_ROWS 120
/* With fewer columns a part spends more than 5 % of its time on copying rows. */
#define FK_PART_COLUMNS 256
/* Bytes of sums for an output that is not F32. */
#define FK_SUMS_BYTES (2 << 20)

/* The batches, and the rows and panels of each of their matrices, that one part
 * computes. */
struct fk_share {
    int64_t batch, batch_end;
    int64_t row, row_end;
    int64_t panel, panel_end;
};

static int64_t fk_batches(const struct fk_matmul *r) {
    int64_t count = 1;
    for (int64_t d = 0; d < r->rank; d++)
        count *= r->batch[d];
    return count;
}

static struct fk_product fk_product_of(const struct fk_matmul *r,
                                       int64_t batch) {
    struct fk_product p = {r, r->a, r->b, r->y, r->add, r->residual};
    const int64_t b_bytes = r->b_packed ? 1 : fk_bytes(r->b_type);
    for (int64_t d = r->rank - 1; d >= 0; d--) {
        int64_t at = batch % r->batch[d];
        batch /= r->batch[d];
        p.a += (uint64_t)(at * r->a_batch[d] * fk_bytes(r->a_type));
        p.b += (uint64_t)(at * r->b_batch[d] * b_bytes);
        p.y += (uint64_t)(at * r->y_batch[d] * fk_bytes(r->y_type));
        if (r->add)
            p.add += (uint64_t)(at * r->add_batch[d] * fk_bytes(r->add_type));
        if (r->residual)
            p.residual += (uint64_t)(at * r->residual_batch[d] *
                                     fk_bytes(r->residual_type));
    }
    return p;
}

static struct fk_share fk_share_of(const struct fk_matmul *r, int64_t part,
                                   int64_t parts) {
    const int64_t batches = fk_batches(r), panels = fk_panels(r->n);
    struct fk_share s = {0, batches, 0, r->m, 0, panels};
    if (batches >= parts) {
        const struct fk_range range = fk_range_of(batches, part, parts);
        s.batch = range.first;
        s.batch_end = range.end;
    } else if (r->m >= parts * FK_PART_ROWS || panels < parts) {
        const int64_t tiles = fk_round_up(r->m, FK_ROWS) / FK_ROWS;
        const struct fk_range range = fk_range_of(tiles, part, parts);
        s.row = range.first * FK_ROWS;
        s.row_end = fk_least(r->m, range.end * FK_ROWS);
    } else {
        /* Each part copies the rows of a. Where it would have few columns, one part
         * of a thread computes those of the others too. */
        const int is_narrow = r->m > 1 && r->n < parts * FK_PART_COLUMNS &&
                              parts >= 2 * FK_PARTS_OF_THREAD;
        const int64_t joined = is_narrow ? FK_PARTS_OF_THREAD : 1;
        const struct fk_range range =
            fk_range_of(panels, part / joined, (parts + joined - 1) / joined);
        s.panel = range.first;
        s.panel_end = part % joined == 0 ? range.end : range.first;
    }
    return s;
}

/* A thread is worth waking for about this many multiplications. */
#define FK_PART_WORK 65536.0

static int64_t fk_matmul_parts(const void *request) {
    const struct fk_matmul *r = request;
    double parts = (double)r->m * (double)r->n * (double)r->k *
                   (double)fk_batches(r) / FK_PART_WORK;
    return parts < 1 ? 1 : parts > 4096 ? 4096 : (int64_t)parts;
}

/* Rows of a block. The sums of an output that is not F32 bound it. */
static int64_t fk_block_rows(const struct fk_matmul *r) {
    int64_t rows = FK_BLOCK_ROWS;
    if (r->y_type != FK_F32) {
        int64_t fit = FK_SUMS_BYTES / 4 / (fk_panels(r->n) * FK_WIDTH + 1);
        rows = fk_least(rows, fit / FK_ROWS * FK_ROWS);
        rows = rows < FK_ROWS ? FK_ROWS : rows;
    }
    /* All blocks have nearly the same number of tiles. */
    const int64_t tiles = fk_round_up(r->m, FK_ROWS) / FK_ROWS;
    const int64_t blocks = (tiles * FK_ROWS + rows - 1) / rows;
    return blocks < 2 ? tiles * FK_ROWS
                      : (tiles + blocks - 1) / blocks * FK_ROWS;
}

static int64_t fk_rows_bytes(const struct fk_matmul *r) {
    if (r->m == 1)
        return fk_round_up(4 * r->k, 64);
    return fk_round_up(fk_block_rows(r) * FK_A_ROW * 4, 64);
}

static int64_t fk_panel_workspace(const struct fk_matmul *r) {
    if (r->b_packed && (r->m == 1 || r->b_type == FK_F32))
        return 0;
    if (r->m == 1 && fk_is_plain_product(r))
        return 0;
    return fk_least(fk_round_up(r->k, FK_BLOCK), FK_DEPTH) * FK_WIDTH * 4;
}

static int64_t fk_sums_bytes(const struct fk_matmul *r) {
    if (r->m == 1 || r->y_type == FK_F32)
        return 0;
    return fk_block_rows(r) * fk_panels(r->n) * FK_WIDTH * 4;
}

static int64_t fk_matmul_workspace(const void *request) {
    const struct fk_matmul *r = request;
    return fk_rows_bytes(r) + fk_panel_workspace(r) + fk_sums_bytes(r) +
           fk_fixed_bytes(r);
}

/* The rows and the depth that are in the workspace. */
struct fk_block {
    int64_t row, rows;
    int64_t from, depth;
    const float *a;
    float *panel, *sums;
    int64_t sums_row;
};

/* Rows from..from+depth of a panel as F32: where they are, or in the workspace. */
static const float *fk_panel_rows(const struct fk_product *p, int64_t panel,
                                  int64_t from, int64_t depth, float *space) {
    const struct fk_matmul *r = p->request;
    if (r->b_packed) {
        const char *at = (const char *)(uintptr_t)p->b +
                         panel * fk_panel_bytes(r->b_type, r->k) +
                         fk_panel_bytes(r->b_type, from);
        if (r->b_type == FK_F32)
            return (const float *)(const void *)at;
        fk_widen_panel(space, r->b_type, at, depth);
        return space;
    }
    int64_t first = panel * FK_WIDTH;
    int64_t columns = fk_least(FK_WIDTH, r->n - first);
    int64_t index = from * r->b_row + first * r->b_column;
    fk_fill_panel(space, r->b_type,
                  (uint64_t)(uintptr_t)fk_at(p->b, r->b_type, index), r->b_row,
                  r->b_column, depth, columns);
    return space;
}

static void fk_panel_of_block(const struct fk_product *p,
                              const struct fk_block *block, int64_t panel,
                              float *sums) {
    const struct fk_matmul *r = p->request;
    const int64_t column = panel * FK_WIDTH;
    const int64_t columns = fk_least(FK_WIDTH, r->n - column);
    const int adds = block->from > 0;
    const int is_last = block->from + block->depth >= r->k;
    const int is_direct = !sums && columns == FK_WIDTH && r->alpha == 1 &&
                          !fk_changes(r, !adds, is_last);
    const float *b =
        fk_panel_rows(p, panel, block->from, block->depth, block->panel);
    for (int64_t i = 0; i < block->rows; i += FK_ROWS) {
        int64_t rows = fk_least(FK_ROWS, block->rows - i);
        const float *a = block->a + i * FK_A_ROW;
        if (sums) {
            fk_tiles[rows](block->depth, a, b, sums + i * block->sums_row,
                           block->sums_row, adds);
        } else if (is_direct) {
            int64_t index = (block->row + i) * r->y_row + column;
            fk_tiles[rows](block->depth, a, b,
                           (float *)(uintptr_t)fk_at(p->y, FK_F32, index),
                           r->y_row, adds);
        } else {
            float tile[FK_ROWS * FK_WIDTH];
            fk_tiles[rows](block->depth, a, b, tile, FK_WIDTH, 0);
            const struct fk_sums of = {tile, FK_WIDTH, block->row + i,
                                       rows, column,   columns,
                                       adds, is_last};
            fk_finish(p, &of);
        }
    }
}

static void fk_copy_rows(const struct fk_product *p,
                         const struct fk_block *block, float *to) {
    const struct fk_matmul *r = p->request;
    for (int64_t i = 0; i < block->rows; i++, to += FK_A_ROW) {
        int64_t index = (block->row + i) * r->a_row + block->from * r->a_column;
        fk_read(to, r->a_type, fk_at(p->a, r->a_type, index), r->a_column,
                block->depth);
    }
}

static void fk_rows_of_product(const struct fk_product *p,
                               const struct fk_share *share, char *workspace) {
    const struct fk_matmul *r = p->request;
    const int64_t block_rows = fk_block_rows(r);
    float *a = (float *)(void *)workspace;
    float *panel = (float *)(void *)(workspace + fk_rows_bytes(r));
    float *sums = NULL;
    if (r->y_type != FK_F32)
        sums = (float *)(void *)((char *)panel + fk_panel_workspace(r));
    /* All blocks along k have nearly the same length, in whole groups. */
    const int64_t k = r->k > 0 ? r->k : 1;
    const int64_t blocks = (k + FK_DEPTH - 1) / FK_DEPTH;
    const int64_t depth = fk_round_up((k + blocks - 1) / blocks, FK_BLOCK);
    const int64_t width = (share->panel_end - share->panel) * FK_WIDTH;
    for (int64_t i = share->row; i < share->row_end; i += block_rows) {
        int64_t rows = fk_least(block_rows, share->row_end - i);
        for (int64_t from = 0; from == 0 || from < r->k; from += depth) {
            struct fk_block block = {
                i, rows,  from, fk_least(depth, r->k - from),
                a, panel, sums, width};
            fk_copy_rows(p, &block, a);
            for (int64_t j = share->panel; j < share->panel_end; j++)
                fk_panel_of_block(p, &block, j,
                                  sums ? sums + (j - share->panel) * FK_WIDTH
                                       : NULL);
        }
        int64_t column = share->panel * FK_WIDTH;
        const struct fk_sums of = {
            sums, width, i, rows, column, fk_least(width, r->n - column), 0, 1};
        if (sums)
            fk_finish(p, &of);
    }
}

/* One row times a panel that no other form suits: it is widened in blocks. */
static void fk_one_panel(const struct fk_product *p, int64_t panel,
                         const float *a, float *space, float *y) {
    const int64_t k = p->request->k;
    float part[FK_WIDTH];
    memset(y, 0, sizeof part);
    for (int64_t i = 0; i < k; i += FK_DEPTH) {
        int64_t depth = fk_least(FK_DEPTH, k - i);
        fk_panel_rows(p, panel, i, depth, space);
        fk_packed_product(FK_F32, FK_WIDTH, depth, a + i, (char *)space, part);
        for (int c = 0; c < FK_WIDTH; c++)
            y[c] += part[c];
    }
}

static void fk_one_row(const struct fk_product *p, const struct fk_share *share,
                       char *workspace) {
    const struct fk_matmul *r = p->request;
    const float *a = (const float *)(uintptr_t)p->a;
    float *space = (float *)(void *)(workspace + fk_rows_bytes(r));
    float y[FK_RUN];
    if (r->a_type != FK_F32 || (r->a_column != 1 && r->k > 1) || p->a % 4) {
        float *row = (float *)(void *)workspace;
        fk_read(row, r->a_type, fk_at(p->a, r->a_type, 0), r->a_column, r->k);
        a = row;
    }
    const struct fk_fixed *fixed = fk_fixed_row(r, a, space);
    const int64_t end = fk_least(r->n, share->panel_end * FK_WIDTH);
    const int is_plain = !r->b_packed && fk_is_plain_product(r);
    const int64_t step = is_plain      ? FK_RUN
                         : r->b_packed ? FK_STREAMS * FK_WIDTH
                                       : FK_WIDTH;
    const int is_direct = r->y_type == FK_F32 && r->alpha == 1 &&
                          !fk_changes(r, 1, 1) && p->y % 4 == 0;
    for (int64_t j = share->panel * FK_WIDTH; j < end; j += step) {
        int64_t columns = fk_least(step, end - j);
        /* Panels are written as a whole. */
        const int is_buffered = !is_direct || (!is_plain && columns % FK_WIDTH);
        float *to =
            is_buffered ? y : (float *)(uintptr_t)fk_at(p->y, FK_F32, j);
        if (is_plain) {
            fk_plain_product(r, a, fk_at(p->b, r->b_type, j * r->b_column),
                             columns, to);
        } else if (r->b_packed) {
            const char *b = (const char *)(uintptr_t)p->b +
                            j / FK_WIDTH * fk_panel_bytes(r->b_type, r->k);
            if (fixed)
                fk_fixed_product(r->b_type, columns, r->k, fixed, b, to);
            else
                fk_packed_product(r->b_type, columns, r->k, a, b, to);
        } else {
            fk_one_panel(p, j / FK_WIDTH, a, space, to);
        }
        const struct fk_sums of = {y, 0, 0, 1, j, columns, 0, 1};
        if (is_buffered && is_direct)
            memcpy((char *)fk_at(p->y, FK_F32, j), y, 4 * (size_t)columns);
        else if (is_buffered)
            fk_finish(p, &of);
    }
}

static void fk_matmul_run(const void *request, int64_t part, int64_t parts,
                          char *workspace) {
    const struct fk_matmul *r = request;
    if (r->m == 0 || r->n == 0)
        return;
    const struct fk_share share = fk_share_of(r, part, parts);
    if (share.panel == share.panel_end)
        return;
    for (int64_t batch = share.batch; batch < share.batch_end; batch++) {
        struct fk_product p = fk_product_of(r, batch);
        if (r->m == 1 && share.row < share.row_end)
            fk_one_row(&p, &share, workspace);
        else
            fk_rows_of_product(&p, &share, workspace);
    }
}

#endif

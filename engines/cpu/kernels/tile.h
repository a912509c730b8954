/*
 * The innermost product: a tile of up to FK_ROWS rows and FK_WIDTH columns. The
 * sums stay in registers; each step reads FK_VECTORS vectors of the panel and one
 * number of each row.
 */
#ifndef FK_TILE_H
#define FK_TILE_H

#include "panels.h"

/* Rows of a panel that are multiplied at a time. With 256, a panel of up to 16
 * columns and the rows of a tile fit into an L1 cache of 32 KiB. A panel of
 * AVX-512 is read from the L2 cache, which is fast enough for its tiles. */
#if FK_LANES == 16
#define FK_DEPTH 384
#else
#define FK_DEPTH 256
#endif
/* Rows of the left matrix are copied into the workspace FK_A_ROW floats apart. A
 * constant distance makes every row an offset of one register. An odd number of
 * cache lines places the rows in different sets of the cache. */
#define FK_A_ROW (FK_DEPTH + 16)

/* How many bytes before their use a panel is asked for, into the L2 cache. The
 * processor looks ahead by itself, but only within a page, and a tile reads a panel
 * faster than that brings it from the L3 cache. */
#define FK_PANEL_AHEAD 4096

/* y = a b, or y += a b if adds is set. */
typedef void fk_tile_run(int64_t k, const float *a, const float *b, float *y,
                         int64_t y_row, int adds);

FK_INLINE void fk_tile(const int rows, int64_t k, const float *a, int64_t a_row,
                       const float *b, float *y, int64_t y_row, int adds) {
    fk_v sum[FK_ROWS][FK_VECTORS];
    FK_UNROLL for (int r = 0; r < rows; r++)
        FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) sum[r][v] = fk_splat(0);
    /* The output arrives in the cache while the sums are computed. */
    FK_UNROLL for (int r = 0; r < rows; r++)
        __builtin_prefetch(y + r * y_row, 1);
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < k; i++) {
        FK_UNROLL for (int at = 0; at < 4 * FK_WIDTH; at += 64)
            __builtin_prefetch((const char *)b + FK_PANEL_AHEAD + at, 0, 2);
        fk_v column[FK_VECTORS];
        FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) column[v] =
            fk_load(b + v * FK_LANES);
        FK_UNROLL for (int r = 0; r < rows; r++) {
            fk_v left = fk_splat(a[r * a_row]);
            FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) sum[r][v] +=
                left * column[v];
        }
        a++;
        b += FK_WIDTH;
    }
    if (adds)
        FK_UNROLL for (int r = 0; r < rows; r++)
            FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) sum[r][v] +=
            fk_load(y + r * y_row + v * FK_LANES);
    FK_UNROLL for (int r = 0; r < rows; r++)
        FK_UNROLL for (int v = 0; v < FK_VECTORS; v++)
            fk_store(y + r * y_row + v * FK_LANES, sum[r][v]);
}

#define FK_TILE_OF(rows)                                                       \
    FK_NOINLINE void fk_tile_##rows(int64_t k, const float *a, const float *b, \
                                    float *y, int64_t y_row, int adds) {       \
        fk_tile(rows, k, a, FK_A_ROW, b, y, y_row, adds);                      \
    }

FK_TILE_OF(1)
FK_TILE_OF(2)
FK_TILE_OF(3)
FK_TILE_OF(4)
#if FK_ROWS > 4
FK_TILE_OF(5)
FK_TILE_OF(6)
#endif
#if FK_ROWS > 6
FK_TILE_OF(7)
FK_TILE_OF(8)
FK_TILE_OF(9)
FK_TILE_OF(10)
FK_TILE_OF(11)
FK_TILE_OF(12)
#endif

static fk_tile_run *const fk_tiles[FK_ROWS + 1] = {
    NULL,      fk_tile_1, fk_tile_2, fk_tile_3,  fk_tile_4,
#if FK_ROWS > 4
    fk_tile_5, fk_tile_6,
#endif
#if FK_ROWS > 6
    fk_tile_7, fk_tile_8, fk_tile_9, fk_tile_10, fk_tile_11, fk_tile_12,
#endif
};

#endif

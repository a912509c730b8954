/*
 * Turning squares of FK_LANES rows and FK_LANES columns: rows become columns.
 *
 * Each round interleaves vector i with vector i + FK_LANES / 2. In the number of an
 * element, its row before its column, that moves the highest bit to the lowest
 * place. After as many rounds as a column number has bits, the two numbers have
 * changed places.
 */
#ifndef FK_TURN_H
#define FK_TURN_H

#include "vector.h"

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define FK_HAS_SHUFFLE 1
#endif
#endif

#if defined(FK_HAS_SHUFFLE)
#if FK_LANES == 16
#define FK_LOW_HALVES 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define FK_HIGH_HALVES \
    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define FK_ROUNDS 4
#elif FK_LANES == 8
#define FK_LOW_HALVES 0, 8, 1, 9, 2, 10, 3, 11
#define FK_HIGH_HALVES 4, 12, 5, 13, 6, 14, 7, 15
#define FK_ROUNDS 3
#else
#define FK_LOW_HALVES 0, 4, 1, 5
#define FK_HIGH_HALVES 2, 6, 3, 7
#define FK_ROUNDS 2
#endif
#endif

/* Row r of `to` is column r of `from`. Each row of `from` is multiplied by factor. */
FK_NOINLINE void fk_turn(const float *from, int64_t from_row, fk_v factor,
                         float *to, int64_t to_row) {
#if defined(FK_HAS_SHUFFLE)
    fk_v a[FK_LANES], b[FK_LANES];
    FK_UNROLL for (int i = 0; i < FK_LANES; i++) a[i] =
        fk_load(from + i * from_row) * factor;
    FK_UNROLL for (int round = 0; round < FK_ROUNDS; round++) {
        FK_UNROLL for (int i = 0; i < FK_LANES / 2; i++) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + FK_LANES / 2],
                                               FK_LOW_HALVES);
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + FK_LANES / 2],
                                                   FK_HIGH_HALVES);
        }
        FK_UNROLL for (int i = 0; i < FK_LANES; i++) a[i] = b[i];
    }
    FK_UNROLL for (int i = 0; i < FK_LANES; i++)
        fk_store(to + i * to_row, a[i]);
#else
    float row[FK_LANES];
    for (int i = 0; i < FK_LANES; i++) {
        fk_store(row, fk_load(from + i * from_row) * factor);
        for (int j = 0; j < FK_LANES; j++)
            to[j * to_row + i] = row[j];
    }
#endif
}

#endif

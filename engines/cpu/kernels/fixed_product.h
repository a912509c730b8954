/*
 * Products of one row with blocks, in fixed point. Converting each number of a
 * block to F32 takes longer than reading it from memory. So the row is converted
 * instead, once: each block of it becomes whole numbers of 32 bits with one scale,
 * and these have four digits of 8 bits. One instruction of AVX-512 VNNI multiplies
 * 64 numbers by a digit and adds the products, without an error.
 *
 *   a[i] = scale * (d0[i] + 2^8 d1[i] + 2^16 d2[i] + 2^24 d3[i]),  -128 <= d <= 127
 *
 * The error of a[i] is at most 2^-30 of the largest element of its block. The sums
 * of a block are exact. Only their combinations are rounded, to F32.
 *
 * The form depends on the processor and the row, not on the parts, so the bits do
 * not depend on the threads.
 */
#ifndef FK_FIXED_PRODUCT_H
#define FK_FIXED_PRODUCT_H

#include "vector_product.h"

#define FK_DIGITS 4

/* A block of the row. */
struct fk_fixed {
    /* Digit d of each element. */
    int8_t digits[FK_DIGITS][FK_BLOCK];
    /* A packed number has an offset, so it is not below 0. start[d] is
     * -offset * (the sum of digits[d]). */
    int32_t start[FK_DIGITS];
    float scale;
    int32_t unused[3];
};

#if FK_LANES == 16

#define FK_VNNI __attribute__((target("avx512vnni")))

/* A row of F32 is multiplied as it is if it has no element as large as LEAST, or
 * one as large as 2^MOST, an infinity or NaN. */
#define FK_FIXED_LEAST 0x1p-60f
#define FK_FIXED_MOST 96
/* The exponent of the smallest scale. 1 / 2^-119 is a number of F32. */
#define FK_FIXED_SMALLEST (-119)
/* The magnitude of whole numbers is at most 2^30. */
#define FK_FIXED_BITS 30

static int64_t fk_fixed_bytes(const struct fk_matmul *r) {
    if (r->m != 1 || !r->b_packed ||
        (r->b_type != FK_Q8_0 && r->b_type != FK_Q4_0))
        return 0;
    return fk_round_up(r->k / FK_BLOCK * (int64_t)sizeof(struct fk_fixed), 64);
}

/* 2^exponent. */
FK_INLINE float fk_power_of_two(int32_t exponent) {
    const int32_t bits = (exponent + 127) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return power;
}

/* Sets the digits of half a block. If 128 is added to each digit, the digits are
 * the bytes of the whole number. */
FK_INLINE void fk_set_digits(struct fk_fixed *to, int first, fk_v scaled) {
    const fk_vi offset = fk_splat_i((int32_t)0x80808080);
    const fk_vi bytes =
        ((fk_vi)_mm512_cvtps_epi32((__m512)scaled) + offset) ^ offset;
    FK_UNROLL for (int d = 0; d < FK_DIGITS; d++)
        _mm_storeu_si128((__m128i *)(void *)(to->digits[d] + first),
                         _mm512_cvtepi32_epi8((__m512i)(bytes >> 8 * d)));
}

/* Converts a row. Returns 0 if it is to be multiplied as it is. */
FK_VNNI static int fk_fix_row(const float *a, int64_t k, int offset,
                              struct fk_fixed *to) {
    int32_t largest = 0;
    for (int64_t i = 0; i < k; i += FK_BLOCK, to++) {
        const fk_v low = fk_load(a + i), high = fk_load(a + i + FK_LANES);
        /* Magnitudes have the order of their bits. NaN is the largest. */
        const fk_vi sign = fk_splat_i(INT32_MIN);
        const int32_t most = _mm512_reduce_max_epi32(_mm512_max_epi32(
            (__m512i)((fk_vi)low & ~sign), (__m512i)((fk_vi)high & ~sign)));
        int32_t exponent = (most >> 23) - 127 + 1;
        if (exponent > FK_FIXED_MOST)
            return 0;
        exponent -= FK_FIXED_BITS;
        if (exponent < FK_FIXED_SMALLEST)
            exponent = FK_FIXED_SMALLEST;
        largest = most > largest ? most : largest;
        const fk_v factor = fk_splat(fk_power_of_two(-exponent));
        fk_set_digits(to, 0, low * factor);
        fk_set_digits(to, FK_LANES, high * factor);
        to->scale = fk_power_of_two(exponent);
        for (int d = 0; d < FK_DIGITS; d += 2) {
            const __m512i sums =
                _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1),
                                    _mm512_loadu_si512(to->digits[d]));
            to->start[d] = -offset * _mm512_mask_reduce_add_epi32(0xFF, sums);
            to->start[d + 1] =
                -offset * _mm512_mask_reduce_add_epi32(0xFF00, sums);
        }
    }
    float element;
    memcpy(&element, &largest, 4);
    return element == 0 || element >= FK_FIXED_LEAST;
}

/* The row in fixed point in the workspace, or NULL if it has no such form. */
static const struct fk_fixed *fk_fixed_row(const struct fk_matmul *r,
                                           const float *a, void *space) {
    if (fk_fixed_bytes(r) == 0 || !__builtin_cpu_supports("avx512vnni"))
        return NULL;
    const int offset = r->b_type == FK_Q8_0 ? 128 : 8;
    return fk_fix_row(a, r->k, offset, space) ? space : NULL;
}

/* Adds to sums the products of four numbers of each column with the digits of four
 * elements. */
FK_VNNI FK_INLINE void fk_add_digits(__m512i sums[FK_DIGITS], __m512i numbers,
                                     const struct fk_fixed *a, int first) {
    FK_UNROLL for (int d = 0; d < FK_DIGITS; d++) {
        int32_t four;
        memcpy(&four, a->digits[d] + first, 4);
        sums[d] =
            _mm512_dpbusd_epi32(sums[d], numbers, _mm512_set1_epi32(four));
    }
}

/* The sums of all digits, as F32. */
FK_INLINE fk_v fk_join_digits(const __m512i sums[FK_DIGITS]) {
    const fk_vi low = ((fk_vi)sums[1] << 8) + (fk_vi)sums[0];
    const fk_vi high = ((fk_vi)sums[3] << 8) + (fk_vi)sums[2];
    return __builtin_convertvector(high, fk_v) * fk_splat(0x1p16f) +
           __builtin_convertvector(low, fk_v);
}

/* How many bytes before their use a panel is asked for. A matrix is one stream:
 * each panel begins where the one before it ends. */
#define FK_FIXED_AHEAD 8192

/* Columns of one panel. */
FK_VNNI FK_INLINE void fk_fixed_panel(const int type, int64_t k,
                                      const struct fk_fixed *a, const char *b,
                                      float *y) {
    /* Four rows of a panel. */
    const int step = 4 * FK_WIDTH;
    const int steps = type == FK_Q8_0 ? FK_BLOCK / 4 : FK_BLOCK / 8;
    const __m512i nibble = _mm512_set1_epi8(15);
    fk_v total[FK_VECTORS];
    FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) total[v] = fk_splat(0);
    for (int64_t group = 0; group < k / FK_BLOCK; group++, a++) {
        const char *scales = b;
        __m512i sums[FK_VECTORS][FK_DIGITS];
        FK_UNROLL for (int v = 0; v < FK_VECTORS; v++)
            FK_UNROLL for (int d = 0; d < FK_DIGITS; d++) sums[v][d] =
                _mm512_set1_epi32(a->start[d]);
        b += 2 * FK_WIDTH;
        FK_UNROLL for (int i = 0; i < steps; i++, b += step)
            FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) {
            const __m512i bytes = _mm512_loadu_si512(b + 64 * v);
            __builtin_prefetch(b + FK_FIXED_AHEAD + 64 * v);
            if (type == FK_Q8_0) {
                fk_add_digits(sums[v], bytes, a, 4 * i);
                continue;
            }
            fk_add_digits(sums[v], _mm512_and_si512(bytes, nibble), a, 4 * i);
            fk_add_digits(sums[v],
                          _mm512_and_si512(_mm512_srli_epi16(bytes, 4), nibble),
                          a, FK_BLOCK / 2 + 4 * i);
        }
        FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) {
            const fk_v scale =
                fk_from_f16(fk_load_h(scales + 2 * v * FK_LANES));
            total[v] += fk_join_digits(sums[v]) * (scale * fk_splat(a->scale));
        }
    }
    FK_UNROLL for (int v = 0; v < FK_VECTORS; v++)
        fk_store(y + v * FK_LANES, total[v]);
}

/* Columns of some panels of packed blocks, as fk_packed_product. */
FK_VNNI FK_NOINLINE void fk_fixed_product(int64_t type, int64_t columns,
                                          int64_t k, const struct fk_fixed *a,
                                          const char *b, float *y) {
    const int64_t distance = fk_panel_bytes(type, k);
    for (int64_t p = fk_panels(columns); p > 0; p--) {
        if (type == FK_Q8_0)
            fk_fixed_panel(FK_Q8_0, k, a, b, y);
        else
            fk_fixed_panel(FK_Q4_0, k, a, b, y);
        b += distance;
        y += FK_WIDTH;
    }
}

#else

/* The other sets multiply all rows as they are. */
static int64_t fk_fixed_bytes(const struct fk_matmul *r) {
    (void)r;
    return 0;
}

static const struct fk_fixed *fk_fixed_row(const struct fk_matmul *r,
                                           const float *a, void *space) {
    (void)r;
    (void)a;
    (void)space;
    return NULL;
}

static void fk_fixed_product(int64_t type, int64_t columns, int64_t k,
                             const struct fk_fixed *a, const char *b,
                             float *y) {
    (void)a;
    fk_packed_product(type, columns, k, NULL, b, y);
}

#endif

#endif

/*
 * Products of one row with blocks, in fixed point. Converting each number of a
 * block to F32 takes longer than reading it from memory. So the row is converted
 * instead, once: each block of it becomes whole numbers of 32 bits with one scale,
 * and these have digits of FK_DIGIT_BITS bits. An instruction multiplies many
 * numbers by a digit and adds the products, without an error.
 *
 *   a[i] = scale * (d0[i] + 2^8 d1[i] + 2^16 d2[i] + 2^24 d3[i])   AVX-512 VNNI
 *   a[i] = scale * (d0[i] + 2^16 d1[i])                            AVX2
 *
 * Digits have a sign: -2^7 <= d < 2^7, or -2^15 <= d < 2^15. The error of a[i] is
 * at most 2^-30 of the largest element of its block. The sums of a block are exact:
 * a number is below 2^8, so 32 products with digits of 16 bits are below 2^28.
 * Only the combinations of sums are rounded, to F32.
 *
 * The form depends on the processor, the row and the columns of the whole matrix,
 * not on the parts, so the bits do not depend on the threads.
 */
#ifndef FK_FIXED_PRODUCT_H
#define FK_FIXED_PRODUCT_H

#include "vector_product.h"

#if FK_LANES == 16
#include <cpuid.h>

#define FK_FIXED __attribute__((target("avx512vnni")))
#define FK_DIGITS 4
typedef int8_t fk_digit;
#else
#define FK_FIXED
#define FK_DIGITS 2
typedef int16_t fk_digit;
#endif
#define FK_DIGIT_BITS (32 / FK_DIGITS)
typedef fk_digit fk_digits_any __attribute__((
    vector_size(sizeof(fk_digit) * FK_LANES), aligned(1), may_alias));

/* A block of the row. */
struct fk_fixed {
    /* Digit d of each element, in the order in which they are multiplied. */
    fk_digit digits[FK_DIGITS][FK_BLOCK];
    /* A packed number has an offset, so it is not below 0. start[d] is
     * -offset * (the sum of digits[d]). */
    int32_t start[FK_DIGITS];
    float scale;
};

#if FK_FOUR_ROWS

/* A row of F32 is multiplied as it is if it has no element as large as LEAST, or
 * one as large as 2^MOST, an infinity or NaN. */
#define FK_FIXED_LEAST 0x1p-60f
#define FK_FIXED_MOST 96
/* The exponent of the smallest scale. 1 / 2^-119 is a number of F32. */
#define FK_FIXED_SMALLEST (-119)
/* The magnitude of whole numbers is at most 2^30. */
#define FK_FIXED_BITS 30

/* With fewer columns, converting the row takes longer than it saves. */
#define FK_FIXED_COLUMNS 128

static int64_t fk_fixed_bytes(const struct fk_matmul *r) {
    if (r->m != 1 || r->n < FK_FIXED_COLUMNS || !r->b_packed ||
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

FK_INLINE fk_vi fk_larger(fk_vi a, fk_vi b) {
#if FK_LANES == 16
    return (fk_vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
#else
    return (fk_vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
#endif
}

/* The bits of the largest magnitude in a block. Magnitudes have the order of their
 * bits. NaN is the largest. */
FK_INLINE int32_t fk_largest_of_block(const float *a) {
    const fk_vi sign = fk_splat_i(INT32_MIN);
    fk_vi most = fk_splat_i(0);
    FK_UNROLL for (int i = 0; i < FK_BLOCK; i += FK_LANES) most =
        fk_larger(most, (fk_vi)fk_load(a + i) & ~sign);
#if FK_LANES == 16
    return _mm512_reduce_max_epi32((__m512i)most);
#else
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128((__m256i)most),
                                 _mm256_extracti128_si256((__m256i)most, 1));
    four = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 1));
    return _mm_cvtsi128_si32(four);
#endif
}

/* Sets the digits of FK_LANES elements. If half its range is added to each digit,
 * the digits are the parts of the whole number. */
FK_INLINE void fk_set_digits(struct fk_fixed *to, int first, fk_v scaled) {
#if FK_LANES == 16
    const fk_vi offset = fk_splat_i((int32_t)0x80808080);
    const fk_vi whole = (fk_vi)_mm512_cvtps_epi32((__m512)scaled);
#else
    const fk_vi offset = fk_splat_i((int32_t)0x80008000);
    /* Rows 0 and 2 of four are multiplied together, and rows 1 and 3. */
    const fk_vi whole = (fk_vi)_mm256_shuffle_epi32(
        _mm256_cvtps_epi32((__m256)scaled), _MM_SHUFFLE(3, 1, 2, 0));
#endif
    const fk_vi parts = (whole + offset) ^ offset;
    FK_UNROLL for (int d = 0; d < FK_DIGITS; d++) {
        fk_digits_any *digits = (fk_digits_any *)(to->digits[d] + first);
        *digits =
            __builtin_convertvector(parts >> FK_DIGIT_BITS * d, fk_digits_any);
    }
}

/* Converts a row. Returns 0 if it is to be multiplied as it is. */
FK_FIXED static int fk_fix_row(const float *a, int64_t k, int offset,
                               struct fk_fixed *to) {
    int32_t largest = 0;
    for (int64_t i = 0; i < k; i += FK_BLOCK, to++) {
        const int32_t most = fk_largest_of_block(a + i);
        int32_t exponent = (most >> 23) - 127 + 1;
        if (exponent > FK_FIXED_MOST)
            return 0;
        exponent -= FK_FIXED_BITS;
        if (exponent < FK_FIXED_SMALLEST)
            exponent = FK_FIXED_SMALLEST;
        largest = most > largest ? most : largest;
        const fk_v factor = fk_splat(fk_power_of_two(-exponent));
        FK_UNROLL for (int j = 0; j < FK_BLOCK; j += FK_LANES)
            fk_set_digits(to, j, fk_load(a + i + j) * factor);
        to->scale = fk_power_of_two(exponent);
        for (int d = 0; d < FK_DIGITS; d++) {
            int32_t sum = 0;
            for (int j = 0; j < FK_BLOCK; j++)
                sum += to->digits[d][j];
            to->start[d] = -offset * sum;
        }
    }
    float element;
    memcpy(&element, &largest, 4);
    return element == 0 || element >= FK_FIXED_LEAST;
}

#if FK_LANES == 16
/* Whether the processor has AVX-512 VNNI. It is asked once, because the answer takes
 * long in a virtual machine. The compiler's own function for this is not in each
 * linker's library. */
static int fk_has_vnni(void) {
    static int answer; /* 0: not asked yet; 1: no; 2: yes */
    int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (known == 0) {
        unsigned a, b, c = 0, d;
        known = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_AVX512VNNI)
                    ? 2
                    : 1;
        __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
    }
    return known == 2;
}
#endif

/* The row in fixed point in the workspace, or NULL if it has no such form. */
static const struct fk_fixed *fk_fixed_row(const struct fk_matmul *r,
                                           const float *a, void *space) {
    if (fk_fixed_bytes(r) == 0)
        return NULL;
#if FK_LANES == 16
    if (!fk_has_vnni())
        return NULL;
#endif
    const int offset = r->b_type == FK_Q8_0 ? 128 : 8;
    return fk_fix_row(a, r->k, offset, space) ? space : NULL;
}

/* Elements whose digits are multiplied at once: those in 32 bits. */
#define FK_AT_ONCE (32 / FK_DIGIT_BITS)
/* Parts of four rows. */
#define FK_PARTS (4 / FK_AT_ONCE)

/* A part of the numbers in the bytes of four rows: numbers as wide as digits. The
 * parts of rows from 16 on follow those of the first rows in Q4_0. */
FK_INLINE fk_vi fk_part(const int type, fk_vi bytes, const int part) {
#if FK_LANES == 16
    if (type == FK_Q8_0)
        return bytes;
    const __m512i four = _mm512_srli_epi16((__m512i)bytes, 4 * part);
    return (fk_vi)_mm512_and_si512(four, _mm512_set1_epi8(15));
#else
    const int bits = type == FK_Q8_0 ? 8 : 4;
    const int shift = part % 2 * 8 + part / 2 * 4;
    const __m256i shifted = _mm256_srli_epi16((__m256i)bytes, shift);
    if (shift + bits == 16)
        return (fk_vi)shifted;
    const __m256i mask = _mm256_set1_epi16((int16_t)((1 << bits) - 1));
    return (fk_vi)_mm256_and_si256(shifted, mask);
#endif
}

/* sum + the products of numbers of each column with digits. */
FK_FIXED FK_INLINE fk_vi fk_add_products(fk_vi sum, fk_vi numbers,
                                         fk_vi digits) {
#if FK_LANES == 16
    return (fk_vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)numbers,
                                      (__m512i)digits);
#else
    sum += (fk_vi)_mm256_madd_epi16((__m256i)numbers, (__m256i)digits);
    /* Otherwise the compiler changes the order of the additions, and the products
     * of a whole block do not fit into registers. */
    __asm__("" : "+x"(sum));
    return sum;
#endif
}

/* The sums of all digits, as F32. */
FK_INLINE fk_v fk_join_digits(const fk_vi sums[FK_DIGITS]) {
#if FK_LANES == 16
    const fk_vi low = (sums[1] << 8) + sums[0];
    const fk_vi high = (sums[3] << 8) + sums[2];
#else
    const fk_vi low = sums[0], high = sums[1];
#endif
    return __builtin_convertvector(high, fk_v) * fk_splat(0x1p16f) +
           __builtin_convertvector(low, fk_v);
}

/* How many bytes before their use a panel is asked for. A matrix is one stream:
 * each panel begins where the one before it ends. */
#define FK_FIXED_AHEAD 8192

/* Columns of one panel. */
FK_FIXED FK_INLINE void fk_fixed_panel(const int type, int64_t k,
                                       const struct fk_fixed *a, const char *b,
                                       float *y) {
    /* Four rows of a panel. */
    const int step = 4 * FK_WIDTH;
    const int steps = type == FK_Q8_0 ? FK_BLOCK / 4 : FK_BLOCK / 8;
    const int parts = type == FK_Q8_0 ? FK_PARTS : 2 * FK_PARTS;
    fk_v total[FK_VECTORS];
    FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) total[v] = fk_splat(0);
    for (int64_t group = 0; group < k / FK_BLOCK; group++, a++) {
        const char *scales = b;
        fk_vi sums[FK_VECTORS][FK_DIGITS];
        FK_UNROLL for (int v = 0; v < FK_VECTORS; v++)
            FK_UNROLL for (int d = 0; d < FK_DIGITS; d++) sums[v][d] =
                fk_splat_i(a->start[d]);
        b += 2 * FK_WIDTH;
        FK_UNROLL for (int i = 0; i < steps; i++, b += step) {
            fk_vi bytes[FK_VECTORS], numbers[FK_VECTORS];
            fk_ask_for(b + FK_FIXED_AHEAD, step);
            FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) bytes[v] =
                (fk_vi)fk_load((const float *)(const void *)b + v * FK_LANES);
            FK_UNROLL for (int p = 0; p < parts; p++) {
                const int first = p / FK_PARTS * (FK_BLOCK / 2) + 4 * i +
                                  p % FK_PARTS * FK_AT_ONCE;
                FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) numbers[v] =
                    fk_part(type, bytes[v], p);
                FK_UNROLL for (int d = 0; d < FK_DIGITS; d++) {
                    int32_t digits;
                    memcpy(&digits, a->digits[d] + first, 4);
                    FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) sums[v][d] =
                        fk_add_products(sums[v][d], numbers[v],
                                        fk_splat_i(digits));
                }
            }
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
FK_FIXED FK_NOINLINE void fk_fixed_product(int64_t type, int64_t columns,
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

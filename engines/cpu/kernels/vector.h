/*
 * Vectors of the instruction set for which the source is compiled: FK_LANES
 * floats in a register. The operators are those of the compiler's vector
 * extensions. Few operations need an instruction by name; each has a form without
 * it.
 */
#ifndef FK_VECTOR_H
#define FK_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define FK_LANES 16
#elif defined(__AVX2__)
#define FK_LANES 8
#else
#define FK_LANES 4
#endif
#define FK_INLINE static inline __attribute__((always_inline))
#define FK_NOINLINE static __attribute__((noinline))
#define FK_UNROLL _Pragma("GCC unroll 16")

typedef float fk_v __attribute__((vector_size(4 * FK_LANES)));
typedef int32_t fk_vi __attribute__((vector_size(4 * FK_LANES)));
typedef uint32_t fk_vu __attribute__((vector_size(4 * FK_LANES)));
typedef uint16_t fk_vh __attribute__((vector_size(2 * FK_LANES)));
typedef int8_t fk_vb __attribute__((vector_size(FK_LANES)));
/* The same in memory, at any address. */
typedef float fk_v_any
    __attribute__((vector_size(4 * FK_LANES), aligned(1), may_alias));
typedef uint16_t fk_vh_any
    __attribute__((vector_size(2 * FK_LANES), aligned(1), may_alias));
typedef int8_t fk_vb_any
    __attribute__((vector_size(FK_LANES), aligned(1), may_alias));

#if FK_LANES == 16
#define FK_ALL(x) {x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}
#elif FK_LANES == 8
#define FK_ALL(x) {x, x, x, x, x, x, x, x}
#else
#define FK_ALL(x) {x, x, x, x}
#endif

/* The compiler turns this form into one broadcast. (fk_v){0} + x becomes an
 * addition for each lane. */
FK_INLINE fk_v fk_splat(float x) { return (fk_v)FK_ALL(x); }
FK_INLINE fk_vi fk_splat_i(int32_t x) { return (fk_vi)FK_ALL(x); }

FK_INLINE fk_v fk_load(const float *from) { return *(const fk_v_any *)from; }
FK_INLINE void fk_store(float *to, fk_v v) { *(fk_v_any *)to = v; }

/* Lanes of yes where the mask has all bits set, else lanes of no. */
FK_INLINE fk_v fk_select(fk_vi mask, fk_v yes, fk_v no) {
    return (fk_v)((mask & (fk_vi)yes) | (~mask & (fk_vi)no));
}

#if FK_LANES == 8
/* All bits of the first n lanes. */
FK_INLINE fk_vi fk_first_lanes(int64_t n) {
    return (fk_vi){0, 1, 2, 3, 4, 5, 6, 7} < fk_splat_i((int32_t)n);
}
#endif

/* Loads n < FK_LANES elements; the other lanes are fill. A copy of n elements
 * through memory would be a call, and its bytes would be read before they are in
 * the cache. */
FK_INLINE fk_v fk_load_part(const float *from, int64_t n, float fill) {
#if FK_LANES == 16
    return (fk_v)_mm512_mask_loadu_ps((__m512)fk_splat(fill),
                                      (__mmask16)((1u << n) - 1), from);
#elif FK_LANES == 8
    const fk_vi mask = fk_first_lanes(n);
    return fk_select(mask, (fk_v)_mm256_maskload_ps(from, (__m256i)mask),
                     fk_splat(fill));
#else
    fk_v v = fk_splat(fill);
    memcpy(&v, from, 4 * (size_t)n);
    return v;
#endif
}

FK_INLINE void fk_store_part(float *to, fk_v v, int64_t n) {
#if FK_LANES == 16
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << n) - 1), (__m512)v);
#elif FK_LANES == 8
    _mm256_maskstore_ps(to, (__m256i)fk_first_lanes(n), (__m256)v);
#else
    memcpy(to, &v, 4 * (size_t)n);
#endif
}

/* Whether a mask has a lane with all bits set. */
FK_INLINE int fk_any(fk_vi mask) {
#if FK_LANES == 16
    return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif FK_LANES == 8
    return _mm256_movemask_ps((__m256)mask) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)mask) != 0;
#else
    return vmaxvq_u32((uint32x4_t)mask) != 0;
#endif
}

/* Lanes i and j of each group of four lanes of a, and lanes k and l of that of b. */
#if FK_LANES == 16
#define FK_LANES_OF(a, b, i, j, k, l) \
    ((fk_v)_mm512_shuffle_ps((__m512)(a), (__m512)(b), _MM_SHUFFLE(l, k, j, i)))
#elif FK_LANES == 8
#define FK_LANES_OF(a, b, i, j, k, l) \
    ((fk_v)_mm256_shuffle_ps((__m256)(a), (__m256)(b), _MM_SHUFFLE(l, k, j, i)))
#elif defined(__SSE2__)
#define FK_LANES_OF(a, b, i, j, k, l) \
    ((fk_v)_mm_shuffle_ps((__m128)(a), (__m128)(b), _MM_SHUFFLE(l, k, j, i)))
#else
#define FK_LANES_OF(a, b, i, j, k, l) \
    __builtin_shufflevector(a, b, i, j, 4 + (k), 4 + (l))
#endif

/* Combines the upper half of the lanes with the lower one until one lane is left.
 * Through memory, each half would wait for the store of the one before. */
#if defined(__SSE2__)
#if FK_LANES == 16
#define FK_HALVE_16(v, with)                           \
    __m256 low8 = _mm512_castps512_ps256((__m512)(v)); \
    low8 = _mm256_##with##_ps(low8, _mm512_extractf32x8_ps((__m512)(v), 1));
#else
#define FK_HALVE_16(v, with) const fk_v low8 = (v);
#endif
#if FK_LANES >= 8
#define FK_HALVE_8(v, with)                             \
    FK_HALVE_16(v, with)                                \
    __m128 low4 = _mm256_castps256_ps128((__m256)low8); \
    low4 = _mm_##with##_ps(low4, _mm256_extractf128_ps((__m256)low8, 1));
#else
#define FK_HALVE_8(v, with) __m128 low4 = (__m128)(v);
#endif
#define FK_LANES_TO_ONE(name, with)                                  \
    FK_INLINE float name(fk_v v) {                                   \
        FK_HALVE_8(v, with)                                          \
        low4 = _mm_##with##_ps(low4, _mm_movehl_ps(low4, low4));     \
        low4 = _mm_##with##_ps(low4, _mm_shuffle_ps(low4, low4, 1)); \
        return _mm_cvtss_f32(low4);                                  \
    }
FK_LANES_TO_ONE(fk_sum_lanes, add)
FK_LANES_TO_ONE(fk_largest_lane, max)

FK_INLINE __m128 fk_sum_to_four(fk_v v) {
    FK_HALVE_8(v, add)
    return low4;
}
/* fk_sum_lanes of four vectors, with the same bits. */
FK_INLINE void fk_sum_lanes_of_four(const fk_v v[4], float *to) {
    const __m128 a = fk_sum_to_four(v[0]), b = fk_sum_to_four(v[1]);
    const __m128 c = fk_sum_to_four(v[2]), d = fk_sum_to_four(v[3]);
    const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
    const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
    _mm_storeu_ps(to, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
}
#else
FK_INLINE float fk_sum_lanes(fk_v v) {
    const float32x4_t lanes = (float32x4_t)v;
    const float32x2_t half =
        vadd_f32(vget_low_f32(lanes), vget_high_f32(lanes));
    return vget_lane_f32(half, 0) + vget_lane_f32(half, 1);
}
FK_INLINE float fk_largest_lane(fk_v v) { return vmaxvq_f32((float32x4_t)v); }
FK_INLINE void fk_sum_lanes_of_four(const fk_v v[4], float *to) {
    for (int i = 0; i < 4; i++)
        to[i] = fk_sum_lanes(v[i]);
}
#endif

#if defined(__F16C__)
FK_INLINE fk_v fk_from_f16(fk_vh h) {
#if FK_LANES == 16
    return (fk_v)_mm512_cvtph_ps((__m256i)h);
#else
    return (fk_v)_mm256_cvtph_ps((__m128i)h);
#endif
}
#else
/* Multiplying by a power of two adjusts the exponent, and normalises subnormal
 * numbers. */
FK_INLINE fk_v fk_from_f16(fk_vh h) {
    fk_vu wide = __builtin_convertvector(h, fk_vu);
    fk_vu sign = (wide & 0x8000) << 16, magnitude = (wide & 0x7FFF) << 13;
    fk_v scaled = (fk_v)magnitude * 0x1p+112f;
    fk_vi special = (fk_vi)magnitude >= (0x7C00 << 13);
    fk_vu bits =
        (fk_vu)fk_select(special, (fk_v)(magnitude | 0x7F800000), scaled);
    return (fk_v)(bits | sign);
}
#endif

/* Compilers widen lanes one by one, or in halves, unless the instruction is named. */
FK_INLINE fk_v fk_from_bf16(fk_vh h) {
#if FK_LANES == 16
    return (fk_v)((fk_vu)_mm512_cvtepu16_epi32((__m256i)h) << 16);
#elif FK_LANES == 8
    return (fk_v)((fk_vu)_mm256_cvtepu16_epi32((__m128i)h) << 16);
#elif defined(__SSE2__)
    int64_t four;
    memcpy(&four, &h, 8);
    return (fk_v)_mm_unpacklo_epi16(_mm_setzero_si128(),
                                    _mm_cvtsi64_si128(four));
#else
    return (fk_v)(__builtin_convertvector(h, fk_vu) << 16);
#endif
}

FK_INLINE fk_vi fk_widen_i8(fk_vb b) {
#if FK_LANES == 16
    return (fk_vi)_mm512_cvtepi8_epi32((__m128i)b);
#elif FK_LANES == 8
    __m128i bytes = _mm_setzero_si128();
    memcpy(&bytes, &b, 8);
    return (fk_vi)_mm256_cvtepi8_epi32(bytes);
#elif defined(__SSE2__)
    int32_t four;
    memcpy(&four, &b, 4);
    __m128i bytes = _mm_cvtsi32_si128(four);
    bytes = _mm_unpacklo_epi8(bytes, bytes);
    return (fk_vi)_mm_unpacklo_epi16(bytes, bytes) >> 24;
#else
    return __builtin_convertvector(b, fk_vi);
#endif
}

FK_INLINE fk_v fk_from_i8(fk_vb b) {
    return __builtin_convertvector(fk_widen_i8(b), fk_v);
}

FK_INLINE fk_vh fk_load_h(const void *from) { return *(const fk_vh_any *)from; }
FK_INLINE fk_vb fk_load_b(const void *from) { return *(const fk_vb_any *)from; }

#endif

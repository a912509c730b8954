/*
 * Functions of vectors of F32, exact to about 1e-6 of the result. NaN stays NaN;
 * infinities give the limits of the function.
 */
#ifndef FK_MATH_H
#define FK_MATH_H

#include "vector.h"

/* Where one of both is NaN, the result is b. */
#if FK_LANES == 16
FK_INLINE fk_v fk_max(fk_v a, fk_v b) { return (fk_v)_mm512_max_ps(a, b); }
FK_INLINE fk_v fk_min(fk_v a, fk_v b) { return (fk_v)_mm512_min_ps(a, b); }
#elif FK_LANES == 8
FK_INLINE fk_v fk_max(fk_v a, fk_v b) { return (fk_v)_mm256_max_ps(a, b); }
FK_INLINE fk_v fk_min(fk_v a, fk_v b) { return (fk_v)_mm256_min_ps(a, b); }
#elif defined(__SSE2__)
FK_INLINE fk_v fk_max(fk_v a, fk_v b) { return (fk_v)_mm_max_ps(a, b); }
FK_INLINE fk_v fk_min(fk_v a, fk_v b) { return (fk_v)_mm_min_ps(a, b); }
#else
FK_INLINE fk_v fk_max(fk_v a, fk_v b) { return fk_select(a > b, a, b); }
FK_INLINE fk_v fk_min(fk_v a, fk_v b) { return fk_select(a < b, a, b); }
#endif
FK_INLINE fk_v fk_abs(fk_v x) {
    return (fk_v)((fk_vi)x & fk_splat_i(0x7FFFFFFF));
}
/* The magnitude of x with the sign of s. */
FK_INLINE fk_v fk_with_sign(fk_v x, fk_v s) {
    return (fk_v)(((fk_vi)x & fk_splat_i(0x7FFFFFFF)) |
                  ((fk_vi)s & fk_splat_i((int32_t)0x80000000)));
}

FK_INLINE float fk_sqrt_one(float x) {
#if defined(__SSE2__)
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#else
    return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0);
#endif
}

FK_INLINE fk_v fk_sqrt(fk_v x) {
#if FK_LANES == 16
    return (fk_v)_mm512_sqrt_ps((__m512)x);
#elif FK_LANES == 8
    return (fk_v)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
    return (fk_v)_mm_sqrt_ps((__m128)x);
#else
    return (fk_v)vsqrtq_f32((float32x4_t)x);
#endif
}

/* The integer that is nearest to x / ln 2, as the low bits of a float and as a
 * number. */
struct fk_power {
    fk_v bits, n;
};

FK_INLINE struct fk_power fk_power_of(fk_v x) {
    const fk_v magic = fk_splat(12582912.0f); /* 1.5 * 2^23 */
    const fk_v bits = x * fk_splat(1.44269504f) + magic;
    return (struct fk_power){bits, bits - magic};
}

/* x - n ln 2. ln 2 has two parts, and n times the first part is exact. */
FK_INLINE fk_v fk_rest_of(fk_v x, fk_v n) {
    return (x - n * fk_splat(0.693359375f)) - n * fk_splat(-2.12194440e-4f);
}

/* e^r, for |r| <= ln 2 / 2 (S. Moshier, Cephes, expf). */
FK_INLINE fk_v fk_exp_of_rest(fk_v r) {
    fk_v p = fk_splat(1.9875691500e-4f);
    p = p * r + fk_splat(1.3981999507e-3f);
    p = p * r + fk_splat(8.3334519073e-3f);
    p = p * r + fk_splat(4.1665795894e-2f);
    p = p * r + fk_splat(1.6666665459e-1f);
    p = p * r + fk_splat(5.0000001201e-1f);
    return p * (r * r) + r + fk_splat(1);
}

/* 2^n p. 2^n is two factors, because n may be outside of the exponents; AVX-512 has
 * an instruction for it. */
FK_INLINE fk_v fk_scaled(fk_v p, struct fk_power power) {
#if FK_LANES == 16
    return (fk_v)_mm512_scalef_ps(p, power.n);
#else
    fk_vi exponent = (fk_vi)power.bits - (fk_vi)fk_splat(12582912.0f);
    fk_vi half = exponent >> 1;
    fk_v one = (fk_v)((fk_vu)(half + 127) << 23);
    fk_v other = (fk_v)((fk_vu)(exponent - half + 127) << 23);
    return p * one * other;
#endif
}

/* e^x is 0 and infinity at these limits already. NaN stays NaN. */
FK_INLINE fk_v fk_limited(fk_v x) {
    return fk_min(fk_splat(90), fk_max(fk_splat(-110), x));
}

/* p, or 0 where e^x is below the smallest normal number: a processor takes more
 * than 100 cycles to compute such a number. */
FK_INLINE fk_v fk_unless_tiny(fk_v p, fk_v x) {
    return (fk_v)((fk_vi)p & ~(fk_vi)(x < fk_splat(-87.33654f)));
}

/* e^x from -87 to 88. */
FK_INLINE fk_v fk_exp_within(fk_v x) {
    const struct fk_power power = fk_power_of(x);
    return fk_scaled(fk_exp_of_rest(fk_rest_of(x, power.n)), power);
}

FK_INLINE fk_v fk_exp(fk_v x) {
    x = fk_limited(x);
    const struct fk_power power = fk_power_of(x);
    const fk_v p = fk_exp_of_rest(fk_rest_of(x, power.n));
    return fk_scaled(fk_unless_tiny(p, x), power);
}

/* e^(high + low), where low corrects the rounding of high. */
FK_INLINE fk_v fk_exp_of(fk_v high, fk_v low) {
    high = fk_limited(high);
    const fk_v x = high + low;
    const struct fk_power power = fk_power_of(x);
    const fk_v p = fk_exp_of_rest(fk_rest_of(high, power.n) + low);
    return fk_scaled(fk_unless_tiny(p, x), power);
}

/* 1 / x, for finite x above 0 whose inverse is finite. */
FK_INLINE fk_v fk_inverse(fk_v x) {
#if FK_LANES == 16
    /* One step of Newton: the error of 2^-14 becomes 2^-28. */
    const fk_v y = (fk_v)_mm512_rcp14_ps(x);
    return y + y * (fk_splat(1) - x * y);
#else
    return fk_splat(1) / x;
#endif
}

/* Cephes, tanhf. */
FK_INLINE fk_v fk_tanh(fk_v x) {
    fk_v z = fk_abs(x), s = x * x;
    fk_v p = fk_splat(-5.70498872745e-3f);
    p = p * s + fk_splat(2.06390887954e-2f);
    p = p * s + fk_splat(-5.37397155531e-2f);
    p = p * s + fk_splat(1.33314422036e-1f);
    p = p * s + fk_splat(-3.33332819422e-1f);
    p = p * s * x + x;
    /* 1 at this limit already. 2 / e^(2 z) stays a normal number. */
    const fk_v most = fk_min(fk_splat(20), z);
    fk_v large =
        fk_splat(1) - fk_splat(2) / (fk_exp_within(most + most) + fk_splat(1));
    return fk_select(z < fk_splat(0.625f), p, fk_with_sign(large, x));
}

/*
 * (1 - erf(z)) scale, for z >= 0: t e^(-z^2 + p(t)) with t = 1 / (1 + z / 2)
 * (Numerical Recipes, erfcc; its error is below 1.2e-7 of the result). -z^2 is
 * high + low. high is exact, so that large exponents are exact too.
 */
FK_INLINE fk_v fk_erfc_of(fk_v z, fk_v high, fk_v low, fk_v scale) {
    fk_v t = fk_inverse(fk_splat(1) + fk_splat(0.5f) * z);
    fk_v p = fk_splat(0.17087277f);
    p = p * t + fk_splat(-0.82215223f);
    p = p * t + fk_splat(1.48851587f);
    p = p * t + fk_splat(-1.13520398f);
    p = p * t + fk_splat(0.27886807f);
    p = p * t + fk_splat(-0.18628806f);
    p = p * t + fk_splat(0.09678418f);
    p = p * t + fk_splat(0.37409196f);
    p = p * t + fk_splat(1.00002368f);
    p = p * t + fk_splat(-1.26551223f);
    return scale * t * fk_exp_of(high, low + p);
}

/* The first 12 bits of x, whose square is exact. */
FK_INLINE fk_v fk_upper(fk_v x) {
    return (fk_v)((fk_vi)x & fk_splat_i((int32_t)0xFFFFF000));
}

/* 1 - erfc(z), which is 1 from 5 on. */
FK_INLINE fk_v fk_erf_of_large(fk_v z) {
    z = fk_min(fk_splat(5), z);
    const fk_v most = fk_upper(z);
    return fk_splat(1) -
           fk_erfc_of(z, -(most * most), (most - z) * (most + z), fk_splat(1));
}

/* A series below 1/2, where 1 - erfc would lose digits. */
FK_INLINE fk_v fk_erf(fk_v x) {
    fk_v z = fk_abs(x), s = x * x;
    fk_v p = fk_splat(-7.575757576e-4f); /* -1/1320 */
    p = p * s + fk_splat(4.629629630e-3f);
    p = p * s + fk_splat(-2.380952381e-2f);
    p = p * s + fk_splat(0.1f);
    p = p * s + fk_splat(-0.333333333f);
    p = (p * s * x + x) * fk_splat(1.128379167f);
    fk_v large = fk_with_sign(fk_erf_of_large(z), x);
    return fk_select(z < fk_splat(0.5f), p, large);
}

/* max(x, 0) - |x| erfc(|x| / sqrt 2) / 2. The exponent is computed from x: the
 * rounding of |x| / sqrt 2 would be multiplied by x^2. */
FK_INLINE fk_v fk_gelu(fk_v x) {
    /* erfc is 0 there, and 0 times infinity would be NaN. */
    const fk_v z = fk_min(fk_splat(20), fk_abs(x)), half = fk_splat(0.5f);
    const fk_v most = fk_upper(z);
    const fk_v tail = fk_erfc_of(
        z * fk_splat(0.707106781f), -(half * most * most),
        half * (most - z) * (most + z), fk_abs(half * fk_min(fk_splat(40), x)));
    return fk_max(fk_splat(0), x) - tail;
}

FK_INLINE fk_v fk_swish(fk_v x, fk_v factor) {
    return x / (fk_splat(1) + fk_exp(-(factor * x)));
}

/* 0.5 x (1 + tanh u) = x / (1 + e^(-2 u)). */
FK_INLINE fk_v fk_gelu_tanh(fk_v x) {
    fk_v u = x + fk_splat(0.044715f) * (x * x * x);
    return x / (fk_splat(1) + fk_exp(fk_splat(-1.59576912f) * u));
}

/* A register of doubles, and half a vector of floats. */
typedef double fk_vd __attribute__((vector_size(4 * FK_LANES)));
typedef int64_t fk_vl __attribute__((vector_size(4 * FK_LANES)));
typedef uint64_t fk_vul __attribute__((vector_size(4 * FK_LANES)));

/* The lower or the upper half of the lanes as doubles, and the way back. Without
 * these instructions the compiler goes through memory. */
FK_INLINE fk_vd fk_widen_half(fk_v x, const int is_upper) {
#if FK_LANES == 16
    const __m512 v = (__m512)x;
    return (fk_vd)_mm512_cvtps_pd(is_upper ? _mm512_extractf32x8_ps(v, 1)
                                           : _mm512_castps512_ps256(v));
#elif FK_LANES == 8
    const __m256 v = (__m256)x;
    return (fk_vd)_mm256_cvtps_pd(is_upper ? _mm256_extractf128_ps(v, 1)
                                           : _mm256_castps256_ps128(v));
#elif defined(__SSE2__)
    const __m128 v = (__m128)x;
    return (fk_vd)_mm_cvtps_pd(is_upper ? _mm_movehl_ps(v, v) : v);
#else
    const float32x4_t v = (float32x4_t)x;
    return (fk_vd)vcvt_f64_f32(is_upper ? vget_high_f32(v) : vget_low_f32(v));
#endif
}

FK_INLINE fk_v fk_narrow_halves(fk_vd lower, fk_vd upper) {
#if FK_LANES == 16
    return (fk_v)_mm512_insertf32x8(
        _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)lower)),
        _mm512_cvtpd_ps((__m512d)upper), 1);
#elif FK_LANES == 8
    return (fk_v)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)upper),
                                 _mm256_cvtpd_ps((__m256d)lower));
#elif defined(__SSE2__)
    return (fk_v)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)lower),
                               _mm_cvtpd_ps((__m128d)upper));
#else
    return (fk_v)vcombine_f32(vcvt_f32_f64((float64x2_t)lower),
                              vcvt_f32_f64((float64x2_t)upper));
#endif
}

/* x from -most to most. */
FK_INLINE fk_vd fk_clamp_double(fk_vd x, double most) {
#if FK_LANES == 16
    const __m512d upper = _mm512_set1_pd(most), lower = _mm512_set1_pd(-most);
    return (fk_vd)_mm512_min_pd(_mm512_max_pd((__m512d)x, lower), upper);
#elif FK_LANES == 8
    const __m256d upper = _mm256_set1_pd(most), lower = _mm256_set1_pd(-most);
    return (fk_vd)_mm256_min_pd(_mm256_max_pd((__m256d)x, lower), upper);
#elif defined(__SSE2__)
    const __m128d upper = _mm_set1_pd(most), lower = _mm_set1_pd(-most);
    return (fk_vd)_mm_min_pd(_mm_max_pd((__m128d)x, lower), upper);
#else
    const float64x2_t upper = vdupq_n_f64(most), lower = vdupq_n_f64(-most);
    return (fk_vd)vminq_f64(vmaxq_f64((float64x2_t)x, lower), upper);
#endif
}

#define FK_LN2 0.69314718055994530942

/*
 * 2^x, for |x| <= 1000. Adding 1.5 * 2^52 rounds to the nearest integer, which is
 * in the low bits then. For the rest r, |r| <= 1/2, the series of e^(r ln 2) ends
 * after r^9, with an error of 7e-12. Its terms are added in pairs, because each
 * pair does not wait for the others.
 */
FK_INLINE fk_vd fk_exp2_double(fk_vd x) {
    const fk_vd shifted = x + 0x1.8p+52;
    const fk_vl n = (fk_vl)shifted << 52;
    const fk_vd r = (x - (shifted - 0x1.8p+52)) * FK_LN2;
    const fk_vd r2 = r * r, r4 = r2 * r2;
    const fk_vd low = (1 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
    const fk_vd middle =
        (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
    const fk_vd high = 1.0 / 40320 + r * (1.0 / 362880);
    return (fk_vd)((fk_vl)(low + r4 * (middle + r4 * high)) + n);
}

/*
 * log2 of positive finite numbers. x = 2^e m with m in [sqrt(1/2), sqrt(2)): the
 * bits above those of sqrt(1/2) have e where the exponent is. With
 * z = (m - 1) / (m + 1), ln m = 2 (z + z^3/3 + z^5/5 + ...), which ends after z^13
 * with an error of 1e-12 of the result.
 */
FK_INLINE fk_vd fk_log2_double(fk_vd x) {
    const fk_vul bits = (fk_vul)x;
    /* The bits of 1, less those of sqrt(1/2), bias e by 1023. */
    const fk_vul biased = (bits + 0x00095F619980C433) >> 52;
    const fk_vd m = (fk_vd)(bits - (biased << 52) + 0x3FF0000000000000);
    /* As a double: its bits are those of 2^52 + e + 1023. */
    const fk_vd e = (fk_vd)(biased | 0x4330000000000000) - (0x1p+52 + 1023);
    const fk_vd z = (m - 1) / (m + 1), s = z * z, s2 = s * s;
    const fk_vd low = (2 / FK_LN2 + s * (2 / FK_LN2 / 3)) +
                      s2 * (2 / FK_LN2 / 5 + s * (2 / FK_LN2 / 7));
    const fk_vd high =
        (2 / FK_LN2 / 9 + s * (2 / FK_LN2 / 11)) + s2 * (2 / FK_LN2 / 13);
    return e + z * (low + s2 * s2 * high);
}

/* x^y for the arguments for which C defines a special value, and for negative x.
 * size is |x|^y. */
FK_NOINLINE float fk_special_power(float x, float y, float size) {
    const float infinity = __builtin_inff();
    if (y == 0 || x == 1)
        return 1;
    if (x != x || y != y)
        return x + y;
    double even = (double)y / 2, magnitude = __builtin_fabsf(x);
    int is_integer = __builtin_fabsf(y) >= 0x1p24f || (float)(int64_t)y == y;
    int is_odd = is_integer && __builtin_fabsf(y) < 0x1p24f &&
                 (double)(int64_t)even != even;
    float sign = is_odd && __builtin_signbit(x) ? -1.0f : 1.0f;
    if (magnitude == 0)
        return y < 0 ? sign * infinity : sign * 0;
    if (y == infinity || y == -infinity)
        return magnitude == 1 ? 1 : (magnitude > 1) == (y > 0) ? infinity : 0;
    if (magnitude == infinity)
        return y > 0 ? sign * infinity : sign * 0;
    if (x < 0 && !is_integer)
        return __builtin_nanf("");
    return sign * size;
}

/* x^y as in C, with the special values of C. It computes in double, because an
 * error of the logarithm grows with the result. */
FK_INLINE fk_v fk_pow(fk_v x, fk_v y) {
    const fk_v infinity = fk_splat(__builtin_inff());
    const fk_v size = fk_abs(x);
    fk_vd powers[2];
    FK_UNROLL for (int i = 0; i < 2; i++) powers[i] =
        fk_exp2_double(fk_clamp_double(
            fk_widen_half(y, i) * fk_log2_double(fk_widen_half(size, i)), 300));
    fk_v result = fk_narrow_halves(powers[0], powers[1]);
    const fk_vi is_plain =
        (x > fk_splat(0)) & (x < infinity) & (fk_abs(y) < infinity);
    if (fk_any(~is_plain)) {
        float left[FK_LANES], right[FK_LANES], special[FK_LANES];
        fk_store(left, x);
        fk_store(right, y);
        fk_store(special, result);
        for (int l = 0; l < FK_LANES; l++)
            if (!(left[l] > 0 && left[l] < __builtin_inff() &&
                  __builtin_fabsf(right[l]) < __builtin_inff()))
                special[l] = fk_special_power(left[l], right[l], special[l]);
        result = fk_load(special);
    }
    result = fk_select(y == fk_splat(2), x * x, result);
    return fk_select(y == fk_splat(1), x, result);
}

#endif

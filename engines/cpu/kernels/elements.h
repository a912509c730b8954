/*
 * Elements of the four plain types: one at a time, and runs of them with a stride.
 * Kernels compute in F32; these functions are the way from and to memory.
 */
#ifndef FK_ELEMENTS_H
#define FK_ELEMENTS_H

#include "vector.h"

#include "interface.h"

FK_INLINE int64_t fk_bytes(int64_t type) {
    return type == FK_F32 ? 4 : type == FK_I8 ? 1 : 2;
}

FK_INLINE float fk_f16_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t magnitude = (uint32_t)(half & 0x7FFF) << 13;
    float scaled;
    memcpy(&scaled, &magnitude, 4);
    scaled *= 0x1p+112f;
    uint32_t bits;
    memcpy(&bits, &scaled, 4);
    if (magnitude >= (0x7C00u << 13))
        bits = magnitude | 0x7F800000;
    bits |= sign;
    memcpy(&scaled, &bits, 4);
    return scaled;
}

FK_INLINE float fk_bf16_to_float(uint16_t brain) {
    uint32_t bits = (uint32_t)brain << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

/* Rounds to the nearest, ties to even. */
FK_INLINE uint16_t fk_float_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)((bits >> 16 & 0x8000) | 0x7FC0);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

FK_INLINE uint16_t fk_float_to_f16(float value) {
    uint32_t bits, magnitude;
    memcpy(&bits, &value, 4);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000)
        return (uint16_t)(sign | 0x7E00);
    if (magnitude >= 0x47800000) /* 65536 and more */
        return (uint16_t)(sign | 0x7C00);
    if (magnitude < 0x38800000) {
        /* Below 2^-14: adding a half rounds to units of 2^-24. */
        float small;
        memcpy(&small, &magnitude, 4);
        small += 0.5f;
        memcpy(&magnitude, &small, 4);
        return (uint16_t)(sign | (magnitude - 0x3F000000));
    }
    /* A carry out of the mantissa gives the next exponent, and infinity after
     * the largest one. */
    magnitude +=
        (uint32_t)(15 - 127) * (1u << 23) + 0xFFF + (magnitude >> 13 & 1);
    return (uint16_t)(sign | magnitude >> 13);
}

/* The things, of n, that a part computes. One part has all of them, without a
 * division, which takes as long as a short request. */
struct fk_range {
    int64_t first, end;
};

FK_INLINE struct fk_range fk_range_of(int64_t n, int64_t part, int64_t parts) {
    if (parts == 1)
        return (struct fk_range){0, n};
    return (struct fk_range){part * n / parts, (part + 1) * n / parts};
}

/* The address of an element. */
FK_INLINE const char *fk_at(uint64_t base, int64_t type, int64_t index) {
    return (const char *)(uintptr_t)base + index * fk_bytes(type);
}

FK_INLINE float fk_get(int64_t type, const char *from) {
    uint16_t half;
    float value;
    switch (type) {
    case FK_F32:
        memcpy(&value, from, 4);
        return value;
    case FK_F16:
        memcpy(&half, from, 2);
        return fk_f16_to_float(half);
    case FK_BF16:
        memcpy(&half, from, 2);
        return fk_bf16_to_float(half);
    default:
        return (float)*(const int8_t *)from;
    }
}

FK_INLINE void fk_put(int64_t type, char *to, float value) {
    uint16_t half;
    switch (type) {
    case FK_F32:
        memcpy(to, &value, 4);
        return;
    case FK_F16:
        half = fk_float_to_f16(value);
        memcpy(to, &half, 2);
        return;
    default:
        half = fk_float_to_bf16(value);
        memcpy(to, &half, 2);
    }
}

/* Reads n elements that are stride elements apart. */
FK_NOINLINE void fk_read(float *to, int64_t type, const char *from,
                         int64_t stride, int64_t n) {
    int64_t step = stride * fk_bytes(type), i = 0;
    if (stride == 1) {
        switch (type) {
        case FK_F32:
            memcpy(to, from, 4 * (size_t)n);
            return;
        case FK_F16:
            for (; i + FK_LANES <= n; i += FK_LANES)
                fk_store(to + i, fk_from_f16(fk_load_h(from + 2 * i)));
            break;
        case FK_BF16:
            for (; i + FK_LANES <= n; i += FK_LANES)
                fk_store(to + i, fk_from_bf16(fk_load_h(from + 2 * i)));
            break;
        default:
            for (; i + FK_LANES <= n; i += FK_LANES)
                fk_store(to + i, fk_from_i8(fk_load_b(from + i)));
        }
    } else if (type == FK_F32) {
        for (; i < n; i++)
            memcpy(to + i, from + i * step, 4);
        return;
    }
    for (; i < n; i++)
        to[i] = fk_get(type, from + i * step);
}

/* Writes n elements that are stride elements apart. */
FK_NOINLINE void fk_write(int64_t type, char *to, int64_t stride,
                          const float *from, int64_t n) {
    int64_t step = stride * fk_bytes(type), i = 0;
    if (stride == 1 && type == FK_F32) {
        memmove(to, from, 4 * (size_t)n);
        return;
    }
#if defined(__F16C__)
    if (stride == 1 && type == FK_F16)
        for (; i + 8 <= n; i += 8)
            _mm_storeu_si128((__m128i *)(void *)(to + 2 * i),
                             _mm256_cvtps_ph(_mm256_loadu_ps(from + i),
                                             _MM_FROUND_TO_NEAREST_INT));
#endif
    if (stride == 1 && type == FK_BF16)
        for (; i < n; i++) {
            uint16_t half = fk_float_to_bf16(from[i]);
            memcpy(to + 2 * i, &half, 2);
        }
    for (; i < n; i++)
        fk_put(type, to + i * step, from[i]);
}

#endif

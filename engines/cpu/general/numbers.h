/*
 * Elements of every type: as a double, and as an integer of 64 bits. Conversions
 * have the rules of core/dtype.
 */
#ifndef FK_NUMBERS_H
#define FK_NUMBERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../kernels/interface.h"

/* How a floating-point type of at most 16 bits stores its values. overflow has the
 * bits of the result for a value that is too large, nan those of NaN, largest those
 * of the largest finite value: all without the sign. */
struct fk_format {
    int exponent, mantissa, bias;
    uint32_t overflow, nan, largest;
};

static const struct fk_format fk_f16 = {5, 10, 15, 0x7C00, 0x7E00, 0x7BFF};
static const struct fk_format fk_bf16 = {8, 7, 127, 0x7F80, 0x7FC0, 0x7F7F};
static const struct fk_format fk_f8_e5m2 = {5, 2, 15, 0x7C, 0x7E, 0x7B};
static const struct fk_format fk_f8_e4m3 = {4, 3, 7, 0x7F, 0x7F, 0x7E};
static const struct fk_format fk_f4_e2m1 = {2, 1, 1, 0x7, 0x8, 0x7};

static int fk_is_float(int64_t type) {
    switch (type) {
    case FK_F32:
    case FK_F16:
    case FK_BF16:
    case FK_F64:
    case FK_F8_E4M3:
    case FK_F8_E5M2:
    case FK_F8_E8M0:
    case FK_F4_E2M1:
    case FK_Q4_0:
    case FK_Q8_0:
        return 1;
    }
    return 0;
}

/* Bits of an element of a plain type. */
static int fk_bits(int64_t type) {
    switch (type) {
    case FK_F4_E2M1:
    case FK_I4:
    case FK_U4:
        return 4;
    case FK_F64:
    case FK_I64:
    case FK_U64:
        return 64;
    case FK_F32:
    case FK_I32:
    case FK_U32:
        return 32;
    case FK_F16:
    case FK_BF16:
    case FK_I16:
    case FK_U16:
        return 16;
    }
    return 8;
}

static int fk_is_unsigned(int64_t type) {
    switch (type) {
    case FK_U8:
    case FK_U16:
    case FK_U32:
    case FK_U64:
    case FK_U4:
    case FK_BOOL:
        return 1;
    }
    return 0;
}

static double fk_decode(const struct fk_format *f, uint32_t code) {
    const uint32_t sign = 1u << (f->exponent + f->mantissa);
    const double side = code & sign ? -1 : 1;
    code &= ~sign;
    if (code > f->largest)
        return code == f->overflow && f->overflow != f->nan
                   ? side * INFINITY
                   : copysign((double)NAN, side);
    int exponent = (int)(code >> f->mantissa);
    uint32_t mantissa = code & ((1u << f->mantissa) - 1);
    if (exponent == 0)
        return side * ldexp(mantissa, 1 - f->bias - f->mantissa);
    return side * ldexp(mantissa + (1u << f->mantissa),
                        exponent - f->bias - f->mantissa);
}

/* Rounds to the nearest value, ties to the even mantissa. */
static uint32_t fk_encode(const struct fk_format *f, double value) {
    const uint32_t sign =
        signbit(value) ? 1u << (f->exponent + f->mantissa) : 0;
    if (value != value)
        return f->nan ^ sign;
    value = fabs(value);
    if (isinf(value))
        return sign | f->overflow;
    if (value == 0)
        return sign;
    int power;
    frexp(value, &power);
    /* value is in [2^(power-1), 2^power). The distance between values is constant
     * there, and does not shrink below the one at the least normal exponent. */
    power = power - 1 > 1 - f->bias ? power - 1 : 1 - f->bias;
    double units = nearbyint(ldexp(value, f->mantissa - power));
    /* units includes the leading 1 of normal values. A carry into it gives the
     * next exponent. */
    uint64_t code =
        (uint64_t)units + ((uint64_t)(power + f->bias - 1) << f->mantissa);
    return sign | (code > f->largest ? f->overflow : (uint32_t)code);
}

/* Powers of two with a bias of 127; all bits set are NaN. */
static double fk_decode_power(uint8_t code) {
    return code == 0xFF ? (double)NAN : ldexp(1, code - 127);
}

static uint8_t fk_encode_power(double value) {
    if (!(value > 0) || isinf(value))
        return 0xFF;
    int exponent;
    double fraction = frexp(value, &exponent);
    int code = exponent - 1 + 127 + (fraction >= 0.75);
    return (uint8_t)(code < 0 ? 0 : code > 0xFF ? 0xFF : code);
}

/* The address of an element of at least 8 bits. */
static char *fk_place(uint64_t base, int64_t type, int64_t index) {
    return (char *)(uintptr_t)base + index * (fk_bits(type) / 8);
}

/* Two elements of 4 bits share a byte; the even index is in the low bits. */
static uint32_t fk_get_nibble(uint64_t base, int64_t index) {
    const uint8_t *at = (const uint8_t *)(uintptr_t)base + (index >> 1);
    return *at >> ((index & 1) * 4) & 0xF;
}

static void fk_put_nibble(uint64_t base, int64_t index, uint32_t value) {
    uint8_t *at = (uint8_t *)(uintptr_t)base + (index >> 1);
    const int shift = (index & 1) * 4;
    *at = (uint8_t)((*at & ~(0xF << shift)) | (value & 0xF) << shift);
}

/* An element of GGUF's blocks of 32: a scale in F16 and the numbers. */
static double fk_get_block(uint64_t base, int64_t type, int64_t index) {
    const int64_t bytes = type == FK_Q8_0 ? 34 : 18;
    const uint8_t *block =
        (const uint8_t *)(uintptr_t)base + index / FK_BLOCK * bytes;
    const int at = (int)(index % FK_BLOCK);
    uint16_t scale;
    memcpy(&scale, block, 2);
    int number;
    if (type == FK_Q8_0)
        number = (int8_t)block[2 + at];
    else
        number = (block[2 + at % 16] >> (at < 16 ? 0 : 4) & 0xF) - 8;
    return fk_decode(&fk_f16, scale) * number;
}

/* An element with its sign extended. BOOL is 0 or 1. */
static int64_t fk_get_integer(uint64_t base, int64_t type, int64_t index) {
    if (fk_bits(type) == 4) {
        int64_t value = fk_get_nibble(base, index);
        return type == FK_I4 && value > 7 ? value - 16 : value;
    }
    const char *at = fk_place(base, type, index);
    int16_t half;
    int32_t word;
    int64_t wide;
    switch (fk_bits(type)) {
    case 8:
        if (type == FK_BOOL)
            return *at != 0;
        return type == FK_I8 ? (int64_t)(int8_t)*at : (int64_t)(uint8_t)*at;
    case 16:
        memcpy(&half, at, 2);
        return type == FK_I16 ? (int64_t)half : (int64_t)(uint16_t)half;
    case 32:
        memcpy(&word, at, 4);
        return type == FK_I32 ? (int64_t)word : (int64_t)(uint32_t)word;
    }
    memcpy(&wide, at, 8);
    return wide;
}

static void fk_put_integer(uint64_t base, int64_t type, int64_t index,
                           int64_t value) {
    if (fk_bits(type) == 4) {
        fk_put_nibble(base, index, (uint32_t)value);
        return;
    }
    /* The low bytes are the first ones on the processors of this engine. */
    memcpy(fk_place(base, type, index), &value, (size_t)fk_bits(type) / 8);
}

static double fk_get_float(uint64_t base, int64_t type, int64_t index) {
    uint16_t half;
    float single;
    double wide;
    switch (type) {
    case FK_F32:
        memcpy(&single, fk_place(base, type, index), 4);
        return single;
    case FK_F64:
        memcpy(&wide, fk_place(base, type, index), 8);
        return wide;
    case FK_F16:
    case FK_BF16:
        memcpy(&half, fk_place(base, type, index), 2);
        return fk_decode(type == FK_F16 ? &fk_f16 : &fk_bf16, half);
    case FK_F8_E4M3:
        return fk_decode(&fk_f8_e4m3, (uint8_t)*fk_place(base, type, index));
    case FK_F8_E5M2:
        return fk_decode(&fk_f8_e5m2, (uint8_t)*fk_place(base, type, index));
    case FK_F8_E8M0:
        return fk_decode_power((uint8_t)*fk_place(base, type, index));
    case FK_F4_E2M1:
        return fk_decode(&fk_f4_e2m1, fk_get_nibble(base, index));
    case FK_Q4_0:
    case FK_Q8_0:
        return fk_get_block(base, type, index);
    }
    int64_t value = fk_get_integer(base, type, index);
    return type == FK_U64 ? (double)(uint64_t)value : (double)value;
}

/* An F32 of infinity is right for a double that is too large: a conversion in C
 * rounds to nearest as IEEE 754 does. */
static void fk_put_float(uint64_t base, int64_t type, int64_t index,
                         double value) {
    uint16_t half;
    float single;
    switch (type) {
    case FK_F32:
        single = (float)value;
        memcpy(fk_place(base, type, index), &single, 4);
        return;
    case FK_F64:
        memcpy(fk_place(base, type, index), &value, 8);
        return;
    case FK_F16:
    case FK_BF16:
        half = (uint16_t)fk_encode(type == FK_F16 ? &fk_f16 : &fk_bf16, value);
        memcpy(fk_place(base, type, index), &half, 2);
        return;
    case FK_F8_E4M3:
        *fk_place(base, type, index) = (char)fk_encode(&fk_f8_e4m3, value);
        return;
    case FK_F8_E5M2:
        *fk_place(base, type, index) = (char)fk_encode(&fk_f8_e5m2, value);
        return;
    case FK_F8_E8M0:
        *fk_place(base, type, index) = (char)fk_encode_power(value);
        return;
    case FK_F4_E2M1:
        fk_put_nibble(base, index, fk_encode(&fk_f4_e2m1, value));
    }
}

/* Drops the fraction and limits the value to the range of the type. NaN is 0. */
static int64_t fk_to_integer(int64_t type, double value) {
    const int bits = fk_bits(type);
    if (type == FK_BOOL)
        return value != 0;
    if (value != value)
        return 0;
    if (fk_is_unsigned(type)) {
        if (value <= 0)
            return 0;
        if (value >= ldexp(1, bits))
            return (int64_t)(UINT64_MAX >> (64 - bits));
        return (int64_t)(uint64_t)value;
    }
    const double end = ldexp(1, bits - 1);
    const int64_t most = (int64_t)(UINT64_MAX >> (65 - bits));
    if (value >= end)
        return most;
    return value <= -end ? -most - 1 : (int64_t)value;
}

/* An integer as a double that is rounded again: bits that do not fit set the last
 * bit (round to odd), so the second rounding has the result of a single one. */
static double fk_odd_double(int64_t type, int64_t value) {
    const int is_negative = type != FK_U64 && value < 0;
    uint64_t size = is_negative ? 0 - (uint64_t)value : (uint64_t)value;
    if (size >> 53) {
        const int lost = 11 - __builtin_clzll(size);
        const uint64_t rest = size & ((1ull << lost) - 1);
        size -= rest;
        size |= (uint64_t)(rest != 0) << lost;
    }
    return is_negative ? -(double)size : (double)size;
}

/* Elements that are stride apart: the types of 32 and 64 bits in a loop of their
 * own, the others one by one. */
#define FK_GET_EACH(type)                              \
    for (int64_t i = 0; i < n; i++) {                  \
        type value;                                    \
        memcpy(&value, from + i * step, sizeof value); \
        to[i] = (__typeof__(*to))value;                \
    }

static void fk_get_floats(double *to, uint64_t base, int64_t type,
                          int64_t index, int64_t stride, int64_t n) {
    const char *from = fk_place(base, type, index);
    const int64_t step = stride * (fk_bits(type) / 8);
    if (type == FK_F64)
        FK_GET_EACH(double)
    else if (type == FK_F32)
        FK_GET_EACH(float)
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = fk_get_float(base, type, index + i * stride);
}

static void fk_get_integers(uint64_t *to, uint64_t base, int64_t type,
                            int64_t index, int64_t stride, int64_t n) {
    const char *from = fk_place(base, type, index);
    const int64_t step = stride * (fk_bits(type) / 8);
    if (fk_bits(type) == 64)
        FK_GET_EACH(uint64_t)
    else if (type == FK_I32)
        FK_GET_EACH(int32_t)
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = (uint64_t)fk_get_integer(base, type, index + i * stride);
}

#define FK_PUT_EACH(type)                            \
    for (int64_t i = 0; i < n; i++) {                \
        type value = (type)from[i];                  \
        memcpy(to + i * step, &value, sizeof value); \
    }

static void fk_put_floats(uint64_t base, int64_t type, int64_t index,
                          int64_t stride, const double *from, int64_t n) {
    char *to = fk_place(base, type, index);
    const int64_t step = stride * (fk_bits(type) / 8);
    if (type == FK_F64)
        FK_PUT_EACH(double)
    else if (type == FK_F32)
        FK_PUT_EACH(float)
    else
        for (int64_t i = 0; i < n; i++)
            fk_put_float(base, type, index + i * stride, from[i]);
}

static void fk_put_integers(uint64_t base, int64_t type, int64_t index,
                            int64_t stride, const uint64_t *from, int64_t n) {
    char *to = fk_place(base, type, index);
    const int64_t step = stride * (fk_bits(type) / 8);
    if (fk_bits(type) == 64)
        FK_PUT_EACH(uint64_t)
    else if (type == FK_I32)
        FK_PUT_EACH(int32_t)
    else
        for (int64_t i = 0; i < n; i++)
            fk_put_integer(base, type, index + i * stride, (int64_t)from[i]);
}

#endif

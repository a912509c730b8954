/*
 * Operations on each element, for every type.
 */
#ifndef FK_GENERAL_ELEMENTS_H
#define FK_GENERAL_ELEMENTS_H

#include "numbers.h"

/* The product of dimensions. */
static int64_t fk_count_of(int64_t rank, const int64_t *dims) {
    int64_t n = 1;
    for (int64_t d = 0; d < rank; d++)
        n *= dims[d];
    return n;
}

/* The offset of an index that counts all dimensions. */
static int64_t fk_offset(int64_t rank, const int64_t *dims,
                         const int64_t *strides, int64_t index) {
    int64_t offset = 0;
    for (int64_t d = rank - 1; d >= 0; d--) {
        offset += index % dims[d] * strides[d];
        index /= dims[d];
    }
    return offset;
}

static int64_t fk_nothing(const void *request) {
    (void)request;
    return 0;
}

/* Parts for some units of work, of which each is about `each` steps. */
static int64_t fk_parts_for(int64_t units, double each) {
    double parts = (double)units * each / 16384;
    if (parts > (double)units)
        parts = (double)units;
    return parts < 1 ? 1 : parts > 4096 ? 4096 : (int64_t)parts;
}

static double fk_sigmoid_product(double x, double factor) {
    return x / (1 + exp(-factor * x));
}

static double fk_gelu_tanh_of(double x) {
    const double root = 0.79788456080286535588; /* sqrt(2 / pi) */
    return 0.5 * x * (1 + tanh(root * (x + 0.044715 * x * x * x)));
}

static double fk_compute_float(const struct fk_map *r, double x, double z) {
    switch (r->op) {
    case FK_MAP_ADD:
        return x + z;
    case FK_MAP_SUB:
        return x - z;
    case FK_MAP_MUL:
        return x * z;
    case FK_MAP_DIV:
        return x / z;
    case FK_MAP_POW:
        return pow(x, z);
    case FK_MAP_SILU_MUL:
        return fk_sigmoid_product(x, 1) * z;
    case FK_MAP_SQRT:
        return sqrt(x);
    case FK_MAP_RELU:
        return x < 0 ? 0 : x;
    case FK_MAP_TANH:
        return tanh(x);
    case FK_MAP_ERF:
        return erf(x);
    case FK_MAP_GELU:
        /* 1 + erf(y) = erfc(-y), which keeps the digits of negative numbers. */
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case FK_MAP_GELU_TANH:
        return fk_gelu_tanh_of(x);
    case FK_MAP_SWISH:
        return fk_sigmoid_product(x, r->factor);
    case FK_MAP_EXP:
        return exp(x);
    }
    return x;
}

/* Multiplies in 64 bits. A negative exponent drops the fraction. */
static int64_t fk_integer_power(int64_t base, int64_t exponent,
                                int is_unsigned) {
    if (exponent < 0 && !is_unsigned) {
        if (base == 1 || (base == -1 && exponent % 2 == 0))
            return 1;
        return base == -1 ? -1 : 0;
    }
    uint64_t result = 1, factor = (uint64_t)base;
    for (uint64_t left = (uint64_t)exponent; left > 0; left >>= 1) {
        if (left & 1)
            result *= factor;
        factor *= factor;
    }
    return (int64_t)result;
}

/* A quotient without its fraction. Of a division by 0 it is 0. */
static int64_t fk_quotient(int64_t x, int64_t z, int is_unsigned) {
    if (z == 0)
        return 0;
    if (is_unsigned)
        return (int64_t)((uint64_t)x / (uint64_t)z);
    return z == -1 ? (int64_t)(0 - (uint64_t)x) : x / z;
}

static int64_t fk_compute_integer(const struct fk_map *r, int64_t x,
                                  int64_t z) {
    switch (r->op) {
    case FK_MAP_ADD:
        return (int64_t)((uint64_t)x + (uint64_t)z);
    case FK_MAP_SUB:
        return (int64_t)((uint64_t)x - (uint64_t)z);
    case FK_MAP_MUL:
        return (int64_t)((uint64_t)x * (uint64_t)z);
    case FK_MAP_DIV:
        return fk_quotient(x, z, r->x_type == FK_U64);
    case FK_MAP_POW:
        return fk_integer_power(x, z, r->z_type == FK_U64);
    case FK_MAP_RELU:
        return x < 0 && !fk_is_unsigned(r->x_type) ? 0 : x;
    }
    return x;
}

/* The power of two that a conversion to F8_E8M0 gives. */
static double fk_to_power(const struct fk_map *r, double x) {
    if (x != x || x < 0)
        return NAN;
    int exponent = INT32_MAX;
    if (x == 0) {
        exponent = INT32_MIN;
    } else if (!isinf(x)) {
        double fraction = frexp(x, &exponent); /* from 0.5 to 1 */
        int is_above = fraction > 0.5 &&
                       (r->rounding == FK_ROUND_UP ||
                        (r->rounding == FK_ROUND_NEAREST && fraction >= 0.75));
        exponent -= !is_above;
    }
    int limited = exponent < -127 ? -127 : exponent > 127 ? 127 : exponent;
    if (limited != exponent && !r->saturates)
        return NAN;
    return ldexp(1, limited);
}

/* The value that is then rounded to the type of y. */
static double fk_before_rounding(const struct fk_map *r, double x) {
    double largest = 448;
    switch (r->y_type) {
    case FK_F8_E8M0:
        return fk_to_power(r, x);
    case FK_F8_E5M2:
        largest = 57344;
        break;
    case FK_F8_E4M3:
        break;
    default:
        return x;
    }
    return r->saturates && fabs(x) > largest ? copysign(largest, x) : x;
}

static void fk_convert_element(const struct fk_map *r, int64_t x, int64_t y) {
    if (r->x_type == r->y_type && !fk_is_float(r->x_type)) {
        fk_put_integer(r->y, r->y_type, y, fk_get_integer(r->x, r->x_type, x));
        return;
    }
    if (r->x_type == FK_F4_E2M1 && r->y_type == FK_F4_E2M1) {
        fk_put_nibble(r->y, y, fk_get_nibble(r->x, x));
        return;
    }
    if (!fk_is_float(r->x_type)) {
        int64_t value = fk_get_integer(r->x, r->x_type, x);
        double number = fk_get_float(r->x, r->x_type, x);
        switch (r->y_type) {
        case FK_F32:
        case FK_F16:
        case FK_BF16:
        case FK_F4_E2M1:
            number = fk_odd_double(r->x_type, value);
        }
        if (fk_is_float(r->y_type))
            fk_put_float(r->y, r->y_type, y, fk_before_rounding(r, number));
        else
            fk_put_integer(r->y, r->y_type, y,
                           r->y_type == FK_BOOL ? value != 0 : value);
        return;
    }
    double value = fk_get_float(r->x, r->x_type, x);
    if (fk_is_float(r->y_type))
        fk_put_float(r->y, r->y_type, y, fk_before_rounding(r, value));
    else
        fk_put_integer(r->y, r->y_type, y, fk_to_integer(r->y_type, value));
}

/* Elements of a run that are computed at a time. */
#define FK_GENERAL_RUN 64

static int fk_computes_floats(const struct fk_map *r) {
    return fk_is_float(r->x_type) || (r->z && fk_is_float(r->z_type)) ||
           r->op == FK_MAP_ERF;
}

/* The operators that the compiler makes vectors of have a loop of their own. */
#define FK_OPERATE(name, op)            \
    case name:                          \
        for (int64_t i = 0; i < n; i++) \
            x[i] = x[i] op z[i];        \
        return;

static void fk_compute_floats(const struct fk_map *r, double *x,
                              const double *z, int64_t n) {
    switch (r->op) {
        FK_OPERATE(FK_MAP_ADD, +)
        FK_OPERATE(FK_MAP_SUB, -)
        FK_OPERATE(FK_MAP_MUL, *)
        FK_OPERATE(FK_MAP_DIV, /)
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = fk_compute_float(r, x[i], z[i]);
}

static void fk_compute_integers(const struct fk_map *r, uint64_t *x,
                                const uint64_t *z, int64_t n) {
    switch (r->op) {
        FK_OPERATE(FK_MAP_ADD, +)
        FK_OPERATE(FK_MAP_SUB, -)
        FK_OPERATE(FK_MAP_MUL, *)
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint64_t)fk_compute_integer(r, (int64_t)x[i], (int64_t)z[i]);
}

/* Up to FK_GENERAL_RUN elements, which are steps apart. */
static void fk_map_floats(const struct fk_map *r, int64_t x, int64_t xs,
                          int64_t z, int64_t zs, int64_t y, int64_t ys,
                          int64_t n) {
    double left[FK_GENERAL_RUN], right[FK_GENERAL_RUN];
    fk_get_floats(left, r->x, r->x_type, x, xs, n);
    if (r->z)
        fk_get_floats(right, r->z, r->z_type, z, zs, n);
    else
        memset(right, 0, 8 * (size_t)n);
    fk_compute_floats(r, left, right, n);
    if (fk_is_float(r->y_type)) {
        fk_put_floats(r->y, r->y_type, y, ys, left, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        fk_put_integer(r->y, r->y_type, y + i * ys,
                       fk_to_integer(r->y_type, left[i]));
}

static void fk_map_integers(const struct fk_map *r, int64_t x, int64_t xs,
                            int64_t z, int64_t zs, int64_t y, int64_t ys,
                            int64_t n) {
    uint64_t left[FK_GENERAL_RUN], right[FK_GENERAL_RUN];
    fk_get_integers(left, r->x, r->x_type, x, xs, n);
    if (r->z)
        fk_get_integers(right, r->z, r->z_type, z, zs, n);
    else
        memset(right, 0, 8 * (size_t)n);
    fk_compute_integers(r, left, right, n);
    fk_put_integers(r->y, r->y_type, y, ys, left, n);
}

/* A run of elements that are steps apart. */
static void fk_map_run_of(const struct fk_map *r, int64_t x, int64_t xs,
                          int64_t z, int64_t zs, int64_t y, int64_t ys,
                          int64_t run) {
    if (r->op == FK_MAP_COPY) {
        for (int64_t i = 0; i < run; i++)
            fk_convert_element(r, x + i * xs, y + i * ys);
        return;
    }
    const int is_float = fk_computes_floats(r);
    for (int64_t i = 0; i < run; i += FK_GENERAL_RUN) {
        const int64_t n = run - i < FK_GENERAL_RUN ? run - i : FK_GENERAL_RUN;
        if (is_float)
            fk_map_floats(r, x + i * xs, xs, z + i * zs, zs, y + i * ys, ys, n);
        else
            fk_map_integers(r, x + i * xs, xs, z + i * zs, zs, y + i * ys, ys,
                            n);
    }
}

/* Elements of 4 bits share a byte, so one part writes them all. */
static int64_t fk_general_map_parts(const void *request) {
    const struct fk_map *r = request;
    if (fk_bits(r->y_type) == 4)
        return 1;
    return fk_parts_for(fk_count_of(r->rank, r->dims), 4);
}

static void fk_general_map_run(const void *request, int64_t part, int64_t parts,
                               char *workspace) {
    (void)workspace;
    const struct fk_map *r = request;
    const int64_t n = fk_count_of(r->rank, r->dims);
    const int64_t *zs = r->z ? r->z_strides : r->x_strides;
    if (n == 0)
        return;
    const int64_t last = r->rank - 1, inner = r->rank > 0 ? r->dims[last] : 1;
    const int64_t xs = r->rank > 0 ? r->x_strides[last] : 0;
    const int64_t ys = r->rank > 0 ? r->y_strides[last] : 0;
    const int64_t zl = r->rank > 0 ? zs[last] : 0;
    for (int64_t i = part * n / parts, end = (part + 1) * n / parts; i < end;) {
        int64_t x = fk_offset(r->rank, r->dims, r->x_strides, i);
        int64_t z = fk_offset(r->rank, r->dims, zs, i);
        int64_t y = fk_offset(r->rank, r->dims, r->y_strides, i);
        int64_t run = inner - i % inner;
        run = run < end - i ? run : end - i;
        fk_map_run_of(r, x, xs, z, zl, y, ys, run);
        i += run;
    }
}

#endif

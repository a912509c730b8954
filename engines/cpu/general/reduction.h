/*
 * Sums, means, maxima and the largest elements, for every type.
 */
#ifndef FK_GENERAL_REDUCTION_H
#define FK_GENERAL_REDUCTION_H

#include "../kernels/order.h"
#include "elements.h"

static int64_t fk_general_reduce_parts(const void *request) {
    const struct fk_reduce *r = request;
    if (fk_bits(r->y_type) == 4)
        return 1;
    return fk_parts_for(fk_count_of(r->rank, r->dims),
                        2.0 * (double)fk_count_of(r->reduced_rank, r->reduced));
}

/* A larger element, or the first NaN. */
static int fk_is_more(double a, double b) {
    return a > b || (a != a && b == b);
}

static void fk_reduce_floats(const struct fk_reduce *r, int64_t x, int64_t y,
                             int64_t count) {
    double result = r->op == FK_REDUCE_MAX ? -INFINITY : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at =
            x + fk_offset(r->reduced_rank, r->reduced, r->reduced_strides, i);
        double value = fk_get_float(r->x, r->x_type, at);
        if (r->op != FK_REDUCE_MAX)
            result += value;
        else if (fk_is_more(value, result))
            result = value;
    }
    if (r->op == FK_REDUCE_MEAN)
        result /= (double)count;
    fk_put_float(r->y, r->y_type, y, result);
}

static void fk_reduce_integers(const struct fk_reduce *r, int64_t x, int64_t y,
                               int64_t count) {
    uint64_t sum = 0;
    int64_t most = fk_to_integer(r->x_type, -INFINITY);
    if (r->x_type == FK_BOOL)
        most = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at =
            x + fk_offset(r->reduced_rank, r->reduced, r->reduced_strides, i);
        int64_t value = fk_get_integer(r->x, r->x_type, at);
        sum += (uint64_t)value;
        if (r->x_type == FK_U64 ? (uint64_t)value > (uint64_t)most
                                : value > most)
            most = value;
    }
    int64_t result = (int64_t)sum;
    if (r->op == FK_REDUCE_MEAN)
        result = fk_quotient(result, count, r->x_type == FK_U64);
    if (r->op == FK_REDUCE_MAX)
        result = most;
    fk_put_integer(r->y, r->y_type, y, result);
}

static void fk_general_reduce_run(const void *request, int64_t part,
                                  int64_t parts, char *workspace) {
    (void)workspace;
    const struct fk_reduce *r = request;
    const int64_t n = fk_count_of(r->rank, r->dims);
    const int64_t count = fk_count_of(r->reduced_rank, r->reduced);
    for (int64_t i = part * n / parts; i < (part + 1) * n / parts; i++) {
        int64_t x = fk_offset(r->rank, r->dims, r->x_strides, i);
        int64_t y = fk_offset(r->rank, r->dims, r->y_strides, i);
        if (fk_is_float(r->x_type))
            fk_reduce_floats(r, x, y, count);
        else
            fk_reduce_integers(r, x, y, count);
    }
}

/* The place of an element in the order of its type. NaN is the largest, and both
 * zeros are equal. */
static int64_t fk_key(uint64_t x, int64_t type, int64_t index) {
    if (!fk_is_float(type)) {
        uint64_t value = (uint64_t)fk_get_integer(x, type, index);
        return (int64_t)(type == FK_U64 ? value ^ (1ull << 63) : value);
    }
    double value = fk_get_float(x, type, index) + 0.0;
    if (value != value)
        return INT64_MAX;
    int64_t bits;
    memcpy(&bits, &value, 8);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static void fk_copy_element(uint64_t to, int64_t type, int64_t at,
                            uint64_t from, int64_t index) {
    memcpy(fk_place(to, type, at), fk_place(from, type, index),
           (size_t)fk_bits(type) / 8);
}

static int64_t fk_general_top_parts(const void *request) {
    const struct fk_top *r = request;
    return fk_parts_for(fk_count_of(r->rank, r->dims), 8.0 * (double)r->n);
}

static void fk_general_top_run(const void *request, int64_t part, int64_t parts,
                               char *workspace) {
    const struct fk_top *r = request;
    const int64_t lines = fk_count_of(r->rank, r->dims);
    struct fk_heap heap;
    for (int64_t i = part * lines / parts; i < (part + 1) * lines / parts;
         i++) {
        int64_t x = fk_offset(r->rank, r->dims, r->x_strides, i);
        fk_heap_start(&heap, workspace, r);
        for (int64_t j = 0; j < r->n; j++)
            fk_heap_offer(&heap, fk_key(r->x, r->x_type, x + j * r->x_step), j);
        fk_heap_sort(&heap);
        int64_t values = fk_offset(r->rank, r->dims, r->values_strides, i);
        int64_t indices = fk_offset(r->rank, r->dims, r->indices_strides, i);
        for (int64_t j = 0; j < r->k; j++) {
            const int64_t chosen = heap.items[j].index;
            if (r->values)
                fk_copy_element(r->values, r->x_type,
                                values + j * r->values_step, r->x,
                                x + chosen * r->x_step);
            if (r->indices)
                fk_put_integer(r->indices, FK_I64,
                               indices + j * r->indices_step, chosen);
        }
    }
}

#endif

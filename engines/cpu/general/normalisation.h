/*
 * Operations on rows, for every type of floating point.
 */
#ifndef FK_GENERAL_NORMALISATION_H
#define FK_GENERAL_NORMALISATION_H

#include "elements.h"

static int64_t fk_general_rows_parts(const void *request) {
    const struct fk_rows *r = request;
    return fk_parts_for(fk_count_of(r->rank, r->dims), 16.0 * (double)r->n);
}

/* The places of the first elements of a row. */
struct fk_line {
    int64_t x, residual, y, sum, scale, bias;
};

static double fk_element_of(const struct fk_rows *r, const struct fk_line *at,
                            int64_t i) {
    double value = fk_get_float(r->x, r->x_type, at->x + i * r->x_step);
    if (r->residual)
        value += fk_get_float(r->residual, r->residual_type,
                              at->residual + i * r->residual_step);
    return value;
}

static void fk_general_softmax(const struct fk_rows *r,
                               const struct fk_line *at) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < r->n; i++) {
        double value = fk_element_of(r, at, i);
        if (value > largest || value != value)
            largest = value;
    }
    for (int64_t i = 0; i < r->n; i++)
        sum += exp(fk_element_of(r, at, i) - largest);
    for (int64_t i = 0; i < r->n; i++)
        fk_put_float(r->y, r->y_type, at->y + i * r->y_step,
                     exp(fk_element_of(r, at, i) - largest) / sum);
}

static void fk_general_norm(const struct fk_rows *r, const struct fk_line *at,
                            int64_t index) {
    double mean = 0, squares = 0;
    if (r->op == FK_ROWS_LAYER_NORM) {
        for (int64_t i = 0; i < r->n; i++)
            mean += fk_element_of(r, at, i);
        mean /= (double)r->n;
    }
    for (int64_t i = 0; i < r->n; i++) {
        double distance = fk_element_of(r, at, i) - mean;
        squares += distance * distance;
    }
    const double factor = 1 / sqrt(squares / (double)r->n + r->epsilon);
    if (r->mean)
        fk_put_float(r->mean, FK_F32, index, mean);
    if (r->deviation)
        fk_put_float(r->deviation, FK_F32, index, factor);
    for (int64_t i = 0; i < r->n; i++) {
        const double x = fk_element_of(r, at, i);
        double y = (x - mean) * factor;
        if (r->scale)
            y *= fk_get_float(r->scale, r->scale_type,
                              at->scale + i * r->scale_step);
        if (r->bias)
            y += fk_get_float(r->bias, r->bias_type,
                              at->bias + i * r->bias_step);
        if (r->sum)
            fk_put_float(r->sum, r->sum_type, at->sum + i * r->sum_step, x);
        fk_put_float(r->y, r->y_type, at->y + i * r->y_step, y);
    }
}

static void fk_general_rows_run(const void *request, int64_t part,
                                int64_t parts, char *workspace) {
    (void)workspace;
    const struct fk_rows *r = request;
    const int64_t rows = fk_count_of(r->rank, r->dims);
    for (int64_t i = part * rows / parts; i < (part + 1) * rows / parts; i++) {
        const struct fk_line at = {
            fk_offset(r->rank, r->dims, r->x_strides, i),
            fk_offset(r->rank, r->dims, r->residual_strides, i),
            fk_offset(r->rank, r->dims, r->y_strides, i),
            fk_offset(r->rank, r->dims, r->sum_strides, i),
            fk_offset(r->rank, r->dims, r->scale_strides, i),
            fk_offset(r->rank, r->dims, r->bias_strides, i)};
        if (r->op == FK_ROWS_SOFTMAX)
            fk_general_softmax(r, &at);
        else
            fk_general_norm(r, &at, i);
    }
}

#endif

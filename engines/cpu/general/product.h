/*
 * Matrix products, for every type: floating point in F64, integers in 64 bits.
 */
#ifndef FK_GENERAL_PRODUCT_H
#define FK_GENERAL_PRODUCT_H

#include "elements.h"

static int64_t fk_general_matmul_parts(const void *request) {
    const struct fk_matmul *r = request;
    return fk_parts_for(r->m * fk_count_of(r->rank, r->batch),
                        2.0 * (double)r->n * (double)r->k);
}

/* Blocks of 32 are along the columns of b, and follow each other. */
static int64_t fk_place_in_b(const struct fk_matmul *r, int64_t k, int64_t n) {
    if (r->b_type == FK_Q8_0 || r->b_type == FK_Q4_0)
        return n * r->k + k;
    return k * r->b_row + n * r->b_column;
}

/* A product with a factor drops the fraction. */
static int64_t fk_scaled(const struct fk_matmul *r, int64_t value,
                         double factor) {
    if (factor >= -0x1p62 && factor <= 0x1p62 &&
        (double)(int64_t)factor == factor)
        return (int64_t)((uint64_t)value * (uint64_t)(int64_t)factor);
    double number =
        r->y_type == FK_U64 ? (double)(uint64_t)value : (double)value;
    return fk_to_integer(r->y_type, number * factor);
}

static void fk_row_of_integers(const struct fk_matmul *r, const int64_t *at,
                               int64_t i) {
    for (int64_t n = 0; n < r->n; n++) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < r->k; k++) {
            int64_t a = at[0] + i * r->a_row + k * r->a_column;
            int64_t b = at[1] + fk_place_in_b(r, k, n);
            sum += (uint64_t)fk_get_integer(r->a, r->a_type, a) *
                   (uint64_t)fk_get_integer(r->b, r->b_type, b);
        }
        uint64_t result = (uint64_t)fk_scaled(r, (int64_t)sum, r->alpha);
        if (r->add) {
            int64_t add = at[3] + i * r->add_row + n * r->add_column;
            result += (uint64_t)fk_scaled(
                r, fk_get_integer(r->add, r->add_type, add), r->beta);
        }
        fk_put_integer(r->y, r->y_type, at[2] + i * r->y_row + n,
                       (int64_t)result);
    }
}

static void fk_row_of_floats(const struct fk_matmul *r, const int64_t *at,
                             int64_t i) {
    const struct fk_map activation = {.op = r->activation, .factor = 1};
    for (int64_t n = 0; n < r->n; n++) {
        double sum = 0;
        for (int64_t k = 0; k < r->k; k++) {
            int64_t a = at[0] + i * r->a_row + k * r->a_column;
            int64_t b = at[1] + fk_place_in_b(r, k, n);
            sum += fk_get_float(r->a, r->a_type, a) *
                   fk_get_float(r->b, r->b_type, b);
        }
        sum *= r->alpha;
        if (r->add) {
            int64_t add = at[3] + i * r->add_row + n * r->add_column;
            sum += r->beta * fk_get_float(r->add, r->add_type, add);
        }
        sum = fk_compute_float(&activation, sum, 0);
        if (r->residual) {
            int64_t place =
                at[4] + i * r->residual_row + n * r->residual_column;
            sum += fk_get_float(r->residual, r->residual_type, place);
        }
        fk_put_float(r->y, r->y_type, at[2] + i * r->y_row + n, sum);
    }
}

static void fk_general_matmul_run(const void *request, int64_t part,
                                  int64_t parts, char *workspace) {
    (void)workspace;
    const struct fk_matmul *r = request;
    const int64_t rows = r->m * fk_count_of(r->rank, r->batch);
    for (int64_t i = part * rows / parts; i < (part + 1) * rows / parts; i++) {
        const int64_t batch = i / r->m;
        const int64_t at[] = {
            fk_offset(r->rank, r->batch, r->a_batch, batch),
            fk_offset(r->rank, r->batch, r->b_batch, batch),
            fk_offset(r->rank, r->batch, r->y_batch, batch),
            fk_offset(r->rank, r->batch, r->add_batch, batch),
            fk_offset(r->rank, r->batch, r->residual_batch, batch)};
        if (fk_is_float(r->y_type))
            fk_row_of_floats(r, at, i % r->m);
        else
            fk_row_of_integers(r, at, i % r->m);
    }
}

#endif

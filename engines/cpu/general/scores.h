/*
 * Attention, for every type of floating point, with the scores of each query in
 * the workspace.
 */
#ifndef FK_GENERAL_SCORES_H
#define FK_GENERAL_SCORES_H

#include "../kernels/pages.h"
#include "elements.h"

/* One byte for each key states whether the query ignores the key. */
static int64_t fk_general_attention_workspace(const void *request) {
    const struct fk_attention *r = request;
    return (r->keys * 9 + r->value_depth * 8 + 63) / 64 * 64;
}

static int64_t fk_general_attention_parts(const void *request) {
    const struct fk_attention *r = request;
    return fk_parts_for(r->batch * r->heads * r->queries,
                        (double)r->keys *
                            (double)(r->depth + r->value_depth + 16));
}

/* One query: its batch, head and number. */
struct fk_query {
    const struct fk_attention *request;
    int64_t batch, head, row;
    double *scores, *output;
    char *is_hidden;
};

static int fk_is_unseen(const struct fk_query *q, int64_t key) {
    const struct fk_attention *r = q->request;
    int64_t shift = 0;
    if (r->lengths) {
        const int64_t length = fk_length_of(r, q->batch);
        if (key >= length)
            return 1;
        if (r->follows_length)
            shift = length - r->queries;
    }
    const int64_t distance = key - q->row - shift;
    return (r->has_last && distance > r->last) ||
           (r->has_first && distance < r->first) ||
           (r->mask && key >= r->mask_keys);
}

static double fk_bias_of(const struct fk_query *q, int64_t key) {
    const struct fk_attention *r = q->request;
    if (fk_is_unseen(q, key))
        return -INFINITY;
    if (!r->mask)
        return 0;
    int64_t at = q->batch * r->mask_batch + q->head * r->mask_head +
                 q->row * r->mask_row + key * r->mask_key;
    if (r->mask_type == FK_BOOL)
        return fk_get_integer(r->mask, FK_BOOL, at) ? 0 : -INFINITY;
    return fk_get_float(r->mask, r->mask_type, at);
}

static void fk_show(const struct fk_query *q, int64_t stage) {
    const struct fk_attention *r = q->request;
    if (!r->scores || r->stage != stage)
        return;
    int64_t at = q->batch * r->scores_batch + q->head * r->scores_head +
                 q->row * r->scores_row;
    for (int64_t j = 0; j < r->keys; j++)
        fk_put_float(r->scores, r->scores_type, at + j * r->scores_key,
                     q->scores[j]);
}

static void fk_compute_products(const struct fk_query *q, int64_t key_head) {
    const struct fk_attention *r = q->request;
    const int64_t query =
        q->batch * r->q_batch + q->head * r->q_head + q->row * r->q_row;
    for (int64_t j = 0; j < r->keys; j++) {
        /* A key that no query sees may have no page. */
        if (r->tables && fk_is_unseen(q, j)) {
            q->scores[j] = 0;
            continue;
        }
        const int64_t key = fk_page_of(r, q->batch, j) * r->k_batch +
                            key_head * r->k_head + fk_row_of(r, j) * r->k_row;
        double sum = 0;
        for (int64_t d = 0; d < r->depth; d++)
            sum += fk_get_float(r->q, r->q_type, query + d * r->q_step) *
                   fk_get_float(r->k, r->k_type, key + d * r->k_step);
        q->scores[j] = r->depth > 0 ? sum * r->scale : 0;
    }
}

static void fk_to_probabilities(const struct fk_query *q) {
    const struct fk_attention *r = q->request;
    double largest = -INFINITY, sum = 0;
    fk_show(q, 0);
    if (r->softcap > 0)
        for (int64_t j = 0; j < r->keys; j++)
            q->scores[j] = r->softcap * tanh(q->scores[j] / r->softcap);
    fk_show(q, 1);
    for (int64_t j = 0; j < r->keys; j++) {
        const double bias = fk_bias_of(q, j);
        q->is_hidden[j] = bias == -INFINITY;
        q->scores[j] += bias;
        if (!q->is_hidden[j] &&
            (q->scores[j] > largest || q->scores[j] != q->scores[j]))
            largest = q->scores[j];
    }
    fk_show(q, 2);
    for (int64_t j = 0; j < r->keys; j++) {
        if (q->is_hidden[j] || largest == -INFINITY)
            q->scores[j] = 0;
        else
            q->scores[j] = exp(q->scores[j] - largest);
        sum += q->scores[j];
    }
    for (int64_t j = 0; j < r->keys; j++)
        if (sum != 0 && !q->is_hidden[j])
            q->scores[j] /= sum;
    fk_show(q, 3);
}

static void fk_general_attention_run(const void *request, int64_t part,
                                     int64_t parts, char *workspace) {
    const struct fk_attention *r = request;
    const int64_t queries = r->batch * r->heads * r->queries;
    struct fk_query q = {.request = r};
    q.scores = (double *)(void *)workspace;
    q.output = q.scores + r->keys;
    q.is_hidden = (char *)(q.output + r->value_depth);
    for (int64_t i = part * queries / parts; i < (part + 1) * queries / parts;
         i++) {
        q.row = i % r->queries;
        q.head = i / r->queries % r->heads;
        q.batch = i / r->queries / r->heads;
        const int64_t key_head = q.head / (r->heads / r->key_heads);
        fk_compute_products(&q, key_head);
        fk_to_probabilities(&q);
        if (!r->y)
            continue;
        memset(q.output, 0, 8 * (size_t)r->value_depth);
        for (int64_t j = 0; j < r->keys; j++) {
            if (q.is_hidden[j])
                continue;
            const int64_t value = fk_page_of(r, q.batch, j) * r->v_batch +
                                  key_head * r->v_head +
                                  fk_row_of(r, j) * r->v_row;
            for (int64_t d = 0; d < r->value_depth; d++)
                q.output[d] +=
                    q.scores[j] *
                    fk_get_float(r->v, r->v_type, value + d * r->v_step);
        }
        const int64_t to =
            q.batch * r->y_batch + q.head * r->y_head + q.row * r->y_row;
        for (int64_t d = 0; d < r->value_depth; d++)
            fk_put_float(r->y, r->y_type, to + d * r->y_step, q.output[d]);
    }
}

#endif

/*
 * Attention: y = softmax(scale q k^T + mask) v, without a matrix of all scores.
 *
 * FK_WIDTH queries are the columns of a panel; the query heads that share a head
 * of keys are queries too. For each block of FK_KEYS keys there is a tile of
 * scores with a row for each key, so that a query is a lane of a vector, and
 * maxima and sums need no exchange between lanes. The weights of the block times
 * the values are added to the output, a panel with a row for each column of the
 * values. When the largest score of a query grows, what is summed so far is
 * multiplied by e^(old - new) (online softmax; Milakov and Gimelshein, 2018).
 *
 * workspace: queries | scores | output | rows of keys | values as F32
 */
#ifndef FK_ATTENTION_H
#define FK_ATTENTION_H

#include "matmul.h"
#include "pages.h"
#include "rows.h"
#include "turn.h"

#define FK_KEYS 128

/* Rows of a matrix, the same distance apart: those of one page. */
struct fk_span {
    const float *rows;
    int64_t count;
};

/* A tile like those of tile.h. The rows of a are adjacent columns of a matrix, from
 * `first` on. Its rows are `row` floats apart within each span. */
typedef void fk_columns_run(const struct fk_span *spans, int64_t count,
                            int64_t first, int64_t row, const float *b,
                            float *y);

FK_INLINE void fk_columns(const int rows, const struct fk_span *spans,
                          int64_t count, int64_t first, int64_t row,
                          const float *b, float *y) {
    fk_v sum[FK_ROWS][FK_VECTORS];
    FK_UNROLL for (int r = 0; r < rows; r++)
        FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) sum[r][v] =
            fk_load(y + r * FK_WIDTH + v * FK_LANES);
    for (int64_t s = 0; s < count; s++) {
        const float *a = spans[s].rows + first;
        for (int64_t i = 0; i < spans[s].count; i++) {
            fk_v column[FK_VECTORS];
            FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) column[v] =
                fk_load(b + v * FK_LANES);
            FK_UNROLL for (int r = 0; r < rows; r++) {
                fk_v left = fk_splat(a[r]);
                FK_UNROLL for (int v = 0; v < FK_VECTORS; v++) sum[r][v] +=
                    left * column[v];
            }
            a += row;
            b += FK_WIDTH;
        }
    }
    FK_UNROLL for (int r = 0; r < rows; r++)
        FK_UNROLL for (int v = 0; v < FK_VECTORS; v++)
            fk_store(y + r * FK_WIDTH + v * FK_LANES, sum[r][v]);
}

#define FK_COLUMNS_OF(n)                                                       \
    FK_NOINLINE void fk_columns_##n(const struct fk_span *spans,               \
                                    int64_t count, int64_t first, int64_t row, \
                                    const float *b, float *y) {                \
        fk_columns(n, spans, count, first, row, b, y);                         \
    }

FK_COLUMNS_OF(1)
FK_COLUMNS_OF(2)
FK_COLUMNS_OF(4)
#if FK_ROWS >= 6
FK_COLUMNS_OF(6)
#endif
#if FK_ROWS >= 12
FK_COLUMNS_OF(8)
FK_COLUMNS_OF(12)
#endif

/* A tile like those of tile.h, for rows of a that are a_row floats apart. */
typedef void fk_keys_run(int64_t k, const float *a, int64_t a_row,
                         const float *b, float *y);

#define FK_KEYS_OF(rows)                                                      \
    FK_NOINLINE void fk_keys_##rows(int64_t k, const float *a, int64_t a_row, \
                                    const float *b, float *y) {               \
        fk_tile(rows, k, a, a_row, b, y, FK_WIDTH, 0);                        \
    }

FK_KEYS_OF(1)
FK_KEYS_OF(2)
FK_KEYS_OF(4)
#if FK_ROWS >= 6
FK_KEYS_OF(6)
#endif
#if FK_ROWS >= 12
FK_KEYS_OF(8)
FK_KEYS_OF(12)
#endif

/* The most rows that one tile computes of those that are left. */
FK_INLINE int64_t fk_columns_step(int64_t left) {
#if FK_ROWS >= 12
    /* Two tiles of 8 rows are faster than one of 12 and one of 4. */
    if (left >= 12 && left != 16)
        return 12;
    if (left >= 8)
        return 8;
#endif
#if FK_ROWS >= 6
    if (left >= 6)
        return 6;
#endif
    return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

static fk_columns_run *const fk_columns_tiles[FK_ROWS + 1] = {
    [1] = fk_columns_1, [2] = fk_columns_2,   [4] = fk_columns_4,
#if FK_ROWS >= 6
    [6] = fk_columns_6,
#endif
#if FK_ROWS >= 12
    [8] = fk_columns_8, [12] = fk_columns_12,
#endif
};

static fk_keys_run *const fk_keys_tiles[FK_ROWS + 1] = {
    [1] = fk_keys_1, [2] = fk_keys_2,   [4] = fk_keys_4,
#if FK_ROWS >= 6
    [6] = fk_keys_6,
#endif
#if FK_ROWS >= 12
    [8] = fk_keys_8, [12] = fk_keys_12,
#endif
};

/* The state of one panel of queries. */
struct fk_panel {
    const struct fk_attention *request;
    int64_t batch, key_head, first, count; /* columns of the panel */
    int vectors;                           /* that have these columns */
    int64_t keys;                          /* of this batch */
    int64_t shift; /* added to the first and the last key that a query sees */
    float *queries, *scores, *output, *rows, *values;
    fk_v largest[FK_VECTORS], sum[FK_VECTORS];
    /* The query head and the query of each column. */
    int32_t heads[FK_WIDTH], columns[FK_WIDTH];
};

FK_INLINE int64_t fk_group(const struct fk_attention *r) {
    return r->heads / r->key_heads;
}

FK_INLINE int64_t fk_head_of(const struct fk_panel *p, int64_t column) {
    return p->heads[column];
}
FK_INLINE int64_t fk_query_of(const struct fk_panel *p, int64_t column) {
    return p->columns[column];
}

static void fk_find_columns(struct fk_panel *p) {
    const struct fk_attention *r = p->request;
    int64_t head = p->key_head * fk_group(r) + p->first / r->queries;
    int64_t query = p->first % r->queries;
    for (int64_t c = 0; c < p->count; c++) {
        p->heads[c] = (int32_t)head;
        p->columns[c] = (int32_t)query;
        if (++query == r->queries) {
            query = 0;
            head++;
        }
    }
}

static int64_t fk_attention_workspace(const void *request) {
    const struct fk_attention *r = request;
    int64_t floats = (r->depth + FK_KEYS + r->value_depth) * FK_WIDTH +
                     FK_ROWS * FK_A_ROW + FK_KEYS * r->value_depth;
    return fk_round_up(4 * floats, 64);
}

static int64_t fk_attention_units(const struct fk_attention *r) {
    return r->batch * r->key_heads * fk_panels(fk_group(r) * r->queries);
}

static int64_t fk_attention_parts(const void *request) {
    const struct fk_attention *r = request;
    int64_t units = fk_attention_units(r);
    double work = (double)units * FK_WIDTH * (double)r->keys *
                  (double)(r->depth + r->value_depth) / FK_PART_WORK;
    int64_t parts = work < 4096 ? (int64_t)work : 4096;
    parts = fk_least(parts, units);
    return parts > 1 ? parts : 1;
}

/* Whether FK_LANES columns from c on are queries of one head that are read or
 * written as squares: adjacent elements of F32. */
FK_INLINE int fk_is_square(const struct fk_panel *p, int64_t c, uint64_t base,
                           int64_t type, int64_t step) {
    return type == FK_F32 && step == 1 && base % 4 == 0 &&
           c + FK_LANES <= p->count &&
           p->heads[c] == p->heads[c + FK_LANES - 1];
}

/* The place of the query of a column. */
FK_INLINE int64_t fk_place_of(const struct fk_panel *p, int64_t c,
                              int64_t batch, int64_t head, int64_t row) {
    return p->batch * batch + fk_head_of(p, c) * head + fk_query_of(p, c) * row;
}

/* Elements of one query from d on, times scale. */
static void fk_load_query(struct fk_panel *p, int64_t c, int64_t d) {
    const struct fk_attention *r = p->request;
    const float scale = (float)r->scale;
    const int64_t index = fk_place_of(p, c, r->q_batch, r->q_head, r->q_row);
    float buffer[64];
    for (int64_t n; d < r->depth; d += n) {
        n = fk_least(64, r->depth - d);
        const char *from = fk_at(r->q, r->q_type, index + d * r->q_step);
        const float *run = fk_run_of(buffer, r->q_type, from, r->q_step, n);
        for (int64_t i = 0; i < n; i++)
            p->queries[(d + i) * FK_WIDTH + c] = run[i] * scale;
    }
}

/* The queries, times scale, one in each column. */
static void fk_load_queries(struct fk_panel *p) {
    const struct fk_attention *r = p->request;
    if (p->count < FK_WIDTH)
        memset(p->queries, 0, 4 * (size_t)(r->depth * FK_WIDTH));
    for (int64_t c = 0, n; c < p->count; c += n) {
        int64_t d = 0;
        n = 1;
        if (fk_is_square(p, c, r->q, r->q_type, r->q_step)) {
            const float *from = (const float *)(uintptr_t)fk_at(
                r->q, FK_F32,
                fk_place_of(p, c, r->q_batch, r->q_head, r->q_row));
            n = FK_LANES;
            for (; d + FK_LANES <= r->depth; d += FK_LANES)
                fk_turn(from + d, r->q_row, fk_splat((float)r->scale),
                        p->queries + d * FK_WIDTH + c, FK_WIDTH);
        }
        for (int64_t i = 0; i < n && d < r->depth; i++)
            fk_load_query(p, c + i, d);
    }
    memset(p->output, 0, 4 * (size_t)(r->value_depth * FK_WIDTH));
    for (int v = 0; v < FK_VECTORS; v++) {
        p->largest[v] = fk_splat(-__builtin_inff());
        p->sum[v] = fk_splat(0);
    }
}

/* The scores of keys whose elements are adjacent F32, which are read where they
 * are. */
static void fk_score_in_place(struct fk_panel *p, const float *keys,
                              int64_t count, float *scores) {
    const struct fk_attention *r = p->request;
    for (int64_t j = 0, step; j < count; j += step) {
        step = fk_columns_step(count - j);
        fk_keys_tiles[step](r->depth, keys + j * r->k_row, r->k_row, p->queries,
                            scores + j * FK_WIDTH);
    }
}

/* The place of a key. */
FK_INLINE int64_t fk_key_place(const struct fk_panel *p, int64_t key) {
    const struct fk_attention *r = p->request;
    return fk_page_of(r, p->batch, key) * r->k_batch + p->key_head * r->k_head +
           fk_row_of(r, key) * r->k_row;
}

/* The place of the value of a key. */
FK_INLINE int64_t fk_value_place(const struct fk_panel *p, int64_t key) {
    const struct fk_attention *r = p->request;
    return fk_page_of(r, p->batch, key) * r->v_batch + p->key_head * r->v_head +
           fk_row_of(r, key) * r->v_row;
}

/* The scores of keys of any type and strides, which are copied. */
static void fk_score_copies(struct fk_panel *p, int64_t key, int64_t keys) {
    const struct fk_attention *r = p->request;
    for (int64_t j = 0; j < keys; j += FK_ROWS) {
        int64_t rows = fk_least(FK_ROWS, keys - j);
        float *scores = p->scores + j * FK_WIDTH;
        for (int64_t d = 0; d == 0 || d < r->depth; d += FK_DEPTH) {
            int64_t depth = fk_least(FK_DEPTH, r->depth - d);
            for (int64_t i = 0; i < rows; i++)
                fk_read(p->rows + i * FK_A_ROW, r->k_type,
                        fk_at(r->k, r->k_type,
                              fk_key_place(p, key + j + i) + d * r->k_step),
                        r->k_step, depth);
            fk_tiles[rows](depth, p->rows, p->queries + d * FK_WIDTH, scores,
                           FK_WIDTH, d > 0);
        }
    }
}

static void fk_compute_scores(struct fk_panel *p, int64_t key, int64_t keys) {
    const struct fk_attention *r = p->request;
    if (r->k_type != FK_F32 || r->k_step != 1 || r->k % 4 != 0) {
        fk_score_copies(p, key, keys);
    } else {
        for (int64_t j = 0, count; j < keys; j += count) {
            count = fk_keys_of_page(r, key + j, keys - j);
            fk_score_in_place(p,
                              (const float *)(uintptr_t)fk_at(
                                  r->k, FK_F32, fk_key_place(p, key + j)),
                              count, p->scores + j * FK_WIDTH);
        }
    }
    if (r->softcap > 0) {
        const fk_v cap = fk_splat((float)r->softcap);
        for (int64_t i = 0; i < keys * FK_WIDTH; i += FK_LANES)
            fk_store(p->scores + i,
                     cap * fk_tanh(fk_load(p->scores + i) / cap));
    }
}

/* The number that the mask adds to the score of a key. */
FK_INLINE float fk_mask_value(int64_t type, const char *from) {
    if (type == FK_BOOL)
        return *from ? 0 : -__builtin_inff();
    return fk_get(type, from);
}

/* A score of NaN is hidden too. */
FK_INLINE fk_v fk_with_bias(fk_v score, fk_v bias) {
    return fk_select(bias == fk_splat(-__builtin_inff()), bias, score + bias);
}

/* Whether the mask is the same for all queries of a panel. */
FK_INLINE int fk_is_shared_mask(const struct fk_attention *r) {
    return r->mask_row == 0 && (r->mask_head == 0 || fk_group(r) == 1);
}

/* The number that a shared mask adds to the score of a key. */
FK_INLINE float fk_shared_mask(const struct fk_panel *p, int64_t key) {
    const struct fk_attention *r = p->request;
    const int64_t index = p->batch * r->mask_batch +
                          p->key_head * r->mask_head + key * r->mask_key;
    const int64_t size = r->mask_type == FK_BOOL ? 1 : fk_bytes(r->mask_type);
    return fk_mask_value(r->mask_type,
                         (const char *)(uintptr_t)r->mask + index * size);
}

static void fk_add_mask(struct fk_panel *p, int64_t key, int64_t keys) {
    const struct fk_attention *r = p->request;
    if (fk_is_shared_mask(r)) {
        for (int64_t j = 0; j < keys; j++) {
            const float value = fk_shared_mask(p, key + j);
            float *row = p->scores + j * FK_WIDTH;
            for (int v = 0; v < FK_WIDTH && value != 0; v += FK_LANES)
                fk_store(row + v,
                         fk_with_bias(fk_load(row + v), fk_splat(value)));
        }
        return;
    }
    const int64_t size = r->mask_type == FK_BOOL ? 1 : fk_bytes(r->mask_type);
    const char *mask = (const char *)(uintptr_t)r->mask +
                       (p->batch * r->mask_batch + key * r->mask_key) * size;
    for (int64_t c = 0; c < p->count; c++) {
        const char *from = mask + (fk_head_of(p, c) * r->mask_head +
                                   fk_query_of(p, c) * r->mask_row) *
                                      size;
        for (int64_t j = 0; j < keys; j++, from += r->mask_key * size) {
            float *at = p->scores + j * FK_WIDTH + c;
            float value = fk_mask_value(r->mask_type, from);
            *at = value == -__builtin_inff() ? value : *at + value;
        }
    }
}

/* The first and the last key that each column sees. */
struct fk_sight {
    int32_t first[FK_WIDTH], last[FK_WIDTH];
    int64_t from, to;         /* keys that some column sees */
    int64_t all_from, all_to; /* keys that all columns see */
};

FK_INLINE int64_t fk_clamp(int64_t n, int64_t low, int64_t high) {
    return n < low ? low : n > high ? high : n;
}

static void fk_find_sight(const struct fk_panel *p, struct fk_sight *s) {
    const struct fk_attention *r = p->request;
    *s = (struct fk_sight){.from = p->keys, .all_to = p->keys};
    for (int64_t c = 0; c < p->count; c++) {
        const int64_t query = fk_query_of(p, c) + p->shift;
        int64_t first = 0, end = p->keys;
        if (r->has_first)
            first = fk_clamp(query + r->first, 0, p->keys);
        if (r->has_last)
            end = fk_clamp(query + r->last + 1, 0, p->keys);
        s->first[c] = (int32_t)first;
        s->last[c] = (int32_t)(end - 1);
        s->from = fk_least(s->from, first);
        s->to = end > s->to ? end : s->to;
        s->all_from = first > s->all_from ? first : s->all_from;
        s->all_to = fk_least(s->all_to, end);
    }
}

/* Keys at both ends that a shared mask hides are not computed. */
static void fk_trim_sight(const struct fk_panel *p, struct fk_sight *s) {
    const float hidden = -__builtin_inff();
    while (s->from < s->to && fk_shared_mask(p, s->from) == hidden)
        s->from++;
    while (s->from < s->to && fk_shared_mask(p, s->to - 1) == hidden)
        s->to--;
}

/* Whether a shared mask hides all keys of a block. */
static int fk_is_hidden_block(const struct fk_panel *p, int64_t key,
                              int64_t keys) {
    for (int64_t j = 0; j < keys; j++)
        if (fk_shared_mask(p, key + j) != -__builtin_inff())
            return 0;
    return 1;
}

/* Keys that a query does not see get the score -infinity. */
static void fk_hide_keys(struct fk_panel *p, const struct fk_sight *s,
                         int64_t key, int64_t keys) {
    for (int64_t j = 0; j < keys; j++)
        for (int v = 0; v < FK_WIDTH; v += FK_LANES) {
            fk_vi first, last;
            memcpy(&first, s->first + v, sizeof first);
            memcpy(&last, s->last + v, sizeof last);
            float *at = p->scores + j * FK_WIDTH + v;
            fk_vi index = fk_splat_i((int32_t)(key + j));
            fk_vi hidden = (last < index) | (first > index);
            fk_store(at, fk_select(hidden, fk_splat(-__builtin_inff()),
                                   fk_load(at)));
        }
}

/* Turns scores into weights. Multiplies the sums of earlier blocks. */
static void fk_compute_weights(struct fk_panel *p, int64_t keys, int is_first) {
    const fk_v none = fk_splat(-__builtin_inff());
    for (int v = 0; v < p->vectors; v++) {
        float *column = p->scores + v * FK_LANES;
        fk_v most = p->largest[v];
        for (int64_t j = 0; j < keys; j++)
            most = fk_max(fk_load(column + j * FK_WIDTH), most);
        /* A query that has seen no key: -infinity minus itself is NaN. */
        fk_v shift = fk_select(most == none, fk_splat(0), most);
        fk_v sum = fk_splat(0);
        for (int64_t j = 0; j < keys; j++) {
            fk_v weight = fk_exp(fk_load(column + j * FK_WIDTH) - shift);
            fk_store(column + j * FK_WIDTH, weight);
            sum += weight;
        }
        if (is_first) {
            p->largest[v] = most;
            p->sum[v] = sum;
            continue;
        }
        const fk_v factor = fk_exp(p->largest[v] - shift);
        p->largest[v] = most;
        p->sum[v] = p->sum[v] * factor + sum;
        for (int64_t d = 0; d < p->request->value_depth; d++) {
            float *at = p->output + d * FK_WIDTH + v * FK_LANES;
            fk_store(at, fk_load(at) * factor);
        }
    }
}

FK_INLINE int fk_is_hidden(const struct fk_panel *p, const struct fk_sight *s,
                           int64_t column, int64_t key) {
    const struct fk_attention *r = p->request;
    if (key < s->first[column] || key > s->last[column])
        return 1;
    if (!r->mask)
        return 0;
    int64_t index = p->batch * r->mask_batch +
                    fk_head_of(p, column) * r->mask_head +
                    fk_query_of(p, column) * r->mask_row + key * r->mask_key;
    index *= r->mask_type == FK_BOOL ? 1 : fk_bytes(r->mask_type);
    return fk_mask_value(r->mask_type, (const char *)(uintptr_t)r->mask +
                                           index) == -__builtin_inff();
}

/* The weights times the values, without hidden keys: 0 times infinity is NaN. */
static void fk_add_values_carefully(struct fk_panel *p,
                                    const struct fk_sight *s, int64_t key,
                                    int64_t keys) {
    const struct fk_attention *r = p->request;
    for (int64_t j = 0; j < keys; j++)
        for (int64_t c = 0; c < p->count; c++) {
            if (fk_is_hidden(p, s, c, key + j))
                continue;
            const float weight = p->scores[j * FK_WIDTH + c];
            const int64_t index = fk_value_place(p, key + j);
            for (int64_t d = 0; d < r->value_depth; d++)
                p->output[d * FK_WIDTH + c] +=
                    weight * fk_get(r->v_type, fk_at(r->v, r->v_type,
                                                     index + d * r->v_step));
        }
}

/* Each sum goes along the keys in one order, so the bits do not depend on the
 * pages. */
static void fk_add_values(struct fk_panel *p, int64_t key, int64_t keys) {
    const struct fk_attention *r = p->request;
    const int is_in_place =
        r->v_type == FK_F32 && r->v_step == 1 && r->v % 4 == 0;
    struct fk_span spans[FK_KEYS];
    spans[0] = (struct fk_span){p->values, keys};
    int64_t row = is_in_place ? r->v_row : r->value_depth, pages = 1;
    if (is_in_place) {
        pages = 0;
        for (int64_t j = 0; j < keys; j += spans[pages++].count) {
            spans[pages].rows = (const float *)(uintptr_t)fk_at(
                r->v, FK_F32, fk_value_place(p, key + j));
            spans[pages].count = fk_keys_of_page(r, key + j, keys - j);
        }
    } else {
        for (int64_t j = 0; j < keys; j++)
            fk_read(p->values + j * r->value_depth, r->v_type,
                    fk_at(r->v, r->v_type, fk_value_place(p, key + j)),
                    r->v_step, r->value_depth);
    }
    for (int64_t d = 0; d < r->value_depth;) {
        int64_t step = fk_columns_step(r->value_depth - d);
        fk_columns_tiles[step](spans, pages, d, row, p->scores,
                               p->output + d * FK_WIDTH);
        d += step;
    }
}

/* Elements of the output of one query from d on. */
static void fk_write_output(const struct fk_panel *p, int64_t c, int64_t d,
                            float factor) {
    const struct fk_attention *r = p->request;
    float run[64];
    char *to = (char *)fk_at(
        r->y, r->y_type, fk_place_of(p, c, r->y_batch, r->y_head, r->y_row));
    for (int64_t n; d < r->value_depth; d += n) {
        n = fk_least(64, r->value_depth - d);
        for (int64_t i = 0; i < n; i++)
            run[i] = p->output[(d + i) * FK_WIDTH + c] * factor;
        fk_write(r->y_type, to + d * r->y_step * fk_bytes(r->y_type), r->y_step,
                 run, n);
    }
}

static void fk_write_outputs(const struct fk_panel *p) {
    const struct fk_attention *r = p->request;
    float factors[FK_WIDTH];
    for (int v = 0; v < FK_VECTORS; v++) {
        /* Without a key the sums and the output are 0. */
        const fk_v sum = p->sum[v], one = fk_splat(1);
        fk_store(factors + v * FK_LANES,
                 one / fk_select(sum == fk_splat(0), one, sum));
    }
    for (int64_t c = 0, n; c < p->count; c += n) {
        int64_t d = 0;
        n = 1;
        if (fk_is_square(p, c, r->y, r->y_type, r->y_step)) {
            float *to = (float *)(uintptr_t)fk_at(
                r->y, FK_F32,
                fk_place_of(p, c, r->y_batch, r->y_head, r->y_row));
            n = FK_LANES;
            for (; d + FK_LANES <= r->value_depth; d += FK_LANES)
                fk_turn(p->output + d * FK_WIDTH + c, FK_WIDTH,
                        fk_load(factors + c), to + d, r->y_row);
        }
        for (int64_t i = 0; i < n && d < r->value_depth; i++)
            fk_write_output(p, c + i, d, factors[c + i]);
    }
}

static void fk_attend_to(struct fk_panel *p, const struct fk_sight *s,
                         int is_careful) {
    const struct fk_attention *r = p->request;
    fk_load_queries(p);
    const int is_shared = r->mask && fk_is_shared_mask(r);
    for (int64_t key = s->from; key < s->to; key += FK_KEYS) {
        int64_t count = fk_least(FK_KEYS, s->to - key);
        if (is_shared && fk_is_hidden_block(p, key, count))
            continue;
        fk_compute_scores(p, key, count);
        if (r->mask)
            fk_add_mask(p, key, count);
        if (key < s->all_from || key + count > s->all_to)
            fk_hide_keys(p, s, key, count);
        fk_compute_weights(p, count, key == s->from);
        if (is_careful)
            fk_add_values_carefully(p, s, key, count);
        else
            fk_add_values(p, key, count);
    }
}

static int fk_has_nan(const struct fk_panel *p) {
    fk_vi odd = fk_splat_i(0);
    for (int64_t d = 0; d < p->request->value_depth; d++)
        for (int v = 0; v < p->vectors; v++) {
            fk_v x = fk_load(p->output + d * FK_WIDTH + v * FK_LANES);
            odd |= x != x;
        }
    for (int v = 0; v < p->vectors; v++)
        odd |= p->sum[v] != p->sum[v];
    return fk_any(odd);
}

/* NaN may come from a hidden key: its weight of 0 times a value of infinity. Then
 * the panel is computed again without hidden keys. */
static void fk_attend(struct fk_panel *p) {
    struct fk_sight sight;
    fk_find_columns(p);
    fk_find_sight(p, &sight);
    if (p->request->mask && fk_is_shared_mask(p->request))
        fk_trim_sight(p, &sight);
    fk_attend_to(p, &sight, 0);
    if (fk_has_nan(p))
        fk_attend_to(p, &sight, 1);
    fk_write_outputs(p);
}

static void fk_attention_run(const void *request, int64_t part, int64_t parts,
                             char *workspace) {
    const struct fk_attention *r = request;
    const int64_t columns = fk_group(r) * r->queries;
    const int64_t panels = fk_panels(columns);
    struct fk_panel p;
    p.request = r;
    p.queries = (float *)(void *)workspace;
    p.scores = p.queries + r->depth * FK_WIDTH;
    p.output = p.scores + FK_KEYS * FK_WIDTH;
    p.rows = p.output + r->value_depth * FK_WIDTH;
    p.values = p.rows + FK_ROWS * FK_A_ROW;
    /* Later queries see more keys, so the parts take turns. */
    for (int64_t unit = part; unit < fk_attention_units(r); unit += parts) {
        p.first = unit % panels * FK_WIDTH;
        p.count = fk_least(FK_WIDTH, columns - p.first);
        p.vectors = (int)((p.count + FK_LANES - 1) / FK_LANES);
        p.key_head = unit / panels % r->key_heads;
        p.batch = unit / panels / r->key_heads;
        p.keys = r->mask ? fk_least(r->keys, r->mask_keys) : r->keys;
        p.shift = 0;
        if (r->lengths) {
            const int64_t length = fk_length_of(r, p.batch);
            p.shift = r->follows_length ? length - r->queries : 0;
            p.keys = length < 0 ? 0 : fk_least(length, p.keys);
        }
        fk_attend(&p);
    }
}

#endif

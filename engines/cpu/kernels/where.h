/*
 * A choice between two elements, whatever their type is.
 */
#ifndef FK_WHERE_H
#define FK_WHERE_H

#include "data.h"

/* A run of elements with steps in elements. Where all steps are 1 the compiler
 * makes vectors of it. */
#define FK_CHOOSE_OF(name, type)                                              \
    FK_NOINLINE void fk_choose_##name(                                        \
        int64_t n, const uint8_t *condition, int64_t c_step, const char *x,   \
        int64_t x_step, const char *z, int64_t z_step, char *y,               \
        int64_t y_step) {                                                     \
        type left, right;                                                     \
        if (c_step == 1 && x_step == 1 && z_step == 1 && y_step == 1) {       \
            for (int64_t i = 0; i < n; i++) {                                 \
                memcpy(&left, x + i * (int64_t)sizeof left, sizeof left);     \
                memcpy(&right, z + i * (int64_t)sizeof left, sizeof left);    \
                left = condition[i] ? left : right;                           \
                memcpy(y + i * (int64_t)sizeof left, &left, sizeof left);     \
            }                                                                 \
            return;                                                           \
        }                                                                     \
        for (int64_t i = 0; i < n; i++) {                                     \
            const char *from = condition[i * c_step]                          \
                                   ? x + i * x_step * (int64_t)sizeof left    \
                                   : z + i * z_step * (int64_t)sizeof left;   \
            memcpy(y + i * y_step * (int64_t)sizeof left, from, sizeof left); \
        }                                                                     \
    }

FK_CHOOSE_OF(1, uint8_t)
FK_CHOOSE_OF(2, uint16_t)
FK_CHOOSE_OF(4, uint32_t)
FK_CHOOSE_OF(8, uint64_t)

static int64_t fk_where_elements(const struct fk_where *r) {
    int64_t n = 1;
    for (int64_t d = 0; d < r->rank; d++)
        n *= r->dims[d];
    return n;
}

static int64_t fk_where_parts(const void *request) {
    return 1 + fk_where_elements(request) / 32768;
}

/* The last dimensions that are adjacent for all operands become one. */
static void fk_merge_where(struct fk_where *r) {
    int64_t *const lists[] = {r->condition_strides, r->x_strides, r->z_strides,
                              r->y_strides};
    while (r->rank > 1) {
        const int64_t last = r->rank - 1, n = r->dims[last];
        for (int i = 0; i < 4; i++)
            if (lists[i][last - 1] != n * lists[i][last] && n != 1 &&
                r->dims[last - 1] != 1)
                return;
        for (int i = 0; i < 4; i++)
            if (n != 1)
                lists[i][last - 1] = lists[i][last];
        r->dims[last - 1] *= n;
        r->rank--;
    }
}

static void fk_where_run(const void *request, int64_t part, int64_t parts,
                         char *workspace) {
    (void)workspace;
    struct fk_where r = *(const struct fk_where *)request;
    const int64_t elements = fk_where_elements(&r);
    if (elements == 0)
        return;
    if (r.rank == 0)
        r.dims[r.rank++] = 1;
    fk_merge_where(&r);
    const int64_t last = r.rank - 1, inner = r.dims[last];
    const struct fk_range range = fk_range_of(elements, part, parts);
    const int64_t end = range.end;
    for (int64_t i = range.first; i < end;) {
        int64_t n = inner - i % inner, rest = i;
        n = n < end - i ? n : end - i;
        int64_t c = 0, x = 0, z = 0, y = 0;
        for (int64_t d = last; d >= 0; d--) {
            const int64_t at = rest % r.dims[d];
            rest /= r.dims[d];
            c += at * r.condition_strides[d];
            x += at * r.x_strides[d];
            z += at * r.z_strides[d];
            y += at * r.y_strides[d];
        }
        const uint8_t *condition = (const uint8_t *)(uintptr_t)r.condition + c;
        const char *left = (const char *)(uintptr_t)r.x + x * r.bytes;
        const char *right = (const char *)(uintptr_t)r.z + z * r.bytes;
        char *to = (char *)(uintptr_t)r.y + y * r.bytes;
#define FK_CHOOSE(size)                                                   \
    case size:                                                            \
        fk_choose_##size(n, condition, r.condition_strides[last], left,   \
                         r.x_strides[last], right, r.z_strides[last], to, \
                         r.y_strides[last]);                              \
        break;
        switch (r.bytes) {
            FK_CHOOSE(1)
            FK_CHOOSE(2)
            FK_CHOOSE(4)
            FK_CHOOSE(8)
        }
#undef FK_CHOOSE
        i += n;
    }
}

#endif

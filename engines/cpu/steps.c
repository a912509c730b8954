//go:build cgo && (amd64 || arm64) && !windows

#include "steps.h"

#include <string.h>

/* The largest requests fit. */
_Static_assert(sizeof(struct fk_rows) <= 8 * FK_REQUEST_WORDS, "rows");
_Static_assert(sizeof(struct fk_matmul) <= 8 * FK_REQUEST_WORDS, "product");
_Static_assert(sizeof(struct fk_attention) <= 8 * FK_REQUEST_WORDS,
               "attention");
_Static_assert(sizeof(struct fk_top) <= 8 * FK_REQUEST_WORDS, "top");
_Static_assert(sizeof(struct fk_where) <= 8 * FK_REQUEST_WORDS, "where");

int64_t fk_steps_run(struct fk_threads *threads, const struct fk_step *steps,
                     int64_t count, const uint64_t *inputs,
                     const uint64_t *outputs, uint64_t workspace,
                     int64_t *place) {
    for (int64_t i = 0; i < count; i++) {
        const struct fk_step *s = &steps[i];
        const uint64_t *request = s->request;
        uint64_t copy[FK_REQUEST_WORDS];
        if (s->link_count > 0) {
            memcpy(copy, request, 8 * (size_t)s->words);
            for (int64_t l = 0; l < s->link_count; l++) {
                const struct fk_link *link = &s->links[l];
                uint64_t base = link->kind == 1   ? inputs[link->index]
                                : link->kind == 2 ? outputs[link->index]
                                                  : workspace;
                copy[link->field] = base + (uint64_t)link->distance;
            }
            request = copy;
        }
        if (s->kernel->check) {
            *place = s->kernel->check(request);
            if (*place >= 0)
                return i;
        }
        char *scratch = (char *)(uintptr_t)(workspace + (uint64_t)s->scratch);
        if (s->parts == 1)
            s->kernel->run(request, 0, 1, scratch);
        else
            fk_threads_run(threads, s->kernel, request, s->parts, scratch,
                           s->thread_bytes);
    }
    return -1;
}

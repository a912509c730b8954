/*
 * Requests that run one after the other in one call.
 */
#ifndef FK_STEPS_H
#define FK_STEPS_H

#include "threads.h"

/* A field of a request that is the address of an operand. */
struct fk_link {
    int64_t field; /* in words of 8 bytes */
    int64_t kind;  /* 1: of the inputs, 2: of the outputs, 3: the workspace */
    int64_t index, distance;
};

struct fk_step {
    const struct fk_kernel *kernel;
    const uint64_t *request;
    int64_t words; /* of the request */
    const struct fk_link *links;
    int64_t link_count;
    int64_t parts;
    int64_t thread_bytes; /* of workspace */
    int64_t
        scratch; /* the distance of that workspace from the one of the run */
};

/* The words of the largest request. */
#define FK_REQUEST_WORDS 128

/* Runs steps until one finds an index out of range. Returns its number, with the
 * place of the index in *place, or -1. */
int64_t fk_steps_run(struct fk_threads *threads, const struct fk_step *steps,
                     int64_t count, const uint64_t *inputs,
                     const uint64_t *outputs, uint64_t workspace,
                     int64_t *place);

#endif

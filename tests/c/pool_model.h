/*
 * Programs over the pool calls of the C ABI, compared with a model.
 *
 * A program is a sequence of decisions: random ones, or the bytes of a script.
 * It creates pools of every strategy and setting on one device. It allocates
 * and frees blocks singly and in batches on several streams, blocks streams
 * while work on freed blocks is still queued, and makes calls that must fail.
 *
 * Each block is filled with one byte value. All writes and reads of a block
 * are work on the stream that uses it, in a valid order. So memory that is
 * allocated while queued work may still use it shows as a wrong byte. The
 * model predicts the status of each call, checks that live blocks never
 * overlap, and predicts the counters.
 */
#ifndef FERRUM_TESTS_POOL_MODEL_H
#define FERRUM_TESTS_POOL_MODEL_H

#include <stddef.h>
#include <stdint.h>

/** The source of a program's decisions. */
typedef struct {
    /** A script, or NULL for random decisions. */
    const unsigned char *script;
    size_t length;
    size_t at;
    /** The state of the random generator, not 0. */
    uint64_t random;
    /** The maximum number of steps. */
    int steps;
} decisions;

/** Opens the device for the programs. The library must have been started
 *  with two host devices of at least 256 MiB each. */
void pool_model_start(void);
/** Runs one program to its end, after which no object is left. Returns
 *  whether it failed, with the reason on stderr. */
int pool_model_fails(decisions *d, const char *name);
/** Closes the device. */
void pool_model_stop(void);

#endif

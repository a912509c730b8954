/*
 * Programs over the pool calls of the C ABI, held against a model.
 *
 * A program is a row of decisions: random ones, or the bytes of a script. It makes
 * pools of every strategy and setting on one device, takes and frees blocks one by
 * one and in batches on several streams, holds streams up while work on freed
 * blocks is still queued, and mixes in calls that must fail.
 *
 * Each block is full of one byte. All writes and reads of a block are work on the
 * stream that uses it, in the order that a user would keep: so memory that is
 * handed out while queued work may still touch it shows as a wrong byte. The
 * model says which status each call must give, that live blocks never overlap and
 * what the books are.
 */
#ifndef FERRUM_TESTS_POOL_MODEL_H
#define FERRUM_TESTS_POOL_MODEL_H

#include <stddef.h>
#include <stdint.h>

/** Where a program's decisions come from. */
typedef struct {
    /** A script, or NULL: random ones. */
    const unsigned char *script;
    size_t length;
    size_t at;
    /** State of the random ones, not 0. */
    uint64_t random;
    /** How many steps at most. */
    int steps;
} decisions;

/** Opens the device that programs run on; the library has been started with two
 *  host devices of at least 256 MiB each. */
void pool_model_start(void);
/** Runs one program to its end, after which nothing is left; says whether it
 *  failed, having said why on stderr. */
int pool_model_fails(decisions *d, const char *name);
/** Closes the device. */
void pool_model_stop(void);

#endif

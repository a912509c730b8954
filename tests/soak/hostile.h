/* Random arguments for the functions of the header. A seed determines them. */
#ifndef FERRUM_TESTS_HOSTILE_H
#define FERRUM_TESTS_HOSTILE_H

#include "attempt.h"

/** Starts the sequence of random numbers for this seed. */
void draw_seed(uint64_t seed);
/** A random number below a bound. */
uint64_t draw(uint64_t below);

/** A random function of the header. */
const function *draw_function(void);

/** Gives numbers, boolean values, enumerations and texts of a valid call
 *  other values. The declaration allows each of them, but the function may
 *  reject it. Sizes of memory that the call reads or writes stay within that
 *  memory. */
void draw_values(attempt *a);

/** Makes one argument invalid in a way that the declaration forbids, so that
 *  the call must be rejected. Writes a description to what. Returns 0 if the
 *  function has no such argument. */
int draw_bad(attempt *a, char *what, size_t capacity);

/** Calls the function. The status must be allowed for an invalid argument,
 *  or for valid ones. The error record of the thread must be about this
 *  call. Returns NULL, or the reason why one of these is wrong. */
const char *call_it(const attempt *a, int is_bad, ferrum_status *status_out);

#endif

/* Random arguments for the functions of the header, drawn from a seed. */
#ifndef FERRUM_TESTS_HOSTILE_H
#define FERRUM_TESTS_HOSTILE_H

#include "attempt.h"

/** The numbers that follow are those of this seed. */
void draw_seed(uint64_t seed);
/** A number below a bound. */
uint64_t draw(uint64_t below);

/** A function of the header. */
const function *draw_function(void);

/** Gives numbers, truth values, enumerations and texts of a good call other values. The
 *  declaration allows each of them; the function may refuse it. Sizes of memory that the
 *  call reads or writes stay within that memory. */
void draw_values(attempt *a);

/** Makes one argument bad in a way that the declaration forbids, so that the call must
 *  be refused, and writes down what was done. 0: the function has no such argument. */
int draw_bad(attempt *a, char *what, size_t capacity);

/** Calls the function. The status must be one that is allowed after a bad argument, or
 *  after good ones; the record of the thread must be about this call. The reason why it
 *  is not, or NULL. */
const char *call_it(const attempt *a, int is_bad, ferrum_status *status_out);

#endif

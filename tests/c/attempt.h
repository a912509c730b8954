/* A call of a function of the header with good arguments, one of which is then made
 * bad, and what is asked of its refusal. */
#ifndef FERRUM_TESTS_ATTEMPT_H
#define FERRUM_TESTS_ATTEMPT_H

#include "arguments.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    PARAMETERS_MAX = 12,
    PLACES = 8,
    /* The largest struct with a tail, PLACES records. */
    SCRATCH_BYTES = 8192,
    UNTOUCHED = 0x5a
};

/** A call, with the memory that its pointers point to. */
typedef struct {
    const function *function;
    const fixture *fixture; /**< NULL: there is none, handles are 0 */
    argument arguments[PARAMETERS_MAX];
    unsigned char scratch[PARAMETERS_MAX][SCRATCH_BYTES]
        __attribute__((aligned(16)));
} attempt;

/** Makes all arguments good; without a fixture there are no handles. */
void attempt_prepare(attempt *a, const function *function, const fixture *f);
/** Writes a value into a field of a struct. */
void attempt_set_field(unsigned char *at, const struct_field *field,
                       uint64_t value);

/** Names the case that is under way: should it end the process, it is the last line
 *  of what was written. */
void attempt_begin(const attempt *a, const char *what, const char *detail);
/** Makes the call, which must give one of the statuses, the last of which is 0, and a
 *  message that says this. 0: it has not. */
int attempt_refused(const attempt *a, const ferrum_status *wants,
                    const char *says);
/** The same, of one bad parameter; the outputs that are zeroed before that is looked
 *  at must be zero, all of them if it is none of the outputs. */
void attempt_refused_for(const attempt *a, size_t bad,
                         const ferrum_status *wants, const char *says);
/** Says what is wrong with the case that is under way. */
void attempt_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/** Ends a check; the process too, with 1, if a case has failed or there was none. */
void attempt_end_check(void);

#endif

/* A call of a function of the header with valid arguments, one of which is
 * then made bad, and the checks of its failure. */
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

/** The functions of each family. The last row of a family has no name. */
extern const function *const attempt_families[];
extern const size_t attempt_family_count;

/** Whether NULL can be passed for the parameter. */
int attempt_is_pointer(const parameter *p);
/** Whether the parameter is a struct with struct_size. */
int attempt_has_size(const parameter *p);

/** The number of kinds of invalid handles. */
enum { ATTEMPT_BAD_HANDLES = 6 };
/** An invalid handle of that kind. Kind 0 is the handle 0. */
uint64_t attempt_bad_handle(const fixture *f, enum kind kind, size_t class);
/** Whether a function does not check this handle, or accepts 0. */
int attempt_handle_is_free(const char *function, const char *name,
                           size_t class);

/** The maximum number of bytes by which a struct may be longer than the
 *  library's. */
enum { TAIL_MAX = 1024 };

/** A call, with the memory of its pointer arguments. */
typedef struct {
    const function *function;
    const fixture *fixture; /**< NULL: none, and handles are 0 */
    argument arguments[PARAMETERS_MAX];
    unsigned char scratch[PARAMETERS_MAX][SCRATCH_BYTES]
        __attribute__((aligned(16)));
} attempt;

/** Makes all arguments valid. Without a fixture there are no handles. */
void attempt_prepare(attempt *a, const function *function, const fixture *f);
/** Writes a value into a field of a struct. */
void attempt_set_field(unsigned char *at, const struct_field *field,
                       uint64_t value);

/** Names the case that starts. If it ends the process, this is the last line
 *  of the output. */
void attempt_begin(const attempt *a, const char *what, const char *detail);
/** Makes the call, which must return one of the statuses (a list that ends
 *  with 0) with a message that contains says. Returns 0 if it does not. */
int attempt_refused(const attempt *a, const ferrum_status *wants,
                    const char *says);
/** The same, for one bad parameter. The outputs that are zeroed before that
 *  parameter is checked must be zero. If the parameter is not an output,
 *  these are all outputs. */
void attempt_refused_for(const attempt *a, size_t bad,
                         const ferrum_status *wants, const char *says);
/** Reports what is wrong with the current case. */
void attempt_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/** Ends a check. Ends the process with 1 if a case has failed or there was
 *  no case. */
void attempt_end_check(void);

#endif

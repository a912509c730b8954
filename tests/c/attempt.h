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

/** The functions of each family; the last row of a family has no name. */
extern const function *const attempt_families[];
extern const size_t attempt_family_count;

/** Whether NULL can be handed for it. */
int attempt_is_pointer(const parameter *p);
/** Whether it is a struct with struct_size. */
int attempt_has_size(const parameter *p);

/** How many kinds of handles that are none there are. */
enum { ATTEMPT_BAD_HANDLES = 6 };
/** One of them; 0 is the handle 0. */
uint64_t attempt_bad_handle(const fixture *f, enum kind kind, size_t class);
/** Whether a function says that it does not look at this handle, or not at 0. */
int attempt_handle_is_free(const char *function, const char *name,
                           size_t class);

/** How much longer than the library's a struct may be. */
enum { TAIL_MAX = 1024 };

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

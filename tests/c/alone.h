/* Programs whose checks may end the process: each is a process of its own, this
 * program started again with the check's name. */
#ifndef FERRUM_TESTS_ALONE_H
#define FERRUM_TESTS_ALONE_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                             \
    do {                                                              \
        if (!(condition)) {                                           \
            fprintf(stderr, "  line %d: %s\n", __LINE__, #condition); \
            exit(1);                                                  \
        }                                                             \
    } while (0)

/** Of a check that cannot be made here, with the reason on stderr. */
enum { ALONE_SKIPPED = 77 };

typedef struct {
    const char *name;
    /** Ends with 0 when all is well. */
    void (*run)(void);
    /** Runs in the new process before the program starts, while it is a copy of
     *  this one: only what a signal handler may do. May be NULL. */
    void (*before)(void);
    /** "NAME=value" for the process, or NULL. */
    const char *environment;
} alone_check;

/** main of such a program: all checks, or the one that is named. */
int alone_main(int argc, char **argv, const alone_check *checks, size_t count);

#endif

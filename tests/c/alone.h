/* Programs whose checks may end the process. Each check runs in a separate
 * process: this program, started again with the name of the check. */
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

/** The exit status of a check that cannot run here. The reason is on stderr. */
enum { ALONE_SKIPPED = 77 };

typedef struct {
    const char *name;
    /** Exits with 0 on success. */
    void (*run)(void);
    /** Runs in the new process before the program starts, while it is a copy
     *  of this process. It may only do what a signal handler may do. May be
     *  NULL. */
    void (*before)(void);
    /** "NAME=value" for the process, or NULL. */
    const char *environment;
} alone_check;

/** The main function of such a program: runs all checks, or the named one. */
int alone_main(int argc, char **argv, const alone_check *checks, size_t count);

#endif

/* The old forms of calls, under the names that they still have in the real
 * library. Whoever loads one of them has forgotten its suffix, and would pass
 * structures and numbers of another size: the process ends with the name. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Only the name is taken from the header, so the prototype can not be wrong. */
#pragma GCC diagnostic ignored "-Wattribute-alias"
#define TRAP(name)                                                            \
    static void trap_##name(void) {                                           \
        fprintf(stderr, "simcuda: " #name                                     \
                        " was called: an old form, its suffix is missing\n"); \
        abort();                                                              \
    }                                                                         \
    __typeof__(name) name __attribute__((alias("trap_" #name)));
#include "traps.def"

/* The old forms of calls, under the names that the real library still
 * exports. A program that loads one of them has forgotten the suffix and
 * would pass structures and numbers of another size. The trap prints the
 * name and ends the process. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Each trap has the type of the function in the header, so the prototype
 * cannot be wrong. */
#pragma GCC diagnostic ignored "-Wattribute-alias"
#define TRAP(name)                                                            \
    static void trap_##name(void) {                                           \
        fprintf(stderr, "simcuda: " #name                                     \
                        " was called: an old form, its suffix is missing\n"); \
        abort();                                                              \
    }                                                                         \
    __typeof__(name) name __attribute__((alias("trap_" #name)));
#include "traps.def"

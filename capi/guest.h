/*
 * What the Go runtime inside takes from the process when it likes, and ends the
 * process for when it cannot have it: tried beforehand in C, where a refusal is a
 * number.
 */
#ifndef FERRUM_CAPI_GUEST_H
#define FERRUM_CAPI_GUEST_H

#include <stddef.h>

#include "ferrum_mem.h"

/** Of the heap, mapped by the first start: what the library needs for its own records
 *  later is then there already. */
#define FM_BALLAST_BYTES (32 << 20)
/** What that takes of the address space: whole arenas of the runtime, and its records
 *  of them. */
#define FM_START_BYTES ((size_t)FM_BALLAST_BYTES + (128 << 20))

/** What a call that opens or creates an object wants to be there for the runtime. */
#define FM_HEADROOM_BYTES ((size_t)16 << 20)

/** Maps that much private memory and unmaps it untouched: 0, or the system's
 *  number. */
int fm_try_memory(size_t bytes);
/** Makes, and closes, what the runtime's first timer makes: 0, or the system's
 *  number. */
int fm_try_descriptors(void);

/** Of ferrum_init, before it enters Go for the first time: what the runtime will be
 *  made to take is to be had. The failure is kept. */
ferrum_status fm_guest_start(const char *function);
/** Of a public function that opens or creates: looks at the handlers of signals and
 *  for memory for the runtime. The failure is kept. */
ferrum_status fm_guest_look(const char *function);

/** The look, once the outputs are zeroed and the arguments checked. */
#define FM_LOOK()                                           \
    do {                                                    \
        ferrum_status fm_looked_ = fm_guest_look(__func__); \
        if (fm_looked_ != FERRUM_OK)                        \
            return fm_looked_;                              \
    } while (0)

#endif

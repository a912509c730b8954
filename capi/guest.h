/*
 * Resources that the Go runtime takes from the process at any time, and
 * without which it ends the process. C code allocates them in advance, so that
 * a failure is an error number.
 */
#ifndef FERRUM_CAPI_GUEST_H
#define FERRUM_CAPI_GUEST_H

#include <stddef.h>

#include "ferrum_mem.h"

/** Heap memory that the first start maps, so that the memory for the
 *  library's own records exists later. */
#define FM_BALLAST_BYTES (32 << 20)
/** The address space for that: whole arenas of the runtime, and its records
 *  about them. */
#define FM_START_BYTES ((size_t)FM_BALLAST_BYTES + (128 << 20))

/** The memory that must be available for the runtime when a call opens or
 *  creates an object. */
#define FM_HEADROOM_BYTES ((size_t)16 << 20)

/** Maps this much private memory and unmaps it untouched. Returns 0, or the
 *  system's error number. */
int fm_try_memory(size_t bytes);
/** Creates and closes the descriptors that the runtime's first timer
 *  creates. Returns 0, or the system's error number. */
int fm_try_descriptors(void);

/** Called by ferrum_init before it enters Go for the first time: checks that
 *  the resources of the runtime are available. Records a failure. */
ferrum_status fm_guest_start(const char *function);
/** Called by a public function that opens or creates an object: checks the
 *  handlers of signals, and memory for the runtime. Records a failure. */
ferrum_status fm_guest_look(const char *function);

/** The check, after the outputs are zeroed and the arguments are checked. */
#define FM_LOOK()                                           \
    do {                                                    \
        ferrum_status fm_looked_ = fm_guest_look(__func__); \
        if (fm_looked_ != FERRUM_OK)                        \
            return fm_looked_;                              \
    } while (0)

#endif

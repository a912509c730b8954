/* What the system can refuse to a process, and the main things that a program does
 * with the library, each call of which may be refused. */
#ifndef FERRUM_TESTS_REFUSALS_H
#define FERRUM_TESTS_REFUSALS_H

#include <stdint.h>
#include <sys/resource.h>

#include "alone.h"
#include "ferrum_mem.h"

/** Sets the limit of this process. */
void refuse_above(int resource, uint64_t value);
/** Sets the limit of address space or data to what is in use and some bytes more. */
void refuse_more(int resource, uint64_t more_bytes);
/** Gives up the rights of root, which some limits do not bind. */
void refuse_rights(void);
/** Lowers the limit of descriptors and takes all that are left. */
void refuse_descriptors(void);
/** Has every thread of the process get error from these calls of the system, up to
 *  a 0, from now on. */
void refuse_calls(const int *numbers, int error);

/** Waits until the runtime inside has started: it does so beside the program. */
void things_loaded(void);
/** ferrum_init with a small host. 0: refused, with an error as things_done asks. */
int things_init(void);
/** Opens a device, creates pools of each kind, a manager, a stream and a monitor. */
void things_create(void);
/** Allocates, copies, waits, sleeps and wakes. */
void things_use(void);
/** Destroys everything and shuts the library down. */
void things_end(void);
/** How many calls were refused. */
int things_refused(void);

#endif

/* The resources that the system can refuse to a process, and the main
 * actions of a program with the library. Each call of these actions may
 * fail. */
#ifndef FERRUM_TESTS_REFUSALS_H
#define FERRUM_TESTS_REFUSALS_H

#include <stdint.h>
#include <sys/resource.h>

#include "alone.h"
#include "ferrum_mem.h"

/** Sets a limit of this process. */
void refuse_above(int resource, uint64_t value);
/** Sets the limit of address space or data to the present use plus
 *  more_bytes. */
void refuse_more(int resource, uint64_t more_bytes);
/** Gives up the rights of root, because some limits do not apply to root. */
void refuse_rights(void);
/** Lowers the limit of descriptors and uses up the rest. */
void refuse_descriptors(void);
/** Makes these system calls (a list that ends with 0) fail with error from
 *  now on, in every thread of the process. */
void refuse_calls(const int *numbers, int error);

/** Waits until the Go runtime has started, which happens on another thread. */
void things_loaded(void);
/** ferrum_init with a small host. Returns 0 if it failed with a suitable
 *  error. */
int things_init(void);
/** Opens a device, creates pools of each kind, a manager, a stream and a monitor. */
void things_create(void);
/** Allocates, copies, waits, sleeps and wakes. */
void things_use(void);
/** Destroys everything and shuts the library down. */
void things_end(void);
/** The number of failed calls. */
int things_refused(void);

#endif

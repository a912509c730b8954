/*
 * Threads for the Go runtime, created before it needs them. The runtime ends
 * the process if it cannot create a thread.
 */
#ifndef FERRUM_CAPI_THREADS_H
#define FERRUM_CAPI_THREADS_H

/** Threads for the parts of the library that wait in the system or in
 *  functions of the caller, in addition to one for each processor that runs
 *  Go code. */
#define FM_SPARE_THREADS 6

/** Threads for host functions and helpers that are waited for, before more
 *  are created. */
#define FM_HOST_THREADS 4

/** The threads that the runtime uses itself: one that monitors the others,
 *  and one that creates them. */
#define FM_RUNTIME_THREADS 2

/** The number of processors that the process could use when the library was
 *  loaded, at least 2. */
int fm_threads_processors(void);

/** Ensures that this many threads exist, including those that the runtime
 *  has now. Missing threads are created, and sleep until the runtime needs
 *  them. They have the attributes of the thread that loaded the library:
 *  they are not bound to the caller's processors. Returns 0, or the system's
 *  error number. In that case no thread was added, and *had_out is the
 *  number of threads when the system rejected the next. Safe from any
 *  thread. */
int fm_threads_have(int wanted, int *had_out);

#endif

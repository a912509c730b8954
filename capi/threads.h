/*
 * Threads for the Go runtime inside, made before it wants them: it ends the process
 * when it is refused one.
 */
#ifndef FERRUM_CAPI_THREADS_H
#define FERRUM_CAPI_THREADS_H

/** Threads for what of the library waits in the system or in functions of the caller,
 *  besides one for each processor that runs Go code. */
#define FM_SPARE_THREADS 6

/** And for host functions and helpers that are waited for, before more are made. */
#define FM_HOST_THREADS 4

/** Those that the runtime keeps for itself: one that looks after the others, and one
 *  that makes them. */
#define FM_RUNTIME_THREADS 2

/** The processors that the process might use when the library was loaded, at least 2. */
int fm_threads_processors(void);

/** Has that many threads, those that the runtime has by now included: what is missing is
 *  made, and sleeps until the runtime wants it. They are as they were made by the thread
 *  that loaded the library: not bound to the caller's processors. 0; or the system's
 *  number, with none more than before, and *had_out is how many there were when it
 *  refused the next. From any thread. */
int fm_threads_have(int wanted, int *had_out);

#endif

/* The threads that compute the parts of a kernel. */
#ifndef FK_THREADS_H
#define FK_THREADS_H

#include "kernels/interface.h"

struct fk_threads;

/* Starts count - 1 threads; the caller of fk_threads_run is the last one. It
 * returns NULL and sets *error to an errno if there is no memory or a thread
 * cannot be created. */
struct fk_threads *fk_threads_open(int count, int *error);

/* Ends the threads and waits for them. No run may be in progress. */
void fk_threads_close(struct fk_threads *threads);

/* Computes all parts. workspace has step bytes for each thread, or for each part if
 * there are fewer. It may be called by any thread. If the threads are in use by
 * another call, or after a fork, the caller computes all parts alone, with the same
 * result. */
void fk_threads_run(struct fk_threads *threads, const struct fk_kernel *kernel,
                    const void *request, int64_t parts, char *workspace,
                    int64_t step);

/* Processors on which this thread may run, or 0 if the system does not
 * report them. */
int fk_processors(void);

#endif

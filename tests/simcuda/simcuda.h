/* Functions of the simulated driver for tests. Every build of libcuda.so.1
 * exports them, and the product does not use them. README.md lists the
 * environment variables. */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of calls so far of the function with this exact name
 * (`cuMemAlloc_v2`), or of all functions if name is NULL or "*". */
uint64_t simcuda_calls(const char *name);

/* Makes the n-th call from now on fail with a code before the call has an
 * effect. n is 1 for the next call, and 0 for every call until
 * simcuda_clear_faults. name is the exact name of a function, "*" for all
 * functions, or "async" for work that the worker of a stream runs. A sticky
 * code (illegal address, ECC, launch failed, ...) spoils the current
 * context as well. Returns 0, or -1 if the table of faults is full. */
int simcuda_fault(const char *name, uint64_t n, int code);

/* Removes the faults that have not happened. A device with a sticky error
 * works again as soon as its primary context has ended, as it would in a new
 * process. */
void simcuda_clear_faults(void);

/* Number of faults that were set and have not happened. */
int simcuda_faults_left(void);

/* Adds a delay in microseconds to every call of a function ("*": of all
 * functions). */
void simcuda_delay(const char *name, unsigned microseconds);

/* Sets how many bytes of a device another process holds from now on. */
void simcuda_others_take(int device, uint64_t bytes);

/* Number of copies so far from or to pageable memory of the host. A real
 * driver moves their bytes through buffers of its own, several times more
 * slowly than pinned memory. */
uint64_t simcuda_pageable_copies(void);

/* The largest number of operations that one stream had queued at the same
 * time when a copy joined it, since the last call. The copy is included. */
uint64_t simcuda_deepest_queue(void);

/* Writes one line for each leak: kind, value, size and the call that
 * created it. Returns the number of leaks. The text is cut at size bytes. */
size_t simcuda_leaks(char *text, size_t size);

/* Writes one line for each call that broke a documented rule. Injected
 * faults are not listed. Returns the number of calls. The text is cut at
 * size bytes. */
size_t simcuda_violations(char *text, size_t size);
void simcuda_clear_violations(void);

/* Writes one line for each rule: how often it was broken, the source file
 * that enforces it, and the format of its message. Rules of one file with
 * the same message count as one. Returns the number of rules. The text is
 * cut at size bytes. */
size_t simcuda_rules(char *text, size_t size);

/* A kernel is a C function of this type. The worker of a stream calls it
 * once for a whole launch. */
typedef struct simcuda_launch {
    unsigned grid[3], block[3], shared_bytes;
    /* One pointer to the value of each registered argument. */
    void **arguments;
} simcuda_launch;
typedef void (*simcuda_kernel)(const simcuda_launch *launch);

/* Registers a kernel under a name. argument_bytes has the size of each
 * argument. Returns 0, or -1 if the name is already registered or the table
 * is full. */
int simcuda_register_kernel(const char *name, simcuda_kernel kernel,
                            const size_t *argument_bytes, size_t arguments);

/* For use in a kernel: returns the bytes at a device address. If the kernel
 * may not access all of them, returns NULL and spoils the context with an
 * illegal address. */
void *simcuda_kernel_memory(uint64_t address, size_t bytes, int write);

/* The number of bytes from an address of a device to where the host has its
 * bytes. It is for a simulated library of the vendor, which checks nothing. */
uint64_t simcuda_distance(void);

#ifdef __cplusplus
}
#endif
#endif

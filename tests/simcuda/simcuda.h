/* What a test may ask of the simulated driver beside the driver's own calls.
 * Each function is exported by libcuda.so.1 as every build of it makes it; the
 * product knows none of them. README.md lists the environment variables. */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls so far of the function with this exact name (`cuMemAlloc_v2`), or of
 * all functions if name is NULL or "*". */
uint64_t simcuda_calls(const char *name);

/* Lets the n-th call from now on fail with a code before it has an effect; n
 * is 1 for the next one, 0 for every one until simcuda_clear_faults. name is
 * a function's exact name, "*" for calls of any kind, or "async" for work that
 * a stream's worker carries out. A sticky code (illegal address, ECC, launch
 * failed, ...) spoils the current context as well. Returns 0, or -1 if there is
 * no room for another fault. */
int simcuda_fault(const char *name, uint64_t n, int code);

void simcuda_clear_faults(void);

/* Faults that were set and have not happened. */
int simcuda_faults_left(void);

/* Microseconds that every call of a name ("*": of any) takes more. */
void simcuda_delay(const char *name, unsigned microseconds);

/* Bytes of a device that another process has, from now on. */
void simcuda_others_take(int device, uint64_t bytes);

/* What is held and was not given back, a line each: kind, value, size and the
 * call that made it. Returns how many there are; text is cut at size bytes. */
size_t simcuda_leaks(char *text, size_t size);

/* Calls that broke a documented rule, a line each, apart from those that were
 * told to fail. Returns how many; text is cut at size bytes. */
size_t simcuda_violations(char *text, size_t size);
void simcuda_clear_violations(void);

/* Every rule that callers are held to, a line each: how often it was broken,
 * the source file that holds it, and its message as a format; rules of one file
 * with one message are one. Returns how many there are; text is cut at size
 * bytes. */
size_t simcuda_rules(char *text, size_t size);

/* A kernel is a C function with this type. It runs on a stream's worker once
 * for a whole launch. */
typedef struct simcuda_launch {
    unsigned grid[3], block[3], shared_bytes;
    /* One pointer to each argument's value, as many as were registered. */
    void **arguments;
} simcuda_launch;
typedef void (*simcuda_kernel)(const simcuda_launch *launch);

/* Registers a kernel under a name; argument_bytes has the size of each of its
 * arguments. Returns 0, or -1 if the name is taken or there are too many. */
int simcuda_register_kernel(const char *name, simcuda_kernel kernel,
                            const size_t *argument_bytes, size_t arguments);

/* Inside a kernel: the bytes at a device address, or NULL, and the context
 * spoilt by an illegal address, if the kernel may not touch all of them. */
void *simcuda_kernel_memory(uint64_t address, size_t bytes, int write);

#ifdef __cplusplus
}
#endif
#endif

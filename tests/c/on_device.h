/* The device for programs that run on any device: the host, or the device
 * that FERRUM_TEST_DEVICE names ("cuda:0"). Such a program reads and writes
 * the bytes of a block by these functions, because the process cannot
 * address the memory of a GPU. For a GPU they use copies of the driver,
 * next to the library's own calls. */
#ifndef FERRUM_TESTS_ON_DEVICE_H
#define FERRUM_TESTS_ON_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferrum_mem.h"

/** Whether the device is the host. */
bool on_host(void);
/** "cpu:0", or the device of the environment. */
const char *first_device(void);
/** "cpu:1", or "cpu:0" beside another device. */
const char *other_device(void);
/** The page size of virtual pools: 64 KiB on the host, and the device's
 *  smallest size on others. */
uint64_t device_page(ferrum_device device);

/** A function of the driver by its exported name. The device's context is
 *  current on this thread. Not for the host. */
void *driver_function(const char *name);
/** The same for a function that only the simulated driver has, else NULL. */
void *simulator_function(const char *name);

/** Each function returns when its work is done, and waits for no stream. */
void put_bytes(uint64_t address, const void *bytes, size_t size);
void fill_bytes(uint64_t address, unsigned char value, size_t size);
bool has_bytes(uint64_t address, const void *bytes, size_t size);
/** Copies size bytes from the device, also from the host. */
void get_bytes(uint64_t address, void *bytes, size_t size);

/** Work that expects one byte value in all of a block, and writes another. */
typedef struct {
    uint64_t address, size;
    unsigned char before, after;
    /** There is no expected value yet. */
    bool first;
    /** Set if another value was found. On a GPU only both ends are checked. */
    atomic_int *damaged;
} block_work;
/** Queues the work. */
ferrum_status queue_work(ferrum_stream stream, block_work work);

#endif

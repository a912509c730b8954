/* The device that programs run on which run on any: the host's memory, or what
 * FERRUM_TEST_DEVICE names ("cuda:0"). What such a program does with a block's bytes
 * goes through here, as the process cannot look into a GPU's memory: there it is done
 * by copies of the driver, next to the library's own calls. */
#ifndef FERRUM_TESTS_ON_DEVICE_H
#define FERRUM_TESTS_ON_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferrum_mem.h"

/** Whether that is the host. */
bool on_host(void);
/** "cpu:0", or the device of the environment. */
const char *first_device(void);
/** "cpu:1", or beside another device "cpu:0". */
const char *other_device(void);
/** The pages of virtual pools: 64 KiB, or the smallest of the device. */
uint64_t device_page(ferrum_device device);

/** A function of the driver by its exported name, with the device's context current on
 *  this thread; not on the host. */
void *driver_function(const char *name);

/** Each is done when it returns, and waits for no stream. */
void put_bytes(uint64_t address, const void *bytes, size_t size);
void fill_bytes(uint64_t address, unsigned char value, size_t size);
bool has_bytes(uint64_t address, const void *bytes, size_t size);
/** Copies size bytes out of the device; on the host, too. */
void get_bytes(uint64_t address, void *bytes, size_t size);

/** Work that expects one byte in all of a block, and leaves another. */
typedef struct {
    uint64_t address, size;
    unsigned char before, after;
    /** There are no bytes to expect yet. */
    bool first;
    /** Set when there was another byte. On a GPU both ends are looked at. */
    atomic_int *damaged;
} block_work;
/** Queues it. */
ferrum_status queue_work(ferrum_stream stream, block_work work);

#endif

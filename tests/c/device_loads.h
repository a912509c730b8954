/* A device, a pool and a file of weights, for tests that load on any device. */
#ifndef FERRUM_TESTS_DEVICE_LOADS_H
#define FERRUM_TESTS_DEVICE_LOADS_H

#include "ferrum_mem.h"

/* A file of BIG bytes is several times as long as the staging memory. */
enum { BIG = 5 << 20, SMALL = 300 << 10, STAGING = 1 << 20 };

extern ferrum_device device;
extern ferrum_pool pool;
extern ferrum_weights weights;
/** The file that begin writes. */
extern char path[64];

/** Starts the library, makes the objects above, and writes the file with
 *  weight_file_write. */
void begin(uint64_t big_bytes);
/** Checks that no set and no block is left, and ends everything without
 *  force. */
void end(void);
/** The allocated bytes of the pool. */
uint64_t allocated(void);

/** A load of all tensors. memory stays with the caller. */
ferrum_weights_load_request request_for(const ferrum_weights_memory *memory);
/** Loads all tensors and waits for them. */
ferrum_tensor_set load_into(const ferrum_weights_memory *memory);
ferrum_tensor_info found(ferrum_tensor_set set, const char *name);
/** Checks the bytes of the three tensors of the file, and their device. */
void check_tensors(ferrum_tensor_set set);
/** Checks the bytes of the tensor "big". */
void check_big(uint64_t address, uint64_t size);

/** A pool that keeps no idle pages. */
ferrum_vpool make_vpool(void);
/** The same for the model "chat". */
ferrum_elastic_pool make_elastic_pool(void);

#endif

/*
 * Blocks that are too large for the thread caches, placed in the tables that a
 * pool has lent: the functions that the public functions call. doc.go states
 * which calls go to the Go core.
 */
#ifndef FERRUM_LARGEBLOCKS_LARGE_H
#define FERRUM_LARGEBLOCKS_LARGE_H

#include <stdbool.h>
#include <stdint.h>

struct fm_loan;

/** Only larger blocks are placed here. */
#define FM_LARGE_ABOVE (UINT64_C(1) << 20)

/** Allocates a block for the default stream. alignment_bytes is 0 or a power of
 *  two. Returns false if the Go core has to serve the call; nothing has changed
 *  then. */
bool fm_large_alloc(uint64_t pool, uint64_t size_bytes,
                    uint64_t alignment_bytes, uint32_t tag,
                    uint64_t *address_out);
/** Frees a block on the default stream. requested_bytes is the requested size,
 *  or 0 if the caller does not state it. Returns false as fm_large_alloc does. */
bool fm_large_free(uint64_t pool, uint64_t address, uint64_t requested_bytes);
/** Returns the size of a live block. Returns false as fm_large_alloc does. */
bool fm_large_usable_size(uint64_t pool, uint64_t address, uint64_t *size_out);

/** Returns the place where a pool may lend its tables; no other pool uses it.
 *  NULL if its handle has none, or if there is no memory. */
struct fm_loan *fm_large_place(uint64_t pool);

#endif

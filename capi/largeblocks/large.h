/*
 * Blocks that are too large for the thread caches, placed in the tables that a pool has
 * lent: what the public functions call. doc.go tells what is passed on.
 */
#ifndef FERRUM_LARGEBLOCKS_LARGE_H
#define FERRUM_LARGEBLOCKS_LARGE_H

#include <stdbool.h>
#include <stdint.h>

struct fm_loan;

/** Only blocks that are larger are placed here. */
#define FM_LARGE_ABOVE (UINT64_C(1) << 20)

/** Takes a block for the default stream. alignment_bytes is 0 or a power of two.
 *  False: it is for the Go core to do; nothing has changed. */
bool fm_large_alloc(uint64_t pool, uint64_t size_bytes,
                    uint64_t alignment_bytes, uint32_t tag,
                    uint64_t *address_out);
/** Gives a block back on the default stream. requested_bytes is what was asked for, 0
 *  when the caller does not say. False: as before. */
bool fm_large_free(uint64_t pool, uint64_t address, uint64_t requested_bytes);
/** Says how large a live block is. False: as before. */
bool fm_large_usable_size(uint64_t pool, uint64_t address, uint64_t *size_out);

/** Gives the place where a pool may lend its tables, which nobody else lends at; NULL:
 *  its handle has none, or there is no memory. */
struct fm_loan *fm_large_place(uint64_t pool);

#endif

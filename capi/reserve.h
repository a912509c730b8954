/*
 * A little memory for the Go runtime's own tables. The runtime ends the
 * process if the system does not provide it: each collection needs some,
 * besides the heap.
 */
#ifndef FERRUM_CAPI_RESERVE_H
#define FERRUM_CAPI_RESERVE_H

/** The size of the reserve. The runtime takes such memory in steps of at
 *  most 256 KiB. */
#define FM_RESERVE_BYTES ((size_t)4 << 20)

/** Maps the reserve once. Returns 0, or the system's error number. */
int fm_reserve_make(void);

#endif

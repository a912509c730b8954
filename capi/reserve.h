/*
 * A little memory for the Go runtime's own tables, which it ends the process for when
 * the system gives none: it needs some for each collection, on top of its heap.
 */
#ifndef FERRUM_CAPI_RESERVE_H
#define FERRUM_CAPI_RESERVE_H

/** The reserve: the runtime takes such memory by 256 KiB or less. */
#define FM_RESERVE_BYTES ((size_t)4 << 20)

/** Maps the reserve, once: 0, or the system's number. */
int fm_reserve_make(void);

#endif

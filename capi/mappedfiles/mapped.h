/*
 * Ranges of addresses where files are mapped. A page of such a range is gone
 * when the file became shorter, or when the disk cannot be read. The use of
 * the page is then a signal SIGBUS, whose default action ends the process. The
 * handler of this file puts a page of zeros there and marks the range.
 */
#ifndef FERRUM_CAPI_MAPPED_H
#define FERRUM_CAPI_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A watched range. */
struct fm_mapped;

/**
 * Begins to watch the mapping of an open file that is only read. The first
 * call installs the handler. fd stays open until the watch ends. Returns NULL
 * and sets errno if there is no memory.
 */
struct fm_mapped *fm_mapped_watch(uintptr_t start, size_t size_bytes, int fd);
/** Whether a page was gone when it was used. */
bool fm_mapped_is_damaged(const struct fm_mapped *range);
/** Ends the watch. The range is unmapped afterwards, and not used any more. */
void fm_mapped_end(struct fm_mapped *range);

#endif

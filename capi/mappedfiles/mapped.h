/*
 * Ranges of addresses where files are mapped. A page of such a range is lost
 * when the file became shorter, or when the disk cannot be read. The use of
 * the page then raises SIGBUS, whose default action ends the process. The
 * handler in mapped.c replaces the page by zeros and marks the range.
 */
#ifndef FERRUM_CAPI_MAPPED_H
#define FERRUM_CAPI_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A watched range. */
struct fm_mapped;

/**
 * Starts to watch the read-only mapping of an open file. The first call
 * installs the handler. fd stays open until the watch ends. Returns NULL and
 * sets errno if memory is exhausted.
 */
struct fm_mapped *fm_mapped_watch(uintptr_t start, size_t size_bytes, int fd);
/** Returns whether the process has used a lost page. */
bool fm_mapped_is_damaged(const struct fm_mapped *range);
/** Ends the watch. The caller then unmaps the range and does not use it. */
void fm_mapped_end(struct fm_mapped *range);

#endif

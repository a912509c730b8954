/*
 * The table of pages of a segment, with the rules of core/pool/pages (table.go). In
 * place of the busy bits, C writes edges, as lending.Pages describes.
 */
#ifndef FERRUM_LARGEBLOCKS_PAGES_H
#define FERRUM_LARGEBLOCKS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "loan.h"

static inline struct fm_page *fm_pages(const struct fm_loan_pages *pages) {
    return (struct fm_page *)(uintptr_t)pages->entries;
}

/* Reports whether a block would occupy only a part of a large page. */
static inline bool fm_pages_splits(const struct fm_loan_pages *pages,
                                   uint64_t offset, uint64_t size) {
    const struct fm_page *entries = fm_pages(pages);
    uint64_t inside = pages->large_bytes - 1, end = offset + size;
    return ((offset & inside) != 0 && entries[offset >> pages->shift].large) ||
           ((end & inside) != 0 && entries[(end - 1) >> pages->shift].large);
}

/** Reports whether all pages of a block are mapped, and the block neither begins
 *  nor ends inside a large page. For blocks outside of [mapped_from, mapped_to). */
static __attribute__((noinline, unused)) bool
fm_pages_search(const struct fm_loan_pages *pages, uint64_t offset,
                uint64_t size) {
    const uint64_t *mapped = (const uint64_t *)(uintptr_t)pages->mapped;
    uint64_t first = offset >> pages->shift;
    uint64_t last = (offset + size - 1) >> pages->shift;
    if (last >= pages->count ||
        (pages->large_bytes != 0 && fm_pages_splits(pages, offset, size)))
        return false;
    uint64_t lacking = 0, mask = UINT64_MAX << (first & 63);
    for (uint64_t word = first >> 6; word < last >> 6; word++) {
        lacking |= ~mapped[word] & mask;
        mask = UINT64_MAX;
    }
    mask &= UINT64_MAX >> (63 - (last & 63));
    return (lacking | (~mapped[last >> 6] & mask)) == 0;
}

/* Writes an edge. */
static inline void fm_pages_turn(const struct fm_loan_pages *pages,
                                 uint64_t page) {
    uint64_t *edges = (uint64_t *)(uintptr_t)pages->edges;
    edges[page >> 6] ^= UINT64_C(1) << (page & 63);
}

/* Changes the state of the pages [from, to). If there are none, the two edges
 * cancel each other. */
static inline void fm_pages_change(struct fm_loan_pages *pages, uint64_t from,
                                   uint64_t to) {
    fm_pages_turn(pages, from);
    fm_pages_turn(pages, to);
    if (from < pages->edge_low)
        pages->edge_low = from;
    if (to > pages->edge_high)
        pages->edge_high = to;
}

/** Adds a block to the counts of its pages. Returns false and changes nothing
 *  if not all of its pages are mapped, or if it would occupy only a part of a
 *  large page. */
static inline bool fm_pages_touch(struct fm_loan_pages *pages, uint64_t offset,
                                  uint64_t size) {
    struct fm_page *entries = fm_pages(pages);
    uint64_t first = offset >> pages->shift;
    uint64_t last = (offset + size - 1) >> pages->shift;
    if (__builtin_expect(first < pages->mapped_from || last >= pages->mapped_to,
                         0) &&
        !fm_pages_search(pages, offset, size))
        return false;
    /* [from, to) are the pages that contain no other block. */
    uint64_t from = first + (entries[first].blocks++ != 0);
    uint64_t to = last + 1;
    if (first != last)
        to -= entries[last].blocks++ != 0;
    fm_pages_change(pages, from, to);
    pages->idle -= to - from;
    if (pages->idle < pages->low)
        pages->low = pages->idle;
    return true;
}

/** Subtracts a block from the counts of its pages. Returns false and changes
 *  nothing if it would leave more pages idle than may stay. */
static inline bool fm_pages_release(struct fm_loan_pages *pages,
                                    uint64_t offset, uint64_t size) {
    struct fm_page *entries = fm_pages(pages);
    uint64_t first = offset >> pages->shift;
    uint64_t last = (offset + size - 1) >> pages->shift;
    uint64_t from = first + (entries[first].blocks != 1);
    uint64_t to = last + 1;
    if (first != last)
        to -= entries[last].blocks != 1;
    uint64_t idle = pages->idle + (to - from);
    if (idle > pages->idle_most && from < to)
        return false;
    pages->idle = idle;
    entries[first].blocks--;
    if (first != last)
        entries[last].blocks--;
    fm_pages_change(pages, from, to);
    return true;
}

#endif

/*
 * The table of pages of a segment, with the algorithms and the names of
 * core/pool/pages (table.go and bits.go).
 */
#ifndef FERRUM_LARGEBLOCKS_PAGES_H
#define FERRUM_LARGEBLOCKS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "loan.h"

/** The pages of a block. [from, to) are those that contain no other block. */
struct fm_page_run {
    uint64_t first, last;
    uint64_t from, to;
};

static inline struct fm_page *fm_pages(const struct fm_loan_pages *pages) {
    return (struct fm_page *)(uintptr_t)pages->entries;
}

static inline struct fm_page_run fm_pages_of(const struct fm_loan_pages *pages,
                                             uint64_t offset, uint64_t size) {
    return (struct fm_page_run){.first = offset >> pages->shift,
                                .last = (offset + size - 1) >> pages->shift};
}

/* Sets [from, to). own is 1 if this block is counted in its pages, otherwise
 * 0. The result of the comparisons cannot be predicted, so there is no branch. */
static inline void fm_pages_fresh(const struct fm_loan_pages *pages,
                                  struct fm_page_run *run, uint32_t own) {
    const struct fm_page *entries = fm_pages(pages);
    run->from = run->first + (entries[run->first].blocks != own);
    run->to = run->last + 1 -
              ((entries[run->last].blocks != own) & (run->first != run->last));
}

/* The bits of a word from one bit up, and those below another bit. */
static inline uint64_t fm_bits_from(uint64_t from) {
    return UINT64_MAX << (from & 63);
}

static inline uint64_t fm_bits_to(uint64_t to) {
    return UINT64_MAX >> (63 - ((to - 1) & 63));
}

/** Clears the bits [from, to), which is not empty. */
static inline void fm_bits_clear(uint64_t *words, uint64_t from, uint64_t to) {
    uint64_t word = from >> 6, last = (to - 1) >> 6;
    uint64_t mask = fm_bits_from(from);
    for (; word < last; word++, mask = UINT64_MAX)
        words[word] &= ~mask;
    words[last] &= ~(mask & fm_bits_to(to));
}

/** Sets the bits [from, to), which is not empty, and reports whether all of
 *  them are also set in others. */
static inline bool fm_bits_set(uint64_t *words, const uint64_t *others,
                               uint64_t from, uint64_t to) {
    uint64_t word = from >> 6, last = (to - 1) >> 6;
    uint64_t mask = fm_bits_from(from), lacking = 0;
    for (; word < last; word++, mask = UINT64_MAX) {
        words[word] |= mask;
        lacking |= ~others[word] & mask;
    }
    mask &= fm_bits_to(to);
    words[last] |= mask;
    return (lacking | (~others[last] & mask)) == 0;
}

/* Reports whether a block would occupy only a part of a large page. */
static inline bool fm_pages_splits(const struct fm_loan_pages *pages,
                                   const struct fm_page_run *run,
                                   uint64_t offset, uint64_t size) {
    const struct fm_page *entries = fm_pages(pages);
    uint64_t inside = pages->large_bytes - 1;
    return ((offset & inside) != 0 && entries[run->first].large) ||
           (((offset + size) & inside) != 0 && entries[run->last].large);
}

/** Adds a block to the counts of its pages. Returns false and changes nothing
 *  if not all of its pages are mapped, or if it would occupy only a part of a
 *  large page. */
static inline bool fm_pages_touch(struct fm_loan_pages *pages,
                                  struct fm_page_run *run, uint64_t offset,
                                  uint64_t size) {
    if (run->last >= pages->count)
        return false;
    if (pages->large_bytes != 0 && fm_pages_splits(pages, run, offset, size))
        return false;
    fm_pages_fresh(pages, run, 0);
    if (run->from < run->to) {
        uint64_t *busy = (uint64_t *)(uintptr_t)pages->busy;
        if (!fm_bits_set(busy, (const uint64_t *)(uintptr_t)pages->mapped,
                         run->from, run->to)) {
            fm_bits_clear(busy, run->from, run->to);
            return false;
        }
        pages->idle -= run->to - run->from;
        if (pages->idle < pages->low)
            pages->low = pages->idle;
    }
    struct fm_page *entries = fm_pages(pages);
    entries[run->first].blocks++;
    if (run->first != run->last)
        entries[run->last].blocks++;
    return true;
}

/** Reports whether the pages that the free of a block leaves idle may become
 *  idle. */
static inline bool fm_pages_may_release(const struct fm_loan_pages *pages,
                                        struct fm_page_run *run) {
    fm_pages_fresh(pages, run, 1);
    return run->from >= run->to ||
           pages->idle + (run->to - run->from) <= pages->idle_most;
}

/** Subtracts a block from the counts of its pages. */
static inline void fm_pages_release(struct fm_loan_pages *pages,
                                    const struct fm_page_run *run) {
    struct fm_page *entries = fm_pages(pages);
    entries[run->first].blocks--;
    if (run->first != run->last)
        entries[run->last].blocks--;
    if (run->from < run->to) {
        fm_bits_clear((uint64_t *)(uintptr_t)pages->busy, run->from, run->to);
        pages->idle += run->to - run->from;
    }
}

#endif

/*
 * The tables that a pool lends: lending.State of Go, field for field. Fields
 * that Go writes have no qualifier, because cgo does not know _Atomic.
 */
#ifndef FERRUM_LARGEBLOCKS_LOAN_H
#define FERRUM_LARGEBLOCKS_LOAN_H

#include <stdint.h>

enum { FM_LOAN_TAGS = 64, FM_LOAN_FEW = 32, FM_LOAN_FEW_AGAIN = 16 };

/** The owner of a loan: lending.Owned and so on. */
enum { FM_LOAN_OWNED = 0, FM_LOAN_LENT = 1, FM_LOAN_WORKING = 2 };

struct fm_loan_segment {
    uint64_t base_addr, size_bytes;
    uint64_t infos, slots;
};

struct fm_loan_places {
    uint64_t granule_shift;
    uint64_t records, record_count, record_room;
    uint64_t spare, spare_count;
    uint64_t heads, head_shift;
    uint64_t live_count, live_most;
    uint64_t free_units, high_water;
    uint64_t total, extent, count, most;
    uint64_t binned;
    uint64_t bins, filled_words, filled_sums, filled_top;
    uint64_t sub, region, last_region;
    uint64_t few_count;
    /** The size of a run in the high half and its offset in the low half;
     *  UINT64_MAX: there is no run here. */
    uint64_t few_order[FM_LOAN_FEW];
    uint32_t few_at[FM_LOAN_FEW];
};

/** A page: what is mapped, how many blocks start or end in it, and whether it
 *  is a part of a large one. */
struct fm_page {
    uint64_t page;
    uint32_t blocks;
    uint8_t large;
};

struct fm_loan_pages {
    /** 0: there are no large pages. */
    uint64_t large_bytes;
    uint64_t shift, count;
    /** 0: the segment has no pages. */
    uint64_t entries, mapped;
    uint64_t mapped_from, mapped_to;
    uint64_t edges, edge_low, edge_high;
    uint64_t idle, low, idle_most;
};

struct fm_loan_books {
    uint64_t requested, requested_high;
    uint64_t free_low, free_high;
    uint64_t live_high;
    uint64_t frees, looks;
    uint64_t free_least, free_most;
};

struct fm_loan_tag {
    uint64_t requested_bytes, allocated_bytes, blocks;
};

struct fm_loan {
    uint64_t word;
    uint64_t pool;
    struct fm_loan_segment segment;
    struct fm_loan_places places;
    struct fm_loan_pages pages;
    struct fm_loan_books books;
    uint64_t completed, submitted;
    uint64_t tag_count, tags_changed;
    struct fm_loan_tag tags[FM_LOAN_TAGS];
};

#endif

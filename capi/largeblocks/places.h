/*
 * The table of blocks of a best_fit strategy and its index of free runs, as
 * core/rangealloc keeps them: records.go, live_index.go, free_index.go and few_runs.go
 * tell how they work, and this is the same with the same names.
 */
#ifndef FERRUM_LARGEBLOCKS_PLACES_H
#define FERRUM_LARGEBLOCKS_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "loan.h"

/** A block, live or free; sizes are in granules. */
struct fm_record {
    uint32_t start, units;
    uint32_t prev, next;
    uint32_t left, right;
};

/** Ends every chain of links; record 0 is the head of the ring. */
#define FM_RECORD_NONE UINT32_C(0)
/** In left of a record that is no free run. */
#define FM_RECORD_LIVE UINT32_MAX
#define FM_RECORD_SPARE (UINT32_MAX - 1)

static inline struct fm_record *fm_records(const struct fm_loan_places *p) {
    return (struct fm_record *)(uintptr_t)p->records;
}

static inline bool fm_record_is_free(const struct fm_record *record) {
    return record->left < FM_RECORD_SPARE;
}

/** Finds the live block that starts at an offset, or FM_RECORD_NONE. */
uint32_t fm_places_find_live(const struct fm_loan_places *p, uint64_t offset);
/** Finds the run that a block of so many granules is to be taken from, or
 *  FM_RECORD_NONE. */
uint32_t fm_places_find(const struct fm_loan_places *p, uint64_t need);
/** Gives the record that a block taken from a run would have; FM_RECORD_NONE: the tables
 *  would have to grow or to be made anew. */
uint32_t fm_places_slot(const struct fm_loan_places *p, uint32_t run,
                        uint64_t need);
/** Makes the first granules of a run live, after fm_places_slot has given the record. */
void fm_places_take(struct fm_loan_places *p, uint32_t run, uint64_t need);
/** Says whether a live block can be given back without making tables anew. */
bool fm_places_may_give(const struct fm_loan_places *p, uint32_t at);
/** Makes a live block free, and says how long the run is that it is part of then. */
uint64_t fm_places_give(struct fm_loan_places *p, uint32_t at);

#endif

/*
 * The table of blocks of a best_fit strategy and its index of free runs, with the
 * algorithms and the names of core/rangealloc: records.go, live_index.go,
 * free_index.go and few_runs.go describe them.
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
/** Values of left in a record that is not a free run. */
#define FM_RECORD_LIVE UINT32_MAX
#define FM_RECORD_SPARE (UINT32_MAX - 1)

static inline struct fm_record *fm_records(const struct fm_loan_places *p) {
    return (struct fm_record *)(uintptr_t)p->records;
}

static inline bool fm_record_is_free(const struct fm_record *record) {
    return record->left < FM_RECORD_SPARE;
}

/* ------------------------------------------------------------------ bitset */

static inline uint64_t *fm_words(const struct fm_loan_places *p) {
    return (uint64_t *)(uintptr_t)p->filled_words;
}

static inline uint64_t *fm_sums(const struct fm_loan_places *p) {
    return (uint64_t *)(uintptr_t)p->filled_sums;
}

static inline void fm_filled_add(struct fm_loan_places *p, uint64_t bin) {
    uint64_t *word = &fm_words(p)[bin >> 6];
    if (*word == 0) {
        fm_sums(p)[bin >> 12] |= UINT64_C(1) << (bin >> 6 & 63);
        p->filled_top |= UINT64_C(1) << (bin >> 12 & 63);
    }
    *word |= UINT64_C(1) << (bin & 63);
}

static inline void fm_filled_remove(struct fm_loan_places *p, uint64_t bin) {
    uint64_t *word = &fm_words(p)[bin >> 6];
    uint64_t *sum = &fm_sums(p)[bin >> 12];
    *word &= ~(UINT64_C(1) << (bin & 63));
    if (*word != 0)
        return;
    *sum &= ~(UINT64_C(1) << (bin >> 6 & 63));
    if (*sum == 0)
        p->filled_top &= ~(UINT64_C(1) << (bin >> 12 & 63));
}

static inline uint64_t fm_lowest(uint64_t word) {
    return (uint64_t)__builtin_ctzll(word);
}

/* The smallest member above a bin. */
static inline bool fm_filled_after(const struct fm_loan_places *p, uint64_t bin,
                                   uint64_t *next_out) {
    const uint64_t *words = fm_words(p);
    uint64_t rest = words[bin >> 6] >> (bin & 63) >> 1;
    if (rest != 0) {
        *next_out = bin + 1 + fm_lowest(rest);
        return true;
    }
    uint64_t word = bin >> 6, sum = bin >> 12;
    rest = fm_sums(p)[sum] >> (word & 63) >> 1;
    if (rest != 0) {
        word += 1 + fm_lowest(rest);
    } else {
        rest = p->filled_top >> (sum & 63) >> 1;
        if (rest == 0)
            return false;
        sum += 1 + fm_lowest(rest);
        word = (sum << 6) + fm_lowest(fm_sums(p)[sum]);
    }
    *next_out = (word << 6) + fm_lowest(words[word]);
    return true;
}

/* ------------------------------------------------------------------- trees */

/* Orders free runs by size, and runs of one size by address. */
static inline uint64_t fm_order_of(uint64_t size, uint64_t offset) {
    return size << 32 | offset;
}

static inline bool fm_before(const struct fm_record *a,
                             const struct fm_record *b) {
    return fm_order_of(a->units, a->start) < fm_order_of(b->units, b->start);
}

static inline uint32_t fm_priority(uint32_t at) {
    at ^= at >> 16;
    at *= UINT32_C(0x85ebca6b);
    at ^= at >> 13;
    at *= UINT32_C(0xc2b2ae35);
    return at ^ at >> 16;
}

static inline uint32_t *fm_bins(const struct fm_loan_places *p) {
    return (uint32_t *)(uintptr_t)p->bins;
}

static inline uint64_t fm_bin_of(const struct fm_loan_places *p, uint64_t size,
                                 uint64_t offset) {
    uint64_t power = 63 - (uint64_t)__builtin_clzll(size);
    uint64_t below = size << (63 - power) << 1 >> (64 - p->sub);
    uint64_t region = offset >> p->region;
    if (region > p->last_region)
        region = p->last_region;
    return (power << p->sub) + (below | region >> power);
}

/* Adds a run to the tree of its bin. */
static inline void fm_plant(struct fm_record *all, uint32_t *link,
                            uint32_t at) {
    struct fm_record *n = &all[at];
    uint32_t cur = *link, rank = fm_priority(at);
    while (cur != FM_RECORD_NONE && fm_priority(cur) > rank) {
        struct fm_record *c = &all[cur];
        link = fm_before(n, c) ? &c->left : &c->right;
        cur = *link;
    }
    *link = at;
    uint32_t *low = &n->left, *high = &n->right;
    while (cur != FM_RECORD_NONE) {
        struct fm_record *c = &all[cur];
        if (fm_before(c, n)) {
            *low = cur;
            low = &c->right;
            cur = *low;
        } else {
            *high = cur;
            high = &c->left;
            cur = *high;
        }
    }
    *low = *high = FM_RECORD_NONE;
}

/* Removes a run from the tree of its bin. */
static inline void fm_uproot(struct fm_record *all, uint32_t *link,
                             uint32_t at) {
    struct fm_record *n = &all[at];
    while (*link != at) {
        struct fm_record *c = &all[*link];
        link = fm_before(n, c) ? &c->left : &c->right;
    }
    uint32_t low = n->left, high = n->right;
    while (low != FM_RECORD_NONE && high != FM_RECORD_NONE) {
        if (fm_priority(low) > fm_priority(high)) {
            *link = low;
            link = &all[low].right;
            low = *link;
        } else {
            *link = high;
            link = &all[high].left;
            high = *link;
        }
    }
    *link = low | high; /* one of them is FM_RECORD_NONE, which is 0 */
}

/* The first run of a tree at or after (size, offset). */
static inline uint32_t fm_least(const struct fm_record *all, uint32_t cur,
                                uint64_t size, uint64_t offset) {
    uint32_t best = FM_RECORD_NONE;
    while (cur != FM_RECORD_NONE) {
        const struct fm_record *c = &all[cur];
        if (c->units > size || (c->units == size && c->start >= offset)) {
            best = cur;
            cur = c->left;
        } else {
            cur = c->right;
        }
    }
    return best;
}

/* --------------------------------------------------------------- free runs */

static inline void fm_bin_add(struct fm_loan_places *p, uint64_t bin,
                              uint32_t at) {
    struct fm_record *all = fm_records(p), *n = &all[at];
    uint32_t *root = &fm_bins(p)[bin];
    if (*root != FM_RECORD_NONE) {
        fm_plant(all, root, at);
        return;
    }
    *root = at;
    n->left = n->right = FM_RECORD_NONE;
    fm_filled_add(p, bin);
}

/* Removes a run from its bin. Returns true if it was alone there; the bin is
 * unchanged then. */
static inline bool fm_bin_remove(struct fm_loan_places *p, uint64_t bin,
                                 uint32_t at) {
    struct fm_record *all = fm_records(p), *n = &all[at];
    uint32_t *root = &fm_bins(p)[bin];
    if (*root == at && (n->left | n->right) == FM_RECORD_NONE)
        return true;
    fm_uproot(all, root, at);
    return false;
}

static inline void fm_bin_clear(struct fm_loan_places *p, uint64_t bin) {
    fm_bins(p)[bin] = FM_RECORD_NONE;
    fm_filled_remove(p, bin);
}

/* Moves the few runs into bins, because one more is to be added. */
static inline void fm_index_bin(struct fm_loan_places *p) {
    for (uint64_t i = 0; i < p->few_count; i++) {
        const struct fm_record *n = &fm_records(p)[p->few_at[i]];
        fm_bin_add(p, fm_bin_of(p, n->units, n->start), p->few_at[i]);
        p->few_order[i] = UINT64_MAX;
    }
    p->few_count = 0;
    p->binned = 1;
}

/* The parts of the index for many runs are not inlined, so that they take no
 * registers from those for few. */
#define FM_MANY static __attribute__((noinline, unused))

static inline void fm_few_add(struct fm_loan_places *p, uint32_t at) {
    struct fm_record *n = &fm_records(p)[at];
    p->few_order[p->few_count] = fm_order_of(n->units, n->start);
    p->few_at[p->few_count] = at;
    n->left = (uint32_t)p->few_count++;
    n->right = FM_RECORD_NONE;
}

/* Takes the runs out of their bins, because they are few again. */
static inline void fm_index_unbin(struct fm_loan_places *p) {
    p->binned = 0;
    while (p->filled_top != 0) {
        uint64_t sum = fm_lowest(p->filled_top);
        uint64_t word = (sum << 6) + fm_lowest(fm_sums(p)[sum]);
        uint64_t bin = (word << 6) + fm_lowest(fm_words(p)[word]);
        uint32_t *root = &fm_bins(p)[bin];
        while (*root != FM_RECORD_NONE) {
            uint32_t at = *root;
            fm_uproot(fm_records(p), root, at);
            fm_few_add(p, at);
        }
        fm_filled_remove(p, bin);
    }
}

FM_MANY void fm_bins_insert(struct fm_loan_places *p, uint32_t at) {
    const struct fm_record *n = &fm_records(p)[at];
    if (!p->binned)
        fm_index_bin(p);
    fm_bin_add(p, fm_bin_of(p, n->units, n->start), at);
}

FM_MANY void fm_bins_remove(struct fm_loan_places *p, uint32_t at) {
    const struct fm_record *n = &fm_records(p)[at];
    uint64_t bin = fm_bin_of(p, n->units, n->start);
    if (fm_bin_remove(p, bin, at))
        fm_bin_clear(p, bin);
    if (p->count <= FM_LOAN_FEW_AGAIN)
        fm_index_unbin(p);
}

FM_MANY void fm_bins_resize(struct fm_loan_places *p, uint32_t at,
                            uint64_t offset, uint64_t size) {
    struct fm_record *n = &fm_records(p)[at];
    uint64_t was = fm_bin_of(p, n->units, n->start);
    uint64_t bin = fm_bin_of(p, size, offset);
    bool alone = fm_bin_remove(p, was, at);
    n->start = (uint32_t)offset;
    n->units = (uint32_t)size;
    if (alone && was == bin)
        return;
    if (alone)
        fm_bin_clear(p, was);
    fm_bin_add(p, bin, at);
}

/* The smallest run in the bins that holds a size; of several, the one with the
 * lowest address. */
FM_MANY uint32_t fm_bins_ceil(const struct fm_loan_places *p, uint64_t size) {
    const struct fm_record *all = fm_records(p);
    uint64_t bin = fm_bin_of(p, size, 0);
    if (fm_words(p)[bin >> 6] >> (bin & 63) & 1) {
        uint32_t at = fm_least(all, fm_bins(p)[bin], size, 0);
        if (at != FM_RECORD_NONE)
            return at;
    }
    if (!fm_filled_after(p, bin, &bin))
        return FM_RECORD_NONE;
    uint32_t at = fm_bins(p)[bin];
    while (all[at].left != FM_RECORD_NONE)
        at = all[at].left;
    return at;
}

static inline void fm_index_insert(struct fm_loan_places *p, uint32_t at) {
    p->count++;
    if (!p->binned && p->few_count < FM_LOAN_FEW)
        fm_few_add(p, at);
    else
        fm_bins_insert(p, at);
}

static inline void fm_index_remove(struct fm_loan_places *p, uint32_t at) {
    p->count--;
    if (p->binned) {
        fm_bins_remove(p, at);
        return;
    }
    struct fm_record *all = fm_records(p);
    uint32_t place = all[at].left;
    uint64_t last = --p->few_count;
    p->few_order[place] = p->few_order[last];
    p->few_at[place] = p->few_at[last];
    all[p->few_at[place]].left = place;
    p->few_order[last] = UINT64_MAX;
}

static inline void fm_index_resize(struct fm_loan_places *p, uint32_t at,
                                   uint64_t offset, uint64_t size) {
    if (p->binned) {
        fm_bins_resize(p, at, offset, size);
        return;
    }
    struct fm_record *n = &fm_records(p)[at];
    n->start = (uint32_t)offset;
    n->units = (uint32_t)size;
    p->few_order[n->left] = fm_order_of(size, offset);
}

/* The smallest of the few runs that holds a size and is before another one; of
 * several, the one with the lowest address. beyond is the order of the other
 * run, less the least order of the size. The loop reads four places at a time,
 * used or not, without a branch for each, because the result of a comparison
 * cannot be predicted. The subtraction makes an order below the least one a
 * very large number. */
static inline uint32_t fm_few_ceil(const struct fm_loan_places *p,
                                   uint64_t least, uint64_t beyond) {
    uint64_t place = FM_LOAN_FEW;
    for (uint64_t i = 0; i < p->few_count; i += 4) {
        const uint64_t *order = &p->few_order[i];
#pragma GCC unroll 4
        for (uint64_t j = 0; j < 4; j++) {
            uint64_t next = order[j] - least;
            place = next < beyond ? i + j : place;
            beyond = next < beyond ? next : beyond;
        }
    }
    return place != FM_LOAN_FEW ? p->few_at[place] : FM_RECORD_NONE;
}

/* Adds a run to the index. The run at the end of the range is found without
 * the index. */
static inline void fm_keep(struct fm_loan_places *p, uint32_t at) {
    struct fm_record *n = &fm_records(p)[at];
    if (n->next == 0)
        n->left = n->right = FM_RECORD_NONE;
    else
        fm_index_insert(p, at);
}

static inline void fm_forget(struct fm_loan_places *p, uint32_t at) {
    if (fm_records(p)[at].next != 0)
        fm_index_remove(p, at);
}

/* ------------------------------------------------------------------ blocks */

static inline uint32_t *fm_head(const struct fm_loan_places *p,
                                uint64_t offset) {
    uint32_t *heads = (uint32_t *)(uintptr_t)p->heads;
    return &heads[offset * UINT64_C(0x9e3779b97f4a7c15) >> p->head_shift];
}

/** Returns the link to the live block that starts at an offset. FM_RECORD_NONE
 *  is in the link if there is no such block. */
static inline uint32_t *fm_places_link(const struct fm_loan_places *p,
                                       uint64_t offset) {
    struct fm_record *all = fm_records(p);
    uint32_t *link = fm_head(p, offset);
    while (*link != FM_RECORD_NONE && all[*link].start != offset)
        link = &all[*link].right;
    return link;
}

/** Returns the run from which a block of need granules is to be taken: the
 *  smallest one that holds it, and of several the one with the lowest address.
 *  FM_RECORD_NONE if there is none. */
static inline uint32_t fm_places_find(const struct fm_loan_places *p,
                                      uint64_t need) {
    const struct fm_record *all = fm_records(p);
    if (need > p->total)
        return FM_RECORD_NONE;
    /* The run at the end of the range is not in the index. */
    uint32_t end = all[0].prev, at;
    const struct fm_record *last = &all[end];
    if (!fm_record_is_free(last) || last->units < need)
        end = FM_RECORD_NONE;
    uint64_t least = fm_order_of(need, 0);
    uint64_t order = end != FM_RECORD_NONE
                         ? fm_order_of(last->units, last->start)
                         : UINT64_MAX;
    if (p->binned) {
        at = fm_bins_ceil(p, need);
        if (at != FM_RECORD_NONE && end != FM_RECORD_NONE &&
            fm_before(last, &all[at]))
            at = end;
    } else {
        at = fm_few_ceil(p, least, order - least);
    }
    return at != FM_RECORD_NONE ? at : end;
}

/** Returns the record that a block taken from a run would have. FM_RECORD_NONE:
 *  the tables would have to grow or to be rebuilt. */
static inline uint32_t fm_places_slot(const struct fm_loan_places *p,
                                      uint32_t run, uint64_t need) {
    const struct fm_record *r = &fm_records(p)[run];
    uint64_t end = (uint64_t)r->start + need;
    if (p->live_count >= p->live_most ||
        (end > p->high_water && end > p->extent))
        return FM_RECORD_NONE;
    if (r->units == need)
        return run;
    if (p->spare != FM_RECORD_NONE)
        return (uint32_t)p->spare;
    return p->record_count < p->record_room ? (uint32_t)p->record_count
                                            : FM_RECORD_NONE;
}

/* Splits a run: its first granules become a block with the record that
 * fm_places_slot has returned. */
static inline void fm_split(struct fm_loan_places *p, uint32_t run,
                            uint32_t slot, uint64_t need) {
    struct fm_record *all = fm_records(p), *r = &all[run], *block = &all[slot];
    uint32_t start = r->start, prev = r->prev;
    if (p->spare != FM_RECORD_NONE) {
        p->spare = block->right;
        p->spare_count--;
    } else {
        p->record_count++;
    }
    if (r->next == 0) {
        r->start = start + (uint32_t)need;
        r->units -= (uint32_t)need;
    } else {
        fm_index_resize(p, run, start + need, r->units - need);
    }
    block->start = start;
    block->units = (uint32_t)need;
    block->prev = prev;
    block->next = run;
    all[prev].next = slot;
    r->prev = slot;
}

/* Removes a record from the ring and keeps it for reuse. */
static inline void fm_drop(struct fm_loan_places *p, uint32_t at) {
    struct fm_record *all = fm_records(p), *r = &all[at];
    all[r->prev].next = r->next;
    all[r->next].prev = r->prev;
    *r = (struct fm_record){.left = FM_RECORD_SPARE,
                            .right = (uint32_t)p->spare};
    p->spare = at;
    p->spare_count++;
}

/** Makes the first granules of a run a live block with the record that
 *  fm_places_slot has returned. */
static inline void fm_places_take(struct fm_loan_places *p, uint32_t run,
                                  uint32_t slot, uint64_t need) {
    uint64_t start = fm_records(p)[run].start;
    if (slot == run)
        fm_forget(p, run);
    else
        fm_split(p, run, slot, need);
    struct fm_record *block = &fm_records(p)[slot];
    uint32_t *head = fm_head(p, start);
    block->left = FM_RECORD_LIVE;
    block->right = *head;
    *head = slot;
    p->live_count++;
    p->free_units -= need;
    if (start + need > p->high_water)
        p->high_water = start + need;
}

/** Reports whether a live block can be freed without rebuilding tables. */
static inline bool fm_places_may_give(const struct fm_loan_places *p,
                                      uint32_t at) {
    if (p->count < p->most)
        return true;
    const struct fm_record *all = fm_records(p), *r = &all[at];
    return fm_record_is_free(&all[r->prev]) ||
           fm_record_is_free(&all[r->next]) || r->next == 0;
}

/* Extends a run up to the block next, by more granules. */
static inline void fm_grow(struct fm_loan_places *p, uint32_t at, uint32_t next,
                           uint64_t more) {
    struct fm_record *r = &fm_records(p)[at];
    if (next != 0) {
        fm_index_resize(p, at, r->start, r->units + more);
        return;
    }
    fm_index_remove(p, at); /* the run becomes the one at the end */
    r->units += (uint32_t)more;
    r->left = r->right = FM_RECORD_NONE;
}

/** Makes the live block of a link free, and returns the length of the free run
 *  that contains it then. */
static inline uint64_t fm_places_give(struct fm_loan_places *p,
                                      uint32_t *link) {
    uint32_t at = *link;
    struct fm_record *all = fm_records(p), *r = &all[at];
    uint32_t prev = r->prev, next = r->next;
    uint64_t size = r->units;
    struct fm_record *before = &all[prev], *behind = &all[next];
    *link = r->right;
    p->live_count--;
    p->free_units += size;
    if (fm_record_is_free(behind) && fm_record_is_free(before)) {
        fm_forget(p, next);
        fm_grow(p, prev, behind->next, size + behind->units);
        size = before->units;
        fm_drop(p, next);
        fm_drop(p, at);
    } else if (fm_record_is_free(behind)) {
        size += behind->units;
        if (behind->next == 0) {
            behind->start = r->start;
            behind->units = (uint32_t)size;
        } else {
            fm_index_resize(p, next, r->start, size);
        }
        fm_drop(p, at);
    } else if (fm_record_is_free(before)) {
        fm_grow(p, prev, next, size);
        size = before->units;
        fm_drop(p, at);
    } else {
        fm_keep(p, at);
    }
    return size;
}

#endif

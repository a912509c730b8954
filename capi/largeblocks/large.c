#include "large.h"

#include <stdatomic.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* Numbers that were written one by one could not be forwarded to a load of two
 * of them. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include "loan.h"
#include "pages.h"
#include "places.h"

#define FM_LIKELY(truth) __builtin_expect(!!(truth), 1)
#define FM_UNLIKELY(truth) __builtin_expect(!!(truth), 0)

/* ------------------------------------------------------------------- loans */

/* Pools with a slot at or above this have no place. */
#define FM_PLACES 4096

static struct fm_loan *_Atomic fm_loans[FM_PLACES];

struct fm_loan *fm_large_place(uint64_t pool) {
    uint32_t slot = (uint32_t)pool;
    if (slot >= FM_PLACES)
        return NULL;
    struct fm_loan *loan = atomic_load(&fm_loans[slot]);
    if (loan != NULL)
        return loan;
    size_t size = (sizeof(struct fm_loan) + 127) / 128 * 128;
    loan = aligned_alloc(128, size);
    if (loan == NULL)
        return NULL;
    *loan = (struct fm_loan){0};
    struct fm_loan *other = NULL;
    if (atomic_compare_exchange_strong(&fm_loans[slot], &other, loan))
        return loan;
    free(loan);
    return other;
}

/* How often a thread checks again while another one is at work. */
#define FM_LOAN_LOOKS 200

static inline void fm_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline bool fm_loan_try(struct fm_loan *loan) {
    uint64_t word = FM_LOAN_LENT;
    return __atomic_compare_exchange_n(&loan->word, &word, FM_LOAN_WORKING,
                                       false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/* Waits until a loan can be taken, and takes it. Returns false if the pool owns
 * its tables, or another thread stays at work. */
static __attribute__((noinline)) bool fm_loan_wait(struct fm_loan *loan) {
    for (int looks = 0; looks < FM_LOAN_LOOKS; looks++) {
        uint64_t word = __atomic_load_n(&loan->word, __ATOMIC_RELAXED);
        if (word == FM_LOAN_OWNED)
            return false;
        if (word == FM_LOAN_LENT && fm_loan_try(loan))
            return true;
        fm_pause();
    }
    return false;
}

/* Takes the tables that a pool has lent, for one call. Returns NULL if the pool
 * owns its tables, or if another thread keeps using them. */
static inline struct fm_loan *fm_loan_take(uint64_t pool) {
    uint32_t slot = (uint32_t)pool;
    if (FM_UNLIKELY(slot >= FM_PLACES))
        return NULL;
    struct fm_loan *loan =
        atomic_load_explicit(&fm_loans[slot], memory_order_acquire);
    if (FM_UNLIKELY(loan == NULL) ||
        (FM_UNLIKELY(!fm_loan_try(loan)) && !fm_loan_wait(loan)))
        return NULL;
    if (FM_LIKELY(loan->pool == pool))
        return loan;
    __atomic_store_n(&loan->word, FM_LOAN_LENT, __ATOMIC_RELEASE);
    return NULL;
}

static inline void fm_loan_put(struct fm_loan *loan) {
    __atomic_store_n(&loan->word, FM_LOAN_LENT, __ATOMIC_RELEASE);
}

/* Reports whether no work is queued on the default stream. If so, the effects
 * of all completed work are visible. */
static inline bool fm_loan_is_dry(const struct fm_loan *loan) {
    if (loan->completed == 0)
        return false;
    uint64_t completed = __atomic_load_n(
        (const uint64_t *)(uintptr_t)loan->completed, __ATOMIC_SEQ_CST);
    return completed ==
           __atomic_load_n((const uint64_t *)(uintptr_t)loan->submitted,
                           __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------- words of blocks */

/* The word of a block: the low half of blockInfo in core/pool. */
enum {
    FM_INFO_STATE = 7,
    FM_INFO_RECORDED = 8,
    FM_INFO_LIVE = 1,
    FM_INFO_TAG_SHIFT = 4,
    FM_INFO_TAG_MASK = 0xFFF,
    FM_INFO_SLACK_SHIFT = 16,
    FM_INFO_SLACK_MAX = 0xFFFF
};

static inline uint32_t *fm_info(const struct fm_loan *loan, uint32_t slot) {
    return &((uint32_t *)(uintptr_t)loan->segment.infos)[slot];
}

/* -------------------------------------------------------------------- books */

/* The counters of blocks and bytes are those of the places; lending.Books
 * states what follows from them. */

static inline void fm_books_alloc(struct fm_loan *loan, uint64_t requested) {
    struct fm_loan_books *books = &loan->books;
    books->requested += requested;
    if (books->requested > books->requested_high)
        books->requested_high = books->requested;
    if (loan->places.free_units < books->free_low)
        books->free_low = loan->places.free_units;
    if (loan->places.live_count > books->live_high)
        books->live_high = loan->places.live_count;
}

static inline void fm_books_free(struct fm_loan *loan, uint64_t requested) {
    struct fm_loan_books *books = &loan->books;
    books->requested -= requested;
    books->frees++;
    if (loan->places.free_units > books->free_high)
        books->free_high = loan->places.free_units;
}

/* Adds to the changes of a tag in this loan. The use of tag 0 is the rest of all
 * changes. */
static inline void fm_tag_add(struct fm_loan *loan, uint32_t tag,
                              uint64_t requested, uint64_t allocated,
                              uint64_t blocks) {
    if (tag == 0)
        return;
    struct fm_loan_tag *use = &loan->tags[tag];
    if ((loan->tags_changed >> tag & 1) == 0) {
        loan->tags_changed |= UINT64_C(1) << tag;
        *use = (struct fm_loan_tag){0};
    }
    use->requested_bytes += requested;
    use->allocated_bytes += allocated;
    use->blocks += blocks;
}

/* ---------------------------------------------------------------- the calls */

static inline bool fm_loan_alloc(struct fm_loan *loan, uint64_t size_bytes,
                                 uint64_t alignment_bytes, uint32_t tag,
                                 uint64_t *address_out) {
    struct fm_loan_places *places = &loan->places;
    struct fm_loan_segment *segment = &loan->segment;
    uint64_t shift = places->granule_shift;
    uint64_t need = ((size_bytes - 1) >> shift) + 1;
    uint64_t slack = (need << shift) - size_bytes;
    if (alignment_bytes >> shift > 1 || tag >= loan->tag_count ||
        slack > FM_INFO_SLACK_MAX)
        return false;
    uint32_t run = fm_places_find(places, need);
    if (run == FM_RECORD_NONE ||
        places->free_units - need < loan->books.free_least)
        return false;
    uint32_t slot = fm_places_slot(places, run, need);
    if (slot == FM_RECORD_NONE || slot >= segment->slots)
        return false;
    uint64_t offset = (uint64_t)fm_records(places)[run].start << shift;
    if (loan->pages.entries != 0 &&
        !fm_pages_touch(&loan->pages, offset, need << shift))
        return false;
    fm_places_take(places, run, slot, need);
    *fm_info(loan, slot) = FM_INFO_LIVE | tag << FM_INFO_TAG_SHIFT |
                           (uint32_t)slack << FM_INFO_SLACK_SHIFT;
    fm_tag_add(loan, tag, size_bytes, need << shift, 1);
    fm_books_alloc(loan, size_bytes);
    *address_out = segment->base_addr + offset;
    return true;
}

/* Finds the link to a live block that only the default stream uses. NULL if
 * there is no such block. */
static inline uint32_t *fm_loan_find(const struct fm_loan *loan,
                                     uint64_t address) {
    const struct fm_loan_places *places = &loan->places;
    uint64_t offset = address - loan->segment.base_addr;
    uint64_t start = offset >> places->granule_shift;
    if (offset >= loan->segment.size_bytes ||
        start << places->granule_shift != offset)
        return NULL;
    uint32_t *link = fm_places_link(places, start);
    if (*link == FM_RECORD_NONE ||
        (*fm_info(loan, *link) & (FM_INFO_STATE | FM_INFO_RECORDED)) !=
            FM_INFO_LIVE)
        return NULL;
    return link;
}

static inline bool fm_loan_free(struct fm_loan *loan, uint64_t address,
                                uint64_t requested_bytes) {
    struct fm_loan_places *places = &loan->places;
    uint32_t *link = fm_loan_find(loan, address);
    if (link == NULL)
        return false;
    uint32_t info = *fm_info(loan, *link);
    uint32_t tag = info >> FM_INFO_TAG_SHIFT & FM_INFO_TAG_MASK;
    uint64_t units = fm_records(places)[*link].units;
    uint64_t allocated = units << places->granule_shift;
    uint64_t requested = allocated - (info >> FM_INFO_SLACK_SHIFT);
    if (tag >= loan->tag_count ||
        (requested_bytes != 0 && requested_bytes != requested) ||
        places->free_units + units > loan->books.free_most ||
        !fm_places_may_give(places, *link) || !fm_loan_is_dry(loan))
        return false;
    if (loan->pages.entries != 0 &&
        !fm_pages_release(&loan->pages, address - loan->segment.base_addr,
                          allocated))
        return false;
    fm_places_give(places, link);
    fm_tag_add(loan, tag, -requested, -allocated, UINT64_MAX);
    fm_books_free(loan, requested);
    return true;
}

bool fm_large_alloc(uint64_t pool, uint64_t size_bytes,
                    uint64_t alignment_bytes, uint32_t tag,
                    uint64_t *address_out) {
    if (size_bytes <= FM_LARGE_ABOVE ||
        (alignment_bytes & (alignment_bytes - 1)) != 0)
        return false;
    struct fm_loan *loan = fm_loan_take(pool);
    if (loan == NULL)
        return false;
    bool done =
        fm_loan_alloc(loan, size_bytes, alignment_bytes, tag, address_out);
    fm_loan_put(loan);
    return done;
}

bool fm_large_free(uint64_t pool, uint64_t address, uint64_t requested_bytes) {
    struct fm_loan *loan = fm_loan_take(pool);
    if (loan == NULL)
        return false;
    bool done = fm_loan_free(loan, address, requested_bytes);
    fm_loan_put(loan);
    return done;
}

bool fm_large_usable_size(uint64_t pool, uint64_t address, uint64_t *size_out) {
    struct fm_loan *loan = fm_loan_take(pool);
    if (loan == NULL)
        return false;
    const struct fm_loan_places *places = &loan->places;
    const uint32_t *link = fm_loan_find(loan, address);
    if (link != NULL) {
        *size_out = (uint64_t)fm_records(places)[*link].units
                    << places->granule_shift;
        loan->books.looks++;
    }
    fm_loan_put(loan);
    return link != NULL;
}

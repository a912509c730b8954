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

/* Takes what a pool has lent, for one call. NULL if the pool owns its tables,
 * or another thread stays at work. */
static inline struct fm_loan *fm_loan_take(uint64_t pool) {
    uint32_t slot = (uint32_t)pool;
    if (FM_UNLIKELY(slot >= FM_PLACES))
        return NULL;
    struct fm_loan *loan =
        atomic_load_explicit(&fm_loans[slot], memory_order_acquire);
    if (FM_UNLIKELY(loan == NULL))
        return NULL;
    for (int looks = 0; looks < FM_LOAN_LOOKS; looks++) {
        uint64_t word = __atomic_load_n(&loan->word, __ATOMIC_RELAXED);
        if (word == FM_LOAN_OWNED)
            return NULL;
        if (word == FM_LOAN_LENT &&
            __atomic_compare_exchange_n(&loan->word, &word, FM_LOAN_WORKING,
                                        false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            if (FM_LIKELY(loan->pool == pool))
                return loan;
            __atomic_store_n(&loan->word, FM_LOAN_LENT, __ATOMIC_RELEASE);
            return NULL;
        }
        fm_pause();
    }
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

struct fm_block_sizes {
    uint64_t requested, allocated;
};

/* Reports whether the totals are accurate enough with so many active bytes. */
static inline bool fm_books_may_be(const struct fm_loan_books *books,
                                   uint64_t active) {
    return active >= books->low && active < books->above;
}

static inline void fm_books_rise(struct fm_loan_books *books, int gauge,
                                 uint64_t n) {
    uint64_t value = books->now[gauge] + n;
    books->now[gauge] = value;
    if (value > books->high[gauge])
        books->high[gauge] = value;
}

static void fm_books_alloc(struct fm_loan_books *books,
                           struct fm_block_sizes sizes) {
    books->now[FM_CACHED] -= sizes.allocated;
    fm_books_rise(books, FM_REQUESTED, sizes.requested);
    fm_books_rise(books, FM_ALLOCATED, sizes.allocated);
    fm_books_rise(books, FM_ACTIVE, sizes.allocated);
    fm_books_rise(books, FM_LIVE, 1);
    books->allocations++;
}

static void fm_books_free(struct fm_loan_books *books,
                          struct fm_block_sizes sizes) {
    books->now[FM_REQUESTED] -= sizes.requested;
    books->now[FM_ALLOCATED] -= sizes.allocated;
    books->now[FM_ACTIVE] -= sizes.allocated;
    books->now[FM_LIVE]--;
    fm_books_rise(books, FM_CACHED, sizes.allocated);
    books->frees++;
}

/* The changes of a tag in this loan. */
static struct fm_loan_tag *fm_tag(struct fm_loan *loan, uint32_t tag) {
    if ((loan->tags_changed >> tag & 1) == 0) {
        loan->tags_changed |= UINT64_C(1) << tag;
        loan->tags[tag] = (struct fm_loan_tag){0};
    }
    return &loan->tags[tag];
}

/* ---------------------------------------------------------------- the calls */

static bool fm_loan_alloc(struct fm_loan *loan, uint64_t size_bytes,
                          uint64_t alignment_bytes, uint32_t tag,
                          uint64_t *address_out) {
    struct fm_loan_places *places = &loan->places;
    struct fm_loan_segment *segment = &loan->segment;
    uint64_t mask = (UINT64_C(1) << places->granule_shift) - 1;
    struct fm_block_sizes sizes = {.requested = size_bytes,
                                   .allocated = (size_bytes + mask) & ~mask};
    uint64_t slack = sizes.allocated - size_bytes;
    if (alignment_bytes > mask + 1 || tag >= loan->tag_count ||
        sizes.allocated >= segment->full || slack > FM_INFO_SLACK_MAX ||
        !fm_books_may_be(&loan->books,
                         loan->books.now[FM_ACTIVE] + sizes.allocated))
        return false;
    uint64_t need = sizes.allocated >> places->granule_shift;
    uint32_t run = fm_places_find(places, need);
    if (run == FM_RECORD_NONE)
        return false;
    uint32_t slot = fm_places_slot(places, run, need);
    if (slot == FM_RECORD_NONE || slot >= segment->slots)
        return false;
    uint64_t offset = (uint64_t)fm_records(places)[run].start
                      << places->granule_shift;
    struct fm_page_run pages =
        fm_pages_of(&loan->pages, offset, sizes.allocated);
    if (loan->pages.entries != 0 &&
        !fm_pages_touch(&loan->pages, &pages, offset, sizes.allocated))
        return false;
    fm_places_take(places, run, need);
    *fm_info(loan, slot) = FM_INFO_LIVE | tag << FM_INFO_TAG_SHIFT |
                           (uint32_t)slack << FM_INFO_SLACK_SHIFT;
    segment->blocks++;
    struct fm_loan_tag *use = fm_tag(loan, tag);
    use->requested_bytes += sizes.requested;
    use->allocated_bytes += sizes.allocated;
    use->blocks++;
    fm_books_alloc(&loan->books, sizes);
    *address_out = segment->base_addr + offset;
    return true;
}

/* Finds a live block that only the default stream uses. */
static uint32_t fm_loan_find(const struct fm_loan *loan, uint64_t address) {
    const struct fm_loan_places *places = &loan->places;
    uint64_t offset = address - loan->segment.base_addr;
    uint64_t mask = (UINT64_C(1) << places->granule_shift) - 1;
    if (offset >= loan->segment.size_bytes || (offset & mask) != 0)
        return FM_RECORD_NONE;
    uint32_t at = fm_places_find_live(places, offset >> places->granule_shift);
    if (at == FM_RECORD_NONE ||
        (*fm_info(loan, at) & (FM_INFO_STATE | FM_INFO_RECORDED)) !=
            FM_INFO_LIVE)
        return FM_RECORD_NONE;
    return at;
}

static inline struct fm_block_sizes fm_sizes_of(const struct fm_loan *loan,
                                                uint32_t at) {
    uint64_t whole = (uint64_t)fm_records(&loan->places)[at].units
                     << loan->places.granule_shift;
    uint32_t slack = *fm_info(loan, at) >> FM_INFO_SLACK_SHIFT;
    return (struct fm_block_sizes){whole - slack, whole};
}

static bool fm_loan_free(struct fm_loan *loan, uint64_t address,
                         uint64_t requested_bytes) {
    struct fm_loan_places *places = &loan->places;
    struct fm_loan_segment *segment = &loan->segment;
    uint32_t at = fm_loan_find(loan, address);
    if (at == FM_RECORD_NONE)
        return false;
    uint32_t tag = *fm_info(loan, at) >> FM_INFO_TAG_SHIFT & FM_INFO_TAG_MASK;
    struct fm_block_sizes sizes = fm_sizes_of(loan, at);
    if (tag >= loan->tag_count ||
        (requested_bytes != 0 && requested_bytes != sizes.requested) ||
        !fm_books_may_be(&loan->books,
                         loan->books.now[FM_ACTIVE] - sizes.allocated) ||
        !fm_places_may_give(places, at) || !fm_loan_is_dry(loan))
        return false;
    struct fm_page_run pages = fm_pages_of(
        &loan->pages, address - segment->base_addr, sizes.allocated);
    if (loan->pages.entries != 0) {
        if (!fm_pages_may_release(&loan->pages, &pages))
            return false;
        fm_pages_release(&loan->pages, &pages);
    }
    uint64_t run = fm_places_give(places, at) << places->granule_shift;
    if (segment->full < run + 1)
        segment->full = run + 1;
    segment->blocks--;
    struct fm_loan_tag *use = fm_tag(loan, tag);
    use->requested_bytes -= sizes.requested;
    use->allocated_bytes -= sizes.allocated;
    use->blocks--;
    fm_books_free(&loan->books, sizes);
    return true;
}

/* The longest request that can be rounded up without a check for overflow. */
#define FM_LARGE_MOST (UINT64_C(1) << 62)

bool fm_large_alloc(uint64_t pool, uint64_t size_bytes,
                    uint64_t alignment_bytes, uint32_t tag,
                    uint64_t *address_out) {
    if (size_bytes <= FM_LARGE_ABOVE || size_bytes > FM_LARGE_MOST ||
        (alignment_bytes & (alignment_bytes - 1)) != 0)
        return false;
    struct fm_loan *loan = fm_loan_take(pool);
    if (loan == NULL)
        return false;
    bool done =
        fm_loan_alloc(loan, size_bytes, alignment_bytes, tag, address_out);
    loan->calls += done;
    fm_loan_put(loan);
    return done;
}

bool fm_large_free(uint64_t pool, uint64_t address, uint64_t requested_bytes) {
    struct fm_loan *loan = fm_loan_take(pool);
    if (loan == NULL)
        return false;
    bool done = fm_loan_free(loan, address, requested_bytes);
    loan->calls += done;
    fm_loan_put(loan);
    return done;
}

bool fm_large_usable_size(uint64_t pool, uint64_t address, uint64_t *size_out) {
    struct fm_loan *loan = fm_loan_take(pool);
    if (loan == NULL)
        return false;
    uint32_t at = fm_loan_find(loan, address);
    bool found = at != FM_RECORD_NONE;
    if (found)
        *size_out = fm_sizes_of(loan, at).allocated;
    loan->calls += found;
    fm_loan_put(loan);
    return found;
}

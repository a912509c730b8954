#include "virtual_model.h"

#include <string.h>

typedef struct {
    uint64_t start, end;
} pages_of;

static uint64_t capacity(const space *s) {
    return SPACE_PAGES * s->of->page_bytes;
}

uint64_t space_count(const space *s, enum page_state state) {
    uint64_t count = 0;
    for (int i = 0; i < SPACE_PAGES; i++)
        count += s->pages[i].state == state;
    return count;
}

/* The bytes of a page's allocation that lie in the page. */
static uint64_t share(const space *s, int at) {
    const page *p = &s->pages[at];
    uint64_t start = (uint64_t)at * s->of->page_bytes;
    uint64_t end = start + s->of->page_bytes;
    uint64_t last = p->offset_bytes + p->size_bytes;
    if (start < p->offset_bytes)
        start = p->offset_bytes;
    return (end < last ? end : last) - start;
}

uint64_t space_requested(const space *s) {
    uint64_t sum = 0;
    for (int i = 0; i < SPACE_PAGES; i++)
        if (s->pages[i].state == PAGE_LIVE)
            sum += share(s, i);
    return sum;
}

static uint64_t first_fit(const space *s, uint64_t pages) {
    uint64_t run = 0;
    for (uint64_t i = 0; i < SPACE_PAGES; i++) {
        run = s->pages[i].state == PAGE_FREE ? run + 1 : 0;
        if (run == pages)
            return i + 1 - pages;
    }
    return SPACE_PAGES;
}

uint64_t space_longest_free(const space *s) {
    uint64_t longest = 0;
    while (longest < SPACE_PAGES && first_fit(s, longest + 1) < SPACE_PAGES)
        longest++;
    return longest;
}

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

uint64_t space_available(const space *s) {
    uint64_t taken = 0;
    for (int i = 0; i < s->of->num_spaces; i++) {
        const space *other = s->of->spaces[i];
        uint64_t used = space_count(other, PAGE_LIVE);
        taken += used;
        if (other != s)
            taken += less(other->guaranteed_pages, used);
    }
    uint64_t room = less(s->of->limit_pages, taken);
    uint64_t own = less(s->max_pages, space_count(s, PAGE_LIVE));
    return room < own ? room : own;
}

bool space_sleeps(const space *s, int tag) {
    return s->all_asleep ? !s->tag_awake[tag] : s->tag_asleep[tag];
}

static bool anything_sleeps(const space *s) {
    bool any = s->all_asleep;
    for (int i = 0; i < SPACE_TAGS; i++)
        any |= s->tag_asleep[i];
    return any;
}

static outcome gives(ferrum_status status) {
    return (outcome){.status = status};
}

/* The pages of a range, or why the range is invalid. */
static outcome look(const space *s, uint64_t offset, uint64_t size,
                    pages_of *r) {
    if (size == 0)
        return gives(FERRUM_ERROR_INVALID_SIZE);
    if (offset > capacity(s) || size > capacity(s) - offset) {
        outcome o = gives(FERRUM_ERROR_INVALID_OFFSET);
        o.facts = FERRUM_FACT_OFFSET_BYTES;
        o.offset_bytes = offset;
        return o;
    }
    r->start = offset / s->of->page_bytes;
    r->end = (offset + size - 1) / s->of->page_bytes + 1;
    return gives(FERRUM_OK);
}

bool space_is_mapped(const space *s, uint64_t offset, uint64_t size) {
    pages_of r;
    if (look(s, offset, size, &r).status != FERRUM_OK)
        return false;
    for (uint64_t i = r.start; i < r.end; i++)
        if (s->pages[i].state != PAGE_LIVE)
            return false;
    return true;
}

/* A failure that states the first page in that state, or not in that state.
 * OK: there is none. */
static outcome first_page(const space *s, pages_of r, enum page_state state,
                          bool in, ferrum_status status) {
    for (uint64_t i = r.start; i < r.end; i++)
        if ((s->pages[i].state == state) == in) {
            outcome o = gives(status);
            if (status != FERRUM_ERROR_INVALID_STATE)
                o.facts = FERRUM_FACT_OFFSET_BYTES;
            o.offset_bytes = i * s->of->page_bytes;
            return o;
        }
    return gives(FERRUM_OK);
}

static outcome short_of(space *s, uint64_t requested) {
    outcome o = gives(FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    o.facts = FERRUM_FACT_REQUESTED_BYTES | FERRUM_FACT_AVAILABLE_BYTES;
    o.requested_bytes = requested;
    o.available_bytes = space_available(s) * s->of->page_bytes;
    return o;
}

static void note_peak(space *s) {
    uint64_t live = space_count(s, PAGE_LIVE);
    if (live > s->peak_pages)
        s->peak_pages = live;
}

static uint64_t pages_for(const space *s, uint64_t size) {
    return size / s->of->page_bytes + (size % s->of->page_bytes != 0);
}

void space_fits_first(const space *s, range_request *r) {
    r->offset_bytes =
        first_fit(s, pages_for(s, r->size_bytes)) * s->of->page_bytes;
}

/* The place of an allocation, or why there is none. */
static outcome place(const space *s, range_request *r, pages_of *at) {
    uint64_t wanted = pages_for(s, r->size_bytes);
    if (!r->anywhere) {
        outcome o = look(s, r->offset_bytes, r->size_bytes, at);
        if (o.status != FERRUM_OK)
            return o;
    } else if (wanted == 0 || wanted > SPACE_PAGES) {
        return gives(wanted == 0 ? FERRUM_ERROR_INVALID_SIZE
                                 : FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY);
    }
    if (space_sleeps(s, r->tag))
        return gives(FERRUM_ERROR_INVALID_STATE);
    if (r->anywhere) {
        space_fits_first(s, r);
        at->start = r->offset_bytes / s->of->page_bytes;
        at->end = at->start + wanted;
        return gives(at->start < SPACE_PAGES
                         ? FERRUM_OK
                         : FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY);
    }
    outcome o =
        first_page(s, *at, PAGE_ASLEEP, true, FERRUM_ERROR_INVALID_STATE);
    if (o.status == FERRUM_OK)
        o = first_page(s, *at, PAGE_LIVE, true, FERRUM_ERROR_ALREADY_MAPPED);
    return o;
}

outcome space_allocate(space *s, range_request r) {
    pages_of at = {0, 0};
    outcome o = place(s, &r, &at);
    if (o.status == FERRUM_OK && at.end - at.start > space_available(s)) {
        /* A model is requested in bytes, a pool in whole pages. */
        bool shared = s->of->num_spaces > 1;
        o = short_of(s, shared ? r.size_bytes
                               : (at.end - at.start) * s->of->page_bytes);
    }
    if (o.status == FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY ||
        o.status == FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY)
        s->failures++;
    if (o.status != FERRUM_OK)
        return o;
    for (uint64_t i = at.start; i < at.end; i++)
        s->pages[i] = (page){.state = PAGE_LIVE,
                             .tag = r.tag,
                             .offset_bytes = r.offset_bytes,
                             .size_bytes = r.size_bytes};
    s->allocations++;
    note_peak(s);
    o.place_bytes = r.offset_bytes;
    o.pages = at.end - at.start;
    return o;
}

/* Why the pages of a range cannot be freed together. */
static outcome may_free(const space *s, pages_of r) {
    outcome dozing =
        first_page(s, r, PAGE_ASLEEP, true, FERRUM_ERROR_INVALID_STATE);
    if (dozing.status == FERRUM_OK)
        return first_page(s, r, PAGE_LIVE, false, FERRUM_ERROR_NOT_MAPPED);
    outcome hole = first_page(s, r, PAGE_FREE, true, FERRUM_ERROR_NOT_MAPPED);
    if (hole.status != FERRUM_OK)
        return hole;
    bool all = first_page(s, r, PAGE_ASLEEP, false, -1).status == FERRUM_OK;
    return all ? gives(FERRUM_OK) : dozing;
}

outcome space_deallocate(space *s, uint64_t offset, uint64_t size) {
    pages_of r;
    outcome o = look(s, offset, size, &r);
    if (o.status == FERRUM_OK)
        o = may_free(s, r);
    if (o.status != FERRUM_OK)
        return o;
    bool whole =
        offset % s->of->page_bytes == 0 && size % s->of->page_bytes == 0;
    /* No two allocations have the same place. So pages that name this
     * allocation are all of its pages, and none of them was freed and
     * allocated again. */
    bool exact = true;
    for (uint64_t i = r.start; i < r.end; i++)
        exact &= s->pages[i].offset_bytes == offset &&
                 s->pages[i].size_bytes == size;
    if (!whole && !exact) {
        o = gives(FERRUM_ERROR_INVALID_OFFSET);
        o.facts = FERRUM_FACT_OFFSET_BYTES;
        o.offset_bytes = offset;
        return o;
    }
    memset(&s->pages[r.start], 0, (r.end - r.start) * sizeof s->pages[0]);
    s->frees++;
    return o;
}

outcome space_sleep(space *s, int tag, ferrum_sleep_backing backing) {
    bool already = s->all_asleep;
    for (int i = 0; tag < 0 && i < SPACE_TAGS; i++)
        already &= !s->tag_awake[i];
    if (tag >= 0 ? space_sleeps(s, tag) : already)
        return gives(FERRUM_ERROR_INVALID_STATE);
    outcome o = gives(FERRUM_OK);
    for (int i = 0; i < SPACE_PAGES; i++) {
        page *p = &s->pages[i];
        if (p->state != PAGE_LIVE || (tag >= 0 && p->tag != tag))
            continue;
        p->state = PAGE_ASLEEP;
        p->backing = backing;
        if (backing == FERRUM_SLEEP_DISCARD)
            p->value = 0;
        o.pages++;
    }
    if (tag >= 0 && o.pages == 0)
        return gives(FERRUM_ERROR_NOT_FOUND);
    if (tag < 0) {
        s->all_asleep = true;
        memset(s->tag_asleep, 0, sizeof s->tag_asleep);
        memset(s->tag_awake, 0, sizeof s->tag_awake);
    } else if (s->all_asleep) {
        s->tag_awake[tag] = false;
    } else {
        s->tag_asleep[tag] = true;
    }
    s->sleeps++;
    return o;
}

outcome space_wake(space *s, int tag) {
    if (tag >= 0 ? !space_sleeps(s, tag) : !anything_sleeps(s))
        return gives(FERRUM_ERROR_INVALID_STATE);
    outcome o = gives(FERRUM_OK);
    for (int i = 0; i < SPACE_PAGES; i++)
        o.pages += s->pages[i].state == PAGE_ASLEEP &&
                   (tag < 0 || s->pages[i].tag == tag);
    if (o.pages > space_available(s)) {
        s->wake_failures++;
        return short_of(s, o.pages * s->of->page_bytes);
    }
    for (int i = 0; i < SPACE_PAGES; i++)
        if (s->pages[i].state == PAGE_ASLEEP &&
            (tag < 0 || s->pages[i].tag == tag))
            s->pages[i].state = PAGE_LIVE;
    if (tag < 0) {
        s->all_asleep = false;
        memset(s->tag_asleep, 0, sizeof s->tag_asleep);
        memset(s->tag_awake, 0, sizeof s->tag_awake);
    } else if (s->all_asleep) {
        s->tag_awake[tag] = true;
    } else {
        s->tag_asleep[tag] = false;
    }
    /* After the last sleeping range has woken, later ranges are awake as
     * well. */
    if (s->all_asleep && space_count(s, PAGE_ASLEEP) == 0) {
        s->all_asleep = false;
        memset(s->tag_awake, 0, sizeof s->tag_awake);
    }
    s->wakes++;
    note_peak(s);
    return o;
}

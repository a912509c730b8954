/*
 * The promises about virtual pools and models of elastic pools, in plain C:
 * which pages are mapped or asleep, their contents, the counters, and the
 * results of calls.
 */
#ifndef FERRUM_TESTS_VIRTUAL_MODEL_H
#define FERRUM_TESTS_VIRTUAL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "ferrum_mem.h"

#define SPACE_PAGES 48
#define SPACE_TAGS 3
#define SPACES 3

enum page_state { PAGE_FREE, PAGE_LIVE, PAGE_ASLEEP };

typedef struct {
    enum page_state state;
    /* The value of every byte of the page. For a page asleep: its value
     * after the wake. */
    unsigned char value;
    /* The index of the tag, and the allocation of the page. */
    int tag;
    uint64_t offset_bytes, size_bytes;
    ferrum_sleep_backing backing;
} page;

/* The pages that several spaces share. */
typedef struct {
    uint64_t page_bytes, limit_pages;
    int num_spaces;
    struct space *spaces[SPACES];
} stock;

typedef struct space {
    stock *of;
    uint64_t guaranteed_pages, max_pages;
    page pages[SPACE_PAGES];
    bool all_asleep, tag_asleep[SPACE_TAGS], tag_awake[SPACE_TAGS];
    uint64_t allocations, frees, failures, sleeps, wakes, wake_failures;
    uint64_t peak_pages;
} space;

/** The result of a call: its status and, if they are stated, the numbers. */
typedef struct {
    ferrum_status status;
    uint32_t facts;
    uint64_t offset_bytes, requested_bytes, available_bytes;
    /* For a call that succeeds: its place, or the pages that it moved. */
    uint64_t place_bytes, pages;
} outcome;

uint64_t space_count(const space *s, enum page_state state);
uint64_t space_requested(const space *s);
uint64_t space_longest_free(const space *s);
/** How many more pages the space may get. */
uint64_t space_available(const space *s);
bool space_sleeps(const space *s, int tag);
bool space_is_mapped(const space *s, uint64_t offset, uint64_t size);

/** The calls: their results and, on success, the space after them. New pages
 *  have the value 0 until they are written. */
typedef struct {
    uint64_t offset_bytes, size_bytes;
    bool anywhere;
    int tag;
} range_request;
/** Sets the offset to the lowest free run that is long enough. */
void space_fits_first(const space *s, range_request *r);
outcome space_allocate(space *s, range_request r);
outcome space_deallocate(space *s, uint64_t offset, uint64_t size);
/** tag -1 means everything. */
outcome space_sleep(space *s, int tag, ferrum_sleep_backing backing);
outcome space_wake(space *s, int tag);

#endif

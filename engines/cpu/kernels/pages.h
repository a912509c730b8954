/*
 * Keys and values in pages. A page holds some tokens of a sequence, of all heads;
 * a table has the numbers of the pages of a sequence. Without tables a batch is
 * one page with all of its keys.
 */
#ifndef FK_PAGES_H
#define FK_PAGES_H

#include "interface.h"

#include <string.h>

static inline int64_t fk_short_at(uint64_t list, int64_t i) {
    int32_t number;
    memcpy(&number, (const char *)(uintptr_t)list + 4 * i, 4);
    return number;
}

/* How many keys of a batch are valid. */
static inline int64_t fk_length_of(const struct fk_attention *r,
                                   int64_t batch) {
    int64_t length = r->keys;
    if (r->tables)
        length = fk_short_at(r->lengths, batch);
    else if (r->lengths)
        memcpy(&length, (const char *)(uintptr_t)r->lengths + 8 * batch, 8);
    return length;
}

/* The page of a key, and its row there. */
static inline int64_t fk_page_of(const struct fk_attention *r, int64_t batch,
                                 int64_t key) {
    if (!r->tables)
        return batch;
    return fk_short_at(r->tables, batch * r->table_row + key / r->page_tokens);
}

static inline int64_t fk_row_of(const struct fk_attention *r, int64_t key) {
    return r->tables ? key % r->page_tokens : key;
}

/* How many of the keys from one on are in the same page. */
static inline int64_t fk_keys_of_page(const struct fk_attention *r, int64_t key,
                                      int64_t keys) {
    if (!r->tables)
        return keys;
    const int64_t left = r->page_tokens - key % r->page_tokens;
    return left < keys ? left : keys;
}

/* The first length that the tables do not have, or batch + the place of the first
 * number in the tables that is no page though a query sees a key of it, or -1. */
static int64_t fk_attention_check(const void *request) {
    const struct fk_attention *r = request;
    if (!r->tables)
        return -1;
    for (int64_t s = 0; s < r->batch; s++) {
        const int64_t length = fk_length_of(r, s);
        if (length < 0 || length > r->keys)
            return s;
        int64_t first = r->has_first ? length - r->queries + r->first : 0;
        first = first < 0 ? 0 : first;
        for (int64_t key = first; key < length;
             key += fk_keys_of_page(r, key, r->page_tokens)) {
            const int64_t page = fk_page_of(r, s, key);
            if (page < 0 || page >= r->pages)
                return r->batch + s * r->table_row + key / r->page_tokens;
        }
    }
    return -1;
}

#endif

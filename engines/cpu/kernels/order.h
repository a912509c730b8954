/*
 * The k best elements of a line: a heap whose first item is the worst one, so that
 * most elements are refused by one comparison. A heap of few items is kept sorted,
 * from the worst to the best.
 */
#ifndef FK_ORDER_H
#define FK_ORDER_H

#include <stdint.h>

#include "interface.h"

/* The most items that are kept sorted. */
#define FK_SORTED_ITEMS 16

/* The key orders elements; a larger one is better. */
struct fk_item {
    int64_t key, index;
};

struct fk_heap {
    struct fk_item *items;
    int64_t count, size; /* now, and at most */
    int64_t flip;        /* all bits set if small keys are better */
    int prefers_last;
};

static inline void fk_heap_start(struct fk_heap *h, char *workspace,
                                 const struct fk_top *r) {
    *h = (struct fk_heap){.items = (struct fk_item *)(void *)workspace,
                          .size = r->k,
                          .flip = r->is_smallest ? -1 : 0,
                          .prefers_last = r->prefers_last != 0};
}

static inline int fk_is_worse(const struct fk_heap *h, struct fk_item a,
                              struct fk_item b) {
    if (a.key != b.key)
        return a.key < b.key;
    return h->prefers_last ? a.index < b.index : a.index > b.index;
}

/* Moves the item at a place down to where both of its successors are better. */
static inline void fk_heap_sink(struct fk_heap *h, int64_t at, int64_t count) {
    const struct fk_item item = h->items[at];
    for (;;) {
        int64_t next = 2 * at + 1;
        if (next >= count)
            break;
        if (next + 1 < count &&
            fk_is_worse(h, h->items[next + 1], h->items[next]))
            next++;
        if (!fk_is_worse(h, h->items[next], item))
            break;
        h->items[at] = h->items[next];
        at = next;
    }
    h->items[at] = item;
}

/* Adds an item to sorted ones. If they are full, the worst one makes room. */
static inline void fk_insert(struct fk_heap *h, struct fk_item item) {
    struct fk_item *at = h->items;
    if (h->count < h->size) {
        for (at += h->count++; at > h->items && fk_is_worse(h, item, at[-1]);
             at--)
            *at = at[-1];
    } else {
        for (const struct fk_item *best = at + h->count - 1;
             at < best && fk_is_worse(h, at[1], item); at++)
            *at = at[1];
    }
    *at = item;
}

static inline void fk_heap_offer(struct fk_heap *h, int64_t key,
                                 int64_t index) {
    const struct fk_item item = {key ^ h->flip, index};
    if (h->size <= FK_SORTED_ITEMS) {
        if (h->count < h->size ||
            (h->size > 0 && fk_is_worse(h, h->items[0], item)))
            fk_insert(h, item);
        return;
    }
    if (h->count < h->size) {
        h->items[h->count++] = item;
        if (h->count == h->size)
            for (int64_t i = h->size / 2 - 1; i >= 0; i--)
                fk_heap_sink(h, i, h->size);
        return;
    }
    if (fk_is_worse(h, h->items[0], item)) {
        h->items[0] = item;
        fk_heap_sink(h, 0, h->size);
    }
}

/* Puts the best item first. The heap was full. */
static inline void fk_heap_sort(struct fk_heap *h) {
    const int is_sorted = h->size <= FK_SORTED_ITEMS;
    for (int64_t left = h->count - 1, at = 0; left > at; left--) {
        const struct fk_item worst = h->items[at];
        h->items[at] = h->items[left];
        h->items[left] = worst;
        if (is_sorted)
            at++;
        else
            fk_heap_sink(h, 0, left);
    }
}

static int64_t fk_top_workspace(const void *request) {
    const struct fk_top *r = request;
    return (r->k * (int64_t)sizeof(struct fk_item) + 63) / 64 * 64;
}

#endif

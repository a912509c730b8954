/*
 * Thread caches: frees on a stream other than that of the block. The block has to
 * wait for the work of both streams. If one of them has no queued work, the order
 * of the other one is enough, and the block goes into the depot of that one.
 * Otherwise the core puts the block behind both.
 */
#include "library.h"
#include "parts.h"

/* Returns the calling thread's lane of a depot if it has one, otherwise the
 * depot. */
static struct fm_store *fm_lane_or(struct fm_store *depot) {
    struct fm_store *lane = fm_self != NULL ? fm_self->lanes : NULL;
    while (lane != NULL && lane->depot != depot)
        lane = lane->next;
    return lane != NULL ? lane : depot;
}

enum fm_order_way fm_order_find(const struct fm_site *site, uint64_t meta,
                                struct fm_order *order,
                                struct fm_store **store_out) {
    struct fm_store *own = fm_depot_of_live(site->cache, meta);
    *store_out = site->store;
    if (own == NULL || own == fm_depot_for(site->store))
        return FM_ORDER_STORE;
    if (order->own != 0 && (order->busy & FM_BUSY_NAMED) == 0) {
        *store_out = fm_lane_or(own);
        return FM_ORDER_STORE;
    }
    if (order->own != own->stream) {
        order->own = own->stream;
        return FM_ORDER_ASK;
    }
    return order->busy & FM_BUSY_OWN ? FM_ORDER_PASS : FM_ORDER_STORE;
}

void fm_order_ask_unlock(const struct fm_site *site, struct fm_order *order) {
    uint64_t named = site->stream;
    fm_unlock();
    order->busy = fmgo_cache_busy(order->own, named);
}

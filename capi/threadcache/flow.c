/*
 * Thread caches: misses. How magazines move between lanes and depots, and how
 * much a lane keeps.
 */
#include "parts.h"

/* A magazine holds few large blocks, but enough small ones to make misses
 * rare. */
#define FM_MAGAZINE_BYTES (UINT64_C(8) << 20)
#define FM_MAGAZINE_LEAST 8
#define FM_MAGAZINE_MOST 32
#define FM_PARCEL_ROOM 64

/* A lane gets at most so many bytes at a time, but at least so many blocks. */
#define FM_PORTION_BYTES (UINT64_C(1) << 20)
#define FM_PORTION_LEAST 4

uint32_t fm_magazine_room(const struct fm_cache *cache, uint32_t class) {
    if (class == FM_PARCEL_CLASS)
        return FM_PARCEL_ROOM;
    uint64_t room = FM_MAGAZINE_BYTES / cache->class_bytes[class];
    if (room > FM_MAGAZINE_MOST)
        return FM_MAGAZINE_MOST;
    return room < FM_MAGAZINE_LEAST ? FM_MAGAZINE_LEAST : (uint32_t)room;
}

/* How many bytes of a class a lane gets at its first miss; at least one block. */
#define FM_APPETITE_BYTES (UINT64_C(16) << 10)

static uint32_t fm_appetite(const struct fm_store *store, uint32_t class) {
    uint32_t appetite = store->bins[class].appetite;
    if (appetite != 0)
        return appetite;
    uint64_t first = FM_APPETITE_BYTES / store->cache->class_bytes[class];
    uint32_t room = fm_magazine_room(store->cache, class);
    return first == 0 ? 1 : first < room ? (uint32_t)first : room;
}

/* A thread may keep no more than the recent peak of live bytes and a little
 * more. If its bound may grow, it may keep at least this part of the peak. */
#define FM_THREAD_PART 16

/* A lane whose thread only frees keeps this part of its bound, so that its
 * blocks reach the threads that allocate before these miss them, and in
 * portions for which a depot has room. */
#define FM_GIVING_PART 16

/* Reports whether the thread has recently allocated blocks, and not only freed
 * them. */
static bool fm_lane_asks(const struct fm_store *lane) {
    for (uint32_t class = 0; class < lane->cache->classes; class++)
        if (lane->bins[class].appetite != 0)
            return true;
    return false;
}

/* All lanes of a thread for one pool share the thread's bound. */
void fm_lanes_bound(struct fm_thread *thread, const struct fm_cache *cache) {
    uint64_t lanes = 0, bytes = cache->thread_bytes;
    uint64_t part = cache->high_bytes / FM_THREAD_PART;
    if (bytes > fm_keep_bytes(cache))
        bytes = fm_keep_bytes(cache);
    if (cache->thread_bytes_grow && bytes < part)
        bytes = part;
    for (struct fm_store *lane = thread->lanes; lane != NULL; lane = lane->next)
        lanes += lane->cache == cache;
    for (struct fm_store *lane = thread->lanes; lane != NULL; lane = lane->next)
        if (lane->cache == cache)
            lane->bound_bytes =
                bytes / lanes / (fm_lane_asks(lane) ? 1 : FM_GIVING_PART);
}

/* ----------------------------------------------------------------- take */

/* Takes a block from a depot. It then counts as idle in the store. */
static uint32_t fm_site_pull(struct fm_store *store, struct fm_store *depot,
                             uint32_t class) {
    uint32_t index = fm_depot_pop(depot, class);
    if (index != 0) {
        depot->tally.idle_bytes -= depot->cache->class_bytes[class];
        store->tally.idle_bytes += depot->cache->class_bytes[class];
    }
    return index;
}

/* The number of parcels that are opened to find one block. */
#define FM_PARCELS_TRIED 2

/* Moves the blocks of a class into the depot and leaves an empty magazine for
 * the next ones. */
static void fm_lane_pour(struct fm_store *lane, uint32_t class) {
    if (lane->bins[class].top == &fm_magazine_none)
        return;
    fm_store_pour(lane, class, lane->depot);
    struct fm_magazine *empty = fm_magazine_get(lane->cache, class);
    if (empty == NULL)
        return;
    empty->store = lane;
    lane->bins[class].top = empty;
}

/* Moves blocks into the depot until a lane holds at most goal_bytes: first all
 * blocks of classes that the thread has not allocated recently, so that other
 * threads can use them, and then the largest. */
static void fm_lane_shed(struct fm_store *lane, uint64_t goal_bytes) {
    uint32_t class;
    for (class = lane->cache->classes; class-- > 0;)
        if (lane->bins[class].appetite == 0 && !fm_parcel_pack(lane, class))
            fm_lane_pour(lane, class);
    for (class = lane->cache->classes;
         class-- > 0 && lane->tally.idle_bytes > goal_bytes;) {
        fm_lane_pour(lane, class);
        lane->bins[class].appetite /= 2;
    }
}

/* Makes room for so many bytes within a lane's bound, or for fewer if the
 * bound is smaller, and returns the size of the room. */
static uint64_t fm_lane_make_room(struct fm_store *lane, uint64_t bytes) {
    if (lane->tally.idle_bytes + bytes > lane->bound_bytes)
        fm_lanes_bound(lane->thread, lane->cache);
    if (lane->tally.idle_bytes + bytes > lane->bound_bytes) {
        uint64_t room = lane->bound_bytes / 4;
        if (room < bytes && bytes <= lane->bound_bytes)
            room = bytes;
        fm_lane_shed(lane, lane->bound_bytes - room);
    }
    return lane->bound_bytes > lane->tally.idle_bytes
               ? lane->bound_bytes - lane->tally.idle_bytes
               : 0;
}

bool fm_lane_room(struct fm_store *lane, uint32_t class) {
    struct fm_bin *bin = &lane->bins[class];
    if (bin->top->count < bin->top->room)
        return true;
    struct fm_magazine *other = bin->top->next;
    if (other != NULL && other->count < other->room) {
        fm_lane_swap(bin);
        return true;
    }
    struct fm_magazine *empty = fm_magazine_get(lane->cache, class);
    if (empty == NULL)
        return false;
    if (other != NULL) {
        bin->top->next = NULL;
        lane->tally.idle_bytes -=
            (uint64_t)other->count * lane->cache->class_bytes[class];
        fm_depot_attach(lane->depot, other);
    }
    empty->store = lane;
    empty->next = bin->top != &fm_magazine_none ? bin->top : NULL;
    bin->top = empty;
    return true;
}

/* Moves up to count blocks of a depot to the top of a lane's bin. */
static void fm_lane_pull(struct fm_store *lane, struct fm_store *depot,
                         uint32_t class, uint32_t count) {
    while (count-- > 0 && fm_lane_room(lane, class)) {
        uint32_t index = fm_site_pull(lane, depot, class);
        if (index == 0)
            return;
        fm_magazine_push(lane->cache, lane->bins[class].top, index,
                         fm_meta(lane->cache, index));
    }
}

/* Takes a block from a depot, and further blocks that the lane may need for
 * its next calls: a whole magazine, once the lane has needed many. */
static uint32_t fm_lane_refill(struct fm_store *lane, struct fm_store *depot,
                               uint32_t class) {
    struct fm_cache *cache = lane->cache;
    struct fm_bin *bin = &lane->bins[class];
    uint64_t size = cache->class_bytes[class], index;
    uint32_t room = fm_magazine_room(cache, class);
    if (depot->bins[class].top == NULL)
        return 0;
    uint32_t appetite = fm_appetite(lane, class);
    bin->appetite = appetite * 2 < room ? appetite * 2 : room;
    uint64_t portion = FM_PORTION_BYTES / size;
    if (portion < FM_PORTION_LEAST)
        portion = FM_PORTION_LEAST;
    if (appetite > portion)
        appetite = (uint32_t)portion;
    uint64_t fit = fm_lane_make_room(lane, appetite * size) / size;
    if (appetite > fit)
        appetite = fit == 0 ? 1 : (uint32_t)fit;
    if (appetite < room) {
        index = fm_site_pull(lane, depot, class);
        fm_lane_pull(lane, depot, class, appetite - 1);
        return (uint32_t)index;
    }
    struct fm_magazine *full = fm_depot_detach(depot, class);
    struct fm_magazine *empty = bin->top;
    lane->tally.idle_bytes += full->count * size;
    full->store = lane;
    full->next = empty->next;
    bin->top = full;
    fm_magazine_put(cache, empty);
    index = fm_magazine_pop(full);
    return index != 0 ? (uint32_t)index : fm_site_pull(lane, depot, class);
}

/* Takes one of the lane's own blocks. */
static uint32_t fm_lane_pop(struct fm_store *lane, uint32_t class) {
    struct fm_bin *bin = &lane->bins[class];
    uint32_t index = fm_magazine_pop(bin->top);
    if (index == 0 && bin->top->next != NULL && bin->top->next->count > 0) {
        fm_lane_swap(bin);
        index = fm_magazine_pop(bin->top);
    }
    return index;
}

/* Takes a block from the parcels of a depot. */
static uint32_t fm_lane_unpack(struct fm_store *lane, struct fm_store *depot,
                               uint32_t class) {
    struct fm_bin *bin = &lane->bins[class];
    uint32_t index = 0;
    if (bin->appetite == 0)
        bin->appetite = 1;
    for (unsigned tries = 0;
         tries < FM_PARCELS_TRIED && index == 0 && depot->parcels != NULL;
         tries++) {
        if (!fm_parcel_open(lane, depot))
            break;
        index = fm_lane_pop(lane, class);
    }
    return index;
}

static uint32_t fm_lane_take(struct fm_store *lane, uint32_t class) {
    struct fm_store *any = lane->cache->any;
    uint32_t index = fm_lane_pop(lane, class);
    if (index == 0)
        index = fm_lane_refill(lane, lane->depot, class);
    if (index == 0)
        index = fm_lane_unpack(lane, lane->depot, class);
    if (index == 0)
        index = fm_lane_refill(lane, any, class);
    return index != 0 ? index : fm_lane_unpack(lane, any, class);
}

static uint32_t fm_site_take_class(struct fm_store *store, uint32_t class) {
    if (store->depot != NULL)
        return fm_lane_take(store, class);
    fm_parcel_sort(store);
    fm_parcel_sort(store->cache->any);
    uint32_t index = fm_depot_pop(store, class);
    return index != 0 ? index : fm_site_pull(store, store->cache->any, class);
}

uint32_t fm_site_appetite(const struct fm_store *store, uint32_t class) {
    uint32_t most = fm_core_lease_most(store->cache, class);
    uint32_t appetite = fm_appetite(store, class);
    return appetite < most ? appetite : most;
}

uint32_t fm_site_take(struct fm_store *store, uint32_t class) {
    const struct fm_cache *cache = store->cache;
    uint32_t index = fm_site_take_class(store, class);
    if (index == 0 && fm_class_borrows(cache, class)) {
        store->bins[class].borrows = FM_BORROWS;
        index = fm_site_take_class(store, class + 1);
    }
    /* No block was found, but blocks may have moved. */
    if (index == 0)
        fm_site_tell(store);
    return index;
}

/* ----------------------------------------------------------------- give */

struct fm_store *fm_site_give(struct fm_store *store, uint32_t index,
                              uint64_t meta) {
    struct fm_cache *cache = store->cache;
    uint32_t class = fm_meta_class(meta);
    uint64_t size = cache->class_bytes[class];
    if (store->depot != NULL) {
        if (fm_lane_make_room(store, size) >= size &&
            fm_lane_room(store, class)) {
            fm_magazine_push(cache, store->bins[class].top, index, meta);
            return store;
        }
    }
    struct fm_store *depot = fm_depot_for(store);
    if (!fm_depot_reserve(depot, class, 1))
        return NULL;
    fm_depot_push(depot, index, meta);
    return depot;
}

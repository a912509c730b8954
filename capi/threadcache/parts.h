/*
 * Thread caches: what their files offer to each other, and the small things that
 * the way of a hit needs inline. All of it but that wants the mutex to be held.
 */
#ifndef FERRUM_THREADCACHE_PARTS_H
#define FERRUM_THREADCACHE_PARTS_H

#include "types.h"

/* ------------------------------------------------ stop.c: stopping */

/** 0, or some of these: what a thread must heed once it is busy. One word, so
 *  that a hit looks once. */
extern FM_HIDDEN _Atomic uint32_t fm_stop;
enum {
    /** Threads are to stop. */
    FM_STOP_ALL = 1,
    /** Busy is to be exchanged, for membarrier cannot be had. */
    FM_STOP_FENCED = 2
};
/** Has membarrier made ready, with the mutex held; once is enough. */
FM_HIDDEN void fm_stop_register(void);
/** Grows whenever a handle that may have been looked up is no longer good. */
extern FM_HIDDEN uint64_t fm_epoch;

FM_HIDDEN void fm_lock(void);
FM_HIDDEN void fm_unlock(void);
/** Stops all threads, with the mutex held. */
FM_HIDDEN void fm_stop_begin(void);
/** Says whether any thread has a lane of the cache. */
FM_HIDDEN bool fm_has_lane(const struct fm_cache *cache);
/** fm_stop_begin, unless no thread has a lane of the cache: then nobody touches it
 *  without the mutex, and it is false. */
FM_HIDDEN bool fm_stop_begin_for(const struct fm_cache *cache);
FM_HIDDEN void fm_stop_end(void);

static inline void fm_busy_end(struct fm_thread *thread) {
    atomic_store_explicit(&thread->busy, 0, memory_order_release);
}

/** Begins the work of a thread on its own lanes; false: it is not busy, because
 *  threads are to stop, or are to fence. */
static inline bool fm_busy_begin(struct fm_thread *thread) {
    atomic_store_explicit(&thread->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (FM_LIKELY(atomic_load_explicit(&fm_stop, memory_order_seq_cst) == 0))
        return true;
    fm_busy_end(thread);
    return false;
}

/** The same, with a fence if need be; false: threads are to stop. */
static inline bool fm_busy_begin_fenced(struct fm_thread *thread) {
    if (fm_busy_begin(thread))
        return true;
    atomic_exchange_explicit(&thread->busy, 1, memory_order_seq_cst);
    if ((atomic_load_explicit(&fm_stop, memory_order_seq_cst) & FM_STOP_ALL) ==
        0)
        return true;
    fm_busy_end(thread);
    return false;
}

/* -------------------------------------------- threads.c: threads */

extern FM_HIDDEN struct fm_thread *fm_threads;

static inline struct fm_key *fm_key_of(struct fm_thread *thread, uint64_t pool,
                                       uint64_t stream) {
    return &thread->keys[(pool + 5 * stream) % FM_KEYS];
}

/** Gives the calling thread's record, made if need be, with the mutex held; NULL
 *  when there is no memory or the thread is at its end. */
FM_HIDDEN struct fm_thread *fm_thread_here(void);
/** Says whether any thread keeps where calls for the pool go. */
FM_HIDDEN bool fm_keys_known(uint64_t pool);
/** Forgets keys of a lane, or of a pool when lane is NULL; threads are stopped. */
FM_HIDDEN void fm_keys_forget(uint64_t pool, const struct fm_store *lane);

/* ---------------------------------------------- table.c: blocks */

/** Makes room for count more blocks, with the mutex held. May stop the threads. */
FM_HIDDEN bool fm_table_reserve(struct fm_cache *cache, uint32_t count);
/** Enters a block, in room that was reserved, under a record for the lane; NULL:
 *  for nobody's. May stop the threads. */
FM_HIDDEN uint32_t fm_table_enter(struct fm_cache *cache, uint64_t address,
                                  uint64_t meta, struct fm_store *lane);
/** Takes back the records that were kept for a lane. */
FM_HIDDEN void fm_table_end_run(struct fm_store *lane);
/** Takes a block out. */
FM_HIDDEN void fm_table_remove(struct fm_cache *cache, uint32_t index);
FM_HIDDEN void fm_table_free(struct fm_cache *cache);

/* Addresses differ in few bits, and often by steps of a power of two: the shift
 * brings the upper ones down to where the product spreads them. 0 stays 0. */
static inline uint64_t fm_hash(uint64_t address) {
    return (address ^ address >> 16) * UINT64_C(0xD6E8FEB86659FD93);
}

/** Where a table is searched first for a hash: its upper half says how far on. */
static inline uint64_t fm_table_home(const struct fm_cache *cache,
                                     uint64_t hash) {
    return (hash >> 32) * cache->table_size >> 32;
}

/** Gives the index of the leased block at an address, or 0. */
static inline uint32_t fm_table_find(const struct fm_cache *cache,
                                     uint64_t address) {
    uint64_t hash = fm_hash(address);
    uint32_t mark = (uint32_t)hash & ~FM_INDEX_MASK;
    for (uint64_t at = fm_table_home(cache, hash);;) {
        uint32_t entry =
            atomic_load_explicit(&cache->table[at], memory_order_acquire);
        if (entry == 0)
            return 0;
        uint32_t index = entry ^ mark;
        if (index <= FM_INDEX_MASK) {
            const struct fm_block *block = &cache->blocks[index];
            if (FM_LIKELY(atomic_load_explicit(&block->address,
                                               memory_order_relaxed) ==
                          address))
                return index;
        }
        if (FM_UNLIKELY(++at == cache->table_size))
            at = 0;
    }
}

static inline uint64_t fm_meta(const struct fm_cache *cache, uint32_t index) {
    return atomic_load_explicit(&cache->blocks[index].meta,
                                memory_order_relaxed);
}

static inline void fm_meta_set(struct fm_cache *cache, uint32_t index,
                               uint64_t meta) {
    atomic_store_explicit(&cache->blocks[index].meta, meta,
                          memory_order_relaxed);
}

/** Has another holder in the meta of a record. */
static inline void fm_meta_hold(struct fm_cache *cache, uint32_t index,
                                uint64_t holder) {
    fm_meta_set(cache, index,
                (fm_meta(cache, index) & (FM_HOLDER_UNIT - 1)) | holder);
}

static inline uint64_t fm_address(const struct fm_cache *cache,
                                  uint32_t index) {
    return atomic_load_explicit(&cache->blocks[index].address,
                                memory_order_relaxed);
}

/** Says whether an address in a record is a block's. */
static inline bool fm_is_block(uint64_t address) {
    return (int64_t)address > 0;
}

/** Says whether a block of the meta is with the program. */
static inline bool fm_meta_live(uint64_t meta) {
    return (meta & FM_HOLDER_IDLE) == 0;
}

static inline uint32_t fm_meta_number(uint64_t meta) {
    return (uint32_t)(meta >> FM_HOLDER_SHIFT) & (FM_NUMBERS_MAX - 1);
}

static inline uint32_t fm_meta_class(uint64_t meta) {
    return (uint32_t)(meta >> FM_CLASS_SHIFT) & 0xFF;
}

static inline uint32_t fm_meta_slack(uint64_t meta) {
    return (uint32_t)meta & ((UINT32_C(1) << FM_SLACK_BITS) - 1);
}

/** Class of a size from 1 to block_max: below 16 granules one each, then 8 for
 *  every doubling. */
static inline uint32_t fm_class_of(const struct fm_cache *cache,
                                   uint64_t size_bytes) {
    uint64_t n = (size_bytes - 1) >> cache->granule_shift;
    uint32_t doublings = 60 - (uint32_t)__builtin_clzll(n | 8);
    return 8 * doublings + (uint32_t)(n >> doublings);
}

/* --------------------------------------------- store.c: stores */

/** Makes a lane's or depot's store, in no list but that of all. NULL when there
 *  is no memory. */
FM_HIDDEN struct fm_store *fm_store_make(struct fm_cache *cache,
                                         uint64_t stream,
                                         struct fm_thread *thread);
/** Puts all blocks of a class into a depot. */
FM_HIDDEN void fm_store_pour(struct fm_store *store, uint32_t class,
                             struct fm_store *depot);
/** Ends a store that is in no other list any more; what is in it goes to a
 *  depot. */
FM_HIDDEN void fm_store_retire(struct fm_store *store, struct fm_store *depot);
/** Frees a store and nothing that is in it. */
FM_HIDDEN void fm_store_free(struct fm_store *store);
/** Adds to the pool's total what happened in a store since the last time. */
FM_HIDDEN void fm_store_tell(struct fm_store *store);
/** Does so for all stores that a call of this one may have moved blocks between:
 *  otherwise the total would have them twice, or not at all. */
FM_HIDDEN void fm_site_tell(struct fm_store *store);

/** Gives an empty magazine that nobody has, NULL when there is no memory. */
FM_HIDDEN struct fm_magazine *fm_magazine_get(struct fm_cache *cache,
                                              uint32_t class);
/** Takes an empty magazine that nobody needs. */
FM_HIDDEN void fm_magazine_put(struct fm_cache *cache,
                               struct fm_magazine *magazine);
/** Counts entries out that were not good: one free too many each. What those have
 *  counted is found out when all blocks are counted. */
FM_HIDDEN FM_COLD void fm_magazine_dropped(struct fm_magazine *magazine,
                                           uint64_t count);
/** Pops a good entry: its block, or 0. The meta stays, nothing is counted. */
FM_HIDDEN uint32_t fm_magazine_pop(struct fm_magazine *magazine);
/** Pushes a block, for which there is room. Nothing is counted. */
static inline void fm_magazine_push(struct fm_cache *cache,
                                    struct fm_magazine *magazine,
                                    uint32_t index, uint64_t meta) {
    fm_meta_set(cache, index, (meta & (FM_HOLDER_UNIT - 1)) | magazine->holder);
    magazine->items[magazine->count++] = index;
}

/** Says whether an entry is good: its block is idle in this magazine. */
static inline bool fm_entry_good(const struct fm_magazine *magazine,
                                 uint64_t address, uint64_t meta) {
    return (meta ^ magazine->holder) < FM_HOLDER_UNIT && fm_is_block(address);
}

static inline void fm_tally_alloc(struct fm_store *store, uint64_t size_bytes,
                                  uint64_t requested_bytes) {
    store->tally.allocations++;
    store->tally.requested_bytes += requested_bytes;
    store->tally.live_bytes += size_bytes;
    store->tally.idle_bytes -= size_bytes;
}

static inline void fm_tally_free(struct fm_store *store, uint64_t size_bytes,
                                 uint64_t requested_bytes) {
    store->tally.frees++;
    store->tally.requested_bytes -= requested_bytes;
    store->tally.live_bytes -= size_bytes;
    store->tally.idle_bytes += size_bytes;
}

/* ------------------------------- order.c: streams of live blocks */

/** What is known of the two streams that a free is behind. */
struct fm_order {
    /** The stream of the block; 0: the core was not asked. */
    uint64_t own;
    /** Some of FM_BUSY_OWN and FM_BUSY_NAMED: that stream may have work queued. */
    int32_t busy;
};
/** Where a live block goes. */
enum fm_order_way {
    /** Into a store. */
    FM_ORDER_STORE,
    /** The core is to be asked, see fm_order_ask, and the block looked up anew. */
    FM_ORDER_ASK,
    /** To the core. */
    FM_ORDER_PASS
};
/** Says where a live block of the meta goes that is freed at a site which has a
 *  store. */
FM_HIDDEN enum fm_order_way fm_order_find(const struct fm_site *site,
                                          uint64_t meta, struct fm_order *order,
                                          struct fm_store **store_out);
/** Asks the core about the streams. The mutex is given up. */
FM_HIDDEN void fm_order_ask_unlock(const struct fm_site *site,
                                   struct fm_order *order);
/** Gives the depot of the stream of a live block, or NULL when it is gone. */
static inline struct fm_store *fm_depot_of_live(const struct fm_cache *cache,
                                                uint64_t meta) {
    uint32_t number = fm_meta_number(meta);
    return number < cache->numbers_room ? cache->by_number[number] : NULL;
}

/* ----------------------------------------------- depot.c: depots */

/** Lanes and depots may keep this much more than was live of late. */
#define FM_KEEP_LEAST (UINT64_C(1) << 20)

/** How much lanes and depots may keep, as far as the pool's settings let them. */
FM_HIDDEN uint64_t fm_keep_bytes(const struct fm_cache *cache);
/** Notes that the core has leased so much. */
FM_HIDDEN void fm_keep_leased(struct fm_cache *cache, uint64_t bytes);

/** Notes what is live, which a block may be that is freed before anybody looks. */
FM_HIDDEN void fm_keep_lived(struct fm_cache *cache);

/** Notes that a bin of a depot has fewer blocks now. */
static inline void fm_depot_fewer(struct fm_bin *bin, uint64_t count) {
    bin->blocks -= count;
    if (bin->blocks < bin->fewest)
        bin->fewest = bin->blocks;
}
/** Gives the top magazine of a depot's bin, with room for a block at least; NULL
 *  when there is no memory. */
FM_HIDDEN struct fm_magazine *fm_depot_open(struct fm_store *depot,
                                            uint32_t class);
/** Takes the top magazine of a depot's bin away, which is empty. */
FM_HIDDEN void fm_depot_drop_top(struct fm_store *depot, struct fm_bin *bin);
/** Puts a magazine with blocks into a depot and counts them there. */
FM_HIDDEN void fm_depot_attach(struct fm_store *depot,
                               struct fm_magazine *magazine);
/** Takes a magazine of a class out of a depot, a full one if it can be; NULL when
 *  there is none. */
FM_HIDDEN struct fm_magazine *fm_depot_detach(struct fm_store *depot,
                                              uint32_t class);
/** Makes room for count blocks of a class; false when there is no memory. */
FM_HIDDEN bool fm_depot_reserve(struct fm_store *depot, uint32_t class,
                                uint32_t count);
/** Pushes a block, in room that was reserved; it counts as idle in the depot if
 *  the caller says so. */
FM_HIDDEN void fm_depot_push(struct fm_store *depot, uint32_t index,
                             uint64_t meta);
/** Takes the last push back, whatever its block is now. */
FM_HIDDEN void fm_depot_unpush(struct fm_store *depot, uint32_t class);
/** Pops a block of a class, 0 when there is none. It still counts as idle in the
 *  depot. */
FM_HIDDEN uint32_t fm_depot_pop(struct fm_store *depot, uint32_t class);
/** Takes out what is too much in a depot, after that many blocks were freed, and
 *  gives it back to the core; the mutex is held, and is not held afterwards. */
FM_HIDDEN void fm_depot_trim_unlock(struct fm_store *depot, uint64_t freed);

/* ------------------------------------------------- flow.c: misses */

/** Most blocks of a class in one magazine. */
FM_HIDDEN uint32_t fm_magazine_room(const struct fm_cache *cache,
                                    uint32_t class);
/** Sets the bounds of the thread's lanes of a pool. */
FM_HIDDEN void fm_lanes_bound(struct fm_thread *thread,
                              const struct fm_cache *cache);
/** How many blocks to lease for a store that misses. */
FM_HIDDEN uint32_t fm_site_appetite(const struct fm_store *store,
                                    uint32_t class);
/** Takes a block of a class, or of the next, that counts as idle in the store
 *  then; 0 when neither it nor a depot has one. */
FM_HIDDEN uint32_t fm_site_take(struct fm_store *store, uint32_t class);
/** Puts a live block of the meta into the lane or its depot; gives the store that
 *  has it, where the caller counts it, or NULL when there is no memory. */
FM_HIDDEN struct fm_store *fm_site_give(struct fm_store *store, uint32_t index,
                                        uint64_t meta);

/** Has the other magazine of a lane come to the top. */
static inline void fm_lane_swap(struct fm_bin *bin) {
    struct fm_magazine *top = bin->top, *other = top->next;
    top->next = NULL;
    other->next = top;
    bin->top = other;
}

/* From this size on, a lease brings so few blocks that the next larger class is
 * tried before. */
#define FM_BORROW_BYTES (UINT32_C(64) << 10)
/* What a borrowed block wastes counts more than a look at the depots, if that is
 * taken seldom. */
#define FM_BORROWS 16

/** Says whether blocks of the next class may stand in for those of this one. */
static inline bool fm_class_borrows(const struct fm_cache *cache,
                                    uint32_t class) {
    return cache->class_bytes[class] >= FM_BORROW_BYTES &&
           class + 1 < cache->classes &&
           cache->class_bytes[class + 1] - cache->class_bytes[class] <=
               cache->class_bytes[class] / 8;
}

/** Makes room for one block on top of a lane's bin; false: there is no memory. */
FM_HIDDEN bool fm_lane_room(struct fm_store *lane, uint32_t class);

static inline struct fm_store *fm_depot_for(struct fm_store *store) {
    return store->depot != NULL ? store->depot : store;
}

/* ---------------------------------------------- parcel.c: parcels */

/** Puts a lane's blocks of a class into parcels of its depot, and leaves their
 *  magazines, empty; false: there is no memory for all. */
FM_HIDDEN bool fm_parcel_pack(struct fm_store *lane, uint32_t class);
/** Sorts a parcel of a depot: into the lane what the thread asks for, the rest
 *  into the depot's bins. False: there is none, or no memory. */
FM_HIDDEN bool fm_parcel_open(struct fm_store *lane, struct fm_store *depot);
/** Sorts all parcels of a depot into its bins, as far as there is memory. */
FM_HIDDEN void fm_parcel_sort(struct fm_store *depot);
/** Pops a block, which counts as idle in the depot still; 0: there is none. */
FM_HIDDEN uint32_t fm_parcel_pop(struct fm_store *depot);
/** Puts all parcels into another depot. */
FM_HIDDEN void fm_parcel_pour(struct fm_store *from, struct fm_store *depot);

/** Has a line come that is about to be written. */
static inline void fm_prefetch_write(const void *line) {
#if defined(__x86_64__)
    /* Compilers only give this for processors that are named to them; others do
     * nothing here. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* --------------------------------------- core.c: to and from the core */

/** Leases at most so many blocks at once. */
#define FM_LEASE_MAX 256

/** Leases count blocks of a class or fewer into the store's depot and says how
 *  many came. The mutex is given up meanwhile: the store may be gone. */
FM_HIDDEN uint32_t fm_core_lease(struct fm_store *store, uint32_t class,
                                 uint32_t count);
/** How many blocks to lease at most when one is wanted. */
FM_HIDDEN uint32_t fm_core_lease_most(const struct fm_cache *cache,
                                      uint32_t class);
/** A block that leaves the table. */
struct fm_leaver {
    uint32_t index;
    uint64_t address, meta;
};
/** How fm_core_give_back went, if not refused with a status below 0. */
enum { FM_CORE_TAKEN = 0, FM_CORE_GONE = 1 };
/**
 * Gives count blocks (at most FM_LEASE_MAX) that are in no store, named by their
 * indices, back to the core. The mutex is given up meanwhile.
 *
 * @return FM_CORE_TAKEN; FM_CORE_GONE when the pool is gone, and its caches; a
 *         status below 0 when the core refused: the blocks are in the table
 *         again, under new indices, with the meta that they had.
 */
FM_HIDDEN int32_t fm_core_give_back(struct fm_cache *cache, uint64_t stream,
                                    struct fm_leaver *leavers, uint32_t count);
/** Takes a block out of the table for good. */
FM_HIDDEN void fm_core_leave(struct fm_cache *cache, uint32_t index);
/** The pool's total, for the core. */
FM_HIDDEN struct fm_cache_counts fm_core_counts(const struct fm_cache *cache);

/* ----------------------------------------------- pools.c: pools */

/** All pools' caches, by the low 32 bits of their handles. */
extern FM_HIDDEN struct fm_cache **fm_caches;
extern FM_HIDDEN uint32_t fm_caches_room;

/** Finds the caches of a pool, with the mutex held. */
FM_HIDDEN struct fm_cache *fm_cache_of(uint64_t pool);
/** Finds a depot by the stream's own handle. */
FM_HIDDEN struct fm_store *fm_depot_of(struct fm_cache *cache, uint64_t stream);
/** Takes the mutex and finds where a call of this thread works. False, without
 *  the mutex: the pool has no caches or a handle is wrong. */
FM_HIDDEN bool fm_site_lock(uint64_t pool, uint64_t stream,
                            struct fm_site *site_out);

/** Keeps an error of an operation and gives its status. */
FM_HIDDEN FM_COLD int32_t fm_cache_fail(int32_t status, const char *operation,
                                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/*
 * Thread caches: the functions that their files call in each other, and the
 * inline functions of a hit. The caller of all others holds the mutex.
 */
#ifndef FERRUM_THREADCACHE_PARTS_H
#define FERRUM_THREADCACHE_PARTS_H

#include "types.h"

/* ------------------------------------------------ stop.c: stopping */

/** 0, or a set of these flags. A thread must check them once it is busy. They
 *  are one word, so that a hit reads one word. */
extern FM_HIDDEN _Atomic uint32_t fm_stop;
enum {
    /** Threads must stop. */
    FM_STOP_ALL = 1,
    /** Busy must be exchanged, because membarrier is not available. */
    FM_STOP_FENCED = 2
};
/** Registers the process for membarrier, with the mutex held; once is enough. */
FM_HIDDEN void fm_stop_register(void);
/** Grows whenever a handle that may have been looked up becomes invalid. */
extern FM_HIDDEN uint64_t fm_epoch;

FM_HIDDEN void fm_lock(void);
FM_HIDDEN void fm_unlock(void);
/** Stops all threads, with the mutex held. */
FM_HIDDEN void fm_stop_begin(void);
/** Reports whether any thread has a lane of the cache. */
FM_HIDDEN bool fm_has_lane(const struct fm_cache *cache);
/** fm_stop_begin, unless no thread has a lane of the cache: then no thread
 *  touches it without the mutex, and the result is false. */
FM_HIDDEN bool fm_stop_begin_for(const struct fm_cache *cache);
FM_HIDDEN void fm_stop_end(void);

static inline void fm_busy_end(struct fm_thread *thread) {
    atomic_store_explicit(&thread->busy, 0, memory_order_release);
}

/** Begins the work of a thread on its own lanes. Returns false, and the thread
 *  is not busy, if threads must stop or must use a fence. */
static inline bool fm_busy_begin(struct fm_thread *thread) {
    atomic_store_explicit(&thread->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (FM_LIKELY(atomic_load_explicit(&fm_stop, memory_order_seq_cst) == 0))
        return true;
    fm_busy_end(thread);
    return false;
}

/** fm_busy_begin with a fence if necessary. Returns false if threads must stop. */
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

/** Returns the calling thread's record, and creates it if necessary, with the
 *  mutex held. NULL if there is no memory or the thread is ending. */
FM_HIDDEN struct fm_thread *fm_thread_here(void);
/** Reports whether any thread has a key of the pool. */
FM_HIDDEN bool fm_keys_known(uint64_t pool);
/** Removes the keys of a lane, or of a pool if lane is NULL. Threads are
 *  stopped. */
FM_HIDDEN void fm_keys_forget(uint64_t pool, const struct fm_store *lane);

/* ---------------------------------------------- table.c: blocks */

/** Makes room for count more blocks, with the mutex held. May stop the threads. */
FM_HIDDEN bool fm_table_reserve(struct fm_cache *cache, uint32_t count);
/** Adds a block to the table, in reserved room. It uses a record kept for the
 *  lane; NULL means no lane. May stop the threads. */
FM_HIDDEN uint32_t fm_table_enter(struct fm_cache *cache, uint64_t address,
                                  uint64_t meta, struct fm_store *lane);
/** Takes back the records that were kept for a lane. */
FM_HIDDEN void fm_table_end_run(struct fm_store *lane);
/** Removes a block from the table. */
FM_HIDDEN void fm_table_remove(struct fm_cache *cache, uint32_t index);
FM_HIDDEN void fm_table_free(struct fm_cache *cache);

/* Addresses differ in few bits, and often by multiples of a power of two. The
 * shift moves the upper bits to where the product spreads them. The hash of 0
 * is 0. */
static inline uint64_t fm_hash(uint64_t address) {
    return (address ^ address >> 16) * UINT64_C(0xD6E8FEB86659FD93);
}

/** Where the search for a hash begins in a table: the upper half of the hash,
 *  scaled to the size of the table. */
static inline uint64_t fm_table_home(const struct fm_cache *cache,
                                     uint64_t hash) {
    return (hash >> 32) * cache->table_size >> 32;
}

/** Returns the index of the leased block at an address, or 0. */
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

/** Changes the holder in the meta of a record. */
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

/** Reports whether the address of a record is that of a block. */
static inline bool fm_is_block(uint64_t address) {
    return (int64_t)address > 0;
}

/** Reports whether a block with this meta is live. */
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

/** Class of a size from 1 to block_max: one class for each of the first 16
 *  granules, then 8 for every doubling. */
static inline uint32_t fm_class_of(const struct fm_cache *cache,
                                   uint64_t size_bytes) {
    uint64_t n = (size_bytes - 1) >> cache->granule_shift;
    uint32_t doublings = 60 - (uint32_t)__builtin_clzll(n | 8);
    return 8 * doublings + (uint32_t)(n >> doublings);
}

/* --------------------------------------------- store.c: stores */

/** Creates a store for a lane or depot. It is only in the list of all stores.
 *  NULL if there is no memory. */
FM_HIDDEN struct fm_store *fm_store_make(struct fm_cache *cache,
                                         uint64_t stream,
                                         struct fm_thread *thread);
/** Moves all blocks of a class into a depot. */
FM_HIDDEN void fm_store_pour(struct fm_store *store, uint32_t class,
                             struct fm_store *depot);
/** Ends a store that is in no other list any more; its blocks move to a depot. */
FM_HIDDEN void fm_store_retire(struct fm_store *store, struct fm_store *depot);
/** Frees a store, but not its contents. */
FM_HIDDEN void fm_store_free(struct fm_store *store);
/** Adds to the pool's total what happened in a store since the last call. */
FM_HIDDEN void fm_store_tell(struct fm_store *store);
/** fm_store_tell for all stores between which a call of this store may have
 *  moved blocks. Otherwise the total would count the blocks twice, or not at
 *  all. */
FM_HIDDEN void fm_site_tell(struct fm_store *store);

/** Returns an empty, unused magazine; NULL if there is no memory. */
FM_HIDDEN struct fm_magazine *fm_magazine_get(struct fm_cache *cache,
                                              uint32_t class);
/** Takes an empty magazine that is not needed any more. */
FM_HIDDEN void fm_magazine_put(struct fm_cache *cache,
                               struct fm_magazine *magazine);
/** Subtracts invalid entries from the counts; each one comes from a free too
 *  many. What those frees have counted is corrected when all blocks are counted
 *  again. */
FM_HIDDEN FM_COLD void fm_magazine_dropped(struct fm_magazine *magazine,
                                           uint64_t count);
/** Pops a valid entry and returns its block, or 0. It does not change the meta
 *  or the counts. */
FM_HIDDEN uint32_t fm_magazine_pop(struct fm_magazine *magazine);
/** Pushes a block, for which there is room. It does not change the counts. */
static inline void fm_magazine_push(struct fm_cache *cache,
                                    struct fm_magazine *magazine,
                                    uint32_t index, uint64_t meta) {
    fm_meta_set(cache, index, (meta & (FM_HOLDER_UNIT - 1)) | magazine->holder);
    magazine->items[magazine->count++] = index;
}

/** Reports whether an entry is valid: its block is idle in this magazine. */
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

/** The known state of the two streams of a free. */
struct fm_order {
    /** The stream of the block; 0: the core was not asked. */
    uint64_t own;
    /** A set of FM_BUSY_OWN and FM_BUSY_NAMED: that stream may have queued
     *  work. */
    int32_t busy;
};
/** What to do with a live block that is freed. */
enum fm_order_way {
    /** Put it into a store. */
    FM_ORDER_STORE,
    /** Ask the core, see fm_order_ask_unlock, and look the block up again. */
    FM_ORDER_ASK,
    /** Pass it to the core. */
    FM_ORDER_PASS
};
/** Decides what to do with a live block with this meta that is freed at a site
 *  which has a store. */
FM_HIDDEN enum fm_order_way fm_order_find(const struct fm_site *site,
                                          uint64_t meta, struct fm_order *order,
                                          struct fm_store **store_out);
/** Asks the core about the streams. It releases the mutex. */
FM_HIDDEN void fm_order_ask_unlock(const struct fm_site *site,
                                   struct fm_order *order);
/** Returns the depot of the stream of a live block, or NULL if the stream was
 *  destroyed. */
static inline struct fm_store *fm_depot_of_live(const struct fm_cache *cache,
                                                uint64_t meta) {
    uint32_t number = fm_meta_number(meta);
    return number < cache->numbers_room ? cache->by_number[number] : NULL;
}

/* ----------------------------------------------- depot.c: depots */

/** Lanes and depots may keep this much more than the recent peak of live bytes. */
#define FM_KEEP_LEAST (UINT64_C(1) << 20)

/** How much lanes and depots may keep, within the pool's settings. */
FM_HIDDEN uint64_t fm_keep_bytes(const struct fm_cache *cache);
/** Records that the core has leased so many bytes. */
FM_HIDDEN void fm_keep_leased(struct fm_cache *cache, uint64_t bytes);

/** Updates the peak of live bytes: a block may be freed before the next check. */
FM_HIDDEN void fm_keep_lived(struct fm_cache *cache);

/** Records that a bin of a depot has fewer blocks now. */
static inline void fm_depot_fewer(struct fm_bin *bin, uint64_t count) {
    bin->blocks -= count;
    if (bin->blocks < bin->fewest)
        bin->fewest = bin->blocks;
}
/** Returns the top magazine of a depot's bin, with room for at least one block;
 *  NULL if there is no memory. */
FM_HIDDEN struct fm_magazine *fm_depot_open(struct fm_store *depot,
                                            uint32_t class);
/** Removes the top magazine of a depot's bin, which is empty. */
FM_HIDDEN void fm_depot_drop_top(struct fm_store *depot, struct fm_bin *bin);
/** Puts a magazine with blocks into a depot and counts the blocks there. */
FM_HIDDEN void fm_depot_attach(struct fm_store *depot,
                               struct fm_magazine *magazine);
/** Takes a magazine of a class out of a depot, a full one if possible; NULL if
 *  there is none. */
FM_HIDDEN struct fm_magazine *fm_depot_detach(struct fm_store *depot,
                                              uint32_t class);
/** Makes room for count blocks of a class; false if there is no memory. */
FM_HIDDEN bool fm_depot_reserve(struct fm_store *depot, uint32_t class,
                                uint32_t count);
/** Pushes a block, in reserved room. The caller adds it to the idle bytes of
 *  the depot. */
FM_HIDDEN void fm_depot_push(struct fm_store *depot, uint32_t index,
                             uint64_t meta);
/** Undoes the last push, whatever the state of its block is now. */
FM_HIDDEN void fm_depot_unpush(struct fm_store *depot, uint32_t class);
/** Pops a block of a class; 0 if there is none. The block still counts in the
 *  idle bytes of the depot. */
FM_HIDDEN uint32_t fm_depot_pop(struct fm_store *depot, uint32_t class);
/** Returns the surplus of a depot to the core, after freed blocks were freed.
 *  It is called with the mutex held and releases it. */
FM_HIDDEN void fm_depot_trim_unlock(struct fm_store *depot, uint64_t freed);

/* ------------------------------------------------- flow.c: misses */

/** The most blocks of a class in one magazine. */
FM_HIDDEN uint32_t fm_magazine_room(const struct fm_cache *cache,
                                    uint32_t class);
/** Sets the bounds of the thread's lanes of a pool. */
FM_HIDDEN void fm_lanes_bound(struct fm_thread *thread,
                              const struct fm_cache *cache);
/** The number of blocks to lease after a miss of a store. */
FM_HIDDEN uint32_t fm_site_appetite(const struct fm_store *store,
                                    uint32_t class);
/** Takes a block of a class, or of the next one, which then counts as idle in
 *  the store; 0 if neither the store nor a depot has one. */
FM_HIDDEN uint32_t fm_site_take(struct fm_store *store, uint32_t class);
/** Puts a live block with this meta into the lane or its depot. Returns the
 *  store that has it, where the caller counts it; NULL if there is no memory. */
FM_HIDDEN struct fm_store *fm_site_give(struct fm_store *store, uint32_t index,
                                        uint64_t meta);

/** Moves the other magazine of a lane to the top. */
static inline void fm_lane_swap(struct fm_bin *bin) {
    struct fm_magazine *top = bin->top, *other = top->next;
    top->next = NULL;
    other->next = top;
    bin->top = other;
}

/* From this size on, a lease returns so few blocks that the next larger class
 * is tried first. */
#define FM_BORROW_BYTES (UINT32_C(64) << 10)
/* A lane borrows this many blocks before it searches the depots again: the
 * waste of borrowed blocks costs more than a rare search. */
#define FM_BORROWS 16

/** Reports whether blocks of the next class may be used for this one. */
static inline bool fm_class_borrows(const struct fm_cache *cache,
                                    uint32_t class) {
    return cache->class_bytes[class] >= FM_BORROW_BYTES &&
           class + 1 < cache->classes &&
           cache->class_bytes[class + 1] - cache->class_bytes[class] <=
               cache->class_bytes[class] / 8;
}

/** Makes room for one block on top of a lane's bin; false if there is no
 *  memory. */
FM_HIDDEN bool fm_lane_room(struct fm_store *lane, uint32_t class);

static inline struct fm_store *fm_depot_for(struct fm_store *store) {
    return store->depot != NULL ? store->depot : store;
}

/* ---------------------------------------------- parcel.c: parcels */

/** Moves a lane's blocks of a class into parcels of its depot, and leaves their
 *  magazines empty; false if there is no memory for all. */
FM_HIDDEN bool fm_parcel_pack(struct fm_store *lane, uint32_t class);
/** Sorts a parcel of a depot: blocks of classes that the thread allocates into
 *  the lane, the rest into the depot's bins. False if there is none, or no
 *  memory. */
FM_HIDDEN bool fm_parcel_open(struct fm_store *lane, struct fm_store *depot);
/** Sorts all parcels of a depot into its bins, as far as there is memory. */
FM_HIDDEN void fm_parcel_sort(struct fm_store *depot);
/** Pops a block; 0 if there is none. The block still counts in the idle bytes
 *  of the depot. */
FM_HIDDEN uint32_t fm_parcel_pop(struct fm_store *depot);
/** Moves all parcels into another depot. */
FM_HIDDEN void fm_parcel_pour(struct fm_store *from, struct fm_store *depot);

/** Prefetches a cache line that will be written soon. */
static inline void fm_prefetch_write(const void *line) {
#if defined(__x86_64__)
    /* Compilers use this instruction only if they compile for processors
     * that have it; other processors ignore it. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* --------------------------------------- core.c: to and from the core */

/** The most blocks of one lease. */
#define FM_LEASE_MAX 256

/** Leases up to count blocks of a class into the store's depot and returns
 *  their number. It releases the mutex meanwhile: the store may be destroyed
 *  then. */
FM_HIDDEN uint32_t fm_core_lease(struct fm_store *store, uint32_t class,
                                 uint32_t count);
/** The most blocks to lease when one is needed. */
FM_HIDDEN uint32_t fm_core_lease_most(const struct fm_cache *cache,
                                      uint32_t class);
/** A block that leaves the table. */
struct fm_leaver {
    uint32_t index;
    uint64_t address, meta;
};
/** The result of fm_core_give_back, unless it is a status below 0. */
enum { FM_CORE_TAKEN = 0, FM_CORE_GONE = 1 };
/**
 * Returns count blocks (at most FM_LEASE_MAX) to the core. They are in no store
 * and are named by their indices. It releases the mutex meanwhile.
 *
 * @return FM_CORE_TAKEN; FM_CORE_GONE if the pool and its caches were destroyed;
 *         a status below 0 if the core rejected them: the blocks are in the table
 *         again, under new indices, with the meta that they had.
 */
FM_HIDDEN int32_t fm_core_give_back(struct fm_cache *cache, uint64_t stream,
                                    struct fm_leaver *leavers, uint32_t count);
/** Removes a block from the table and counts it as left. */
FM_HIDDEN void fm_core_leave(struct fm_cache *cache, uint32_t index);
/** The pool's total, for the core. */
FM_HIDDEN struct fm_cache_counts fm_core_counts(const struct fm_cache *cache);

/* ----------------------------------------------- pools.c: pools */

/** All pools' caches, by the low 32 bits of their handles. */
extern FM_HIDDEN struct fm_cache **fm_caches;
extern FM_HIDDEN uint32_t fm_caches_room;

/** Finds the caches of a pool, with the mutex held. */
FM_HIDDEN struct fm_cache *fm_cache_of(uint64_t pool);
/** Finds a depot by the handle of the stream itself. */
FM_HIDDEN struct fm_store *fm_depot_of(struct fm_cache *cache, uint64_t stream);
/** Takes the mutex and finds where a call of this thread works. Returns false,
 *  without the mutex, if the pool has no caches or a handle is invalid. */
FM_HIDDEN bool fm_site_lock(uint64_t pool, uint64_t stream,
                            struct fm_site *site_out);

/** Records an error of an operation and returns its status. */
FM_HIDDEN FM_COLD int32_t fm_cache_fail(int32_t status, const char *operation,
                                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/*
 * Thread caches: how they work.
 *
 * Why. A call from C into Go costs several times what an allocation may cost.
 * So the Go core leases blocks to the cache of a pool, and most calls end here,
 * in C, without a lock, a locked instruction or a system call.
 *
 * Blocks. A leased block has a record of 16 bytes (fm_block): its address and
 * one word (meta) that says whether it is live or idle. Records lie in an array
 * and are named by their index. A hash table of 4-byte entries finds the index
 * of an address. Entries hold 8 bits of the hash, so that a probe seldom looks
 * at a record in vain. The table is only written when blocks come and go, so
 * that threads that work with their own blocks share none of its lines for
 * writing. Nor of records: the first few thousand have a line each, later ones
 * share theirs with others that the same thread has leased.
 *
 *     meta   63..40 holder   39..32 class   31..20 tag   19..0 slack
 *
 * holder is 0 for a live block, else the number of the magazine it is in. slack the size of the block's class less what was asked for.
 *
 * Magazines. An idle block lies in a magazine, a short stack of indices of one
 * size class, and the block's meta says in which one. Whole magazines change
 * hands, without a look at the blocks in them. A lane is what one thread has for
 * one pool and stream: for each class the magazine that it works with, and one
 * more, so that a thread that goes up and down by one does not need another each
 * time. A depot is the store of full magazines of a pool and stream that all
 * threads share; each pool has one more for blocks that any stream may have. A
 * block that was freed on a stream may be used again by that stream's next work
 * at once, but not by another's: so it stays in stores of its stream, whoever
 * freed it, until the Go core takes it back and lets its event pass.
 *
 * A hit pops or pushes one index and writes one meta. A miss swaps magazines with
 * the depot, borrows from the next larger class, or leases. What is too much in
 * a lane goes to the depot, what is too much in a depot goes back to the core.
 *
 * Who may touch what. One mutex (fm_lock) guards everything here. Its owner may
 * do all of it but touch the lanes of other threads and move what lanes look at
 * (records, tables, lanes themselves). For that it stops the threads: fm_stop is
 * set, a barrier is forced upon all threads, and each is waited for until it is
 * not busy. A thread may touch its own lanes either with the mutex, or while it
 * is busy:
 *
 *     thread:   busy = 1; compiler barrier; if stop, then: busy = 0, take the
 *               mutex; else: pop or push; busy = 0 (release)
 *     stopper:  lock; stop = 1; membarrier; wait until busy is 0 (acquire)
 *               everywhere; work; stop = 0 (release); unlock
 *
 * Proof. membarrier makes every thread run a full barrier somewhere between the
 * stopper's writing stop and its reading busy. If the thread's write of busy
 * comes before its barrier, the stopper sees it and waits. If it comes after,
 * so does the thread's read of stop, which then sees 1. Either way the two do
 * not work at once. The release and acquire of busy carry the thread's work to
 * the stopper, those of stop carry the stopper's work back. Without membarrier
 * (an old kernel, a filter, or ThreadSanitizer, which cannot see it) busy is
 * exchanged and stop read with sequential consistency, which orders the two in
 * the thread itself, at the price of a locked instruction.
 *
 * While busy, a thread calls nothing that waits. With the mutex held, nothing
 * here calls Go. So neither can be part of a deadlock with the core's locks.
 *
 * Freed twice. A free looks whether the block is live and then writes that it is
 * idle. Two frees of one block at the very same time may both see it live. Both
 * then push it; the magazine that meta names in the end is the one that has it.
 * An entry is good only if meta names its magazine: the other one is recognised
 * when it is popped, is dropped, and the live blocks are counted anew for the
 * books. So every idle block has a good entry, and only one: it cannot be handed
 * out twice. A free that was slower than a whole further life of the block ends
 * that life; it cannot damage anything here.
 *
 * Fork. A child never comes here: the gate refuses its calls, and the end of its
 * thread looks at the gate.
 */
#ifndef FERRUM_CAPI_CACHE_TYPES_H
#define FERRUM_CAPI_CACHE_TYPES_H

#include <stdatomic.h>
#include <stddef.h>

#include "cache.h"

#define FM_HIDDEN __attribute__((visibility("hidden")))
#define FM_COLD __attribute__((cold, noinline))
#define FM_LIKELY(truth) __builtin_expect(!!(truth), 1)
#define FM_UNLIKELY(truth) __builtin_expect(!!(truth), 0)

/* ------------------------------------------------------------- blocks */

struct fm_block {
    /** 0 while the record is no block's. */
    _Atomic uint64_t address;
    _Atomic uint64_t meta;
};

#define FM_SLACK_BITS 20
#define FM_TAG_SHIFT 20
#define FM_CLASS_SHIFT 32
#define FM_HOLDER_SHIFT 40
/** A meta below this is that of a live block. */
#define FM_HOLDER_UNIT (UINT64_C(1) << FM_HOLDER_SHIFT)
#define FM_MAGAZINES_MAX (UINT32_C(1) << 24)

/** An index and 8 bits of the hash make an entry of the table. 0 is an empty
 *  one, FM_ENTRY_GONE one whose block has left. Record 0 is no block's. */
#define FM_INDEX_MASK UINT32_C(0x00FFFFFF)
#define FM_ENTRY_GONE UINT32_C(0x01000000)

/** Sizes are rounded in steps of at least this. */
#define FM_GRANULE_MIN 16
/** 16 classes up to 16 granules, 8 for every doubling up to FM_CACHE_BLOCK_MAX. */
#define FM_CLASSES_MAX 112

/* -------------------------------------------------------------- pools */

struct fm_store;
struct fm_magazine;

/** The caches of one pool. */
struct fm_cache {
    uint64_t pool;
    /** The table has 2^(64 - table_shift) entries. */
    _Atomic uint32_t *table;
    struct fm_block *blocks;
    uint32_t table_shift;
    uint32_t granule_shift;
    /** Largest size that has a class. */
    uint64_t block_max;
    uint32_t class_bytes[FM_CLASSES_MAX];

    /** Numbers of tags that are known: 0 to this. */
    _Atomic uint32_t tags;

    /* From here on only with the mutex. */

    uint32_t classes;
    /** Entries of the table that are not empty, and those of blocks. */
    uint32_t entries, leased;
    /** Records: how many there is room for, the first that never was used, and
     *  those that are free again. */
    uint32_t records, fresh, spares;
    uint32_t *spare;
    /** Blocks for which room is kept: they are on their way to or from the core. */
    uint32_t promised;
    /** A block was freed twice at once: the books are to be counted anew. */
    bool recount;
    /** Magazines by their number, all that ever were; 0 is none's. */
    struct fm_magazine **magazines;
    uint32_t magazines_made, magazines_room;
    /** Those of each class that nobody has, all empty. */
    struct fm_magazine *unused[FM_CLASSES_MAX];
    /** All lanes and depots, the depots of streams, and the one for any stream. */
    struct fm_store *stores, *depots, *any;
    /** Handle of the default stream; 0 until somebody has used it. */
    uint64_t default_stream;
    /** What a thread may keep, and a depot. */
    uint64_t thread_bytes, depot_bytes;
    /** The most that was live of late. */
    uint64_t high_bytes;
    /** A thread may keep more when much is live. */
    bool thread_bytes_grow;
    /** What was told to total. */
    struct fm_cache_counts total;
    uint64_t adopted_blocks;
};

/* ------------------------------------------------------------- stores */

/** Indices of idle blocks of one class, the last one freed on top. */
struct fm_magazine {
    uint32_t count, room;
    /** Number of the magazine, FM_HOLDER_SHIFT bits up. */
    uint64_t holder;
    /** Where it is; NULL while nobody has it. */
    struct fm_store *store;
    struct fm_magazine *next;
    uint32_t class;
    uint32_t items[];
};

/** Stands where no magazine is: nothing in it, no room. */
extern FM_HIDDEN struct fm_magazine fm_magazine_none;

/** A store's magazines of one class. */
struct fm_bin {
    /** A lane works with top and has at most one more, behind it; NULL never. In a
     *  depot, NULL is none, and only top may be not full. */
    struct fm_magazine *top;
    /** A depot's blocks, and the fewest that there were since it gave some back
     *  last: nobody has missed those. */
    uint64_t blocks, fewest;
    /** How many blocks a lane gets at its next miss: more each time, so that a
     *  thread that needs few does not keep many from the others. */
    uint32_t appetite;
};

/** What happened in a store. Differences may be negative: they wrap. */
struct fm_tally {
    uint64_t requested_bytes, live_bytes, idle_bytes, allocations, frees;
};

/** A lane (thread is not NULL) or a depot. */
struct fm_store {
    struct fm_cache *cache;
    uint64_t stream;
    /** A lane's bound of tally.idle_bytes. */
    uint64_t bound_bytes;
    struct fm_tally tally;
    struct fm_tally told;
    struct fm_thread *thread;
    /** A lane's; a depot has none above it. */
    struct fm_store *depot;
    /** Records that are kept for the next leases of a lane, from the first on: they
     *  share a line, which no other thread writes then. */
    uint32_t run_first, run_left;
    /** The thread's next lane, or the pool's next depot. */
    struct fm_store *next;
    /** All stores of the pool. */
    struct fm_store *previous_of_all, *next_of_all;
    struct fm_bin bins[];
};

/** Where a call works. */
struct fm_site {
    struct fm_cache *cache;
    /** The lane; the depot, when there is no memory for a lane; NULL, when there
     *  is none for a depot either. */
    struct fm_store *store;
    /** The stream's own handle. */
    uint64_t stream;
};

/* ------------------------------------------------------------ threads */

#define FM_KEYS 16

/** Finds the lane for the pool and stream of a call. */
struct fm_key {
    uint64_t pool, stream;
    /** NULL: the pool has no caches. */
    struct fm_store *lane;
};

/** A thread that has used a cache. */
struct fm_thread {
    _Atomic uint32_t busy;
    struct fm_key keys[FM_KEYS];
    struct fm_store *lanes;
    struct fm_thread *previous, *next;
};

#define FM_LINE 128

/** The calling thread; NULL until it has used a cache, and after its end. */
extern FM_HIDDEN _Thread_local struct fm_thread *fm_self;

/* ------------------------------------------------ cache_stop.c: stopping */

extern FM_HIDDEN _Atomic uint32_t fm_stop;
/** Busy is to be exchanged, for membarrier cannot be had. */
extern FM_HIDDEN bool fm_fenced;
/** Grows whenever a handle that may have been looked up is no longer good. */
extern FM_HIDDEN uint64_t fm_epoch;

FM_HIDDEN void fm_lock(void);
FM_HIDDEN void fm_unlock(void);
/** Stops all threads, with the mutex held. */
FM_HIDDEN void fm_stop_begin(void);
FM_HIDDEN void fm_stop_end(void);

/** Begins the work of a thread on its own lanes; false: stop is set, and it is
 *  not busy. */
static inline bool fm_busy_begin(struct fm_thread *thread) {
    if (FM_UNLIKELY(fm_fenced)) {
        atomic_exchange_explicit(&thread->busy, 1, memory_order_seq_cst);
    } else {
        atomic_store_explicit(&thread->busy, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
    }
    if (FM_LIKELY(atomic_load_explicit(&fm_stop, memory_order_seq_cst) == 0))
        return true;
    atomic_store_explicit(&thread->busy, 0, memory_order_release);
    return false;
}

static inline void fm_busy_end(struct fm_thread *thread) {
    atomic_store_explicit(&thread->busy, 0, memory_order_release);
}

/* -------------------------------------------- cache_threads.c: threads */

extern FM_HIDDEN struct fm_thread *fm_threads;

static inline struct fm_key *fm_key_of(struct fm_thread *thread, uint64_t pool,
                                       uint64_t stream) {
    return &thread->keys[(pool + 5 * stream) % FM_KEYS];
}

/** Gives the calling thread's record, made if need be, with the mutex held; NULL
 *  when there is no memory or the thread is at its end. */
FM_HIDDEN struct fm_thread *fm_thread_here(void);
/** Forgets keys of a lane, or of a pool when lane is NULL; threads are stopped. */
FM_HIDDEN void fm_keys_forget(uint64_t pool, const struct fm_store *lane);

/* ---------------------------------------------- cache_table.c: blocks */

/** Makes room for count more blocks, with the mutex held. May stop the threads. */
FM_HIDDEN bool fm_table_reserve(struct fm_cache *cache, uint32_t count);
/** Enters a block, in room that was reserved, under a record for the lane; NULL:
 *  for nobody's. */
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

/** Gives the index of the leased block at an address, or 0. */
static inline uint32_t fm_table_find(const struct fm_cache *cache,
                                     uint64_t address) {
    uint64_t hash = fm_hash(address);
    uint32_t mark = (uint32_t)hash & ~FM_INDEX_MASK;
    uint64_t last = (UINT64_C(1) << (64 - cache->table_shift)) - 1;
    for (uint64_t at = hash >> cache->table_shift;; at = (at + 1) & last) {
        uint32_t entry =
            atomic_load_explicit(&cache->table[at], memory_order_acquire);
        if (entry == 0)
            return 0;
        if (((entry ^ mark) & ~FM_INDEX_MASK) != 0)
            continue;
        const struct fm_block *block = &cache->blocks[entry & FM_INDEX_MASK];
        if (atomic_load_explicit(&block->address, memory_order_relaxed) ==
            address)
            return entry & FM_INDEX_MASK;
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

static inline uint64_t fm_address(const struct fm_cache *cache,
                                  uint32_t index) {
    return atomic_load_explicit(&cache->blocks[index].address,
                                memory_order_relaxed);
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

/* --------------------------------------------- cache_store.c: stores */

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

/** Gives an empty magazine that nobody has, NULL when there is no memory. */
FM_HIDDEN struct fm_magazine *fm_magazine_get(struct fm_cache *cache,
                                              uint32_t class);
/** Takes an empty magazine that nobody needs. */
FM_HIDDEN void fm_magazine_put(struct fm_cache *cache,
                               struct fm_magazine *magazine);
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
    return (meta ^ magazine->holder) < FM_HOLDER_UNIT && address != 0;
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

/* ----------------------------------------------- cache_depot.c: depots */

/** Lanes and depots may keep this much more than was live of late. */
#define FM_KEEP_LEAST (UINT64_C(1) << 20)

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
/** Takes out what is too much in a depot and gives it back to the core; the mutex
 *  is held, and is not held afterwards. */
FM_HIDDEN void fm_depot_trim_unlock(struct fm_store *depot);

/* ------------------------------------------------- cache_flow.c: misses */

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

static inline struct fm_store *fm_depot_for(struct fm_store *store) {
    return store->depot != NULL ? store->depot : store;
}

/* --------------------------------------- cache_core.c: to and from the core */

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

/* ----------------------------------------------- cache_pools.c: pools */

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

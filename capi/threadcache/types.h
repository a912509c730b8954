/*
 * Thread caches: the types. doc.go describes how the caches work.
 */
#ifndef FERRUM_THREADCACHE_TYPES_H
#define FERRUM_THREADCACHE_TYPES_H

#include <stdatomic.h>
#include <stddef.h>

#include "cache.h"

#define FM_HIDDEN __attribute__((visibility("hidden")))
#define FM_COLD __attribute__((cold, noinline))
#define FM_LIKELY(truth) __builtin_expect(!!(truth), 1)
#define FM_UNLIKELY(truth) __builtin_expect(!!(truth), 0)

/* ------------------------------------------------------------- blocks */

struct fm_block {
    /** Not a block's address while the record is unused, see fm_is_block. */
    _Atomic uint64_t address;
    _Atomic uint64_t meta;
};

#define FM_SLACK_BITS 20
#define FM_TAG_SHIFT 20
#define FM_CLASS_SHIFT 32
#define FM_HOLDER_SHIFT 40
/** Metas that differ by less than this have the same holder. */
#define FM_HOLDER_UNIT (UINT64_C(1) << FM_HOLDER_SHIFT)
/** The numbers of magazines, and of the streams of a pool, are below this. */
#define FM_NUMBERS_MAX (UINT32_C(1) << 23)
/** Set in the holder of an idle block. */
#define FM_HOLDER_IDLE (UINT64_C(1) << 63)
/** The holder of a block that is leaving the caches, and of an unused record.
 *  No magazine and no stream has this holder. */
#define FM_HOLDER_NOBODY (~UINT64_C(0) << FM_HOLDER_SHIFT)

/** The address of a record whose block has left has this bit, which no block's
 *  address has, and in the low bits the index of the next such record. The
 *  address of a record that has never had a block is 0. */
#define FM_ADDRESS_NONE (UINT64_C(1) << 63)

/** An entry of the table is an index and 8 bits of the hash. 0 is an empty
 *  entry. FM_ENTRY_GONE is an entry whose block has left. Record 0 is never
 *  used. */
#define FM_INDEX_MASK UINT32_C(0x00FFFFFF)
#define FM_ENTRY_GONE UINT32_C(0x01000000)

/** Sizes are rounded up to multiples of at least this. */
#define FM_GRANULE_MIN 16
/** 16 classes up to 16 granules, then 8 for every doubling up to
 *  FM_CACHE_BLOCK_MAX. */
#define FM_CLASSES_MAX 112
/** The class of magazines that hold blocks of any class (parcels). */
#define FM_PARCEL_CLASS FM_CLASSES_MAX

/* -------------------------------------------------------------- pools */

struct fm_store;
struct fm_magazine;

/** The caches of one pool. */
struct fm_cache {
    uint64_t pool;
    _Atomic uint32_t *table;
    uint64_t table_size;
    struct fm_block *blocks;
    uint32_t granule_shift;
    /** The largest size that has a class. */
    uint64_t block_max;
    /** The alignment of every block. */
    uint64_t alignment_bytes;
    uint32_t class_bytes[FM_CLASSES_MAX];

    /** The tags from 0 to this are known. */
    _Atomic uint32_t tags;

    /* The fields below are used only with the mutex. */

    uint32_t classes;
    /** The number of entries of the table that are not empty, and of those with
     *  a block. */
    uint32_t entries, leased;
    /** The records: how many there is room for, the first one that was never
     *  used, and the first one that is unused again; 0 means none. */
    uint32_t records, fresh, spare;
    /** The first of the records whose blocks have left but that a thread may
     *  still read; 0 means none. And the number of these records. */
    uint32_t dropped, dropped_count;
    /** The last record that was taken from a cache line that one block had
     *  alone. */
    uint32_t squeezed;
    /** The number of blocks for which room is kept: they are on their way to
     *  the core or from it. */
    uint32_t promised;
    /** Calls return FM_CACHE_PASS, see fm_cache_pause. */
    bool paused;
    /** A block was freed twice at the same time: the live blocks must be
     *  counted again. */
    bool recount;
    /** All magazines by their number; 0 is not used. */
    struct fm_magazine **magazines;
    uint32_t magazines_made, magazines_room;
    /** The unused magazines of each class; all are empty. */
    struct fm_magazine *unused[FM_CLASSES_MAX + 1];
    /** All lanes and depots; the depots of streams; the depot for any stream. */
    struct fm_store *stores, *depots, *any;
    /** The depots by the number of their stream. NULL: no stream has the
     *  number. 0 is the number of the depot for any stream. */
    struct fm_store **by_number;
    uint32_t numbers_room, number_last;
    /** Handle of the default stream; 0 until a call has used it. */
    uint64_t default_stream;
    /** The most bytes that a thread may keep, and a depot. */
    uint64_t thread_bytes, depot_bytes;
    /** The recent peak of live bytes. */
    uint64_t high_bytes;
    /** Bytes that were recently returned as surplus, and how many of them were
     *  leased again. The caches keep more by that amount. */
    uint64_t shed_bytes, missed_bytes;
    /** A thread may keep more when many bytes are live. */
    bool thread_bytes_grow;
    /** The counters of all stores, as of their last fm_store_tell. */
    struct fm_cache_counts total;
    uint64_t adopted_blocks;
};

/* ------------------------------------------------------------- stores */

/** Indices of idle blocks of one class, the last freed one on top. */
struct fm_magazine {
    uint32_t count, room;
    /** The number of the magazine, shifted left by FM_HOLDER_SHIFT. */
    uint64_t holder;
    /** The store that has it; NULL while it is unused. */
    struct fm_store *store;
    struct fm_magazine *next;
    uint32_t class;
    uint32_t items[];
};

/** A magazine that is empty and has no room. It stands where there is no
 *  magazine. */
extern FM_HIDDEN struct fm_magazine fm_magazine_none;

/** A store's magazines of one class. */
struct fm_bin {
    /** A lane works with top and has at most one more magazine, as top->next;
     *  top is never NULL. In a depot, NULL means none, and only top may be
     *  partly filled. */
    struct fm_magazine *top;
    /** A depot's blocks, and their lowest number since the depot last returned
     *  blocks: that many blocks were not needed. */
    uint64_t blocks, fewest;
    /** The number of blocks that a lane gets at its next miss. It grows with
     *  each miss, so that a thread that needs few blocks does not keep many. */
    uint32_t appetite;
    /** How often a lane may use its next larger class before it searches the
     *  depots again, which had no block of this class. */
    uint32_t borrows;
};

/** What happened in a store. Differences may be negative; they wrap around. */
struct fm_tally {
    uint64_t requested_bytes, live_bytes, idle_bytes, allocations, frees;
};

/** A lane (thread is not NULL) or a depot. */
struct fm_store {
    struct fm_cache *cache;
    uint64_t stream;
    /** The bound of tally.idle_bytes of a lane. */
    uint64_t bound_bytes;
    /** The holder of the live blocks of the stream. */
    uint64_t live;
    /** The block that a lane allocated last; it is often freed next. */
    uint32_t latest;
    struct fm_tally tally;
    struct fm_tally told;
    struct fm_thread *thread;
    /** The depot of a lane; NULL in a depot. */
    struct fm_store *depot;
    /** A depot's blocks that are not sorted into bins yet, see parcel.c. */
    struct fm_magazine *parcels;
    /** Records that are kept for the next leases of a lane: run_left of them,
     *  beginning with run_first. They share a cache line, so that no other
     *  thread writes to it. */
    uint32_t run_first, run_left;
    /** The next lane of the thread, or the next depot of the pool. */
    struct fm_store *next;
    /** All stores of the pool. */
    struct fm_store *previous_of_all, *next_of_all;
    struct fm_bin bins[];
};

/** The place where a call works. */
struct fm_site {
    struct fm_cache *cache;
    /** The lane. It is the depot if there is no memory for a lane, and NULL if
     *  there is none for a depot either. */
    struct fm_store *store;
    /** The handle of the stream itself, never 0. */
    uint64_t stream;
};

/* ------------------------------------------------------------ threads */

#define FM_KEYS 16

/** Finds the lane for the pool and stream of a call. */
struct fm_key {
    _Alignas(32) uint64_t pool;
    uint64_t stream;
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

/** The calling thread. NULL until it has used a cache, and after its end. */
extern FM_HIDDEN _Thread_local struct fm_thread *fm_self;

#endif

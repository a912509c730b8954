/*
 * Thread caches: their types. How they work is told in doc.go.
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
    /** Of no block while the record is none's, see fm_is_block. */
    _Atomic uint64_t address;
    _Atomic uint64_t meta;
};

#define FM_SLACK_BITS 20
#define FM_TAG_SHIFT 20
#define FM_CLASS_SHIFT 32
#define FM_HOLDER_SHIFT 40
/** Metas that differ by less have the same holder. */
#define FM_HOLDER_UNIT (UINT64_C(1) << FM_HOLDER_SHIFT)
/** Magazines and streams of a pool have numbers below this. */
#define FM_NUMBERS_MAX (UINT32_C(1) << 23)
/** In the holder of an idle block. */
#define FM_HOLDER_IDLE (UINT64_C(1) << 63)
/** The holder of a block that is on its way out, and of a record without one: no
 *  magazine's. */
#define FM_HOLDER_NOBODY (~UINT64_C(0) << FM_HOLDER_SHIFT)

/** The address in a record that has had a block has this bit, which no block's
 *  has, and below it the index of the next such record. In one that has had none
 *  it is 0. */
#define FM_ADDRESS_NONE (UINT64_C(1) << 63)

/** An index and 8 bits of the hash make an entry of the table. 0 is an empty
 *  one, FM_ENTRY_GONE one whose block has left. Record 0 is no block's. */
#define FM_INDEX_MASK UINT32_C(0x00FFFFFF)
#define FM_ENTRY_GONE UINT32_C(0x01000000)

/** Sizes are rounded in steps of at least this. */
#define FM_GRANULE_MIN 16
/** 16 classes up to 16 granules, 8 for every doubling up to FM_CACHE_BLOCK_MAX. */
#define FM_CLASSES_MAX 112
/** The class of magazines that hold blocks of any class. */
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
    /** Largest size that has a class. */
    uint64_t block_max;
    /** What every block is aligned to. */
    uint64_t alignment_bytes;
    uint32_t class_bytes[FM_CLASSES_MAX];

    /** Numbers of tags that are known: 0 to this. */
    _Atomic uint32_t tags;

    /* From here on only with the mutex. */

    uint32_t classes;
    /** Entries of the table that are not empty, and those of blocks. */
    uint32_t entries, leased;
    /** Records: how many there is room for, the first that never was used, and
     *  the first of those that are free again, 0 for none. */
    uint32_t records, fresh, spare;
    /** The first of the records whose blocks have left, which a thread may still be
     *  looking at, 0 for none, and how many they are. */
    uint32_t dropped, dropped_count;
    /** The last record that was taken out of a line that one block had alone. */
    uint32_t squeezed;
    /** Blocks for which room is kept: they are on their way to or from the core. */
    uint32_t promised;
    /** Calls pass to the core, see fm_cache_pause. */
    bool paused;
    /** A block was freed twice at once: the books are to be counted anew. */
    bool recount;
    /** Magazines by their number, all that ever were; 0 is none's. */
    struct fm_magazine **magazines;
    uint32_t magazines_made, magazines_room;
    /** Those of each class that nobody has, all empty. */
    struct fm_magazine *unused[FM_CLASSES_MAX + 1];
    /** All lanes and depots, the depots of streams, and the one for any stream. */
    struct fm_store *stores, *depots, *any;
    /** Depots by the number of their stream; NULL: no stream has it. 0 is that of
     *  any stream. */
    struct fm_store **by_number;
    uint32_t numbers_room, number_last;
    /** Handle of the default stream; 0 until somebody has used it. */
    uint64_t default_stream;
    /** What a thread may keep, and a depot. */
    uint64_t thread_bytes, depot_bytes;
    /** The most that was live of late. */
    uint64_t high_bytes;
    /** What was given back of late because it was too much, and how much of that
     *  was leased again: so much more is kept. */
    uint64_t shed_bytes, missed_bytes;
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
    /** How often a lane may take from its next larger class before it looks into
     *  the depots again, which had none of this one. */
    uint32_t borrows;
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
    /** The holder of live blocks of the stream. */
    uint64_t live;
    /** The block that a lane has given out last: often the next to be freed. */
    uint32_t latest;
    struct fm_tally tally;
    struct fm_tally told;
    struct fm_thread *thread;
    /** A lane's; a depot has none above it. */
    struct fm_store *depot;
    /** A depot's blocks that are not sorted into bins yet, see parcel.c. */
    struct fm_magazine *parcels;
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

/** The calling thread; NULL until it has used a cache, and after its end. */
extern FM_HIDDEN _Thread_local struct fm_thread *fm_self;

#endif

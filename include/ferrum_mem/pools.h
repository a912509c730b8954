/*
 * Pools: memory by address, in the order of streams.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_POOLS_H
#define FERRUM_MEM_POOLS_H

#include "base.h"
#include "books.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Largest alignment that can be asked for: 1 GiB. */
#define FERRUM_ALIGNMENT_MAX (UINT64_C(1) << 30)

/** How a pool takes its memory. */
typedef int32_t ferrum_paging;
/** Page by page where the device can do it and the pool may hold 32 pages at
 *  least, else in segments. */
#define FERRUM_PAGING_AUTO 0
/** In segments, whole. */
#define FERRUM_PAGING_OFF 1
/** Page by page. */
#define FERRUM_PAGING_ON 2

/** Where a pool has its segments from. */
typedef int32_t ferrum_segment_source;
/** The device. */
#define FERRUM_SEGMENTS_PLAIN 0
/** A pool of the vendor's runtime, from which memory is had in the order of a stream. To
 *  give a segment back then waits for no work that does not use it, as the runtime may do
 *  otherwise. The runtime's pool is the device's alone, and keeps nothing. */
#define FERRUM_SEGMENTS_STREAM_ORDERED 1

/**
 * Settings of a pool.
 *
 * A pool over pages has addresses in plenty and memory only where its blocks lie:
 * an allocation maps the pages that it lacks, and pages that no block touches any
 * more go back to the device, wherever they are, all but ready_pages of them, when
 * nothing has needed them for some tens of milliseconds. So what it holds follows
 * its blocks. A pool over segments takes memory in large pieces and gives back
 * those that are empty.
 *
 * @go *pool.Config
 */
typedef struct ferrum_pool_config {
    uint32_t struct_size;
    /** Grow when full (1), or never beyond the initial size (0).
     *  @bool
     *  @go AutoExpansion */
    uint32_t enable_auto_expansion;
    /** Size of the first segment, taken at the first allocation; 0: as large
     *  as the growth increment. Smaller where the device has less, and an
     *  eighth of the device where it would take more than half of it. Over pages
     *  nothing is taken ahead: it is the bound of a pool that does not grow, and
     *  what pre_allocate takes. */
    uint64_t initial_size_bytes;
    /** Upper bound of what the pool holds; 0: none.
     *  @none 0 */
    uint64_t max_size_bytes;
    /** Size of each further segment, larger if a request needs it, smaller as
     *  the first one. A pool over pages grows by the pages that it lacks. */
    uint64_t growth_increment_bytes;
    /** Alignment of every block, a power of two; 0: 256. Sizes are rounded up to
     *  it; some strategies and the thread caches round further, and
     *  ferrum_pool_usable_size tells what a block has. */
    uint64_t alignment_bytes;
    /** Take the memory when the pool is created (1): max_size_bytes, or
     *  initial_size_bytes where that is unlimited. It is then all or nothing.
     *  Over pages it stays until it is asked back, by a trim or another pool.
     *  @bool
     *  @go PreAlloc */
    uint32_t pre_allocate;
    /** Keep peaks and counts (1). Current values are always kept.
     *  @bool
     *  @go Stats */
    uint32_t enable_stats;
    /**
     * Placement strategy; NULL: the default. All keep their tables outside the
     * memory that they manage.
     *
     *   "best_fit"    the smallest free run that holds the request; heeds the
     *                 expected lifetime of a request
     *   "size_class"  small blocks in slabs of size classes, large ones as
     *                 best_fit
     *   "tlsf"        two-level segregated fit: constant time in the worst case
     *   "buddy"       powers of two
     *   "arena"       one after the other; the room comes back when the last
     *                 block is freed
     *   "fixed"       blocks of fixed_block_bytes, such as KV blocks, placed so
     *                 that pages of page_bytes empty out
     */
    const char *strategy;
    /** Name of the pool in reports, and tag of its blocks; NULL: none. At most
     *  63 bytes. */
    const char *name;
    /** Keep the time of every allocation (1), for ages in reports. Costs some
     *  time a block, and every call then goes past the thread caches.
     *  @bool */
    uint32_t tracking;
    /** Sum of FERRUM_DEBUG_*, to which FERRUM_DEBUG of the environment adds for
     *  all pools; 0: none. Every call of a pool that debugs goes past the thread
     *  caches.
     *  @flags FERRUM_DEBUG */
    uint32_t debug;
    /** How much each thread may keep of freed small and medium blocks for its
     *  own next calls: FERRUM_THREAD_CACHE_AUTO, 0 (off), or bytes. What threads
     *  keep is counted as cached and is taken back before memory runs out. */
    uint64_t thread_cache_bytes;
    /** What the pool keeps in any case: no trim, no other pool's want and no
     *  release threshold makes it hold less. */
    uint64_t min_held_bytes;
    /** While more than this is held, a segment (a page) that a free leaves
     *  without a block is given back at once; UINT64_MAX: never at once. A block
     *  that waits in a thread cache still is in its segment.
     *  @none UINT64_MAX */
    uint64_t release_threshold_bytes;
    /** Block size of "fixed", which needs it; 0 for every other strategy. */
    uint64_t fixed_block_bytes;
    /** Page of "fixed", a power of two; 0: that of the memory, or 2 MiB over
     *  segments. 0 for every other strategy. */
    uint64_t page_bytes;
    /** FERRUM_PAGING_* */
    ferrum_paging paging;
    /** How many pages that no block touches stay for the next allocations: a
     *  number, FERRUM_READY_PAGES_AUTO (8, and at most one for 64 pages in use),
     *  or FERRUM_READY_PAGES_ALL (they go back only when they are asked for).
     *  @read idlePages */
    uint32_t ready_pages;
    /** Size of the memory's pages, a power of two of at least
     *  ferrum_page_sizes.minimum_bytes; 0: what the device recommends, and on
     *  CUDA pages of 32 MiB as well where a block contains them as a whole. Not
     *  heeded over segments. */
    uint64_t physical_page_bytes;
    /** FERRUM_SEGMENTS_*. With FERRUM_SEGMENTS_STREAM_ORDERED, FERRUM_PAGING_AUTO is
     *  off and FERRUM_PAGING_ON is FERRUM_ERROR_INVALID_CONFIG.
     *  @go StreamOrdered
     *  @read segmentSource */
    ferrum_segment_source segment_source;
    uint32_t reserved;
} ferrum_pool_config;

/** The library chooses. */
#define FERRUM_READY_PAGES_AUTO 0xffffffffu
/** All of them, in a pool; they go back only when they are asked for. */
#define FERRUM_READY_PAGES_ALL 0xfffffffeu

/** The library chooses. */
#define FERRUM_THREAD_CACHE_AUTO UINT64_MAX
/** Nothing. */
#define FERRUM_THREAD_CACHE_OFF UINT64_C(0)

/** Puts a zone before and behind every block and checks both when it is freed. */
#define FERRUM_DEBUG_RED_ZONES 0x1u
/** Overwrites blocks when they are handed out and when they are freed. */
#define FERRUM_DEBUG_POISON 0x2u
/** Keeps freed blocks back for a while and looks for writes into them. */
#define FERRUM_DEBUG_QUARANTINE 0x4u
/** Keeps where each block was allocated and freed, for reports. */
#define FERRUM_DEBUG_CALL_SITES 0x8u
/** All of them. */
#define FERRUM_DEBUG_ALL 0xfu

/* clang-format off */
#define FERRUM_POOL_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_pool_config), 1, UINT64_C(1) << 30, 0, UINT64_C(1) << 29, 256, 0, 1, NULL, NULL, 0, 0, FERRUM_THREAD_CACHE_AUTO, 0, UINT64_MAX, 0, 0, FERRUM_PAGING_AUTO, FERRUM_READY_PAGES_AUTO, 0, FERRUM_SEGMENTS_PLAIN, 0}
/* clang-format on */

/**
 * Makes a pool on a device.
 *
 * @param config  settings, or NULL for FERRUM_POOL_CONFIG_INIT.
 * @return FERRUM_ERROR_INVALID_CONFIG when the settings contradict each other
 *         (initial above max, expansion with no increment);
 *         FERRUM_ERROR_INVALID_ALIGNMENT; FERRUM_ERROR_NOT_FOUND for an unknown
 *         strategy (the message lists them); FERRUM_ERROR_OUT_OF_MEMORY when
 *         pre_allocate cannot be had; FERRUM_ERROR_UNSUPPORTED for
 *         FERRUM_PAGING_ON on a device without virtual memory, and for
 *         FERRUM_SEGMENTS_STREAM_ORDERED on one without
 *         FERRUM_CAPABILITY_STREAM_ORDERED;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE for a physical_page_bytes that the device
 *         does not have.
 *
 * @opens
 * @optional config
 */
FERRUM_API ferrum_status ferrum_pool_create(ferrum_device device,
                                            const ferrum_pool_config *config,
                                            ferrum_pool *pool_out);

/**
 * Destroys a pool and gives its memory back to the system.
 *
 * @param flags  0, or FERRUM_FORCE: also while blocks are live, in the same memory
 *               however many they are. Waits for queued work that uses its freed
 *               blocks. Calls of other threads for the pool do not wait for that:
 *               they are FERRUM_ERROR_INVALID_STATE, and FERRUM_ERROR_INVALID_HANDLE
 *               from its end on.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while blocks are live.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_pool_destroy(ferrum_pool pool, uint32_t flags);

/**
 * Takes a block from a pool. The block is of the stream that it is asked for on: its
 * free waits for what is queued there, whoever frees it and however.
 *
 * @param size_bytes   not 0; rounded up to the pool's alignment or further.
 * @param stream       optional: the stream that will use the block first. The
 *                     memory may be such as was freed on it with work still
 *                     queued: who else uses the block, the host too, has to come
 *                     after that work. It may be destroyed while the block is live:
 *                     what was queued on it is done then.
 * @param address_out  where it starts.
 * @return FERRUM_ERROR_OUT_OF_MEMORY when, after everything that is cached
 *         has been given up and the reclaim callbacks have been called, there
 *         is no room; the message names the request, what was free, the largest
 *         run and the holders by tag. A request that can never fit fails at
 *         once. Freed blocks whose stream work is still queued are waited for,
 *         at most 10 s.
 *
 * @optional stream
 * @by-hand c the thread caches come first
 * @hot
 * @by-hand python,rust it makes an object
 * @go lib.PoolAlloc
 */
FERRUM_API ferrum_status ferrum_pool_alloc(ferrum_pool pool,
                                           uint64_t size_bytes,
                                           ferrum_stream stream,
                                           ferrum_address *address_out);

/** What a block is wanted for, beyond its size.
 *  @by-hand rust is built up by calls
 *  @go library.PoolRequest */
typedef struct ferrum_pool_request {
    uint32_t struct_size;
    /** A number of ferrum_pool_get_tag; 0: the pool's name.
     *  @go TagNumber */
    uint32_t tag;
    /** Not 0; rounded up to the pool's alignment. */
    uint64_t size_bytes;
    /** A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's.
     *  @none 0 */
    uint64_t alignment_bytes;
    /** Optional: the stream that will use the block first, and that it is of.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
    /** How long the block is expected to live from now; 0: not known. A hint for
     *  the placement only: it may be wrong.
     *  @none 0
     *  @go Lifetime */
    uint64_t expected_lifetime_ns;
    /** A number that blocks share which are expected to be freed together, such
     *  as that of a request; 0: none. A hint for the placement only. */
    uint64_t group;
} ferrum_pool_request;

/* clang-format off */
#define FERRUM_POOL_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_pool_request), 0, 0, 0, {0}, 0, 0}
/* clang-format on */

/**
 * As ferrum_pool_alloc, with all that can be asked for.
 *
 * @by-hand c the thread caches come first
 * @form python Pool.alloc()
 */
FERRUM_API ferrum_status
ferrum_pool_alloc_with(ferrum_pool pool, const ferrum_pool_request *request,
                       ferrum_address *address_out);

/** How many blocks a batch may have. */
#define FERRUM_BATCH_MAX (UINT64_C(1) << 20)

/**
 * Takes count blocks of one size: all of them or none.
 *
 * @param count          1 to FERRUM_BATCH_MAX.
 * @param addresses_out  room for count addresses; all zero on failure, but for a
 *                       count that is out of bounds.
 * @return as ferrum_pool_alloc; FERRUM_ERROR_INVALID_ARGUMENT for the count.
 *
 * @optional stream
 * @by-hand c the thread caches come first
 * @by-hand cpp it fills a list whose length the caller gives
 * @batch addresses_out
 */
FERRUM_API ferrum_status ferrum_pool_alloc_batch(ferrum_pool pool,
                                                 uint64_t size_bytes,
                                                 uint64_t count,
                                                 ferrum_stream stream,
                                                 ferrum_address *addresses_out);

/**
 * Gives a tag of the pool its number, which stays while the pool lives.
 *
 * @param name     1 to 63 bytes.
 * @param tag_out  the same number for the same name.
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED after 4095 names.
 * @by-hand cpp a tag has a type of its own
 * @by-hand go the thread caches hear of the number
 * @by-hand python the pool keeps the numbers that it was told
 * @by-hand rust a tag has a type of its own
 */
FERRUM_API ferrum_status ferrum_pool_get_tag(ferrum_pool pool, const char *name,
                                             uint32_t *tag_out);

/**
 * Gives a block back. Its memory is handed out again once the work is done that is
 * queued now
 *
 *   - on the stream of the block, which it was asked for on,
 *   - on the streams that ferrum_pool_record_stream named for it,
 *   - and on the stream of this call, {0} being the default one as everywhere.
 *
 * A stream that has nothing queued adds nothing. Where only one of them has, a later
 * allocation for that stream may have the memory at once, for the order of the stream
 * keeps their work apart. A stream of the block that was destroyed has run dry, but for
 * what the owner of an adopted one had queued, and is no reason to fail. Does not wait.
 *
 * @param stream  optional: a further stream that used the block.
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to note the block
 *         behind queued work: it is as live as before, and can be freed when that is
 *         done; FERRUM_ERROR_DOUBLE_FREE for an address that is free in this pool;
 *         FERRUM_ERROR_INVALID_ADDRESS for one inside a block or outside the
 *         pool. With FERRUM_DEBUG_RED_ZONES, FERRUM_ERROR_CORRUPTED when bytes
 *         beside the block were overwritten; the block is free all the same.
 *
 * @optional stream
 * @by-hand c the thread caches come first
 * @hot
 * @by-hand python,rust a method of the block
 * @go lib.PoolFree
 */
FERRUM_API ferrum_status ferrum_pool_free(ferrum_pool pool,
                                          ferrum_address address,
                                          ferrum_stream stream);

/**
 * As ferrum_pool_free, with the size that was asked for as a check. It waits for the
 * same streams.
 *
 * @return FERRUM_ERROR_INVALID_SIZE when the block was asked for with another
 *         size; it is as live as before.
 *
 * @optional stream
 * @by-hand c the thread caches come first
 * @by-hand python,rust a method of the block
 */
FERRUM_API ferrum_status ferrum_pool_free_sized(ferrum_pool pool,
                                                ferrum_address address,
                                                uint64_t size_bytes,
                                                ferrum_stream stream);

/**
 * Gives count blocks back: all of them or none. Each waits for its own stream, those
 * that were named for it and the stream of this call, as in ferrum_pool_free. A large
 * batch is gone over in slices, and others wait for one of them at most: a call of
 * another thread for one of its blocks may find that freed already, also when the
 * batch then fails.
 *
 * @param count  1 to FERRUM_BATCH_MAX.
 * @return as ferrum_pool_free, for the first address that is wrong, with its
 *         index in the message; an address that is named twice is
 *         FERRUM_ERROR_DOUBLE_FREE. FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no
 *         memory to note all of them behind queued work: they are as live as before.
 *
 * @optional stream
 * @by-hand c the thread caches come first
 * @by-hand python it ends objects
 */
FERRUM_API ferrum_status ferrum_pool_free_batch(ferrum_pool pool,
                                                const ferrum_address *addresses,
                                                uint64_t count,
                                                ferrum_stream stream);

/**
 * Says that a stream uses a block too, other than the one that it was asked for on,
 * for which it waits without this: once freed, the block waits for the work that is
 * queued on this stream at the time of its free as well.
 *
 * @param stream  optional.
 * @return FERRUM_ERROR_DOUBLE_FREE or FERRUM_ERROR_INVALID_ADDRESS when no live
 *         block starts at the address.
 *
 * @optional stream
 * @by-hand python,rust a method of the block
 */
FERRUM_API ferrum_status ferrum_pool_record_stream(ferrum_pool pool,
                                                   ferrum_address address,
                                                   ferrum_stream stream);

/**
 * How many bytes of a live block may be used: at least what was asked for. All
 * of them belong to the block.
 *
 * @by-hand c the thread caches come first
 * @by-hand rust a method of PoolBlock
 * @by-hand python a property of the block
 * @form python PoolBlock.usable_bytes
 */
FERRUM_API ferrum_status ferrum_pool_usable_size(ferrum_pool pool,
                                                 ferrum_address address,
                                                 uint64_t *size_bytes_out);

/**
 * Has allocations for the streams of a capture come from a private pool of the graph,
 * until ferrum_pool_capture_end. To be called when the capture has begun, for each pool
 * that is used in it: streams that join the capture later are recognised. A stream
 * captures by its vendor's calls (cuStreamBeginCapture), and is known here by
 * ferrum_stream_adopt, or through ferrum_stream_get_native.
 *
 * What the graph uses stays where it is until ferrum_pool_capture_release: memory that is
 * freed on a stream of the capture goes to that stream at once, and to others of the same
 * private pool when the capture has ended, but never to anybody else. A block from before the
 * capture that is freed on such a stream, is of one, or was named for one by
 * ferrum_pool_record_stream, is freed when the graph is released. Other streams go on as
 * ever; thread caches of the pool stand still until the end of its captures.
 *
 * Graphs may share a private pool. They lie on the same memory then: they have to run in
 * the order in which they were captured, one after the other, and what one of them has
 * left in a block that is not live is gone when another one has run.
 *
 * @param stream        optional: one that captures now.
 * @param shared_graph  a graph of this pool whose private pool it is to be; 0: a new one,
 *                      which takes memory by itself, at most the max_size_bytes of the pool.
 * @param graph_out     number of the graph in this pool. No two have the same.
 * @return FERRUM_ERROR_UNSUPPORTED without FERRUM_CAPABILITY_CAPTURE;
 *         FERRUM_ERROR_INVALID_STATE when the stream does not capture, or an error has
 *         spoilt its capture; FERRUM_ERROR_ALREADY_EXISTS when this capture has begun in
 *         the pool before; FERRUM_ERROR_NOT_FOUND for the shared_graph;
 *         FERRUM_ERROR_BUSY while another graph of its private pool is being captured.
 *
 * @optional stream
 * @default shared_graph 0
 * @by-hand python,rust it makes an object
 * @form python Graph()
 */
FERRUM_API ferrum_status ferrum_pool_capture_begin(ferrum_pool pool,
                                                   ferrum_stream stream,
                                                   uint64_t shared_graph,
                                                   uint64_t *graph_out);

/**
 * Ends what ferrum_pool_capture_begin began; to be called when the capture itself has ended.
 * Live blocks stay live.
 *
 * @return FERRUM_ERROR_NOT_FOUND; FERRUM_ERROR_INVALID_STATE while the stream captures,
 *         or when it was called before.
 * @by-hand rust a method of Graph
 * @by-hand python a method of the graph
 * @form python Graph.end()
 */
FERRUM_API ferrum_status ferrum_pool_capture_end(ferrum_pool pool,
                                                 uint64_t graph);

/**
 * Says that a graph will not run again once the work that is queued on the stream now is
 * done. With the last graph of a private pool its memory goes back to the system, as soon
 * as that work is done and none of its blocks is live any more; the call does not wait
 * for it. A capture that has failed, and has no graph, is released as well, with or without
 * ferrum_pool_capture_end.
 *
 * @param stream  optional: where the graph ran last.
 * @return FERRUM_ERROR_NOT_FOUND; FERRUM_ERROR_INVALID_STATE while the graph is being
 *         captured, or the stream captures. Then nothing has changed.
 *
 * @optional stream
 * @by-hand python,rust the end of the graph
 * @form python Graph.close()
 */
FERRUM_API ferrum_status ferrum_pool_capture_release(ferrum_pool pool,
                                                     uint64_t graph,
                                                     ferrum_stream stream);

/** A graph at one moment. What is told of the private pool is of all graphs that share
 *  it.
 *  @go pool.GraphInfo */
typedef struct ferrum_graph_info {
    uint32_t struct_size;
    /** Until ferrum_pool_capture_end (1).
     *  @bool */
    uint32_t capturing;
    /** Graphs of the private pool, this one included. */
    uint64_t sharing;
    /** What the private pool has of the device. */
    uint64_t held_bytes;
    /** Size of the live blocks of the private pool. */
    uint64_t live_bytes;
    /** How many they are. */
    uint64_t live_blocks;
    /** Freed blocks from before the capture that stay until the graph is released. */
    uint64_t parked_bytes;
} ferrum_graph_info;

/** Initial value of a ferrum_graph_info. */
/* clang-format off */
#define FERRUM_GRAPH_INFO_INIT {FERRUM_SIZE_OF(ferrum_graph_info), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a graph that was not released: FERRUM_ERROR_NOT_FOUND for any other.
 *  @by-hand rust a method of Graph
 *  @by-hand python a method of the graph */
FERRUM_API ferrum_status ferrum_pool_capture_get_info(
    ferrum_pool pool, uint64_t graph, ferrum_graph_info *info_out);

/**
 * Gives back every live block of the pool, as ferrum_pool_free does on the stream, each
 * after its own as well; those of graphs stay. It goes over the blocks in slices, so
 * that it needs the same memory however many there are and others wait for one slice
 * at most: a block that another thread takes meanwhile may go with them or stay.
 *
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to note the blocks
 *         behind queued work: they are as live as before, unless another thread takes
 *         blocks or that memory meanwhile; then what was not freed is live.
 *
 * @optional stream
 * @by-hand python it ends objects
 * @by-hand rust unsafe, for its blocks end
 */
FERRUM_API ferrum_status ferrum_pool_reset(ferrum_pool pool,
                                           ferrum_stream stream);

/**
 * Looks now at every block of a pool that debugs: beside live ones, and into
 * freed ones that are in quarantine. Damage that it reports is repaired, so it
 * is reported once.
 *
 * @return FERRUM_ERROR_CORRUPTED for the first damage; all of it is in the log.
 *         A pool that does not debug is not looked at.
 */
FERRUM_API ferrum_status ferrum_pool_check(ferrum_pool pool);

/**
 * Takes back what thread caches keep, and gives segments that hold no live block
 * back to the system, until no more than keep_bytes (or the pool's
 * min_held_bytes) are held or none is left to give.
 *
 * @param released_bytes_out  what was given back.
 * @default keep_bytes 0
 * @by-hand rust releases dropped graphs first
 */
FERRUM_API ferrum_status ferrum_pool_trim(ferrum_pool pool, uint64_t keep_bytes,
                                          uint64_t *released_bytes_out);

/**
 * Changes the pool's upper bound; 0 takes it away. Lowering it below what is
 * held releases what is cached; what is live stays.
 * @none max_size_bytes 0
 */
FERRUM_API ferrum_status ferrum_pool_set_limit(ferrum_pool pool,
                                               uint64_t max_size_bytes);

/** Changes min_held_bytes of the pool's settings. */
FERRUM_API ferrum_status ferrum_pool_set_min_held(ferrum_pool pool,
                                                  uint64_t min_held_bytes);

/** Changes release_threshold_bytes of the pool's settings, and gives back what is
 *  held above it and holds no block. UINT64_MAX: never.
 *  @by-hand rust the threshold may be none
 * @none release_threshold_bytes UINT64_MAX
 */
FERRUM_API ferrum_status ferrum_pool_set_release_threshold(
    ferrum_pool pool, uint64_t release_threshold_bytes);

/** How a pool has its memory, at one moment.
 *  @go pool.Info */
typedef struct ferrum_pool_info {
    uint32_t struct_size;
    uint32_t reserved;
    /** What the pool has of the device. */
    uint64_t held_bytes;
    /** Size of its pages; 0: it takes segments whole, and the counts of pages
     *  are 0 too. */
    uint64_t page_bytes;
    /** Pages that are mapped. */
    uint64_t mapped_pages;
    /** Mapped pages that no block touches: the next allocations have them. */
    uint64_t idle_pages;
    /** How many idle pages stay, with as many in use as now. */
    uint64_t ready_pages;
    /** Segments, or ranges of addresses that pages are mapped in. */
    uint64_t segments;
    /** Their addresses. */
    uint64_t address_bytes;
} ferrum_pool_info;

/* clang-format off */
#define FERRUM_POOL_INFO_INIT {FERRUM_SIZE_OF(ferrum_pool_info), 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes how a pool has its memory.
 *  @infallible */
FERRUM_API ferrum_status ferrum_pool_get_info(ferrum_pool pool,
                                              ferrum_pool_info *info_out);

/** Books of a pool.
 *  @infallible */
FERRUM_API ferrum_status
ferrum_pool_get_statistics(ferrum_pool pool, ferrum_statistics *statistics_out);

/** What is at an address.
 *  @unknown FERRUM_BLOCK_UNUSABLE */
typedef int32_t ferrum_block_state;
/** A live block. */
#define FERRUM_BLOCK_LIVE 0
/** A freed block that queued work may still use, or that quarantine holds. */
#define FERRUM_BLOCK_IN_FLIGHT 1
/** A freed block in a thread cache, or a freed page that is still mapped. */
#define FERRUM_BLOCK_CACHED 2
/** Free memory of a pool, or address space of a virtual one. */
#define FERRUM_BLOCK_FREE 3
/** Memory of a pool that it cannot hand out. */
#define FERRUM_BLOCK_UNUSABLE 4
/** A range that sleeps: it has its address, and no memory. */
#define FERRUM_BLOCK_ASLEEP 5

/** Whom an address belongs to.
 *  @name block_owner
 *  @go library.Owner */
typedef struct ferrum_block_info {
    uint32_t struct_size;
    /** What is there. */
    ferrum_block_state state;
    /** The pool, or {0} when it is another one.
     *  @optional */
    ferrum_pool pool;
    /** The manager whose pool it is, or 0.
     *  @optional ferrum_manager */
    uint64_t manager;
    /** Start of the block or of the free run; in a virtual pool, of the range or,
     *  where none is mapped, of the page.
     *  @go Addr */
    uint64_t address;
    /** Its length after rounding. */
    uint64_t size_bytes;
    /** What was asked for; 0 when not live or asleep. */
    uint64_t requested_bytes;
    /** Time since the allocation; 0 without tracking or when not live or asleep.
     *  @go Age */
    uint64_t age_ns;
    /** Name of the pool. */
    char pool_name[64];
    /** Tag of the block; empty when not live or asleep. */
    char tag[64];
    /** The virtual pool, or {0} when it is another one.
     *  @optional */
    ferrum_vpool vpool;
    /** The elastic pool, or {0} when it is another one.
     *  @optional */
    ferrum_elastic_pool elastic_pool;
    /** Id of the model of the elastic pool, or empty. */
    char model[64];
} ferrum_block_info;

/* clang-format off */
#define FERRUM_BLOCK_INFO_INIT {FERRUM_SIZE_OF(ferrum_block_info), 0, {0}, 0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, {0}}
/* clang-format on */

/**
 * Says which pool and block an address of a device belongs to; for debuggers:
 * it may look at every block of a pool, in slices: others go on meanwhile.
 *
 * @param address  any address, also inside a block.
 * @return FERRUM_ERROR_NOT_FOUND when no pool holds it.
 * @by-hand rust named owner_of
 * @by-hand python owner_of()
 */
FERRUM_API ferrum_status ferrum_device_get_owner(ferrum_device device,
                                                 ferrum_address address,
                                                 ferrum_block_info *info_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_POOLS_H */

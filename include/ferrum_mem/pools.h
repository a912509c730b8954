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

/** Largest alignment of a request: 1 GiB. */
#define FERRUM_ALIGNMENT_MAX (UINT64_C(1) << 30)

/** How a pool allocates memory from its device. */
typedef int32_t ferrum_paging;
/** Page by page, if the device supports it and the pool may hold at least 32 pages;
 *  otherwise in segments. */
#define FERRUM_PAGING_AUTO 0
/** In whole segments. */
#define FERRUM_PAGING_OFF 1
/** Page by page. */
#define FERRUM_PAGING_ON 2

/** Source of the segments of a pool. */
typedef int32_t ferrum_segment_source;
/** The device. */
#define FERRUM_SEGMENTS_PLAIN 0
/** A pool of the vendor's runtime that allocates in the order of a stream.
 *  Releasing a segment then waits only for work that uses the segment; otherwise
 *  the runtime may wait for other work too. The runtime's pool belongs to this
 *  device alone and caches nothing. */
#define FERRUM_SEGMENTS_STREAM_ORDERED 1

/**
 * Settings of a pool.
 *
 * A paged pool reserves far more addresses than it needs, and has memory only where
 * its blocks lie. An allocation maps the missing pages. The pool releases pages
 * without a block to the device, wherever they lie, when no allocation has needed
 * them for some tens of milliseconds. It keeps ready_pages of them. So the memory
 * of the pool follows its blocks.
 *
 * A segmented pool allocates memory in large segments and releases empty segments.
 *
 * @go *pool.Config
 */
typedef struct ferrum_pool_config {
    uint32_t struct_size;
    /** Grow when full (1), or stay within the initial size (0).
     *  @bool
     *  @go AutoExpansion */
    uint32_t enable_auto_expansion;
    /** Size of the first segment, which the first allocation takes from the device:
     *  FERRUM_INITIAL_SIZE_AUTO (1 GiB), 0 (growth_increment_bytes), or bytes. The
     *  first two become max_size_bytes where that is less; bytes above max_size_bytes
     *  are an error. The segment is smaller where the device has less memory, and an
     *  eighth of the device where it would be more than half of the device. A paged
     *  pool takes nothing beforehand: for a paged pool this is the upper bound if it
     *  does not grow, and the size for pre_allocate.
     *  @none FERRUM_INITIAL_SIZE_AUTO */
    uint64_t initial_size_bytes;
    /** Upper bound of the memory that the pool holds; 0: none.
     *  @none 0 */
    uint64_t max_size_bytes;
    /** Size of each further segment. A segment is larger if a request needs it, and
     *  smaller under the same conditions as the first segment. A paged pool grows
     *  by the missing pages. */
    uint64_t growth_increment_bytes;
    /** Alignment of every block, a power of two; 0: 256. Sizes are rounded up to
     *  it. Some strategies and the thread caches round further;
     *  ferrum_pool_usable_size returns the size of a block.
     *  @none 0 */
    uint64_t alignment_bytes;
    /** Allocate the memory when the pool is created (1): max_size_bytes, or
     *  initial_size_bytes if there is no upper bound. The creation fails if not all
     *  of it is available. A paged pool keeps these pages until a trim or another
     *  pool requests them.
     *  @bool
     *  @go PreAlloc */
    uint32_t pre_allocate;
    /** Record peaks and counts (1). Current values are always recorded.
     *  @bool
     *  @go Stats */
    uint32_t enable_stats;
    /**
     * Placement strategy; NULL: the default. All strategies keep their tables
     * outside the memory that they manage.
     *
     *   "best_fit"    the smallest free run that is large enough; uses the
     *                 expected lifetime of a request
     *   "size_class"  small blocks in slabs of size classes, large ones as
     *                 best_fit
     *   "tlsf"        two-level segregated fit: constant time in the worst case
     *   "buddy"       powers of two
     *   "arena"       one block after the other; all memory is free again when
     *                 the last block is freed
     *   "fixed"       blocks of fixed_block_bytes, such as KV blocks, placed so
     *                 that pages of page_bytes become empty
     *
     *  @words strategy
     */
    const char *strategy;
    /** Name of the pool in reports, and tag of its blocks; NULL: none. At most 63
     *  bytes. */
    const char *name;
    /** Record the time of every allocation (1), for ages in reports. It makes each
     *  call slower, and every call then bypasses the thread caches.
     *  @bool */
    uint32_t tracking;
    /** Sum of FERRUM_DEBUG_* flags; 0: none. FERRUM_DEBUG in the environment adds
     *  flags for all pools. Every call of a pool in debug mode bypasses the thread
     *  caches.
     *  @flags FERRUM_DEBUG */
    uint32_t debug;
    /** Size of the freed small and medium blocks that each thread may keep for its
     *  own next calls: FERRUM_THREAD_CACHE_AUTO, 0 (off), or bytes. The counters
     *  count these blocks as cached. The library takes them back before memory runs
     *  out. */
    uint64_t thread_cache_bytes;
    /** Memory that the pool always keeps: no trim, no request of another pool and
     *  no release threshold reduces the pool below it. */
    uint64_t min_held_bytes;
    /** While the pool holds more than this, a segment or a page that a free leaves
     *  without a block is released at once; UINT64_MAX: never at once. A block in a
     *  thread cache still occupies its segment.
     *  @none UINT64_MAX */
    uint64_t release_threshold_bytes;
    /** Block size of "fixed", which requires it; 0 for every other strategy.
     *  @none 0 */
    uint64_t fixed_block_bytes;
    /** Page size of "fixed", a power of two; 0: the page size of the memory, or 2
     *  MiB in segments. 0 for every other strategy.
     *  @none 0 */
    uint64_t page_bytes;
    /** FERRUM_PAGING_* */
    ferrum_paging paging;
    /** Number of idle pages that stay mapped for the next allocations: a number,
     *  FERRUM_READY_PAGES_AUTO (8, but at most one for each 64 pages in use), or
     *  FERRUM_READY_PAGES_ALL (idle pages are released only on request).
     *  @read idlePages */
    uint32_t ready_pages;
    /** Page size of the memory, a power of two of at least
     *  ferrum_page_sizes.minimum_bytes; 0: the size that the device recommends, and
     *  on CUDA also pages of 32 MiB where a block contains a whole one. A segmented
     *  pool ignores it.
     *  @none 0 */
    uint64_t physical_page_bytes;
    /** FERRUM_SEGMENTS_*. With FERRUM_SEGMENTS_STREAM_ORDERED, FERRUM_PAGING_AUTO
     *  means off, and FERRUM_PAGING_ON returns FERRUM_ERROR_INVALID_CONFIG.
     *  @go StreamOrdered
     *  @read segmentSource */
    ferrum_segment_source segment_source;
    uint32_t reserved;
} ferrum_pool_config;

/** 1 GiB, or the upper bound where that is less. */
#define FERRUM_INITIAL_SIZE_AUTO UINT64_MAX

/** The library chooses. */
#define FERRUM_READY_PAGES_AUTO 0xffffffffu
/** All idle pages stay in the pool. They are released only on request. */
#define FERRUM_READY_PAGES_ALL 0xfffffffeu

/** The library chooses. */
#define FERRUM_THREAD_CACHE_AUTO UINT64_MAX
/** Nothing. */
#define FERRUM_THREAD_CACHE_OFF UINT64_C(0)

/** Puts a red zone before and after every block, and checks both when the block is
 *  freed. */
#define FERRUM_DEBUG_RED_ZONES 0x1u
/** Overwrites blocks when they are allocated and when they are freed. */
#define FERRUM_DEBUG_POISON 0x2u
/** Keeps freed blocks for a while and checks them for late writes. */
#define FERRUM_DEBUG_QUARANTINE 0x4u
/** Records the call sites of allocation and free of each block, for reports. */
#define FERRUM_DEBUG_CALL_SITES 0x8u
/** All debug flags. */
#define FERRUM_DEBUG_ALL 0xfu

/* clang-format off */
#define FERRUM_POOL_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_pool_config), 1, FERRUM_INITIAL_SIZE_AUTO, 0, UINT64_C(1) << 29, 256, 0, 1, NULL, NULL, 0, 0, FERRUM_THREAD_CACHE_AUTO, 0, UINT64_MAX, 0, 0, FERRUM_PAGING_AUTO, FERRUM_READY_PAGES_AUTO, 0, FERRUM_SEGMENTS_PLAIN, 0}
/* clang-format on */

/**
 * Creates a pool on a device.
 *
 * @param config  settings, or NULL for FERRUM_POOL_CONFIG_INIT.
 * @return FERRUM_ERROR_INVALID_CONFIG when the settings contradict each other (an
 *         initial size above the maximum, expansion without an increment);
 *         FERRUM_ERROR_INVALID_ALIGNMENT; FERRUM_ERROR_NOT_FOUND for an unknown
 *         strategy (the message lists the strategies); FERRUM_ERROR_OUT_OF_MEMORY
 *         when there is too little memory for pre_allocate;
 *         FERRUM_ERROR_UNSUPPORTED for FERRUM_PAGING_ON on a device without virtual
 *         memory, and for FERRUM_SEGMENTS_STREAM_ORDERED on a device without
 *         FERRUM_CAPABILITY_STREAM_ORDERED; FERRUM_ERROR_INVALID_PAGE_SIZE for a
 *         physical_page_bytes that the device does not support.
 *
 * @opens
 * @optional config
 */
FERRUM_API ferrum_status ferrum_pool_create(ferrum_device device,
                                            const ferrum_pool_config *config,
                                            ferrum_pool *pool_out);

/**
 * Destroys a pool and releases its memory to the system.
 *
 * @param flags  0, or FERRUM_FORCE: destroy the pool although blocks are live. The
 *                call needs the same amount of memory for any number of blocks. It
 *                waits for queued work that uses freed blocks of the pool, and for
 *                the last runs of graphs that were released.
 *                Meanwhile calls of other threads for the pool return
 *                FERRUM_ERROR_INVALID_STATE, and after the end
 *                FERRUM_ERROR_INVALID_HANDLE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while blocks are live or a
 *         graph was not released.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_pool_destroy(ferrum_pool pool, uint32_t flags);

/**
 * Allocates a block from a pool. The block belongs to the stream of the request.
 * Every free of the block waits for the work that is queued on that stream at the
 * time of the free.
 *
 * @param size_bytes  not 0; rounded up to the pool's alignment or further.
 * @param stream  optional: the first stream that uses the block. The pool may
 *                return memory that was freed on this stream and that queued work
 *                of the stream still uses. So every other user of the block, also
 *                the host, has to wait for that work. The stream may be destroyed
 *                while the block is live: its queued work has completed then.
 * @param address_out  address of the block.
 * @return FERRUM_ERROR_OUT_OF_MEMORY when there is no room after the library
 *         released all cached memory and called the reclaim callbacks. The message
 *         states the request, the free bytes, the longest free run and the holders
 *         by tag. A request that can never fit fails at once. The call waits at
 *         most 10 s for freed blocks that queued work still uses.
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

/** A request for a block, with all options.
 *  @by-hand rust is built up by calls
 *  @go library.PoolRequest */
typedef struct ferrum_pool_request {
    uint32_t struct_size;
    /** A number of ferrum_pool_get_tag; 0: the pool's name.
     *  @go TagNumber */
    uint32_t tag;
    /** Not 0; rounded up to the pool's alignment. */
    uint64_t size_bytes;
    /** A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's alignment.
     *  @none 0 */
    uint64_t alignment_bytes;
    /** Optional: the first stream that uses the block. The block belongs to it.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
    /** Expected lifetime of the block from now on; 0: not known. It only affects
     *  the placement, and may be wrong.
     *  @none 0
     *  @go Lifetime */
    uint64_t expected_lifetime_ns;
    /** A number that is equal for blocks that will probably be freed together, such
     *  as the number of a request; 0: none. It only affects the placement.
     *  @none 0 */
    uint64_t group;
} ferrum_pool_request;

/* clang-format off */
#define FERRUM_POOL_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_pool_request), 0, 0, 0, {0}, 0, 0}
/* clang-format on */

/**
 * The same as ferrum_pool_alloc, with all options.
 *
 * @by-hand c the thread caches come first
 * @form python Pool.alloc()
 * @by-hand python,rust it makes a block
 */
FERRUM_API ferrum_status
ferrum_pool_alloc_with(ferrum_pool pool, const ferrum_pool_request *request,
                       ferrum_address *address_out);

/** Largest number of blocks in a batch. */
#define FERRUM_BATCH_MAX (UINT64_C(1) << 20)

/**
 * Allocates count blocks of one size: all of them, or none on failure.
 *
 * @param count  1 to FERRUM_BATCH_MAX.
 * @param addresses_out  room for count addresses. All are zero on failure, unless
 *                count is out of bounds.
 * @return as ferrum_pool_alloc; FERRUM_ERROR_INVALID_ARGUMENT for count.
 *
 * @optional stream
 * @by-hand c the thread caches come first
 * @by-hand cpp it fills a list whose length the caller gives
 * @batch addresses_out
 * @by-hand python,rust it makes blocks
 */
FERRUM_API ferrum_status ferrum_pool_alloc_batch(ferrum_pool pool,
                                                 uint64_t size_bytes,
                                                 uint64_t count,
                                                 ferrum_stream stream,
                                                 ferrum_address *addresses_out);

/**
 * Returns the number of a tag of the pool. The number stays the same while the pool
 * exists.
 *
 * @param name  1 to 63 bytes.
 * @param tag_out  the same number for the same name.
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED after 4095 names.
 *
 * @by-hand cpp a tag has a type of its own
 * @by-hand go the thread caches hear of the number
 * @by-hand python the pool keeps the numbers that it was told
 * @by-hand rust a tag has a type of its own
 */
FERRUM_API ferrum_status ferrum_pool_get_tag(ferrum_pool pool, const char *name,
                                             uint32_t *tag_out);

/**
 * Frees a block. The pool reuses its memory when the work has completed that is
 * queued now
 *
 *   - on the stream that the block belongs to,
 *   - on the streams that ferrum_pool_record_stream named for the block,
 *   - and on the stream of this call; {0} is the default stream, as everywhere.
 *
 * A stream without queued work adds no wait. If only one of the streams has queued
 * work, a later allocation for that stream may get the memory at once, because the
 * order of the stream separates the two uses. The free succeeds also when the
 * stream of the block was destroyed. Such a stream has no queued work, except for
 * work that the owner of an adopted stream had queued. The call does not wait.
 *
 * @param stream  optional: a further stream that used the block.
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to record the
 *         deferred free; the block stays live and can be freed when the work has
 *         completed. FERRUM_ERROR_DOUBLE_FREE for an address that is free in this
 *         pool; FERRUM_ERROR_INVALID_ADDRESS for an address inside a block or
 *         outside the pool. With FERRUM_DEBUG_RED_ZONES, FERRUM_ERROR_CORRUPTED
 *         when bytes beside the block were overwritten; the block is free
 *         nevertheless.
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
 * The same as ferrum_pool_free, with a check of the requested size. It waits for
 * the same streams.
 *
 * @return FERRUM_ERROR_INVALID_SIZE when the block was requested with another size;
 *         the block stays live.
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
 * Frees count blocks: all of them, or none on failure. Each free waits for the same
 * streams as ferrum_pool_free. The call frees a large batch in slices, and other
 * threads wait for one slice at most. Meanwhile a call of another thread may find a
 * block of the batch already freed, also when the batch fails in the end.
 *
 * @param count  1 to FERRUM_BATCH_MAX.
 * @return as ferrum_pool_free for the first wrong address; the message states its
 *         index. An address that occurs twice returns FERRUM_ERROR_DOUBLE_FREE.
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to record all
 *         deferred frees; all blocks stay live.
 *
 * @optional stream
 * @by-hand c the thread caches come first
 * @by-hand python it ends objects
 * @by-hand rust it ends blocks
 */
FERRUM_API ferrum_status ferrum_pool_free_batch(ferrum_pool pool,
                                                const ferrum_address *addresses,
                                                uint64_t count,
                                                ferrum_stream stream);

/**
 * Records a further stream that uses a block. When the block is freed, the free
 * also waits for the work that is queued on this stream at that time. The stream
 * that the block belongs to does not need this call.
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
 * Records a further stream that uses many blocks, like ferrum_pool_record_stream: all
 * of them, or none on failure. An address may occur twice. The call checks a list of
 * more than 4096 blocks as a whole and then records the stream in parts, and other
 * threads wait for one part at most. If another thread frees a block of such a list
 * meanwhile, the call may fail with some blocks recorded.
 *
 * @param count  at most FERRUM_BATCH_MAX; 0 does nothing.
 * @param stream  optional.
 * @return as ferrum_pool_record_stream. The message states the index of the first
 *         wrong address. Nothing has changed after an error.
 *
 * @optional stream
 * @by-hand python,rust a method of the batch
 */
FERRUM_API ferrum_status ferrum_pool_record_stream_batch(
    ferrum_pool pool, const ferrum_address *addresses, uint64_t count,
    ferrum_stream stream);

/**
 * Returns the usable size of a live block: at least the requested size. All of
 * these bytes belong to the block.
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
 * From now until ferrum_pool_capture_end, allocations for the streams of a capture
 * come from a private pool of the graph. Call it after the capture has begun, for
 * each pool that the capture uses. The library recognizes streams that join the
 * capture later. The program starts the capture with the calls of the vendor
 * (cuStreamBeginCapture). The stream is known to the library by ferrum_stream_adopt
 * or ferrum_stream_get_native.
 *
 * Memory of the graph keeps its place until ferrum_pool_capture_release. Memory
 * that is freed on a stream of the capture can be allocated for that stream at
 * once, and for other streams of the same private pool when the capture has ended,
 * but never outside the private pool. A block from before the capture waits until
 * the graph is released if it is freed on a stream of the capture, belongs to such
 * a stream, or was recorded for one by ferrum_pool_record_stream. Other streams are
 * not affected. The thread caches of the pool are not used until the end of its
 * captures.
 *
 * Graphs may share a private pool. They then use the same memory. They have to run
 * one after the other, in the order of their captures. A run of one graph
 * overwrites the contents that another graph left in blocks that are not live.
 *
 * @param stream  optional: a stream that captures now.
 * @param shared_graph  a graph of this pool whose private pool the new graph
 *                shares; 0: a new private pool, which allocates memory of its own,
 *                at most the max_size_bytes of the pool.
 * @param graph_out  number of the graph in this pool. Every graph has a different
 *                number.
 * @return FERRUM_ERROR_UNSUPPORTED without FERRUM_CAPABILITY_CAPTURE;
 *         FERRUM_ERROR_INVALID_STATE when the stream does not capture, or an error
 *         has invalidated its capture; FERRUM_ERROR_ALREADY_EXISTS when this
 *         capture has already begun in the pool; FERRUM_ERROR_NOT_FOUND for
 *         shared_graph; FERRUM_ERROR_BUSY while another graph of its private pool
 *         is being captured.
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
 * Ends the use of a private pool that ferrum_pool_capture_begin began. Call it
 * after the capture itself has ended. Live blocks stay live.
 *
 * @return FERRUM_ERROR_NOT_FOUND; FERRUM_ERROR_INVALID_STATE while the stream
 *         captures, or after an earlier call for this graph.
 *
 * @by-hand rust a method of Graph
 * @by-hand python a method of the graph
 * @form python Graph.end()
 */
FERRUM_API ferrum_status ferrum_pool_capture_end(ferrum_pool pool,
                                                 uint64_t graph);

/**
 * Releases a graph. The program states that the graph will not run again after the
 * work that is queued on the stream now. When the last graph of a private pool is
 * released, that work has completed and no block of the private pool is live, the
 * memory of the private pool is released to the system. The call does not wait for
 * it. A failed capture without a graph must be released too, with or without
 * ferrum_pool_capture_end.
 *
 * @param stream  optional: the stream of the last run.
 * @return FERRUM_ERROR_NOT_FOUND; FERRUM_ERROR_INVALID_STATE while the graph is
 *         being captured, or while the stream captures. Nothing has changed then.
 *
 * @optional stream
 * @by-hand python,rust the end of the graph
 * @form python Graph.close()
 */
FERRUM_API ferrum_status ferrum_pool_capture_release(ferrum_pool pool,
                                                     uint64_t graph,
                                                     ferrum_stream stream);

/** A graph at one moment. Graphs that share a private pool have the same numbers
 *  for it.
 *  @go pool.GraphInfo */
typedef struct ferrum_graph_info {
    uint32_t struct_size;
    /** 1 until ferrum_pool_capture_end.
     *  @bool */
    uint32_t capturing;
    /** Graphs of the private pool, this one included. */
    uint64_t sharing;
    /** Memory that the private pool holds from the device. */
    uint64_t held_bytes;
    /** Size of the live blocks of the private pool. */
    uint64_t live_bytes;
    /** Number of live blocks of the private pool. */
    uint64_t live_blocks;
    /** Freed blocks from before the capture that wait until the graph is released. */
    uint64_t parked_bytes;
} ferrum_graph_info;

/** Initial value of a ferrum_graph_info. */
/* clang-format off */
#define FERRUM_GRAPH_INFO_INIT {FERRUM_SIZE_OF(ferrum_graph_info), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a graph. FERRUM_ERROR_NOT_FOUND for a released or unknown graph.
 *  @by-hand rust a method of Graph
 *  @by-hand python a method of the graph */
FERRUM_API ferrum_status ferrum_pool_capture_get_info(
    ferrum_pool pool, uint64_t graph, ferrum_graph_info *info_out);

/**
 * Frees every live block of the pool, except for those of graphs, as
 * ferrum_pool_free does with this stream. Each block also waits for its own stream.
 * The call frees the blocks in slices. It needs the same amount of memory for any
 * number of blocks, and other threads wait for one slice at most. A block that
 * another thread allocates during the call may be freed or not.
 *
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to record the
 *         deferred frees. All blocks stay live then, unless other threads allocate
 *         blocks or use up memory during the call; in that case some of the blocks
 *         may be free.
 *
 * @optional stream
 * @by-hand python it ends objects
 * @by-hand rust unsafe, for its blocks end
 */
FERRUM_API ferrum_status ferrum_pool_reset(ferrum_pool pool,
                                           ferrum_stream stream);

/**
 * Checks every block of a pool in debug mode: the red zones of live blocks, and the
 * contents of blocks in quarantine. The call repairs the damage that it reports, so
 * each damage is reported once.
 *
 * @return FERRUM_ERROR_CORRUPTED for the first damage; the log has all of it. A
 *         pool without debug mode is not checked.
 */
FERRUM_API ferrum_status ferrum_pool_check(ferrum_pool pool);

/**
 * Takes back the blocks of the thread caches, and releases segments and pages
 * without a live block to the system. It stops when the pool holds no more than
 * keep_bytes (or the pool's min_held_bytes), or when no free segment or page is
 * left.
 *
 * @param released_bytes_out  number of released bytes.
 *
 * @default keep_bytes 0
 * @by-hand rust releases dropped graphs first
 */
FERRUM_API ferrum_status ferrum_pool_trim(ferrum_pool pool, uint64_t keep_bytes,
                                          uint64_t *released_bytes_out);

/**
 * Changes the upper bound of the pool; 0 removes it. A bound below the held memory
 * releases cached memory. Live blocks stay.
 *
 * @none max_size_bytes 0
 */
FERRUM_API ferrum_status ferrum_pool_set_limit(ferrum_pool pool,
                                               uint64_t max_size_bytes);

/** Changes min_held_bytes of the pool. */
FERRUM_API ferrum_status ferrum_pool_set_min_held(ferrum_pool pool,
                                                  uint64_t min_held_bytes);

/** Changes release_threshold_bytes of the pool, and releases free memory above the
 *  threshold. UINT64_MAX: no threshold.
 *  @by-hand rust the threshold may be none
 *  @none release_threshold_bytes UINT64_MAX */
FERRUM_API ferrum_status ferrum_pool_set_release_threshold(
    ferrum_pool pool, uint64_t release_threshold_bytes);

/** Memory of a pool at one moment.
 *  @go pool.Info */
typedef struct ferrum_pool_info {
    uint32_t struct_size;
    uint32_t reserved;
    /** Memory that the pool holds from the device. */
    uint64_t held_bytes;
    /** Size of its pages; 0: the pool allocates whole segments, and the counts of
     *  pages are 0.
     *  @none 0 */
    uint64_t page_bytes;
    /** Number of mapped pages. */
    uint64_t mapped_pages;
    /** Number of mapped pages without a block. The next allocations use them. */
    uint64_t idle_pages;
    /** Number of idle pages that stay mapped, for the present number of pages in
     *  use. */
    uint64_t ready_pages;
    /** Number of segments, or of address ranges in which pages are mapped. */
    uint64_t segments;
    /** Size of their addresses. */
    uint64_t address_bytes;
} ferrum_pool_info;

/* clang-format off */
#define FERRUM_POOL_INFO_INIT {FERRUM_SIZE_OF(ferrum_pool_info), 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes the memory of a pool.
 *  @infallible */
FERRUM_API ferrum_status ferrum_pool_get_info(ferrum_pool pool,
                                              ferrum_pool_info *info_out);

/** Returns the counters of a pool.
 *  @infallible */
FERRUM_API ferrum_status
ferrum_pool_get_statistics(ferrum_pool pool, ferrum_statistics *statistics_out);

/** State of the memory at an address.
 *  @unknown FERRUM_BLOCK_UNUSABLE */
typedef int32_t ferrum_block_state;
/** A live block. */
#define FERRUM_BLOCK_LIVE 0
/** A freed block that queued work may still use, or that is in quarantine. */
#define FERRUM_BLOCK_IN_FLIGHT 1
/** A freed block in a thread cache, or a freed page that is still mapped. */
#define FERRUM_BLOCK_CACHED 2
/** Free memory of a pool, or free address space of a virtual pool. */
#define FERRUM_BLOCK_FREE 3
/** Memory of a pool that the pool cannot allocate. */
#define FERRUM_BLOCK_UNUSABLE 4
/** A range that is asleep: it has its address and no memory. */
#define FERRUM_BLOCK_ASLEEP 5

/** The owner of an address.
 *  @name block_owner
 *  @go library.Owner */
typedef struct ferrum_block_info {
    uint32_t struct_size;
    /** State of the memory at the address. */
    ferrum_block_state state;
    /** The pool, or {0} when the owner is not a pool.
     *  @optional */
    ferrum_pool pool;
    /** The manager that owns the pool, or 0.
     *  @optional ferrum_manager */
    uint64_t manager;
    /** Start of the block or of the free run. In a virtual pool, start of the range
     *  or, where no range is mapped, of the page.
     *  @go Addr */
    uint64_t address;
    /** Its size with rounding. */
    uint64_t size_bytes;
    /** The requested size; 0 when the block is neither live nor asleep.
     *  @none 0 */
    uint64_t requested_bytes;
    /** Time since the allocation; 0 without tracking, or when the block is neither
     *  live nor asleep.
     *  @none 0
     *  @go Age */
    uint64_t age_ns;
    /** Name of the pool.
     *  @optional */
    char pool_name[64];
    /** Tag of the block; empty when the block is neither live nor asleep.
     *  @optional */
    char tag[64];
    /** The virtual pool, or {0} when the owner is not a virtual pool.
     *  @optional */
    ferrum_vpool vpool;
    /** The elastic pool, or {0} when the owner is not an elastic pool.
     *  @optional */
    ferrum_elastic_pool elastic_pool;
    /** Id of the model of the elastic pool, or empty.
     *  @optional */
    char model[64];
} ferrum_block_info;

/* clang-format off */
#define FERRUM_BLOCK_INFO_INIT {FERRUM_SIZE_OF(ferrum_block_info), 0, {0}, 0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, {0}}
/* clang-format on */

/**
 * Finds the pool and the block that an address of a device belongs to. It is meant
 * for debuggers: it may traverse every block of a pool, in slices, while other
 * threads continue.
 *
 * @param address  any address, also inside a block.
 * @return FERRUM_ERROR_NOT_FOUND when no pool holds the address.
 *
 * @by-hand rust named owner_of
 * @by-hand python owner_of()
 */
FERRUM_API ferrum_status ferrum_device_get_owner(ferrum_device device,
                                                 ferrum_address address,
                                                 ferrum_block_info *info_out);

/**
 * Returns where the live block at an address was allocated, as a JSON array of
 * strings, the innermost function first: ["engine.py:12 (load)", "engine+0x12f4
 * (allocate)"]. It is empty unless the pool of the block, which may be that of a
 * manager, has FERRUM_DEBUG_CALL_SITES. For debuggers, as ferrum_device_get_owner.
 *
 * @param address  any address, also inside a block.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_NOT_FOUND when no pool holds the address.
 *
 * @by-hand rust named call_site_json
 * @by-hand python call_site_of()
 */
FERRUM_API ferrum_status ferrum_device_get_call_site_json(
    ferrum_device device, ferrum_address address, char *buffer, size_t capacity,
    size_t *length_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_POOLS_H */

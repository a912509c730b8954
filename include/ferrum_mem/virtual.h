/*
 * Virtual pools: reserved address space into which memory is mapped.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_VIRTUAL_H
#define FERRUM_MEM_VIRTUAL_H

#include "base.h"
#include "books.h"
#include "pools.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A virtual pool reserves address space as a whole, and maps memory into parts of
 * it, page by page, as the caller requests. Mapped memory keeps its address. An
 * access to an address where nothing is mapped ends the process, as with any
 * invalid pointer.
 *
 * The pool reuses physical pages: a freed page stays with the pool for its next
 * call. A worker of the library keeps some pages ready. After some time the pool
 * releases further pages to the device.
 */

/** The page sizes of a device.
 *  @by-hand python a pair of two numbers
 *  @go device.Granularity */
typedef struct ferrum_page_sizes {
    uint32_t struct_size;
    uint32_t reserved;
    /** The smallest page size of a virtual pool. Larger page sizes are powers of
     *  two. */
    uint64_t minimum_bytes;
    /** The page size that works best. page_bytes 0 selects it. */
    uint64_t recommended_bytes;
} ferrum_page_sizes;

/* clang-format off */
#define FERRUM_PAGE_SIZES_INIT {FERRUM_SIZE_OF(ferrum_page_sizes), 0, 0, 0}
/* clang-format on */

/**
 * Returns the page sizes of a device.
 *
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory.
 *
 * @by-hand python the kind of memory has a default
 */
FERRUM_API ferrum_status ferrum_device_get_page_sizes(
    ferrum_device device, ferrum_page_sizes *sizes_out);

/** Kind of the physical memory of pages. */
typedef int32_t ferrum_backing;
/** The memory can be mapped at another address. On the host, a child made by fork()
 *  does not inherit this memory, because parent and child would share it. */
#define FERRUM_BACKING_MOVABLE 0
/** The contents are lost when a page is mapped elsewhere. On some devices mapping
 *  and unmapping are quicker. On the host, a child made by fork() has a copy of the
 *  contents at that moment. */
#define FERRUM_BACKING_PRIVATE 1
/** Movable, and ferrum_vpool_export() passes the memory to other processes. A
 *  device without FERRUM_CAPABILITY_EXPORTED_PAGES does not support it. On the host
 *  each page is a file. */
#define FERRUM_BACKING_SHAREABLE 2
/** Movable, and other hardware such as network cards can read and write the memory
 *  without the host (GPUDirect RDMA) after the program has registered it there. A
 *  device without FERRUM_CAPABILITY_RDMA_PAGES does not support it. The program has
 *  to remove that registration before it frees the range. */
#define FERRUM_BACKING_RDMA 3
/** Movable, and ferrum_vpool_export_fabric passes the memory to processes on other
 *  hosts. A device without FERRUM_CAPABILITY_FABRIC_PAGES does not support it. */
#define FERRUM_BACKING_FABRIC 4

/** Settings of a virtual pool.
 *  @go vmm.Config */
typedef struct ferrum_vpool_config {
    uint32_t struct_size;
    /** No flag is defined: 0. */
    uint32_t flags;
    /** Address space, rounded up to whole pages; not 0.
     *  @required */
    uint64_t capacity_bytes;
    /** A power of two of at least ferrum_page_sizes.minimum_bytes; 0: the
     *  recommended size of the device.
     *  @none 0 */
    uint64_t page_bytes;
    /** Upper bound of the memory; 0: the memory of the device.
     *  @none 0 */
    uint64_t limit_bytes;
    /** Name in reports, and tag of ranges without a tag; NULL: none. At most 63
     *  bytes. */
    const char *name;
    /** Number of pages that are kept ready while no allocation needs them: up to
     *  65536, or FERRUM_READY_PAGES_AUTO.
     *  @none FERRUM_READY_PAGES_AUTO
     *  @read readyPages */
    uint32_t ready_pages;
    /** FERRUM_BACKING_* */
    ferrum_backing backing;
} ferrum_vpool_config;

/* clang-format off */
#define FERRUM_VPOOL_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_vpool_config), 0, 0, 0, 0, NULL, FERRUM_READY_PAGES_AUTO, FERRUM_BACKING_MOVABLE}
/* clang-format on */

/**
 * Creates a virtual pool. It reserves address space, and allocates memory only for
 * its tables.
 *
 * @param config  required.
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_INVALID_SIZE for a capacity
 *         that is 0 or cannot be rounded up; FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY
 *         when the address space is not available;
 *         FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a limit above the memory of the
 *         device.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_vpool_create(ferrum_device device,
                                             const ferrum_vpool_config *config,
                                             ferrum_vpool *vpool_out);

/**
 * Destroys a virtual pool. The call waits for queued work that uses freed ranges,
 * unmaps everything and releases memory and address space.
 *
 * @param flags  0, or FERRUM_FORCE: destroy the pool although ranges are live. The
 *                call then first waits for all work of the device.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while ranges are live or a
 *         running call allocates some.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_vpool_destroy(ferrum_vpool vpool,
                                              uint32_t flags);

/**
 * Maps readable and writable memory at every page that a range touches: at all of
 * them, or at none on failure. The first bytes are zeros, or bytes that this pool
 * wrote before.
 *
 * @param offset_bytes  offset from the base address; any number of bytes.
 * @param size_bytes  not 0.
 * @param address_out  base address + offset_bytes.
 * @return FERRUM_ERROR_INVALID_OFFSET for a range that ends outside the pool, with
 *         offset, size and capacity in the message; FERRUM_ERROR_INVALID_SIZE;
 *         FERRUM_ERROR_ALREADY_MAPPED, with offset and size of the first mapped
 *         page; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY above the limit, with the
 *         requested and the available size; FERRUM_ERROR_OUT_OF_MEMORY when the
 *         device has no more memory, after the same reclaim path as
 *         ferrum_pool_alloc; FERRUM_ERROR_RESOURCE_EXHAUSTED when the system allows
 *         no more mappings. If queued work still uses a freed range there, the call
 *         waits for that work; in a host function or a reclaim callback it returns
 *         FERRUM_ERROR_BUSY instead.
 *
 * @by-hand rust the range is a value
 * @by-hand python it makes a range
 */
FERRUM_API ferrum_status ferrum_vpool_alloc(ferrum_vpool vpool,
                                            uint64_t offset_bytes,
                                            uint64_t size_bytes,
                                            ferrum_address *address_out);

/** A request for a range of a virtual pool.
 *  @go library.RangeRequest */
typedef struct ferrum_vpool_request {
    uint32_t struct_size;
    uint32_t reserved;
    /** Offset from the base address. */
    uint64_t offset_bytes;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the counters, at most 63 bytes; NULL or empty: the pool's name. */
    const char *tag;
    /** How long to wait while the tag, the whole pool or a range at that offset is
     *  asleep, in nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at
     *  once.
     *  @go Wait */
    uint64_t asleep_wait_ns;
    /** The first stream that uses the range. A free of the range waits for the work
     *  of this stream. {0}: the default stream.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
} ferrum_vpool_request;

/* clang-format off */
#define FERRUM_VPOOL_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_vpool_request), 0, 0, 0, NULL, 0, {0}}
/* clang-format on */

/**
 * The same as ferrum_vpool_alloc, with all options.
 *
 * @return also FERRUM_ERROR_INVALID_STATE while the tag, the whole pool, or a range
 *         at that offset is asleep; FERRUM_ERROR_TIMEOUT when that lasts longer
 *         than asleep_wait_ns; FERRUM_ERROR_RESOURCE_EXHAUSTED while about a
 *         million other tags are in use.
 *
 * @by-hand rust it makes a range
 * @by-hand python it makes a range
 */
FERRUM_API ferrum_status
ferrum_vpool_alloc_with(ferrum_vpool vpool, const ferrum_vpool_request *request,
                        ferrum_address *address_out);

/** A range of a virtual pool, or of a model of an elastic pool.
 *  @go vmm.ByteRange */
typedef struct ferrum_byte_range {
    /** Offset from the base address. */
    uint64_t offset_bytes;
    /** Not 0. */
    uint64_t size_bytes;
} ferrum_byte_range;

/** Settings that apply to all allocations of a batch.
 *  @go library.BatchRequest */
typedef struct ferrum_batch_options {
    uint32_t struct_size;
    uint32_t reserved;
    /** As in ferrum_vpool_request; for a model as in ferrum_model_request. */
    const char *tag;
    /** As in ferrum_vpool_request.
     *  @go Wait */
    uint64_t asleep_wait_ns;
    /** The first stream that uses the ranges. {0}: the default stream.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
} ferrum_batch_options;

/* clang-format off */
#define FERRUM_BATCH_OPTIONS_INIT {FERRUM_SIZE_OF(ferrum_batch_options), 0, NULL, 0, {0}}
/* clang-format on */

/**
 * Maps memory at many ranges: at all of them, or at none on failure. Each range
 * becomes an allocation of its own, as if ferrum_vpool_alloc_with had made it, and
 * is freed alone or with others. One call costs less than one call for each range:
 * the lock is taken once, the limit is checked once for the sum of all pages, and
 * ranges that lie side by side are mapped together. The address of a range is the
 * base address + its offset.
 *
 * @param ranges  in any order. No two ranges may touch the same page.
 * @param count  at most FERRUM_BATCH_MAX; 0 does nothing.
 * @param options  optional: NULL for FERRUM_BATCH_OPTIONS_INIT.
 * @return as ferrum_vpool_alloc_with. An error about one range names it by its
 *         index, such as ranges[3]; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY states the
 *         size of all pages. FERRUM_ERROR_INVALID_OFFSET also for two ranges that
 *         touch the same page, with both indices. Nothing has changed after an
 *         error.
 *
 * @optional options
 * @by-hand python it makes ranges
 * @by-hand rust the options are a value
 */
FERRUM_API ferrum_status
ferrum_vpool_alloc_batch(ferrum_vpool vpool, const ferrum_byte_range *ranges,
                         uint64_t count, const ferrum_batch_options *options);

/**
 * Frees a range. The pool reuses its memory when the work has completed that is
 * queued now
 *
 *   - on the stream that the range belongs to (ferrum_vpool_request),
 *   - on the streams that ferrum_vpool_record_stream named for a page of the range,
 *   - and on the stream of this call; {0} is the default stream, as everywhere.
 *
 * Until then its pages count as used. The call does not wait. The host must not
 * touch the range after the call. The free succeeds also when the stream of the
 * range was destroyed; such a stream has no queued work.
 *
 * @param offset_bytes,size_bytes  whole pages of one or several allocations, or
 *                exactly the range of one allocation. After a part of an allocation
 *                was freed, the rest must be freed in whole pages, because other
 *                allocations may use the freed pages.
 * @param stream  optional: a further stream that used the range.
 * @return FERRUM_ERROR_INVALID_OFFSET for any other range, or a range that ends
 *         outside the pool; FERRUM_ERROR_INVALID_SIZE for a size of 0;
 *         FERRUM_ERROR_NOT_MAPPED, with offset and size of the first page that is
 *         not mapped; FERRUM_ERROR_BUSY while a running call puts a part of the
 *         range to sleep or wakes it: free the range after that call, asleep or
 *         awake; FERRUM_ERROR_INVALID_STATE when one part of the range is asleep
 *         and another is not, and while one of the streams captures. Nothing has
 *         changed after an error.
 *
 * @optional stream
 * @by-hand python it ends objects
 * @by-hand rust unsafe, for ranges may end
 */
FERRUM_API ferrum_status ferrum_vpool_free(ferrum_vpool vpool,
                                           uint64_t offset_bytes,
                                           uint64_t size_bytes,
                                           ferrum_stream stream);

/**
 * Frees many ranges: all of them, or none on failure. Each range follows the rules
 * of ferrum_vpool_free, and waits for the streams that use it and not for those
 * that use another one. Some ranges may be asleep and others not. The call checks
 * all ranges before it changes anything. Its only calls of the driver record the
 * ends of the queues of streams, before the first change. It does not unmap: the
 * pool does that later. So a failure of the driver leaves all ranges mapped.
 *
 * @param ranges  in any order. No two ranges may touch the same page.
 * @param count  at most FERRUM_BATCH_MAX; 0 does nothing.
 * @param stream  optional: a further stream that used the ranges.
 * @return as ferrum_vpool_free. An error about one range names it by its index.
 *         FERRUM_ERROR_INVALID_OFFSET also for two ranges that touch the same page,
 *         with both indices. Nothing has changed after an error.
 *
 * @optional stream
 * @by-hand python it ends objects
 * @by-hand rust unsafe, for ranges may end
 */
FERRUM_API ferrum_status
ferrum_vpool_free_batch(ferrum_vpool vpool, const ferrum_byte_range *ranges,
                        uint64_t count, ferrum_stream stream);

/**
 * Records a further stream that uses every page that a range touches. When the
 * pages are freed, the free also waits for the work that is queued on this stream
 * at that time. The range may be a part of an allocation, or of several
 * allocations. The stream that a range belongs to does not need this call.
 *
 * @param stream  {0}: the default stream.
 * @return FERRUM_ERROR_INVALID_OFFSET for a range that ends outside the pool;
 *         FERRUM_ERROR_INVALID_SIZE for a size of 0; FERRUM_ERROR_NOT_MAPPED, with
 *         offset and size of the first page that is not mapped;
 *         FERRUM_ERROR_INVALID_STATE for a page that is asleep; FERRUM_ERROR_BUSY
 *         for a page that a running call puts to sleep or wakes.
 *
 * @optional stream
 * @by-hand rust the stream is always named
 */
FERRUM_API ferrum_status ferrum_vpool_record_stream(ferrum_vpool vpool,
                                                    uint64_t offset_bytes,
                                                    uint64_t size_bytes,
                                                    ferrum_stream stream);

/**
 * Records a further stream that uses many ranges: all of them, or none on failure.
 * Each range follows the rules of ferrum_vpool_record_stream. The call makes no call
 * of the driver before it has recorded the stream for all ranges.
 *
 * @param ranges  in any order. No two ranges may touch the same page.
 * @param count  at most FERRUM_BATCH_MAX; 0 does nothing.
 * @param stream  {0}: the default stream.
 * @return as ferrum_vpool_record_stream. An error about one range names it by its
 *         index. FERRUM_ERROR_INVALID_OFFSET also for two ranges that touch the
 *         same page, with both indices. Nothing has changed after an error.
 *
 * @optional stream
 * @by-hand rust the stream is always named
 * @by-hand python it takes ranges, which are objects
 */
FERRUM_API ferrum_status ferrum_vpool_record_stream_batch(
    ferrum_vpool vpool, const ferrum_byte_range *ranges, uint64_t count,
    ferrum_stream stream);

/**
 * Returns whether every page that a range touches is mapped (1) or not (0). The
 * result is 0 for a range that ends outside the pool or has no bytes.
 *
 * @bool mapped_out
 * @infallible
 */
FERRUM_API ferrum_status ferrum_vpool_is_mapped(ferrum_vpool vpool,
                                                uint64_t offset_bytes,
                                                uint64_t size_bytes,
                                                uint32_t *mapped_out);

/** A virtual pool at one moment. Fields that end in _pages are counts.
 *  @go library.VPoolInfo */
typedef struct ferrum_vpool_info {
    uint32_t struct_size;
    /** 1 - mapped pages / all pages. */
    float unmapped_share;
    /** 1 - longest free run / free address space; 0 when nothing is free. */
    float fragmentation;
    uint32_t reserved;
    /** Start of the address space. */
    ferrum_address base_address;
    /** Size of a page. */
    uint64_t page_bytes;
    /** Size of the address space, in whole pages. */
    uint64_t virtual_capacity_bytes;
    /** Memory of mapped and retiring pages. */
    uint64_t physical_bytes;
    /** The highest physical_bytes so far. */
    uint64_t peak_physical_bytes;
    /** The sizes that were requested for the mapped pages. */
    uint64_t requested_bytes;
    /** Pages of live ranges. */
    uint64_t mapped_pages;
    /** Pages of freed ranges that queued work may still use. */
    uint64_t retiring_pages;
    /** Pages of freed ranges that stay mapped. An allocation at the same place
     *  reuses them at once; any other allocation has to unmap them first. */
    uint64_t parked_pages;
    /** Pages that are mapped nowhere and are ready for any range. */
    uint64_t ready_pages;
    /** Memory that the pool holds from the device: mapped, retiring, parked and
     *  ready pages. */
    uint64_t held_bytes;
    /** The present limit. */
    uint64_t limit_bytes;
    /** Bytes that can still be mapped within the limit. */
    uint64_t available_bytes;
    /** Longest run of free address space. */
    uint64_t largest_free_run_bytes;
    /** Successful allocations so far. */
    uint64_t allocations;
    /** Address space of the pool's tables. Only used parts have memory. */
    uint64_t table_bytes;
    /** Pages of ranges that are asleep. They have no memory. */
    uint64_t asleep_pages;
    /** Bytes of ranges that are asleep. */
    uint64_t asleep_bytes;
    /** Host memory with the contents of ranges that are asleep. */
    uint64_t asleep_host_bytes;
    /** Disk space with the contents of ranges that are asleep. */
    uint64_t asleep_file_bytes;
    /** Bytes of ranges that are asleep and whose contents were discarded. */
    uint64_t asleep_discarded_bytes;
    /** Sleep calls so far. */
    uint64_t sleeps;
    /** Wake calls so far. */
    uint64_t wakes;
    /** Time of all sleep calls. */
    uint64_t sleep_ns;
    /** Time of all wake calls. */
    uint64_t wake_ns;
    /** Sleep calls so far that failed after they had begun. */
    uint64_t sleep_failures;
    /** Wake calls so far that failed after they had begun. */
    uint64_t wake_failures;
} ferrum_vpool_info;

/* clang-format off */
#define FERRUM_VPOOL_INFO_INIT {FERRUM_SIZE_OF(ferrum_vpool_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a virtual pool. Does not wait for queued work.
 *  @infallible */
FERRUM_API ferrum_status ferrum_vpool_get_info(ferrum_vpool vpool,
                                               ferrum_vpool_info *info_out);

/** Returns the counters of a virtual pool. Its live blocks are ranges.
 *  @infallible */
FERRUM_API ferrum_status ferrum_vpool_get_statistics(
    ferrum_vpool vpool, ferrum_statistics *statistics_out);

/** Result of a compaction.
 *  @go vmm.CompactReport */
typedef struct ferrum_compact_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Pages that were retiring and whose work had completed. */
    uint64_t landed_pages;
    /** Pages that were parked and are now ready for any range. */
    uint64_t unmapped_pages;
    /** Memory that was released to the device. */
    uint64_t released_bytes;
    /** Runs of adjacent pages among the unused pages, before. An allocation needs
     *  one mapping of the system for each run. */
    uint64_t runs_before;
    /** The same after the compaction. */
    uint64_t runs_after;
} ferrum_compact_report;

/* clang-format off */
#define FERRUM_COMPACT_REPORT_INIT {FERRUM_SIZE_OF(ferrum_compact_report), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Joins unused pages. The call unmaps parked pages. It keeps ready_pages free
 * pages, adjacent ones first, and releases the others to the device. Mapped ranges
 * keep their places.
 */
FERRUM_API ferrum_status
ferrum_vpool_compact(ferrum_vpool vpool, ferrum_compact_report *report_out);

/**
 * Releases parked and ready pages to the device, until the pool holds no more than
 * keep_bytes of them.
 *
 * @param released_bytes_out  number of released bytes.
 *
 * @default keep_bytes 0
 */
FERRUM_API ferrum_status ferrum_vpool_trim(ferrum_vpool vpool,
                                           uint64_t keep_bytes,
                                           uint64_t *released_bytes_out);

/**
 * Changes the limit while the pool is in use; 0: the memory of the device. Mapped
 * ranges stay. Free pages above the limit are released to the device. For movable
 * pages the worker of the pool does that after the call.
 *
 * @return FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a limit above the memory of the
 *         device.
 *
 * @none limit_bytes 0
 */
FERRUM_API ferrum_status ferrum_vpool_set_limit(ferrum_vpool vpool,
                                                uint64_t limit_bytes);

/**
 * Waits until the pool has no retiring range.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only checks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_vpool_synchronize(ferrum_vpool vpool,
                                                  uint64_t timeout_ns);

/** Stops the worker of the pool from making pages ready, until ferrum_vpool_resume.
 *  The call returns when the worker has finished its present step.
 *  @infallible */
FERRUM_API ferrum_status ferrum_vpool_pause(ferrum_vpool vpool);

/** Undoes a ferrum_vpool_pause.
 *  @infallible */
FERRUM_API ferrum_status ferrum_vpool_resume(ferrum_vpool vpool);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_VIRTUAL_H */

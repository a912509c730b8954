/*
 * Virtual pools: address space with pages that come and go.
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
 * A virtual pool reserves address space as a whole and puts memory behind parts
 * of it, page by page, where and when the caller asks. What is mapped stays
 * where it is. Whoever reads or writes where nothing is mapped ends the process,
 * as with any pointer to nowhere.
 *
 * Physical pages are recycled: one that is freed stays with the pool for its
 * next call, some are kept ready by a worker of the library, and what is more
 * than that goes back to the device after a while.
 */

/** What sizes of pages a device has.
 *  @by-hand python a pair of two numbers
 *  @go device.Granularity */
typedef struct ferrum_page_sizes {
    uint32_t struct_size;
    uint32_t reserved;
    /** The smallest page of a virtual pool; larger ones are powers of two. */
    uint64_t minimum_bytes;
    /** The page size that works best, which 0 stands for. */
    uint64_t recommended_bytes;
} ferrum_page_sizes;

/* clang-format off */
#define FERRUM_PAGE_SIZES_INIT {FERRUM_SIZE_OF(ferrum_page_sizes), 0, 0, 0}
/* clang-format on */

/**
 * Asks a device for its page sizes.
 *
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory.
 */
FERRUM_API ferrum_status ferrum_device_get_page_sizes(
    ferrum_device device, ferrum_page_sizes *sizes_out);

/** What the memory behind pages can do. */
typedef int32_t ferrum_backing;
/** It can be mapped elsewhere. On the host, a child made by fork() has no memory
 *  there: it would share the parent's. */
#define FERRUM_BACKING_MOVABLE 0
/** Its bytes are lost when a page leaves its place; quicker to come and go on
 *  some devices. On the host, a child made by fork() has the bytes of that moment. */
#define FERRUM_BACKING_PRIVATE 1
/** Movable, and ferrum_vpool_export() gives it to other processes; a device without
 *  FERRUM_CAPABILITY_EXPORTED_PAGES has none. On the host each page is a file. */
#define FERRUM_BACKING_SHAREABLE 2
/** Movable, and cards of other makers, such as those of a network, read and write it
 *  without the host (GPUDirect RDMA) once they are told of it; a device without
 *  FERRUM_CAPABILITY_RDMA_PAGES has none. Such a card has to let go of a range before
 *  its pages go. */
#define FERRUM_BACKING_RDMA 3
/** Movable, and ferrum_vpool_export_fabric gives it to processes of other hosts; a device
 *  without FERRUM_CAPABILITY_FABRIC_PAGES has none. */
#define FERRUM_BACKING_FABRIC 4

/** Settings of a virtual pool.
 *  @go vmm.Config */
typedef struct ferrum_vpool_config {
    uint32_t struct_size;
    /** None is known: 0. */
    uint32_t flags;
    /** Address space, rounded up to whole pages; not 0.
     *  @required */
    uint64_t capacity_bytes;
    /** A power of two of at least ferrum_page_sizes.minimum_bytes; 0: what the
     *  device recommends. */
    uint64_t page_bytes;
    /** Upper bound of the memory; 0: what the device has. */
    uint64_t limit_bytes;
    /** Name in reports, and tag of ranges without one; NULL: none. At most 63
     *  bytes. */
    const char *name;
    /** How many pages are kept ready while nothing asks for any: up to 65536, or
     *  FERRUM_READY_PAGES_AUTO.
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
 * Makes a virtual pool. It takes address space, and memory only for its tables.
 *
 * @param config  required.
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_INVALID_SIZE for a
 *         capacity that is 0 or cannot be rounded up;
 *         FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY when there is no such address
 *         space; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a limit above what the
 *         device has.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_vpool_create(ferrum_device device,
                                             const ferrum_vpool_config *config,
                                             ferrum_vpool *vpool_out);

/**
 * Destroys a virtual pool: waits for queued work that uses freed ranges, unmaps
 * everything and gives memory and address space back.
 *
 * @param flags  0, or FERRUM_FORCE: also while ranges are mapped; then waits for
 *               all work of the device first.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while ranges are mapped or a call
 *         is under way that maps some.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_vpool_destroy(ferrum_vpool vpool,
                                              uint32_t flags);

/**
 * Puts memory, readable and writable, behind every page that a range touches:
 * all of them or none. The first bytes are zeros, or what this pool had written
 * there before.
 *
 * @param offset_bytes  from the base address; need not be a multiple of a page.
 * @param size_bytes    not 0.
 * @param address_out   base address + offset_bytes.
 * @return FERRUM_ERROR_INVALID_OFFSET for a range that ends outside, with
 *         offset, size and capacity in the message; FERRUM_ERROR_INVALID_SIZE;
 *         FERRUM_ERROR_ALREADY_MAPPED, with offset and size of the first page
 *         that is mapped; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY over the limit,
 *         with what was requested and what was available;
 *         FERRUM_ERROR_OUT_OF_MEMORY when the device has no more, after all that
 *         ferrum_pool_alloc tries too; FERRUM_ERROR_RESOURCE_EXHAUSTED where the
 *         system allows no more mappings. Where queued work still uses a freed
 *         range, it is waited for; in a host function or a reclaim callback that
 *         is FERRUM_ERROR_BUSY.
 *
 * @by-hand rust the range is a value
 * @by-hand python it makes a range
 */
FERRUM_API ferrum_status ferrum_vpool_alloc(ferrum_vpool vpool,
                                            uint64_t offset_bytes,
                                            uint64_t size_bytes,
                                            ferrum_address *address_out);

/** A range of a virtual pool, as asked for.
 *  @go library.RangeRequest */
typedef struct ferrum_vpool_request {
    uint32_t struct_size;
    uint32_t reserved;
    /** From the base address. */
    uint64_t offset_bytes;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the books, at most 63 bytes; NULL or empty: the pool's name. */
    const char *tag;
    /** How long to wait while the tag, everything or a range at that place sleeps, in
     *  nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at once.
     *  @go Wait */
    uint64_t asleep_wait_ns;
    /** What uses the range first: it is freed behind the work of this stream. {0}: the
     *  default stream.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
} ferrum_vpool_request;

/* clang-format off */
#define FERRUM_VPOOL_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_vpool_request), 0, 0, 0, NULL, 0, {0}}
/* clang-format on */

/**
 * As ferrum_vpool_alloc, with all that can be asked for.
 *
 * @return besides: FERRUM_ERROR_INVALID_STATE while the tag, everything, or a range at
 *         that place sleeps; FERRUM_ERROR_TIMEOUT when it does so longer than
 *         asleep_wait_ns; FERRUM_ERROR_RESOURCE_EXHAUSTED while about a million
 *         other tags are in use.
 *
 * @by-hand rust it makes a range
 */
FERRUM_API ferrum_status
ferrum_vpool_alloc_with(ferrum_vpool vpool, const ferrum_vpool_request *request,
                        ferrum_address *address_out);

/**
 * Takes the memory of a range away, once the work is done that is queued now
 *
 *   - on the stream of the range, which it was asked for on (ferrum_vpool_request),
 *   - on the streams that ferrum_vpool_record_stream named for a page of it,
 *   - and on the stream of this call, {0} being the default one as everywhere.
 *
 * Until then its pages count as used. Does not wait. The caller does not touch the
 * range any more from this call on. A stream of the range that was destroyed has run
 * dry, and is no reason to fail.
 *
 * @param offset_bytes,size_bytes  whole pages, of one allocation or of several,
 *                                 or exactly those of one allocation. Once a part
 *                                 of it was freed, what is left is freed by whole
 *                                 pages: its pages may be another one's by then.
 * @param stream                   optional: a further stream that used the range.
 * @return FERRUM_ERROR_INVALID_OFFSET for a range that is neither, or that ends
 *         outside; FERRUM_ERROR_INVALID_SIZE for a size of 0;
 *         FERRUM_ERROR_NOT_MAPPED, with offset and size of the first page that is
 *         not mapped; FERRUM_ERROR_BUSY while a call that puts a part of it to sleep
 *         or wakes it is under way: once that has ended it can be freed, asleep or
 *         awake; FERRUM_ERROR_INVALID_STATE where a part of it sleeps and a part does
 *         not, and while one of the streams captures. Then nothing has changed.
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
 * Says that a stream uses every page that a range touches too, besides the one that
 * the range was asked for on: once freed, the pages wait for the work that is queued
 * on this stream at the time of their free as well. The range may be a part of an
 * allocation, or of several.
 *
 * @param stream  {0}: the default stream.
 * @return FERRUM_ERROR_INVALID_OFFSET for a range that ends outside;
 *         FERRUM_ERROR_INVALID_SIZE for a size of 0; FERRUM_ERROR_NOT_MAPPED, with
 *         offset and size of the first page that is not mapped;
 *         FERRUM_ERROR_INVALID_STATE for a page that sleeps, and FERRUM_ERROR_BUSY for
 *         one that is being put to sleep or woken.
 *
 * @optional stream
 * @by-hand rust the stream is always named
 */
FERRUM_API ferrum_status ferrum_vpool_record_stream(ferrum_vpool vpool,
                                                    uint64_t offset_bytes,
                                                    uint64_t size_bytes,
                                                    ferrum_stream stream);

/**
 * Says whether every page that a range touches is mapped (1) or not (0); 0 for
 * one that ends outside or has no bytes.
 *
 * @bool mapped_out
 * @infallible
 */
FERRUM_API ferrum_status ferrum_vpool_is_mapped(ferrum_vpool vpool,
                                                uint64_t offset_bytes,
                                                uint64_t size_bytes,
                                                uint32_t *mapped_out);

/** A virtual pool at one moment. Pages are counts.
 *  @go library.VPoolInfo */
typedef struct ferrum_vpool_info {
    uint32_t struct_size;
    /** 1 - mapped pages / all pages. */
    float unmapped_share;
    /** 1 - longest free run / free address space; 0 when nothing is free. */
    float fragmentation;
    uint32_t reserved;
    /** Where the address space starts. */
    ferrum_address base_address;
    /** Size of a page. */
    uint64_t page_bytes;
    /** The address space, in whole pages. */
    uint64_t virtual_capacity_bytes;
    /** Memory behind mapped and retiring pages. */
    uint64_t physical_bytes;
    /** The most that physical_bytes was. */
    uint64_t peak_physical_bytes;
    /** What the mapped pages were asked for with. */
    uint64_t requested_bytes;
    /** Pages that ranges have. */
    uint64_t mapped_pages;
    /** Freed, and queued work may still use them. */
    uint64_t retiring_pages;
    /** Freed, but still mapped where they were: their range has them again at
     *  once, any other after an unmapping. */
    uint64_t parked_pages;
    /** Mapped nowhere, ready for any range. */
    uint64_t ready_pages;
    /** Had from the device: mapped, retiring, parked and ready ones. */
    uint64_t held_bytes;
    /** The present limit. */
    uint64_t limit_bytes;
    /** What the limit still allows to be mapped. */
    uint64_t available_bytes;
    /** Longest run of free address space. */
    uint64_t largest_free_run_bytes;
    /** Successful allocations so far. */
    uint64_t allocations;
    /** Address space of the pool's tables; only what was used has memory. */
    uint64_t table_bytes;
    /** Pages of ranges that sleep; they have no memory. */
    uint64_t asleep_pages;
    /** Their bytes. */
    uint64_t asleep_bytes;
    /** Host memory that holds bytes of what sleeps. */
    uint64_t asleep_host_bytes;
    /** Disk space that does. */
    uint64_t asleep_file_bytes;
    /** Of ranges of which nothing is kept. */
    uint64_t asleep_discarded_bytes;
    /** Calls so far that put to sleep. */
    uint64_t sleeps;
    /** Calls so far that woke. */
    uint64_t wakes;
    /** How long those took in all that put to sleep. */
    uint64_t sleep_ns;
    /** How long those took in all that woke. */
    uint64_t wake_ns;
    /** Calls so far that were to put to sleep and failed once they had begun. */
    uint64_t sleep_failures;
    /** Calls so far that were to wake and failed once they had begun. */
    uint64_t wake_failures;
} ferrum_vpool_info;

/* clang-format off */
#define FERRUM_VPOOL_INFO_INIT {FERRUM_SIZE_OF(ferrum_vpool_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a virtual pool. Does not wait for queued work.
 *  @infallible */
FERRUM_API ferrum_status ferrum_vpool_get_info(ferrum_vpool vpool,
                                               ferrum_vpool_info *info_out);

/** Books of a virtual pool: its live blocks are ranges.
 *  @infallible */
FERRUM_API ferrum_status ferrum_vpool_get_statistics(
    ferrum_vpool vpool, ferrum_statistics *statistics_out);

/** What a compaction did.
 *  @go vmm.CompactReport */
typedef struct ferrum_compact_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Pages that were retiring, and whose work was done. */
    uint64_t landed_pages;
    /** Pages that were parked, and are ready for any range now. */
    uint64_t unmapped_pages;
    /** What went back to the device. */
    uint64_t released_bytes;
    /** Runs of pages that lie one after the other among those that no range
     *  uses: an allocation needs a mapping of the system for each run. */
    uint64_t runs_before;
    /** The same, after. */
    uint64_t runs_after;
} ferrum_compact_report;

/* clang-format off */
#define FERRUM_COMPACT_REPORT_INIT {FERRUM_SIZE_OF(ferrum_compact_report), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Brings together what nobody uses: parked pages leave their ranges, of the free
 * pages those that lie together are kept, as many as are kept ready, and the
 * others go back to the device. What is mapped stays where it is.
 */
FERRUM_API ferrum_status
ferrum_vpool_compact(ferrum_vpool vpool, ferrum_compact_report *report_out);

/**
 * Gives parked and ready pages back to the device until no more than keep_bytes
 * of them are held.
 *
 * @param released_bytes_out  what was given back.
 * @default keep_bytes 0
 */
FERRUM_API ferrum_status ferrum_vpool_trim(ferrum_vpool vpool,
                                           uint64_t keep_bytes,
                                           uint64_t *released_bytes_out);

/**
 * Changes the limit while the pool works; 0: what the device has. What is mapped
 * stays; free pages above the limit go back to the device, movable ones by the
 * pool's worker and after the call.
 *
 * @return FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for more than the device has.
 * @none limit_bytes 0
 */
FERRUM_API ferrum_status ferrum_vpool_set_limit(ferrum_vpool vpool,
                                                uint64_t limit_bytes);

/**
 * Waits until no range of the pool is retiring any more.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only asks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_vpool_synchronize(ferrum_vpool vpool,
                                                  uint64_t timeout_ns);

/** Has the pool's worker make no more pages ready, until ferrum_vpool_resume.
 *  What it is at, it has ended when the call returns.
 *  @infallible */
FERRUM_API ferrum_status ferrum_vpool_pause(ferrum_vpool vpool);

/** Ends a ferrum_vpool_pause.
 *  @infallible */
FERRUM_API ferrum_status ferrum_vpool_resume(ferrum_vpool vpool);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_VIRTUAL_H */

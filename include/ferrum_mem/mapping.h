/*
 * Mappings, links, hints and external memory of managers.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_MAPPING_H
#define FERRUM_MEM_MAPPING_H

#include "base.h"
#include "managers.h"
#include "streams.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a program uses a mapping. */
typedef int32_t ferrum_host_access;
/** Reads only. */
#define FERRUM_HOST_READ_ONLY 0
/** Writes only. Bytes that are not written have no defined value afterwards. */
#define FERRUM_HOST_WRITE_ONLY 1
/** Reads and writes. */
#define FERRUM_HOST_READ_WRITE 2

/** Size of a mapping from the offset to the end of the block. */
#define FERRUM_MAP_TO_END UINT64_MAX

/** A range of a block to map for the host.
 *  @by-hand rust a method of the block that it names
 *  @go manager.MapRequest */
typedef struct ferrum_map_request {
    uint32_t struct_size;
    /** FERRUM_HOST_* */
    ferrum_host_access access;
    /** The block. */
    ferrum_memory memory;
    /** First byte. */
    uint64_t offset_bytes;
    /** Not 0; FERRUM_MAP_TO_END: the rest of the block.
     *  @none FERRUM_MAP_TO_END */
    uint64_t size_bytes;
} ferrum_map_request;

/* clang-format off */
#define FERRUM_MAP_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_map_request), FERRUM_HOST_READ_WRITE, {0}, 0, FERRUM_MAP_TO_END}
/* clang-format on */

/** A range of a block that is mapped for the host.
 *  @by-hand python it is an object with an end
 *  @by-hand rust owns the mapping
 *  @go manager.Mapping */
typedef struct ferrum_mapping {
    uint32_t struct_size;
    /** host_pointer is a staging copy, which ferrum_memory_unmap writes back (1),
     *  or the block itself (0).
     *  @bool */
    uint32_t is_staged;
    /** Number of the mapping within its block; never 0.
     *  @go ID */
    uint64_t mapping_id;
    /** Pointer to size_bytes bytes. Valid until the mapping has ended.
     *  @go HostAddr */
    void *host_pointer;
    /** Length of the range. */
    uint64_t size_bytes;
} ferrum_mapping;

/* clang-format off */
#define FERRUM_MAPPING_INIT {FERRUM_SIZE_OF(ferrum_mapping), 0, 0, NULL, 0}
/* clang-format on */

/**
 * Maps a range of a block for the host. The call waits for the queued work of the
 * streams that have used the block. On a device that the host can address, and for
 * page-locked memory, the pointer is to the block itself. On any other device it is
 * to a staging copy, which ferrum_memory_unmap writes back; it is not written back
 * for FERRUM_HOST_READ_ONLY.
 *
 * A second call for the same range with the same access returns the same mapping.
 * That mapping ends with as many calls of ferrum_memory_unmap. A mapping for
 * reading may overlap a mapping for writing. If both are the block itself, the
 * reader sees the written bytes; otherwise it sees them only after
 * ferrum_memory_unmap. While a block is mapped, it is neither moved nor freed. Work
 * may be queued on it; the program has to order that work and its own accesses.
 *
 * @return FERRUM_ERROR_BUSY for a range for writing that overlaps another mapping
 *         for writing; FERRUM_ERROR_INVALID_OFFSET when the range leaves the block;
 *         FERRUM_ERROR_OVERFLOW when offset + size does not fit 64 bits;
 *         FERRUM_ERROR_OUT_OF_MEMORY when the host has no memory for a staging
 *         copy.
 *
 * @waits
 * @by-hand cpp a mapping has a class that ends it
 * @form python Memory.map()
 * @go factory.Map
 */
FERRUM_API ferrum_status ferrum_memory_map(const ferrum_map_request *request,
                                           ferrum_mapping *mapping_out);

/**
 * Undoes one ferrum_memory_map. The last call for a mapping for writing with a
 * staging copy writes the copy back, and returns when that has completed. If it
 * fails, the mapping stays as it was. Destroying the manager with FERRUM_FORCE ends
 * mappings without writing back.
 *
 * @param mapping_id  the number in ferrum_mapping; 0: the newest mapping of the
 *                block.
 * @return FERRUM_ERROR_NOT_MAPPED for a block without such a mapping.
 *
 * @waits
 * @by-hand cpp a mapping has a class that ends it
 * @by-hand rust the end of a value
 * @by-hand python the mapping ends itself
 * @go factory.Unmap
 */
FERRUM_API ferrum_status ferrum_memory_unmap(ferrum_memory memory,
                                             uint64_t mapping_id);

/** A request for memory of two devices.
 *  @go manager.LinkRequest */
typedef struct ferrum_link_request {
    uint32_t struct_size;
    uint32_t reserved;
    /** Not 0. */
    uint64_t size_bytes;
    /** Alignment of the first address: a power of two up to FERRUM_ALIGNMENT_MAX;
     *  0: the pool's.
     *  @none 0 */
    uint64_t alignment_bytes;
    /** Name for the counters, at most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_link_request;

/* clang-format off */
#define FERRUM_LINK_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_link_request), 0, 0, 0, NULL}
/* clang-format on */

/**
 * Allocates two blocks of FERRUM_MEMORY_MAPPED, for managers of two devices, that
 * are the same memory. What one device writes, the other reads; streams and events
 * give the order. The counters of the first manager contain the memory. It is
 * released to the first manager when both blocks are freed, in either order.
 * Destroying the first manager with FERRUM_FORCE ends both blocks.
 *
 * @param first_out,second_out  the blocks of the first and the second manager.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for two managers of one device;
 *         FERRUM_ERROR_UNSUPPORTED for devices that cannot address the same memory;
 *         otherwise as ferrum_manager_alloc_with.
 */
FERRUM_API ferrum_status ferrum_manager_create_mapping(
    ferrum_manager first, ferrum_manager second,
    const ferrum_link_request *request, ferrum_memory *first_out,
    ferrum_memory *second_out);

/**
 * Queues a prefetch of a block to a device that will use it, and returns. The
 * contents stay the same. A prefetch is not counted as an access. On the host, the
 * system allocates the physical memory of the block. On other devices,
 * FERRUM_MEMORY_MANAGED migrates to the target (a host device means the host);
 * other memory stays.
 *
 * @param target  the block's own device, or another.
 * @param stream  a stream of the block's device; {0}: its default stream.
 * @return FERRUM_ERROR_UNSUPPORTED for a device that the block cannot migrate to.
 *
 * @optional stream
 * @go lib.MemoryPrefetch
 */
FERRUM_API ferrum_status ferrum_memory_prefetch(ferrum_memory memory,
                                                ferrum_device target,
                                                ferrum_stream stream);

/** Expected use of a block. There are three groups of hints: order, direction and
 *  lifetime. A block has one hint of each group.
 *  @go manager.UsageHint */
typedef int32_t ferrum_usage_hint;
/** No hint. Setting it removes all other hints. */
#define FERRUM_USAGE_NONE 0
/** Order: sequential accesses. */
#define FERRUM_USAGE_SEQUENTIAL 1
/** Order: accesses at random places. */
#define FERRUM_USAGE_RANDOM 2
/** Direction: mostly read. */
#define FERRUM_USAGE_READ_MOSTLY 3
/** Direction: mostly written. */
#define FERRUM_USAGE_WRITE_MOSTLY 4
/** Lifetime: temporary; it may be released early. */
#define FERRUM_USAGE_TEMPORARY 5
/** Lifetime: to be kept resident. */
#define FERRUM_USAGE_RESIDENT 6

/** The last hint of each group; FERRUM_USAGE_NONE where none was set.
 *  @go manager.Hints */
typedef struct ferrum_usage_hints {
    uint32_t struct_size;
    /** FERRUM_USAGE_SEQUENTIAL, FERRUM_USAGE_RANDOM or none. */
    ferrum_usage_hint order;
    /** FERRUM_USAGE_READ_MOSTLY, FERRUM_USAGE_WRITE_MOSTLY or none. */
    ferrum_usage_hint direction;
    /** FERRUM_USAGE_TEMPORARY, FERRUM_USAGE_RESIDENT or none. */
    ferrum_usage_hint lifetime;
} ferrum_usage_hints;

/* clang-format off */
#define FERRUM_USAGE_HINTS_INIT {FERRUM_SIZE_OF(ferrum_usage_hints), 0, 0, 0}
/* clang-format on */

/**
 * Stores a hint with a block, in place of an earlier hint of the same group.
 * FERRUM_USAGE_NONE removes all hints. Programs read hints with
 * ferrum_memory_get_usage_hints. The library itself uses them only for
 * FERRUM_MEMORY_MANAGED: it passes FERRUM_USAGE_READ_MOSTLY (each reader may have a
 * copy) and FERRUM_USAGE_RESIDENT (the memory stays at the device) to the device.
 * If the device rejects one, the hints stay as they were.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for an unknown hint.
 *
 * @go factory.SetUsageHint
 */
FERRUM_API ferrum_status ferrum_memory_set_usage_hint(ferrum_memory memory,
                                                      ferrum_usage_hint hint);

/** Returns the hints of a block.
 *  @go factory.UsageHints */
FERRUM_API ferrum_status ferrum_memory_get_usage_hints(
    ferrum_memory memory, ferrum_usage_hints *hints_out);

/** Observed pattern of the latest accesses to a block. */
typedef int32_t ferrum_access_pattern;
/** Too few accesses. */
#define FERRUM_PATTERN_UNKNOWN 0
/** Sequential accesses. */
#define FERRUM_PATTERN_SEQUENTIAL 1
/** Accesses at random places. */
#define FERRUM_PATTERN_RANDOM 2
/** Accesses that come in clusters. */
#define FERRUM_PATTERN_BURST 3
/** More than one of these. */
#define FERRUM_PATTERN_MIXED 4

/** Numbers about copies, fills, writes, reads and mappings of a block.
 *  @go library.AccessStats */
typedef struct ferrum_access_stats {
    uint32_t struct_size;
    /** 1 if the manager tracks accesses; otherwise all numbers below are 0.
     *  @bool */
    uint32_t is_tracked;
    /** 1 if there was an access; otherwise last_access_ns has no meaning.
     *  @bool */
    uint32_t is_accessed;
    /** Pattern of the last accesses. */
    ferrum_access_pattern pattern;
    /** Number of reads. */
    uint64_t read_count;
    /** Number of writes. */
    uint64_t write_count;
    /** Mean size of a read, rounded down; 0 when there was none.
     *  @none 0
     *  @go AvgReadBytes */
    uint64_t average_read_bytes;
    /** Mean size of a write, rounded down; 0 when there was none.
     *  @none 0
     *  @go AvgWriteBytes */
    uint64_t average_write_bytes;
    /** Monotonic time of the last access since ferrum_init.
     *  @if is_accessed
     *  @go LastAccess */
    uint64_t last_access_ns;
} ferrum_access_stats;

/* clang-format off */
#define FERRUM_ACCESS_STATS_INIT {FERRUM_SIZE_OF(ferrum_access_stats), 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Returns the access statistics of a block. Only managers with enable_tracking
 * record them; other managers have no cost for them.
 *
 * A copy counts as a read of its source and a write of its destination, at the time
 * it is queued. A mapping counts as a read when it begins, if it reads, and as a
 * write when it ends, if it writes. Accesses of the program through an address are
 * not counted.
 *
 * The pattern comes from the last 16 steps. A step is from one access to the next
 * of the same kind, read or write. With fewer than 4 steps the pattern is UNKNOWN.
 * A step is in order when an access starts where the previous one of its kind
 * ended, or at the start of the block after one that ended at the end of the block.
 * A pause is a step whose access came at least 1 ms after the previous access, and
 * after at least 10 times the median of all steps. Two or more pauses, in at most a
 * quarter of the steps, are a burst. Three quarters or more in order are
 * SEQUENTIAL, a quarter or less are RANDOM. Bursts that are sequential, and
 * everything else, are MIXED; other bursts are BURST.
 *
 * @by-hand rust none without tracking
 * @by-hand python None where it is not tracked
 * @go lib.MemoryGetAccessStats
 */
FERRUM_API ferrum_status ferrum_memory_get_access_stats(
    ferrum_memory memory, ferrum_access_stats *stats_out);

/** External memory that gets a handle.
 *  @go manager.Adoption */
typedef struct ferrum_adoption {
    uint32_t struct_size;
    /** FERRUM_MEMORY_*, its purpose.
     *  @go Type */
    ferrum_memory_type memory_type;
    /** Address of the memory on the manager's device; on a host device a pointer.
     *  With FERRUM_CAPABILITY_REGISTERED_MEMORY, FERRUM_MEMORY_PINNED and
     *  FERRUM_MEMORY_MAPPED also accept a pointer to any memory of the process.
     *  @go Addr */
    ferrum_address address;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the counters, at most 63 bytes; NULL: none. */
    const char *tag;
    /** The block is never written (1): copies, fills and mappings that would write
     *  to it return FERRUM_ERROR_PERMISSION_DENIED. Use it for memory that the
     *  process may only read, such as a mapped file of weights.
     *  @bool
     *  @go ReadOnly */
    uint32_t is_read_only;
    uint32_t reserved;
} ferrum_adoption;

/* clang-format off */
#define FERRUM_ADOPTION_INIT {FERRUM_SIZE_OF(ferrum_adoption), FERRUM_MEMORY_GENERAL, 0, 0, NULL, 0, 0}
/* clang-format on */

/**
 * Gives a handle to external memory. The block is used like any other block and
 * counts as live. It is in the counters of no pool, and it is never moved or freed:
 * ferrum_memory_free only ends the handle, and returns FERRUM_ERROR_BUSY while
 * queued work uses the block. The memory must stay valid until then. Destroying the
 * manager with FERRUM_FORCE waits for that work.
 *
 * A device with FERRUM_CAPABILITY_REGISTERED_MEMORY page-locks memory of the
 * process that is adopted as FERRUM_MEMORY_PINNED or FERRUM_MEMORY_MAPPED, as long
 * as the handle exists. ferrum_handle_info has its address on the device. Memory
 * that is already page-locked is used as it is.
 *
 * @return FERRUM_ERROR_INVALID_ADDRESS for memory that the process cannot read
 *         throughout, or cannot write throughout unless is_read_only is set, as far
 *         as the library can find out, and for memory that the device cannot
 *         page-lock; FERRUM_ERROR_ALREADY_EXISTS for memory that the device has
 *         already; FERRUM_ERROR_INVALID_SIZE, FERRUM_ERROR_OVERFLOW,
 *         FERRUM_ERROR_UNSUPPORTED.
 */
FERRUM_API ferrum_status ferrum_manager_adopt(ferrum_manager manager,
                                              const ferrum_adoption *adoption,
                                              ferrum_memory *memory_out);

/**
 * Queues work in a stream of the caller. It must arrange that work(work_data) is
 * called once, on any thread, after the work that was queued before and before the
 * work that is queued later; an immediate call is allowed too. It is called on the
 * threads that use the stream. It must not call the library, which may hold locks.
 *
 * @return FERRUM_OK, or an error when the work will not be called.
 */
typedef ferrum_status (*ferrum_enqueue_fn)(ferrum_host_fn work, void *work_data,
                                           void *user_data);

/** An external stream.
 *  @by-hand rust owns a closure */
typedef struct ferrum_foreign_stream {
    uint32_t struct_size;
    uint32_t reserved;
    /** Handle in the runtime of the device's vendor, such as a CUstream; 0 on host
     *  devices, which use enqueue. It must mean the same queue on every thread. */
    uint64_t native_handle;
    /** Queues work in the stream; NULL with a native_handle. */
    ferrum_enqueue_fn enqueue;
    /** Passed to enqueue. */
    void *user_data;
} ferrum_foreign_stream;

/* clang-format off */
#define FERRUM_FOREIGN_STREAM_INIT {FERRUM_SIZE_OF(ferrum_foreign_stream), 0, 0, NULL, NULL}
/* clang-format on */

/**
 * Gives a handle to an external stream, for every call that takes a stream. Calls
 * that wait for the stream also wait for the work that its owner queued there. Only
 * ferrum_stream_is_ready covers just the work that was queued through the handle.
 *
 * ferrum_stream_destroy waits for the work that was queued through the handle, with
 * FERRUM_FORCE also for the work that its owner has queued by then. It does not
 * destroy the external stream. The stream and user_data must stay valid until then.
 * Memory that belongs to the stream, or was recorded for it, and is freed later
 * waits for the work that its owner had queued when the handle was destroyed. On a
 * host device, enqueue is called a last time for that, and this work may run after
 * ferrum_stream_destroy has returned. If enqueue returns an error, the queue is
 * taken as empty. If a stream never calls the work, the library waits for it
 * forever.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a device that cannot do it, and for a handle
 *         that means another queue on each thread, such as CUDA's 2: memory that
 *         one thread frees could be allocated on another thread at once.
 *         FERRUM_ERROR_NULL_POINTER without enqueue on a host device.
 *
 * @opens
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status
ferrum_stream_adopt(ferrum_device device, const ferrum_foreign_stream *foreign,
                    ferrum_stream *stream_out);

/**
 * Gives a handle to an external event, for every call that takes an event. The
 * handle stands for the latest recording by the owner, and has no time.
 *
 * ferrum_event_destroy does not destroy the external event, which must stay valid
 * until then.
 *
 * The library does not query the event at the runtime here, because that would
 * invalidate a capture in which the event was recorded. For the same reason
 * ferrum_event_is_ready and ferrum_event_synchronize return
 * FERRUM_ERROR_INVALID_STATE while a stream captures that the library knows. The
 * library cannot know of other captures: do not call these functions for an event
 * that was recorded in such a capture.
 *
 * @param native_handle  handle in the runtime of the device's vendor, such as a
 *                CUevent. An invalid handle may end the process inside the vendor's
 *                library.
 * @return FERRUM_ERROR_UNSUPPORTED for a device that cannot do it, such as host
 *         devices; FERRUM_ERROR_INVALID_ARGUMENT for 0.
 */
FERRUM_API ferrum_status ferrum_event_adopt(ferrum_device device,
                                            uint64_t native_handle,
                                            ferrum_event *event_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_MAPPING_H */

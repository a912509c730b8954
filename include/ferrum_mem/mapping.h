/*
 * Mappings, links, hints, and memory of others, for managers.
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

/** What a program does through a mapping. */
typedef int32_t ferrum_host_access;
/** Reads only. */
#define FERRUM_HOST_READ_ONLY 0
/** Writes only: what is not written has no defined value afterwards. */
#define FERRUM_HOST_WRITE_ONLY 1
/** Both. */
#define FERRUM_HOST_READ_WRITE 2

/** As the size of a mapping: all of the block from the offset on. */
#define FERRUM_MAP_TO_END UINT64_MAX

/** A range of a block that the host is to address.
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

/** A range of a block that the host addresses.
 *  @by-hand python it is an object with an end
 *  @by-hand rust owns the mapping
 *  @go manager.Mapping */
typedef struct ferrum_mapping {
    uint32_t struct_size;
    /** host_pointer is a copy, which ferrum_memory_unmap writes back (1), not the block.
     *  @bool */
    uint32_t is_staged;
    /** Names the mapping among those of its block; never 0.
     *  @go ID */
    uint64_t mapping_id;
    /** Valid until the mapping has ended; size_bytes from there on.
     *  @go HostAddr */
    void *host_pointer;
    /** Length of the range. */
    uint64_t size_bytes;
} ferrum_mapping;

/* clang-format off */
#define FERRUM_MAPPING_INIT {FERRUM_SIZE_OF(ferrum_mapping), 0, 0, NULL, 0}
/* clang-format on */

/**
 * Makes a range of a block addressable by the host, and waits for what is queued on
 * the streams that have used the block. On a device that the host can address, and
 * for page-locked memory, the pointer is to the block itself; on any other one it
 * is to a copy, which ferrum_memory_unmap writes back: never for FERRUM_HOST_READ_ONLY.
 *
 * The same range with the same access nests: it is the same mapping, which ends with
 * as many calls of ferrum_memory_unmap. A mapping that reads may overlap one that writes,
 * and sees of that what was written before its ferrum_memory_unmap only where both are the
 * block itself. While a block is mapped it is neither moved nor given back; work may
 * be queued on it, with the caller's own order against what goes through the pointer.
 *
 * @return FERRUM_ERROR_BUSY for a range that is to be written and overlaps another
 *         one that is mapped for writing; FERRUM_ERROR_INVALID_OFFSET when it leaves
 *         the block, FERRUM_ERROR_OVERFLOW when offset + size does not fit 64 bits;
 *         FERRUM_ERROR_OUT_OF_MEMORY when the host has no memory for a copy.
 *
 * @waits
 * @by-hand cpp a mapping has a class that ends it
 * @form python Memory.map()
 * @go factory.Map
 */
FERRUM_API ferrum_status ferrum_memory_map(const ferrum_map_request *request,
                                           ferrum_mapping *mapping_out);

/**
 * Ends one call of ferrum_memory_map. The last one for a mapping that writes to a copy
 * writes it back and returns when that is done; when it fails, the mapping is as it
 * was. Destroying the manager with FERRUM_FORCE ends mappings without writing back.
 *
 * @param mapping_id  of ferrum_mapping; 0: the block's mapping that was made last.
 * @return FERRUM_ERROR_NOT_MAPPED for a block that has no such mapping.
 *
 * @waits
 * @by-hand cpp a mapping has a class that ends it
 * @by-hand rust the end of a value
 * @by-hand python the mapping ends itself
 * @go factory.Unmap
 */
FERRUM_API ferrum_status ferrum_memory_unmap(ferrum_memory memory,
                                             uint64_t mapping_id);

/** Memory for two devices, as asked for.
 *  @go manager.LinkRequest */
typedef struct ferrum_link_request {
    uint32_t struct_size;
    uint32_t reserved;
    /** Not 0. */
    uint64_t size_bytes;
    /** Of the first address: a power of two up to FERRUM_ALIGNMENT_MAX; 0: the
     *  pool's.
     *  @none 0 */
    uint64_t alignment_bytes;
    /** Name for the books, at most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_link_request;

/* clang-format off */
#define FERRUM_LINK_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_link_request), 0, 0, 0, NULL}
/* clang-format on */

/**
 * Makes two blocks of FERRUM_MEMORY_MAPPED, for managers of two devices, that are
 * the same memory: what one device writes the other reads, in the order that streams
 * and events give. The memory counts as the first manager's and goes back to it when
 * both blocks are freed, in either order. Destroying the first manager with
 * FERRUM_FORCE ends both blocks.
 *
 * @param first_out,second_out  the blocks of the first and the second manager.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for two managers of one device;
 *         FERRUM_ERROR_UNSUPPORTED for devices that cannot address the same memory;
 *         else as ferrum_manager_alloc_with.
 */
FERRUM_API ferrum_status ferrum_manager_create_mapping(
    ferrum_manager first, ferrum_manager second,
    const ferrum_link_request *request, ferrum_memory *first_out,
    ferrum_memory *second_out);

/**
 * Queues that a block is brought near a device before it is used there, and
 * returns. The bytes stay as they are, and it counts as no access. On the host it
 * has the system put memory behind the block. On other devices FERRUM_MEMORY_MANAGED
 * goes where it is said, a host device being the host, and other memory stays.
 *
 * @param target  the block's own device, or another.
 * @param stream  of the block's device; {0}: its default one.
 * @return FERRUM_ERROR_UNSUPPORTED for a device that the block cannot be brought to.
 *
 * @optional stream
 * @go lib.MemoryPrefetch
 */
FERRUM_API ferrum_status ferrum_memory_prefetch(ferrum_memory memory,
                                                ferrum_device target,
                                                ferrum_stream stream);

/** What a program expects of a block. There are three axes, order, direction and
 *  lifetime, and a block has one hint of each.
 *  @go manager.UsageHint */
typedef int32_t ferrum_usage_hint;
/** Nothing; as a hint, it takes all others back. */
#define FERRUM_USAGE_NONE 0
/** Order: one after the other. */
#define FERRUM_USAGE_SEQUENTIAL 1
/** Order: scattered. */
#define FERRUM_USAGE_RANDOM 2
/** Direction: mostly read. */
#define FERRUM_USAGE_READ_MOSTLY 3
/** Direction: mostly written. */
#define FERRUM_USAGE_WRITE_MOSTLY 4
/** Lifetime: may be dropped eagerly. */
#define FERRUM_USAGE_TEMPORARY 5
/** Lifetime: to be kept resident. */
#define FERRUM_USAGE_RESIDENT 6

/** The last hint of each axis; FERRUM_USAGE_NONE where none was given.
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
 * Keeps a hint with a block, in place of an earlier one of the same axis;
 * FERRUM_USAGE_NONE takes all back. Hints are for those who decide about the block
 * (ferrum_memory_get_usage_hints) and change nothing by themselves, but that for
 * FERRUM_MEMORY_MANAGED the device is told of FERRUM_USAGE_READ_MOSTLY (who reads may
 * have a copy) and FERRUM_USAGE_RESIDENT (it is to stay at the device); where it refuses,
 * the hints are as they were.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for what is no hint.
 * @go factory.SetUsageHint
 */
FERRUM_API ferrum_status ferrum_memory_set_usage_hint(ferrum_memory memory,
                                                      ferrum_usage_hint hint);

/** Gives the hints of a block.
 *  @go factory.UsageHints */
FERRUM_API ferrum_status ferrum_memory_get_usage_hints(
    ferrum_memory memory, ferrum_usage_hints *hints_out);

/** How a block is used, as far as its last accesses show. */
typedef int32_t ferrum_access_pattern;
/** Too few accesses. */
#define FERRUM_PATTERN_UNKNOWN 0
/** One after the other. */
#define FERRUM_PATTERN_SEQUENTIAL 1
/** Scattered. */
#define FERRUM_PATTERN_RANDOM 2
/** Clusters in time. */
#define FERRUM_PATTERN_BURST 3
/** More than one kind. */
#define FERRUM_PATTERN_MIXED 4

/** What copies, fills, writes, reads and mappings did with a block.
 *  @go library.AccessStats */
typedef struct ferrum_access_stats {
    uint32_t struct_size;
    /** The manager tracks (1); else all below is 0.
     *  @bool */
    uint32_t is_tracked;
    /** There was an access (1); else last_access_ns means nothing.
     *  @bool */
    uint32_t is_accessed;
    /** Pattern of the last accesses. */
    ferrum_access_pattern pattern;
    /** How many reads there were. */
    uint64_t read_count;
    /** How many writes there were. */
    uint64_t write_count;
    /** Mean size of a read, rounded down; 0 when there was none.
     *  @go AvgReadBytes */
    uint64_t average_read_bytes;
    /** Mean size of a write, rounded down; 0 when there was none.
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
 * Gives the access statistics of a block of a manager with enable_tracking; others
 * keep none, and pay nothing.
 *
 * A copy counts as a read of its source and a write of its destination when it is
 * queued; a mapping as a read when it is made, if it reads, and as a write when it
 * has ended, if it writes. What programs do through an address is not seen.
 *
 * The pattern is told from the last 16 steps; a step is from one access to the next
 * of the same kind, read or write. Less than 4 steps are UNKNOWN. A step is in order
 * when an access starts where the last one of its kind ended, or at the block's start
 * after one that ended at its end. A pause is a step whose access came at least 1 ms
 * after the access before it, and at least 10 times the median of the steps later.
 * Two pauses or more, in at most a quarter of the steps, are bursts. Three quarters
 * or more in order are SEQUENTIAL, a quarter or less RANDOM. Bursts that are
 * sequential, and what is none of these, are MIXED; other bursts are BURST.
 * @by-hand rust none without tracking
 * @by-hand python None where it is not tracked
 * @go lib.MemoryGetAccessStats
 */
FERRUM_API ferrum_status ferrum_memory_get_access_stats(
    ferrum_memory memory, ferrum_access_stats *stats_out);

/** Memory of somebody else's that is to get a handle.
 *  @go manager.Adoption */
typedef struct ferrum_adoption {
    uint32_t struct_size;
    /** FERRUM_MEMORY_*, what it is used for.
     *  @go Type */
    ferrum_memory_type memory_type;
    /** Where the manager's device has it; on a host device a pointer. Where
     *  FERRUM_CAPABILITY_REGISTERED_MEMORY is there, that of FERRUM_MEMORY_PINNED and
     *  FERRUM_MEMORY_MAPPED may be a pointer to any memory of the process.
     *  @go Addr */
    ferrum_address address;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the books, at most 63 bytes; NULL: none. */
    const char *tag;
    /** The block is never written (1): copies, fills and mappings that write to it are
     *  FERRUM_ERROR_PERMISSION_DENIED. Memory that the process may only read, such as a file
     *  of weights that is mapped so, is adopted this way.
     *  @bool
     *  @go ReadOnly */
    uint32_t is_read_only;
    uint32_t reserved;
} ferrum_adoption;

/* clang-format off */
#define FERRUM_ADOPTION_INIT {FERRUM_SIZE_OF(ferrum_adoption), FERRUM_MEMORY_GENERAL, 0, 0, NULL, 0, 0}
/* clang-format on */

/**
 * Gives a handle to memory that the caller or somebody else owns. It is used like any
 * other block and counts as live, but is in no pool's books, never moved and never
 * freed: ferrum_memory_free only ends the handle, and is FERRUM_ERROR_BUSY while work
 * is queued on it. The memory must stay valid until then. Destroying the manager with
 * FERRUM_FORCE waits for that work.
 *
 * A device with FERRUM_CAPABILITY_REGISTERED_MEMORY page-locks memory of the process
 * that is adopted as FERRUM_MEMORY_PINNED or FERRUM_MEMORY_MAPPED, for as long as it has
 * the handle; ferrum_handle_info tells where the device has it. What is page-locked
 * already is used as it is.
 *
 * @return FERRUM_ERROR_INVALID_ADDRESS for memory that cannot be read, and unless
 *         is_read_only is set written, throughout, as far as can be told, and for such
 *         memory that the device cannot page-lock; FERRUM_ERROR_ALREADY_EXISTS for memory
 *         that the device has already; FERRUM_ERROR_INVALID_SIZE,
 *         FERRUM_ERROR_OVERFLOW, FERRUM_ERROR_UNSUPPORTED.
 */
FERRUM_API ferrum_status ferrum_manager_adopt(ferrum_manager manager,
                                              const ferrum_adoption *adoption,
                                              ferrum_memory *memory_out);

/**
 * Queues work in a stream of the caller's. It must have work(work_data) called
 * once, on any thread, after what was queued before and before what is queued later;
 * at once is right too. It is called on the threads that use the stream, and must not
 * call the library: that may hold locks.
 *
 * @return FERRUM_OK, or an error when the work will not be called.
 */
typedef ferrum_status (*ferrum_enqueue_fn)(ferrum_host_fn work, void *work_data,
                                           void *user_data);

/** A stream that somebody else made.
 *  @by-hand rust owns a closure */
typedef struct ferrum_foreign_stream {
    uint32_t struct_size;
    uint32_t reserved;
    /** Handle in the runtime of the device's vendor, such as a CUstream; 0 on host
     *  devices, where enqueue is given. It names one queue, whichever thread uses it. */
    uint64_t native_handle;
    /** Queues work in it; NULL with a native_handle. */
    ferrum_enqueue_fn enqueue;
    /** For enqueue. */
    void *user_data;
} ferrum_foreign_stream;

/* clang-format off */
#define FERRUM_FOREIGN_STREAM_INIT {FERRUM_SIZE_OF(ferrum_foreign_stream), 0, 0, NULL, NULL}
/* clang-format on */

/**
 * Gives a handle to a stream that somebody else made, for every call that takes one.
 * What its owner has queued there is waited for like the rest of it, but that
 * ferrum_stream_is_ready tells only of what was queued by the handle.
 *
 * ferrum_stream_destroy runs dry what was queued by the handle, with FERRUM_FORCE also
 * what its owner has queued by then, and leaves the stream alone; it must stay valid until
 * then, as must user_data. Memory that is of the stream, or was recorded for it, and is
 * freed later waits for what its owner had queued when it was destroyed: on a host device
 * enqueue is called a last time for that, and that work may come after
 * ferrum_stream_destroy has returned. A queue that refuses it is taken to be empty. A
 * stream that never calls the work is waited for for ever.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a device that cannot, and for a handle that is
 *         another queue in each thread, as CUDA's 2 is: what one thread freed would be
 *         another's at once;
 *         FERRUM_ERROR_NULL_POINTER without enqueue on a host device.
 *
 * @opens
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status
ferrum_stream_adopt(ferrum_device device, const ferrum_foreign_stream *foreign,
                    ferrum_stream *stream_out);

/**
 * Gives a handle to an event that somebody else made, for every call that takes one. It
 * stands for what its owner recorded last, and has no time.
 *
 * ferrum_event_destroy leaves the event alone; it must stay valid until then.
 *
 * @param native_handle  handle in the runtime of the device's vendor, such as a CUevent.
 *                       What is no event may end the process in the vendor's library.
 * The runtime is not asked about it: that would spoil a capture in which the event was
 * recorded. For the same reason ferrum_event_is_ready and ferrum_event_synchronize are
 * FERRUM_ERROR_INVALID_STATE while a stream captures that the library knows. Of others it
 * cannot know: do not ask then after an event that was recorded in their capture.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a device that cannot, as those of the host;
 *         FERRUM_ERROR_INVALID_ARGUMENT for 0.
 */
FERRUM_API ferrum_status ferrum_event_adopt(ferrum_device device,
                                            uint64_t native_handle,
                                            ferrum_event *event_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_MAPPING_H */

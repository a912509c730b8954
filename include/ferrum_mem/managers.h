/*
 * Managers: memory by handle, which they may move.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_MANAGERS_H
#define FERRUM_MEM_MANAGERS_H

#include "base.h"
#include "books.h"
#include "pools.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Purpose of a block. Each type may have a pool of its own.
 *  @go manager.MemoryType */
typedef int32_t ferrum_memory_type;
/** Anything. */
#define FERRUM_MEMORY_GENERAL 0
/** Tensors. */
#define FERRUM_MEMORY_TENSOR 1
/** The KV cache. */
#define FERRUM_MEMORY_CACHE 2
/** Scratch memory. */
#define FERRUM_MEMORY_TEMPORARY 3
/** Page-locked host memory, which the system does not swap. The system limits its
 *  size; above that limit the call returns FERRUM_ERROR_RESOURCE_EXHAUSTED, and the
 *  message states the limit. A defragmentation does not move it.
 *  FERRUM_ERROR_UNSUPPORTED on a device without it. */
#define FERRUM_MEMORY_PINNED 4
/** Memory that the host and other devices can address: memory of the device if the
 *  host can address that, otherwise page-locked host memory. */
#define FERRUM_MEMORY_MAPPED 5
/** Memory that the host and devices address at the same time. The system migrates
 *  it to the processor that uses it; ferrum_memory_prefetch and
 *  ferrum_memory_set_usage_hint announce that use. On a device whose memory the
 *  host can address, it is memory of the device. Elsewhere its address never
 *  changes, only the counters of its manager contain it, and it needs no physical
 *  memory before its first use. More of it than the memory of the device is
 *  possible, and slow. FERRUM_ERROR_UNSUPPORTED on a device without
 *  FERRUM_CAPABILITY_MANAGED_MEMORY. */
#define FERRUM_MEMORY_MANAGED 6
/** Number of memory types. */
#define FERRUM_MEMORY_TYPE_COUNT 7

/** Settings of a manager.
 *  @by-hand python its pools are a mapping
 *  @by-hand rust holds configurations of pools
 *  @go *manager.Config */
typedef struct ferrum_manager_config {
    uint32_t struct_size;
    /** Record the age and the tag of each block, and statistics (1).
     *  @bool */
    uint32_t enable_tracking;
    /** Release cached memory when gc_threshold is reached (1).
     *  @bool */
    uint32_t enable_auto_gc;
    /** Fill new blocks with 0xCD and freed blocks with 0xDD (1). Allocations then
     *  wait for the fill.
     *  @bool */
    uint32_t enable_debug;
    /** Used share of the device, or of its limit where that is less, from 0
     *  (exclusive) to 1, that starts a collection. */
    float gc_threshold;
    /** Number of asynchronous copies in flight at once, 1 to 1024. */
    uint32_t max_concurrent_transfers;
    /** Pool settings by FERRUM_MEMORY_*. NULL for a type: its blocks come from the
     *  pool of FERRUM_MEMORY_GENERAL. NULL for FERRUM_MEMORY_GENERAL: the defaults.
     *  Entries beyond the known types must be NULL.
     *  @read poolConfigs */
    const ferrum_pool_config *pool_configs[8];
} ferrum_manager_config;

/* clang-format off */
#define FERRUM_MANAGER_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_manager_config), 1, 1, 0, 0.85f, 4, {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}}
/* clang-format on */

/**
 * Creates a memory manager on a device. It holds no memory before the first
 * allocation, unless a pool setting requests it.
 *
 * @param config  settings, or NULL for FERRUM_MANAGER_CONFIG_INIT.
 *
 * @opens
 * @optional config
 * @by-hand c its settings point to further structs
 */
FERRUM_API ferrum_status
ferrum_manager_create(ferrum_device device, const ferrum_manager_config *config,
                      ferrum_manager *manager_out);

/**
 * Destroys a manager and releases its memory to the system.
 *
 * @param flags  0, or FERRUM_FORCE: destroy the manager although blocks are live or
 *                in use by copies. The call waits for the copies.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while blocks are live.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_manager_destroy(ferrum_manager manager,
                                                uint32_t flags);

/**
 * Sets the pool settings of a memory type from now on. Live blocks of the type stay
 * in their pool until they are freed. New blocks come from a pool with the new
 * settings.
 */
FERRUM_API ferrum_status ferrum_manager_configure_pool(
    ferrum_manager manager, ferrum_memory_type memory_type,
    const ferrum_pool_config *config);

/** Returns the counters of a manager: the sum over its pools.
 *  @infallible */
FERRUM_API ferrum_status ferrum_manager_get_statistics(
    ferrum_manager manager, ferrum_statistics *statistics_out);

/** A defragmentation may move the block while nothing uses it. Its address changes
 *  then. ferrum_memory_pin prevents the move. */
#define FERRUM_ALLOCATE_RELOCATABLE UINT32_C(1)

/** A request for a block.
 *  @go manager.Request */
typedef struct ferrum_allocation_request {
    uint32_t struct_size;
    /** FERRUM_MEMORY_*
     *  @go Type */
    ferrum_memory_type memory_type;
    /** Not 0. */
    uint64_t size_bytes;
    /** A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's.
     *  @none 0 */
    uint64_t alignment_bytes;
    /** Name for the counters, at most 63 bytes; NULL: none. */
    const char *tag;
    /** 0, or FERRUM_ALLOCATE_RELOCATABLE.
     *  @flags FERRUM_ALLOCATE */
    uint32_t flags;
    uint32_t reserved;
} ferrum_allocation_request;

/* clang-format off */
#define FERRUM_ALLOCATION_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_allocation_request), FERRUM_MEMORY_GENERAL, 0, 0, NULL, 0, 0}
/* clang-format on */

/**
 * Allocates a block of type FERRUM_MEMORY_GENERAL.
 *
 * @param size_bytes  not 0.
 * @return as ferrum_pool_alloc.
 *
 */
FERRUM_API ferrum_status ferrum_manager_alloc(ferrum_manager manager,
                                              uint64_t size_bytes,
                                              ferrum_memory *memory_out);

/** Allocates a block as described by the request.
 *  @go .AllocTyped */
FERRUM_API ferrum_status ferrum_manager_alloc_with(
    ferrum_manager manager, const ferrum_allocation_request *request,
    ferrum_memory *memory_out);

/**
 * Frees a block. Its handle becomes invalid at once. Copies in flight complete; the
 * memory is reused after them. The call waits only for a running move of the block.
 *
 * @return FERRUM_ERROR_BUSY for a block that is pinned or mapped, and for an
 *         adopted block that queued work uses; FERRUM_ERROR_CORRUPTED as
 *         ferrum_pool_free, for a pool in debug mode.
 *
 * @ends
 * @go factory.Free
 */
FERRUM_API ferrum_status ferrum_memory_free(ferrum_memory memory);

/** Description of a block.
 *  @name block_info
 *  @go library.HandleInfo */
typedef struct ferrum_handle_info {
    uint32_t struct_size;
    /** FERRUM_MEMORY_*
     *  @go Type */
    ferrum_memory_type memory_type;
    /** The block. */
    ferrum_memory memory;
    /** Its manager. */
    ferrum_manager manager;
    /** The device of its manager. */
    ferrum_device device;
    /** The requested size. */
    uint64_t size_bytes;
    /** The size with rounding. */
    uint64_t allocated_bytes;
    /** Largest power of two that divides the address, at most
     *  FERRUM_ALIGNMENT_MAX. */
    uint64_t alignment_bytes;
    /** Address of the block. For a relocatable block that is not pinned, address
     *  and host_pointer are valid until the next ferrum_manager_defragment of the
     *  manager.
     *  @go Addr */
    ferrum_address address;
    /** Address of the block for the host, or NULL if the host cannot address the
     *  block. ferrum_memory_map returns a pointer for every block.
     *  @go HostAddr */
    void *host_pointer;
    /** Monotonic time of the allocation since ferrum_init.
     *  @go AllocatedAt */
    uint64_t allocated_at_ns;
    /** 1 while a call of this library has mapped the block for the host.
     *  @bool */
    uint32_t is_mapped;
    /** Asynchronous operations in flight on the block. */
    uint32_t operations_in_flight;
    /** Name in the counters, or empty.
     *  @optional */
    char tag[64];
    /** 1 if it was requested with FERRUM_ALLOCATE_RELOCATABLE.
     *  @bool */
    uint32_t is_relocatable;
    /** Number of ferrum_memory_pin calls without a ferrum_memory_unpin.
     *  @go Pins */
    uint32_t pin_count;
    /** The block of another device that is the same memory
     *  (ferrum_manager_create_mapping); {0}: none, or it has ended.
     *  @optional */
    ferrum_memory linked;
    /** 1 if the memory is external (ferrum_manager_adopt).
     *  @bool */
    uint32_t is_adopted;
    /** 1 if it was adopted as read-only memory.
     *  @bool
     *  @go ReadOnly */
    uint32_t is_read_only;
} ferrum_handle_info;

/* clang-format off */
#define FERRUM_HANDLE_INFO_INIT {FERRUM_SIZE_OF(ferrum_handle_info), 0, {0}, {0}, {0}, 0, 0, 0, 0, NULL, 0, 0, 0, {0}, 0, 0, {0}, 0, 0}
/* clang-format on */

/** Describes a block. FERRUM_ERROR_INVALID_HANDLE for an unknown one.
 *  @by-hand rust named info
 *  @by-hand python info()
 *  @go lib.MemoryGetHandleInfo */
FERRUM_API ferrum_status ferrum_memory_get_handle_info(
    ferrum_memory memory, ferrum_handle_info *info_out);

/**
 * Returns the address of a block, and keeps the block at this address until
 * ferrum_memory_unpin has been called as often as ferrum_memory_pin. Use it for
 * work on the address that the library does not know of. Every block can be pinned.
 * The call waits for a running move of the block. A pinned block cannot be freed.
 * Destroying its manager with FERRUM_FORCE frees it.
 *
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED for a block that is pinned 2^32 - 1
 *         times.
 *
 * @by-hand rust the pin is a value
 * @go factory.Pin
 */
FERRUM_API ferrum_status ferrum_memory_pin(ferrum_memory memory,
                                           ferrum_address *address_out);

/**
 * Undoes one ferrum_memory_pin.
 *
 * @return FERRUM_ERROR_INVALID_STATE for a block that is not pinned.
 *
 * @by-hand rust the end of a value
 * @go factory.Unpin
 */
FERRUM_API ferrum_status ferrum_memory_unpin(ferrum_memory memory);

/** A copy between two blocks of one device or of two devices.
 *  @by-hand rust refers to two blocks, and is built up by calls
 *  @go manager.Transfer */
typedef struct ferrum_transfer {
    uint32_t struct_size;
    uint32_t reserved;
    /** The block to read. */
    ferrum_memory src;
    /** The block to write. */
    ferrum_memory dst;
    /** Not 0. */
    uint64_t size_bytes;
    /** First byte in the source. */
    uint64_t src_offset_bytes;
    /** First byte in the destination. */
    uint64_t dst_offset_bytes;
} ferrum_transfer;

/* clang-format off */
#define FERRUM_TRANSFER_INIT {FERRUM_SIZE_OF(ferrum_transfer), 0, {0}, {0}, 0, 0, 0}
/* clang-format on */

/**
 * Copies bytes from one block to another, or within one block (like memmove), and
 * returns when the copy has completed. The call waits for earlier work on streams
 * that use the two blocks.
 *
 * @return FERRUM_ERROR_INVALID_OFFSET when a range leaves its block;
 *         FERRUM_ERROR_OVERFLOW when offset + size does not fit 64 bits. This call,
 *         ferrum_memory_write and ferrum_memory_read use the default stream of the
 *         device, and also return a failure of work that was queued there before.
 *
 * @waits
 * @go factory.Copy
 */
FERRUM_API ferrum_status ferrum_memory_copy(const ferrum_transfer *transfer);

/**
 * Queues a copy on a stream and returns. The memory of both blocks stays valid
 * until the copy has completed, also when a block is freed meanwhile. At most
 * max_concurrent_transfers copies of the destination's manager are in flight; the
 * call waits for a transfer slot.
 *
 * @param stream  optional, of the destination's device.
 *
 * @waits
 * @optional stream
 * @go factory.CopyAsync
 */
FERRUM_API ferrum_status
ferrum_memory_copy_async(const ferrum_transfer *transfer, ferrum_stream stream);

/**
 * Copies from the caller's memory into a block, and returns when the copy has
 * completed.
 *
 * @param source  at least size_bytes long.
 *
 * @waits
 * @go factory.Write
 * @by-hand python,rust any bytes-like object or slice is written
 */
FERRUM_API ferrum_status ferrum_memory_write(ferrum_memory memory,
                                             uint64_t offset_bytes,
                                             const void *source,
                                             uint64_t size_bytes);

/**
 * Copies from a block into the caller's memory, and returns when the copy has
 * completed.
 *
 * @param destination_out  at least size_bytes long. Not zeroed on failure.
 *
 * @waits
 * @go factory.Read
 * @by-hand python,rust it fills a buffer of the caller
 */
FERRUM_API ferrum_status ferrum_memory_read(ferrum_memory memory,
                                            uint64_t offset_bytes,
                                            void *destination_out,
                                            uint64_t size_bytes);

/** A range of a block, and a pattern to fill it with.
 *  @by-hand rust a method of the block that it names
 *  @go manager.Fill */
typedef struct ferrum_fill {
    uint32_t struct_size;
    /** Bytes of the pattern: 1, 2 or 4.
     *  @go Pattern.WidthBytes */
    uint32_t pattern_bytes;
    /** The block. */
    ferrum_memory memory;
    /** A multiple of pattern_bytes. */
    uint64_t offset_bytes;
    /** A multiple of pattern_bytes, not 0. */
    uint64_t size_bytes;
    /** The pattern, in the low bytes; the others must be zero.
     *  @go Pattern.Value */
    uint32_t pattern;
    uint32_t reserved;
} ferrum_fill;

/* clang-format off */
#define FERRUM_FILL_INIT {FERRUM_SIZE_OF(ferrum_fill), 1, {0}, 0, 0, 0, 0}
/* clang-format on */

/**
 * Queues a fill on a stream and returns. The memory of the block stays valid until
 * the fill has completed.
 *
 * @param stream  optional, of the block's device.
 *
 * @optional stream
 * @go factory.FillAsync
 */
FERRUM_API ferrum_status ferrum_memory_fill_async(const ferrum_fill *fill,
                                                  ferrum_stream stream);

/** Result of a defragmentation. Each block that was live counts once: as moved, as
 *  kept, or as skipped for the first reason that applies.
 *  @go manager.DefragmentationStats */
typedef struct ferrum_defragmentation_stats {
    uint32_t struct_size;
    /** Fragmentation ratio before. */
    float fragmentation_before;
    /** Fragmentation ratio after. */
    float fragmentation_after;
    uint32_t reserved;
    /** Bytes released to the system. */
    uint64_t memory_freed_bytes;
    /** Blocks moved to another address. */
    uint64_t blocks_moved;
    /** Blocks that could not be moved: the sum of the reasons below. */
    uint64_t blocks_skipped;
    /** Time taken. */
    uint64_t time_taken_ns;
    /** The same in milliseconds, rounded up. */
    uint64_t time_taken_ms;
    /** Requested size of the moved blocks. */
    uint64_t bytes_moved;
    /** Pages without a block after the moves. */
    uint64_t pages_emptied;
    /** Segments without a block after the moves, in segmented pools. */
    uint64_t segments_emptied;
    /** Blocks that could have been moved, but whose move would not have freed a
     *  page. */
    uint64_t blocks_kept;
    /** Blocks without FERRUM_ALLOCATE_RELOCATABLE.
     *  @go Skipped.NotRelocatable */
    uint64_t skipped_not_relocatable;
    /** Blocks that a debug mode of the manager or the pool has filled with patterns
     *  or surrounded with red zones.
     *  @go Skipped.Debugged */
    uint64_t skipped_debugged;
    /** Pinned blocks.
     *  @go Skipped.Pinned */
    uint64_t skipped_pinned;
    /** Blocks that were used on a stream with queued work.
     *  @go Skipped.InUse */
    uint64_t skipped_in_use;
    /** Blocks of pages that could not be emptied: there were enough free bytes
     *  outside the page, but no free run that was long enough.
     *  @go Skipped.NoRoom */
    uint64_t skipped_no_room;
    /** Blocks that were not considered before the budget ended.
     *  @go Skipped.OverBudget */
    uint64_t skipped_over_budget;
    /** 1 if the budget ended before the defragmentation was complete.
     *  @bool */
    uint32_t budget_ended;
    uint32_t reserved_end;
    /** Blocks that are mapped for the host (ferrum_memory_map). This reason comes
     *  after skipped_pinned.
     *  @go Skipped.Mapped */
    uint64_t skipped_mapped;
} ferrum_defragmentation_stats;

/* clang-format off */
#define FERRUM_DEFRAGMENTATION_STATS_INIT {FERRUM_SIZE_OF(ferrum_defragmentation_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Moves blocks so that pages become free (segments, in segmented pools). It starts
 * with the pages that cost least, and releases unused memory of the manager's pools
 * to the system. It moves only blocks with FERRUM_ALLOCATE_RELOCATABLE that are not
 * pinned, not mapped, and were not used on a stream with queued work. A move
 * changes the address of a block; its handle, contents, tag and age stay. No pool
 * grows for it.
 *
 * Other threads may use the blocks by their handles during the call. A call for a
 * block that is being moved waits for the move. When the device fails, the block of
 * that move is unchanged, and the blocks of earlier moves stay at their new
 * addresses.
 *
 * @waits
 * @by-hand rust without a budget
 * @by-hand python it may have a budget, and moves are told of
 */
FERRUM_API ferrum_status ferrum_manager_defragment(
    ferrum_manager manager, ferrum_defragmentation_stats *stats_out);

/**
 * The same as ferrum_manager_defragment, within a time budget. After the budget
 * ends, the call starts no further move and gives up a running move at the next 8
 * MiB of its copy. The call releases unused memory in any case. A second call for
 * the same manager waits for the first one, within its own budget.
 *
 * When the budget ends a call (budget_ended), the next call with a budget continues
 * where this one stopped. So several small budgets also complete the work in a
 * manager with many blocks. Such a call counts blocks in the state in which it
 * considered them.
 *
 * @param budget_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0: nothing is moved.
 *
 * @waits
 * @by-hand rust the budget may be none
 * @by-hand python defragment() has a budget, and moves are told of
 */
FERRUM_API ferrum_status
ferrum_manager_defragment_within(ferrum_manager manager, uint64_t budget_ns,
                                 ferrum_defragmentation_stats *stats_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_MANAGERS_H */

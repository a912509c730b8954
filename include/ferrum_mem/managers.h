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

/** What a block is used for. Each type may have a pool of its own.
 *  @go manager.MemoryType */
typedef int32_t ferrum_memory_type;
/** Anything. */
#define FERRUM_MEMORY_GENERAL 0
/** Tensors. */
#define FERRUM_MEMORY_TENSOR 1
/** The KV cache. */
#define FERRUM_MEMORY_CACHE 2
/** Scratch. */
#define FERRUM_MEMORY_TEMPORARY 3
/** Page-locked memory of the host, which is never swapped out. The system bounds
 *  it: beyond that it is FERRUM_ERROR_RESOURCE_EXHAUSTED, and the message has the
 *  bound. It is never moved. A device without it: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_MEMORY_PINNED 4
/** Memory that the host and other devices can address: the device's own where it
 *  is the host's, else page-locked. */
#define FERRUM_MEMORY_MAPPED 5
/** Memory that the host and devices address at the same time, and that the system moves
 *  to where it is used; ferrum_memory_prefetch and ferrum_memory_set_usage_hint say where that will be.
 *  On a device whose own memory is the host's it is that. Elsewhere its address never
 *  changes, it counts in the books of its manager only, and it need not be anywhere
 *  before it is touched: more of it than a device has is possible, and slow. A device
 *  without FERRUM_CAPABILITY_MANAGED_MEMORY: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_MEMORY_MANAGED 6
/** Number of memory types. */
#define FERRUM_MEMORY_TYPE_COUNT 7

/** Settings of a manager.
 *  @by-hand python its pools are a mapping
 *  @by-hand rust holds configurations of pools
 *  @go *manager.Config */
typedef struct ferrum_manager_config {
    uint32_t struct_size;
    /** Keep age and tag of each block and statistics (1).
     *  @bool */
    uint32_t enable_tracking;
    /** Give back what is cached when gc_threshold is reached (1).
     *  @bool */
    uint32_t enable_auto_gc;
    /** Fill new blocks with 0xCD and freed ones with 0xDD (1); allocations then
     *  wait for the fill.
     *  @bool */
    uint32_t enable_debug;
    /** Used share of the device, or of its limit where that is less, from 0
     *  (exclusive) to 1, that starts a collection. */
    float gc_threshold;
    /** Asynchronous copies in flight at once, 1 to 1024. */
    uint32_t max_concurrent_transfers;
    /** Pool settings by FERRUM_MEMORY_*. NULL for a type: its blocks come from
     *  the pool of FERRUM_MEMORY_GENERAL. NULL for that one: the defaults.
     *  Entries beyond the known types must be NULL.
     *  @read poolConfigs */
    const ferrum_pool_config *pool_configs[8];
} ferrum_manager_config;

/* clang-format off */
#define FERRUM_MANAGER_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_manager_config), 1, 1, 0, 0.85f, 4, {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}}
/* clang-format on */

/**
 * Makes a memory manager on a device. It holds no memory before the first
 * allocation, unless a pool setting says so.
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
 * Destroys a manager and gives its memory back to the system.
 *
 * @param flags  0, or FERRUM_FORCE: also while blocks are live or being copied;
 *               waits for the copies.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while blocks are live.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_manager_destroy(ferrum_manager manager,
                                                uint32_t flags);

/**
 * Sets the pool settings of a memory type from now on. A type that has live
 * blocks keeps the pool they are in until they are freed; new blocks come from
 * a pool with the new settings.
 */
FERRUM_API ferrum_status ferrum_manager_configure_pool(
    ferrum_manager manager, ferrum_memory_type memory_type,
    const ferrum_pool_config *config);

/** Books of a manager: the sum over its pools.
 *  @infallible */
FERRUM_API ferrum_status ferrum_manager_get_statistics(
    ferrum_manager manager, ferrum_statistics *statistics_out);

/** A defragmentation may move the block while
 *  nobody uses it, so that its address is another one afterwards. ferrum_memory_pin keeps
 *  it where it is. */
#define FERRUM_ALLOCATE_RELOCATABLE UINT32_C(1)

/** A block, as asked for.
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
    /** Name for the books, at most 63 bytes; NULL: none. */
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

/** Allocates a block as described.
 *  @go .AllocTyped */
FERRUM_API ferrum_status ferrum_manager_alloc_with(
    ferrum_manager manager, const ferrum_allocation_request *request,
    ferrum_memory *memory_out);

/**
 * Gives a block back; its handle is dead at once. Copies that are in flight
 * finish undisturbed: the memory is handed out again after them. Does not wait,
 * but for a move of the block that is under way.
 *
 * @return FERRUM_ERROR_BUSY for a block that is pinned or mapped, and for an adopted
 *         one on which work is queued; as ferrum_pool_free for
 *         FERRUM_ERROR_CORRUPTED, which can come from a pool that debugs.
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
    /** As asked for. */
    uint64_t size_bytes;
    /** After rounding. */
    uint64_t allocated_bytes;
    /** Largest power of two that divides the address, at most
     *  FERRUM_ALIGNMENT_MAX. */
    uint64_t alignment_bytes;
    /** Of a relocatable block that is not pinned it is valid until the next
     *  ferrum_manager_defragment of the manager; host_pointer too.
     *  @go Addr */
    ferrum_address address;
    /** The block as the host sees it, or NULL where it cannot. ferrum_memory_map gives a
     *  pointer in any case.
     *  @go HostAddr */
    void *host_pointer;
    /** Monotonic time of the allocation since ferrum_init.
     *  @go AllocatedAt */
    uint64_t allocated_at_ns;
    /** Mapped for host access by a call of this library.
     *  @bool */
    uint32_t is_mapped;
    /** Asynchronous operations in flight on the block. */
    uint32_t operations_in_flight;
    /** Name in the books, or empty. */
    char tag[64];
    /** Asked for with FERRUM_ALLOCATE_RELOCATABLE.
     *  @bool */
    uint32_t is_relocatable;
    /** Calls of ferrum_memory_pin that ferrum_memory_unpin has not ended.
     *  @go Pins */
    uint32_t pin_count;
    /** The block of another device that is the same memory (ferrum_manager_create_mapping);
     *  {0}: none, or it is gone.
     *  @optional */
    ferrum_memory linked;
    /** The memory is somebody else's (ferrum_manager_adopt).
     *  @bool */
    uint32_t is_adopted;
    /** It was adopted to be read only.
     *  @bool
     *  @go ReadOnly */
    uint32_t is_read_only;
} ferrum_handle_info;

/* clang-format off */
#define FERRUM_HANDLE_INFO_INIT {FERRUM_SIZE_OF(ferrum_handle_info), 0, {0}, {0}, {0}, 0, 0, 0, 0, NULL, 0, 0, 0, {0}, 0, 0, {0}, 0, 0}
/* clang-format on */

/** Describes a block; FERRUM_ERROR_INVALID_HANDLE for an unknown one.
 *  @by-hand rust named info
 *  @by-hand python info()
 *  @go lib.MemoryGetHandleInfo */
FERRUM_API ferrum_status ferrum_memory_get_handle_info(
    ferrum_memory memory, ferrum_handle_info *info_out);

/**
 * Gives the address of a block and has it stay there until ferrum_memory_unpin has been
 * called as often as ferrum_memory_pin: for work of the caller's own on the address that
 * the library does not know of. Any block can be pinned. Waits for a move of the
 * block that is under way. A pinned block cannot be freed; destroying its
 * manager with FERRUM_FORCE frees it.
 *
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED for a block that is pinned 2^32 - 1 times.
 * @by-hand rust the pin is a value
 * @go factory.Pin
 */
FERRUM_API ferrum_status ferrum_memory_pin(ferrum_memory memory,
                                           ferrum_address *address_out);

/**
 * Ends one call of ferrum_memory_pin.
 *
 * @return FERRUM_ERROR_INVALID_STATE for a block that is not pinned.
 * @by-hand rust the end of a value
 * @go factory.Unpin
 */
FERRUM_API ferrum_status ferrum_memory_unpin(ferrum_memory memory);

/** A copy between two blocks, of one device or of two.
 *  @by-hand rust refers to two blocks, and is built up by calls
 *  @go manager.Transfer */
typedef struct ferrum_transfer {
    uint32_t struct_size;
    uint32_t reserved;
    /** The block that is read. */
    ferrum_memory src;
    /** The block that is written. */
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
 * Copies bytes from one block to another, or within one (with the meaning of
 * memmove), and returns when they are there. Work that was queued before on
 * streams that use the two blocks is waited for.
 *
 * @return FERRUM_ERROR_INVALID_OFFSET when a range leaves its block,
 *         FERRUM_ERROR_OVERFLOW when offset + size does not fit 64 bits. This
 *         call, ferrum_memory_write and ferrum_memory_read use the default stream of the
 *         device and also return a failure of work queued there before.
 *
 * @waits
 * @go factory.Copy
 */
FERRUM_API ferrum_status ferrum_memory_copy(const ferrum_transfer *transfer);

/**
 * Queues a copy on a stream and returns. Both blocks stay until it is done,
 * also when they are freed meanwhile. At most max_concurrent_transfers
 * are in flight per manager of the destination; the call waits for its turn.
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
 * Copies from the caller's memory into a block and returns when it is done.
 *
 * @param source  at least size_bytes long.
 *
 * @waits
 * @go factory.Write
 */
FERRUM_API ferrum_status ferrum_memory_write(ferrum_memory memory,
                                             uint64_t offset_bytes,
                                             const void *source,
                                             uint64_t size_bytes);

/**
 * Copies from a block into the caller's memory and returns when it is done.
 *
 * @param destination_out  at least size_bytes long. Not zeroed on failure.
 *
 * @waits
 * @go factory.Read
 */
FERRUM_API ferrum_status ferrum_memory_read(ferrum_memory memory,
                                            uint64_t offset_bytes,
                                            void *destination_out,
                                            uint64_t size_bytes);

/** A range of a block to fill with a pattern.
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
 * Queues a fill on a stream and returns. The block stays until it is done.
 *
 * @param stream  optional, of the block's device.
 *
 * @optional stream
 * @go factory.FillAsync
 */
FERRUM_API ferrum_status ferrum_memory_fill_async(const ferrum_fill *fill,
                                                  ferrum_stream stream);

/** What a defragmentation did. Every block that was live counts once: as moved, as
 *  skipped for the first of these reasons that held, or as kept.
 *  @go manager.DefragmentationStats */
typedef struct ferrum_defragmentation_stats {
    uint32_t struct_size;
    /** Fragmentation ratio before. */
    float fragmentation_before;
    /** Fragmentation ratio after. */
    float fragmentation_after;
    uint32_t reserved;
    /** Bytes given back to the system. */
    uint64_t memory_freed_bytes;
    /** Blocks moved to another address. */
    uint64_t blocks_moved;
    /** Blocks that could not be moved: the sum of the reasons below. */
    uint64_t blocks_skipped;
    /** Time taken. */
    uint64_t time_taken_ns;
    /** The same in milliseconds, rounded up. */
    uint64_t time_taken_ms;
    /** Size, as asked for, of the blocks that were moved. */
    uint64_t bytes_moved;
    /** Pages that all blocks were moved out of. */
    uint64_t pages_emptied;
    /** The same of segments, in pools that take them whole. */
    uint64_t segments_emptied;
    /** Blocks that could have been moved, but no page would have come free for it. */
    uint64_t blocks_kept;
    /** Blocks without FERRUM_ALLOCATE_RELOCATABLE.
     *  @go Skipped.NotRelocatable */
    uint64_t skipped_not_relocatable;
    /** Blocks that a debug mode of the manager or the pool has filled or surrounded
     *  with patterns.
     *  @go Skipped.Debugged */
    uint64_t skipped_debugged;
    /** Pinned blocks.
     *  @go Skipped.Pinned */
    uint64_t skipped_pinned;
    /** Blocks that were used on a stream on which work is queued.
     *  @go Skipped.InUse */
    uint64_t skipped_in_use;
    /** Blocks of pages whose blocks found no place outside of them, though as much is
     *  free there.
     *  @go Skipped.NoRoom */
    uint64_t skipped_no_room;
    /** Blocks that were not looked at any more when the budget was over.
     *  @go Skipped.OverBudget */
    uint64_t skipped_over_budget;
    /** The budget was over before all was done (1).
     *  @bool */
    uint32_t budget_ended;
    uint32_t reserved_end;
    /** Blocks that the host has mapped (ferrum_memory_map); this reason comes after
     *  skipped_pinned.
     *  @go Skipped.Mapped */
    uint64_t skipped_mapped;
} ferrum_defragmentation_stats;

/* clang-format off */
#define FERRUM_DEFRAGMENTATION_STATS_INIT {FERRUM_SIZE_OF(ferrum_defragmentation_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Moves blocks so that pages come free (segments, in pools that take them whole),
 * the cheapest first, and gives back to the system what the manager's pools hold
 * without use. Only blocks of FERRUM_ALLOCATE_RELOCATABLE move, and of these none
 * that is pinned, mapped, or was used on a stream on which work is queued. Their
 * handles, bytes, tags and ages stay, their addresses do not. No pool grows for it.
 *
 * Other threads may go on using the blocks by their handles: a call that wants one
 * that is being moved waits for the move. When the device fails, the block that was
 * to be moved is as it was, and those that were moved before stay moved.
 *
 * @waits
 * @by-hand rust without a budget
 * @by-hand python it may have a budget, and moves are told of
 */
FERRUM_API ferrum_status ferrum_manager_defragment(
    ferrum_manager manager, ferrum_defragmentation_stats *stats_out);

/**
 * ferrum_manager_defragment within a time: no move is started when it is over, and one that
 * is under way is given up at the next 8 MiB of its copy. What is free is given back
 * in any case. A second call for a manager waits for the first, within its time.
 *
 * A call that its budget ends (budget_ended) leaves what it has found out to the next
 * one with a budget, which goes on there: so small budgets get somewhere in a manager
 * of many blocks. Such a call counts blocks as they were when they were looked at.
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

/*
 * Counters: memory information, statistics, snapshots and leaks.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_BOOKS_H
#define FERRUM_MEM_BOOKS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Pressure levels, by the share of total_bytes that is not free.
 *  @unknown FERRUM_PRESSURE_CRITICAL
 *  @by-hand python it can be asked what is to be done */
typedef int32_t ferrum_pressure_level;
/** Below 70 %, or unknown (total_bytes 0). */
#define FERRUM_PRESSURE_LOW 0
/** From 70 %. */
#define FERRUM_PRESSURE_MEDIUM 1
/** From 85 %. */
#define FERRUM_PRESSURE_HIGH 2
/** From 95 %. */
#define FERRUM_PRESSURE_CRITICAL 3

/** Memory of a device; used + free + reserved = total at any time. With a limit of
 *  the device (ferrum_device_set_limit) the total is the limit.
 *  @go engine.MemoryInfo */
typedef struct ferrum_memory_info {
    uint32_t struct_size;
    /** Pressure level of (total - free) / total, computed with integers. */
    ferrum_pressure_level pressure;
    /** What this library may hold: limit_bytes, or device_total_bytes where there is
     *  no limit or the device has less. Utilization and pressure are computed from it.
     *  0 means unknown.
     *  @none 0 */
    uint64_t total_bytes;
    /** Live blocks of this library, and memory that it cannot allocate. At most
     *  total_bytes, also when more is live than a lowered limit allows. */
    uint64_t used_bytes;
    /** Bytes that can still be allocated: free memory of the device and cached
     *  memory of the pools, as far as the limit allows. */
    uint64_t free_bytes;
    /** The rest of total_bytes. It cannot be allocated, because the driver or other
     *  processes hold that much of the device. */
    uint64_t reserved_bytes;
    /** Number of live blocks of all pools and managers. */
    uint64_t active_allocations;
    /** 1 - largest free run / total free, over the memory that the pools hold; 0
     *  when nothing is free. */
    float fragmentation_ratio;
    /** used / total * 100; 0 when total is unknown. For display.
     *  @go UtilizationPercent() */
    float utilization_percent;
    /** Whether bandwidth_gbps has been measured.
     *  @bool
     *  @go BandwidthGBps != nil */
    uint32_t bandwidth_known;
    /** Copy bandwidth in 10^9 bytes per second.
     *  @if bandwidth_known
     *  @go Bandwidth() */
    float bandwidth_gbps;
    /** Age of the latest reading of the device; 0: it was read just now. The
     *  numbers include the memory that this library has allocated and released since
     *  that reading.
     *  @go ReadingAge */
    uint64_t reading_age_ns;
    /** Longest run that can be allocated now: from cached memory, or from the free
     *  memory of the device as far as the limit allows. */
    uint64_t largest_free_bytes;
    /** The limit of the device; 0: none.
     *  @none 0 */
    uint64_t limit_bytes;
    /** Capacity of the device itself, without the limit; 0 means unknown.
     *  @none 0 */
    uint64_t device_total_bytes;
    /** Free memory of the device itself, without the limit: memory that neither this
     *  library nor other programs hold. */
    uint64_t device_free_bytes;
} ferrum_memory_info;

/* clang-format off */
#define FERRUM_MEMORY_INFO_INIT {FERRUM_SIZE_OF(ferrum_memory_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Queries the memory of a device, with all uses of it.
 *  @by-hand python memory_info() has both */
FERRUM_API ferrum_status ferrum_device_get_memory_info(
    ferrum_device device, ferrum_memory_info *info_out);

/**
 * Returns the same as ferrum_device_get_memory_info, computed from the counters and
 * the latest reading of the device, if that reading is no older than max_age_ns.
 * Otherwise the call reads the device again. The call is much quicker with an old
 * reading, and does not delay other threads.
 *
 * The result does not contain changes that other processes made since the reading.
 * In pools with thread caches it does not contain the allocations and frees of another
 * thread since the cache of that thread last exchanged blocks with the pool. It
 * contains everything that the calling thread did.
 *
 * @param max_age_ns  greatest age of a reading that is used; 0 always reads the
 *                device, UINT64_MAX uses a reading of any age.
 *
 * @by-hand c read from the mirror where that is shown
 * @by-hand python memory_info() has both
 * @hot
 * @form python Device.memory_info()
 */
FERRUM_API ferrum_status ferrum_device_get_recent_memory_info(
    ferrum_device device, uint64_t max_age_ns, ferrum_memory_info *info_out);

/** A counter with its peak.
 *  @go track.Gauge */
typedef struct ferrum_gauge {
    /** The value now. */
    uint64_t current;
    /** The highest value so far. */
    uint64_t peak;
} ferrum_gauge;

/** Counters of a device, a pool or a manager. All are bytes except for the counts.
 *  In every record reserved = active + cached + unusable.
 *  @go track.Statistics */
typedef struct ferrum_statistics {
    uint32_t struct_size;
    uint32_t reserved_field;
    /** Bytes that callers requested for the live blocks. */
    ferrum_gauge requested;
    /** Bytes of the live blocks, with rounding. */
    ferrum_gauge allocated;
    /** Bytes of the live blocks, and of freed blocks that queued work may still
     *  use. */
    ferrum_gauge active;
    /** Free bytes that the pool holds and can allocate. */
    ferrum_gauge cached;
    /** Free bytes that the pool holds and cannot allocate now: the runs are too
     *  short or at the wrong place. */
    ferrum_gauge unusable;
    /** Bytes that the pool holds from the driver. */
    ferrum_gauge reserved;
    /** Number of live blocks. */
    ferrum_gauge live_blocks;
    /** Number of segments from the driver. */
    ferrum_gauge segments;
    /** Number of successful allocations so far. */
    uint64_t allocations;
    /** Number of frees so far. */
    uint64_t frees;
    /** Number of allocations that failed for lack of memory. */
    uint64_t failures;
    /** Longest free run. */
    uint64_t largest_free_bytes;
    /** The part of cached that is in thread caches. */
    uint64_t thread_cached_bytes;
} ferrum_statistics;

/* clang-format off */
#define FERRUM_STATISTICS_INIT {FERRUM_SIZE_OF(ferrum_statistics), 0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, 0, 0, 0, 0, 0}
/* clang-format on */

/** Returns the counters of a device: the sum over its pools and managers.
 *  @infallible */
FERRUM_API ferrum_status ferrum_device_get_statistics(
    ferrum_device device, ferrum_statistics *statistics_out);

/**
 * Returns all counters as JSON, for tools:
 *
 * {"version": "0.1.0", "uptime_ns": 0, "devices": [{
 *     "id": "cpu:0", "memory": {...}, "statistics": {...},
 *     "tags": [{"tag": "kv", "requested_bytes": 0, "allocated_bytes": 0,
 *       "blocks": 0}],
 *     "pools": [{"name": "...", "strategy": "best_fit", "owner": "pool",
 *       "statistics": {...}, "info": {...}, "segments": [{"address": 0,
 *       "size_bytes": 0, "active_bytes": 0, "largest_free_bytes": 0,
 *       "mapped_bytes": 0}]}],
 *     "managers": [{"live_blocks": 0, "memory_types": {"general": 0},
 *       "statistics": {...}, "adopted": {"blocks": 0, "bytes": 0}}],
 *     "virtual_pools": [{"name": "...", "statistics": {...}, "info": {...}}],
 *     "elastic_pools": [{"name": "...", "statistics": {...}, "info": {...},
 *       "models": [{"id": "...", "physical_bytes": 0}]}],
 *     "fallback_managers": [{"in_use_bytes": 0, "cpu_bytes": 0}],
 *     "asleep": {"asleep_host_bytes": 0, "asleep_file_bytes": 0,
 *       "asleep_discarded_bytes": 0}}],
 * "signal_handlers": [{"signal": 27, "name": "SIGPROF", "address": 0, "symbol":
 * "...",
 *       "file": "...", "repaired": true, "late": true}]}
 *
 * memory has the fields of ferrum_memory_info. Its bandwidth_gbps is null when it
 * was not measured, and its pressure is a word. statistics has the fields of
 * ferrum_statistics, with {"current": 0, "peak": 0} for a gauge, and
 * virtual_reserved, the size of the reserved address space that has no memory. info
 * has the fields of ferrum_pool_info, ferrum_vpool_info or
 * ferrum_elastic_pool_info. A model has the fields of ferrum_model_info. A fallback
 * manager has the fields of ferrum_memory_stats and ferrum_fallback_stats.
 * mapped_bytes is the part of a segment that has memory. adopted is live external
 * memory, which no statistics contain. The owner of a pool is "pool", "manager",
 * "fallback_manager" or "graph"; "graph" is the private pool of a graph.
 * signal_handlers lists the first 256 handlers that were found without SA_ONSTACK:
 * repaired states that the library added the flag, late that the handler was
 * installed after ferrum_init. Later versions may add fields.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_snapshot_json(char *buffer, size_t capacity,
                                              size_t *length_out);

/**
 * Lists the objects and blocks that are live now as JSON, or, after ferrum_shutdown,
 * those that were live when the library stopped:
 *
 * {"leaks": [{"kind": "memory", "device": "cpu:0", "handle": 0, "address": 0,
 *     "bytes": 0, "tag": "kv", "age_ns": 0, "call_site": ["engine+0x12f4
 *     (load)"]}], "omitted": 0, "total_bytes": 0}
 *
 * kind is device, monitor, placement, tracker, generic_pool, stream, event, pool,
 * block (of a pool), vpool, elastic_pool, range, manager, memory, fallback_manager,
 * buffer or registration. A range is one of a virtual pool or an elastic pool that
 * is mapped or asleep; in an elastic pool it has a "model". A registration has a
 * "callback", which states the kind of the callback, and whether the object that it
 * belonged to has ended. bytes is the requested size. age_ns is the time since
 * the object was created or allocated; it is 0 for blocks of pools without
 * tracking. call_site is present for blocks of pools with FERRUM_DEBUG_CALL_SITES;
 * the innermost function comes first. The list has at most 1000 entries; "omitted"
 * is the number of further entries. Cached memory is not a leak.
 *
 * Works also when the library is stopped. The call traverses the blocks in slices
 * and needs the same amount of memory for any number of blocks. It counts a block
 * once if the block is live during the whole call. A block that is allocated or
 * freed during the call may be counted or not. A block that
 * ferrum_manager_defragment moves during the call may be counted twice or not at
 * all.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @stateless
 * @infallible
 */
FERRUM_API ferrum_status ferrum_leak_report_json(char *buffer, size_t capacity,
                                                 size_t *length_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_BOOKS_H */

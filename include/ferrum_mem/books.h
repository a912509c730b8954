/*
 * The books: memory information, statistics, snapshots and leaks.
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

/** A device's memory; used + free + reserved = total at any time. With a limit of the
 *  device (ferrum_device_set_limit) the total is the limit.
 *  @go engine.MemoryInfo */
typedef struct ferrum_memory_info {
    uint32_t struct_size;
    /** Level of (total - free) / total, decided in integers. */
    ferrum_pressure_level pressure;
    /** What this library may hold: limit_bytes, or device_total_bytes where there is
     *  no limit or the device has less. Utilization and pressure are computed from it.
     *  0 means unknown. */
    uint64_t total_bytes;
    /** Live blocks of this library and what it cannot hand out; at most total_bytes,
     *  also while more is live than a lowered limit allows. */
    uint64_t used_bytes;
    /** What can still be handed out: free in the device and cached here, as far
     *  as the limit allows. */
    uint64_t free_bytes;
    /** The rest of total_bytes: it cannot be had, because the driver or other processes
     *  hold that much of the device. */
    uint64_t reserved_bytes;
    /** Live blocks of all pools and managers. */
    uint64_t active_allocations;
    /** 1 - largest free run / total free, over the memory had from the driver;
     *  0 when nothing is free. */
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
    /** How long ago the device was asked; 0: just now. What this library has
     *  taken and given back since is reckoned in.
     *  @go ReadingAge */
    uint64_t reading_age_ns;
    /** Longest run that can be handed out as things are: of what is cached, or of
     *  what is free in the device as far as the limit allows. */
    uint64_t largest_free_bytes;
    /** The limit of the device; 0: none. */
    uint64_t limit_bytes;
    /** Capacity of the device itself, without the limit; 0 means unknown. */
    uint64_t device_total_bytes;
    /** What is free in the device itself, without the limit: what neither this library
     *  nor anybody else holds. */
    uint64_t device_free_bytes;
} ferrum_memory_info;

/* clang-format off */
#define FERRUM_MEMORY_INFO_INIT {FERRUM_SIZE_OF(ferrum_memory_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Asks a device for its memory, all uses of it together.
 *  @by-hand python memory_info() has both */
FERRUM_API ferrum_status ferrum_device_get_memory_info(
    ferrum_device device, ferrum_memory_info *info_out);

/**
 * As ferrum_device_get_memory_info, from the books and the last reading of the device, if
 * that is no older than max_age_ns; else the device is asked. Much quicker: no
 * driver and no other thread is disturbed.
 *
 * What others have changed since the reading does not show. In pools with thread
 * caches, neither does what other threads have done since their caches last asked
 * the pool for blocks or gave some back; what the calling thread has done does.
 *
 * @param max_age_ns  0 asks the device; UINT64_MAX: a reading of any age will do.
 *
 * @by-hand c read from the mirror where that is shown
 * @by-hand python memory_info() has both
 * @hot
 * @form python Device.memory_info()
 */
FERRUM_API ferrum_status ferrum_device_get_recent_memory_info(
    ferrum_device device, uint64_t max_age_ns, ferrum_memory_info *info_out);

/** A number of the books with the highest value that it had.
 *  @go track.Gauge */
typedef struct ferrum_gauge {
    /** The value now. */
    uint64_t current;
    /** The highest value that it had. */
    uint64_t peak;
} ferrum_gauge;

/** Books of a device, a pool or a manager. Bytes but for the counts.
 *  reserved = active + cached + unusable in every record.
 *  @go track.Statistics */
typedef struct ferrum_statistics {
    uint32_t struct_size;
    uint32_t reserved_field;
    /** Asked for by the live blocks. */
    ferrum_gauge requested;
    /** Live blocks after rounding. */
    ferrum_gauge allocated;
    /** Live, or freed and still in use by queued work. */
    ferrum_gauge active;
    /** Held and ready to be handed out. */
    ferrum_gauge cached;
    /** Held, but too small or badly placed to be handed out. */
    ferrum_gauge unusable;
    /** Had from the driver. */
    ferrum_gauge reserved;
    /** Live blocks, as a count. */
    ferrum_gauge live_blocks;
    /** Segments had from the driver, as a count. */
    ferrum_gauge segments;
    /** Successful allocations so far, as a count. */
    uint64_t allocations;
    /** Frees so far, as a count. */
    uint64_t frees;
    /** Allocations that ran out of memory, as a count. */
    uint64_t failures;
    /** Longest free run. */
    uint64_t largest_free_bytes;
    /** The part of cached that waits in thread caches. */
    uint64_t thread_cached_bytes;
} ferrum_statistics;

/* clang-format off */
#define FERRUM_STATISTICS_INIT {FERRUM_SIZE_OF(ferrum_statistics), 0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, 0, 0, 0, 0, 0}
/* clang-format on */

/** Books of a device: the sum over its pools and managers.
 *  @infallible */
FERRUM_API ferrum_status ferrum_device_get_statistics(
    ferrum_device device, ferrum_statistics *statistics_out);

/**
 * All books as JSON, for tools:
 *
 *   {"version": "0.1.0", "uptime_ns": 0, "devices": [{
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
 *    "signal_handlers": [{"signal": 27, "name": "SIGPROF", "address": 0, "symbol": "...",
 *       "file": "...", "mended": true, "late": true}]}
 *
 * memory has the fields of ferrum_memory_info (bandwidth_gbps null when not
 * measured, pressure as a word), statistics those of ferrum_statistics with
 * {"current": 0, "peak": 0} for a gauge, and with virtual_reserved, the addresses
 * that were reserved without memory behind all of them; info those of
 * ferrum_pool_info, ferrum_vpool_info or ferrum_elastic_pool_info, a model those of
 * ferrum_model_info, a fallback manager those of ferrum_memory_stats and
 * ferrum_fallback_stats. mapped_bytes is what of a segment has memory behind it.
 * adopted is live memory of others, which is in no statistics. The owner of a pool is
 * "pool", "manager", "fallback_manager", or "graph": the private pool of a graph.
 * signal_handlers are those that were found without SA_ONSTACK (the first 256): mended
 * when the flag was added, late when it was installed after ferrum_init. Fields may be
 * added.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_snapshot_json(char *buffer, size_t capacity,
                                              size_t *length_out);

/**
 * What is alive now or, after ferrum_shutdown, what was alive at its end, as
 * JSON:
 *
 *   {"leaks": [{"kind": "memory", "device": "cpu:0", "handle": 0, "address": 0,
 *     "bytes": 0, "tag": "kv", "age_ns": 0, "call_site": ["engine+0x12f4
 *     (load)"]}], "omitted": 0, "total_bytes": 0}
 *
 * kind is device, monitor, placement, tracker, generic_pool, stream, event, pool, block
 * (of a pool), vpool, elastic_pool, range (that is mapped or sleeps in one of the two,
 * with "model" in an elastic pool), manager, memory, fallback_manager, buffer or registration
 * (whose "callback" says what it is of, and whether that has ended). bytes is what was
 * asked for; age_ns is the time since it was made or allocated, 0 for blocks of pools
 * without tracking;
 * call_site, the innermost function first, is there for blocks of pools with
 * FERRUM_DEBUG_CALL_SITES. At most 1000 entries;
 * "omitted" counts the rest. Memory that is cached is no leak. Works also when
 * the library is stopped. The blocks are gone over in slices, in the same memory
 * however many they are: one that is live all the while is counted once, one that
 * comes or goes meanwhile or not, and one that ferrum_manager_defragment moves may be
 * counted twice or not.
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

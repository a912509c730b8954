/*
 * Fallback managers: buffers that fall back to the host, with their trackers, generic pools,
 * settings and size helpers.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_FALLBACK_H
#define FERRUM_MEM_FALLBACK_H

#include "base.h"
#include "books.h"
#include "callbacks.h"
#include "dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A fallback manager is a small interface over the memory of a device of any
 * backend. It allocates buffers on its device from buckets by powers of two, within
 * the bounds of a memory config. If the config allows it, a buffer for which the
 * device has no memory is allocated on a host device, and moves to the device when
 * the device has memory again. A tracker lists buffers by id, tag and age. A
 * generic pool caches free buffers that the caller created. docs/fallback.md
 * explains all of this.
 *
 * Calls that move, pin, take or end a buffer, copy to or from it, or destroy a
 * fallback manager may wait for a stream. In a host function they return
 * FERRUM_ERROR_INVALID_STATE.
 */

/** A fallback manager: allocates buffers on a device, and on a host when the device
 *  is full. */
typedef struct ferrum_fallback_manager {
    uint64_t id; /**< 0 is no manager */
} ferrum_fallback_manager;

/** A buffer of a fallback manager, on its device or on its host.
 *  @by-hand rust its calls are written by hand */
typedef struct ferrum_fallback_buffer {
    uint64_t id; /**< 0 is no buffer */
} ferrum_fallback_buffer;

/** A tracker: a list of live buffers.
 *  @by-hand rust a tracker and a view of one share the calls */
typedef struct ferrum_tracker {
    uint64_t id; /**< 0 is no tracker */
} ferrum_tracker;

/** A cache of free buffers that the caller created.
 *  @by-hand rust its calls are written by hand */
typedef struct ferrum_generic_pool {
    uint64_t id; /**< 0 is no pool */
} ferrum_generic_pool;

/** Create buffers on the host when the device has no room. */
#define FERRUM_MEMORY_CPU_FALLBACK UINT32_C(1)
/** Record every buffer in use in a tracker. */
#define FERRUM_MEMORY_TRACK_ALLOCATIONS UINT32_C(2)
/** Create the pool with a free buffer of each of pre_allocate_sizes. The creation
 *  fails if one of them fails. */
#define FERRUM_MEMORY_PRE_ALLOCATE UINT32_C(4)

/** Largest number of preallocated sizes. */
#define FERRUM_PRE_ALLOCATE_MAX 4096

/** Settings of a fallback manager or a generic pool.
 *  @by-hand python it has presets, and a list
 *  @go fallback.MemoryConfig */
typedef struct ferrum_memory_config {
    uint32_t struct_size;
    /** FERRUM_MEMORY_* flags.
     *  @flags FERRUM_MEMORY */
    uint32_t flags;
    /** The share of the device's capacity, or of its limit if that is less, that
     *  the manager may hold: 0.1 to 1, computed in millionths. There is no bound
     *  when neither is known. */
    double gpu_memory_fraction;
    /** Bytes that stay free on the device, independent of its limit. The manager
     *  allocates no memory from the device that would leave less. */
    uint64_t min_free_bytes;
    /** Number of free buffers that a bucket keeps; 0: none. */
    uint64_t max_pooled_per_bucket;
    /** Size of the free buffers of all buckets together; 0: no bound.
     *  @none 0 */
    uint64_t max_pooled_bytes;
    /** pre_allocate_count sizes; may be NULL when there are none.
     *  @go PreAllocSizes
     *  @list pre_allocate_count FERRUM_PRE_ALLOCATE_MAX INVALID_CONFIG */
    const uint64_t *pre_allocate_sizes;
    /** Number of sizes. */
    uint64_t pre_allocate_count;
} ferrum_memory_config;

/* clang-format off */
#define FERRUM_MEMORY_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_memory_config), FERRUM_MEMORY_CPU_FALLBACK, 0.9, UINT64_C(536870912), 8, UINT64_C(1073741824), NULL, 0}
/* clang-format on */

/** Ready-made settings. Each lists fraction, fallback, min_free_bytes, free buffers
 *  of a bucket, and of all buckets together.
 *  @go fallback.Preset */
typedef int32_t ferrum_memory_preset;
/** 0.9, fallback, 512 MiB, 8, 1 GiB: FERRUM_MEMORY_CONFIG_INIT. */
#define FERRUM_MEMORY_PRESET_DEFAULT 0
/** 0.95, fallback, 256 MiB, 4, 512 MiB: the most memory. */
#define FERRUM_MEMORY_PRESET_INFERENCE 1
/** 0.8, no fallback, 1 GiB, 16, 4 GiB: an allocation fails when the device has no
 *  room, instead of becoming slow. */
#define FERRUM_MEMORY_PRESET_TRAINING 2
/** 0.7, fallback, 128 MiB, 2, 64 MiB: for devices with little memory. */
#define FERRUM_MEMORY_PRESET_CONSTRAINED 3

/**
 * Returns ready-made settings. Needs no ferrum_init.
 *
 * @by-hand cpp its settings have a class
 * @stateless
 * @go fallback.Preset.Config
 */
FERRUM_API ferrum_status ferrum_memory_config_preset(
    ferrum_memory_preset preset, ferrum_memory_config *config_out);

/**
 * Checks settings. Needs no ferrum_init.
 *
 * @return FERRUM_ERROR_INVALID_CONFIG with the name and the value of the setting,
 *         also for a preallocated size that does not fit into its bucket.
 *
 * @by-hand cpp its settings have a class
 * @stateless
 * @go fallback.MemoryConfig.Check
 */
FERRUM_API ferrum_status
ferrum_memory_config_check(const ferrum_memory_config *config);

/** Counters of a fallback manager or a generic pool. They contain only its own
 *  buffers, so the device may be full while the pool is not.
 *  @go fallback.MemoryStats */
typedef struct ferrum_memory_stats {
    uint32_t struct_size;
    uint32_t reserved;
    /** Buffers that exist: those in use and those in buckets. */
    uint64_t total_allocated_bytes;
    /** Buffers in use. */
    uint64_t in_use_bytes;
    /** Free buffers in the buckets. */
    uint64_t pooled_bytes;
    /** The highest value of in_use_bytes. */
    uint64_t peak_bytes;
    /** Number of requests that were served from the buckets. */
    uint64_t pool_hits;
    /** Number of requests that were not served from the buckets. */
    uint64_t pool_misses;
    /** Number of buffers that were created on the host because the device had no
     *  room. */
    uint64_t cpu_fallbacks;
    /** Number of buffers in use, tracked or not. */
    uint64_t active_buffers;
} ferrum_memory_stats;

/* clang-format off */
#define FERRUM_MEMORY_STATS_INIT {FERRUM_SIZE_OF(ferrum_memory_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Ratios of a ferrum_memory_stats. They describe the pool, not the device.
 *  @by-hand python methods of the counters
 *  @by-hand rust each is a method
 *  @go fallback.MemoryRatios */
typedef struct ferrum_memory_ratios {
    uint32_t struct_size;
    uint32_t reserved;
    /** hits / (hits + misses); 0 without requests. */
    double hit_rate;
    /** in_use / total_allocated; 0 when that is 0. */
    double utilization;
    /** The same, but 1 when total_allocated is 0. */
    double efficiency;
} ferrum_memory_ratios;

/* clang-format off */
#define FERRUM_MEMORY_RATIOS_INIT {FERRUM_SIZE_OF(ferrum_memory_ratios), 0, 0, 0, 0}
/* clang-format on */

/**
 * Computes the ratios of counters. Needs no ferrum_init.
 *
 * @by-hand cpp its result has a class
 * @stateless
 * @go fallback.MemoryStats.Ratios
 * @infallible
 */
FERRUM_API ferrum_status ferrum_memory_stats_ratios(
    const ferrum_memory_stats *stats, ferrum_memory_ratios *ratios_out);

/**
 * Adds the counters of two pools. A sum that does not fit 64 bits is UINT64_MAX.
 * The peak is the larger of the two peaks, which is a lower bound of the common
 * peak. Needs no ferrum_init.
 *
 * @by-hand cpp its result has a class
 * @stateless
 * @go fallback.MemoryStats.Merge
 * @infallible
 */
FERRUM_API ferrum_status ferrum_memory_stats_merge(
    const ferrum_memory_stats *stats, const ferrum_memory_stats *other,
    ferrum_memory_stats *merged_out);

/**
 * Returns counters as one line for people, with sizes in MB of 2^20 bytes. Needs no
 * ferrum_init.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @by-hand cpp its result has a class
 * @stateless
 * @go fallback.MemoryStats.String
 * @infallible
 */
FERRUM_API ferrum_status
ferrum_memory_stats_text(const ferrum_memory_stats *stats, char *buffer,
                         size_t capacity, size_t *length_out);

/** Side of a buffer.
 *  @by-hand python its text is its name
 *  @go fallback.Side */
typedef int32_t ferrum_buffer_location;
/** On the device. */
#define FERRUM_LOCATION_GPU 0
/** On the host. */
#define FERRUM_LOCATION_CPU 1

/**
 * Returns an id that no buffer of the process has had. Ids increase from 1; 0 is no
 * id. Needs no ferrum_init.
 *
 * @stateless
 * @go fallback.NewBufferID
 * @infallible
 */
FERRUM_API ferrum_status ferrum_buffer_id_new(uint64_t *id_out);

/**
 * Returns an id as text for messages: "Buffer#7". Needs no ferrum_init.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @stateless
 * @go fallback.BufferID.String
 * @go buffer_id fallback.BufferID
 * @infallible
 */
FERRUM_API ferrum_status ferrum_buffer_id_text(uint64_t buffer_id, char *buffer,
                                               size_t capacity,
                                               size_t *length_out);

/** Entry of a tracker for a buffer.
 *  @by-hand python it names its device
 *  @by-hand rust its text has a bound, its id a type
 *  @go library.BufferRecord */
typedef struct ferrum_buffer_metadata {
    /** Not 0.
     *  @go ID */
    uint64_t buffer_id;
    /** Size of the buffer. */
    uint64_t size_bytes;
    /** Number of elements. */
    uint64_t num_elements;
    /** Time since the buffer was created.
     *  @go Age */
    uint64_t age_ns;
    /** Device of the buffer; {0}: not known.
     *  @optional */
    ferrum_device device;
    /** Side of the buffer.
     *  @go Side */
    ferrum_buffer_location location;
    uint32_t reserved;
    /** Text with its NUL; empty: no tag. */
    char tag[64];
} ferrum_buffer_metadata;

/**
 * Creates an empty tracker. It belongs to no device.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_tracker_create(ferrum_tracker *tracker_out);

/**
 * Destroys a tracker.
 *
 * @return FERRUM_ERROR_INVALID_STATE for the tracker of a manager or a pool, which
 *         ends with its owner. The caller cannot add, remove or clear entries of
 *         such a tracker either.
 *
 * @ends
 */
FERRUM_API ferrum_status ferrum_tracker_destroy(ferrum_tracker tracker);

/**
 * Adds a buffer that was created age_ns ago. An entry with the same id is replaced.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for id 0, an unknown location, a tag
 *         without a NUL or a tag that is not UTF-8; FERRUM_ERROR_OVERFLOW when the
 *         sum of all sizes does not fit 64 bits.
 *
 * @by-hand python,rust a record has a class
 */
FERRUM_API ferrum_status ferrum_tracker_track(
    ferrum_tracker tracker, const ferrum_buffer_metadata *metadata);

/**
 * Removes a buffer.
 *
 * @param metadata_out  the removed entry; may be NULL.
 * @return FERRUM_ERROR_NOT_FOUND for an unknown buffer.
 *
 * @optional metadata_out
 * @go buffer_id fallback.BufferID
 * @by-hand python,rust an unknown id gives nothing
 */
FERRUM_API ferrum_status
ferrum_tracker_untrack(ferrum_tracker tracker, uint64_t buffer_id,
                       ferrum_buffer_metadata *metadata_out);

/**
 * Returns the entry of a buffer. FERRUM_ERROR_NOT_FOUND for an unknown buffer.
 *
 * @by-hand cpp get() gives the handle
 * @go buffer_id fallback.BufferID
 * @by-hand python,rust an unknown id gives nothing
 */
FERRUM_API ferrum_status
ferrum_tracker_get(ferrum_tracker tracker, uint64_t buffer_id,
                   ferrum_buffer_metadata *metadata_out);

/**
 * Lists all buffers, the oldest first.
 *
 * @param metadata_out  room for capacity entries; may be NULL when capacity is 0.
 * @param count_out  number of entries.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set, when capacity is not
 *         0 and too small.
 *
 * @infallible
 * @by-hand python,rust a record has a class
 */
FERRUM_API ferrum_status ferrum_tracker_get_all(
    ferrum_tracker tracker, ferrum_buffer_metadata *metadata_out,
    size_t capacity, size_t *count_out);

/** Lists the buffers that are older than age_ns, like ferrum_tracker_get_all:
 *  buffers that may be leaks.
 *  @infallible
 *  @by-hand python,rust a record has a class */
FERRUM_API ferrum_status ferrum_tracker_find_old(
    ferrum_tracker tracker, uint64_t age_ns,
    ferrum_buffer_metadata *metadata_out, size_t capacity, size_t *count_out);

/** Numbers of a tracker.
 *  @go library.TrackerTotals */
typedef struct ferrum_tracker_totals {
    uint32_t struct_size;
    uint32_t reserved;
    /** Number of buffers. */
    uint64_t count;
    /** The sum of their sizes. */
    uint64_t total_bytes;
    /** The highest value of total_bytes. */
    uint64_t peak_bytes;
} ferrum_tracker_totals;

/* clang-format off */
#define FERRUM_TRACKER_TOTALS_INIT {FERRUM_SIZE_OF(ferrum_tracker_totals), 0, 0, 0, 0}
/* clang-format on */

/** Returns the numbers of a tracker.
 *  @by-hand python a view is of its owner
 *  @infallible
 *  @by-hand rust a method of the view */
FERRUM_API ferrum_status ferrum_tracker_get_totals(
    ferrum_tracker tracker, ferrum_tracker_totals *totals_out);

/** Removes all entries. The peak stays.
 *  @by-hand python only of a tracker of its own
 *  @by-hand rust only of a tracker of its own */
FERRUM_API ferrum_status ferrum_tracker_clear(ferrum_tracker tracker);

/** Details of a buffer of a generic pool, for its tracker.
 *  @go fallback.Use */
typedef struct ferrum_buffer_use {
    uint32_t struct_size;
    /** Side of the buffer.
     *  @go Location.Side */
    ferrum_buffer_location location;
    /** Number of elements. */
    uint64_t num_elements;
    /** At most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_buffer_use;

/* clang-format off */
#define FERRUM_BUFFER_USE_INIT {FERRUM_SIZE_OF(ferrum_buffer_use), 0, 0, NULL}
/* clang-format on */

/** A buffer of a generic pool.
 *  @by-hand python it holds an object
 *  @by-hand rust holds the buffer itself
 *  @go library.Lease */
typedef struct ferrum_buffer_lease {
    /** The caller's value for the buffer: a pointer, a handle, an index. */
    uint64_t buffer;
    /** Its size, which may be larger than the requested size.
     *  @go Bytes */
    uint64_t size_bytes;
    /** 0 unless the pool tracks.
     *  @go ID */
    uint64_t buffer_id;
} ferrum_buffer_lease;

/**
 * Creates a cache of free buffers of any kind. The pool creates and destroys no
 * buffers: the caller does, and gives the pool a value for each buffer. A buffer
 * belongs to the bucket of the smallest power of two that is not below its size. A
 * buffer serves requests from a quarter of its size up to its size. Settings for
 * the device have no effect. The pool belongs to no device.
 *
 * @param config  settings, or NULL for FERRUM_MEMORY_CONFIG_INIT.
 *
 * @opens
 * @optional config
 * @by-hand cpp its settings have a class
 */
FERRUM_API ferrum_status ferrum_generic_pool_create(
    const ferrum_memory_config *config, ferrum_generic_pool *pool_out);

/**
 * Destroys a pool. It does not destroy the free buffers: remove them first.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while the pool has free
 *         buffers or buffers are in use, unless forced.
 *
 * @ends
 */
FERRUM_API ferrum_status ferrum_generic_pool_destroy(ferrum_generic_pool pool,
                                                     uint32_t flags);

/**
 * Records a buffer in use that the caller created because there was no free one.
 *
 * @param use  details, or NULL for FERRUM_BUFFER_USE_INIT.
 * @param id_out  0 unless the pool tracks.
 * @return FERRUM_ERROR_INVALID_SIZE for 0; FERRUM_ERROR_OVERFLOW.
 *
 * @optional use
 * @by-hand cpp buffers of the pool have a type of their own
 * @by-hand python,rust it makes a lease of an object
 */
FERRUM_API ferrum_status ferrum_generic_pool_record_allocation(
    ferrum_generic_pool pool, uint64_t size_bytes, const ferrum_buffer_use *use,
    uint64_t *id_out);

/**
 * Returns the smallest free buffer that serves the request, and marks it as in use.
 *
 * @param use  as for ferrum_generic_pool_record_allocation.
 * @param lease_out  the buffer; all zero when there is none.
 * @param found_out  1, or 0 when there is none: the caller then creates one.
 * @return FERRUM_ERROR_INVALID_SIZE for 0; FERRUM_ERROR_OVERFLOW for a size above
 *         the largest power of two.
 *
 * @optional use
 * @bool found_out
 * @by-hand cpp buffers of the pool have a type of their own
 * @by-hand python,rust it makes a lease of an object
 */
FERRUM_API ferrum_status ferrum_generic_pool_try_get(
    ferrum_generic_pool pool, uint64_t min_bytes, const ferrum_buffer_use *use,
    ferrum_buffer_lease *lease_out, uint32_t *found_out);

/**
 * Ends the use of a buffer. The size and the id must be those of its recording or
 * of its lease.
 *
 * @param kept_out  1; or 0 when its bucket is full: the pool does not keep the
 *                buffer, and the caller has to destroy it.
 * @return FERRUM_ERROR_INVALID_SIZE for 0 and for more than is in use;
 *         FERRUM_ERROR_INVALID_ARGUMENT for an id that is not in use or has another
 *         size.
 *
 * @bool kept_out
 * @by-hand cpp buffers of the pool have a type of their own
 * @by-hand python,rust it ends a lease
 */
FERRUM_API ferrum_status ferrum_generic_pool_return(
    ferrum_generic_pool pool, const ferrum_buffer_lease *lease,
    uint32_t *kept_out);

/**
 * Adds a free buffer that was never used. FERRUM_ERROR_RESOURCE_EXHAUSTED when its
 * bucket is full.
 *
 * @by-hand cpp buffers of the pool have a type of their own
 * @by-hand python it files an object
 * @by-hand rust it files an object
 */
FERRUM_API ferrum_status ferrum_generic_pool_add_free(ferrum_generic_pool pool,
                                                      uint64_t buffer,
                                                      uint64_t size_bytes);

/**
 * Removes free buffers from the pool, so that the caller can destroy them: all of
 * them if capacity is at least ferrum_generic_pool_get_pooled_count.
 *
 * @param leases_out  room for capacity buffers; may be NULL when capacity is 0.
 * @param count_out  number of removed buffers.
 *
 * @by-hand cpp buffers of the pool have a type of their own
 * @fills leases_out
 * @by-hand python,rust it ends the objects
 */
FERRUM_API ferrum_status ferrum_generic_pool_drain(
    ferrum_generic_pool pool, ferrum_buffer_lease *leases_out, size_t capacity,
    size_t *count_out);

/**
 * Returns the number of free buffers.
 *
 * @by-hand python a property
 * @by-hand rust the pool is generic
 */
FERRUM_API ferrum_status ferrum_generic_pool_get_pooled_count(
    ferrum_generic_pool pool, uint64_t *count_out);

/**
 * Returns the counters of a pool.
 *
 * @by-hand cpp its result has a class
 * @by-hand python the counters can do more
 * @by-hand rust the pool is generic
 */
FERRUM_API ferrum_status ferrum_generic_pool_get_stats(
    ferrum_generic_pool pool, ferrum_memory_stats *stats_out);

/** Counts a request that the caller served on the host.
 *  @by-hand rust the pool is generic */
FERRUM_API ferrum_status
ferrum_generic_pool_record_cpu_fallback(ferrum_generic_pool pool);

/**
 * Returns the tracker of a pool, for reading only. FERRUM_ERROR_INVALID_STATE when
 * the pool does not track.
 *
 * @borrowed tracker_out
 */
FERRUM_API ferrum_status ferrum_generic_pool_get_tracker(
    ferrum_generic_pool pool, ferrum_tracker *tracker_out);

/**
 * Creates a fallback manager on a device of any backend.
 *
 * @param host  the device for buffers when the first device has no room. It must be
 *                another device with FERRUM_CAPABILITY_HOST_ADDRESSABLE; {0} only
 *                with settings that do not allow a fallback. Neither device can be
 *                closed without force before the manager is destroyed.
 * @param config  settings, or NULL for FERRUM_MEMORY_CONFIG_INIT.
 * @return FERRUM_ERROR_INVALID_CONFIG, also without a required host;
 *         FERRUM_ERROR_INVALID_ARGUMENT for a host that is the device itself or
 *         that the process cannot address; FERRUM_ERROR_OUT_OF_MEMORY for the
 *         preallocated buffers.
 *
 * @opens
 * @optional config
 * @by-hand cpp its settings have a class
 */
FERRUM_API ferrum_status ferrum_fallback_manager_create(
    ferrum_device device, ferrum_device host,
    const ferrum_memory_config *config, ferrum_fallback_manager *manager_out);

/**
 * Destroys a fallback manager and releases its memory on both devices.
 *
 * @param flags  0, or FERRUM_FORCE: also ends live buffers, pinned or not.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while buffers are live or the
 *         caller holds storage, unless forced.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_fallback_manager_destroy(
    ferrum_fallback_manager manager, uint32_t flags);

/**
 * Returns the name of the device's backend as text, such as "cpu" or "cuda".
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @by-hand python a property
 * @infallible
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_backend_name(
    ferrum_fallback_manager manager, char *buffer, size_t capacity,
    size_t *length_out);

/**
 * Returns the counters of a fallback manager. They count the buffers on the device;
 * only active_buffers counts both sides. Takes no lock.
 *
 * @by-hand cpp its result has a class
 * @by-hand python the counters can do more
 * @infallible
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_stats(
    ferrum_fallback_manager manager, ferrum_memory_stats *stats_out);

/** Counters of a fallback manager for the host.
 *  @go fallback.Stats */
typedef struct ferrum_fallback_stats {
    uint32_t struct_size;
    uint32_t reserved;
    /** Bytes on the host now. */
    uint64_t cpu_bytes;
    /** Number of buffers on the host now. */
    uint64_t cpu_buffers;
    /** Number of moves to the host so far. */
    uint64_t moved_to_cpu;
    /** Number of moves to the device so far. */
    uint64_t moved_to_gpu;
} ferrum_fallback_stats;

/* clang-format off */
#define FERRUM_FALLBACK_STATS_INIT {FERRUM_SIZE_OF(ferrum_fallback_stats), 0, 0, 0, 0, 0}
/* clang-format on */

/** Returns the counters of a fallback manager for the host.
 *  @infallible */
FERRUM_API ferrum_status ferrum_fallback_manager_get_fallback_stats(
    ferrum_fallback_manager manager, ferrum_fallback_stats *stats_out);

/**
 * Queries the memory of the device.
 *
 * @param total_out  the capacity, or the limit of the device if that is less; 0
 *                means unknown.
 * @param free_out  bytes that can still be allocated from the device. Free buffers
 *                in buckets do not count as free here.
 *
 * @by-hand python a method for each
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_memory(
    ferrum_fallback_manager manager, uint64_t *total_out, uint64_t *free_out);

/** Returns the present level of the device by FERRUM_PRESSURE_PROFILE_EARLY. */
FERRUM_API ferrum_status ferrum_fallback_manager_get_pressure(
    ferrum_fallback_manager manager, ferrum_pressure_level *level_out);

/** The same as ferrum_device_pressure_callback_add for the device of a fallback
 *  manager, by FERRUM_PRESSURE_PROFILE_EARLY.
 *  @by-hand go it hands on a function of the caller */
FERRUM_API ferrum_status ferrum_fallback_manager_pressure_callback_add(
    ferrum_fallback_manager manager, ferrum_pressure_fn callback,
    void *user_data, ferrum_registration *registration_out);

/** Empties the buckets. The memory can then be allocated for buffers of any size,
 *  and may still be held from the device. */
FERRUM_API ferrum_status
ferrum_fallback_manager_clear_pool(ferrum_fallback_manager manager);

/**
 * Empties the buckets and releases free memory on both sides.
 *
 * @param released_out  number of bytes released to the device.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_shrink(
    ferrum_fallback_manager manager, uint64_t *released_out);

/**
 * Returns the tracker of a fallback manager, for reading only, with the buffers of
 * both sides. FERRUM_ERROR_INVALID_STATE when the manager does not track.
 *
 * @borrowed tracker_out
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_tracker(
    ferrum_fallback_manager manager, ferrum_tracker *tracker_out);

/** Allowed sides of a new buffer. */
typedef int32_t ferrum_buffer_place;
/** On the device, or on the host when the device has no room. */
#define FERRUM_PLACE_EITHER 0
/** On the device only. */
#define FERRUM_PLACE_GPU 1
/** On the host; it does not count as a fallback. */
#define FERRUM_PLACE_CPU 2

/** After a fallback, the manager may move the buffer to the device when another
 *  buffer is freed and this one is not pinned. */
#define FERRUM_BUFFER_MOVABLE UINT32_C(1)

/** A request for a buffer.
 *  @go library.BufferRequest */
typedef struct ferrum_buffer_request {
    uint32_t struct_size;
    /** Type of the elements: FERRUM_DTYPE_F32 to FERRUM_DTYPE_I64. */
    ferrum_dtype dtype;
    /** Number of elements; not 0.
     *  @go Len */
    uint64_t num_elements;
    /** Allowed sides. */
    ferrum_buffer_place place;
    /** FERRUM_BUFFER_* flags.
     *  @flags FERRUM_BUFFER */
    uint32_t flags;
    /** The first stream of the device that uses the buffer; {0}: the default
     *  stream.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
    /** Tag for the tracker, at most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_buffer_request;

/* clang-format off */
#define FERRUM_BUFFER_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_buffer_request), 0, 0, 0, 0, {0}, NULL}
/* clang-format on */

/**
 * Creates a buffer. Its contents are not defined.
 *
 * @return FERRUM_ERROR_INVALID_SIZE for no elements; FERRUM_ERROR_OVERFLOW;
 *         FERRUM_ERROR_OUT_OF_MEMORY when no allowed side has room;
 *         FERRUM_ERROR_INVALID_STATE for FERRUM_PLACE_CPU with a manager without
 *         fallback.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_alloc(
    ferrum_fallback_manager manager, const ferrum_buffer_request *request,
    ferrum_fallback_buffer *buffer_out);

/**
 * Moves the buffers that fell back to the device, the oldest first, until the
 * device has no room for the next one. Pinned buffers stay, and no memory is
 * reclaimed for it. The addresses of buffers that are not pinned may change. The
 * call moves none while another thread does the same.
 *
 * @param moved_out  number of moved buffers.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_fallback_manager_return_buffers(
    ferrum_fallback_manager manager, uint64_t *moved_out);

/**
 * Destroys a buffer after the work that is queued on a stream of the device. The
 * manager may then move movable buffers back to the device, which waits for the
 * device's default stream.
 *
 * @param stream  optional.
 * @return FERRUM_ERROR_BUSY while the buffer is pinned.
 *
 * @waits
 * @optional stream
 * @ends
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_free(
    ferrum_fallback_buffer buffer, ferrum_stream stream);

/** A buffer of a fallback manager.
 *  @by-hand python properties of the buffer
 *  @by-hand rust each is a method
 *  @go library.BufferInfo */
typedef struct ferrum_fallback_buffer_info {
    uint32_t struct_size;
    /** Type of the elements: FERRUM_DTYPE_F32 to FERRUM_DTYPE_I64. */
    ferrum_dtype dtype;
    /** Stays the same when the buffer moves.
     *  @go ID */
    uint64_t buffer_id;
    /** Number of elements.
     *  @go Len */
    uint64_t num_elements;
    /** Size of the elements. */
    uint64_t size_bytes;
    /** Address of the buffer on the device, or on the host a pointer. Valid until
     *  the buffer moves.
     *  @go Addr */
    ferrum_address address;
    /** The manager of the buffer. */
    ferrum_fallback_manager manager;
    /** The device of the buffer's present side. */
    ferrum_device device;
    /** Present side of the buffer.
     *  @go Side */
    ferrum_buffer_location location;
    /** Number of pins. */
    uint32_t pins;
    /** FERRUM_BUFFER_* flags.
     *  @flags FERRUM_BUFFER */
    uint32_t flags;
    uint32_t reserved;
} ferrum_fallback_buffer_info;

/* clang-format off */
#define FERRUM_FALLBACK_BUFFER_INFO_INIT {FERRUM_SIZE_OF(ferrum_fallback_buffer_info), 0, 0, 0, 0, 0, {0}, {0}, 0, 0, 0, 0}
/* clang-format on */

/** Describes a buffer.
 *  @by-hand python,rust each field has a method */
FERRUM_API ferrum_status ferrum_fallback_buffer_get_info(
    ferrum_fallback_buffer buffer, ferrum_fallback_buffer_info *info_out);

/** Returns the address of a buffer on a side. FERRUM_ERROR_INVALID_STATE when the
 *  buffer is on the other side.
 *  @by-hand rust the address of the host is a pointer */
FERRUM_API ferrum_status ferrum_fallback_buffer_get_address(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location,
    ferrum_address *address_out);

/**
 * Moves a buffer after the work that is queued on the device's default stream. It
 * does nothing when the buffer is already on that side. A buffer that was moved to
 * the host by this call stays there. After a failed call the buffer is unchanged.
 *
 * @return FERRUM_ERROR_BUSY while the buffer is pinned; FERRUM_ERROR_OUT_OF_MEMORY;
 *         FERRUM_ERROR_INVALID_STATE for the host with a manager without fallback,
 *         and in a host function.
 *
 * @waits
 * @by-hand python a method for each side
 * @by-hand rust a method for each side
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_move(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location);

/**
 * Keeps a buffer at its place until it has been unpinned as often as it was pinned.
 *
 * @param address_out  its address; may be NULL.
 * @param location_out  its side; may be NULL.
 *
 * @waits
 * @optional address_out
 * @optional location_out
 * @by-hand python the address alone, and a context
 * @go .PinAddr
 * @by-hand rust it makes an object
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_pin(
    ferrum_fallback_buffer buffer, ferrum_address *address_out,
    ferrum_buffer_location *location_out);

/** Undoes one ferrum_fallback_buffer_pin. FERRUM_ERROR_INVALID_STATE when the
 *  buffer is not pinned.
 *  @by-hand rust it ends an object */
FERRUM_API ferrum_status
ferrum_fallback_buffer_unpin(ferrum_fallback_buffer buffer);

/**
 * Copies memory of the process into a buffer on either side, after the work that is
 * queued on the default stream of that side, and returns when the copy has
 * completed.
 *
 * @return FERRUM_ERROR_INVALID_SIZE for no bytes; FERRUM_ERROR_INVALID_OFFSET for a
 *         range that leaves the buffer; FERRUM_ERROR_INVALID_STATE in a host
 *         function.
 *
 * @waits
 * @by-hand python,rust any bytes-like object or slice is written
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_write(
    ferrum_fallback_buffer buffer, uint64_t offset_bytes, const void *source,
    uint64_t size_bytes);

/**
 * Copies from a buffer into memory of the process; otherwise the same as
 * ferrum_fallback_buffer_write.
 *
 * @waits
 * @by-hand python,rust it fills a buffer of the caller
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_read(
    ferrum_fallback_buffer buffer, uint64_t offset_bytes, void *destination,
    uint64_t size_bytes);

/**
 * Ends a buffer on a side and passes its storage to the caller. The caller releases
 * the storage with ferrum_fallback_manager_release, or creates another buffer from
 * it with ferrum_fallback_manager_adopt.
 *
 * @return FERRUM_ERROR_BUSY while the buffer is pinned; FERRUM_ERROR_INVALID_STATE
 *         when it is on the other side.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_take(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location,
    ferrum_address *address_out);

/**
 * Creates a buffer from storage that was taken from a buffer of the same manager.
 *
 * @param request  its place and stream are not used.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for an unknown location;
 *         FERRUM_ERROR_INVALID_ADDRESS for an address without such storage;
 *         FERRUM_ERROR_INVALID_SIZE when the storage is smaller than the elements.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_adopt(
    ferrum_fallback_manager manager, ferrum_buffer_location location,
    ferrum_address address, const ferrum_buffer_request *request,
    ferrum_fallback_buffer *buffer_out);

/**
 * Releases taken storage after the work that is queued on a stream of the device,
 * which is optional. FERRUM_ERROR_INVALID_ARGUMENT for an unknown location;
 * FERRUM_ERROR_INVALID_ADDRESS for an address without such storage.
 *
 * @optional stream
 * @by-hand cpp release() gives the handle up
 */
FERRUM_API ferrum_status ferrum_fallback_manager_release(
    ferrum_fallback_manager manager, ferrum_buffer_location location,
    ferrum_address address, ferrum_stream stream);

/**
 * Returns the smallest power of two that is not below n; 1 for 0.
 *
 * @return FERRUM_ERROR_OVERFLOW above 2^63.
 *
 * @stateless
 * @go fallback.RoundUpPowerOf2
 */
FERRUM_API ferrum_status ferrum_round_up_power_of_2(uint64_t n,
                                                    uint64_t *result_out);

/**
 * Returns the bucket of a size: the next power of two, like
 * ferrum_round_up_power_of_2.
 *
 * @stateless
 * @go fallback.SizeClass
 */
FERRUM_API ferrum_status ferrum_size_class(uint64_t size_bytes,
                                           uint64_t *class_bytes_out);

/**
 * Returns the size of a number of 32-bit floats. FERRUM_ERROR_OVERFLOW when it does
 * not fit 64 bits.
 *
 * @stateless
 * @go fallback.F32Bytes
 */
FERRUM_API ferrum_status ferrum_f32_bytes(uint64_t count, uint64_t *bytes_out);

/**
 * The same as ferrum_f32_bytes, for 16-bit floats.
 *
 * @stateless
 * @go fallback.F16Bytes
 */
FERRUM_API ferrum_status ferrum_f16_bytes(uint64_t count, uint64_t *bytes_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_FALLBACK_H */

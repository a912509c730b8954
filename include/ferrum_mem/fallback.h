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

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One small interface over the memory of a device, whatever backend it is of. A fallback
 * manager makes buffers on its device out of buckets by powers of two, within the
 * bounds of a memory config. Where the config allows it, a buffer that the device has
 * no room for is made on a host device, and goes to the device once there is room. A
 * tracker knows buffers by id, tag and age; a generic pool keeps buffers of the
 * caller's own. docs/fallback.md explains all of it.
 *
 * What moves, pins, takes or ends a buffer, copies to or from it, or destroys a fallback
 * manager may wait for a stream, and is FERRUM_ERROR_INVALID_STATE in a host function.
 */

/** A fallback manager: memory of a device, with a second place to go to. */
typedef struct ferrum_fallback_manager {
    uint64_t id; /**< 0 is no manager */
} ferrum_fallback_manager;

/** A buffer of a fallback manager, on its device or on its host.
 *  @by-hand rust its calls are written by hand */
typedef struct ferrum_fallback_buffer {
    uint64_t id; /**< 0 is no buffer */
} ferrum_fallback_buffer;

/** A tracker: what is known of live buffers.
 *  @by-hand rust a tracker and a view of one share the calls */
typedef struct ferrum_tracker {
    uint64_t id; /**< 0 is no tracker */
} ferrum_tracker;

/** A pool of free buffers of the caller's own.
 *  @by-hand rust its calls are written by hand */
typedef struct ferrum_generic_pool {
    uint64_t id; /**< 0 is no pool */
} ferrum_generic_pool;

/** Buffers that the device has no room for are made on the host. */
#define FERRUM_MEMORY_CPU_FALLBACK UINT32_C(1)
/** Every buffer in use is kept in a tracker. */
#define FERRUM_MEMORY_TRACK_ALLOCATIONS UINT32_C(2)
/** The pool is made with a free buffer of each of pre_allocate_sizes, or not at
 *  all. */
#define FERRUM_MEMORY_PRE_ALLOCATE UINT32_C(4)

/** How many sizes may be allocated ahead. */
#define FERRUM_PRE_ALLOCATE_MAX 4096

/** Settings of a fallback manager or a generic pool.
 *  @by-hand python it has presets, and a list
 *  @go fallback.MemoryConfig */
typedef struct ferrum_memory_config {
    uint32_t struct_size;
    /** FERRUM_MEMORY_* flags.
     *  @flags FERRUM_MEMORY */
    uint32_t flags;
    /** The share of the device's capacity, or of its limit where that is less, that
     *  may be held, 0.1 to 1, decided by millionths; no bound where neither is known. */
    double gpu_memory_fraction;
    /** What stays free on the device, whatever its limit: no more is taken from it when
     *  less would be left. */
    uint64_t min_free_bytes;
    /** Free buffers that a bucket keeps, as a count; 0: none. */
    uint64_t max_pooled_per_bucket;
    /** Free buffers of all buckets together; 0: no bound. */
    uint64_t max_pooled_bytes;
    /** pre_allocate_count sizes; may be NULL when there are none.
     *  @go PreAllocSizes
     *  @list pre_allocate_count FERRUM_PRE_ALLOCATE_MAX INVALID_CONFIG */
    const uint64_t *pre_allocate_sizes;
    /** How many there are. */
    uint64_t pre_allocate_count;
} ferrum_memory_config;

/* clang-format off */
#define FERRUM_MEMORY_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_memory_config), FERRUM_MEMORY_CPU_FALLBACK, 0.9, UINT64_C(536870912), 8, 0, NULL, 0}
/* clang-format on */

/** Settings that are ready made: fraction, fallback, min_free_bytes, per bucket.
 *  @go fallback.Preset */
typedef int32_t ferrum_memory_preset;
/** 0.9, fallback, 512 MiB, 8: FERRUM_MEMORY_CONFIG_INIT. */
#define FERRUM_MEMORY_PRESET_DEFAULT 0
/** 0.95, fallback, 256 MiB, 4: the most memory. */
#define FERRUM_MEMORY_PRESET_INFERENCE 1
/** 0.8, no fallback, 1 GiB, 16: says that there is no room rather than go slow. */
#define FERRUM_MEMORY_PRESET_TRAINING 2
/** 0.7, fallback, 128 MiB, 2: for devices with little memory. */
#define FERRUM_MEMORY_PRESET_CONSTRAINED 3

/**
 * Gives ready-made settings. Needs no ferrum_init.
 *
 * @by-hand cpp its settings have a class
 * @stateless
 * @go fallback.Preset.Config
 */
FERRUM_API ferrum_status ferrum_memory_config_preset(
    ferrum_memory_preset preset, ferrum_memory_config *config_out);

/**
 * Says whether settings make sense. Needs no ferrum_init.
 *
 * @return FERRUM_ERROR_INVALID_CONFIG with the setting and its value, also for a
 *         size to allocate ahead that its bucket has no place for.
 * @by-hand cpp its settings have a class
 * @stateless
 * @go fallback.MemoryConfig.Check
 */
FERRUM_API ferrum_status
ferrum_memory_config_check(const ferrum_memory_config *config);

/** Counters of a fallback manager or a generic pool. Nothing but its own buffers is in
 *  them: the device may be full while the pool is not.
 *  @go fallback.MemoryStats */
typedef struct ferrum_memory_stats {
    uint32_t struct_size;
    uint32_t reserved;
    /** Buffers had and not given back: those in use and those pooled. */
    uint64_t total_allocated_bytes;
    /** Buffers in use. */
    uint64_t in_use_bytes;
    /** Free buffers in the buckets. */
    uint64_t pooled_bytes;
    /** The highest value of in_use_bytes. */
    uint64_t peak_bytes;
    /** Requests that were served from the buckets, as a count. */
    uint64_t pool_hits;
    /** Requests that were not, as a count. */
    uint64_t pool_misses;
    /** Buffers that were made on the host for want of room, as a count. */
    uint64_t cpu_fallbacks;
    /** Buffers in use, tracked or not, as a count. */
    uint64_t active_buffers;
} ferrum_memory_stats;

/* clang-format off */
#define FERRUM_MEMORY_STATS_INIT {FERRUM_SIZE_OF(ferrum_memory_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Ratios of a ferrum_memory_stats. They are of the pool, not of the device.
 *  @by-hand python methods of the counters
 *  @by-hand rust each is a method
 *  @go fallback.MemoryRatios */
typedef struct ferrum_memory_ratios {
    uint32_t struct_size;
    uint32_t reserved;
    /** hits / (hits + misses); 0 when nothing was asked for. */
    double hit_rate;
    /** in_use / total_allocated; 0 when that is 0. */
    double utilization;
    /** The same, but 1 when that is 0: nothing is wasted. */
    double efficiency;
} ferrum_memory_ratios;

/* clang-format off */
#define FERRUM_MEMORY_RATIOS_INIT {FERRUM_SIZE_OF(ferrum_memory_ratios), 0, 0, 0, 0}
/* clang-format on */

/**
 * Reckons the ratios of counters. Needs no ferrum_init.
 *
 * @by-hand cpp its result has a class
 * @stateless
 * @go fallback.MemoryStats.Ratios
 * @infallible
 */
FERRUM_API ferrum_status ferrum_memory_stats_ratios(
    const ferrum_memory_stats *stats, ferrum_memory_ratios *ratios_out);

/**
 * Adds the counters of two pools; what does not fit 64 bits is UINT64_MAX. The peak
 * is the larger of the two: a lower bound of that of both. Needs no ferrum_init.
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
 * Counters as one line for people, sizes in MB of 2^20 bytes. Needs no ferrum_init.
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

/** Which side a buffer is on.
 *  @by-hand python its text is its name
 *  @go fallback.Side */
typedef int32_t ferrum_buffer_location;
/** On the device. */
#define FERRUM_LOCATION_GPU 0
/** On the host. */
#define FERRUM_LOCATION_CPU 1

/**
 * Gives an id that no buffer of the process has had. Ids grow, from 1 on; 0 is none.
 * Needs no ferrum_init.
 *
 * @stateless
 * @go fallback.NewBufferID
 * @infallible
 */
FERRUM_API ferrum_status ferrum_buffer_id_new(uint64_t *id_out);

/**
 * The form of an id in messages: "Buffer#7". Needs no ferrum_init.
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

/** What a tracker knows of a buffer.
 *  @by-hand python it names its device
 *  @by-hand rust its text has a bound, its id a type
 *  @go library.BufferRecord */
typedef struct ferrum_buffer_metadata {
    /** Not 0.
     *  @go ID */
    uint64_t buffer_id;
    /** Size of the buffer. */
    uint64_t size_bytes;
    /** Elements, as a count. */
    uint64_t num_elements;
    /** The time since it was made.
     *  @go Age */
    uint64_t age_ns;
    /** Where it is; {0}: on no device that is known.
     *  @optional */
    ferrum_device device;
    /** Which side it is on.
     *  @go Side */
    ferrum_buffer_location location;
    uint32_t reserved;
    /** Text with its NUL; empty: none. */
    char tag[64];
} ferrum_buffer_metadata;

/**
 * Makes a tracker that knows nothing. It belongs to no device.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_tracker_create(ferrum_tracker *tracker_out);

/**
 * Destroys a tracker.
 *
 * @return FERRUM_ERROR_INVALID_STATE for one of a manager or a pool, which goes with
 *         that. Neither can the caller track, untrack or clear in it.
 * @ends
 */
FERRUM_API ferrum_status ferrum_tracker_destroy(ferrum_tracker tracker);

/**
 * Adds a buffer, made age_ns ago. One whose id is known replaces that.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for id 0, a location that is none, a tag
 *         without a NUL or that is not UTF-8; FERRUM_ERROR_OVERFLOW when the sum of
 *         all sizes does not fit 64 bits.
 */
FERRUM_API ferrum_status ferrum_tracker_track(
    ferrum_tracker tracker, const ferrum_buffer_metadata *metadata);

/**
 * Removes a buffer.
 *
 * @param metadata_out  what was known of it; may be NULL.
 * @return FERRUM_ERROR_NOT_FOUND when it is not known.
 *
 * @optional metadata_out
 * @go buffer_id fallback.BufferID
 */
FERRUM_API ferrum_status
ferrum_tracker_untrack(ferrum_tracker tracker, uint64_t buffer_id,
                       ferrum_buffer_metadata *metadata_out);

/**
 * Gives what is known of a buffer. FERRUM_ERROR_NOT_FOUND: nothing.
 *
 * @by-hand cpp get() gives the handle
 * @go buffer_id fallback.BufferID
 */
FERRUM_API ferrum_status
ferrum_tracker_get(ferrum_tracker tracker, uint64_t buffer_id,
                   ferrum_buffer_metadata *metadata_out);

/**
 * Lists all buffers, the oldest first.
 *
 * @param metadata_out  room for capacity of them; may be NULL when that is 0.
 * @param count_out     how many there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set, when capacity is not 0
 *         and they do not fit.
 * @infallible
 */
FERRUM_API ferrum_status ferrum_tracker_get_all(
    ferrum_tracker tracker, ferrum_buffer_metadata *metadata_out,
    size_t capacity, size_t *count_out);

/** Lists the buffers that are strictly older than age_ns, as ferrum_tracker_get_all:
 *  what may have been forgotten.
 *  @infallible */
FERRUM_API ferrum_status ferrum_tracker_find_old(
    ferrum_tracker tracker, uint64_t age_ns,
    ferrum_buffer_metadata *metadata_out, size_t capacity, size_t *count_out);

/** Numbers of a tracker.
 *  @go library.TrackerTotals */
typedef struct ferrum_tracker_totals {
    uint32_t struct_size;
    uint32_t reserved;
    /** Buffers, as a count. */
    uint64_t count;
    /** The sum of their sizes. */
    uint64_t total_bytes;
    /** The highest value of total_bytes. */
    uint64_t peak_bytes;
} ferrum_tracker_totals;

/* clang-format off */
#define FERRUM_TRACKER_TOTALS_INIT {FERRUM_SIZE_OF(ferrum_tracker_totals), 0, 0, 0, 0}
/* clang-format on */

/** Gives the numbers of a tracker.
 *  @by-hand python a view is of its owner
 *  @infallible */
FERRUM_API ferrum_status ferrum_tracker_get_totals(
    ferrum_tracker tracker, ferrum_tracker_totals *totals_out);

/** Forgets all buffers; the peak stays.
 *  @by-hand python only of a tracker of its own */
FERRUM_API ferrum_status ferrum_tracker_clear(ferrum_tracker tracker);

/** What a buffer of a generic pool is taken for; for its tracker only.
 *  @go fallback.Use */
typedef struct ferrum_buffer_use {
    uint32_t struct_size;
    /** Which side it is on.
     *  @go Location.Side */
    ferrum_buffer_location location;
    /** Elements, as a count. */
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
    /** The caller's word for it: a pointer, a handle, an index. */
    uint64_t buffer;
    /** Its size, which may be more than was asked for.
     *  @go Bytes */
    uint64_t size_bytes;
    /** 0 unless the pool tracks.
     *  @go ID */
    uint64_t buffer_id;
} ferrum_buffer_lease;

/**
 * Makes a pool of free buffers of any kind. It makes and ends none itself: the caller
 * does, and gives the pool a word for each. A buffer is filed under the power of two
 * at or above its size; it serves no request that is larger than itself, and none
 * that is less than a quarter of it. Of the settings those of the device mean nothing
 * to it. It belongs to no device.
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
 * Destroys a pool. Its free buffers are not ended: take them out first.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while it has buffers or
 *         buffers are in use, unless forced.
 * @ends
 */
FERRUM_API ferrum_status ferrum_generic_pool_destroy(ferrum_generic_pool pool,
                                                     uint32_t flags);

/**
 * Accounts for a buffer that the caller has made, for want of a free one, and uses.
 *
 * @param use     what for, or NULL for FERRUM_BUFFER_USE_INIT.
 * @param id_out  0 unless the pool tracks.
 * @return FERRUM_ERROR_INVALID_SIZE for 0; FERRUM_ERROR_OVERFLOW.
 *
 * @optional use
 * @by-hand cpp buffers of the pool have a type of their own
 */
FERRUM_API ferrum_status ferrum_generic_pool_record_allocation(
    ferrum_generic_pool pool, uint64_t size_bytes, const ferrum_buffer_use *use,
    uint64_t *id_out);

/**
 * Takes the smallest free buffer that will do.
 *
 * @param use        as for ferrum_generic_pool_record_allocation.
 * @param lease_out  the buffer, all zero without one.
 * @param found_out  1, or 0 when there is none: the caller makes one.
 * @return FERRUM_ERROR_INVALID_SIZE for 0; FERRUM_ERROR_OVERFLOW for a size that has
 *         no power of two above it.
 *
 * @optional use
 * @bool found_out
 * @by-hand cpp buffers of the pool have a type of their own
 */
FERRUM_API ferrum_status ferrum_generic_pool_try_get(
    ferrum_generic_pool pool, uint64_t min_bytes, const ferrum_buffer_use *use,
    ferrum_buffer_lease *lease_out, uint32_t *found_out);

/**
 * Ends the use of a buffer, given with the size and id that it was recorded or taken
 * with.
 *
 * @param kept_out  1; or 0 when its bucket is full: the buffer is the pool's no more,
 *                  and the caller's to end.
 * @return FERRUM_ERROR_INVALID_SIZE for 0 and for more than is in use;
 *         FERRUM_ERROR_INVALID_ARGUMENT for an id that is not in use or whose size is
 *         another.
 *
 * @bool kept_out
 * @by-hand cpp buffers of the pool have a type of their own
 */
FERRUM_API ferrum_status ferrum_generic_pool_return(
    ferrum_generic_pool pool, const ferrum_buffer_lease *lease,
    uint32_t *kept_out);

/**
 * Files a buffer that nobody has used yet. FERRUM_ERROR_RESOURCE_EXHAUSTED: its
 * bucket is full.
 *
 * @by-hand cpp buffers of the pool have a type of their own
 * @by-hand python it files an object
 */
FERRUM_API ferrum_status ferrum_generic_pool_add_free(ferrum_generic_pool pool,
                                                      uint64_t buffer,
                                                      uint64_t size_bytes);

/**
 * Takes free buffers out of the pool, for the caller to end: all of them when capacity
 * is at least ferrum_generic_pool_get_pooled_count.
 *
 * @param leases_out  room for capacity of them; may be NULL when that is 0.
 * @param count_out   how many were taken.
 * @by-hand cpp buffers of the pool have a type of their own
 * @fills leases_out
 */
FERRUM_API ferrum_status ferrum_generic_pool_drain(
    ferrum_generic_pool pool, ferrum_buffer_lease *leases_out, size_t capacity,
    size_t *count_out);

/**
 * Gives the number of free buffers.
 *
 * @by-hand python a property
 */
FERRUM_API ferrum_status ferrum_generic_pool_get_pooled_count(
    ferrum_generic_pool pool, uint64_t *count_out);

/**
 * Gives the counters of a pool.
 *
 * @by-hand cpp its result has a class
 * @by-hand python the counters can do more
 */
FERRUM_API ferrum_status ferrum_generic_pool_get_stats(
    ferrum_generic_pool pool, ferrum_memory_stats *stats_out);

/** Counts a request that the caller has served on the host. */
FERRUM_API ferrum_status
ferrum_generic_pool_record_cpu_fallback(ferrum_generic_pool pool);

/**
 * Gives the tracker of a pool, which is only read. FERRUM_ERROR_INVALID_STATE: it
 * does not track.
 *
 * @borrowed tracker_out
 */
FERRUM_API ferrum_status ferrum_generic_pool_get_tracker(
    ferrum_generic_pool pool, ferrum_tracker *tracker_out);

/**
 * Makes a fallback manager on a device, of any backend.
 *
 * @param host    where buffers go that the device has no room for, another device
 *                that is FERRUM_CAPABILITY_HOST_ADDRESSABLE; {0} only with settings
 *                that forbid to fall back. Neither device can be closed before the
 *                manager is destroyed, unless forced.
 * @param config  settings, or NULL for FERRUM_MEMORY_CONFIG_INIT.
 * @return FERRUM_ERROR_INVALID_CONFIG, also without a host that is needed;
 *         FERRUM_ERROR_INVALID_ARGUMENT for a host that is the device itself or that
 *         the process cannot address; FERRUM_ERROR_OUT_OF_MEMORY for what is
 *         allocated ahead.
 *
 * @opens
 * @optional config
 * @by-hand cpp its settings have a class
 */
FERRUM_API ferrum_status ferrum_fallback_manager_create(
    ferrum_device device, ferrum_device host,
    const ferrum_memory_config *config, ferrum_fallback_manager *manager_out);

/**
 * Destroys a fallback manager and gives its memory back, on both devices.
 *
 * @param flags  0 or FERRUM_FORCE, which ends live buffers, pinned or not.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while buffers are live or
 *         storage is taken, unless forced.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_fallback_manager_destroy(
    ferrum_fallback_manager manager, uint32_t flags);

/**
 * Gives the name of the device's backend, such as "cpu" or "cuda", as text.
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
 * Gives the counters of a fallback manager: of the buffers on the device, but for
 * active_buffers, which is of both sides. Takes no lock.
 *
 * @by-hand cpp its result has a class
 * @by-hand python the counters can do more
 * @infallible
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_stats(
    ferrum_fallback_manager manager, ferrum_memory_stats *stats_out);

/** What of a fallback manager is or was on the host.
 *  @go fallback.Stats */
typedef struct ferrum_fallback_stats {
    uint32_t struct_size;
    uint32_t reserved;
    /** On the host now. */
    uint64_t cpu_bytes;
    /** Buffers on the host now, as a count. */
    uint64_t cpu_buffers;
    /** Moves to the host so far, as a count. */
    uint64_t moved_to_cpu;
    /** Moves to the device so far, as a count. */
    uint64_t moved_to_gpu;
} ferrum_fallback_stats;

/* clang-format off */
#define FERRUM_FALLBACK_STATS_INIT {FERRUM_SIZE_OF(ferrum_fallback_stats), 0, 0, 0, 0, 0}
/* clang-format on */

/** Gives what of a fallback manager is or was on the host.
 *  @infallible */
FERRUM_API ferrum_status ferrum_fallback_manager_get_fallback_stats(
    ferrum_fallback_manager manager, ferrum_fallback_stats *stats_out);

/**
 * Asks the device for its memory.
 *
 * @param total_out  the capacity, or the limit of the device where that is less; 0 means
 *                   unknown.
 * @param free_out   what can still be had, by anybody; free buffers in buckets are
 *                   not free in that sense.
 *
 * @by-hand python a method for each
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_memory(
    ferrum_fallback_manager manager, uint64_t *total_out, uint64_t *free_out);

/** The level of the device by FERRUM_PRESSURE_PROFILE_EARLY, of this moment. */
FERRUM_API ferrum_status ferrum_fallback_manager_get_pressure(
    ferrum_fallback_manager manager, ferrum_pressure_level *level_out);

/** As ferrum_device_pressure_callback_add for the device of a fallback manager, by
 *  FERRUM_PRESSURE_PROFILE_EARLY.
 *  @by-hand go it hands on a function of the caller */
FERRUM_API ferrum_status ferrum_fallback_manager_pressure_callback_add(
    ferrum_fallback_manager manager, ferrum_pressure_fn callback,
    void *user_data, ferrum_registration *registration_out);

/** Empties the buckets. The memory is ready for buffers of any size, and may still be
 *  held from the device. */
FERRUM_API ferrum_status
ferrum_fallback_manager_clear_pool(ferrum_fallback_manager manager);

/**
 * Empties the buckets and gives what holds no buffer back, on both sides.
 *
 * @param released_out  what the device has taken back.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_shrink(
    ferrum_fallback_manager manager, uint64_t *released_out);

/**
 * Gives the tracker of a fallback manager, which is only read, with the buffers of both
 * sides. FERRUM_ERROR_INVALID_STATE: it does not track.
 *
 * @borrowed tracker_out
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_tracker(
    ferrum_fallback_manager manager, ferrum_tracker *tracker_out);

/** What the elements of a buffer are. */
typedef int32_t ferrum_dtype;
/** 32-bit floating point. */
#define FERRUM_DTYPE_F32 0
/** 16-bit floating point. */
#define FERRUM_DTYPE_F16 1
/** 16 bits with the exponent of 32. */
#define FERRUM_DTYPE_BF16 2
/** 64-bit floating point. */
#define FERRUM_DTYPE_F64 3
/** 8-bit floating point. */
#define FERRUM_DTYPE_F8 4
/** 8-bit signed. */
#define FERRUM_DTYPE_I8 5
/** 8-bit unsigned. */
#define FERRUM_DTYPE_U8 6
/** 16-bit signed. */
#define FERRUM_DTYPE_I16 7
/** 32-bit signed. */
#define FERRUM_DTYPE_I32 8
/** 64-bit signed. */
#define FERRUM_DTYPE_I64 9

/** Where a buffer may be made. */
typedef int32_t ferrum_buffer_place;
/** On the device or, when that has no room, on the host. */
#define FERRUM_PLACE_EITHER 0
/** On the device only. */
#define FERRUM_PLACE_GPU 1
/** On the host, which is no falling back. */
#define FERRUM_PLACE_CPU 2

/** Should the buffer fall back, the manager may bring it to the device by itself,
 *  whenever another is freed and it is not pinned. */
#define FERRUM_BUFFER_MOVABLE UINT32_C(1)

/** A buffer as asked for.
 *  @go library.BufferRequest */
typedef struct ferrum_buffer_request {
    uint32_t struct_size;
    /** What the elements are. */
    ferrum_dtype dtype;
    /** Elements, as a count; not 0.
     *  @go Len */
    uint64_t num_elements;
    /** Where it may be made. */
    ferrum_buffer_place place;
    /** FERRUM_BUFFER_* flags.
     *  @flags FERRUM_BUFFER */
    uint32_t flags;
    /** Of the device, that uses the buffer first; {0}: the default one.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
    /** For the tracker, at most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_buffer_request;

/* clang-format off */
#define FERRUM_BUFFER_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_buffer_request), 0, 0, 0, 0, {0}, NULL}
/* clang-format on */

/**
 * Makes a buffer. What is in it is not defined.
 *
 * @return FERRUM_ERROR_INVALID_SIZE for no elements; FERRUM_ERROR_OVERFLOW;
 *         FERRUM_ERROR_OUT_OF_MEMORY when no side that may be used has room;
 *         FERRUM_ERROR_INVALID_STATE for FERRUM_PLACE_CPU with a manager that does
 *         not fall back.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_alloc(
    ferrum_fallback_manager manager, const ferrum_buffer_request *request,
    ferrum_fallback_buffer *buffer_out);

/**
 * Brings the buffers that fell back to the device, the oldest first, until it has no
 * room for the next. Pinned ones stay, and nobody is asked to give anything up. The
 * addresses of buffers that are not pinned may change. While another thread is at it,
 * it brings none.
 *
 * @param moved_out  how many came.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_fallback_manager_return_buffers(
    ferrum_fallback_manager manager, uint64_t *moved_out);

/**
 * Ends a buffer after what is queued on a stream of the device. Movable buffers that
 * fell back may come to the device then, which waits for the device's default stream.
 *
 * @param stream  optional.
 * @return FERRUM_ERROR_BUSY while it is pinned.
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
    /** What the elements are. */
    ferrum_dtype dtype;
    /** Stays the same when the buffer moves.
     *  @go ID */
    uint64_t buffer_id;
    /** Elements, as a count.
     *  @go Len */
    uint64_t num_elements;
    /** What they take. */
    uint64_t size_bytes;
    /** Where the buffer is: in the device, or on the CPU side a pointer. Good until
     *  it moves.
     *  @go Addr */
    ferrum_address address;
    /** The manager that it is of. */
    ferrum_fallback_manager manager;
    /** Of that side. */
    ferrum_device device;
    /** Which side it is on.
     *  @go Side */
    ferrum_buffer_location location;
    /** How often it is pinned. */
    uint32_t pins;
    /** FERRUM_BUFFER_* flags.
     *  @flags FERRUM_BUFFER */
    uint32_t flags;
    uint32_t reserved;
} ferrum_fallback_buffer_info;

/* clang-format off */
#define FERRUM_FALLBACK_BUFFER_INFO_INIT {FERRUM_SIZE_OF(ferrum_fallback_buffer_info), 0, 0, 0, 0, 0, {0}, {0}, 0, 0, 0, 0}
/* clang-format on */

/** Describes a buffer. */
FERRUM_API ferrum_status ferrum_fallback_buffer_get_info(
    ferrum_fallback_buffer buffer, ferrum_fallback_buffer_info *info_out);

/** Gives where a buffer is on that side. FERRUM_ERROR_INVALID_STATE: it is on the
 *  other. */
FERRUM_API ferrum_status ferrum_fallback_buffer_get_address(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location,
    ferrum_address *address_out);

/**
 * Moves a buffer, after what the device's default stream has queued; on that side
 * already it does nothing. Whoever moves a buffer to the CPU has it stay there. A
 * failed call leaves it whole where it was.
 *
 * @return FERRUM_ERROR_BUSY while it is pinned; FERRUM_ERROR_OUT_OF_MEMORY;
 *         FERRUM_ERROR_INVALID_STATE for the CPU with a manager that does not fall
 *         back, and from a host function.
 *
 * @waits
 * @by-hand python a method for each side
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_move(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location);

/**
 * Keeps a buffer where it is until it has been unpinned as often.
 *
 * @param address_out   where that is; may be NULL.
 * @param location_out  on which side; may be NULL.
 *
 * @waits
 * @optional address_out
 * @optional location_out
 * @by-hand python the address alone, and a context
 * @go .PinAddr
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_pin(
    ferrum_fallback_buffer buffer, ferrum_address *address_out,
    ferrum_buffer_location *location_out);

/** Ends one ferrum_fallback_buffer_pin. FERRUM_ERROR_INVALID_STATE: there is none. */
FERRUM_API ferrum_status
ferrum_fallback_buffer_unpin(ferrum_fallback_buffer buffer);

/**
 * Copies memory of the process into a buffer, wherever it is, after what the default
 * stream of that side has queued, and returns when it is there.
 *
 * @return FERRUM_ERROR_INVALID_SIZE for no bytes; FERRUM_ERROR_INVALID_OFFSET for a
 *         part that leaves the buffer; FERRUM_ERROR_INVALID_STATE from a host
 *         function.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_write(
    ferrum_fallback_buffer buffer, uint64_t offset_bytes, const void *source,
    uint64_t size_bytes);

/**
 * As ferrum_fallback_buffer_write, the other way.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_read(
    ferrum_fallback_buffer buffer, uint64_t offset_bytes, void *destination,
    uint64_t size_bytes);

/**
 * Ends a buffer on that side and gives its storage to the caller, who gives it back
 * with ferrum_fallback_manager_release or makes another buffer of it with
 * ferrum_fallback_manager_adopt.
 *
 * @return FERRUM_ERROR_BUSY while it is pinned; FERRUM_ERROR_INVALID_STATE when it is
 *         on the other side.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_take(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location,
    ferrum_address *address_out);

/**
 * Makes a buffer of storage that was taken from one of the same manager.
 *
 * @param request  place and stream of it mean nothing.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a location that is none;
 *         FERRUM_ERROR_INVALID_ADDRESS for what is no such storage;
 *         FERRUM_ERROR_INVALID_SIZE when it is smaller than the elements.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_adopt(
    ferrum_fallback_manager manager, ferrum_buffer_location location,
    ferrum_address address, const ferrum_buffer_request *request,
    ferrum_fallback_buffer *buffer_out);

/**
 * Ends storage that was taken, after what is queued on a stream of the device,
 * which is optional. FERRUM_ERROR_INVALID_ARGUMENT for a location that is none,
 * FERRUM_ERROR_INVALID_ADDRESS for storage that is none.
 *
 * @optional stream
 * @by-hand cpp release() gives the handle up
 */
FERRUM_API ferrum_status ferrum_fallback_manager_release(
    ferrum_fallback_manager manager, ferrum_buffer_location location,
    ferrum_address address, ferrum_stream stream);

/**
 * The least power of two that is n or more; 1 for 0.
 *
 * @return FERRUM_ERROR_OVERFLOW above 2^63.
 *
 * @stateless
 * @go fallback.RoundUpPowerOf2
 */
FERRUM_API ferrum_status ferrum_round_up_power_of_2(uint64_t n,
                                                    uint64_t *result_out);

/**
 * Bucket that a size belongs to: the next power of two, as
 * ferrum_round_up_power_of_2.
 *
 * @stateless
 * @go fallback.SizeClass
 */
FERRUM_API ferrum_status ferrum_size_class(uint64_t size_bytes,
                                           uint64_t *class_bytes_out);

/**
 * Bytes of that many 32-bit floats; FERRUM_ERROR_OVERFLOW if they do not fit
 * 64 bits.
 *
 * @stateless
 * @go fallback.F32Bytes
 */
FERRUM_API ferrum_status ferrum_f32_bytes(uint64_t count, uint64_t *bytes_out);

/**
 * As ferrum_f32_bytes, for 16-bit floats.
 *
 * @stateless
 * @go fallback.F16Bytes
 */
FERRUM_API ferrum_status ferrum_f16_bytes(uint64_t count, uint64_t *bytes_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_FALLBACK_H */

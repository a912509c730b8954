/*
 * Placement over several devices, and the monitor over several managers.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_MONITOR_H
#define FERRUM_MEM_MONITOR_H

#include "base.h"
#include "books.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The bounds of the pressure levels. Each bound belongs to the higher level.
 *  @go pressure.Profile */
typedef int32_t ferrum_pressure_profile;
/** MEDIUM from 70 %, HIGH from 85 %, CRITICAL from 95 %. */
#define FERRUM_PRESSURE_PROFILE_STANDARD 0
/** MEDIUM from 60 %, HIGH from 80 %, CRITICAL from 95 %. */
#define FERRUM_PRESSURE_PROFILE_EARLY 1

/** Whether a program should free memory at a level: from HIGH on. */
#define FERRUM_PRESSURE_SHOULD_FREE(level) ((level) >= FERRUM_PRESSURE_HIGH)
/** Whether a program should reject requests at a level: at CRITICAL. */
#define FERRUM_PRESSURE_SHOULD_DENY(level) ((level) >= FERRUM_PRESSURE_CRITICAL)

/**
 * Returns the pressure level for a capacity and a number of free bytes, computed
 * with integers and without hysteresis. A capacity of 0 means unknown and gives
 * LOW. More free bytes than the capacity count as an empty device.
 *
 * @stateless
 * @go pressure.Profile.CheckedLevelOf
 */
FERRUM_API ferrum_status
ferrum_pressure_level_of(ferrum_pressure_profile profile, uint64_t total_bytes,
                         uint64_t free_bytes, ferrum_pressure_level *level_out);

/**
 * Returns the pressure level for a ratio, 0 for empty and 1 for full, for callers
 * that have only the ratio. A ratio above 1 counts as 1.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a negative ratio or NaN.
 *
 * @stateless
 * @go pressure.Profile.FromUtilization
 */
FERRUM_API ferrum_status
ferrum_pressure_from_utilization(ferrum_pressure_profile profile, double ratio,
                                 ferrum_pressure_level *level_out);

/** Monitors the memory of several devices as one. */
typedef struct ferrum_monitor {
    uint64_t id; /**< 0 is no monitor */
} ferrum_monitor;

/** Settings of a monitor.
 *  @by-hand python the arguments of Monitor
 *  @go library.MonitorConfig */
typedef struct ferrum_monitor_config {
    uint32_t struct_size;
    /** The bounds of its levels. */
    ferrum_pressure_profile profile;
    /** How often the monitor queries devices and system for changes of other
     *  processes while a callback is set. It learns of changes by this library at
     *  once. 0: 1 s; UINT64_MAX: never.
     *  @none 0
     *  @go Interval */
    uint64_t interval_ns;
    /** FERRUM_MONITOR_* flags.
     *  @flags FERRUM_MONITOR */
    uint32_t flags;
    uint32_t reserved;
} ferrum_monitor_config;

/** Ignore the memory pressure that the system reports. */
#define FERRUM_MONITOR_IGNORE_SYSTEM UINT32_C(1)

/* clang-format off */
#define FERRUM_MONITOR_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_monitor_config), 0, 0, 0, 0}
/* clang-format on */

/**
 * Creates a monitor without managers. It belongs to no device.
 *
 * The level of a device is the higher of two levels. The first is the level of
 * total - free, with the monitor's profile; it falls only when the use is 1 % of
 * the device below the bound of the level. The second is the level of the system,
 * for host devices on Linux. It comes from the share of the last 10 s in which
 * tasks waited for memory (/proc/pressure/memory, and memory.pressure of the
 * process's control group): MEDIUM from 10 % of some tasks, HIGH from 40 % of some
 * or 10 % of all, CRITICAL from 40 % of all; each level ends below half of its
 * bound. It also comes from the counts in memory.events of the control group, for
 * 10 s after an increase: high is MEDIUM, max is HIGH, oom and oom_kill are
 * CRITICAL.
 *
 * @param config  settings, or NULL for FERRUM_MONITOR_CONFIG_INIT.
 *
 * @opens
 * @optional config
 * @by-hand cpp the class owns its callable
 */
FERRUM_API ferrum_status ferrum_monitor_create(
    const ferrum_monitor_config *config, ferrum_monitor *monitor_out);

/**
 * Destroys a monitor. Its managers stay. The call waits for a running callback,
 * unless it is called from inside that callback.
 *
 * @ends
 * @by-hand go the callback that runs is told
 */
FERRUM_API ferrum_status ferrum_monitor_destroy(ferrum_monitor monitor);

/**
 * Adds a manager and its device to the monitor. The registration does not prevent
 * the destruction of either. Destroying a manager removes it from the monitor
 * before the destroy call returns. Several managers of one device count as one
 * device.
 *
 * @return FERRUM_ERROR_ALREADY_EXISTS for a manager that is registered.
 *
 * @by-hand cpp its name is a word of the language
 */
FERRUM_API ferrum_status ferrum_monitor_register(ferrum_monitor monitor,
                                                 ferrum_manager manager);

/**
 * Removes a manager. FERRUM_ERROR_NOT_FOUND when it is not registered.
 *
 * @by-hand cpp its name is a word of the language
 * @by-hand python one method for managers and devices
 */
FERRUM_API ferrum_status ferrum_monitor_unregister(ferrum_monitor monitor,
                                                   ferrum_manager manager);

/**
 * Removes all managers of a device. FERRUM_ERROR_NOT_FOUND when none is registered.
 *
 * @by-hand cpp its name is a word of the language
 * @by-hand python one method for managers and devices
 */
FERRUM_API ferrum_status
ferrum_monitor_unregister_device(ferrum_monitor monitor, ferrum_device device);

/** The pressure level of a device.
 *  @by-hand python a dictionary by device
 *  @go library.DeviceLevel */
typedef struct ferrum_device_level {
    /** The device. */
    ferrum_device device;
    /** Its level. */
    ferrum_pressure_level level;
    uint32_t reserved;
} ferrum_device_level;

/**
 * Called when something changes, with the levels of all monitored devices in the
 * order of their registration. The addition or removal of a device is a change too.
 * Runs on a thread of the library, one call at a time, with no lock held. It may
 * call every function of the library except ferrum_shutdown. The library reports
 * every change once and in order. Only when more than 1024 changes wait, the newest
 * one replaces the one before it.
 *
 * @param levels  count entries, valid during the call only.
 */
typedef void (*ferrum_monitor_fn)(ferrum_monitor monitor,
                                  const ferrum_device_level *levels,
                                  size_t count, void *user_data);

/**
 * Sets the receiver of changes from now on, in place of the former receiver; NULL
 * removes it. The call waits for a running call of the former receiver, unless it
 * comes from inside that receiver. The former receiver is not called afterwards.
 *
 * @param user_data  passed to the callback; must stay valid while the callback is
 *                set.
 *
 * @optional callback
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status ferrum_monitor_set_callback(ferrum_monitor monitor,
                                                     ferrum_monitor_fn callback,
                                                     void *user_data);

/** The pressure of all devices of a monitor together.
 *  @go monitor.Summary */
typedef struct ferrum_monitor_pressure {
    uint32_t struct_size;
    /** The highest level of all devices; LOW when there is none. */
    ferrum_pressure_level level;
    /** The level of the sum of all known bytes, without hysteresis. */
    ferrum_pressure_level weighted_level;
    /** Number of devices. */
    uint32_t devices;
    /** Number of devices with unknown capacity, or that could not be queried.
     *  @go Unknown */
    uint32_t unknown_devices;
    uint32_t reserved;
    /** Sum of total_bytes of ferrum_memory_info over the known devices, so limits
     *  count. A sum above UINT64_MAX is UINT64_MAX. */
    uint64_t total_bytes;
    /** Sum of total - free over the known devices. */
    uint64_t used_bytes;
} ferrum_monitor_pressure;

/* clang-format off */
#define FERRUM_MONITOR_PRESSURE_INIT {FERRUM_SIZE_OF(ferrum_monitor_pressure), 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Returns the pressure of all devices together.
 *
 * @param max_age_ns  as for ferrum_device_get_recent_memory_info, also for the
 *                reading of the system.
 *
 * @default max_age_ns 0
 * @infallible
 */
FERRUM_API ferrum_status
ferrum_monitor_get_pressure(ferrum_monitor monitor, uint64_t max_age_ns,
                            ferrum_monitor_pressure *pressure_out);

/**
 * Returns the level of every device.
 *
 * @param levels_out  room for capacity entries; may be NULL when capacity is 0.
 * @param count_out  number of devices.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set, when capacity is not
 *         0 and too small.
 *
 * @default max_age_ns 0
 * @infallible
 * @by-hand python a level names its device
 */
FERRUM_API ferrum_status ferrum_monitor_get_levels(
    ferrum_monitor monitor, uint64_t max_age_ns,
    ferrum_device_level *levels_out, size_t capacity, size_t *count_out);

/**
 * Returns the state of a monitor as JSON:
 *
 * {"profile": "standard", "pressure": {"level": "low", "weighted_level": "low",
 *     "devices": 1, "unknown": 0, "total_bytes": 0, "used_bytes": 0},
 * "devices": [{"id": "cpu:0", "managers": 1, "level": "low",
 *      "level_by_bytes": "low", "level_by_system": "low", "memory": {...},
 *      "error": null, "system": {
 *        "machine": {"some": {"avg10_hundredths": 0, "avg60_hundredths": 0,
 *          "avg300_hundredths": 0, "total_ns": 0}, "full": {...},
 *          "reason": null},
 *        "group": {"some": null, "full": null, "reason": {
 *          "status": "FERRUM_ERROR_UNSUPPORTED", "message": "..."}},
 *        "events": {"counts": {"low": 0, "high": 0, "max": 0, "oom": 0,
 *          "oom_kill": 0}, "reason": null},
 *        "high": {"bytes": null, "reason": null}}}]}
 *
 * memory has the form of ferrum_snapshot_json; it is null when the device was never
 * read. error has status and message when the latest query of the device failed.
 * system is null for a device without one. The unit of hundredths is a hundredth of
 * a percent of the time. bytes of high is null when there is no limit. Later
 * versions may add fields.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @default max_age_ns 0
 * @by-hand python it gives a dictionary
 */
FERRUM_API ferrum_status ferrum_monitor_info_json(ferrum_monitor monitor,
                                                  uint64_t max_age_ns,
                                                  char *buffer, size_t capacity,
                                                  size_t *length_out);

/** Result of a collection on one device: the sum over its managers; the
 *  fragmentation is the highest of them.
 *  @by-hand python it names its device
 *  @go library.MonitorCollected */
typedef struct ferrum_collected {
    /** The device. */
    ferrum_device device;
    /** FERRUM_OK, or the first failure. The collection continues after a failure.
     *  @go Status() */
    ferrum_status status;
    /** Number of managers. */
    uint32_t managers;
    /** Fragmentation ratio before.
     *  @go Stats.FragmentationBefore */
    float fragmentation_before;
    /** Fragmentation ratio after.
     *  @go Stats.FragmentationAfter */
    float fragmentation_after;
    /** Bytes released to the system.
     *  @go Stats.MemoryFreedBytes */
    uint64_t memory_freed_bytes;
    /** Number of moved blocks.
     *  @go Stats.BlocksMoved */
    uint64_t blocks_moved;
    /** Number of skipped blocks.
     *  @go Stats.BlocksSkipped */
    uint64_t blocks_skipped;
    /** Time taken.
     *  @go Stats.TimeTakenNs */
    uint64_t time_taken_ns;
    /** Sum of the managers' times in milliseconds, each rounded up.
     *  @go Stats.TimeTakenMs */
    uint64_t time_taken_ms;
    uint64_t reserved[3];
} ferrum_collected;

/**
 * Defragments every registered manager, one after another, like
 * ferrum_manager_defragment. It skips a manager that is destroyed meanwhile.
 *
 * @param collected_out  room for capacity devices.
 * @param count_out  number of devices.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set and nothing done, when
 *         capacity is below the number of devices.
 *
 * @waits
 * @fills collected_out
 * @by-hand python its result has a list
 */
FERRUM_API ferrum_status ferrum_monitor_collect(ferrum_monitor monitor,
                                                ferrum_collected *collected_out,
                                                size_t capacity,
                                                size_t *count_out);

/** A placement strategy: chooses the device for a request. */
typedef struct ferrum_placement {
    uint64_t id; /**< 0 is no strategy */
} ferrum_placement;

/** The request must not wait: devices that would have to release memory first are
 *  not considered. */
#define FERRUM_PLACEMENT_CRITICAL UINT32_C(1)
/** Chooses the first preferred device that can serve the request, independent of
 *  its score. Without this flag, preference is a part of the score. */
#define FERRUM_PLACEMENT_STRICT UINT32_C(2)
/** Devices that would reach the level CRITICAL are not considered. Without this
 *  flag they come last. */
#define FERRUM_PLACEMENT_REFUSE_CRITICAL UINT32_C(4)

/** Largest number of devices in each list of a request. */
#define FERRUM_PLACEMENT_DEVICES_MAX 1024

/** A request for a device. All fields but the size may be zero.
 *  @by-hand rust refers to lists of devices
 *  @go library.PlacementRequest */
typedef struct ferrum_placement_request {
    uint32_t struct_size;
    /** FERRUM_MEMORY_GENERAL to FERRUM_MEMORY_MANAGED.
     *  @go Type */
    int32_t memory_type;
    /** Not 0. */
    uint64_t size_bytes;
    /** A power of two up to FERRUM_ALIGNMENT_MAX; 0: any.
     *  @none 0 */
    uint64_t alignment_bytes;
    /** Expected time of use; 0: not known. From 60 s on, a device that would reach
     *  HIGH is treated like one that would reach CRITICAL.
     *  @none 0
     *  @go Lifetime */
    uint64_t expected_lifetime_ns;
    /** Preferred devices, the most preferred first; may be NULL when there are
     *  none.
     *  @list preferred_count FERRUM_PLACEMENT_DEVICES_MAX */
    const ferrum_device *preferred;
    /** The candidates, in the order in which the strategy prefers equal ones; NULL:
     *  all open devices, by id.
     *  @list device_count FERRUM_PLACEMENT_DEVICES_MAX */
    const ferrum_device *devices;
    /** Number of preferred devices. */
    uint32_t preferred_count;
    /** Number of candidates. */
    uint32_t device_count;
    /** FERRUM_PLACEMENT_* flags.
     *  @flags FERRUM_PLACEMENT */
    uint32_t flags;
    /** The bounds of the levels. */
    ferrum_pressure_profile profile;
} ferrum_placement_request;

/* clang-format off */
#define FERRUM_PLACEMENT_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_placement_request), 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0}
/* clang-format on */

/** Reason why a device was chosen or not. A device with a reason from 16 on cannot
 *  serve the request. */
typedef int32_t ferrum_placement_reason;
/** This device is chosen. */
#define FERRUM_PLACEMENT_CHOSEN 0
/** Another device has a higher score, or the same score and an earlier position. */
#define FERRUM_PLACEMENT_OUTSCORED 1
/** Another device is in a better tier. */
#define FERRUM_PLACEMENT_LOWER_TIER 2
/** The order of preference selects another device. */
#define FERRUM_PLACEMENT_NOT_PREFERRED 3
/** Round robin selects another device now. */
#define FERRUM_PLACEMENT_NOT_ITS_TURN 4
/** The caller's strategy chose another device, or none. */
#define FERRUM_PLACEMENT_NOT_TAKEN 5
/** The state of the device is not known. */
#define FERRUM_PLACEMENT_NO_INFORMATION 16
/** The device has fewer free bytes than the request needs. */
#define FERRUM_PLACEMENT_TOO_SMALL 17
/** The device has no memory of the type. */
#define FERRUM_PLACEMENT_WRONG_MEMORY_TYPE 18
/** The device would have to release memory first, and the request is critical. */
#define FERRUM_PLACEMENT_NEEDS_EVICTION 19
/** The device would reach FERRUM_PRESSURE_CRITICAL, which the request does not
 *  allow. */
#define FERRUM_PLACEMENT_WOULD_BE_CRITICAL 20
/** The original formula gives no score for the device. */
#define FERRUM_PLACEMENT_UNSCORED 21

/** A candidate, with its numbers for a request.
 *  @by-hand python it names its device
 *  @go library.PlacementOption */
typedef struct ferrum_placement_option {
    /** The candidate. */
    ferrum_device device;
    /** Size with the largest possible padding; UINT64_MAX when that overflows.
     *  @none UINT64_MAX
     *  @go NeedBytes */
    uint64_t needed_bytes;
    /** Capacity of the device, or its limit if that is less; 0 means unknown.
     *  @none 0 */
    uint64_t total_bytes;
    /** Used bytes of the device. */
    uint64_t used_bytes;
    /** Bytes that can still be allocated. */
    uint64_t free_bytes;
    /** Longest run that can be allocated now. */
    uint64_t largest_free_bytes;
    /** FERRUM_PLACEMENT_CHOSEN, or the reason why the device cannot serve the request.
     *  @none FERRUM_PLACEMENT_CHOSEN */
    ferrum_placement_reason reason;
    /** 0, plus 1 when the request would bring the device to CRITICAL, plus 2 when
     *  the device would have to release memory first. Lower is better. */
    int32_t tier;
    /** Position among the preferred devices, from 1 on; 0: not preferred.
     *  @none 0
     *  @go Rank */
    uint32_t preferred_rank;
    /** Level of the device after the request. */
    ferrum_pressure_level level_after;
    uint64_t reserved[2];
} ferrum_placement_option;

/**
 * A strategy of the caller. Runs on the thread of the selection with no lock held;
 * several threads may run it at once. It may call every function of the library
 * except ferrum_shutdown.
 *
 * @param request  the request, with devices NULL. Valid during the call only.
 * @param options  count candidates, also those that cannot serve the request.
 * @param chosen_out  -1 for no device, until the callback sets the index of its
 *                choice.
 * @return FERRUM_OK, or an error, which the selection then returns; its message
 *         names the strategy.
 */
typedef ferrum_status (*ferrum_placement_fn)(
    const ferrum_placement_request *request,
    const ferrum_placement_option *options, size_t count, int64_t *chosen_out,
    void *user_data);

/**
 * Creates a built-in strategy.
 *
 * Every strategy except best_fit_original first removes devices that cannot serve
 * the request: devices whose state is not known, devices without the memory type,
 * devices with fewer free bytes than the size (plus the largest padding, where the
 * request has a larger alignment than every block), and devices that the flags
 * exclude. It then keeps the devices of the best tier and chooses one of them;
 * among equal devices the first.
 *
 *   "best_fit"     the largest 1 - waste - |use - 0.5| * 0.5 + 0.2 / rank, with
 *                  waste = (free - size) / total, use = used / total, and rank the
 *                  position among the preferred devices (without one the last term
 *                  is 0), in single precision; with unknown capacity waste and use
 *                  are 0
 *   "best_fit_original"  the same formula over every device with enough free bytes,
 *                  with its known defects: it fills a device up to the last byte
 *                  and never chooses one of unknown capacity
 *   "spread"       the largest free share after the request, in millionths, plus
 *                  200000 / rank
 *   "pack"         the smallest free share, with the same bonus
 *   "round_robin"  the next device in the list; among the preferred devices, if
 *                  one of them can serve the request
 *
 * @return FERRUM_ERROR_NOT_FOUND for an unknown name (the message lists the names).
 *
 * @words strategy placement_strategy
 * @opens
 */
FERRUM_API ferrum_status
ferrum_placement_create(const char *strategy, ferrum_placement *placement_out);

/**
 * Creates a strategy of the caller.
 *
 * @param name  1 to 63 bytes, different from the built-in names.
 * @param user_data  passed to the callback; must stay valid until the strategy is
 *                destroyed.
 *
 * @opens
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status
ferrum_placement_create_own(const char *name, ferrum_placement_fn callback,
                            void *user_data, ferrum_placement *placement_out);

/**
 * Destroys a strategy. The call waits for running calls of a callback, unless it
 * comes from inside one.
 *
 * @ends
 * @by-hand go the callback that runs is told
 */
FERRUM_API ferrum_status ferrum_placement_destroy(ferrum_placement placement);

/**
 * Returns the name of a strategy as text.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @by-hand python a property
 * @hot
 * @go lib.PlacementGetName
 */
FERRUM_API ferrum_status ferrum_placement_get_name(ferrum_placement placement,
                                                   char *buffer,
                                                   size_t capacity,
                                                   size_t *length_out);

/**
 * Chooses a device for a request, from readings that are no older than 0.1 s.
 *
 * @return FERRUM_ERROR_NOT_FOUND when no device can serve the request; the message
 *         has the reason for each device.
 *
 * @borrowed device_out
 */
FERRUM_API ferrum_status ferrum_placement_select(
    ferrum_placement placement, const ferrum_placement_request *request,
    ferrum_device *device_out);

/**
 * Returns the device that ferrum_placement_select would choose now, with the reason
 * for each device, as JSON:
 *
 * {"strategy": "best_fit", "chosen": "cpu:0", "devices": [{"id": "cpu:0",
 *     "chosen": true, "reason": "chosen", "score": 0.51, "tier": 0,
 *     "preferred_rank": 0, "needed_bytes": 0, "total_bytes": 0, "used_bytes": 0,
 *     "free_bytes": 0, "largest_free_bytes": 0, "level_after": "low"}]}
 *
 * chosen is null when no device can serve the request, and score is null when there
 * is none. reason is the name of the constant in lower case. The call does not
 * advance round robin. It calls a callback of the caller's strategy.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @by-hand python,rust the request refers to objects
 */
FERRUM_API ferrum_status ferrum_placement_explain_json(
    ferrum_placement placement, const ferrum_placement_request *request,
    char *buffer, size_t capacity, size_t *length_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_MONITOR_H */

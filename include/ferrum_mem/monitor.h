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

/** Names the bounds of the pressure levels, each inclusive.
 *  @go pressure.Profile */
typedef int32_t ferrum_pressure_profile;
/** MEDIUM from 70 %, HIGH from 85 %, CRITICAL from 95 %. */
#define FERRUM_PRESSURE_PROFILE_STANDARD 0
/** MEDIUM from 60 %, HIGH from 80 %, CRITICAL from 95 %. */
#define FERRUM_PRESSURE_PROFILE_EARLY 1

/** Whether memory ought to be freed at a level: from HIGH on. */
#define FERRUM_PRESSURE_SHOULD_FREE(level) ((level) >= FERRUM_PRESSURE_HIGH)
/** Whether requests ought to be denied at a level: at CRITICAL. */
#define FERRUM_PRESSURE_SHOULD_DENY(level) ((level) >= FERRUM_PRESSURE_CRITICAL)

/**
 * The level of a device with that capacity of which so much is free, decided in
 * integers and without hysteresis. A capacity of 0 means unknown and is LOW; more
 * free than there is counts as all free.
 *
 * @stateless
 * @go pressure.Profile.CheckedLevelOf
 */
FERRUM_API ferrum_status
ferrum_pressure_level_of(ferrum_pressure_profile profile, uint64_t total_bytes,
                         uint64_t free_bytes, ferrum_pressure_level *level_out);

/**
 * The level of a ratio, 0 for empty and 1 for full, for callers who have no more
 * than that. Above 1 is as full as 1.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a ratio that is negative or no number.
 *
 * @stateless
 * @go pressure.Profile.FromUtilization
 */
FERRUM_API ferrum_status
ferrum_pressure_from_utilization(ferrum_pressure_profile profile, double ratio,
                                 ferrum_pressure_level *level_out);

/** Watches the memory of several devices as one. */
typedef struct ferrum_monitor {
    uint64_t id; /**< 0 is no monitor */
} ferrum_monitor;

/** Settings of a monitor.
 *  @by-hand python the arguments of Monitor
 *  @go library.MonitorConfig */
typedef struct ferrum_monitor_config {
    uint32_t struct_size;
    /** What levels are by. */
    ferrum_pressure_profile profile;
    /** How often, while a callback is set, devices and system are looked at for
     *  what others have changed; what this library itself changes is heard of at
     *  once. 0: 1 s; UINT64_MAX: never.
     *  @none 0
     *  @go Interval */
    uint64_t interval_ns;
    /** FERRUM_MONITOR_* flags.
     *  @flags FERRUM_MONITOR */
    uint32_t flags;
    uint32_t reserved;
} ferrum_monitor_config;

/** Leave the system's own pressure out. */
#define FERRUM_MONITOR_IGNORE_SYSTEM UINT32_C(1)

/* clang-format off */
#define FERRUM_MONITOR_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_monitor_config), 0, 0, 0, 0}
/* clang-format on */

/**
 * Makes a monitor that watches nothing yet. It belongs to no device.
 *
 * A device's level is the worse of two. By bytes it is that of total - free, by
 * the monitor's profile; it is left downwards only once the use is 1 % of the
 * device below its bound. By the system, for host devices on Linux, it follows
 * from the share of the last 10 s in which tasks waited for memory (of
 * /proc/pressure/memory, and memory.pressure of the process's control group): MEDIUM
 * from 10 % of some tasks, HIGH from 40 % of some or 10 % of all, CRITICAL from 40 %
 * of all, each left below half of that; and from the counts of the group's
 * memory.events, for 10 s after a rise: high is MEDIUM, max is HIGH, oom and
 * oom_kill are CRITICAL.
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
 * Destroys a monitor; managers stay as they are. Waits for a running callback,
 * unless it is called from inside that.
 *
 * @ends
 * @by-hand go the callback that runs is told
 */
FERRUM_API ferrum_status ferrum_monitor_destroy(ferrum_monitor monitor);

/**
 * Has the monitor watch a manager and its device. The registration is weak: it
 * keeps neither from being destroyed, and a manager that is destroyed leaves by
 * itself before that call returns. Several managers of one device are one device
 * to the monitor.
 *
 * @return FERRUM_ERROR_ALREADY_EXISTS for one that is registered.
 * @by-hand cpp its name is a word of the language
 */
FERRUM_API ferrum_status ferrum_monitor_register(ferrum_monitor monitor,
                                                 ferrum_manager manager);

/**
 * Ends the watch over a manager. FERRUM_ERROR_NOT_FOUND: it is not registered.
 *
 * @by-hand cpp its name is a word of the language
 * @by-hand python one method for managers and devices
 */
FERRUM_API ferrum_status ferrum_monitor_unregister(ferrum_monitor monitor,
                                                   ferrum_manager manager);

/**
 * Ends the watch over all managers of a device. FERRUM_ERROR_NOT_FOUND: none is
 * registered.
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
 * Hears of a change: the levels of all watched devices, in the order of their
 * coming; a device that comes or goes is a change, too. Runs on a thread of the
 * library, one call at a time, with no lock held; it may call the library but
 * ferrum_shutdown. Every change is told, in order and once; only when more than
 * 1024 wait does the last one give way to the next.
 *
 * @param levels  count of them, valid during the call only.
 */
typedef void (*ferrum_monitor_fn)(ferrum_monitor monitor,
                                  const ferrum_device_level *levels,
                                  size_t count, void *user_data);

/**
 * Sets the receiver of changes from now on, in the place of the former one; NULL
 * removes that. Waits for a running call of the former one, unless it is called
 * from inside that; afterwards it is not called again.
 *
 * @param user_data  handed to the callback; must stay valid while it is set.
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
    /** The worst level of any device; LOW when there is none. */
    ferrum_pressure_level level;
    /** The level of all known bytes together, without hysteresis. */
    ferrum_pressure_level weighted_level;
    /** How many devices there are. */
    uint32_t devices;
    /** Devices of unknown capacity, or that could not be asked.
     *  @go Unknown */
    uint32_t unknown_devices;
    uint32_t reserved;
    /** total_bytes of ferrum_memory_info of the known devices, so their limits count;
     *  a sum above UINT64_MAX is that. */
    uint64_t total_bytes;
    /** total - free of them. */
    uint64_t used_bytes;
} ferrum_monitor_pressure;

/* clang-format off */
#define FERRUM_MONITOR_PRESSURE_INIT {FERRUM_SIZE_OF(ferrum_monitor_pressure), 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Gives the pressure of all devices together.
 *
 * @param max_age_ns  as for ferrum_device_get_recent_memory_info, for the system, too.
 * @default max_age_ns 0
 * @infallible
 */
FERRUM_API ferrum_status
ferrum_monitor_get_pressure(ferrum_monitor monitor, uint64_t max_age_ns,
                            ferrum_monitor_pressure *pressure_out);

/**
 * Gives the level of every device.
 *
 * @param levels_out  room for capacity of them; may be NULL when that is 0.
 * @param count_out   how many there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set, when capacity is not
 *         0 and they do not fit.
 * @default max_age_ns 0
 * @infallible
 */
FERRUM_API ferrum_status ferrum_monitor_get_levels(
    ferrum_monitor monitor, uint64_t max_age_ns,
    ferrum_device_level *levels_out, size_t capacity, size_t *count_out);

/**
 * All that a monitor knows, as JSON:
 *
 *   {"profile": "standard", "pressure": {"level": "low", "weighted_level": "low",
 *     "devices": 1, "unknown": 0, "total_bytes": 0, "used_bytes": 0},
 *    "devices": [{"id": "cpu:0", "managers": 1, "level": "low",
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
 * memory is as in ferrum_snapshot_json, and null when nothing could be had yet;
 * error has status and message when the device could not be asked just now. system
 * is null for a device without one. hundredths are of a percent of the time; bytes
 * of high is null for no limit. Fields may be added.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @default max_age_ns 0
 * @by-hand python it gives a dictionary
 */
FERRUM_API ferrum_status ferrum_monitor_info_json(ferrum_monitor monitor,
                                                  uint64_t max_age_ns,
                                                  char *buffer, size_t capacity,
                                                  size_t *length_out);

/** What a collection did on one device: the sum over its managers, but for the
 *  fragmentation, which is the worst of them.
 *  @by-hand python it names its device
 *  @go library.MonitorCollected */
typedef struct ferrum_collected {
    /** The device. */
    ferrum_device device;
    /** FERRUM_OK, or the first failure; the rest was done all the same.
     *  @go Status() */
    ferrum_status status;
    /** How many managers were collected. */
    uint32_t managers;
    /** Fragmentation ratio before.
     *  @go Stats.FragmentationBefore */
    float fragmentation_before;
    /** Fragmentation ratio after.
     *  @go Stats.FragmentationAfter */
    float fragmentation_after;
    /** Bytes given back to the system.
     *  @go Stats.MemoryFreedBytes */
    uint64_t memory_freed_bytes;
    /** Blocks, as a count.
     *  @go Stats.BlocksMoved */
    uint64_t blocks_moved;
    /** Blocks, as a count.
     *  @go Stats.BlocksSkipped */
    uint64_t blocks_skipped;
    /** Time taken.
     *  @go Stats.TimeTakenNs */
    uint64_t time_taken_ns;
    /** The sum of the managers' times in milliseconds, each of them rounded up.
     *  @go Stats.TimeTakenMs */
    uint64_t time_taken_ms;
    uint64_t reserved[3];
} ferrum_collected;

/**
 * Defragments every watched manager, one after another, as ferrum_manager_defragment. One
 * that is destroyed meanwhile is left out.
 *
 * @param collected_out  room for capacity devices.
 * @param count_out      how many devices there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set and nothing done, when
 *         more devices are watched than there is room for.
 *
 * @waits
 * @fills collected_out
 */
FERRUM_API ferrum_status ferrum_monitor_collect(ferrum_monitor monitor,
                                                ferrum_collected *collected_out,
                                                size_t capacity,
                                                size_t *count_out);

/** A placement strategy: chooses the device for a request. */
typedef struct ferrum_placement {
    uint64_t id; /**< 0 is no strategy */
} ferrum_placement;

/** The request must not wait: devices that would have to give up memory first do
 *  not count. */
#define FERRUM_PLACEMENT_CRITICAL UINT32_C(1)
/** The first preferred device that can serve the request is chosen, whatever else
 *  speaks for or against it. Otherwise preference adds to the score. */
#define FERRUM_PLACEMENT_STRICT UINT32_C(2)
/** Devices that the request would bring to the level CRITICAL do not count.
 *  Otherwise they come last. */
#define FERRUM_PLACEMENT_REFUSE_CRITICAL UINT32_C(4)

/** How many devices a request may name, in each of its lists. */
#define FERRUM_PLACEMENT_DEVICES_MAX 1024

/** What a device is looked for. All zero but the size asks for nothing more.
 *  @by-hand rust refers to lists of devices
 *  @go library.PlacementRequest */
typedef struct ferrum_placement_request {
    uint32_t struct_size;
    /** FERRUM_MEMORY_GENERAL to FERRUM_MEMORY_MANAGED.
     *  @go Type */
    int32_t memory_type;
    /** Not 0. */
    uint64_t size_bytes;
    /** A power of two up to FERRUM_ALIGNMENT_MAX; 0: any. */
    uint64_t alignment_bytes;
    /** How long the memory is expected to be used; 0: not known. From 60 s on a
     *  device that would come to HIGH is treated as one that would come to CRITICAL.
     *  @none 0
     *  @go Lifetime */
    uint64_t expected_lifetime_ns;
    /** Devices in the order of preference; may be NULL when there are none.
     *  @list preferred_count FERRUM_PLACEMENT_DEVICES_MAX */
    const ferrum_device *preferred;
    /** The candidates, in the order in which equal ones are taken; NULL: all open
     *  devices, by id.
     *  @list device_count FERRUM_PLACEMENT_DEVICES_MAX */
    const ferrum_device *devices;
    /** How many preferred there are. */
    uint32_t preferred_count;
    /** How many candidates there are. */
    uint32_t device_count;
    /** FERRUM_PLACEMENT_* flags.
     *  @flags FERRUM_PLACEMENT */
    uint32_t flags;
    /** What levels are by. */
    ferrum_pressure_profile profile;
} ferrum_placement_request;

/* clang-format off */
#define FERRUM_PLACEMENT_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_placement_request), 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0}
/* clang-format on */

/** Why a device is or is not chosen. From 16 on it cannot serve the request. */
typedef int32_t ferrum_placement_reason;
/** It is the chosen one. */
#define FERRUM_PLACEMENT_CHOSEN 0
/** Another one has a better score, or the same and an earlier place. */
#define FERRUM_PLACEMENT_OUTSCORED 1
/** Another one can serve it with less trouble. */
#define FERRUM_PLACEMENT_LOWER_TIER 2
/** The order of preference has another one. */
#define FERRUM_PLACEMENT_NOT_PREFERRED 3
/** Round robin is at another one. */
#define FERRUM_PLACEMENT_NOT_ITS_TURN 4
/** The caller's own strategy took another one, or none. */
#define FERRUM_PLACEMENT_NOT_TAKEN 5
/** Nothing is known of the device. */
#define FERRUM_PLACEMENT_NO_INFORMATION 16
/** Less is free than the request needs. */
#define FERRUM_PLACEMENT_TOO_SMALL 17
/** It has no memory of the type. */
#define FERRUM_PLACEMENT_WRONG_MEMORY_TYPE 18
/** It would have to give up memory first, and the request is critical. */
#define FERRUM_PLACEMENT_NEEDS_EVICTION 19
/** It would come to FERRUM_PRESSURE_CRITICAL, and the request refuses that. */
#define FERRUM_PLACEMENT_WOULD_BE_CRITICAL 20
/** The original formula has no number for it. */
#define FERRUM_PLACEMENT_UNSCORED 21

/** A candidate as weighed for a request.
 *  @by-hand python it names its device
 *  @go library.PlacementOption */
typedef struct ferrum_placement_option {
    /** The candidate. */
    ferrum_device device;
    /** Size and worst padding; UINT64_MAX when that overflows.
     *  @go NeedBytes */
    uint64_t needed_bytes;
    /** Its capacity, or its limit where that is less; 0 means unknown. */
    uint64_t total_bytes;
    /** What is used of it. */
    uint64_t used_bytes;
    /** What can still be handed out. */
    uint64_t free_bytes;
    /** Longest run that can be handed out as things are. */
    uint64_t largest_free_bytes;
    /** 0, or why it cannot serve the request. */
    ferrum_placement_reason reason;
    /** 0 for no trouble, 1 more when the request would bring the device to
     *  CRITICAL, 2 more when it would have to give up memory first. */
    int32_t tier;
    /** Place among the preferred devices, from 1 on; 0: none.
     *  @go Rank */
    uint32_t preferred_rank;
    /** The level that the device would come to. */
    ferrum_pressure_level level_after;
    uint64_t reserved[2];
} ferrum_placement_option;

/**
 * A strategy of the caller's. Runs on the thread of the selection with no lock
 * held, on several at once if they select; it may call the library but
 * ferrum_shutdown.
 *
 * @param request     of the selection; devices is NULL. Valid during the call only.
 * @param options     count candidates, also those that cannot serve the request.
 * @param chosen_out  is -1, for none, until the callback sets the index of its
 *                    choice.
 * @return FERRUM_OK, or an error that the selection then fails with; its message
 *         names the strategy.
 */
typedef ferrum_status (*ferrum_placement_fn)(
    const ferrum_placement_request *request,
    const ferrum_placement_option *options, size_t count, int64_t *chosen_out,
    void *user_data);

/**
 * Makes a built-in strategy.
 *
 * Every strategy but the original one first leaves out devices that cannot serve
 * the request: of which nothing is known, that lack the memory type, that have less
 * free than the size and, where the request asks for more alignment than every
 * block has, its worst padding; and what the flags refuse. Of the rest it keeps
 * those of the best tier, and then chooses; of equal ones the first.
 *
 *   "best_fit"     the largest 1 - waste - |use - 0.5| * 0.5 + 0.2 / rank, with
 *                  waste = (free - size) / total, use = used / total, and rank the
 *                  place among the preferred devices (without one the last term is
 *                  0), in single precision; unknown capacity is no waste, no use
 *   "best_fit_original"  the same formula over every device with enough free bytes,
 *                  with its known defects: it fills a device up to the last byte
 *                  and never takes one of unknown capacity
 *   "spread"       the largest free share after the request, in millionths, plus
 *                  200000 / rank
 *   "pack"         the smallest free share, with the same bonus
 *   "round_robin"  the next one in the list; among the preferred ones, if any of
 *                  them can
 *
 * @return FERRUM_ERROR_NOT_FOUND for an unknown name (the message lists them).
 *
 * @opens
 */
FERRUM_API ferrum_status
ferrum_placement_create(const char *strategy, ferrum_placement *placement_out);

/**
 * Makes a strategy of the caller's.
 *
 * @param name       1 to 63 bytes, no built-in one.
 * @param user_data  handed to the callback; must stay valid until the strategy is
 *                   destroyed.
 *
 * @opens
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status
ferrum_placement_create_own(const char *name, ferrum_placement_fn callback,
                            void *user_data, ferrum_placement *placement_out);

/**
 * Destroys a strategy. Waits for running calls of a callback, unless it is called
 * from inside one.
 *
 * @ends
 * @by-hand go the callback that runs is told
 */
FERRUM_API ferrum_status ferrum_placement_destroy(ferrum_placement placement);

/**
 * Gives the name of a strategy as text.
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
 * Chooses a device for a request, by readings no older than 0.1 s.
 *
 * @return FERRUM_ERROR_NOT_FOUND when no device can serve it; the message has the
 *         reason for each.
 * @borrowed device_out
 */
FERRUM_API ferrum_status ferrum_placement_select(
    ferrum_placement placement, const ferrum_placement_request *request,
    ferrum_device *device_out);

/**
 * Says which device ferrum_placement_select would choose now, and why each is or
 * is not chosen, as JSON:
 *
 *   {"strategy": "best_fit", "chosen": "cpu:0", "devices": [{"id": "cpu:0",
 *     "chosen": true, "reason": "chosen", "score": 0.51, "tier": 0,
 *     "preferred_rank": 0, "needed_bytes": 0, "total_bytes": 0, "used_bytes": 0,
 *     "free_bytes": 0, "largest_free_bytes": 0, "level_after": "low"}]}
 *
 * chosen is null when none can serve the request, score where there is none; reason
 * is the constant's name in lower case. Takes no turn of round robin; a callback is
 * called.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_placement_explain_json(
    ferrum_placement placement, const ferrum_placement_request *request,
    char *buffer, size_t capacity, size_t *length_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_MONITOR_H */

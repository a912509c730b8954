/*
 * The counters of devices as the core publishes them (core/mirror), and how a
 * call reads them without entering Go.
 */
#ifndef FERRUM_MIRRORS_MIRROR_H
#define FERRUM_MIRRORS_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "ferrum_mem.h"

/** The number of devices, and of pools of each device, that have a place. */
#define FM_MIRROR_DEVICES 32
#define FM_MIRROR_POOLS 32
/** In fm_mirror.bandwidth, above the bits of a float. */
#define FM_MIRROR_BANDWIDTH_KNOWN (UINT64_C(1) << 32)

/* Fields that Go writes have no qualifier, because cgo does not know _Atomic. */

/** The published counters of a pool: mirror.Pool of Go. */
struct fm_mirror_pool {
    /** Odd while all fields below are the present state. */
    uint64_t version;
    /** Handle of the pool's caches; 0: none. */
    uint64_t cache;
    uint64_t active_bytes, cached_bytes, unusable_bytes, live_blocks;
    uint64_t largest_free_bytes;
    uint64_t leased_bytes, returned_bytes;
    uint64_t unused[7];
};

/** The published counters of a device: mirror.Device of Go. */
struct fm_mirror {
    /** Odd while all fields below, except the pools, are the present state. */
    uint64_t version;
    uint64_t handle;
    uint64_t total_bytes, available_bytes;
    uint64_t limit_bytes, device_total_bytes, device_free_bytes;
    uint64_t taken_at;
    uint64_t bandwidth;
    uint64_t pools;
    uint64_t partial;
    uint64_t unused[5];
    struct fm_mirror_pool pool[FM_MIRROR_POOLS];
};

/** Returns a device's place; NULL: its handle has none. */
struct fm_mirror *fm_mirror_of(uint64_t device);
/** States whether the library runs; otherwise nothing is read. */
void fm_mirror_running(bool on);
/** Returns the time on a clock that is never set. */
uint64_t fm_clock_ns(void);
/** States when the clock of the core, which measures the published times, was
 *  0. */
void fm_mirror_since(uint64_t clock_ns);

/** The result of a read. */
enum fm_mirror_reading {
    FM_MIRROR_READ = 0,
    /** The core has to publish the counters first. */
    FM_MIRROR_HIDDEN = 1,
    /** The core has to be asked. */
    FM_MIRROR_ASK = 2
};

/** Reads the result of ferrum_device_get_recent_memory_info. info_out contains
 *  zeros except for its size, and is unchanged unless the result is
 *  FM_MIRROR_READ. */
enum fm_mirror_reading fm_mirror_read(uint64_t device, uint64_t max_age_ns,
                                      ferrum_memory_info *info_out);

#endif

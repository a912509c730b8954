/*
 * The counters of devices, read without entering Go.
 *
 * The published counters of a device and its pools are the present ones as long
 * as the version is the same odd number (core/mirror explains why). Each pool is
 * read at a moment of its own, as the core itself does. The bytes of the thread
 * caches are counted after the pool was read. They are used together only if no
 * block has moved between the pool and the caches meanwhile. Then reserved =
 * active + cached + unusable holds in the result, as it does in the pool.
 */
#include "mirror.h"

#include <stdatomic.h>
#include <time.h>

#include "../threadcache/cache.h"

static struct fm_mirror fm_mirrors[FM_MIRROR_DEVICES]
    __attribute__((aligned(128)));
static _Atomic bool fm_mirrors_run;
static uint64_t fm_mirrors_since;

struct fm_mirror *fm_mirror_of(uint64_t device) {
    uint32_t place = (uint32_t)device;
    return place < FM_MIRROR_DEVICES ? &fm_mirrors[place] : NULL;
}

void fm_mirror_running(bool on) { atomic_store(&fm_mirrors_run, on); }

void fm_mirror_since(uint64_t clock_ns) { fm_mirrors_since = clock_ns; }

uint64_t fm_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Later reads are no older than this one. So the numbers are no older than the
 * version read before them, and the version read after them is no older than
 * the numbers. */
static inline uint64_t fm_shown(const uint64_t *number) {
    return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

/** Reports whether everything that was read since the version was read is of
 *  one moment. */
static inline bool fm_version_still(const uint64_t *version, uint64_t before) {
    return fm_shown(version) == before;
}

/** The sums of a device. */
struct fm_books {
    uint64_t active, cached, unusable, live_blocks, largest;
};

static uint64_t fm_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t fm_max(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Reports whether counts agree with each other, see pool.CacheCounts.agree. */
static bool fm_counts_agree(const struct fm_cache_counts *counts) {
    uint64_t held = counts->entered_bytes - counts->left_bytes;
    return counts->left_bytes <= counts->entered_bytes &&
           counts->live_bytes <= held &&
           counts->idle_bytes == held - counts->live_bytes &&
           counts->requested_bytes <= counts->live_bytes &&
           counts->live_blocks <= counts->requested_bytes;
}

/* Adds a pool. */
static enum fm_mirror_reading fm_add_pool(const struct fm_mirror_pool *pool,
                                          struct fm_books *books) {
    uint64_t version = fm_shown(&pool->version);
    if (version % 2 == 0)
        return FM_MIRROR_HIDDEN;
    uint64_t cache = fm_shown(&pool->cache);
    uint64_t active = fm_shown(&pool->active_bytes);
    uint64_t cached = fm_shown(&pool->cached_bytes);
    uint64_t live_blocks = fm_shown(&pool->live_blocks);
    if (cache != 0) {
        struct fm_cache_counts counts;
        uint64_t leased = fm_shown(&pool->leased_bytes);
        uint64_t returned = fm_shown(&pool->returned_bytes);
        /* Other threads may not have added their counts yet. The core then has
         * better numbers: the last counts that agreed. */
        if (!fm_cache_count_own(cache, &counts) || !fm_counts_agree(&counts))
            return FM_MIRROR_ASK;
        if (counts.entered_bytes > leased || counts.left_bytes < returned)
            return FM_MIRROR_HIDDEN;
        active += counts.live_bytes;
        /* Bytes that are on their way, in either direction, are cached. */
        cached += counts.idle_bytes + (leased - counts.entered_bytes) +
                  (counts.left_bytes - returned);
        live_blocks += counts.live_blocks;
    }
    uint64_t largest = fm_min(fm_shown(&pool->largest_free_bytes), cached);
    books->active += active;
    books->cached += cached;
    books->unusable += fm_shown(&pool->unusable_bytes);
    books->live_blocks += live_blocks;
    books->largest = fm_max(books->largest, largest);
    return fm_version_still(&pool->version, version) ? FM_MIRROR_READ
                                                     : FM_MIRROR_HIDDEN;
}

static ferrum_pressure_level fm_pressure_of(uint64_t total, uint64_t free) {
    static const struct {
        ferrum_pressure_level level;
        unsigned percent;
    } bounds[] = {
        {FERRUM_PRESSURE_CRITICAL, 95},
        {FERRUM_PRESSURE_HIGH, 85},
        {FERRUM_PRESSURE_MEDIUM, 70},
    };
    unsigned __int128 used = (unsigned __int128)(total - free) * 100;
    for (size_t i = 0; total != 0 && i < sizeof bounds / sizeof *bounds; i++)
        if (used >= (unsigned __int128)total * bounds[i].percent)
            return bounds[i].level;
    return FERRUM_PRESSURE_LOW;
}

static uint64_t fm_saturating_add(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Engine.fill of the core, number for number. A test compares the two. */
static void fm_fill(ferrum_memory_info *info, uint64_t total,
                    uint64_t available, const struct fm_books *books) {
    uint64_t used = books->active + books->unusable;
    uint64_t free = fm_saturating_add(available, books->cached);
    uint64_t largest = fm_max(books->largest, available);
    if (total != 0) {
        /* The reading and the counters are of two moments, so numbers that do
         * not fit are cut. */
        used = fm_min(used, total);
        free = fm_min(free, total - used);
        largest = fm_min(largest, free);
        info->reserved_bytes = total - used - free;
        info->utilization_percent = (float)((double)used / (double)total * 100);
    }
    info->total_bytes = total;
    info->used_bytes = used;
    info->free_bytes = free;
    info->largest_free_bytes = largest;
    info->active_allocations = books->live_blocks;
    if (books->cached != 0)
        info->fragmentation_ratio =
            (float)(1 - (double)fm_min(books->largest, books->cached) /
                            (double)books->cached);
    info->pressure = fm_pressure_of(total, free);
}

static void fm_bandwidth(ferrum_memory_info *info, uint64_t bandwidth) {
    if (bandwidth < FM_MIRROR_BANDWIDTH_KNOWN)
        return;
    uint32_t bits = (uint32_t)bandwidth;
    info->bandwidth_known = 1;
    __builtin_memcpy(&info->bandwidth_gbps, &bits, sizeof bits);
}

enum fm_mirror_reading fm_mirror_read(uint64_t device, uint64_t max_age_ns,
                                      ferrum_memory_info *info_out) {
    const struct fm_mirror *mirror = fm_mirror_of(device);
    if (mirror == NULL || !atomic_load(&fm_mirrors_run) || max_age_ns == 0)
        return FM_MIRROR_ASK;
    uint64_t version = fm_shown(&mirror->version);
    if (version % 2 == 0)
        return FM_MIRROR_HIDDEN;
    if (fm_shown(&mirror->handle) != device || fm_shown(&mirror->partial) != 0)
        return FM_MIRROR_ASK;
    uint64_t total = fm_shown(&mirror->total_bytes);
    uint64_t available = fm_shown(&mirror->available_bytes);
    uint64_t limit = fm_shown(&mirror->limit_bytes);
    uint64_t device_total = fm_shown(&mirror->device_total_bytes);
    uint64_t device_free = fm_shown(&mirror->device_free_bytes);
    uint64_t bandwidth = fm_shown(&mirror->bandwidth);
    uint64_t taken_at = fm_shown(&mirror->taken_at);
    struct fm_books books = {0};
    for (uint64_t pools = fm_shown(&mirror->pools); pools != 0;
         pools &= pools - 1) {
        enum fm_mirror_reading reading =
            fm_add_pool(&mirror->pool[__builtin_ctzll(pools)], &books);
        if (reading != FM_MIRROR_READ)
            return reading;
    }
    if (!fm_version_still(&mirror->version, version))
        return FM_MIRROR_HIDDEN;
    uint64_t age = fm_clock_ns() - fm_mirrors_since - taken_at;
    if (age > max_age_ns)
        return FM_MIRROR_ASK;
    fm_fill(info_out, total, available, &books);
    info_out->limit_bytes = limit;
    info_out->device_total_bytes = device_total;
    info_out->device_free_bytes = device_free;
    fm_bandwidth(info_out, bandwidth);
    info_out->reading_age_ns = age == 0 ? 1 : age;
    return FM_MIRROR_READ;
}

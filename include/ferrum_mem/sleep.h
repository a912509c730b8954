/*
 * Sleep and wake of virtual pools and models.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_SLEEP_H
#define FERRUM_MEM_SLEEP_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Ranges of a virtual pool or a model that sleep keep their addresses and tags and
 * give up their memory: their bytes go to host memory or a file, or are discarded.
 * To wake is to get memory as an allocation does, at the same addresses, and to have
 * the bytes back. Both take everything, or one tag; the tag of ranges that were given
 * none is the name of the pool, or the id of the model.
 *
 * Nothing of the caller, no queued work either, uses a range from the beginning of
 * the call that puts it to sleep until the end of the one that wakes it: there is no
 * memory behind it. A range that sleeps can be freed. Allocations of a tag that sleeps
 * are FERRUM_ERROR_INVALID_STATE, or wait if they ask for it (asleep_wait_ns); while
 * everything sleeps that is so for all tags that were not woken by themselves. When
 * the last range that slept is woken by its tag, nothing sleeps any more: from then
 * on allocations of every tag are possible.
 *
 * Both are all or nothing. A call that fails, for whatever reason and wherever it had
 * got to, leaves every page and every byte where it was: a sleep gives up nothing
 * before all is copied, and a wake gives up no copy before all is back. So no limit that
 * is lowered, no other model and no other program can stand in its way back. The price:
 * while the call runs, its bytes are there twice, in the device's memory and in what
 * keeps them; on a device whose memory is the host's (cpu), FERRUM_SLEEP_HOST needs as
 * much memory again, and FERRUM_SLEEP_FILE or FERRUM_SLEEP_DISCARD do not. The pages
 * that a sleep gives up are others' when it ends, all at once.
 *
 * Ranges that a call under way puts to sleep or wakes cannot be freed:
 * FERRUM_ERROR_BUSY.
 *
 * One call at a time puts to sleep or wakes in one pool or model; others wait for it
 * as long as their timeout allows. In a reclaim callback no call waits: one that
 * would have to is FERRUM_ERROR_BUSY.
 */

/** Where the bytes of what sleeps are kept.
 *  @by-hand rust has the directory of a file with it */
typedef int32_t ferrum_sleep_backing;
/** In ordinary memory of this process. */
#define FERRUM_SLEEP_HOST 0
/** In a file, with checksums that are compared at waking. It is the process's own: it
 *  is removed when all of it has woken or was freed, or its pool or model ends, unless
 *  another file has its name by then. That of a process that was killed is removed by
 *  the next sleep with a file there, which knows it by how it begins and by its lock:
 *  no other file is touched, whatever it is called. */
#define FERRUM_SLEEP_FILE 1
/** Nowhere: what wakes is zeros. */
#define FERRUM_SLEEP_DISCARD 2

/** Length of a path with the NUL at its end. */
#define FERRUM_PATH_MAX 4096

/** What is to sleep, and how.
 *  @by-hand python the arguments of sleep()
 *  @by-hand rust the directory goes with the backing
 *  @go library.SleepRequest */
typedef struct ferrum_sleep_config {
    uint32_t struct_size;
    /** FERRUM_SLEEP_* */
    ferrum_sleep_backing backing;
    /** Ranges of this tag, at most 63 bytes; NULL or empty: everything. */
    const char *tag;
    /** Where FERRUM_SLEEP_FILE makes its file, less than FERRUM_PATH_MAX bytes; NULL or
     *  empty: the system's directory for temporary files. NULL with other backings.
     *  @go Dir
     *  @path */
    const char *directory;
    /** Only the work is waited for that is queued now on this stream and on those that
     *  use the ranges; {0}: all work of the device.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
    /** How long the call may take until all is copied, in nanoseconds, or
     *  FERRUM_WAIT_FOREVER. When it is over everything is as before, and the call
     *  FERRUM_ERROR_TIMEOUT. 0: the call takes the time of its copies, but is
     *  FERRUM_ERROR_TIMEOUT at once if it has to wait for queued work, another call or
     *  an allocation under way.
     *  @none FERRUM_WAIT_FOREVER
     *  @go Timeout */
    uint64_t timeout_ns;
    /** Copies that run at once, each on a stream of its own, at most 64; 0: the library
     *  chooses.
     *  @go Streams */
    uint32_t num_streams;
    uint32_t reserved;
} ferrum_sleep_config;

/* clang-format off */
#define FERRUM_SLEEP_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_sleep_config), FERRUM_SLEEP_HOST, NULL, NULL, {0}, FERRUM_WAIT_FOREVER, 0, 0}
/* clang-format on */

/** What has gone to sleep.
 *  @by-hand python its path may have any bytes
 *  @by-hand rust has a path of the system
 *  @go vmm.SleepReport */
typedef struct ferrum_sleep_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Memory that was given up: that of all that went to sleep, but for pages that the
     *  device refused to unmap.
     *  @go Bytes */
    uint64_t released_bytes;
    /** How long it took.
     *  @go Ns */
    uint64_t elapsed_ns;
    /** The file of FERRUM_SLEEP_FILE; empty with other backings, and where there was
     *  nothing to write. */
    char path[FERRUM_PATH_MAX];
} ferrum_sleep_report;

/* clang-format off */
#define FERRUM_SLEEP_REPORT_INIT {FERRUM_SIZE_OF(ferrum_sleep_report), 0, 0, 0, {0}}
/* clang-format on */

/** What is to wake.
 *  @by-hand python the arguments of wake()
 *  @by-hand rust goes with ferrum_sleep_config
 *  @go library.WakeRequest */
typedef struct ferrum_wake_config {
    uint32_t struct_size;
    /** As in ferrum_sleep_config.
     *  @go Streams */
    uint32_t num_streams;
    /** What sleeps of this tag, at most 63 bytes; NULL or empty: everything. */
    const char *tag;
    /** How long the call may take, in nanoseconds, or FERRUM_WAIT_FOREVER. When it is
     *  over all of it sleeps as before, and the call is FERRUM_ERROR_TIMEOUT. 0: as in
     *  ferrum_sleep_config, and memory that is not free is not waited for.
     *  @none FERRUM_WAIT_FOREVER
     *  @go Timeout */
    uint64_t timeout_ns;
} ferrum_wake_config;

/* clang-format off */
#define FERRUM_WAKE_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_wake_config), 0, NULL, FERRUM_WAIT_FOREVER}
/* clang-format on */

/** What has woken.
 *  @go vmm.WakeReport */
typedef struct ferrum_wake_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Memory that was had for it.
     *  @go Bytes */
    uint64_t restored_bytes;
    /** How long it took.
     *  @go Ns */
    uint64_t elapsed_ns;
} ferrum_wake_report;

/* clang-format off */
#define FERRUM_WAKE_REPORT_INIT {FERRUM_SIZE_OF(ferrum_wake_report), 0, 0, 0}
/* clang-format on */

/**
 * Puts ranges of a virtual pool to sleep, when the work is done that the settings
 * name. What slept before stays as it is. A call that fails changes nothing and may be
 * repeated. Where the device refuses to unmap a part, and also to take that back, the
 * call goes on instead and works: all of it sleeps, and that part is not given up.
 *
 * @param config      settings, or NULL for FERRUM_SLEEP_CONFIG_INIT.
 * @param report_out  optional, may be NULL.
 * @return FERRUM_ERROR_INVALID_STATE when the tag, or everything, sleeps already, and
 *         in a host function; FERRUM_ERROR_NOT_FOUND for a tag that no range has;
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED when host memory, the disk or the process's
 *         bound on the size of files (RLIMIT_FSIZE) is used up; FERRUM_ERROR_IO and
 *         FERRUM_ERROR_PERMISSION_DENIED for the file, with its name;
 *         FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_INVALID_ARGUMENT.
 *
 * @waits
 * @optional config
 * @optional report_out
 */
FERRUM_API ferrum_status ferrum_vpool_sleep(ferrum_vpool vpool,
                                            const ferrum_sleep_config *config,
                                            ferrum_sleep_report *report_out);

/**
 * Wakes ranges of a virtual pool at the addresses that they had. When it fails all of
 * them sleep as before, with all that is kept of them, and the call may be repeated.
 * Pages that the device then refuses to unmap count as used until they are.
 *
 * @param config      settings, or NULL for FERRUM_WAKE_CONFIG_INIT.
 * @param report_out  optional, may be NULL.
 * @return FERRUM_ERROR_INVALID_STATE when nothing of the tag, or nothing at all,
 *         sleeps, and in a host function; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY and
 *         FERRUM_ERROR_OUT_OF_MEMORY as ferrum_vpool_alloc;
 *         FERRUM_ERROR_CORRUPTED when a file is not what was written, with its name and
 *         the place; FERRUM_ERROR_IO; FERRUM_ERROR_TIMEOUT;
 *         FERRUM_ERROR_INVALID_ARGUMENT.
 *
 * @waits
 * @optional config
 * @optional report_out
 */
FERRUM_API ferrum_status ferrum_vpool_wake(ferrum_vpool vpool,
                                           const ferrum_wake_config *config,
                                           ferrum_wake_report *report_out);

/**
 * Says whether a tag of a virtual pool sleeps (1) or not (0).
 *
 * @param tag  NULL or empty: whether everything sleeps, with what may still come.
 *
 * @optional tag
 * @bool asleep_out
 * @by-hand python pools of both kinds sleep alike
 * @infallible
 */
FERRUM_API ferrum_status ferrum_vpool_is_asleep(ferrum_vpool vpool,
                                                const char *tag,
                                                uint32_t *asleep_out);

/**
 * Puts a model, or ranges of it, to sleep, as ferrum_vpool_sleep. Others may have its
 * pages then; what the model is guaranteed stays kept for it.
 *
 * @return besides: FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @waits
 * @optional config
 * @optional report_out
 */
FERRUM_API ferrum_status ferrum_elastic_pool_sleep_model(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_sleep_config *config, ferrum_sleep_report *report_out);

/**
 * Wakes a model, or ranges of it, as ferrum_vpool_wake. It has its memory as
 * ferrum_elastic_pool_alloc has it: within the limits, in line, and from others that
 * give.
 *
 * @return besides: FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @waits
 * @optional config
 * @optional report_out
 */
FERRUM_API ferrum_status ferrum_elastic_pool_wake_model(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_wake_config *config, ferrum_wake_report *report_out);

/**
 * As ferrum_vpool_is_asleep, for a model.
 *
 * @optional tag
 * @bool asleep_out
 * @by-hand python a method of the model
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_is_model_asleep(ferrum_elastic_pool pool, const char *model,
                                    const char *tag, uint32_t *asleep_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_SLEEP_H */

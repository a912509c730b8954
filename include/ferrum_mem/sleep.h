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
 * A sleep releases the physical memory of ranges of a virtual pool or a model. The
 * ranges keep their addresses and tags. Their bytes are kept in host memory or in a
 * file, or are discarded. A wake allocates memory as an allocation does, maps it
 * at the same addresses, and copies the bytes back. Both calls apply to all ranges,
 * or to one tag. Ranges that were allocated without a tag have the name of the
 * pool, or the id of the model, as their tag.
 *
 * From the beginning of the sleep until the end of the wake, neither the program
 * nor its queued work may use a range, because the range has no memory. A range
 * that is asleep can be freed. An allocation with a tag that is asleep returns
 * FERRUM_ERROR_INVALID_STATE, or waits if it requests that (asleep_wait_ns). While
 * everything is asleep, this holds for every tag that was not woken by itself. When
 * the last range that is asleep is woken by its tag, the whole pool or model is
 * awake: from then on allocations with every tag are possible. What was put to sleep
 * stays asleep until it is woken, also if all of its ranges are freed before.
 *
 * Both calls are all or nothing. If a call fails, for any reason and at any moment,
 * every page and every byte is where it was: a sleep releases no memory before all
 * bytes are copied, and a wake releases no copy before all bytes are back. So a
 * lowered limit, another model or another program cannot prevent that a failed call
 * is undone. The cost: during the call the bytes exist twice, in the memory of the
 * device and in their copy. Others can use the released pages when the sleep ends,
 * all at once.
 *
 * On a device whose memory is host memory (cpu), the bytes of private pages stay in
 * place with FERRUM_SLEEP_HOST: nothing is copied, and neither call takes memory
 * from the system. The pool and the device get the memory back, the machine does
 * not. Movable pages are copied with FERRUM_SLEEP_HOST, and need the same amount of
 * memory again. FERRUM_SLEEP_FILE and FERRUM_SLEEP_DISCARD release memory of the
 * machine.
 *
 * A range that a running call puts to sleep or wakes cannot be freed: the free
 * returns FERRUM_ERROR_BUSY.
 *
 * A load of weights (weights.h) writes its memory part by part, and queues no work
 * between two parts. A call that puts this memory to sleep waits for the load from
 * before its first allocation until its end. In the progress callback of the load,
 * that call returns FERRUM_ERROR_INVALID_STATE. A load into a tag that is asleep,
 * or that a running call puts to sleep, ends with FERRUM_ERROR_INVALID_STATE.
 *
 * One call at a time puts to sleep or wakes in one pool or model. Other calls wait
 * for it as long as their timeout allows. In a reclaim callback no call waits: a
 * call that would wait returns FERRUM_ERROR_BUSY.
 */

/** Place of the contents of ranges that are asleep.
 *  @by-hand rust has the directory of a file with it */
typedef int32_t ferrum_sleep_backing;
/** Memory of this process. For a device whose memory the host cannot address, it is
 *  page-locked, as far as half of the machine's memory suffices. */
#define FERRUM_SLEEP_HOST 0
/** A file with checksums, which a wake compares. The file belongs to this process.
 *  It is removed when all of its contents have been woken or freed, or when its
 *  pool or model ends, unless another file has its name by then. The next sleep in
 *  the same directory removes the file of a process that was killed; the library
 *  recognizes such a file by its first bytes and by its lock. It touches no other
 *  file. */
#define FERRUM_SLEEP_FILE 1
/** Nowhere: a wake returns zeros. */
#define FERRUM_SLEEP_DISCARD 2

/** Largest length of a path, with the closing NUL. */
#define FERRUM_PATH_MAX 4096

/** Settings of a sleep.
 *  @by-hand python the arguments of sleep()
 *  @by-hand rust the directory goes with the backing
 *  @go library.SleepRequest */
typedef struct ferrum_sleep_config {
    uint32_t struct_size;
    /** FERRUM_SLEEP_* */
    ferrum_sleep_backing backing;
    /** Ranges with this tag, at most 63 bytes; NULL or empty: all ranges. */
    const char *tag;
    /** Directory for the file of FERRUM_SLEEP_FILE, less than FERRUM_PATH_MAX
     *  bytes; NULL or empty: the system's directory for temporary files. NULL for
     *  other places.
     *  @go Dir
     *  @path */
    const char *directory;
    /** The call waits only for the work that is queued now on this stream and on
     *  the streams that use the ranges; {0}: for all work of the device.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
    /** The longest time of the call until everything is copied, in nanoseconds, or
     *  FERRUM_WAIT_FOREVER. When the time is over, the call returns
     *  FERRUM_ERROR_TIMEOUT and nothing has changed. 0: the call may copy as long
     *  as it needs, but returns FERRUM_ERROR_TIMEOUT at once if it has to wait for
     *  queued work, a load, another call or a running allocation.
     *  @none FERRUM_WAIT_FOREVER
     *  @go Timeout */
    uint64_t timeout_ns;
    /** Number of simultaneous copies, each on a stream of its own, at most 64; 0:
     *  the library chooses.
     *  @none 0
     *  @go Streams */
    uint32_t num_streams;
    uint32_t reserved;
} ferrum_sleep_config;

/* clang-format off */
#define FERRUM_SLEEP_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_sleep_config), FERRUM_SLEEP_HOST, NULL, NULL, {0}, FERRUM_WAIT_FOREVER, 0, 0}
/* clang-format on */

/** Result of a sleep.
 *  @by-hand python its path may have any bytes
 *  @by-hand rust has a path of the system
 *  @go vmm.SleepReport */
typedef struct ferrum_sleep_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Memory that was released: all memory of the ranges, except for pages that
     *  the device failed to unmap.
     *  @go Bytes */
    uint64_t released_bytes;
    /** Duration of the call.
     *  @go Ns */
    uint64_t elapsed_ns;
    /** The file of FERRUM_SLEEP_FILE; empty for other places, and when there was
     *  nothing to write. */
    char path[FERRUM_PATH_MAX];
} ferrum_sleep_report;

/* clang-format off */
#define FERRUM_SLEEP_REPORT_INIT {FERRUM_SIZE_OF(ferrum_sleep_report), 0, 0, 0, {0}}
/* clang-format on */

/** Settings of a wake.
 *  @by-hand python the arguments of wake()
 *  @by-hand rust goes with ferrum_sleep_config
 *  @go library.WakeRequest */
typedef struct ferrum_wake_config {
    uint32_t struct_size;
    /** The same as in ferrum_sleep_config.
     *  @none 0
     *  @go Streams */
    uint32_t num_streams;
    /** Ranges with this tag that are asleep, at most 63 bytes; NULL or empty: all
     *  of them. */
    const char *tag;
    /** The longest time of the call, in nanoseconds, or FERRUM_WAIT_FOREVER. When
     *  the time is over, the call returns FERRUM_ERROR_TIMEOUT, and all ranges are
     *  asleep as before. 0: as in ferrum_sleep_config, and the call does not wait
     *  for memory.
     *  @none FERRUM_WAIT_FOREVER
     *  @go Timeout */
    uint64_t timeout_ns;
} ferrum_wake_config;

/* clang-format off */
#define FERRUM_WAKE_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_wake_config), 0, NULL, FERRUM_WAIT_FOREVER}
/* clang-format on */

/** Result of a wake.
 *  @go vmm.WakeReport */
typedef struct ferrum_wake_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Memory that was allocated for the ranges.
     *  @go Bytes */
    uint64_t restored_bytes;
    /** Duration of the call.
     *  @go Ns */
    uint64_t elapsed_ns;
} ferrum_wake_report;

/* clang-format off */
#define FERRUM_WAKE_REPORT_INIT {FERRUM_SIZE_OF(ferrum_wake_report), 0, 0, 0}
/* clang-format on */

/**
 * Puts ranges of a virtual pool to sleep, after the work that the settings name has
 * completed. Ranges that were asleep before stay as they are. A failed call changes
 * nothing and may be repeated. There is one exception to failing: when the device
 * fails to unmap some pages, and also fails to map the others again, the call
 * succeeds. All ranges are asleep then, and the memory of these pages is not
 * released.
 *
 * @param config  settings, or NULL for FERRUM_SLEEP_CONFIG_INIT.
 * @param report_out  optional, may be NULL.
 * @return FERRUM_ERROR_INVALID_STATE when the tag, or everything, is asleep
 *         already, and in a host function; FERRUM_ERROR_NOT_FOUND for a tag without
 *         ranges; FERRUM_ERROR_RESOURCE_EXHAUSTED when host memory, the disk or the
 *         process's limit on file sizes (RLIMIT_FSIZE) is used up; FERRUM_ERROR_IO
 *         and FERRUM_ERROR_PERMISSION_DENIED for the file, with its name;
 *         FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_INVALID_ARGUMENT.
 *
 * @waits
 * @optional config
 * @optional report_out
 * @by-hand python,rust pools of both kinds sleep alike
 */
FERRUM_API ferrum_status ferrum_vpool_sleep(ferrum_vpool vpool,
                                            const ferrum_sleep_config *config,
                                            ferrum_sleep_report *report_out);

/**
 * Wakes ranges of a virtual pool at the addresses that they had. After a failure
 * all of them are asleep as before, with their contents, and the call may be
 * repeated. Pages that the device then fails to unmap count as used until they are
 * unmapped.
 *
 * @param config  settings, or NULL for FERRUM_WAKE_CONFIG_INIT.
 * @param report_out  optional, may be NULL.
 * @return FERRUM_ERROR_INVALID_STATE when no range, or no range of the tag, is
 *         asleep, and in a host function; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY and
 *         FERRUM_ERROR_OUT_OF_MEMORY as ferrum_vpool_alloc; FERRUM_ERROR_CORRUPTED
 *         when the contents of the file have changed, with its name and the offset;
 *         FERRUM_ERROR_IO; FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_INVALID_ARGUMENT.
 *
 * @waits
 * @optional config
 * @optional report_out
 * @by-hand python,rust pools of both kinds sleep alike
 */
FERRUM_API ferrum_status ferrum_vpool_wake(ferrum_vpool vpool,
                                           const ferrum_wake_config *config,
                                           ferrum_wake_report *report_out);

/**
 * Returns whether a tag of a virtual pool is asleep (1) or not (0).
 *
 * @param tag  NULL or empty: whether the whole pool is asleep, with ranges that may
 *                still be allocated.
 *
 * @optional tag
 * @bool asleep_out
 * @by-hand python pools of both kinds sleep alike
 * @infallible
 * @by-hand rust the tag is optional
 */
FERRUM_API ferrum_status ferrum_vpool_is_asleep(ferrum_vpool vpool,
                                                const char *tag,
                                                uint32_t *asleep_out);

/**
 * Puts a model, or ranges of it, to sleep, like ferrum_vpool_sleep. Other models
 * may use its pages then. The guarantee of the model stays reserved for it.
 *
 * @return also FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @waits
 * @optional config
 * @optional report_out
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_sleep_model(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_sleep_config *config, ferrum_sleep_report *report_out);

/**
 * Wakes a model, or ranges of it, like ferrum_vpool_wake. It gets its memory by the
 * rules of ferrum_elastic_pool_alloc: within the limits, in turn, and also from
 * models above their guarantees.
 *
 * @return also FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @waits
 * @optional config
 * @optional report_out
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_wake_model(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_wake_config *config, ferrum_wake_report *report_out);

/**
 * The same as ferrum_vpool_is_asleep, for a model.
 *
 * @optional tag
 * @bool asleep_out
 * @by-hand python a method of the model
 * @by-hand rust a method of the model
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_is_model_asleep(ferrum_elastic_pool pool, const char *model,
                                    const char *tag, uint32_t *asleep_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_SLEEP_H */

/*
 * Dummies: named lists of items, of which tests prove each shape of a function.
 * A part of ferrum_mem.h in a copy of the tree that a test makes; it is never shipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_DUMMY_H
#define FERRUM_MEM_DUMMY_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A list of items in memory. */
typedef struct ferrum_dummy {
    uint64_t id; /**< 0 is no dummy */
} ferrum_dummy;

/** Work on a dummy that takes long. */
typedef struct ferrum_dummy_job {
    uint64_t id; /**< 0 is no job */
} ferrum_dummy_job;

/** By what items are ordered.
 *  @go dummy.Order */
typedef int32_t ferrum_dummy_order;
/** As they were added. */
#define FERRUM_DUMMY_ORDER_GIVEN 0
/** By size, the smallest first. */
#define FERRUM_DUMMY_ORDER_SIZE 1

/** Items have different names. */
#define FERRUM_DUMMY_TRAIT_UNIQUE UINT32_C(1)
/** Nothing is added any more. */
#define FERRUM_DUMMY_TRAIT_CLOSED UINT32_C(2)
/** Every trait. */
#define FERRUM_DUMMY_TRAIT_ALL UINT32_C(3)

/** A run of bytes.
 *  @go dummy.Extent */
typedef struct ferrum_dummy_extent {
    /** Where it begins. */
    uint64_t offset_bytes;
    /** How long it is. */
    uint64_t size_bytes;
} ferrum_dummy_extent;

/** An item of a dummy.
 *  @go dummy.Item */
typedef struct ferrum_dummy_item {
    /** Its name, ended by a NUL; not empty. */
    char name[32];
    /** What it covers. */
    ferrum_dummy_extent extent;
    /** Smaller ones are more important. */
    int32_t rank;
    uint32_t reserved;
} ferrum_dummy_item;

/** The settings of a dummy.
 *  @go dummy.Config */
typedef struct ferrum_dummy_config {
    uint32_t struct_size;
    /** How items are listed. */
    ferrum_dummy_order order;
    /** Up to 63 bytes; NULL: none.
     *  @optional */
    const char *name;
    /** What the items may cover; all zero: anything. */
    ferrum_dummy_extent room;
    /** FERRUM_DUMMY_TRAIT_* flags.
     *  @flags FERRUM_DUMMY_TRAIT */
    uint32_t flags;
    uint32_t reserved;
} ferrum_dummy_config;

/* clang-format off */
#define FERRUM_DUMMY_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_dummy_config), 0, NULL, {0, 0}, 0, 0}
/* clang-format on */

/** What is known of a dummy.
 *  @go dummy.Info */
typedef struct ferrum_dummy_info {
    uint32_t struct_size;
    /** How items are listed. */
    ferrum_dummy_order order;
    /** Its name. */
    char name[64];
    /** What the items may cover. */
    ferrum_dummy_extent room;
    /** How many items there are. */
    uint64_t items;
    /** FERRUM_DUMMY_TRAIT_* flags.
     *  @flags FERRUM_DUMMY_TRAIT */
    uint32_t flags;
    /** Whether it has no item (1) or some (0).
     *  @bool */
    uint32_t is_empty;
} ferrum_dummy_info;

/* clang-format off */
#define FERRUM_DUMMY_INFO_INIT {FERRUM_SIZE_OF(ferrum_dummy_info), 0, {0}, {0, 0}, 0, 0, 0}
/* clang-format on */

/**
 * Makes a dummy without items.
 *
 * @opens
 * @optional config
 */
FERRUM_API ferrum_status ferrum_dummy_create(const ferrum_dummy_config *config,
                                             ferrum_dummy *dummy_out);

/**
 * Ends a dummy, and lets go of what it has adopted.
 *
 * @param flags  0 or FERRUM_FORCE: jobs on it are cancelled and end with it.
 * @return FERRUM_ERROR_BUSY: it has jobs.
 *
 * @ends
 * @waits
 */
FERRUM_API ferrum_status ferrum_dummy_destroy(ferrum_dummy dummy,
                                              uint32_t flags);

/** Gives what is known of a dummy: a struct with a struct in it.
 *  @infallible */
FERRUM_API ferrum_status ferrum_dummy_get_info(ferrum_dummy dummy,
                                               ferrum_dummy_info *info_out);

/**
 * Replaces the traits: a set of flags.
 *
 * @flags traits FERRUM_DUMMY_TRAIT
 */
FERRUM_API ferrum_status ferrum_dummy_set_traits(ferrum_dummy dummy,
                                                 uint32_t traits);

/**
 * Adds items, all or none: an array of records that goes in.
 *
 * @return FERRUM_ERROR_ALREADY_EXISTS: the names are to be different, and one is not;
 *         FERRUM_ERROR_INVALID_OFFSET: an item is not within the room;
 *         FERRUM_ERROR_INVALID_STATE: the dummy is closed.
 */
FERRUM_API ferrum_status ferrum_dummy_add(ferrum_dummy dummy,
                                          const ferrum_dummy_item *items,
                                          uint64_t count);

/**
 * Gives the items in their order: an array of records that comes out.
 *
 * @param items_out  room for capacity of them; may be NULL when that is 0.
 * @param count_out  how many there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set, when capacity is not
 *         0 and they do not fit.
 *
 * @infallible
 */
FERRUM_API ferrum_status ferrum_dummy_get_items(ferrum_dummy dummy,
                                                ferrum_dummy_item *items_out,
                                                size_t capacity,
                                                size_t *count_out);

/**
 * Removes the items with these names, all or none: a list of texts.
 *
 * @return FERRUM_ERROR_NOT_FOUND: there is no item of one of the names.
 */
FERRUM_API ferrum_status ferrum_dummy_remove(ferrum_dummy dummy,
                                             const char *const *names,
                                             uint64_t count,
                                             uint64_t *removed_out);

/**
 * Finds the first item of a name: outputs that may be NULL.
 *
 * @return FERRUM_ERROR_NOT_FOUND.
 *
 * @optional index_out
 * @optional item_out
 */
FERRUM_API ferrum_status ferrum_dummy_find(ferrum_dummy dummy, const char *name,
                                           uint64_t *index_out,
                                           ferrum_dummy_item *item_out);

/**
 * Adds items that are written as JSON, all or none: JSON that goes in.
 *
 *   [{"name": "a", "offset_bytes": 0, "size_bytes": 4096, "rank": 0}]
 *
 * @param json_text   UTF-8, json_bytes of it.
 * @return FERRUM_ERROR_INVALID_FORMAT; the errors of ferrum_dummy_add.
 */
FERRUM_API ferrum_status ferrum_dummy_add_json(ferrum_dummy dummy,
                                               const char *json_text,
                                               size_t json_bytes);

/**
 * The names of the items as a JSON array: texts that come out.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_dummy_names_json(ferrum_dummy dummy,
                                                 char *buffer, size_t capacity,
                                                 size_t *length_out);

/**
 * Lets go of something of the caller's. Called once, on a thread of the library or on
 * that of the call that ends the holder, with no lock held; it may call the library.
 */
typedef void (*ferrum_release_fn)(void *user_data);

/**
 * Has a dummy hold something of the caller's, until it ends: a release callback.
 *
 * @param release    called once if the call succeeds, and never if it fails: then what
 *                   user_data stands for is still the caller's.
 * @param user_data  handed to it.
 * @return FERRUM_ERROR_INVALID_STATE: the dummy is closed.
 */
FERRUM_API ferrum_status ferrum_dummy_adopt(ferrum_dummy dummy,
                                            ferrum_release_fn release,
                                            void *user_data);

/**
 * Stops jobs on a dummy before their next step, or lets them go on.
 *
 * @bool held
 * @infallible
 */
FERRUM_API ferrum_status ferrum_dummy_hold(ferrum_dummy dummy, uint32_t held);

/**
 * Begins to sort the items for good: long work. A step of it puts one item to its place.
 *
 * @param job_out  the job, to be ended with ferrum_dummy_job_destroy.
 * @return FERRUM_ERROR_BUSY: another job is at it.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_dummy_sort(ferrum_dummy dummy,
                                           ferrum_dummy_order order,
                                           ferrum_dummy_job *job_out);

/** How far a job is.
 *  @go job.Progress */
typedef struct ferrum_dummy_job_progress {
    uint32_t struct_size;
    /** Whether it has ended (1), in whatever way.
     *  @bool */
    uint32_t is_over;
    /** Steps that are done. */
    uint64_t done;
    /** Steps there are; 0: not known. */
    uint64_t total;
} ferrum_dummy_job_progress;

/* clang-format off */
#define FERRUM_DUMMY_JOB_PROGRESS_INIT {FERRUM_SIZE_OF(ferrum_dummy_job_progress), 0, 0, 0}
/* clang-format on */

/** What a sort did.
 *  @go dummy.Sorted */
typedef struct ferrum_dummy_job_result {
    uint32_t struct_size;
    uint32_t reserved;
    /** How many items changed their place. */
    uint64_t moved;
} ferrum_dummy_job_result;

/* clang-format off */
#define FERRUM_DUMMY_JOB_RESULT_INIT {FERRUM_SIZE_OF(ferrum_dummy_job_result), 0, 0}
/* clang-format on */

/** Gives how far a job is.
 *  @infallible */
FERRUM_API ferrum_status ferrum_dummy_job_get_progress(
    ferrum_dummy_job job, ferrum_dummy_job_progress *progress_out);

/** Asks a job to end before its next step. Nothing for one that is over.
 *  @infallible */
FERRUM_API ferrum_status ferrum_dummy_job_cancel(ferrum_dummy_job job);

/**
 * Waits until a job is over, in whatever way.
 *
 * @return FERRUM_ERROR_TIMEOUT.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_dummy_job_wait(ferrum_dummy_job job,
                                               uint64_t timeout_ns);

/**
 * Gives the result of a job, as often as it is asked for.
 *
 * @return FERRUM_ERROR_INVALID_STATE: it is not over; FERRUM_ERROR_CANCELLED: it was
 *         cancelled, and the items are as they were; otherwise what the job failed with.
 */
FERRUM_API ferrum_status ferrum_dummy_job_get_result(
    ferrum_dummy_job job, ferrum_dummy_job_result *result_out);

/**
 * Ends a job.
 *
 * @param flags  0 or FERRUM_FORCE: it is cancelled and waited for.
 * @return FERRUM_ERROR_BUSY: it is not over.
 *
 * @ends
 * @waits
 */
FERRUM_API ferrum_status ferrum_dummy_job_destroy(ferrum_dummy_job job,
                                                  uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_DUMMY_H */

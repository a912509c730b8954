/*
 * Dummies are named lists of items. Tests use them to try each shape of a function.
 * A test adds this header to ferrum_mem.h in a copy of the tree. It is never shipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_DUMMY_H
#define FERRUM_MEM_DUMMY_H

#include "base.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A list of items in memory. */
typedef struct ferrum_dummy {
    uint64_t id; /**< 0 is no dummy */
} ferrum_dummy;

/** A long operation on a dummy. */
typedef struct ferrum_dummy_job {
    uint64_t id; /**< 0 is no job */
} ferrum_dummy_job;

/** The order in which items are listed.
 *  @go dummy.Order */
typedef int32_t ferrum_dummy_order;
/** The order in which they were added. */
#define FERRUM_DUMMY_ORDER_GIVEN 0
/** By size, the smallest first. */
#define FERRUM_DUMMY_ORDER_SIZE 1

/** Items have different names. */
#define FERRUM_DUMMY_TRAIT_UNIQUE UINT32_C(1)
/** No item can be added. */
#define FERRUM_DUMMY_TRAIT_CLOSED UINT32_C(2)
/** Every trait. */
#define FERRUM_DUMMY_TRAIT_ALL UINT32_C(3)

/** A range of bytes.
 *  @go dummy.Extent */
typedef struct ferrum_dummy_extent {
    /** Start of the range. */
    uint64_t offset_bytes;
    /** Length of the range. */
    uint64_t size_bytes;
} ferrum_dummy_extent;

/** An item of a dummy.
 *  @go dummy.Item */
typedef struct ferrum_dummy_item {
    /** Its name, ended by a NUL; not empty. */
    char name[32];
    /** The range of the item. */
    ferrum_dummy_extent extent;
    /** A smaller rank is more important. */
    int32_t rank;
    uint32_t reserved;
} ferrum_dummy_item;

/** The settings of a dummy.
 *  @go dummy.Config */
typedef struct ferrum_dummy_config {
    uint32_t struct_size;
    /** The order in which items are listed. */
    ferrum_dummy_order order;
    /** Up to 63 bytes; NULL: none.
     *  @optional */
    const char *name;
    /** The range that the items must be inside; all zero: any range. */
    ferrum_dummy_extent room;
    /** FERRUM_DUMMY_TRAIT_* flags.
     *  @flags FERRUM_DUMMY_TRAIT */
    uint32_t flags;
    uint32_t reserved;
} ferrum_dummy_config;

/* clang-format off */
#define FERRUM_DUMMY_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_dummy_config), 0, NULL, {0, 0}, 0, 0}
/* clang-format on */

/** The state of a dummy.
 *  @go dummy.Info */
typedef struct ferrum_dummy_info {
    uint32_t struct_size;
    /** The order in which items are listed. */
    ferrum_dummy_order order;
    /** Its name. */
    char name[64];
    /** The range that the items must be inside. */
    ferrum_dummy_extent room;
    /** Number of items. */
    uint64_t items;
    /** FERRUM_DUMMY_TRAIT_* flags.
     *  @flags FERRUM_DUMMY_TRAIT */
    uint32_t flags;
    /** 1 if it has no items, else 0.
     *  @bool */
    uint32_t is_empty;
} ferrum_dummy_info;

/* clang-format off */
#define FERRUM_DUMMY_INFO_INIT {FERRUM_SIZE_OF(ferrum_dummy_info), 0, {0}, {0, 0}, 0, 0, 0}
/* clang-format on */

/**
 * Creates a dummy without items.
 *
 * @opens
 * @optional config
 */
FERRUM_API ferrum_status ferrum_dummy_create(const ferrum_dummy_config *config,
                                             ferrum_dummy *dummy_out);

/**
 * Destroys a dummy and releases the objects that it has adopted.
 *
 * @param flags  0 or FERRUM_FORCE: jobs on it are cancelled and end with it.
 * @return FERRUM_ERROR_BUSY: it has jobs.
 *
 * @ends
 * @waits
 */
FERRUM_API ferrum_status ferrum_dummy_destroy(ferrum_dummy dummy,
                                              uint32_t flags);

/** Returns the state of a dummy: a struct that contains a struct.
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
 * Adds all items, or none if one is invalid: an input array of records.
 *
 * @return FERRUM_ERROR_ALREADY_EXISTS: a name exists, and names must differ;
 *         FERRUM_ERROR_INVALID_OFFSET: an item is outside the room;
 *         FERRUM_ERROR_INVALID_STATE: the dummy is closed.
 */
FERRUM_API ferrum_status ferrum_dummy_add(ferrum_dummy dummy,
                                          const ferrum_dummy_item *items,
                                          uint64_t count);

/**
 * Returns the items in their order: an output array of records.
 *
 * @param items_out  space for capacity items; may be NULL if capacity is 0.
 * @param count_out  the number of items.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set, if capacity is not 0
 *         and less than the number of items.
 *
 * @infallible
 */
FERRUM_API ferrum_status ferrum_dummy_get_items(ferrum_dummy dummy,
                                                ferrum_dummy_item *items_out,
                                                size_t capacity,
                                                size_t *count_out);

/**
 * Removes all items with these names, or none if a name is unknown: a list of texts.
 *
 * @return FERRUM_ERROR_NOT_FOUND: there is no item with one of the names.
 */
FERRUM_API ferrum_status ferrum_dummy_remove(ferrum_dummy dummy,
                                             const char *const *names,
                                             uint64_t count,
                                             uint64_t *removed_out);

/**
 * Finds the first item with a name: outputs that may be NULL.
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
 * Adds all items of a JSON text, or none if one is invalid: a JSON input.
 *
 *   [{"name": "a", "offset_bytes": 0, "size_bytes": 4096, "rank": 0}]
 *
 * @param json_text   UTF-8 text of json_bytes bytes.
 * @return FERRUM_ERROR_INVALID_FORMAT; the errors of ferrum_dummy_add.
 */
FERRUM_API ferrum_status ferrum_dummy_add_json(ferrum_dummy dummy,
                                               const char *json_text,
                                               size_t json_bytes);

/**
 * Returns the names of the items as a JSON array: an output text.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_dummy_names_json(ferrum_dummy dummy,
                                                 char *buffer, size_t capacity,
                                                 size_t *length_out);

/**
 * Makes a dummy hold an object of the caller until the dummy ends: a release callback.
 *
 * @param release    called once if the call succeeds. If the call fails, release is
 *                   never called and the caller keeps the object.
 * @param user_data  the argument of release.
 * @return FERRUM_ERROR_INVALID_STATE: the dummy is closed.
 */
FERRUM_API ferrum_status ferrum_dummy_adopt(ferrum_dummy dummy,
                                            ferrum_release_fn release,
                                            void *user_data);

/**
 * Stops jobs on a dummy before their next step, or lets them continue.
 *
 * @bool held
 * @infallible
 */
FERRUM_API ferrum_status ferrum_dummy_hold(ferrum_dummy dummy, uint32_t held);

/**
 * Starts to sort the items of the dummy: long work. Each step places one item.
 *
 * @param job_out  the job. The caller destroys it with ferrum_dummy_job_destroy.
 * @return FERRUM_ERROR_BUSY: the dummy has another job.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_dummy_sort(ferrum_dummy dummy,
                                           ferrum_dummy_order order,
                                           ferrum_dummy_job *job_out);

/** The progress of a job.
 *  @go job.Progress */
typedef struct ferrum_dummy_job_progress {
    uint32_t struct_size;
    /** 1 if the job has ended, with or without success, else 0.
     *  @bool */
    uint32_t is_over;
    /** Number of steps that are done. */
    uint64_t done;
    /** Number of all steps; 0: not known. */
    uint64_t total;
} ferrum_dummy_job_progress;

/* clang-format off */
#define FERRUM_DUMMY_JOB_PROGRESS_INIT {FERRUM_SIZE_OF(ferrum_dummy_job_progress), 0, 0, 0}
/* clang-format on */

/** The result of a sort.
 *  @go dummy.Sorted */
typedef struct ferrum_dummy_job_result {
    uint32_t struct_size;
    uint32_t reserved;
    /** Number of items that changed their place. */
    uint64_t moved;
} ferrum_dummy_job_result;

/* clang-format off */
#define FERRUM_DUMMY_JOB_RESULT_INIT {FERRUM_SIZE_OF(ferrum_dummy_job_result), 0, 0}
/* clang-format on */

/** Returns the progress of a job.
 *  @infallible */
FERRUM_API ferrum_status ferrum_dummy_job_get_progress(
    ferrum_dummy_job job, ferrum_dummy_job_progress *progress_out);

/** Makes a job end before its next step. Has no effect on a job that is over.
 *  @infallible */
FERRUM_API ferrum_status ferrum_dummy_job_cancel(ferrum_dummy_job job);

/**
 * Waits until a job is over, with or without success.
 *
 * @return FERRUM_ERROR_TIMEOUT.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_dummy_job_wait(ferrum_dummy_job job,
                                               uint64_t timeout_ns);

/**
 * Returns the result of a job. It can be called repeatedly.
 *
 * @return FERRUM_ERROR_INVALID_STATE: the job is not over; FERRUM_ERROR_CANCELLED: it
 *         was cancelled and the items are unchanged; otherwise the error of the job.
 */
FERRUM_API ferrum_status ferrum_dummy_job_get_result(
    ferrum_dummy_job job, ferrum_dummy_job_result *result_out);

/**
 * Destroys a job.
 *
 * @param flags  0 or FERRUM_FORCE: the call cancels the job and waits for it.
 * @return FERRUM_ERROR_BUSY: the job is not over.
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

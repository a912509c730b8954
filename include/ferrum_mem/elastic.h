/*
 * Elastic pools: several models under one physical limit.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_ELASTIC_H
#define FERRUM_MEM_ELASTIC_H

#include "base.h"
#include "books.h"
#include "callbacks.h"
#include "pools.h"
#include "virtual.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An elastic pool has models, each named by a text of 1 to 63 bytes, with address
 * space of its own, as a virtual pool has. The physical memory of all of them
 * together is under one limit. The address spaces together may be larger than it.
 *
 * A model may be guaranteed a part of the limit, which nobody else gets, and may
 * have a maximum. The rest goes to whoever asks. When it does not suffice for an
 * allocation, room is looked for in this order, until there is enough:
 *
 *   1. Pages that no range uses; of models of lower priority first.
 *   2. Freed ranges whose queued work is about to be done are waited for.
 *   3. Models above their guarantee have their reclaim callbacks called, one
 *      after the other: lower priority first, then those that are further above
 *      their guarantee, then in the order of registration.
 *
 * Allocations that wait stand in line: those within their model's guarantee first,
 * then higher priority, then first come, first served; nobody is passed for ever.
 * A model is never asked for what it is guaranteed.
 *
 * A page that goes from one model to another is made zeros in between, unless
 * both are unscrubbed.
 */

/** Settings of an elastic pool.
 *  @go vmm.ElasticConfig */
typedef struct ferrum_elastic_pool_config {
    uint32_t struct_size;
    /** None is known: 0. */
    uint32_t flags;
    /** Upper bound of the memory of all models together, in whole pages; 0: what
     *  the device has. More than that is refused: 32 GiB on a device of 24 are, so
     *  a number for all machines is the smaller of it and total_bytes. The models'
     *  virtual_bytes have no such bound: together they may be above the limit. */
    uint64_t limit_bytes;
    /** As in ferrum_vpool_config. */
    uint64_t page_bytes;
    /** Name in reports; NULL: none. At most 63 bytes. */
    const char *name;
    /** As in ferrum_vpool_config.
     *  @none FERRUM_READY_PAGES_AUTO
     *  @read readyPages */
    uint32_t ready_pages;
    /** FERRUM_BACKING_MOVABLE, FERRUM_BACKING_PRIVATE or FERRUM_BACKING_RDMA */
    ferrum_backing backing;
} ferrum_elastic_pool_config;

/* clang-format off */
#define FERRUM_ELASTIC_POOL_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_elastic_pool_config), 0, 0, 0, NULL, FERRUM_READY_PAGES_AUTO, FERRUM_BACKING_MOVABLE}
/* clang-format on */

/**
 * Makes an elastic pool without models. It takes nothing from the device yet.
 *
 * @param config  settings, or NULL for FERRUM_ELASTIC_POOL_CONFIG_INIT.
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for
 *         a limit above what the device has; FERRUM_ERROR_INVALID_CONFIG for one
 *         of less than a page.
 *
 * @opens
 * @optional config
 */
FERRUM_API ferrum_status ferrum_elastic_pool_create(
    ferrum_device device, const ferrum_elastic_pool_config *config,
    ferrum_elastic_pool *pool_out);

/**
 * Destroys an elastic pool with its models, as ferrum_vpool_destroy. Registrations
 * of reclaim callbacks stay until they are removed, but are not called any more.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed for any model, while one has ranges
 *         or allocations under way or that wait, or is being registered or unregistered.
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_elastic_pool_destroy(ferrum_elastic_pool pool,
                                                     uint32_t flags);

/** Settings of a model.
 *  @go vmm.ModelConfig */
typedef struct ferrum_model_config {
    uint32_t struct_size;
    /** When pages are short, models of lower priority give first, and those of
     *  higher priority are served first. */
    int32_t priority;
    /** Address space, rounded up to whole pages; not 0.
     *  @required */
    uint64_t virtual_bytes;
    /** What is kept of the limit for this model, rounded up to whole pages. The
     *  guarantees of all models together are within the limit, and each is backed by
     *  pages that no other model uses or is guaranteed. */
    uint64_t guaranteed_bytes;
    /** What the model may have at most, in whole pages; 0: no bound of its own. */
    uint64_t max_bytes;
    /** Its pages may go to another model that is unscrubbed as well without being
     *  made zeros (1).
     *  @bool */
    uint32_t unscrubbed;
    /** What is not backed of guaranteed_bytes waits, and becomes effective as pages come
     *  back, before allocations that stand in line get them (1); or the call fails (0).
     *  @bool */
    uint32_t guarantee_may_wait;
} ferrum_model_config;

/* clang-format off */
#define FERRUM_MODEL_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_model_config), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Adds a model, while others run. It takes address space, and memory only for its
 * tables.
 *
 * @param model   its id, 1 to 63 bytes.
 * @param config  required.
 * @return FERRUM_ERROR_MODEL_ALREADY_EXISTS, with the id in the message;
 *         FERRUM_ERROR_INVALID_ARGUMENT for an id that is none;
 *         FERRUM_ERROR_INVALID_SIZE and FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY for
 *         its address space; FERRUM_ERROR_INVALID_CONFIG for guarantees above the
 *         limit, or a guarantee above the model's own maximum or address space;
 *         FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, with how much is backed, for a guarantee
 *         that is not and may not wait: nobody's present guarantee is weakened for it.
 *
 * @opens
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_register_model(ferrum_elastic_pool pool, const char *model,
                                   const ferrum_model_config *config);

/**
 * Takes a model out, while others run: waits for queued work that uses its freed
 * ranges and for running calls of its reclaim callbacks, which are not called any
 * more. What it had goes to the others.
 *
 * @param flags  0, or FERRUM_FORCE: also while it has ranges; then waits for all
 *               work of the device first, and its allocations that wait fail.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while it has ranges, or allocations
 *         under way or that wait;
 *         FERRUM_ERROR_MODEL_NOT_FOUND, with the id in the message.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_elastic_pool_unregister_model(
    ferrum_elastic_pool pool, const char *model, uint32_t flags);

/**
 * Puts memory behind the first range of the model's address space that is free and
 * long enough, in whole pages. The first bytes are zeros, or what this model had
 * written there before. Where no free range is long enough, and freed ones that queued
 * work still uses would make one, it waits for that work, ten seconds at most.
 *
 * @param size_bytes        not 0.
 * @param address_out       where it starts.
 * @param offset_bytes_out  optional, may be NULL: the same from the model's base
 *                          address.
 * @return FERRUM_ERROR_MODEL_NOT_FOUND; FERRUM_ERROR_INVALID_SIZE;
 *         FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY when no range is long enough;
 *         FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY when the limits allow no more and
 *         no room was found, with what was requested and what was available;
 *         FERRUM_ERROR_OUT_OF_MEMORY when the device has less than the limits
 *         allow. In a host function or a reclaim callback it does not wait for
 *         room.
 *
 * @optional offset_bytes_out
 * @by-hand cpp its result has a type of its own
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_alloc(ferrum_elastic_pool pool,
                                                   const char *model,
                                                   uint64_t size_bytes,
                                                   ferrum_address *address_out,
                                                   uint64_t *offset_bytes_out);

/** A range of a model, as asked for.
 *  @go library.ModelRequest */
typedef struct ferrum_model_request {
    uint32_t struct_size;
    /** The range starts at offset_bytes (1), behind every page that it touches, or
     *  where there is room (0).
     *  @bool
     *  @go Placed */
    uint32_t at_offset;
    /** From the model's base address; 0 where at_offset is.
     *  @if at_offset */
    uint64_t offset_bytes;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the books, at most 63 bytes; NULL or empty: the model's id. */
    const char *tag;
    /** How long to wait while the tag, the model or what is at that place sleeps,
     *  in nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at once.
     *  @go Wait */
    uint64_t asleep_wait_ns;
    /** What uses the range first: it is freed behind the work of this stream. {0}: the
     *  default stream.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
} ferrum_model_request;

/* clang-format off */
#define FERRUM_MODEL_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_model_request), 0, 0, 0, NULL, 0, {0}}
/* clang-format on */

/**
 * As ferrum_elastic_pool_alloc, with all that can be asked for.
 *
 * @return besides, where at_offset is 1: FERRUM_ERROR_INVALID_OFFSET and
 *         FERRUM_ERROR_ALREADY_MAPPED as ferrum_vpool_alloc.
 *
 * @optional offset_bytes_out
 * @by-hand cpp its result has a type of its own
 * @by-hand rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_alloc_with(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_model_request *request, ferrum_address *address_out,
    uint64_t *offset_bytes_out);

/**
 * Takes the memory of a range of a model away, as ferrum_vpool_free.
 *
 * @param offset_bytes,size_bytes,stream  as for ferrum_vpool_free.
 * @return as ferrum_vpool_free, FERRUM_ERROR_BUSY during a sleep or wake of the
 *         range included; FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @optional stream
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_free(ferrum_elastic_pool pool,
                                                  const char *model,
                                                  uint64_t offset_bytes,
                                                  uint64_t size_bytes,
                                                  ferrum_stream stream);

/**
 * As ferrum_vpool_record_stream, for a range of a model.
 *
 * @return besides: FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @optional stream
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_record_stream(
    ferrum_elastic_pool pool, const char *model, uint64_t offset_bytes,
    uint64_t size_bytes, ferrum_stream stream);

/**
 * As ferrum_vpool_is_mapped, for a range of a model.
 *
 * @bool mapped_out
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_is_mapped(ferrum_elastic_pool pool,
                                                       const char *model,
                                                       uint64_t offset_bytes,
                                                       uint64_t size_bytes,
                                                       uint32_t *mapped_out);

/** A model at one moment. Pages are counts.
 *  @go library.ModelInfo */
typedef struct ferrum_model_info {
    uint32_t struct_size;
    /** Its priority. */
    int32_t priority;
    /** 1 - mapped pages / all pages of its address space. */
    float unmapped_share;
    /** 1 - longest free run / free address space; 0 when nothing is free. */
    float fragmentation;
    /** Where its address space starts. */
    ferrum_address base_address;
    /** Size of a page. */
    uint64_t page_bytes;
    /** Its address space, in whole pages. */
    uint64_t virtual_capacity_bytes;
    /** Memory behind mapped and retiring pages. */
    uint64_t physical_bytes;
    /** The most that physical_bytes was. */
    uint64_t peak_physical_bytes;
    /** What the mapped pages were asked for with. */
    uint64_t requested_bytes;
    /** Pages that ranges have. */
    uint64_t mapped_pages;
    /** Freed, and queued work may still use them. */
    uint64_t retiring_pages;
    /** Freed, but still mapped where they were. */
    uint64_t parked_pages;
    /** Memory that the model had last and nobody uses now. */
    uint64_t cached_bytes;
    /** Its guarantee that is in effect. */
    uint64_t guaranteed_bytes;
    /** 0: no bound of its own. */
    uint64_t max_bytes;
    /** What the model may still have at once, without anybody giving. */
    uint64_t available_bytes;
    /** Longest run of free address space. */
    uint64_t largest_free_run_bytes;
    /** Successful allocations so far. */
    uint64_t allocations;
    /** Frees so far. */
    uint64_t frees;
    /** Allocations so far that found no memory. */
    uint64_t failures;
    /** Allocations so far that stood in line. */
    uint64_t waits;
    /** How long they did in all. */
    uint64_t waited_ns;
    /** Calls so far of its reclaim callbacks. */
    uint64_t reclaim_calls;
    /** What they said to have freed. */
    uint64_t reclaimed_bytes;
    /** Address space of its tables; only what was used has memory. */
    uint64_t table_bytes;
    /** Pages of ranges that sleep; they have no memory. */
    uint64_t asleep_pages;
    /** Their bytes. */
    uint64_t asleep_bytes;
    /** Host memory that holds bytes of what sleeps. */
    uint64_t asleep_host_bytes;
    /** Disk space that does. */
    uint64_t asleep_file_bytes;
    /** Of ranges of which nothing is kept. */
    uint64_t asleep_discarded_bytes;
    /** Calls so far that put to sleep. */
    uint64_t sleeps;
    /** Calls so far that woke. */
    uint64_t wakes;
    /** How long those took in all that put to sleep. */
    uint64_t sleep_ns;
    /** How long those took in all that woke. */
    uint64_t wake_ns;
    /** Calls so far that were to put to sleep and failed once they had begun. */
    uint64_t sleep_failures;
    /** Calls so far that were to wake and failed once they had begun. */
    uint64_t wake_failures;
    /** The guarantee that it asked for: what is above guaranteed_bytes waits for pages. */
    uint64_t requested_guarantee_bytes;
} ferrum_model_info;

/* clang-format off */
#define FERRUM_MODEL_INFO_INIT {FERRUM_SIZE_OF(ferrum_model_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a model; FERRUM_ERROR_MODEL_NOT_FOUND for an unknown one.
 *  @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_get_model_info(
    ferrum_elastic_pool pool, const char *model, ferrum_model_info *info_out);

/** Limits of a model that can be changed while it runs.
 *  @go vmm.ModelLimits */
typedef struct ferrum_model_limits {
    uint32_t struct_size;
    /** As in ferrum_model_config. */
    int32_t priority;
    /** As in ferrum_model_config. */
    uint64_t guaranteed_bytes;
    /** As in ferrum_model_config. */
    uint64_t max_bytes;
    /** As in ferrum_model_config.
     *  @bool */
    uint32_t guarantee_may_wait;
    uint32_t reserved;
} ferrum_model_limits;

/* clang-format off */
#define FERRUM_MODEL_LIMITS_INIT {FERRUM_SIZE_OF(ferrum_model_limits), 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Changes guarantee, maximum and priority of a model, all of them or none, while
 * it and others run. What is mapped stays. A guarantee that is raised keeps what of it
 * is in effect.
 *
 * @param limits  required; fields as in ferrum_model_config.
 * @return FERRUM_ERROR_INVALID_CONFIG and FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY as
 *         ferrum_elastic_pool_register_model; FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @by-hand rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_set_model_limits(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_model_limits *limits);

/** An elastic pool at one moment.
 *  @go library.ElasticPoolInfo */
typedef struct ferrum_elastic_pool_info {
    uint32_t struct_size;
    uint32_t reserved;
    /** Size of a page. */
    uint64_t page_bytes;
    /** The limit of all models together. */
    uint64_t physical_limit_bytes;
    /** Used by the models: mapped, retiring, or granted to allocations on their
     *  way. Above the limit only after that was lowered. */
    uint64_t physical_bytes;
    /** The most that physical_bytes was. */
    uint64_t peak_physical_bytes;
    /** How many models are registered.
     *  @go Models */
    uint64_t num_models;
    /** Address space of all models together. */
    uint64_t virtual_bytes;
    /** Guarantees of all models together. */
    uint64_t guaranteed_bytes;
    /** Freed, and queued work may still use it. */
    uint64_t retiring_bytes;
    /** Had from the device, and nobody uses it. */
    uint64_t cached_bytes;
    /** Had from the device. */
    uint64_t held_bytes;
    /** Allocations that stand in line now. */
    uint64_t waiting;
} ferrum_elastic_pool_info;

/* clang-format off */
#define FERRUM_ELASTIC_POOL_INFO_INIT {FERRUM_SIZE_OF(ferrum_elastic_pool_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes an elastic pool.
 *  @infallible */
FERRUM_API ferrum_status ferrum_elastic_pool_get_info(
    ferrum_elastic_pool pool, ferrum_elastic_pool_info *info_out);

/** Books of an elastic pool: its live blocks are the ranges of all models.
 *  @infallible */
FERRUM_API ferrum_status ferrum_elastic_pool_get_statistics(
    ferrum_elastic_pool pool, ferrum_statistics *statistics_out);

/**
 * Every model of a pool, of one moment and in the order of registration, as JSON:
 *
 *   {"models": [{"id": "chat", "physical_bytes": 0}]}
 *
 * with all fields of ferrum_model_info.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @by-hand python it gives records
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_models_json(ferrum_elastic_pool pool, char *buffer,
                                size_t capacity, size_t *length_out);

/**
 * Changes the limit of all models together while they run; 0: what the device
 * has. What is mapped stays, and free pages above the limit go back to the device,
 * as with ferrum_vpool_set_limit. Below what the models use or are guaranteed, one that
 * stays within its guarantee may have to wait until those above theirs have given.
 *
 * @return FERRUM_ERROR_INVALID_CONFIG for less than the models have asked to be
 *         guaranteed, or than a page; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for more than the
 *         device has.
 * @none limit_bytes 0
 */
FERRUM_API ferrum_status ferrum_elastic_pool_set_limit(ferrum_elastic_pool pool,
                                                       uint64_t limit_bytes);

/** As ferrum_vpool_compact. */
FERRUM_API ferrum_status ferrum_elastic_pool_compact(
    ferrum_elastic_pool pool, ferrum_compact_report *report_out);

/**
 * As ferrum_vpool_trim.
 *
 * @default keep_bytes 0
 */
FERRUM_API ferrum_status ferrum_elastic_pool_trim(ferrum_elastic_pool pool,
                                                  uint64_t keep_bytes,
                                                  uint64_t *released_bytes_out);

/**
 * As ferrum_vpool_synchronize, for the ranges of all models.
 *
 * @waits
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_synchronize(ferrum_elastic_pool pool, uint64_t timeout_ns);

/** As ferrum_vpool_pause.
 *  @infallible */
FERRUM_API ferrum_status ferrum_elastic_pool_pause(ferrum_elastic_pool pool);

/** Ends a ferrum_elastic_pool_pause.
 *  @infallible */
FERRUM_API ferrum_status ferrum_elastic_pool_resume(ferrum_elastic_pool pool);

/**
 * Asked to free memory of a model when pages are short. Runs on a thread of the
 * library, with no lock held; it may call the library, mostly to free ranges of
 * its model. What it frees after its deadline goes to who waits then.
 *
 * @param model  id of the model, valid during the call only.
 * @return bytes that were freed, 0 if none.
 */
typedef uint64_t (*ferrum_model_reclaim_fn)(ferrum_elastic_pool pool,
                                            const char *model,
                                            uint64_t needed_bytes,
                                            void *user_data);

/**
 * Registers a reclaim callback of a model. It is called only while the model has
 * more than its guarantee, or is at its own maximum and needs pages itself. End it
 * with ferrum_registration_remove, also after its model is gone.
 *
 * @param config     deadline_ns of it; priority is the model's, and 0 here. NULL
 *                   for FERRUM_RECLAIM_CONFIG_INIT.
 * @param user_data  must stay valid until the registration is removed.
 *
 * @optional config
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status ferrum_elastic_pool_reclaim_callback_add(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_reclaim_config *config, ferrum_model_reclaim_fn callback,
    void *user_data, ferrum_registration *registration_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_ELASTIC_H */

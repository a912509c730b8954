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
 * An elastic pool has models. A text of 1 to 63 bytes names each model. Each model
 * has its own address space, as a virtual pool has. One limit applies to the
 * physical memory of all models together. The sum of the address spaces may be
 * larger than the limit.
 *
 * A model may have a guarantee, a part of the limit that no other model can use,
 * and a maximum. All models can use the rest of the limit. If free pages do not
 * suffice for an allocation, the pool takes these steps until there are enough:
 *
 *   1. It uses pages that no range uses, first those of models of lower priority.
 *   2. It waits for freed ranges whose queued work will soon complete.
 *   3. It calls the reclaim callbacks of models above their guarantee, one after
 *      the other: first models of lower priority, then models that are further
 *      above their guarantee, then in the order of registration.
 *
 * Allocations that must wait form a queue: first those within the guarantee of
 * their model, then those of higher priority, then in the order of arrival. Only a
 * bounded number of later allocations can overtake one that waits. The pool never
 * requests pages of its guarantee from a model.
 *
 * A page that moves from one model to another is filled with zeros in between,
 * unless both models are unscrubbed.
 */

/** Settings of an elastic pool.
 *  @go vmm.ElasticConfig */
typedef struct ferrum_elastic_pool_config {
    uint32_t struct_size;
    /** No flag is defined: 0. */
    uint32_t flags;
    /** Upper bound of the memory of all models together, in whole pages; 0: the
     *  memory of the device. A limit above the memory of the device is rejected.
     *  For example, 32 GiB is rejected on a device with 24 GiB. A program that runs
     *  on several machines can use the smaller of its number and total_bytes. The
     *  virtual_bytes of the models have no such bound: together they may exceed the
     *  limit.
     *  @none 0 */
    uint64_t limit_bytes;
    /** The same as in ferrum_vpool_config.
     *  @none 0 */
    uint64_t page_bytes;
    /** Name in reports; NULL: none. At most 63 bytes. */
    const char *name;
    /** The same as in ferrum_vpool_config.
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
 * Creates an elastic pool without models. The pool allocates nothing from the
 * device yet.
 *
 * @param config  settings, or NULL for FERRUM_ELASTIC_POOL_CONFIG_INIT.
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a
 *         limit above the memory of the device; FERRUM_ERROR_INVALID_CONFIG for a
 *         limit below one page.
 *
 * @opens
 * @optional config
 */
FERRUM_API ferrum_status ferrum_elastic_pool_create(
    ferrum_device device, const ferrum_elastic_pool_config *config,
    ferrum_elastic_pool *pool_out);

/**
 * Destroys an elastic pool with its models, like ferrum_vpool_destroy.
 * Registrations of reclaim callbacks stay until they are removed, but the library
 * does not call them again.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and no model has changed, while a model has ranges or
 *         running or waiting allocations, or is being registered or unregistered.
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
    /** When pages are short, models of lower priority release pages first, and
     *  allocations of models of higher priority are served first. */
    int32_t priority;
    /** Address space, rounded up to whole pages; not 0.
     *  @required */
    uint64_t virtual_bytes;
    /** The part of the limit that is kept for this model, rounded up to whole
     *  pages. The guarantees of all models together are within the limit. Each
     *  guarantee is backed by pages that no other model uses or has as its
     *  guarantee. */
    uint64_t guaranteed_bytes;
    /** Upper bound of the memory of the model, in whole pages; 0: no bound of its
     *  own.
     *  @none 0 */
    uint64_t max_bytes;
    /** Pages of this model may pass to another unscrubbed model without being set
     *  to zero (1).
     *  @bool */
    uint32_t unscrubbed;
    /** The part of guaranteed_bytes that has no pages yet waits (1), or the call
     *  fails (0). A waiting part takes effect as pages become free, before waiting
     *  allocations get these pages.
     *  @bool */
    uint32_t guarantee_may_wait;
} ferrum_model_config;

/* clang-format off */
#define FERRUM_MODEL_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_model_config), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Adds a model while other models run. The model gets address space, and memory
 * only for its tables.
 *
 * @param model  its id, 1 to 63 bytes.
 * @param config  required.
 * @return FERRUM_ERROR_MODEL_ALREADY_EXISTS, with the id in the message;
 *         FERRUM_ERROR_INVALID_ARGUMENT for an invalid id;
 *         FERRUM_ERROR_INVALID_SIZE and FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY for its
 *         address space; FERRUM_ERROR_INVALID_CONFIG for guarantees above the
 *         limit, or a guarantee above the model's own maximum or address space;
 *         FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, with the number of backed bytes, for
 *         a guarantee that has too few pages and may not wait. The library does not
 *         weaken the guarantee of another model for it.
 *
 * @opens
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_register_model(ferrum_elastic_pool pool, const char *model,
                                   const ferrum_model_config *config);

/**
 * Removes a model while other models run. The call waits for queued work that uses
 * freed ranges of the model, and for running calls of its reclaim callbacks; these
 * are not called again. The memory of the model becomes available to the other
 * models.
 *
 * @param flags  0, or FERRUM_FORCE: remove the model also while it has ranges. The
 *                call then first waits for all work of the device, and waiting
 *                allocations of the model fail.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while the model has ranges,
 *         or running or waiting allocations; FERRUM_ERROR_MODEL_NOT_FOUND, with the
 *         id in the message.
 *
 * @waits
 * @by-hand python,rust the model ends itself
 */
FERRUM_API ferrum_status ferrum_elastic_pool_unregister_model(
    ferrum_elastic_pool pool, const char *model, uint32_t flags);

/**
 * Allocates the first free range of the model's address space that is long enough,
 * in whole pages, and maps memory there. The first bytes are zeros, or bytes that
 * this model wrote before. If no free range is long enough, but freed ranges
 * that queued work still uses would make one, the call waits for that work for at
 * most ten seconds.
 *
 * @param size_bytes  not 0.
 * @param address_out  address of the range.
 * @param offset_bytes_out  optional, may be NULL: offset of the range from the
 *                model's base address.
 * @return FERRUM_ERROR_MODEL_NOT_FOUND; FERRUM_ERROR_INVALID_SIZE;
 *         FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY when no range is long enough;
 *         FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, with the requested and the available
 *         size, when the limits allow no more and reclaiming freed too little;
 *         FERRUM_ERROR_OUT_OF_MEMORY when the device has less than the limits
 *         allow. In a host function or a reclaim callback the call does not wait
 *         for memory.
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

/** A request for a range of a model.
 *  @go library.ModelRequest */
typedef struct ferrum_model_request {
    uint32_t struct_size;
    /** The range starts at offset_bytes and contains every page that it touches
     *  (1), or the library chooses the offset (0).
     *  @bool
     *  @go Placed */
    uint32_t at_offset;
    /** Offset from the model's base address; 0 where at_offset is 0.
     *  @if at_offset */
    uint64_t offset_bytes;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the counters, at most 63 bytes; NULL or empty: the model's id. */
    const char *tag;
    /** How long to wait while the tag, the model or the ranges at that offset are
     *  asleep, in nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at
     *  once.
     *  @go Wait */
    uint64_t asleep_wait_ns;
    /** The first stream that uses the range. A free of the range waits for the work
     *  of this stream. {0}: the default stream.
     *  @optional
     *  @go StreamHandle */
    ferrum_stream stream;
} ferrum_model_request;

/* clang-format off */
#define FERRUM_MODEL_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_model_request), 0, 0, 0, NULL, 0, {0}}
/* clang-format on */

/**
 * The same as ferrum_elastic_pool_alloc, with all options.
 *
 * @return also, where at_offset is 1: FERRUM_ERROR_INVALID_OFFSET and
 *         FERRUM_ERROR_ALREADY_MAPPED as ferrum_vpool_alloc.
 *
 * @optional offset_bytes_out
 * @by-hand cpp its result has a type of its own
 * @by-hand rust a method of the model
 * @by-hand python a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_alloc_with(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_model_request *request, ferrum_address *address_out,
    uint64_t *offset_bytes_out);

/**
 * Maps memory at many ranges of a model, like ferrum_vpool_alloc_batch: at all of
 * them, or at none on failure. The pages of all ranges are one request to the pool:
 * it waits once, and the reclaim callbacks are called with the sum of the missing
 * memory.
 *
 * @param ranges,count,options  as for ferrum_vpool_alloc_batch.
 * @return as ferrum_elastic_pool_alloc_with with at_offset 1, and as
 *         ferrum_vpool_alloc_batch for the list.
 *
 * @optional options
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_alloc_batch(ferrum_elastic_pool pool, const char *model,
                                const ferrum_byte_range *ranges, uint64_t count,
                                const ferrum_batch_options *options);

/**
 * Maps memory at many ranges of a model, each at the first free place that is long
 * enough, like ferrum_elastic_pool_alloc: all of them, or none on failure. The
 * library places the ranges in the order of the list. The pages of all ranges are
 * one request to the pool, as in ferrum_elastic_pool_alloc_batch. Each range becomes
 * an allocation of its own, and is freed alone or with others.
 *
 * @param sizes  sizes of the ranges; none is 0.
 * @param count  at most FERRUM_BATCH_MAX; 0 does nothing.
 * @param options  as for ferrum_vpool_alloc_batch.
 * @param offsets_out  room for count offsets from the model's base address, in the
 *                order of sizes. All are zero on failure, unless count is out of
 *                bounds.
 * @return as ferrum_elastic_pool_alloc_with with at_offset 0. An error about one
 *         size names it by its index, such as sizes[3];
 *         FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY also when the sizes together exceed
 *         the address space; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY states the size of
 *         all ranges. Nothing has changed after an error.
 *
 * @optional options
 * @batch offsets_out
 * @by-hand cpp it fills a list whose length the caller gives
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_alloc_batch_anywhere(
    ferrum_elastic_pool pool, const char *model, const uint64_t *sizes,
    uint64_t count, const ferrum_batch_options *options, uint64_t *offsets_out);

/**
 * Frees a range of a model, like ferrum_vpool_free.
 *
 * @param offset_bytes,size_bytes,stream  as for ferrum_vpool_free.
 * @return as ferrum_vpool_free, with FERRUM_ERROR_BUSY during a sleep or wake of
 *         the range; FERRUM_ERROR_MODEL_NOT_FOUND.
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
 * Frees many ranges of a model, like ferrum_vpool_free_batch: all of them, or none
 * on failure.
 *
 * @param ranges,count,stream  as for ferrum_vpool_free_batch.
 * @return as ferrum_vpool_free_batch; FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @optional stream
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_free_batch(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_byte_range *ranges, uint64_t count, ferrum_stream stream);

/**
 * The same as ferrum_vpool_record_stream, for a range of a model.
 *
 * @return also FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @optional stream
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_record_stream(
    ferrum_elastic_pool pool, const char *model, uint64_t offset_bytes,
    uint64_t size_bytes, ferrum_stream stream);

/**
 * The same as ferrum_vpool_record_stream_batch, for ranges of a model.
 *
 * @return also FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @optional stream
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_record_stream_batch(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_byte_range *ranges, uint64_t count, ferrum_stream stream);

/**
 * The same as ferrum_vpool_is_mapped, for a range of a model.
 *
 * @bool mapped_out
 * @by-hand python,rust a method of the model
 */
FERRUM_API ferrum_status ferrum_elastic_pool_is_mapped(ferrum_elastic_pool pool,
                                                       const char *model,
                                                       uint64_t offset_bytes,
                                                       uint64_t size_bytes,
                                                       uint32_t *mapped_out);

/** A model at one moment. Fields that end in _pages are counts.
 *  @go library.ModelInfo */
typedef struct ferrum_model_info {
    uint32_t struct_size;
    /** Its priority. */
    int32_t priority;
    /** 1 - mapped pages / all pages of its address space. */
    float unmapped_share;
    /** 1 - longest free run / free address space; 0 when nothing is free. */
    float fragmentation;
    /** Start of its address space. */
    ferrum_address base_address;
    /** Size of a page. */
    uint64_t page_bytes;
    /** Size of its address space, in whole pages. */
    uint64_t virtual_capacity_bytes;
    /** Memory of mapped and retiring pages. */
    uint64_t physical_bytes;
    /** The highest physical_bytes so far. */
    uint64_t peak_physical_bytes;
    /** The sizes that were requested for the mapped pages. */
    uint64_t requested_bytes;
    /** Pages of live ranges. */
    uint64_t mapped_pages;
    /** Pages of freed ranges that queued work may still use. */
    uint64_t retiring_pages;
    /** Pages of freed ranges that stay mapped for reuse. */
    uint64_t parked_pages;
    /** Unused memory that this model was the last to use. */
    uint64_t cached_bytes;
    /** The part of its guarantee that is in effect. */
    uint64_t guaranteed_bytes;
    /** 0: no bound of its own.
     *  @none 0 */
    uint64_t max_bytes;
    /** Bytes that the model can allocate at once, without pages of other models. */
    uint64_t available_bytes;
    /** Longest run of free address space. */
    uint64_t largest_free_run_bytes;
    /** Successful allocations so far. */
    uint64_t allocations;
    /** Frees so far. */
    uint64_t frees;
    /** Allocations so far that failed for lack of memory. */
    uint64_t failures;
    /** Allocations so far that had to wait. */
    uint64_t waits;
    /** Time that they waited in all. */
    uint64_t waited_ns;
    /** Calls so far of its reclaim callbacks. */
    uint64_t reclaim_calls;
    /** Bytes that its reclaim callbacks reported as freed. */
    uint64_t reclaimed_bytes;
    /** Address space of its tables. Only used parts have memory. */
    uint64_t table_bytes;
    /** Pages of ranges that are asleep. They have no memory. */
    uint64_t asleep_pages;
    /** Bytes of ranges that are asleep. */
    uint64_t asleep_bytes;
    /** Host memory with the contents of ranges that are asleep. */
    uint64_t asleep_host_bytes;
    /** Disk space with the contents of ranges that are asleep. */
    uint64_t asleep_file_bytes;
    /** Bytes of ranges that are asleep and whose contents were discarded. */
    uint64_t asleep_discarded_bytes;
    /** Sleep calls so far. */
    uint64_t sleeps;
    /** Wake calls so far. */
    uint64_t wakes;
    /** Time of all sleep calls. */
    uint64_t sleep_ns;
    /** Time of all wake calls. */
    uint64_t wake_ns;
    /** Sleep calls so far that failed after they had begun. */
    uint64_t sleep_failures;
    /** Wake calls so far that failed after they had begun. */
    uint64_t wake_failures;
    /** The requested guarantee. The part above guaranteed_bytes waits for pages. */
    uint64_t requested_guarantee_bytes;
} ferrum_model_info;

/* clang-format off */
#define FERRUM_MODEL_INFO_INIT {FERRUM_SIZE_OF(ferrum_model_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a model. FERRUM_ERROR_MODEL_NOT_FOUND for an unknown model.
 *  @by-hand python,rust a method of the model */
FERRUM_API ferrum_status ferrum_elastic_pool_get_model_info(
    ferrum_elastic_pool pool, const char *model, ferrum_model_info *info_out);

/** Limits of a model that can be changed while it runs.
 *  @go vmm.ModelLimits */
typedef struct ferrum_model_limits {
    uint32_t struct_size;
    /** The same as in ferrum_model_config. */
    int32_t priority;
    /** The same as in ferrum_model_config. */
    uint64_t guaranteed_bytes;
    /** The same as in ferrum_model_config.
     *  @none 0 */
    uint64_t max_bytes;
    /** The same as in ferrum_model_config.
     *  @bool */
    uint32_t guarantee_may_wait;
    uint32_t reserved;
} ferrum_model_limits;

/* clang-format off */
#define FERRUM_MODEL_LIMITS_INIT {FERRUM_SIZE_OF(ferrum_model_limits), 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Changes guarantee, maximum and priority of a model while it and others run: all
 * of them, or none on failure. Mapped ranges stay. If the guarantee rises, the part
 * of it that is in effect stays in effect.
 *
 * @param limits  required; fields as in ferrum_model_config.
 * @return FERRUM_ERROR_INVALID_CONFIG and FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY as
 *         ferrum_elastic_pool_register_model; FERRUM_ERROR_MODEL_NOT_FOUND.
 *
 * @by-hand rust a method of the model
 * @by-hand python a method of the model
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
    /** Memory that the models use: mapped, retiring, or granted to running
     *  allocations. It is above the limit only after the limit was lowered. */
    uint64_t physical_bytes;
    /** The highest physical_bytes so far. */
    uint64_t peak_physical_bytes;
    /** Number of registered models.
     *  @go Models */
    uint64_t num_models;
    /** Address space of all models together. */
    uint64_t virtual_bytes;
    /** Guarantees of all models together. */
    uint64_t guaranteed_bytes;
    /** Memory of freed ranges that queued work may still use. */
    uint64_t retiring_bytes;
    /** Memory that the pool holds from the device and no model uses. */
    uint64_t cached_bytes;
    /** Memory that the pool holds from the device. */
    uint64_t held_bytes;
    /** Allocations that wait now. */
    uint64_t waiting;
} ferrum_elastic_pool_info;

/* clang-format off */
#define FERRUM_ELASTIC_POOL_INFO_INIT {FERRUM_SIZE_OF(ferrum_elastic_pool_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes an elastic pool.
 *  @infallible */
FERRUM_API ferrum_status ferrum_elastic_pool_get_info(
    ferrum_elastic_pool pool, ferrum_elastic_pool_info *info_out);

/** Returns the counters of an elastic pool. Its live blocks are the ranges of all
 *  models.
 *  @infallible */
FERRUM_API ferrum_status ferrum_elastic_pool_get_statistics(
    ferrum_elastic_pool pool, ferrum_statistics *statistics_out);

/**
 * Describes every model of a pool at one moment, in the order of registration, as
 * JSON:
 *
 * {"models": [{"id": "chat", "physical_bytes": 0}]}
 *
 * Each model has all fields of ferrum_model_info.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @by-hand python it gives records
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_models_json(ferrum_elastic_pool pool, char *buffer,
                                size_t capacity, size_t *length_out);

/**
 * Changes the limit of all models together while they run; 0: the memory of the
 * device. Mapped ranges stay. Free pages above the limit are released to the
 * device, as with ferrum_vpool_set_limit. If the limit falls below the memory that
 * the models use or have as guarantees, a model within its guarantee may have to
 * wait until models above their guarantees have released pages.
 *
 * @return FERRUM_ERROR_INVALID_CONFIG for a limit below the requested guarantees or
 *         below one page; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a limit above the
 *         memory of the device.
 *
 * @none limit_bytes 0
 */
FERRUM_API ferrum_status ferrum_elastic_pool_set_limit(ferrum_elastic_pool pool,
                                                       uint64_t limit_bytes);

/** The same as ferrum_vpool_compact. */
FERRUM_API ferrum_status ferrum_elastic_pool_compact(
    ferrum_elastic_pool pool, ferrum_compact_report *report_out);

/**
 * The same as ferrum_vpool_trim.
 *
 * @default keep_bytes 0
 */
FERRUM_API ferrum_status ferrum_elastic_pool_trim(ferrum_elastic_pool pool,
                                                  uint64_t keep_bytes,
                                                  uint64_t *released_bytes_out);

/**
 * The same as ferrum_vpool_synchronize, for the ranges of all models.
 *
 * @waits
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_synchronize(ferrum_elastic_pool pool, uint64_t timeout_ns);

/** The same as ferrum_vpool_pause.
 *  @infallible */
FERRUM_API ferrum_status ferrum_elastic_pool_pause(ferrum_elastic_pool pool);

/** Ends a ferrum_elastic_pool_pause.
 *  @infallible */
FERRUM_API ferrum_status ferrum_elastic_pool_resume(ferrum_elastic_pool pool);

/**
 * Called to free memory of a model when pages are short. Runs on a thread of the
 * library, with no lock held. It may call the library, usually to free ranges of
 * its model. Memory that it frees after its deadline goes to the allocations that
 * wait then.
 *
 * @param model  id of the model, valid during the call only.
 * @return number of freed bytes, 0 if none.
 */
typedef uint64_t (*ferrum_model_reclaim_fn)(ferrum_elastic_pool pool,
                                            const char *model,
                                            uint64_t needed_bytes,
                                            void *user_data);

/**
 * Registers a reclaim callback of a model. The library calls it only while the
 * model holds more than its guarantee, or when the model itself needs pages and is
 * at its own maximum. Remove it with ferrum_registration_remove, also after the
 * model has ended.
 *
 * @param config  its deadline_ns is used; its priority must be 0, because the
 *                priority of the model counts. NULL for FERRUM_RECLAIM_CONFIG_INIT.
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

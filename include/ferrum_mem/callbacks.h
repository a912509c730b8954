/*
 * Callbacks of a device: pressure and reclaim.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLBACKS_H
#define FERRUM_MEM_CALLBACKS_H

#include "base.h"
#include "books.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Called when the pressure level changes. Runs on a thread of the library, one call
 * at a time, with no lock held. It may call every function of the library except
 * ferrum_shutdown. The level falls only when the use is 1 % of the device below the
 * bound of the level, so that the level does not change back and forth.
 */
typedef void (*ferrum_pressure_fn)(ferrum_device device,
                                   ferrum_pressure_level level,
                                   void *user_data);

/**
 * Registers a pressure callback on a device. Each registration receives every
 * change from then on.
 *
 * @param user_data  must stay valid until the registration is removed.
 *
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status ferrum_device_pressure_callback_add(
    ferrum_device device, ferrum_pressure_fn callback, void *user_data,
    ferrum_registration *registration_out);

/**
 * Called to free memory when an allocation would otherwise fail. Runs on a thread
 * of the library, with no lock held. It may free and trim memory through the
 * library. An allocation inside the callback fails without another reclaim call.
 *
 * @return number of freed bytes, 0 if none.
 */
typedef uint64_t (*ferrum_reclaim_fn)(ferrum_device device,
                                      uint64_t needed_bytes, void *user_data);

/** Settings of a reclaim callback.
 *  @by-hand python the arguments of on_reclaim() */
typedef struct ferrum_reclaim_config {
    uint32_t struct_size;
    /** Callbacks with a lower number are called first; those with equal numbers in
     *  the order of registration. */
    int32_t priority;
    /** The longest time that an allocation waits for the callback; 0: 100 ms. A
     *  value above INT64_MAX returns FERRUM_ERROR_INVALID_ARGUMENT.
     *  @none 0 */
    uint64_t deadline_ns;
} ferrum_reclaim_config;

/* clang-format off */
#define FERRUM_RECLAIM_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_reclaim_config), 0, 0}
/* clang-format on */

/**
 * Registers a reclaim callback on a device.
 *
 * @param config     settings, or NULL for FERRUM_RECLAIM_CONFIG_INIT.
 * @param user_data  must stay valid until the registration is removed.
 *
 * @optional config
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status ferrum_device_reclaim_callback_add(
    ferrum_device device, const ferrum_reclaim_config *config,
    ferrum_reclaim_fn callback, void *user_data,
    ferrum_registration *registration_out);

/**
 * Removes a callback. The call waits for a running call of the callback, unless it
 * comes from inside that callback. The library does not call the callback
 * afterwards. Two callbacks that run and remove each other would wait for each
 * other forever.
 *
 * @return FERRUM_ERROR_BUSY for a compute backend that is open
 *         (ferrum_compute_register), and for a layer type that is used
 *         (ferrum_layer_register).
 *
 * @ends
 * @by-hand go the callback that runs is told
 */
FERRUM_API ferrum_status
ferrum_registration_remove(ferrum_registration registration);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_CALLBACKS_H */

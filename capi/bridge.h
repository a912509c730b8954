/*
 * What Go calls in C: the error record, the poisoned gate, and the callbacks of
 * the caller.
 */
#ifndef FERRUM_CAPI_BRIDGE_H
#define FERRUM_CAPI_BRIDGE_H

#include "ferrum_mem.h"

/** Keeps the detail of a failure of the running call. Texts are not NULL. */
void fm_error_keep(ferrum_status status, int64_t native_code, char *operation,
                   char *device, char *message);
/** How many numbers fm_error_facts takes. */
#define FM_FACTS 7
/** Adds to the record what fm_error_keep was given: FERRUM_FACT_* flags, the numbers
 *  in the order of these flags, and the model. */
void fm_error_facts(uint32_t facts, uint64_t *values, char *model);
/** Makes every later call answer FERRUM_ERROR_POISONED. */
void fm_poison(void);

/** What of the caller a thread of the library runs. */
enum fm_inside {
    FM_INSIDE_NOTHING = 0,
    FM_INSIDE_LOG = 1,
    FM_INSIDE_PRESSURE = 2,
    FM_INSIDE_RECLAIM = 3,
    FM_INSIDE_HOST_FUNCTION = 4,
    FM_INSIDE_MONITOR = 5,
    FM_INSIDE_PLACEMENT = 6
};

/** What runs on this thread: an enum fm_inside. */
int32_t fm_inside_now(void);
/** The token of the callback that runs on this thread, or 0. */
uint64_t fm_token_now(void);

/** Puts the process's bound on open files back to what it was before Go's start. */
void fm_restore_file_limit(void);

/** Each calls the caller's function with the thread marked. user_data is a
 *  number here: Go must not take the caller's word for a pointer. */
void fm_call_log(ferrum_log_fn callback, ferrum_log_level level, char *message,
                 uintptr_t user_data, uint64_t token);
void fm_call_pressure(ferrum_pressure_fn callback, uint64_t device,
                      ferrum_pressure_level level, uintptr_t user_data,
                      uint64_t token);
uint64_t fm_call_reclaim(ferrum_reclaim_fn callback, uint64_t device,
                         uint64_t needed_bytes, uintptr_t user_data,
                         uint64_t token);
uint64_t fm_call_model_reclaim(ferrum_model_reclaim_fn callback, uint64_t pool,
                               char *model, uint64_t needed_bytes,
                               uintptr_t user_data, uint64_t token);
void fm_call_host(ferrum_host_fn function, uintptr_t user_data);
/** Has a stream of the caller's call the work of that number. */
ferrum_status fm_call_enqueue(ferrum_enqueue_fn enqueue, uint64_t work,
                              uintptr_t user_data);
/** The token of a monitor's callback, and of a placement strategy's, is its
 *  handle. */
void fm_call_monitor(ferrum_monitor_fn callback, uint64_t monitor,
                     ferrum_device_level *levels, size_t count,
                     uintptr_t user_data);
/** The request has no lists of its own: preferred is that. */
ferrum_status fm_call_placement(ferrum_placement_fn callback,
                                ferrum_placement_request *request,
                                ferrum_device *preferred,
                                size_t preferred_count,
                                ferrum_placement_option *options, size_t count,
                                int64_t *chosen_out, uintptr_t user_data,
                                uint64_t token);

#endif

/*
 * The C functions that Go calls: the error record, the gate of a poisoned
 * library, and the callbacks of the caller.
 */
#ifndef FERRUM_CAPI_BRIDGE_H
#define FERRUM_CAPI_BRIDGE_H

#include "ferrum_mem.h"

/** Records the details of the failure of the running call. Texts must not be
 *  NULL. */
void fm_error_keep(ferrum_status status, int64_t native_code, char *operation,
                   char *device, char *message);
/** The number of values that fm_error_facts takes. */
#define FM_FACTS 7
/** Adds facts to the record of fm_error_keep: FERRUM_FACT_* flags, the
 *  values in the order of these flags, and the model. */
void fm_error_facts(uint32_t facts, uint64_t *values, char *model);
/** Makes every later call return FERRUM_ERROR_POISONED. */
void fm_poison(void);

/** The kind of caller's function that a thread of the library runs. */
enum fm_inside {
    FM_INSIDE_NOTHING = 0,
    FM_INSIDE_LOG = 1,
    FM_INSIDE_PRESSURE = 2,
    FM_INSIDE_RECLAIM = 3,
    FM_INSIDE_HOST_FUNCTION = 4,
    FM_INSIDE_MONITOR = 5,
    FM_INSIDE_PLACEMENT = 6,
    FM_INSIDE_WEIGHTS = 7
};

/** The kind that this thread runs now: an enum fm_inside. */
int32_t fm_inside_now(void);
/** Whether this thread runs the callback with a token. */
int32_t fm_is_inside(uint64_t token);
/** Copies the tokens of the callbacks that this thread runs, the innermost first.
 *  Returns their number. */
size_t fm_tokens_now(uint64_t *tokens, size_t capacity);

/** Restores the process's limit on open files to its value before the Go
 *  runtime started. */
void fm_restore_file_limit(void);

/** Each function calls the caller's function with the thread marked.
 *  user_data is an integer here, because the Go runtime must not treat the
 *  caller's value as a pointer. */
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
/** Makes an external stream call the work with this number. */
ferrum_status fm_call_enqueue(ferrum_enqueue_fn enqueue, uint64_t work,
                              uintptr_t user_data);
/** The token of a monitor's callback, or of a placement strategy's, is its
 *  handle. */
void fm_call_monitor(ferrum_monitor_fn callback, uint64_t monitor,
                     ferrum_device_level *levels, size_t count,
                     uintptr_t user_data);
/** The argument preferred replaces the list of preferred devices of the
 *  request. */
ferrum_status fm_call_placement(ferrum_placement_fn callback,
                                ferrum_placement_request *request,
                                ferrum_device *preferred,
                                size_t preferred_count,
                                ferrum_placement_option *options, size_t count,
                                int64_t *chosen_out, uintptr_t user_data,
                                uint64_t token);
/** Returns 0 if the load or call continues. */
int32_t fm_call_weights_progress(ferrum_weights_progress_fn progress,
                                 ferrum_weights_progress *now,
                                 uintptr_t user_data, uint64_t *tokens,
                                 size_t token_count);
int32_t fm_call_weights_recognises(ferrum_weights_recognises_fn recognises,
                                   void *start, size_t start_bytes,
                                   uint64_t file_bytes, uintptr_t user_data,
                                   uint64_t token);
/** file is the number that the functions of the file take. */
ferrum_status fm_call_weights_decode(ferrum_weights_decode_fn decode,
                                     uint64_t file, uint64_t size_bytes,
                                     char *name, uintptr_t user_data,
                                     uint64_t token);

/** Returns 0 if the build continues. now has no text. */
int32_t fm_call_build_progress(ferrum_build_progress_fn progress,
                               ferrum_build_progress *now, char *operation,
                               uintptr_t user_data, uint64_t *tokens,
                               size_t token_count);

/** The texts of a ferrum_pass_call, and its number. */
struct fm_pass_texts {
    uint64_t call;
    char *definition;
    uint64_t definition_bytes;
    /** Has FERRUM_PASS_MESSAGE_MAX bytes, all 0. */
    char *message;
};
/** token 0: the call belongs to no build. */
ferrum_status
fm_call_pass_is_applicable(ferrum_pass_is_applicable_fn is_applicable,
                           struct fm_pass_texts of, uint32_t *is_applicable_out,
                           uintptr_t user_data, uint64_t token);
ferrum_status fm_call_pass_apply(ferrum_pass_apply_fn apply,
                                 struct fm_pass_texts of, uintptr_t user_data,
                                 uint64_t token);
void fm_call_optimized(ferrum_optimized_fn optimized, char *result,
                       uint64_t result_bytes, uintptr_t user_data);

/** The texts and lists of a ferrum_compute_call. */
struct fm_compute_lists {
    char *name, *domain, *attributes;
    ferrum_tensor_desc *inputs, *outputs;
    /** Has FERRUM_COMPUTE_MESSAGE_MAX bytes, all 0. */
    char *message;
};
/** These run with the restrictions of a host function. The call has no
 *  pointers. */
ferrum_status fm_call_compute_plan(ferrum_compute_plan_fn plan,
                                   ferrum_compute_call *call,
                                   struct fm_compute_lists lists,
                                   ferrum_compute_plan *plan_out,
                                   uintptr_t user_data);
ferrum_status fm_call_compute_run(ferrum_compute_run_fn run,
                                  ferrum_compute_call *call,
                                  struct fm_compute_lists lists,
                                  uintptr_t user_data);
ferrum_status
fm_call_compute_synchronize(ferrum_compute_synchronize_fn synchronize,
                            uint64_t device, uintptr_t user_data);

/** The functions of a layer type. outputs_out has call->output_count elements. */
ferrum_status fm_call_layer_infer(ferrum_layer_infer_fn infer,
                                  ferrum_compute_call *call,
                                  struct fm_compute_lists lists,
                                  ferrum_tensor_desc *outputs_out,
                                  uintptr_t user_data);
ferrum_status fm_call_layer_parameters(ferrum_layer_parameters_fn parameters,
                                       ferrum_compute_call *call,
                                       struct fm_compute_lists lists,
                                       uint64_t list, uintptr_t user_data);
ferrum_status fm_call_layer_initialize(ferrum_layer_initialize_fn initialize,
                                       ferrum_compute_call *call,
                                       struct fm_compute_lists lists,
                                       char *parameter, uintptr_t user_data);
/** The result of a run. message is NULL, or a text that the caller frees. */
struct fm_layer_outcome {
    ferrum_status status;
    char *message;
};
/** Runs a call whose operands are at these addresses. call and lists are not
 *  changed, so several threads may use them at a time. */
struct fm_layer_outcome
fm_call_layer_forward(ferrum_compute_run_fn forward, ferrum_compute_call *call,
                      struct fm_compute_lists lists, uint64_t *inputs,
                      uint64_t *outputs, uint64_t workspace,
                      uintptr_t user_data);

/** Runs with the restrictions of a host function, because it may run on the
 *  thread of a stream. */
void fm_call_release(ferrum_release_fn release, uintptr_t user_data);

#endif

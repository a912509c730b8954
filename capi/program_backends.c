/* The functions of a program's compute backends and layer types. */
#include "_cgo_export.h"
#include "guard.h"

#include <stdlib.h>

/* A function may run on the thread of a stream, so the restrictions of a host
 * function apply. */
static void mark_function(struct fm_mark *mark) {
    fm_mark_set(mark, FM_INSIDE_HOST_FUNCTION, NULL, 0);
}

/* The lists and texts are not in the struct of Go, which must not contain
 * pointers. */
static ferrum_compute_call full_of(const ferrum_compute_call *call,
                                   const struct fm_compute_lists *lists) {
    ferrum_compute_call full = *call;
    full.struct_size = sizeof full;
    full.name = lists->name;
    full.domain = lists->domain;
    full.attributes_json = lists->attributes;
    full.inputs = call->input_count > 0 ? lists->inputs : NULL;
    full.outputs = call->output_count > 0 ? lists->outputs : NULL;
    full.message_out = lists->message;
    return full;
}

ferrum_status fm_call_compute_plan(ferrum_compute_plan_fn plan,
                                   ferrum_compute_call *call,
                                   struct fm_compute_lists lists,
                                   ferrum_compute_plan *plan_out,
                                   uintptr_t user_data) {
    ferrum_compute_call full = full_of(call, &lists);
    *plan_out = (ferrum_compute_plan)FERRUM_COMPUTE_PLAN_INIT;
    struct fm_mark mark;
    mark_function(&mark);
    ferrum_status status = plan(&full, plan_out, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

ferrum_status fm_call_compute_run(ferrum_compute_run_fn run,
                                  ferrum_compute_call *call,
                                  struct fm_compute_lists lists,
                                  uintptr_t user_data) {
    ferrum_compute_call full = full_of(call, &lists);
    struct fm_mark mark;
    mark_function(&mark);
    ferrum_status status = run(&full, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

ferrum_status
fm_call_compute_synchronize(ferrum_compute_synchronize_fn synchronize,
                            uint64_t device, uintptr_t user_data) {
    struct fm_mark mark;
    mark_function(&mark);
    ferrum_status status =
        synchronize((ferrum_device){device}, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

ferrum_status fm_call_layer_infer(ferrum_layer_infer_fn infer,
                                  ferrum_compute_call *call,
                                  struct fm_compute_lists lists,
                                  ferrum_tensor_desc *outputs_out,
                                  uintptr_t user_data) {
    ferrum_compute_call full = full_of(call, &lists);
    full.outputs = outputs_out;
    struct fm_mark mark;
    mark_function(&mark);
    ferrum_status status = infer(&full, outputs_out, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

static ferrum_status layer_take(uint64_t list, const char *json,
                                uint64_t json_bytes) {
    FM_ENTER();
    FM_REQUIRE(json);
    FM_RETURN(fmgo_text_state(list, (char *)json, json_bytes));
}

ferrum_status fm_call_layer_parameters(ferrum_layer_parameters_fn parameters,
                                       ferrum_compute_call *call,
                                       struct fm_compute_lists lists,
                                       uint64_t list, uintptr_t user_data) {
    ferrum_compute_call full = full_of(call, &lists);
    struct fm_mark mark;
    mark_function(&mark);
    ferrum_status status =
        parameters(&full, layer_take, list, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

ferrum_status fm_call_layer_initialize(ferrum_layer_initialize_fn initialize,
                                       ferrum_compute_call *call,
                                       struct fm_compute_lists lists,
                                       char *parameter, uintptr_t user_data) {
    ferrum_compute_call full = full_of(call, &lists);
    struct fm_mark mark;
    mark_function(&mark);
    ferrum_status status = initialize(&full, parameter, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

/* Most layers have fewer operands. */
#define FEW_OPERANDS 8

struct fm_layer_outcome
fm_call_layer_forward(ferrum_compute_run_fn forward, ferrum_compute_call *call,
                      struct fm_compute_lists lists, uint64_t *inputs,
                      uint64_t *outputs, uint64_t workspace,
                      uintptr_t user_data) {
    size_t from = call->input_count, to = call->output_count;
    ferrum_tensor_desc few[FEW_OPERANDS];
    ferrum_tensor_desc *list = few;
    if (from + to > FEW_OPERANDS)
        list = malloc((from + to) * sizeof *list);
    if (list == NULL)
        return (struct fm_layer_outcome){FERRUM_ERROR_OUT_OF_MEMORY, NULL};
    if (from > 0)
        memcpy(list, lists.inputs, from * sizeof *list);
    if (to > 0)
        memcpy(list + from, lists.outputs, to * sizeof *list);
    for (size_t i = 0; i < from; i++)
        list[i].address = inputs[i];
    for (size_t i = 0; i < to; i++)
        list[from + i].address = outputs[i];
    char message[FERRUM_COMPUTE_MESSAGE_MAX] = {0};
    lists.inputs = list;
    lists.outputs = list + from;
    lists.message = message;
    ferrum_compute_call full = full_of(call, &lists);
    full.workspace = full.workspace_bytes > 0 ? workspace : 0;
    struct fm_mark mark;
    mark_function(&mark);
    ferrum_status status = forward(&full, (void *)user_data);
    fm_mark_restore(&mark);
    struct fm_layer_outcome outcome = {status, NULL};
    if (status != FERRUM_OK && message[0] != 0) {
        message[FERRUM_COMPUTE_MESSAGE_MAX - 1] = 0;
        outcome.message = strdup(message);
    }
    if (list != few)
        free(list);
    return outcome;
}

/* The functions of a program's compute backends. */
#include "_cgo_export.h"
#include "guard.h"

/* A function may run on the thread of a stream, so the restrictions of a host
 * function apply. In a call from a callback, the thread keeps its token. */
static struct fm_mark mark(void) {
    return fm_mark_set(FM_INSIDE_HOST_FUNCTION, fm_token_now());
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
    struct fm_mark before = mark();
    ferrum_status status = plan(&full, plan_out, (void *)user_data);
    fm_mark_restore(before);
    return status;
}

ferrum_status fm_call_compute_run(ferrum_compute_run_fn run,
                                  ferrum_compute_call *call,
                                  struct fm_compute_lists lists,
                                  uintptr_t user_data) {
    ferrum_compute_call full = full_of(call, &lists);
    struct fm_mark before = mark();
    ferrum_status status = run(&full, (void *)user_data);
    fm_mark_restore(before);
    return status;
}

ferrum_status
fm_call_compute_synchronize(ferrum_compute_synchronize_fn synchronize,
                            uint64_t device, uintptr_t user_data) {
    struct fm_mark before = mark();
    ferrum_status status =
        synchronize((ferrum_device){device}, (void *)user_data);
    fm_mark_restore(before);
    return status;
}

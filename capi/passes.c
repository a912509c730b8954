/* The functions of a program's passes. */
#include "_cgo_export.h"
#include "guard.h"

static ferrum_status pass_replace(uint64_t call, const char *definition_json,
                                  uint64_t definition_bytes) {
    FM_ENTER();
    FM_REQUIRE(definition_json);
    FM_RETURN(
        fmgo_pass_replace(call, (char *)definition_json, definition_bytes));
}

static ferrum_status pass_warn(uint64_t call, const char *warning) {
    FM_ENTER();
    FM_REQUIRE(warning);
    FM_RETURN(fmgo_pass_warn(call, (char *)warning));
}

/* The texts are not in the struct of Go, which must not contain pointers. */
static ferrum_pass_call full_of(const struct fm_pass_texts *of) {
    ferrum_pass_call call = FERRUM_PASS_CALL_INIT;
    call.call = of->call;
    call.definition_json = of->definition;
    call.definition_bytes = of->definition_bytes;
    call.replace = pass_replace;
    call.warn = pass_warn;
    call.message_out = of->message;
    return call;
}

/* The token is 0 for a call that belongs to no build. */
static void mark_pass(struct fm_mark *mark, const uint64_t *token) {
    fm_mark_work(mark, token, *token != 0);
}

ferrum_status
fm_call_pass_is_applicable(ferrum_pass_is_applicable_fn is_applicable,
                           struct fm_pass_texts of, uint32_t *is_applicable_out,
                           uintptr_t user_data, uint64_t token) {
    ferrum_pass_call call = full_of(&of);
    *is_applicable_out = 0;
    struct fm_mark mark;
    mark_pass(&mark, &token);
    ferrum_status status =
        is_applicable(&call, is_applicable_out, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

ferrum_status fm_call_pass_apply(ferrum_pass_apply_fn apply,
                                 struct fm_pass_texts of, uintptr_t user_data,
                                 uint64_t token) {
    ferrum_pass_call call = full_of(&of);
    struct fm_mark mark;
    mark_pass(&mark, &token);
    ferrum_status status = apply(&call, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

void fm_call_optimized(ferrum_optimized_fn optimized, char *result,
                       uint64_t result_bytes, uintptr_t user_data) {
    struct fm_mark mark;
    fm_mark_work(&mark, NULL, 0);
    optimized(result, result_bytes, (void *)user_data);
    fm_mark_restore(&mark);
}

/* The functions of executors that call functions of the program, or take
 * lists. */
#include "_cgo_export.h"
#include "guard.h"

ferrum_status ferrum_executor_run(ferrum_executor executor,
                                  const ferrum_named_tensor *inputs,
                                  uint64_t input_count,
                                  ferrum_named_tensor *outputs,
                                  uint64_t output_count, ferrum_stream stream,
                                  uint64_t timeout_ns) {
    FM_ENTER();
    FM_REQUIRE(inputs);
    FM_REQUIRE(outputs);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_executor_run(executor.id, (ferrum_named_tensor *)inputs,
                                input_count, outputs, output_count, stream.id,
                                timeout_ns));
}

int32_t fm_call_build_progress(ferrum_build_progress_fn progress,
                               ferrum_build_progress *now, char *operation,
                               uintptr_t user_data, uint64_t *tokens,
                               size_t token_count) {
    now->struct_size = sizeof *now;
    now->operation = operation;
    struct fm_mark mark;
    fm_mark_work(&mark, tokens, token_count);
    int32_t stops = progress(now, (void *)user_data);
    fm_mark_restore(&mark);
    return stops;
}

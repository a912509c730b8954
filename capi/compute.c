/* The functions of operations that take lists of inputs and outputs. */
#include <stdlib.h>

#include "_cgo_export.h"
#include "guard.h"

ferrum_status ferrum_op_run(ferrum_op op, const ferrum_tensor *inputs,
                            uint64_t input_count, ferrum_tensor *outputs,
                            uint64_t output_count, ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(inputs);
    FM_REQUIRE(outputs);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_op_run(op.id, (ferrum_tensor *)inputs, input_count, outputs,
                          output_count, stream.id));
}

ferrum_status ferrum_sequence_add(ferrum_sequence sequence, ferrum_op op,
                                  const ferrum_tensor *inputs,
                                  uint64_t input_count, ferrum_tensor *outputs,
                                  uint64_t output_count) {
    FM_ENTER();
    FM_REQUIRE(inputs);
    FM_REQUIRE(outputs);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_sequence_add(sequence.id, op.id, (ferrum_tensor *)inputs,
                                input_count, outputs, output_count));
}

/* Structs of an older caller are smaller, and so is the distance between
 * them. All structs of one list have the size of the first one. */
static ferrum_status read_descs(const char *function, const char *argument,
                                const ferrum_tensor_desc *given,
                                ferrum_tensor_desc *full, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        const char *at = (const char *)given + i * given->struct_size;
        full[i] = (ferrum_tensor_desc)FERRUM_TENSOR_DESC_INIT;
        ferrum_status status =
            fm_struct_in(function, argument, at, &full[i], sizeof *full);
        if (status != FERRUM_OK)
            return status;
        if (((const ferrum_tensor_desc *)at)->struct_size != given->struct_size)
            return fm_fail(function, FERRUM_ERROR_INVALID_STRUCT,
                           "the structs of a list have different sizes");
    }
    return FERRUM_OK;
}

ferrum_status ferrum_op_infer(ferrum_op op, const ferrum_tensor_desc *inputs,
                              uint64_t input_count, ferrum_tensor_desc *outputs,
                              uint64_t output_count,
                              uint64_t *workspace_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(workspace_bytes_out);
    *workspace_bytes_out = 0;
    FM_REQUIRE(inputs);
    FM_REQUIRE(outputs);
    ferrum_status status = fmgo_op_find(op.id);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (input_count > FERRUM_OP_TENSORS_MAX ||
        output_count > FERRUM_OP_TENSORS_MAX)
        return fm_fail(__func__, FERRUM_ERROR_INVALID_ARGUMENT,
                       "input_count or output_count is more than "
                       "FERRUM_OP_TENSORS_MAX (1024)");
    ferrum_tensor_desc *full =
        calloc(input_count + output_count + 1, sizeof *full);
    if (full == NULL)
        return fm_fail(__func__, FERRUM_ERROR_RESOURCE_EXHAUSTED,
                       "the process has no memory for the descriptions");
    status = read_descs(__func__, "inputs", inputs, full, input_count);
    if (status == FERRUM_OK)
        status = read_descs(__func__, "outputs", outputs, full + input_count,
                            output_count);
    if (status == FERRUM_OK) {
        status = fmgo_op_infer(op.id, full, input_count, full + input_count,
                               output_count, workspace_bytes_out);
        if (status != FERRUM_OK)
            fm_failed_in(__func__, status);
    }
    for (uint64_t i = 0; status == FERRUM_OK && i < output_count; i++)
        fm_struct_give((char *)outputs + i * outputs->struct_size,
                       &full[input_count + i], sizeof *full);
    free(full);
    return status;
}

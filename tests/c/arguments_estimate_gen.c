/* Generated from include/ferrum_mem/estimate.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_model_shape[] = {
    FIELD(ferrum_model_shape, reserved, RESERVED),
    FIELD(ferrum_model_shape, hidden_size, VALUE),
    FIELD(ferrum_model_shape, intermediate_size, VALUE),
    FIELD(ferrum_model_shape, num_layers, VALUE),
    FIELD(ferrum_model_shape, vocab_size, VALUE),
    FIELD(ferrum_model_shape, num_heads, VALUE),
    FIELD(ferrum_model_shape, num_kv_heads, VALUE),
    FIELD(ferrum_model_shape, max_seq_len, VALUE),
    FIELD(ferrum_model_shape, dtype_bytes, VALUE)};
static const ferrum_model_shape init_ferrum_model_shape =
    FERRUM_MODEL_SHAPE_INIT;
static const struct_type type_ferrum_model_shape = {
    sizeof(ferrum_model_shape), &init_ferrum_model_shape,
    fields_ferrum_model_shape, 9};

static const struct_field fields_ferrum_kv_cache_shape[] = {
    FIELD(ferrum_kv_cache_shape, reserved, RESERVED),
    FIELD(ferrum_kv_cache_shape, num_layers, VALUE),
    FIELD(ferrum_kv_cache_shape, num_kv_heads, VALUE),
    FIELD(ferrum_kv_cache_shape, head_dim, VALUE),
    FIELD(ferrum_kv_cache_shape, max_seq_len, VALUE),
    FIELD(ferrum_kv_cache_shape, dtype_bytes, VALUE)};
static const ferrum_kv_cache_shape init_ferrum_kv_cache_shape =
    FERRUM_KV_CACHE_SHAPE_INIT;
static const struct_type type_ferrum_kv_cache_shape = {
    sizeof(ferrum_kv_cache_shape), &init_ferrum_kv_cache_shape,
    fields_ferrum_kv_cache_shape, 6};

static const ferrum_inference_estimate init_ferrum_inference_estimate =
    FERRUM_INFERENCE_ESTIMATE_INIT;
static const struct_type type_ferrum_inference_estimate = {
    sizeof(ferrum_inference_estimate), &init_ferrum_inference_estimate, NULL,
    0};

static const struct_field fields_ferrum_estimate_request[] = {
    FIELD(ferrum_estimate_request, flags, FLAGS),
    FIELD(ferrum_estimate_request, context, VALUE),
    FIELD(ferrum_estimate_request, batch, VALUE),
    FIELD(ferrum_estimate_request, tensor_parallel, VALUE),
    FIELD(ferrum_estimate_request, prefill_tokens, VALUE),
    FIELD(ferrum_estimate_request, overhead_permille, VALUE),
    FIELD(ferrum_estimate_request, free_bytes, VALUE),
    FIELD(ferrum_estimate_request, kv_dtype, TEXT),
    FIELD(ferrum_estimate_request, weight_dtype, TEXT),
    FIELD(ferrum_estimate_request, block_tokens, VALUE)};
static const ferrum_estimate_request init_ferrum_estimate_request =
    FERRUM_ESTIMATE_REQUEST_INIT;
static const struct_type type_ferrum_estimate_request = {
    sizeof(ferrum_estimate_request), &init_ferrum_estimate_request,
    fields_ferrum_estimate_request, 10};

static ferrum_status call_estimate_model_memory(const argument *a) {
    return ferrum_estimate_model_memory(a[0].pointer, a[1].pointer);
}
static const parameter parameters_estimate_model_memory[] = {
    PARAMETER(shape, STRUCT_IN, .type = &type_ferrum_model_shape),
    PARAMETER(bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_estimate_kv_cache_memory(const argument *a) {
    return ferrum_estimate_kv_cache_memory(a[0].pointer, a[1].pointer);
}
static const parameter parameters_estimate_kv_cache_memory[] = {
    PARAMETER(shape, STRUCT_IN, .type = &type_ferrum_kv_cache_shape),
    PARAMETER(bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_estimate_inference_memory(const argument *a) {
    return ferrum_estimate_inference_memory(a[0].pointer, a[1].pointer);
}
static const parameter parameters_estimate_inference_memory[] = {
    PARAMETER(shape, STRUCT_IN, .type = &type_ferrum_model_shape),
    PARAMETER(estimate_out, STRUCT_OUT,
              .type = &type_ferrum_inference_estimate)};

static ferrum_status call_estimate_file_json(const argument *a) {
    return ferrum_estimate_file_json(a[0].pointer, a[1].pointer, a[2].pointer,
                                     (size_t)a[3].number, a[4].pointer);
}
static const parameter parameters_estimate_file_json[] = {
    PARAMETER(path, TEXT),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_estimate_request,
              .is_optional = 1),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_estimate_config_json(const argument *a) {
    return ferrum_estimate_config_json(a[0].pointer, (size_t)a[1].number,
                                       a[2].pointer, a[3].pointer,
                                       (size_t)a[4].number, a[5].pointer);
}
static const parameter parameters_estimate_config_json[] = {
    PARAMETER(config_text, BYTES),
    PARAMETER(config_bytes, VALUE),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_estimate_request,
              .is_optional = 1),
    PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

const function arguments_estimate[] = {
    FUNCTION(estimate_model_memory,
             .parameters = parameters_estimate_model_memory, .count = 2,
             .is_stateless = 1),
    FUNCTION(estimate_kv_cache_memory,
             .parameters = parameters_estimate_kv_cache_memory, .count = 2,
             .is_stateless = 1),
    FUNCTION(estimate_inference_memory,
             .parameters = parameters_estimate_inference_memory, .count = 2,
             .is_stateless = 1),
    FUNCTION(estimate_file_json, .parameters = parameters_estimate_file_json,
             .count = 5, .is_stateless = 1),
    FUNCTION(estimate_config_json,
             .parameters = parameters_estimate_config_json, .count = 6,
             .is_stateless = 1),
    {.name = NULL}};

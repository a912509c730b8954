/* Generated from include/ferrum_mem/executors.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_build_request[] = {
    FIELD(ferrum_build_request, reserved, RESERVED),
    FIELD(ferrum_build_request, model, TEXT),
    FIELD(ferrum_build_request, path, TEXT),
    FIELD(ferrum_build_request, definition_json, TEXT),
    FIELD(ferrum_build_request, definition_bytes, VALUE),
    FIELD(ferrum_build_request, weights, HANDLE, .kind = WEIGHTS,
          .is_optional = 1),
    FIELD(ferrum_build_request, compute, HANDLE, .kind = COMPUTE),
    FIELD(ferrum_build_request, elastic_pool, HANDLE, .kind = ELASTIC_POOL),
    FIELD(ferrum_build_request, guaranteed_bytes, VALUE),
    FIELD(ferrum_build_request, max_bytes, VALUE),
    FIELD(ferrum_build_request, priority, VALUE),
    FIELD(ferrum_build_request, guarantee_may_wait, TRUTH),
    FIELD(ferrum_build_request, options_json, TEXT),
    FIELD(ferrum_build_request, options_bytes, VALUE)};
static const ferrum_build_request init_ferrum_build_request =
    FERRUM_BUILD_REQUEST_INIT;
static const struct_type type_ferrum_build_request = {
    sizeof(ferrum_build_request), &init_ferrum_build_request,
    fields_ferrum_build_request, 14};

static const struct_field fields_ferrum_sleep_config[] = {
    FIELD(ferrum_sleep_config, backing, ENUMERATION, .unknown = {-1, 4097}),
    FIELD(ferrum_sleep_config, tag, TEXT),
    FIELD(ferrum_sleep_config, directory, TEXT),
    FIELD(ferrum_sleep_config, stream, HANDLE, .kind = STREAM,
          .is_optional = 1),
    FIELD(ferrum_sleep_config, timeout_ns, VALUE),
    FIELD(ferrum_sleep_config, num_streams, VALUE),
    FIELD(ferrum_sleep_config, reserved, RESERVED)};
static const ferrum_sleep_config init_ferrum_sleep_config =
    FERRUM_SLEEP_CONFIG_INIT;
static const struct_type type_ferrum_sleep_config = {
    sizeof(ferrum_sleep_config), &init_ferrum_sleep_config,
    fields_ferrum_sleep_config, 7};

static const ferrum_sleep_report init_ferrum_sleep_report =
    FERRUM_SLEEP_REPORT_INIT;
static const struct_type type_ferrum_sleep_report = {
    sizeof(ferrum_sleep_report), &init_ferrum_sleep_report, NULL, 0};

static const struct_field fields_ferrum_wake_config[] = {
    FIELD(ferrum_wake_config, num_streams, VALUE),
    FIELD(ferrum_wake_config, tag, TEXT),
    FIELD(ferrum_wake_config, timeout_ns, VALUE)};
static const ferrum_wake_config init_ferrum_wake_config =
    FERRUM_WAKE_CONFIG_INIT;
static const struct_type type_ferrum_wake_config = {
    sizeof(ferrum_wake_config), &init_ferrum_wake_config,
    fields_ferrum_wake_config, 3};

static const ferrum_wake_report init_ferrum_wake_report =
    FERRUM_WAKE_REPORT_INIT;
static const struct_type type_ferrum_wake_report = {
    sizeof(ferrum_wake_report), &init_ferrum_wake_report, NULL, 0};

static ferrum_status call_model_export_json(const argument *a) {
    return ferrum_model_export_json(a[0].pointer, a[1].pointer,
                                    (size_t)a[2].number, a[3].pointer);
}
static const parameter parameters_model_export_json[] = {
    PARAMETER(path, TEXT), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_model_export_onnx(const argument *a) {
    return ferrum_model_export_onnx(a[0].pointer, a[1].pointer,
                                    (uint32_t)a[2].number);
}
static const parameter parameters_model_export_onnx[] = {
    PARAMETER(path, TEXT), PARAMETER(file, TEXT), PARAMETER(flags, FLAGS)};

static ferrum_status call_definition_export_onnx(const argument *a) {
    return ferrum_definition_export_onnx(a[0].pointer, (size_t)a[1].number,
                                         (ferrum_weights){a[2].number},
                                         a[3].pointer, (uint32_t)a[4].number);
}
static const parameter parameters_definition_export_onnx[] = {
    PARAMETER(definition_text, BYTES), PARAMETER(definition_bytes, VALUE),
    PARAMETER(weights, HANDLE, .kind = WEIGHTS, .is_optional = 1),
    PARAMETER(file, TEXT), PARAMETER(flags, FLAGS)};

static ferrum_status call_model_validate_json(const argument *a) {
    return ferrum_model_validate_json(a[0].pointer, a[1].pointer,
                                      (size_t)a[2].number, a[3].pointer);
}
static const parameter parameters_model_validate_json[] = {
    PARAMETER(path, TEXT), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_definition_validate_json(const argument *a) {
    return ferrum_definition_validate_json(a[0].pointer, (size_t)a[1].number,
                                           a[2].pointer, (size_t)a[3].number,
                                           a[4].pointer);
}
static const parameter parameters_definition_validate_json[] = {
    PARAMETER(definition_text, BYTES), PARAMETER(definition_bytes, VALUE),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_builder_info_json(const argument *a) {
    return ferrum_builder_info_json(a[0].pointer, (size_t)a[1].number,
                                    a[2].pointer);
}
static const parameter parameters_builder_info_json[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_build_estimate_json(const argument *a) {
    return ferrum_build_estimate_json(a[0].pointer, (size_t)a[1].number,
                                      a[2].pointer, (size_t)a[3].number,
                                      a[4].pointer);
}
static const parameter parameters_build_estimate_json[] = {
    PARAMETER(definition_text, BYTES), PARAMETER(definition_bytes, VALUE),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_compute_plan_json(const argument *a) {
    return ferrum_compute_plan_json(
        (ferrum_compute){a[0].number}, a[1].pointer, (size_t)a[2].number,
        (uint32_t)a[3].number, a[4].pointer, (size_t)a[5].number, a[6].pointer,
        (size_t)a[7].number, a[8].pointer);
}
static const parameter parameters_compute_plan_json[] = {
    PARAMETER(compute, HANDLE, .kind = COMPUTE),
    PARAMETER(definition_text, BYTES),
    PARAMETER(definition_bytes, VALUE),
    PARAMETER(optimization_level, VALUE),
    PARAMETER(dimensions_text, BYTES),
    PARAMETER(dimensions_bytes, VALUE),
    PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_executor_build(const argument *a) {
    return ferrum_executor_build(a[0].pointer, a[1].pointer);
}
static const parameter parameters_executor_build[] = {
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_build_request),
    PARAMETER(executor_out, OUT, .size = sizeof(ferrum_executor))};

static ferrum_status call_executor_run(const argument *a) {
    return ferrum_executor_run(
        (ferrum_executor){a[0].number}, a[1].pointer, (uint64_t)a[2].number,
        a[3].pointer, (uint64_t)a[4].number, (ferrum_stream){a[5].number},
        (uint64_t)a[6].number);
}
static const parameter parameters_executor_run[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR),
    PARAMETER(inputs, ARRAY, .size = sizeof(ferrum_named_tensor)),
    PARAMETER(input_count, VALUE),
    PARAMETER(outputs, PLACES),
    PARAMETER(output_count, CAPACITY),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1),
    PARAMETER(timeout_ns, VALUE)};

static ferrum_status call_executor_plan_json(const argument *a) {
    return ferrum_executor_plan_json(
        (ferrum_executor){a[0].number}, a[1].pointer, (size_t)a[2].number,
        a[3].pointer, (size_t)a[4].number, a[5].pointer);
}
static const parameter parameters_executor_plan_json[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR),
    PARAMETER(dimensions_text, BYTES),
    PARAMETER(dimensions_bytes, VALUE),
    PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_executor_info_json(const argument *a) {
    return ferrum_executor_info_json((ferrum_executor){a[0].number},
                                     a[1].pointer, (size_t)a[2].number,
                                     a[3].pointer);
}
static const parameter parameters_executor_info_json[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_executor_definition_json(const argument *a) {
    return ferrum_executor_definition_json((ferrum_executor){a[0].number},
                                           a[1].pointer, (size_t)a[2].number,
                                           a[3].pointer);
}
static const parameter parameters_executor_definition_json[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_executor_export_onnx(const argument *a) {
    return ferrum_executor_export_onnx((ferrum_executor){a[0].number},
                                       a[1].pointer, (uint32_t)a[2].number);
}
static const parameter parameters_executor_export_onnx[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR), PARAMETER(file, TEXT),
    PARAMETER(flags, FLAGS)};

static ferrum_status call_executor_report_json(const argument *a) {
    return ferrum_executor_report_json((ferrum_executor){a[0].number},
                                       a[1].pointer, (size_t)a[2].number,
                                       a[3].pointer);
}
static const parameter parameters_executor_report_json[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_executor_sleep(const argument *a) {
    return ferrum_executor_sleep((ferrum_executor){a[0].number}, a[1].pointer,
                                 a[2].pointer);
}
static const parameter parameters_executor_sleep[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_sleep_config,
              .is_optional = 1),
    PARAMETER(report_out, STRUCT_OUT, .type = &type_ferrum_sleep_report,
              .is_optional = 1)};

static ferrum_status call_executor_wake(const argument *a) {
    return ferrum_executor_wake((ferrum_executor){a[0].number}, a[1].pointer,
                                a[2].pointer);
}
static const parameter parameters_executor_wake[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_wake_config,
              .is_optional = 1),
    PARAMETER(report_out, STRUCT_OUT, .type = &type_ferrum_wake_report,
              .is_optional = 1)};

static ferrum_status call_executor_destroy(const argument *a) {
    return ferrum_executor_destroy((ferrum_executor){a[0].number},
                                   (uint32_t)a[1].number);
}
static const parameter parameters_executor_destroy[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR), PARAMETER(flags, FLAGS)};

static ferrum_status call_executor_add_name(const argument *a) {
    return ferrum_executor_add_name((ferrum_executor){a[0].number},
                                    a[1].pointer);
}
static const parameter parameters_executor_add_name[] = {
    PARAMETER(executor, HANDLE, .kind = EXECUTOR), PARAMETER(name, TEXT)};

static ferrum_status call_executor_find(const argument *a) {
    return ferrum_executor_find(a[0].pointer, a[1].pointer);
}
static const parameter parameters_executor_find[] = {
    PARAMETER(name, TEXT),
    PARAMETER(executor_out, OUT, .size = sizeof(ferrum_executor))};

static ferrum_status call_executor_remove_name(const argument *a) {
    return ferrum_executor_remove_name(a[0].pointer, a[1].pointer);
}
static const parameter parameters_executor_remove_name[] = {
    PARAMETER(name, TEXT),
    PARAMETER(executor_out, OUT, .size = sizeof(ferrum_executor))};

static ferrum_status call_executors_json(const argument *a) {
    return ferrum_executors_json(a[0].pointer, (size_t)a[1].number,
                                 a[2].pointer);
}
static const parameter parameters_executors_json[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

const function arguments_executors[] = {
    FUNCTION(model_export_json, .parameters = parameters_model_export_json,
             .count = 4),
    FUNCTION(model_export_onnx, .parameters = parameters_model_export_onnx,
             .count = 3, .waits = 1),
    FUNCTION(definition_export_onnx,
             .parameters = parameters_definition_export_onnx, .count = 5,
             .waits = 1),
    FUNCTION(model_validate_json, .parameters = parameters_model_validate_json,
             .count = 4),
    FUNCTION(definition_validate_json,
             .parameters = parameters_definition_validate_json, .count = 5),
    FUNCTION(builder_info_json, .parameters = parameters_builder_info_json,
             .count = 3),
    FUNCTION(build_estimate_json, .parameters = parameters_build_estimate_json,
             .count = 5),
    FUNCTION(compute_plan_json, .parameters = parameters_compute_plan_json,
             .count = 9),
    FUNCTION(executor_build, .parameters = parameters_executor_build,
             .count = 2, .waits = 1),
    FUNCTION(executor_run, .parameters = parameters_executor_run, .count = 7,
             .waits = 1),
    FUNCTION(executor_plan_json, .parameters = parameters_executor_plan_json,
             .count = 6),
    FUNCTION(executor_info_json, .parameters = parameters_executor_info_json,
             .count = 4),
    FUNCTION(executor_definition_json,
             .parameters = parameters_executor_definition_json, .count = 4),
    FUNCTION(executor_export_onnx,
             .parameters = parameters_executor_export_onnx, .count = 3,
             .waits = 1),
    FUNCTION(executor_report_json,
             .parameters = parameters_executor_report_json, .count = 4),
    FUNCTION(executor_sleep, .parameters = parameters_executor_sleep,
             .count = 3, .waits = 1),
    FUNCTION(executor_wake, .parameters = parameters_executor_wake, .count = 3,
             .waits = 1),
    FUNCTION(executor_destroy, .parameters = parameters_executor_destroy,
             .count = 2, .waits = 1),
    FUNCTION(executor_add_name, .parameters = parameters_executor_add_name,
             .count = 2),
    FUNCTION(executor_find, .parameters = parameters_executor_find, .count = 2),
    FUNCTION(executor_remove_name,
             .parameters = parameters_executor_remove_name, .count = 2),
    FUNCTION(executors_json, .parameters = parameters_executors_json,
             .count = 3),
    {.name = NULL}};

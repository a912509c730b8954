/* Generated from include/ferrum_mem/executors.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_model_export_json(const char *path, char *buffer,
                                       size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(path);
    FM_RETURN(
        fmgo_model_export_json((char *)path, buffer, capacity, length_out));
}

ferrum_status ferrum_model_export_onnx(const char *path, const char *file,
                                       uint32_t flags) {
    FM_ENTER();
    FM_REQUIRE(path);
    FM_REQUIRE(file);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_model_export_onnx((char *)path, (char *)file, flags));
}

ferrum_status ferrum_definition_export_onnx(const char *definition_text,
                                            size_t definition_bytes,
                                            ferrum_weights weights,
                                            const char *file, uint32_t flags) {
    FM_ENTER();
    FM_REQUIRE(definition_text);
    FM_REQUIRE(file);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_definition_export_onnx((char *)definition_text,
                                          definition_bytes, weights.id,
                                          (char *)file, flags));
}

ferrum_status ferrum_model_validate_json(const char *path, char *buffer,
                                         size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(path);
    FM_RETURN(
        fmgo_model_validate_json((char *)path, buffer, capacity, length_out));
}

ferrum_status ferrum_definition_validate_json(const char *definition_text,
                                              size_t definition_bytes,
                                              char *buffer, size_t capacity,
                                              size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(definition_text);
    FM_RETURN(fmgo_definition_validate_json((char *)definition_text,
                                            definition_bytes, buffer, capacity,
                                            length_out));
}

ferrum_status ferrum_builder_info_json(char *buffer, size_t capacity,
                                       size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_builder_info_json(buffer, capacity, length_out));
}

ferrum_status ferrum_build_estimate_json(const char *definition_text,
                                         size_t definition_bytes, char *buffer,
                                         size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(definition_text);
    FM_RETURN(fmgo_build_estimate_json((char *)definition_text,
                                       definition_bytes, buffer, capacity,
                                       length_out));
}

ferrum_status
ferrum_compute_plan_json(ferrum_compute compute, const char *definition_text,
                         size_t definition_bytes, uint32_t optimization_level,
                         const char *dimensions_text, size_t dimensions_bytes,
                         char *buffer, size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(definition_text);
    FM_REQUIRE(dimensions_text);
    FM_RETURN(fmgo_compute_plan_json(compute.id, (char *)definition_text,
                                     definition_bytes, optimization_level,
                                     (char *)dimensions_text, dimensions_bytes,
                                     buffer, capacity, length_out));
}

ferrum_status ferrum_executor_build(const ferrum_build_request *request,
                                    ferrum_executor *executor_out) {
    FM_ENTER();
    FM_REQUIRE(executor_out);
    executor_out->id = 0;
    FM_REQUIRE(request);
    ferrum_build_request request_full = FERRUM_BUILD_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_NOT_IN_HOST_FUNCTION();
    FM_LOOK();
    FM_RETURN(fmgo_executor_build(&request_full, &executor_out->id));
}

ferrum_status ferrum_executor_plan_json(ferrum_executor executor,
                                        const char *dimensions_text,
                                        size_t dimensions_bytes, char *buffer,
                                        size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(dimensions_text);
    FM_RETURN(fmgo_executor_plan_json(executor.id, (char *)dimensions_text,
                                      dimensions_bytes, buffer, capacity,
                                      length_out));
}

ferrum_status ferrum_executor_info_json(ferrum_executor executor, char *buffer,
                                        size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(
        fmgo_executor_info_json(executor.id, buffer, capacity, length_out));
}

ferrum_status ferrum_executor_definition_json(ferrum_executor executor,
                                              char *buffer, size_t capacity,
                                              size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_executor_definition_json(executor.id, buffer, capacity,
                                            length_out));
}

ferrum_status ferrum_executor_export_onnx(ferrum_executor executor,
                                          const char *file, uint32_t flags) {
    FM_ENTER();
    FM_REQUIRE(file);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_executor_export_onnx(executor.id, (char *)file, flags));
}

ferrum_status ferrum_executor_report_json(ferrum_executor executor,
                                          char *buffer, size_t capacity,
                                          size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(
        fmgo_executor_report_json(executor.id, buffer, capacity, length_out));
}

ferrum_status ferrum_executor_sleep(ferrum_executor executor,
                                    const ferrum_sleep_config *config,
                                    ferrum_sleep_report *report_out) {
    FM_ENTER();
    if (report_out != NULL)
        FM_STRUCT_OUT(report_out);
    ferrum_sleep_config config_full = FERRUM_SLEEP_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_sleep_report report_full = FERRUM_SLEEP_REPORT_INIT;
    ferrum_status status =
        fmgo_executor_sleep(executor.id, &config_full, &report_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (report_out != NULL)
        fm_struct_give(report_out, &report_full, sizeof report_full);
    return FERRUM_OK;
}

ferrum_status ferrum_executor_wake(ferrum_executor executor,
                                   const ferrum_wake_config *config,
                                   ferrum_wake_report *report_out) {
    FM_ENTER();
    if (report_out != NULL)
        FM_STRUCT_OUT(report_out);
    ferrum_wake_config config_full = FERRUM_WAKE_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_wake_report report_full = FERRUM_WAKE_REPORT_INIT;
    ferrum_status status =
        fmgo_executor_wake(executor.id, &config_full, &report_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (report_out != NULL)
        fm_struct_give(report_out, &report_full, sizeof report_full);
    return FERRUM_OK;
}

ferrum_status ferrum_executor_destroy(ferrum_executor executor,
                                      uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_executor_destroy(executor.id, flags));
}

ferrum_status ferrum_executor_add_name(ferrum_executor executor,
                                       const char *name) {
    FM_ENTER();
    FM_REQUIRE(name);
    FM_RETURN(fmgo_executor_add_name(executor.id, (char *)name));
}

ferrum_status ferrum_executor_find(const char *name,
                                   ferrum_executor *executor_out) {
    FM_ENTER();
    FM_REQUIRE(executor_out);
    executor_out->id = 0;
    FM_REQUIRE(name);
    FM_LOOK();
    FM_RETURN(fmgo_executor_find((char *)name, &executor_out->id));
}

ferrum_status ferrum_executor_remove_name(const char *name,
                                          ferrum_executor *executor_out) {
    FM_ENTER();
    FM_REQUIRE(executor_out);
    executor_out->id = 0;
    FM_REQUIRE(name);
    FM_LOOK();
    FM_RETURN(fmgo_executor_remove_name((char *)name, &executor_out->id));
}

ferrum_status ferrum_executors_json(char *buffer, size_t capacity,
                                    size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_executors_json(buffer, capacity, length_out));
}

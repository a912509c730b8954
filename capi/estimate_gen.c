/* Generated from include/ferrum_mem/estimate.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_estimate_model_memory(const ferrum_model_shape *shape,
                                           uint64_t *bytes_out) {
    FM_ENTER();
    FM_REQUIRE(bytes_out);
    *bytes_out = 0;
    FM_REQUIRE(shape);
    ferrum_model_shape shape_full = FERRUM_MODEL_SHAPE_INIT;
    FM_STRUCT_IN(shape, shape_full);
    FM_RETURN(fmgo_estimate_model_memory(&shape_full, bytes_out));
}

ferrum_status
ferrum_estimate_kv_cache_memory(const ferrum_kv_cache_shape *shape,
                                uint64_t *bytes_out) {
    FM_ENTER();
    FM_REQUIRE(bytes_out);
    *bytes_out = 0;
    FM_REQUIRE(shape);
    ferrum_kv_cache_shape shape_full = FERRUM_KV_CACHE_SHAPE_INIT;
    FM_STRUCT_IN(shape, shape_full);
    FM_RETURN(fmgo_estimate_kv_cache_memory(&shape_full, bytes_out));
}

ferrum_status
ferrum_estimate_inference_memory(const ferrum_model_shape *shape,
                                 ferrum_inference_estimate *estimate_out) {
    FM_ENTER();
    FM_REQUIRE(estimate_out);
    FM_STRUCT_OUT(estimate_out);
    FM_REQUIRE(shape);
    ferrum_model_shape shape_full = FERRUM_MODEL_SHAPE_INIT;
    FM_STRUCT_IN(shape, shape_full);
    ferrum_inference_estimate estimate_full = FERRUM_INFERENCE_ESTIMATE_INIT;
    FM_RETURN_STRUCT(
        fmgo_estimate_inference_memory(&shape_full, &estimate_full),
        estimate_out, estimate_full);
}

ferrum_status ferrum_estimate_file_json(const char *path,
                                        const ferrum_estimate_request *request,
                                        char *buffer, size_t capacity,
                                        size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(path);
    ferrum_estimate_request request_full = FERRUM_ESTIMATE_REQUEST_INIT;
    if (request != NULL)
        FM_STRUCT_IN(request, request_full);
    FM_RETURN(fmgo_estimate_file_json((char *)path, &request_full, buffer,
                                      capacity, length_out));
}

ferrum_status
ferrum_estimate_config_json(const char *config_text, size_t config_bytes,
                            const ferrum_estimate_request *request,
                            char *buffer, size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(config_text);
    ferrum_estimate_request request_full = FERRUM_ESTIMATE_REQUEST_INIT;
    if (request != NULL)
        FM_STRUCT_IN(request, request_full);
    FM_RETURN(fmgo_estimate_config_json((char *)config_text, config_bytes,
                                        &request_full, buffer, capacity,
                                        length_out));
}

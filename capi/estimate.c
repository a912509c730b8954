/* ferrum_mem/estimate.h: estimation. */
#include "_cgo_export.h"
#include "guard.h"

ferrum_status ferrum_estimate_model_memory(const ferrum_model_shape *shape,
                                           uint64_t *bytes_out) {
    FM_ENTER();
    FM_REQUIRE(bytes_out);
    *bytes_out = 0;
    FM_REQUIRE(shape);
    ferrum_model_shape full = FERRUM_MODEL_SHAPE_INIT;
    FM_STRUCT_IN(shape, full);
    FM_RETURN(fmgo_estimate_model(&full, bytes_out));
}

ferrum_status
ferrum_estimate_kv_cache_memory(const ferrum_kv_cache_shape *shape,
                                uint64_t *bytes_out) {
    FM_ENTER();
    FM_REQUIRE(bytes_out);
    *bytes_out = 0;
    FM_REQUIRE(shape);
    ferrum_kv_cache_shape full = FERRUM_KV_CACHE_SHAPE_INIT;
    FM_STRUCT_IN(shape, full);
    FM_RETURN(fmgo_estimate_kv_cache(&full, bytes_out));
}

ferrum_status
ferrum_estimate_inference_memory(const ferrum_model_shape *shape,
                                 ferrum_inference_estimate *estimate_out) {
    FM_ENTER();
    FM_REQUIRE(estimate_out);
    FM_STRUCT_OUT(estimate_out);
    FM_REQUIRE(shape);
    ferrum_model_shape full = FERRUM_MODEL_SHAPE_INIT;
    FM_STRUCT_IN(shape, full);
    ferrum_inference_estimate found = FERRUM_INFERENCE_ESTIMATE_INIT;
    FM_RETURN_STRUCT(fmgo_estimate_inference(&full, &found), estimate_out,
                     found);
}

ferrum_status ferrum_estimate_file_json(const char *path,
                                        const ferrum_estimate_request *request,
                                        char *buffer, size_t capacity,
                                        size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(path);
    ferrum_estimate_request full = FERRUM_ESTIMATE_REQUEST_INIT;
    if (request != NULL)
        FM_STRUCT_IN(request, full);
    FM_RETURN(fmgo_estimate_file_json((char *)path, &full, buffer, capacity,
                                      length_out));
}

ferrum_status
ferrum_estimate_config_json(const char *config_text, size_t config_bytes,
                            const ferrum_estimate_request *request,
                            char *buffer, size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(config_text);
    ferrum_estimate_request full = FERRUM_ESTIMATE_REQUEST_INIT;
    if (request != NULL)
        FM_STRUCT_IN(request, full);
    FM_RETURN(fmgo_estimate_config_json((char *)config_text, config_bytes,
                                        &full, buffer, capacity, length_out));
}

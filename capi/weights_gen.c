/* Generated from include/ferrum_mem/weights.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_weights_open(const ferrum_weights_source *source,
                                  ferrum_weights *weights_out) {
    FM_ENTER();
    FM_REQUIRE(weights_out);
    weights_out->id = 0;
    FM_REQUIRE(source);
    ferrum_weights_source source_full = FERRUM_WEIGHTS_SOURCE_INIT;
    FM_STRUCT_IN(source, source_full);
    FM_LOOK();
    FM_RETURN(fmgo_weights_open(&source_full, &weights_out->id));
}

ferrum_status ferrum_weights_check(const ferrum_weights_source *source) {
    FM_ENTER();
    FM_REQUIRE(source);
    ferrum_weights_source source_full = FERRUM_WEIGHTS_SOURCE_INIT;
    FM_STRUCT_IN(source, source_full);
    FM_RETURN(fmgo_weights_check(&source_full));
}

ferrum_status ferrum_weights_close(ferrum_weights weights, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_weights_close(weights.id, flags));
}

ferrum_status ferrum_weights_metadata_json(ferrum_weights weights, char *buffer,
                                           size_t capacity,
                                           size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(
        fmgo_weights_metadata_json(weights.id, buffer, capacity, length_out));
}

ferrum_status ferrum_weights_capabilities_json(char *buffer, size_t capacity,
                                               size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_weights_capabilities_json(buffer, capacity, length_out));
}

ferrum_status ferrum_weights_find(ferrum_weights weights, const char *name,
                                  ferrum_tensor_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    FM_REQUIRE(name);
    ferrum_tensor_info info_full = FERRUM_TENSOR_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_weights_find(weights.id, (char *)name, &info_full),
                     info_out, info_full);
}

ferrum_status ferrum_weights_load(ferrum_weights weights,
                                  const ferrum_weights_load_request *request,
                                  ferrum_tensor_set *set_out) {
    FM_ENTER();
    FM_REQUIRE(set_out);
    set_out->id = 0;
    FM_REQUIRE(request);
    ferrum_weights_load_request request_full = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_LOOK();
    FM_RETURN(fmgo_weights_load(weights.id, &request_full, &set_out->id));
}

ferrum_status ferrum_tensor_set_wait(ferrum_tensor_set set,
                                     uint64_t timeout_ns) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_tensor_set_wait(set.id, timeout_ns));
}

ferrum_status ferrum_tensor_set_cancel(ferrum_tensor_set set) {
    FM_ENTER();
    FM_RETURN(fmgo_tensor_set_cancel(set.id));
}

ferrum_status
ferrum_tensor_set_get_progress(ferrum_tensor_set set,
                               ferrum_weights_progress *progress_out) {
    FM_ENTER();
    FM_REQUIRE(progress_out);
    FM_STRUCT_OUT(progress_out);
    ferrum_weights_progress progress_full = FERRUM_WEIGHTS_PROGRESS_INIT;
    FM_RETURN_STRUCT(fmgo_tensor_set_get_progress(set.id, &progress_full),
                     progress_out, progress_full);
}

ferrum_status ferrum_tensor_set_get_count(ferrum_tensor_set set,
                                          uint64_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    FM_RETURN(fmgo_tensor_set_get_count(set.id, count_out));
}

ferrum_status ferrum_tensor_set_get_tensor(ferrum_tensor_set set,
                                           uint64_t index,
                                           ferrum_tensor_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_tensor_info info_full = FERRUM_TENSOR_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_tensor_set_get_tensor(set.id, index, &info_full),
                     info_out, info_full);
}

ferrum_status ferrum_tensor_set_get_tensor_name(ferrum_tensor_set set,
                                                uint64_t index, char *buffer,
                                                size_t capacity,
                                                size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_tensor_set_get_tensor_name(set.id, index, buffer, capacity,
                                              length_out));
}

ferrum_status ferrum_tensor_set_find(ferrum_tensor_set set, const char *name,
                                     ferrum_tensor_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    FM_REQUIRE(name);
    ferrum_tensor_info info_full = FERRUM_TENSOR_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_tensor_set_find(set.id, (char *)name, &info_full),
                     info_out, info_full);
}

ferrum_status ferrum_tensor_set_tensors_json(ferrum_tensor_set set,
                                             char *buffer, size_t capacity,
                                             size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(
        fmgo_tensor_set_tensors_json(set.id, buffer, capacity, length_out));
}

ferrum_status ferrum_tensor_set_check(ferrum_tensor_set set) {
    FM_ENTER();
    FM_RETURN(fmgo_tensor_set_check(set.id));
}

ferrum_status ferrum_tensor_set_free(ferrum_tensor_set set, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_tensor_set_free(set.id, flags));
}

ferrum_status ferrum_weights_verify(ferrum_weights weights,
                                    const char *sums_text, size_t sums_bytes,
                                    ferrum_weights_progress_fn progress,
                                    void *user_data, char *buffer,
                                    size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_weights_verify(weights.id, (char *)sums_text, sums_bytes,
                                  progress, (uintptr_t)user_data, buffer,
                                  capacity, length_out));
}

ferrum_status
ferrum_weights_convert(ferrum_weights weights, const char *path,
                       const ferrum_weights_convert_request *request) {
    FM_ENTER();
    FM_REQUIRE(path);
    ferrum_weights_convert_request request_full =
        FERRUM_WEIGHTS_CONVERT_REQUEST_INIT;
    if (request != NULL)
        FM_STRUCT_IN(request, request_full);
    FM_RETURN(fmgo_weights_convert(weights.id, (char *)path, &request_full));
}

ferrum_status
ferrum_weights_decoder_add(const ferrum_weights_decoder *decoder,
                           uint32_t *number_out,
                           ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(number_out);
    *number_out = 0;
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(decoder);
    ferrum_weights_decoder decoder_full = FERRUM_WEIGHTS_DECODER_INIT;
    FM_STRUCT_IN(decoder, decoder_full);
    FM_RETURN(fmgo_weights_decoder_add(&decoder_full, number_out,
                                       &registration_out->id));
}

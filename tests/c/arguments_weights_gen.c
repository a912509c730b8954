/* Generated from include/ferrum_mem/weights.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static int32_t
nothing_ferrum_weights_progress_fn(const ferrum_weights_progress *progress,
                                   void *user_data) {
    (void)progress;
    (void)user_data;
    return 0;
}

static const struct_field fields_ferrum_weights_source[] = {
    FIELD(ferrum_weights_source, kind, ENUMERATION, .unknown = {-1, 5}),
    FIELD(ferrum_weights_source, path, TEXT),
    FIELD(ferrum_weights_source, data, LIST),
    FIELD(ferrum_weights_source, data_bytes, VALUE),
    FIELD(ferrum_weights_source, format, ENUMERATION, .unknown = {-1, 8}),
    FIELD(ferrum_weights_source, decoder, VALUE),
    FIELD(ferrum_weights_source, raw_dtype, ENUMERATION, .unknown = {-1, 298}),
    FIELD(ferrum_weights_source, raw_rank, VALUE)};
static const ferrum_weights_source init_ferrum_weights_source =
    FERRUM_WEIGHTS_SOURCE_INIT;
static const struct_type type_ferrum_weights_source = {
    sizeof(ferrum_weights_source), &init_ferrum_weights_source,
    fields_ferrum_weights_source, 8};

static const ferrum_tensor_info init_ferrum_tensor_info =
    FERRUM_TENSOR_INFO_INIT;
static const struct_type type_ferrum_tensor_info = {
    sizeof(ferrum_tensor_info), &init_ferrum_tensor_info, NULL, 0};

static const struct_field fields_ferrum_weights_load_request[] = {
    FIELD(ferrum_weights_load_request, flags, FLAGS),
    FIELD(ferrum_weights_load_request, memories, LIST),
    FIELD(ferrum_weights_load_request, memory_count, VALUE),
    FIELD(ferrum_weights_load_request, threads, VALUE),
    FIELD(ferrum_weights_load_request, specs_json, TEXT),
    FIELD(ferrum_weights_load_request, specs_bytes, VALUE),
    FIELD(ferrum_weights_load_request, staging_bytes, VALUE)};
static const ferrum_weights_load_request init_ferrum_weights_load_request =
    FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
static const struct_type type_ferrum_weights_load_request = {
    sizeof(ferrum_weights_load_request), &init_ferrum_weights_load_request,
    fields_ferrum_weights_load_request, 7};

static const ferrum_weights_progress init_ferrum_weights_progress =
    FERRUM_WEIGHTS_PROGRESS_INIT;
static const struct_type type_ferrum_weights_progress = {
    sizeof(ferrum_weights_progress), &init_ferrum_weights_progress, NULL, 0};

static const struct_field fields_ferrum_weights_convert_request[] = {
    FIELD(ferrum_weights_convert_request, format, ENUMERATION,
          .unknown = {-1, 8}),
    FIELD(ferrum_weights_convert_request, flags, FLAGS),
    FIELD(ferrum_weights_convert_request, reserved, RESERVED),
    FIELD(ferrum_weights_convert_request, specs_json, TEXT),
    FIELD(ferrum_weights_convert_request, specs_bytes, VALUE),
    FIELD(ferrum_weights_convert_request, texts_json, TEXT),
    FIELD(ferrum_weights_convert_request, texts_bytes, VALUE)};
static const ferrum_weights_convert_request
    init_ferrum_weights_convert_request = FERRUM_WEIGHTS_CONVERT_REQUEST_INIT;
static const struct_type type_ferrum_weights_convert_request = {
    sizeof(ferrum_weights_convert_request),
    &init_ferrum_weights_convert_request, fields_ferrum_weights_convert_request,
    7};

static const struct_field fields_ferrum_weights_decoder[] = {
    FIELD(ferrum_weights_decoder, reserved, RESERVED),
    FIELD(ferrum_weights_decoder, format, TEXT)};
static const ferrum_weights_decoder init_ferrum_weights_decoder =
    FERRUM_WEIGHTS_DECODER_INIT;
static const struct_type type_ferrum_weights_decoder = {
    sizeof(ferrum_weights_decoder), &init_ferrum_weights_decoder,
    fields_ferrum_weights_decoder, 2};

static ferrum_status call_weights_open(const argument *a) {
    return ferrum_weights_open(a[0].pointer, a[1].pointer);
}
static const parameter parameters_weights_open[] = {
    PARAMETER(source, STRUCT_IN, .type = &type_ferrum_weights_source),
    PARAMETER(weights_out, OUT, .size = sizeof(ferrum_weights))};

static ferrum_status call_weights_check(const argument *a) {
    return ferrum_weights_check(a[0].pointer);
}
static const parameter parameters_weights_check[] = {
    PARAMETER(source, STRUCT_IN, .type = &type_ferrum_weights_source)};

static ferrum_status call_weights_close(const argument *a) {
    return ferrum_weights_close((ferrum_weights){a[0].number},
                                (uint32_t)a[1].number);
}
static const parameter parameters_weights_close[] = {
    PARAMETER(weights, HANDLE, .kind = WEIGHTS), PARAMETER(flags, FLAGS)};

static ferrum_status call_weights_metadata_json(const argument *a) {
    return ferrum_weights_metadata_json((ferrum_weights){a[0].number},
                                        a[1].pointer, (size_t)a[2].number,
                                        a[3].pointer);
}
static const parameter parameters_weights_metadata_json[] = {
    PARAMETER(weights, HANDLE, .kind = WEIGHTS), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_weights_capabilities_json(const argument *a) {
    return ferrum_weights_capabilities_json(a[0].pointer, (size_t)a[1].number,
                                            a[2].pointer);
}
static const parameter parameters_weights_capabilities_json[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_weights_find(const argument *a) {
    return ferrum_weights_find((ferrum_weights){a[0].number}, a[1].pointer,
                               a[2].pointer);
}
static const parameter parameters_weights_find[] = {
    PARAMETER(weights, HANDLE, .kind = WEIGHTS), PARAMETER(name, TEXT),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_tensor_info)};

static ferrum_status call_weights_load(const argument *a) {
    return ferrum_weights_load((ferrum_weights){a[0].number}, a[1].pointer,
                               a[2].pointer);
}
static const parameter parameters_weights_load[] = {
    PARAMETER(weights, HANDLE, .kind = WEIGHTS),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_weights_load_request),
    PARAMETER(set_out, OUT, .size = sizeof(ferrum_tensor_set))};

static ferrum_status call_tensor_set_wait(const argument *a) {
    return ferrum_tensor_set_wait((ferrum_tensor_set){a[0].number},
                                  (uint64_t)a[1].number);
}
static const parameter parameters_tensor_set_wait[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET), PARAMETER(timeout_ns, VALUE)};

static ferrum_status call_tensor_set_cancel(const argument *a) {
    return ferrum_tensor_set_cancel((ferrum_tensor_set){a[0].number});
}
static const parameter parameters_tensor_set_cancel[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET)};

static ferrum_status call_tensor_set_get_progress(const argument *a) {
    return ferrum_tensor_set_get_progress((ferrum_tensor_set){a[0].number},
                                          a[1].pointer);
}
static const parameter parameters_tensor_set_get_progress[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET),
    PARAMETER(progress_out, STRUCT_OUT, .type = &type_ferrum_weights_progress)};

static ferrum_status call_tensor_set_get_count(const argument *a) {
    return ferrum_tensor_set_get_count((ferrum_tensor_set){a[0].number},
                                       a[1].pointer);
}
static const parameter parameters_tensor_set_get_count[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET),
    PARAMETER(count_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_tensor_set_get_tensor(const argument *a) {
    return ferrum_tensor_set_get_tensor((ferrum_tensor_set){a[0].number},
                                        (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_tensor_set_get_tensor[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET), PARAMETER(index, VALUE),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_tensor_info)};

static ferrum_status call_tensor_set_get_tensor_name(const argument *a) {
    return ferrum_tensor_set_get_tensor_name(
        (ferrum_tensor_set){a[0].number}, (uint64_t)a[1].number, a[2].pointer,
        (size_t)a[3].number, a[4].pointer);
}
static const parameter parameters_tensor_set_get_tensor_name[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET), PARAMETER(index, VALUE),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_tensor_set_find(const argument *a) {
    return ferrum_tensor_set_find((ferrum_tensor_set){a[0].number},
                                  a[1].pointer, a[2].pointer);
}
static const parameter parameters_tensor_set_find[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET), PARAMETER(name, TEXT),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_tensor_info)};

static ferrum_status call_tensor_set_tensors_json(const argument *a) {
    return ferrum_tensor_set_tensors_json((ferrum_tensor_set){a[0].number},
                                          a[1].pointer, (size_t)a[2].number,
                                          a[3].pointer);
}
static const parameter parameters_tensor_set_tensors_json[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_tensor_set_check(const argument *a) {
    return ferrum_tensor_set_check((ferrum_tensor_set){a[0].number});
}
static const parameter parameters_tensor_set_check[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET)};

static ferrum_status call_tensor_set_free(const argument *a) {
    return ferrum_tensor_set_free((ferrum_tensor_set){a[0].number},
                                  (uint32_t)a[1].number);
}
static const parameter parameters_tensor_set_free[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET), PARAMETER(flags, FLAGS)};

static ferrum_status call_weights_verify(const argument *a) {
    return ferrum_weights_verify(
        (ferrum_weights){a[0].number}, a[1].pointer, (size_t)a[2].number,
        (ferrum_weights_progress_fn)a[3].function, a[4].pointer, a[5].pointer,
        (size_t)a[6].number, a[7].pointer);
}
static const parameter parameters_weights_verify[] = {
    PARAMETER(weights, HANDLE, .kind = WEIGHTS),
    PARAMETER(sums_text, BYTES, .is_optional = 1),
    PARAMETER(sums_bytes, VALUE),
    PARAMETER(progress, CALLBACK,
              .nothing = (any_function)nothing_ferrum_weights_progress_fn,
              .is_optional = 1),
    PARAMETER(user_data, DATA),
    PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_weights_convert(const argument *a) {
    return ferrum_weights_convert((ferrum_weights){a[0].number}, a[1].pointer,
                                  a[2].pointer);
}
static const parameter parameters_weights_convert[] = {
    PARAMETER(weights, HANDLE, .kind = WEIGHTS), PARAMETER(path, TEXT),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_weights_convert_request,
              .is_optional = 1)};

static ferrum_status call_weights_decoder_add(const argument *a) {
    return ferrum_weights_decoder_add(a[0].pointer, a[1].pointer, a[2].pointer);
}
static const parameter parameters_weights_decoder_add[] = {
    PARAMETER(decoder, STRUCT_IN, .type = &type_ferrum_weights_decoder),
    PARAMETER(number_out, OUT, .size = sizeof(uint32_t)),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

const function arguments_weights[] = {
    FUNCTION(weights_open, .parameters = parameters_weights_open, .count = 2),
    FUNCTION(weights_check, .parameters = parameters_weights_check, .count = 1),
    FUNCTION(weights_close, .parameters = parameters_weights_close, .count = 2,
             .waits = 1),
    FUNCTION(weights_metadata_json,
             .parameters = parameters_weights_metadata_json, .count = 4),
    FUNCTION(weights_capabilities_json,
             .parameters = parameters_weights_capabilities_json, .count = 3),
    FUNCTION(weights_find, .parameters = parameters_weights_find, .count = 3),
    FUNCTION(weights_load, .parameters = parameters_weights_load, .count = 3),
    FUNCTION(tensor_set_wait, .parameters = parameters_tensor_set_wait,
             .count = 2, .waits = 1),
    FUNCTION(tensor_set_cancel, .parameters = parameters_tensor_set_cancel,
             .count = 1),
    FUNCTION(tensor_set_get_progress,
             .parameters = parameters_tensor_set_get_progress, .count = 2),
    FUNCTION(tensor_set_get_count,
             .parameters = parameters_tensor_set_get_count, .count = 2),
    FUNCTION(tensor_set_get_tensor,
             .parameters = parameters_tensor_set_get_tensor, .count = 3),
    FUNCTION(tensor_set_get_tensor_name,
             .parameters = parameters_tensor_set_get_tensor_name, .count = 5),
    FUNCTION(tensor_set_find, .parameters = parameters_tensor_set_find,
             .count = 3),
    FUNCTION(tensor_set_tensors_json,
             .parameters = parameters_tensor_set_tensors_json, .count = 4),
    FUNCTION(tensor_set_check, .parameters = parameters_tensor_set_check,
             .count = 1),
    FUNCTION(tensor_set_free, .parameters = parameters_tensor_set_free,
             .count = 2, .waits = 1),
    FUNCTION(weights_verify, .parameters = parameters_weights_verify,
             .count = 8),
    FUNCTION(weights_convert, .parameters = parameters_weights_convert,
             .count = 3),
    FUNCTION(weights_decoder_add, .parameters = parameters_weights_decoder_add,
             .count = 3),
    {.name = NULL}};

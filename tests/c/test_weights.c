/*
 * The header's promises about sources of weights: opening, descriptions,
 * sums, conversions and decoders. Each test starts with one live
 * object of every kind and ends with a clean stop of the library, which fails
 * if anything is left. test_weight_loads.c has the loads.
 */
#include "asserts.h"
#include "fixture.h"
#include "weight_files.h"

#include <stdio.h>
#include <unistd.h>

static fixture f;
static char folder[64], path[96], other[96];

static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    if (weight_folder_make(folder, path, 1000) != 0)
        return 1;
    snprintf(other, sizeof other, "%s/other.safetensors", folder);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    remove(other);
    return weight_folder_end(folder, path);
}

static ferrum_weights source_of(const char *text) {
    return weight_file_open(text);
}

static char *metadata(ferrum_weights weights) {
    static char text[8192];
    size_t length = 0;
    assert_ok(
        ferrum_weights_metadata_json(weights, text, sizeof text, &length));
    assert_int_equal(strlen(text), length);
    return text;
}

static void has(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("%s does not have %s", text, part);
}

static void test_source_is_described(void **state) {
    (void)state;
    ferrum_weights weights = source_of(path);
    const char *text = metadata(weights);
    has(text, "\"format\":\"safetensors\",\"total_size_bytes\":1040,"
              "\"dtypes\":[\"f32\",\"i64\",\"u8\"]");
    has(text, "\"tensors\":{\"a\":[2,3],\"b\":[2],\"big\":[1000]}");
    has(text, "\"offset_bytes\"");
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    assert_ok(ferrum_weights_find(weights, "a", &info));
    assert_int_equal(info.dtype, FERRUM_DTYPE_F32);
    assert_int_equal(info.rank, 2);
    assert_int_equal(info.flags, 0);
    assert_int_equal(info.shape[0], 2);
    assert_int_equal(info.shape[1], 3);
    assert_int_equal(info.shape[2], 0);
    assert_int_equal(info.address, 0);
    assert_int_equal(info.size_bytes, 24);
    assert_string_equal(info.device, "");
    assert_status(ferrum_weights_find(weights, "c", &info),
                  FERRUM_ERROR_NOT_FOUND);
    assert_message("\"c\"");
    assert_int_equal(info.rank, 0);
    assert_ok(ferrum_weights_close(weights, 0));
    assert_status(ferrum_weights_find(weights, "a", &info),
                  FERRUM_ERROR_INVALID_HANDLE);
}

static void test_opened_file_is_read_after_its_replacement(void **state) {
    (void)state;
    ferrum_weights weights = source_of(path);
    weight_file_write(other, 7);
    assert_int_equal(rename(other, path), 0);
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    ferrum_tensor_set set;
    assert_ok(weight_file_load(weights, f.pool, NULL, &set));
    assert_ok(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_tensor_set_find(set, "big", &info));
    assert_int_equal(info.size_bytes, 1000);
    assert_int_equal(((unsigned char *)(uintptr_t)info.address)[999],
                     999 % 251);
    assert_ok(ferrum_tensor_set_free(set, 0));
    assert_ok(ferrum_weights_close(weights, 0));
}

static void test_capabilities_have_the_names_of_formats(void **state) {
    (void)state;
    char *text = text_of(ferrum_weights_capabilities_json);
    has(text, "\"supported_formats\":[\"pytorch\",\"safetensors\",\"numpy\","
              "\"raw\",\"onnx\",\"gguf\"]");
    has(text, "\"supported_sources\":[\"file\",\"memory\"]");
    has(text, "\"max_tensor_size\":9223372036854775807");
    has(text, "\"supports_streaming\":true,\"supports_concurrent\":true");
    has(text, "\"supported_transformations\":[\"transpose\",\"reshape\","
              "\"cast\",\"scale\",\"slice\"]");
    free(text);
}

/* ---------------------------------------------------------- what is refused */

static void refused(const ferrum_weights_source *source, ferrum_status status,
                    const char *says) {
    ferrum_weights weights = {7};
    assert_status(ferrum_weights_open(source, &weights), status);
    assert_message(says);
    assert_int_equal(weights.id, 0);
    assert_status(ferrum_weights_check(source), status);
    assert_message(says);
}

static void test_sources_are_refused_with_a_reason(void **state) {
    (void)state;
    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    refused(&source, FERRUM_ERROR_INVALID_ARGUMENT, "source->path");
    source.path = path;
    assert_ok(ferrum_weights_check(&source));
    source.format = FERRUM_WEIGHTS_FORMAT_GGUF;
    refused(&source, FERRUM_ERROR_INVALID_ARGUMENT, "only [gguf] is accepted");
    source.format = FERRUM_WEIGHTS_FORMAT_SAFETENSORS;
    assert_ok(ferrum_weights_check(&source));
    source.raw_rank = 1;
    refused(&source, FERRUM_ERROR_INVALID_ARGUMENT, "source->raw_rank is 1");
    source.raw_rank = 0;
    source.decoder = 1;
    refused(&source, FERRUM_ERROR_INVALID_ARGUMENT, "source->decoder is 1");
    source.format = FERRUM_WEIGHTS_FORMAT_CUSTOM;
    refused(&source, FERRUM_ERROR_NOT_FOUND, "source->decoder is 1");
    source.format = FERRUM_WEIGHTS_FORMAT_ANY;
    source.decoder = 0;
    source.data = path;
    refused(&source, FERRUM_ERROR_INVALID_ARGUMENT, "source->data is set");
    source.data = NULL;
    source.path = "/nowhere/model.safetensors";
    refused(&source, FERRUM_ERROR_NOT_FOUND, "/nowhere/model.safetensors");
    source.path = "/dev/null";
    refused(&source, FERRUM_ERROR_INVALID_ARGUMENT, "/dev/null is not a file");
    static const ferrum_weights_source_kind network[] = {
        FERRUM_WEIGHTS_SOURCE_URL, FERRUM_WEIGHTS_SOURCE_HUGGING_FACE,
        FERRUM_WEIGHTS_SOURCE_S3};
    source.path = "owner/model";
    for (size_t i = 0; i < sizeof network / sizeof network[0]; i++) {
        source.kind = network[i];
        refused(&source, FERRUM_ERROR_UNSUPPORTED, "needs the network");
    }
}

static void test_memory_is_a_source(void **state) {
    (void)state;
    float numbers[6] = {0, 1, 2, 3, 4, 5};
    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    source.kind = FERRUM_WEIGHTS_SOURCE_MEMORY;
    source.data_bytes = sizeof numbers;
    refused(&source, FERRUM_ERROR_NULL_POINTER, "source->data is NULL");
    source.data = numbers;
    refused(&source, FERRUM_ERROR_UNSUPPORTED, "memory");
    source.data_bytes = UINT64_MAX;
    refused(&source, FERRUM_ERROR_INVALID_SIZE, "source->data_bytes");
    source.data_bytes = sizeof numbers;
    source.format = FERRUM_WEIGHTS_FORMAT_RAW;
    source.raw_dtype = FERRUM_DTYPE_F32;
    source.raw_rank = 17;
    refused(&source, FERRUM_ERROR_INVALID_ARGUMENT, "raw_rank is 17");
    source.raw_rank = 2;
    source.raw_shape[0] = 2;
    source.raw_shape[1] = 4;
    source.path = "numbers.bin";
    refused(&source, FERRUM_ERROR_INVALID_FORMAT, "numbers");
    source.raw_shape[1] = 3;
    ferrum_weights weights;
    assert_ok(ferrum_weights_open(&source, &weights));
    has(metadata(weights), "\"format\":\"raw\",\"total_size_bytes\":24");
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    assert_ok(ferrum_weights_find(weights, "numbers", &info));
    assert_int_equal(info.shape[1], 3);
    assert_ok(ferrum_weights_close(weights, 0));
}

/* ------------------------------------------------------ sums and conversions */

static int32_t stop_at_once(const ferrum_weights_progress *progress,
                            void *user_data) {
    ++*(int *)user_data;
    return progress->done_bytes > 0;
}

static void test_sums_are_compared(void **state) {
    (void)state;
    ferrum_weights weights = source_of(path);
    char text[512], line[256];
    size_t length = 0, needed = 0;
    int calls = 0;
    /* The query of the length reads no file. */
    assert_ok(ferrum_weights_verify(weights, NULL, 0, stop_at_once, &calls,
                                    NULL, 0, &needed));
    assert_status(ferrum_weights_verify(weights, NULL, 0, stop_at_once, &calls,
                                        text, needed, &length),
                  FERRUM_ERROR_BUFFER_TOO_SMALL);
    assert_int_equal(length, needed);
    assert_int_equal(calls, 0);
    assert_ok(ferrum_weights_verify(weights, NULL, 0, NULL, NULL, text,
                                    needed + 1, &length));
    assert_int_equal(length, needed);
    has(text, path);
    const char *sum = strstr(text, "\"sha256\":\"");
    assert_non_null(sum);
    snprintf(line, sizeof line, "%.64s  elsewhere/model.safetensors\n",
             sum + 10);
    assert_ok(ferrum_weights_verify(weights, line, strlen(line), NULL, NULL,
                                    text, sizeof text, &length));
    line[0] = line[0] == '0' ? '1' : '0';
    assert_status(ferrum_weights_verify(weights, line, strlen(line), NULL, NULL,
                                        text, sizeof text, &length),
                  FERRUM_ERROR_CORRUPTED);
    assert_message(path);
    assert_string_equal(text, "");
    assert_status(ferrum_weights_verify(weights, "", 0, NULL, NULL, text,
                                        sizeof text, &length),
                  FERRUM_ERROR_NOT_FOUND);
    assert_status(ferrum_weights_verify(weights, "12  a", 5, NULL, NULL, text,
                                        sizeof text, &length),
                  FERRUM_ERROR_INVALID_FORMAT);
    assert_message("sums_text: line 1");
    assert_ok(ferrum_weights_close(weights, 0));
}

static void test_verification_can_be_cancelled(void **state) {
    (void)state;
    weight_file_write(path, 5 << 20);
    ferrum_weights weights = source_of(path);
    char text[512];
    size_t length = 0;
    int calls = 0;
    assert_status(ferrum_weights_verify(weights, NULL, 0, stop_at_once, &calls,
                                        text, sizeof text, &length),
                  FERRUM_ERROR_CANCELLED);
    assert_int_equal(calls, 1);
    assert_ok(ferrum_weights_close(weights, 0));
}

static void test_conversion_writes_a_file_once(void **state) {
    (void)state;
    ferrum_weights weights = source_of(path);
    static const char order[] =
        "{\"include\":[\"a\"],\"prefix\":\"x.\",\"float_dtype\":\"bf16\"}";
    ferrum_weights_convert_request request =
        FERRUM_WEIGHTS_CONVERT_REQUEST_INIT;
    request.specs_json = order;
    request.specs_bytes = strlen(order);
    request.texts_json = "{\"Made by\":\"a test\"}";
    request.texts_bytes = strlen(request.texts_json);
    assert_ok(ferrum_weights_convert(weights, other, &request));
    assert_status(ferrum_weights_convert(weights, other, &request),
                  FERRUM_ERROR_ALREADY_EXISTS);
    request.flags = FERRUM_WEIGHTS_CONVERT_REPLACE;
    assert_ok(ferrum_weights_convert(weights, other, &request));
    request.format = FERRUM_WEIGHTS_FORMAT_ONNX;
    assert_status(ferrum_weights_convert(weights, other, &request),
                  FERRUM_ERROR_UNSUPPORTED);
    request.format = 9;
    assert_status(ferrum_weights_convert(weights, other, &request),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("request->format is 9");
    assert_status(ferrum_weights_convert(weights, "/tmp/x.y", NULL),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("/tmp/x.y");
    request.format = 0;
    request.texts_json = "{\"a\":1}";
    request.texts_bytes = 7;
    assert_status(ferrum_weights_convert(weights, other, &request),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("request->texts_json");
    assert_ok(ferrum_weights_close(weights, 0));
    weights = source_of(other);
    const char *text = metadata(weights);
    has(text, "\"tensors\":{\"x.a\":[2,3]}");
    has(text, "\"dtypes\":[\"bf16\"]");
    has(text, "\"Made by\":\"a test\"");
    assert_ok(ferrum_weights_close(weights, 0));
}

/* ---------------------------------------------------------------- decoders */

/* The format "test": the letters TEST, then bytes of one u8 tensor. */
typedef struct {
    const char *description;
    ferrum_status status;
    ferrum_registration registration;
    int calls;
    uint64_t file;
    ferrum_weights_read_at_fn read_at;
} test_decoder;

static int32_t recognises(const void *start, size_t start_bytes,
                          uint64_t file_bytes, void *user_data) {
    (void)user_data;
    return file_bytes >= 4 && start_bytes >= 4 && memcmp(start, "TEST", 4) == 0;
}

static ferrum_status decode(const ferrum_weights_file *file, void *user_data) {
    test_decoder *d = user_data;
    char bytes[5] = {0};
    d->calls++;
    d->file = file->file;
    d->read_at = file->read_at;
    assert_int_equal(file->struct_size, sizeof *file);
    assert_ok(file->read_at(file->file, 0, bytes, 4));
    assert_string_equal(bytes, "TEST");
    assert_status(file->read_at(file->file, file->size_bytes, bytes, 1),
                  FERRUM_ERROR_INVALID_SIZE);
    assert_status(file->read_at(file->file, UINT64_MAX, bytes, 2),
                  FERRUM_ERROR_INVALID_SIZE);
    assert_status(file->read_at(file->file, 0, NULL, 2),
                  FERRUM_ERROR_NULL_POINTER);
    assert_status(file->describe(file->file, "{}", FERRUM_WEIGHTS_JSON_MAX + 1),
                  FERRUM_ERROR_INVALID_SIZE);
    if (d->description != NULL)
        assert_ok(
            file->describe(file->file, d->description, strlen(d->description)));
    if (d->registration.id != 0)
        assert_ok(ferrum_registration_remove(d->registration));
    return d->status;
}

static const char good_description[] =
    "{\"tensors\":{\"Bytes\":{\"dtype\":\"u8\",\"shape\":[3],"
    "\"offset_bytes\":4}},\"texts\":{\"Note\":\"short\"}}";

static void test_decoder_describes_a_format(void **state) {
    (void)state;
    static const char bytes[] = "TESTabc";
    test_decoder d = {.description = good_description};
    ferrum_weights_decoder decoder = FERRUM_WEIGHTS_DECODER_INIT;
    ferrum_registration registration = {7};
    uint32_t number = 7;
    decoder.format = "test";
    decoder.user_data = &d;
    assert_status(ferrum_weights_decoder_add(&decoder, &number, &registration),
                  FERRUM_ERROR_NULL_POINTER);
    assert_int_equal(number, 0);
    assert_int_equal(registration.id, 0);
    decoder.recognises = recognises;
    decoder.decode = decode;
    assert_ok(ferrum_weights_decoder_add(&decoder, &number, &registration));
    ferrum_registration second;
    uint32_t further;
    assert_status(ferrum_weights_decoder_add(&decoder, &further, &second),
                  FERRUM_ERROR_ALREADY_EXISTS);
    char *text = text_of(ferrum_weights_capabilities_json);
    has(text, "\"gguf\",\"test\"]");
    free(text);

    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    source.kind = FERRUM_WEIGHTS_SOURCE_MEMORY;
    source.data = bytes;
    source.data_bytes = 7;
    source.format = FERRUM_WEIGHTS_FORMAT_CUSTOM;
    source.decoder = number;
    ferrum_weights weights;
    assert_ok(ferrum_weights_open(&source, &weights));
    has(metadata(weights), "\"format\":\"test\"");
    has(metadata(weights), "\"Note\":\"short\"");
    ferrum_tensor_set set;
    assert_ok(weight_file_load(weights, f.pool, NULL, &set));
    assert_ok(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    assert_ok(ferrum_tensor_set_find(set, "Bytes", &info));
    assert_memory_equal((void *)(uintptr_t)info.address, "abc", 3);
    assert_ok(ferrum_tensor_set_free(set, 0));
    assert_ok(ferrum_weights_close(weights, 0));
    /* The file is invalid after its callback has returned. */
    char byte;
    assert_status(d.read_at(d.file, 0, &byte, 1), FERRUM_ERROR_INVALID_HANDLE);

    static const struct {
        const char *description;
        ferrum_status status, want;
        const char *says;
    } wrong[] = {
        {NULL, FERRUM_OK, FERRUM_ERROR_INVALID_ARGUMENT, "not described"},
        {good_description, FERRUM_ERROR_PERMISSION_DENIED,
         FERRUM_ERROR_PERMISSION_DENIED, "its function returned"},
        {good_description, 5, FERRUM_ERROR_INVALID_ARGUMENT, "returned 5"},
        {"{\"tensors\":{\"x\":{\"dtype\":\"u8\",\"shape\":[3]}}}", FERRUM_OK,
         FERRUM_ERROR_INVALID_ARGUMENT, "offset_bytes"},
        {"{\"tensors\":{\"x\":{\"dtype\":\"u8\",\"shape\":[4],"
         "\"offset_bytes\":4}}}",
         FERRUM_OK, FERRUM_ERROR_INVALID_FORMAT, "x"},
        {"{\"tensors\":{\"x\":{\"dtype\":\"u9\",\"shape\":[4],"
         "\"offset_bytes\":4}}}",
         FERRUM_OK, FERRUM_ERROR_INVALID_ARGUMENT, "u9"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        d.description = wrong[i].description;
        d.status = wrong[i].status;
        assert_status(ferrum_weights_check(&source), wrong[i].want);
        assert_message(wrong[i].says);
    }
    /* A decoder may remove itself. */
    d.description = good_description;
    d.status = FERRUM_OK;
    d.registration = registration;
    assert_ok(ferrum_weights_check(&source));
    assert_status(ferrum_weights_check(&source), FERRUM_ERROR_NOT_FOUND);
    assert_status(ferrum_registration_remove(registration),
                  FERRUM_ERROR_INVALID_HANDLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_source_is_described),
        TEST(test_opened_file_is_read_after_its_replacement),
        TEST(test_capabilities_have_the_names_of_formats),
        TEST(test_sources_are_refused_with_a_reason),
        TEST(test_memory_is_a_source),
        TEST(test_sums_are_compared),
        TEST(test_verification_can_be_cancelled),
        TEST(test_conversion_writes_a_file_once),
        TEST(test_decoder_describes_a_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

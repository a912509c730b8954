/*
 * The header's promises about estimation. The library is never started,
 * because estimation does not need that.
 */
#include "asserts.h"

#include <stdio.h>
#include <unistd.h>

static const char config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 64, "
    "\"intermediate_size\": 256, \"num_hidden_layers\": 4, "
    "\"num_attention_heads\": 8, \"vocab_size\": 1000, "
    "\"max_position_embeddings\": 128, \"torch_dtype\": \"bfloat16\"}";

static ferrum_model_shape mistral(uint64_t dtype_bytes) {
    ferrum_model_shape shape = FERRUM_MODEL_SHAPE_INIT;
    shape.hidden_size = 4096;
    shape.intermediate_size = 14336;
    shape.num_layers = 32;
    shape.vocab_size = 32000;
    shape.num_heads = 32;
    shape.num_kv_heads = 8;
    shape.max_seq_len = 4096;
    shape.dtype_bytes = dtype_bytes;
    return shape;
}

static void test_short_formulas(void **state) {
    (void)state;
    ferrum_model_shape shape = mistral(4);
    ferrum_inference_estimate found = FERRUM_INFERENCE_ESTIMATE_INIT;
    assert_ok(ferrum_estimate_inference_memory(&shape, &found));
    assert_int_equal(found.model_bytes, 28966928384);
    assert_int_equal(found.kv_cache_bytes, 1073741824);
    assert_int_equal(found.activation_bytes, 262144);
    assert_int_equal(found.total_bytes, 30040932352);
    uint64_t bytes = 0;
    assert_ok(ferrum_estimate_model_memory(&shape, &bytes));
    assert_int_equal(bytes, found.model_bytes);
    ferrum_kv_cache_shape cache = FERRUM_KV_CACHE_SHAPE_INIT;
    cache.num_layers = 32;
    cache.num_kv_heads = 8;
    cache.head_dim = 128;
    cache.max_seq_len = 4096;
    cache.dtype_bytes = 4;
    assert_ok(ferrum_estimate_kv_cache_memory(&cache, &bytes));
    assert_int_equal(bytes, found.kv_cache_bytes);
    shape = mistral(2);
    assert_ok(ferrum_estimate_inference_memory(&shape, &found));
    assert_int_equal(found.total_bytes, 15020466176);
}

static void test_short_formulas_refuse(void **state) {
    (void)state;
    ferrum_model_shape shape = mistral(4);
    uint64_t bytes = 7;
    shape.num_heads = 0;
    assert_status(ferrum_estimate_model_memory(&shape, &bytes),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("n_heads is 0");
    assert_int_equal(bytes, 0);
    shape = mistral(UINT64_MAX);
    ferrum_inference_estimate found = FERRUM_INFERENCE_ESTIMATE_INIT;
    found.total_bytes = 7;
    assert_status(ferrum_estimate_inference_memory(&shape, &found),
                  FERRUM_ERROR_OVERFLOW);
    assert_message("the size of the model");
    assert_int_equal(found.total_bytes, 0);
}

/* A member of the object as a number; -1 if it is not there. */
static long long number(const char *json, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(json, key);
    return at == NULL ? -1 : strtoll(at + strlen(key), NULL, 10);
}

static void test_a_configuration(void **state) {
    (void)state;
    char text[4096];
    size_t length = 0;
    const size_t bytes = sizeof config - 1;
    assert_ok(
        ferrum_estimate_config_json(config, bytes, NULL, NULL, 0, &length));
    assert_true(length > 0 && length < sizeof text);
    const size_t told = length;
    text[0] = 'x';
    assert_status(
        ferrum_estimate_config_json(config, bytes, NULL, text, told, &length),
        FERRUM_ERROR_BUFFER_TOO_SMALL);
    assert_int_equal(length, told);
    assert_int_equal(text[0], 0);
    assert_ok(ferrum_estimate_config_json(config, bytes, NULL, text, told + 1,
                                          &length));
    assert_int_equal(strlen(text), told);
    const long long parameters =
        4 * (4 * 64 * 64 + 3 * 64 * 256 + 2 * 64) + 2 * 1000 * 64 + 64;
    assert_int_equal(number(text, "parameters"), parameters);
    assert_int_equal(number(text, "weights_bytes"), 2 * parameters);
    assert_int_equal(number(text, "kv_cache_bytes"), 128 * 4 * 2 * 64 * 2);
    assert_int_equal(number(text, "context"), 128);
    assert_null(strstr(text, "\"fits\""));
    assert_int_equal(
        number(text, "total_bytes"),
        number(text, "weights_bytes") + number(text, "kv_cache_bytes") +
            number(text, "activation_bytes") + number(text, "overhead_bytes"));
}

static long long asked(const ferrum_estimate_request *request,
                       const char *name) {
    char text[4096];
    size_t length = 0;
    assert_ok(ferrum_estimate_config_json(config, sizeof config - 1, request,
                                          text, sizeof text, &length));
    return number(text, name);
}

static void test_requests(void **state) {
    (void)state;
    ferrum_estimate_request r = FERRUM_ESTIMATE_REQUEST_INIT;
    r.context = 10;
    r.batch = 3;
    r.kv_dtype = "int8";
    assert_int_equal(asked(&r, "kv_cache_bytes"), 10 * 3 * 4 * 2 * 8 * 10);
    r.weight_dtype = "f32";
    assert_int_equal(asked(&r, "weights_bytes"), 4 * asked(&r, "parameters"));
    const long long fused = asked(&r, "activation_bytes");
    r.flags = FERRUM_ESTIMATE_ALL_LOGITS;
    assert_true(asked(&r, "activation_bytes") > fused);
    r.context = 128;
    r.flags = FERRUM_ESTIMATE_EAGER_ATTENTION;
    const long long eager = asked(&r, "activation_bytes");
    r.flags = 0;
    assert_true(eager > asked(&r, "activation_bytes"));

    /* The longest context fits, and one token more does not. */
    r.free_bytes = UINT64_C(4) << 20;
    const long long longest = asked(&r, "max_context");
    assert_true(longest > 0);
    r.context = (uint64_t)longest;
    assert_true(asked(&r, "total_bytes") <= (long long)r.free_bytes);
    r.context++;
    assert_true(asked(&r, "total_bytes") > (long long)r.free_bytes);
}

static void test_bad_input_is_named(void **state) {
    (void)state;
    char text[64];
    size_t length = 7;
    assert_status(
        ferrum_estimate_config_json("{}", 2, NULL, text, sizeof text, &length),
        FERRUM_ERROR_INVALID_FORMAT);
    assert_message("config.json: model_type: is missing");
    assert_int_equal(length, 0);
    assert_status(ferrum_estimate_file_json("/nowhere/config.json", NULL, NULL,
                                            0, &length),
                  FERRUM_ERROR_NOT_FOUND);
    assert_message("/nowhere/config.json");
}

static void test_a_folder(void **state) {
    (void)state;
    char folder[] = "/tmp/ferrum-estimate-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[128], text[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    static const char header[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],"
                                 "\"data_offsets\":[0,8]}}";
    const uint64_t size = sizeof header - 1;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(&size, 8, 1, file), 1);
    assert_int_equal(fwrite(header, size, 1, file), 1);
    assert_int_equal(fwrite(&size, 8, 1, file), 1);
    fclose(file);
    size_t length = 0;
    assert_ok(
        ferrum_estimate_file_json(folder, NULL, text, sizeof text, &length));
    assert_int_equal(number(text, "parameters"), 2);
    assert_int_equal(number(text, "weights_bytes"), 8);
    assert_non_null(strstr(text, "\"model_type\":null"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_formulas),
        cmocka_unit_test(test_short_formulas_refuse),
        cmocka_unit_test(test_a_configuration),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_bad_input_is_named),
        cmocka_unit_test(test_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

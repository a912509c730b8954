// Estimation through the C++17 layer. The library is not started.
#include <gtest/gtest.h>

#include <string>

#include "ferrum_mem.hpp"

namespace {

ferrum_model_shape mistral(std::uint64_t dtype_bytes) {
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

const std::string config =
    R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 256,
        "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000,
        "max_position_embeddings": 128, "torch_dtype": "bfloat16"})";

TEST(CppEstimate, test_short_formulas) {
    auto found = ferrum::estimate_inference_memory(mistral(4));
    EXPECT_EQ(found.model_bytes, 28966928384u);
    EXPECT_EQ(found.kv_cache_bytes, 1073741824u);
    EXPECT_EQ(found.activation_bytes, 262144u);
    EXPECT_EQ(found.total_bytes, 30040932352u);
    EXPECT_EQ(ferrum::estimate_model_memory(mistral(4)), found.model_bytes);
    ferrum_kv_cache_shape cache = FERRUM_KV_CACHE_SHAPE_INIT;
    cache.num_layers = 32;
    cache.num_kv_heads = 8;
    cache.head_dim = 128;
    cache.max_seq_len = 4096;
    cache.dtype_bytes = 4;
    EXPECT_EQ(ferrum::estimate_kv_cache_memory(cache), found.kv_cache_bytes);
}

TEST(CppEstimate, test_errors_as_values_and_as_exceptions) {
    auto none = mistral(4);
    none.num_heads = 0;
    auto refused = ferrum::try_estimate_inference_memory(none);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status(), FERRUM_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(refused.why().function, "ferrum_estimate_inference_memory");
    EXPECT_THROW(ferrum::estimate_model_memory(mistral(UINT64_MAX)),
                 ferrum::error);
    auto missing = ferrum::try_estimate_file_json("/nonexistent");
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.status(), FERRUM_ERROR_NOT_FOUND);
    EXPECT_THROW(ferrum::estimate_config_json("{}"), ferrum::error);
}

TEST(CppEstimate, test_a_configuration) {
    auto plain = ferrum::estimate_config_json(config);
    EXPECT_NE(plain.find("\"kv_cache_bytes\":131072,"), std::string::npos)
        << plain;
    EXPECT_EQ(plain.find("\"fits\""), std::string::npos);
    ferrum_estimate_request request = FERRUM_ESTIMATE_REQUEST_INIT;
    request.free_bytes = 1;
    auto asked = ferrum::estimate_config_json(config, &request);
    EXPECT_NE(asked.find("\"fits\":false"), std::string::npos) << asked;
}

} // namespace

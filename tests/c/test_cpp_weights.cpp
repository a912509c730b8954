/* The classes of weights: ownership, callables and failures. */
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "ferrum_mem.hpp"

namespace {

/* A file of safetensors in memory, with one tensor "a" of four f32. */
struct small_file {
    std::string bytes;
    small_file() {
        std::string header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],"
                             "\"data_offsets\":[0,16]}}";
        header.resize((header.size() + 7) / 8 * 8, ' ');
        const std::uint64_t size = header.size();
        const float numbers[4] = {1, 2, 3, 4};
        bytes.assign(reinterpret_cast<const char *>(&size), sizeof size);
        bytes += header;
        bytes.append(reinterpret_cast<const char *>(numbers), sizeof numbers);
    }
    ferrum::weights open() const {
        const auto source = ferrum::weights_source::memory(bytes);
        ferrum::weights::check(source);
        return ferrum::weights::open(source);
    }
};

TEST(CppWeights, test_sources) {
    ferrum::library library;
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::pool pool = device.create_pool();
    using source = ferrum::weights_source;
    const small_file small;
    const std::string path =
        "/tmp/ferrum_cpp_sources_" + std::to_string(getpid()) + ".safetensors";
    std::FILE *file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(std::fwrite(small.bytes.data(), 1, small.bytes.size(), file),
              small.bytes.size());
    ASSERT_EQ(std::fclose(file), 0);
    EXPECT_EQ(ferrum::weights::open(source::file(path)).find("a").size_bytes,
              16u);
    EXPECT_EQ(ferrum::weights::try_open(
                  source::file(path).format(FERRUM_WEIGHTS_FORMAT_GGUF))
                  .status(),
              FERRUM_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(
        ferrum::weights::try_open(source::file(path).decoder(77)).status(),
        FERRUM_ERROR_NOT_FOUND);
    EXPECT_EQ(std::remove(path.c_str()), 0);
    EXPECT_EQ(ferrum::weights::try_open(source::file(path)).status(),
              FERRUM_ERROR_NOT_FOUND);

    const float numbers[6] = {1, 2, 3, 4, 5, 6};
    const std::string_view bytes(reinterpret_cast<const char *>(numbers),
                                 sizeof numbers);
    ferrum::weights raw = ferrum::weights::open(
        source::memory(bytes, "part").raw(FERRUM_DTYPE_F32, {2, 3}));
    ferrum::tensor_set set = raw.load(pool);
    const ferrum_tensor_info info = set.tensor(0);
    EXPECT_EQ(set.tensor_name(0), "part");
    EXPECT_EQ(info.rank, 2u);
    EXPECT_EQ(info.shape[1], 3u);
    EXPECT_EQ(std::memcmp(reinterpret_cast<const void *>(info.address), numbers,
                          sizeof numbers),
              0);
    for (const auto &shape :
         {std::vector<std::uint64_t>{2, 4}, std::vector<std::uint64_t>(17, 1)})
        EXPECT_LT(ferrum::weights::try_check(
                      source::memory(bytes).raw(FERRUM_DTYPE_F32, shape))
                      .status(),
                  0);
}

TEST(CppWeights, test_load_into_a_pool) {
    ferrum::library library;
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::pool pool = device.create_pool();
    const small_file file;
    ferrum::weights weights = file.open();
    EXPECT_EQ(weights.find("a").size_bytes, 16u);
    EXPECT_NE(weights.metadata_json().find("\"a\":[4]"), std::string::npos);
    ferrum::tensor_set set = weights.load(pool, "{\"prefix\":\"m.\"}");
    EXPECT_EQ(set.count(), 1u);
    EXPECT_EQ(set.tensor_name(0), "m.a");
    const ferrum_tensor_info info = set.find("m.a");
    float last = 0;
    std::memcpy(&last, reinterpret_cast<const float *>(info.address) + 3,
                sizeof last);
    EXPECT_EQ(last, 4.0f);
    EXPECT_EQ(pool.try_destroy().status(), FERRUM_ERROR_BUSY);
    weights.close();
    set.free();
    pool.destroy();
}

TEST(CppWeights, test_callable_cancels_a_load) {
    ferrum::library library;
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::pool pool = device.create_pool();
    std::string bytes(32 << 20, 'x');
    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    source.kind = FERRUM_WEIGHTS_SOURCE_MEMORY;
    source.data = bytes.data();
    source.data_bytes = bytes.size();
    source.format = FERRUM_WEIGHTS_FORMAT_RAW;
    source.raw_dtype = FERRUM_DTYPE_U8;
    source.raw_rank = 1;
    source.raw_shape[0] = bytes.size();
    ferrum::weights weights = ferrum::weights::open(source);
    int calls = 0;
    ferrum::weights_load_request request;
    ferrum_weights_memory memory{};
    memory.pool = pool;
    request.memories.push_back(memory);
    request.progress = [&calls](const ferrum_weights_progress &) {
        calls++;
        return false;
    };
    ferrum::tensor_set set = weights.load(request);
    EXPECT_EQ(set.try_wait().status(), FERRUM_ERROR_CANCELLED);
    EXPECT_GE(calls, 1);
    /* A moved set is freed with its callable. */
    ferrum::tensor_set moved = std::move(set);
    moved = ferrum::tensor_set();
    EXPECT_FALSE(moved);
}

TEST(CppWeights, test_verify_and_convert) {
    ferrum::library library;
    const small_file file;
    ferrum::weights weights = file.open();
    const std::string path = testing::TempDir() + "ferrum_cpp_weights." +
                             std::to_string(getpid()) + ".safetensors";
    ferrum::weights_convert_request request;
    int calls = 0;
    request.replaces = true;
    request.progress = [&calls](const ferrum_weights_progress &now) {
        calls += now.total_bytes == 16;
        return true;
    };
    weights.convert(path, request);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(weights.try_convert(path).status(), FERRUM_ERROR_ALREADY_EXISTS);
    ferrum::weights converted = ferrum::weights::open(path);
    EXPECT_EQ(converted.map().count(), 1u);
    const std::string sums = std::string(64, '0') + "  memory\n";
    EXPECT_NE(weights.verify().find("\"sha256\""), std::string::npos);
    EXPECT_EQ(weights.try_verify(&sums).status(), FERRUM_ERROR_CORRUPTED);
    std::remove(path.c_str());
}

TEST(CppWeights, test_decoder_owns_its_functions) {
    ferrum::library library;
    const std::string bytes = "OWN!abc";
    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    source.kind = FERRUM_WEIGHTS_SOURCE_MEMORY;
    source.data = bytes.data();
    source.data_bytes = bytes.size();
    source.format = FERRUM_WEIGHTS_FORMAT_CUSTOM;
    auto token = std::make_shared<int>(1);
    ferrum::weights_decoder decoder;
    EXPECT_EQ(ferrum::weights::try_add_decoder("own", decoder).status(),
              FERRUM_ERROR_NULL_POINTER);
    decoder.recognises = [](std::string_view start, std::uint64_t file_bytes) {
        return file_bytes == 7 && start.substr(0, 4) == "OWN!";
    };
    decoder.describe = [token](const ferrum::weights_file &file) {
        char letter = 0;
        file.read(6, &letter, 1);
        EXPECT_EQ(letter, 'c');
        if (*token == 2)
            file.read(7, &letter, 1);
        return std::string("{\"tensors\":{\"abc\":{\"dtype\":\"u8\","
                           "\"shape\":[3],\"offset_bytes\":4}}}");
    };
    auto added = ferrum::weights::add_decoder("own", std::move(decoder));
    decoder = ferrum::weights_decoder();
    source.decoder = added.number;
    EXPECT_EQ(ferrum::weights::open(source).find("abc").size_bytes, 3u);
    *token = 2;
    EXPECT_EQ(ferrum::weights::try_check(source).status(),
              FERRUM_ERROR_INVALID_SIZE);
    added.held.close();
    EXPECT_EQ(ferrum::weights::try_check(source).status(),
              FERRUM_ERROR_NOT_FOUND);
    added = ferrum::weights_decoder_registration();
    EXPECT_EQ(token.use_count(), 1);
}

} // namespace

// Layer types of the program in C++: callables, exceptions, ownership.
#include <ferrum_mem.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

class CppLayers : public ::testing::Test {
  protected:
    ferrum::library started;
    ferrum::device device = ferrum::device::open("cpu:0");
    std::vector<float> numbers{1, 2, 3, 4};
    std::shared_ptr<int> alive = std::make_shared<int>(0);

    /* Adds the two halves of a vector. */
    ferrum::layer folder() {
        ferrum::layer made;
        made.type = "mine.fold";
        made.infer = [](const ferrum::compute_call &call,
                        std::vector<ferrum_tensor_desc> &outputs) {
            if (call.input(0)->shape[0] % 2 != 0)
                throw std::invalid_argument("an odd length");
            outputs[0].shape[0] = call.input(0)->shape[0] / 2;
        };
        made.plan = [](const ferrum::compute_call &) {
            ferrum_compute_plan plan = FERRUM_COMPUTE_PLAN_INIT;
            plan.workspace_bytes = 64;
            return plan;
        };
        made.forward = [held = alive](const ferrum::compute_call &call) {
            const float *x = elements(call.input(0));
            float *sum = elements(call.output(0));
            if (call.get().workspace == 0)
                throw std::runtime_error("no workspace");
            const std::int64_t half = call.output(0)->shape[0];
            for (std::int64_t i = 0; i < half; i++)
                sum[i] = x[i] + x[half + i];
        };
        return made;
    }
    static float *elements(const ferrum_tensor_desc *of) {
        return reinterpret_cast<float *>(
            static_cast<std::uintptr_t>(of->address));
    }
    ferrum::compute open() {
        ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
        config.device = device;
        return ferrum::compute::open(config);
    }
    ferrum::tensor wrap(std::int64_t count) {
        const auto desc = ferrum::tensor::contiguous(FERRUM_DTYPE_F32, {count});
        return ferrum::tensor::wrap(
            device, reinterpret_cast<std::uintptr_t>(numbers.data()),
            static_cast<std::uint64_t>(count) * sizeof(float), desc, [] {});
    }
};

TEST_F(CppLayers, a_layer_computes_and_ends) {
    auto made = ferrum::register_layer(folder());
    EXPECT_EQ(alive.use_count(), 2);
    {
        auto compute = open();
        auto x = wrap(4);
        auto y = compute.prepare("mine.fold").run({x});
        std::vector<float> got(2);
        y[0].read(got.data(), 2 * sizeof(float));
        EXPECT_EQ(got, (std::vector<float>{4, 6}));
        auto op = compute.prepare("mine.fold");
        EXPECT_EQ(made.try_close().status(), FERRUM_ERROR_BUSY);
        EXPECT_NE(ferrum::layers_json().find("\"mine.fold\""),
                  std::string::npos);
        EXPECT_EQ(ferrum::try_register_layer(folder()).status(),
                  FERRUM_ERROR_ALREADY_EXISTS);
    }
    made.close();
    EXPECT_EQ(alive.use_count(), 1);
    {
        auto again = ferrum::register_layer(folder());
        EXPECT_EQ(alive.use_count(), 2);
    }
    EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(CppLayers, exceptions_become_errors) {
    auto compute = open();
    ferrum::layer fails;
    fails.type = "mine.fails";
    int what = 0;
    fails.forward = [&what](const ferrum::compute_call &) {
        switch (what) {
        case 0:
            throw ferrum::program_failure(FERRUM_ERROR_TIMEOUT, "too late");
        case 1:
            throw std::runtime_error("broken");
        default:
            throw 7;
        }
    };
    auto made = ferrum::register_layer(std::move(fails));
    auto x = wrap(4);
    {
        auto op = compute.prepare("mine.fails");
        const ferrum_status wants[] = {
            FERRUM_ERROR_TIMEOUT, FERRUM_ERROR_INTERNAL, FERRUM_ERROR_INTERNAL};
        const char *const texts[] = {"too late", "broken", "unknown type"};
        for (what = 0; what < 3; what++) {
            auto got = op.try_run({x});
            ASSERT_EQ(got.status(), wants[what]);
            EXPECT_NE(got.why().message.find(texts[what]), std::string::npos);
            EXPECT_NE(got.why().message.find("mine.fails"), std::string::npos);
        }
    }
    made.close();
    auto folding = ferrum::register_layer(folder());
    {
        auto odd = wrap(3);
        auto got = compute.prepare("mine.fold").try_run({odd});
        EXPECT_EQ(got.status(), FERRUM_ERROR_INTERNAL);
        EXPECT_NE(got.why().message.find("an odd length"), std::string::npos);
    }
    folding.close();
}

TEST_F(CppLayers, a_model_has_parameters_of_a_layer) {
    ferrum::layer gain;
    gain.type = "mine.gain";
    gain.config = R"({"width": 2})";
    gain.has_input_shape = true;
    gain.input_shape = {-1, 2};
    gain.parameters = [](const ferrum::compute_call &call) {
        EXPECT_EQ(call.attributes(), R"({"width":2})");
        return std::string(
            R"([{"name": "gain", "shape": [2], "dtype": "f32"}])");
    };
    gain.initialize = [](const ferrum::compute_call &call,
                         std::string_view parameter) {
        EXPECT_EQ(parameter, "gain");
        elements(call.output(0))[0] = 10;
        elements(call.output(0))[1] = 100;
    };
    gain.forward = [](const ferrum::compute_call &call) {
        const float *x = elements(call.input(0)), *by = elements(call.input(1));
        for (int i = 0; i < 4; i++)
            elements(call.output(0))[i] = x[i] * by[i % 2];
    };
    auto made = ferrum::register_layer(std::move(gain));
    const std::string definition =
        R"({"metadata":{"name":"m","version":"1","model_type":"m",)"
        R"("architecture_family":"custom"},"architecture":{"name":"m",)"
        R"("dimensions":{"vocab_size":1,"hidden_size":2,"num_layers":1,)"
        R"("num_heads":1,"max_sequence_length":1}},"parameters":[],"layers":[)"
        R"({"name":"x","layer_type":"Input","inputs":[],"parameters":[],)"
        R"("outputs":[{"name":"x","shape":[2,2],"dtype":"f32"}]},)"
        R"({"name":"y","layer_type":"mine.gain","parameters":[],)"
        R"("inputs":[{"name":"in","shape":[2,2],"dtype":"f32"}],)"
        R"("outputs":[{"name":"out","shape":[2,2],"dtype":"f32"}]}],)"
        R"("graph":{"inputs":["x"],"outputs":["y"],"nodes":[)"
        R"({"id":"x","layer_name":"x"},{"id":"y","layer_name":"y"}],)"
        R"("edges":[{"source":"x","target":"y"}]}})";
    {
        auto compute = open();
        auto pool = device.create_elastic_pool();
        ferrum_build_request request = FERRUM_BUILD_REQUEST_INIT;
        request.definition_json = definition.data();
        request.definition_bytes = definition.size();
        request.compute = compute;
        request.elastic_pool = pool;
        ferrum_executor model{};
        ASSERT_EQ(ferrum_executor_build(&request, &model), FERRUM_OK);
        const auto desc = ferrum::tensor::contiguous(FERRUM_DTYPE_F32, {2, 2});
        auto x = ferrum::tensor::wrap(
            device, reinterpret_cast<std::uintptr_t>(numbers.data()),
            4 * sizeof(float), desc, [] {});
        ferrum_named_tensor in = {"x", x.get()}, out = {"y", {0}};
        ASSERT_EQ(ferrum_executor_run(model, &in, 1, &out, 1, {},
                                      FERRUM_WAIT_FOREVER),
                  FERRUM_OK);
        ferrum::tensor y(out.tensor);
        std::vector<float> got(4);
        y.read(got.data(), 4 * sizeof(float));
        EXPECT_EQ(got, (std::vector<float>{10, 200, 30, 400}));
        EXPECT_EQ(ferrum_executor_destroy(model, 0), FERRUM_OK);
    }
    made.close();
}

} // namespace

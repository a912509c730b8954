// The C++ classes of tensors and of compute: ownership, callables, and the
// calls that are written by hand.
#include <ferrum_mem.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace {

class CppTensors : public ::testing::Test {
  protected:
    ferrum::library started;
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::pool pool = device.create_pool();

    ferrum::tensor make(const std::vector<std::int64_t> &shape,
                        const std::vector<float> &values) {
        ferrum_weights_memory memory{};
        memory.pool = pool;
        auto tensor = ferrum::tensor::create(memory, FERRUM_DTYPE_F32, shape);
        tensor.write(values.data(), values.size() * sizeof(float));
        return tensor;
    }
    static std::vector<float> values_of(const ferrum::tensor &tensor) {
        std::vector<float> values(tensor.describe().size_bytes / sizeof(float));
        tensor.read(values.data(), values.size() * sizeof(float));
        return values;
    }
};

TEST_F(CppTensors, views_and_moves) {
    auto tensor = make({2, 3}, {0, 1, 2, 3, 4, 5});
    ferrum::tensor turned = tensor.permute({1, 0});
    ferrum::tensor moved = std::move(tensor);
    EXPECT_FALSE(tensor);
    moved.destroy();
    EXPECT_FALSE(moved);
    EXPECT_EQ(values_of(turned), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(turned.try_reshape({7}).status(), FERRUM_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ferrum_pool_destroy(pool, 0), FERRUM_ERROR_BUSY);
}

TEST_F(CppTensors, wrapped_memory_is_released_once) {
    std::vector<float> memory{1, 2, 3, 4};
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const auto desc = ferrum::tensor::contiguous(FERRUM_DTYPE_F32, {4});
    auto count = std::make_shared<int>(0);
    {
        auto tensor = ferrum::tensor::wrap(device, address, 16, desc,
                                           [count] { ++*count; });
        auto half = tensor.narrow(0, 2, 2);
        EXPECT_EQ(values_of(tensor.slice(0, 3, 2, -2)),
                  (std::vector<float>{4, 2}));
        EXPECT_EQ(tensor.try_slice(0, 0, 3, 2).status(),
                  FERRUM_ERROR_INVALID_OFFSET);
        tensor.destroy();
        EXPECT_EQ(*count, 0);
        EXPECT_EQ(values_of(half), (std::vector<float>{3, 4}));
    }
    EXPECT_EQ(*count, 1);
    // After an error the callable is destroyed and not called.
    EXPECT_EQ(ferrum::tensor::try_wrap(device, address, 15, desc,
                                       [count] { ++*count; })
                  .status(),
              FERRUM_ERROR_INVALID_OFFSET);
    EXPECT_EQ(*count, 1);
    EXPECT_EQ(count.use_count(), 1);
    // More dimensions than a description has places for.
    EXPECT_EQ(ferrum::tensor::try_wrap(
                  device, address, 16,
                  ferrum::tensor::contiguous(FERRUM_DTYPE_F32,
                                             std::vector<std::int64_t>(9, 1)),
                  [] {})
                  .status(),
              FERRUM_ERROR_INVALID_ARGUMENT);
}

TEST_F(CppTensors, blocks_and_dlpack) {
    auto manager = device.create_manager();
    auto block = manager.alloc(64);
    {
        auto tensor = ferrum::tensor::from_memory(
            block.get(), ferrum::tensor::contiguous(FERRUM_DTYPE_F32, {2}), 8);
        tensor.fill(6);
        const ferrum_dlpack dlpack = tensor.to_dlpack();
        auto again = ferrum::tensor::from_dlpack(dlpack);
        tensor.destroy();
        EXPECT_EQ(values_of(again), (std::vector<float>{6, 6}));
    }
    EXPECT_EQ(ferrum::tensor::try_from_set(ferrum_tensor_set{}, 0).status(),
              FERRUM_ERROR_INVALID_HANDLE);
}

TEST_F(CppTensors, compute) {
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = device;
    ferrum::compute::validate(config);
    auto compute = ferrum::compute::open(config);
    auto add = compute.prepare("Add");
    auto matmul = ferrum::op::prepare(compute, "MatMul", "{}");
    EXPECT_EQ(compute.try_prepare("Adds").status(), FERRUM_ERROR_NOT_FOUND);

    auto a = make({2, 2}, {1, 2, 3, 4});
    auto b = make({2, 2}, {0, 1, 1, 0});
    {
        auto outputs = matmul.run({a, b});
        ASSERT_EQ(outputs.size(), 1u);
        EXPECT_EQ(values_of(outputs[0]), (std::vector<float>{2, 1, 4, 3}));
        EXPECT_EQ(compute.try_close().status(), FERRUM_ERROR_BUSY);
    }
    auto into = make({2, 2}, {0, 0, 0, 0});
    std::vector<ferrum_tensor> given{into};
    add.run_into({a, b}, given);
    EXPECT_EQ(values_of(into), (std::vector<float>{1, 3, 4, 4}));
    EXPECT_EQ(add.try_run({a}).status(), FERRUM_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(add.try_run({}, 0).status(), FERRUM_ERROR_INVALID_ARGUMENT);
    const auto inferred = add.infer({a.describe(), b.describe()});
    ASSERT_EQ(inferred.outputs.size(), 1u);
    EXPECT_EQ(inferred.outputs[0].shape[1], 2);
    {
        const auto reshape = ferrum::op::prepare(compute, "Reshape");
        const std::vector<std::int64_t> shape{1, -1};
        const auto row =
            reshape.infer({a.describe(), ferrum::tensor::known(shape)});
        EXPECT_EQ(row.outputs[0].shape[1], 4);
    }

    auto packed = matmul.pack(1, b);
    auto sequence = ferrum::sequence::create(compute);
    {
        auto product = sequence.add(matmul, {a, packed});
        auto sum = sequence.add(add, {product[0], product[0]});
        std::vector<ferrum_tensor> last{into};
        sequence.add_into(add, {sum[0], a}, last);
        sequence.run();
        EXPECT_EQ(values_of(sum[0]), (std::vector<float>{4, 2, 8, 6}));
        EXPECT_EQ(values_of(into), (std::vector<float>{5, 4, 11, 10}));
    }
    sequence.destroy();
    packed.destroy();
    add.destroy();
    matmul.destroy();
    EXPECT_NE(compute.status_json().find("operations_completed"),
              std::string::npos);
    compute.close();
    EXPECT_FALSE(compute || sequence || packed || add);
}

} // namespace

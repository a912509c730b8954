// Fallback managers in the C++17 layer: a buffer that falls back returns with
// its bytes, and a generic pool owns its free buffers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "ferrum_mem.hpp"

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

ferrum_config settings() {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = 64 * MiB;
    return config;
}

class CppFallback : public ::testing::Test {
  protected:
    void TearDown() override {
        gpu.reset();
        host.reset();
        ASSERT_TRUE(library.try_stop().ok()) << ferrum::leak_report_json();
    }

    ferrum_config config = settings();
    ferrum::library library{&config};
    ferrum::device host = ferrum::device::open("cpu:0");
    ferrum::device gpu = ferrum::device::open("cpu:1");
};

ferrum_buffer_request bytes(std::uint64_t count) {
    ferrum_buffer_request request = FERRUM_BUFFER_REQUEST_INIT;
    request.dtype = FERRUM_DTYPE_U8;
    request.num_elements = count;
    return request;
}

ferrum::memory_config plain() {
    return ferrum::memory_config()
        .with_gpu_memory_fraction(2)
        .with_min_free_bytes(0)
        .with_tracking(true);
}

TEST_F(CppFallback, test_falls_back_and_comes_back) {
    auto manager =
        ferrum::fallback_manager::create(gpu.get(), host.get(), plain());
    auto hog = manager.alloc(bytes(28 * MiB));
    auto buffer = manager.alloc(bytes(20 * MiB));
    EXPECT_TRUE(hog.is_gpu());
    EXPECT_TRUE(buffer.is_cpu_fallback());
    EXPECT_EQ(manager.stats().cpu_fallbacks, 1u);
    EXPECT_EQ(manager.fallback_stats().cpu_bytes, 20 * MiB);
    std::vector<unsigned char> given(1000), got(1000);
    std::iota(given.begin(), given.end(), 0);
    buffer.write(MiB, given.data(), given.size());
    EXPECT_EQ(buffer.try_to_gpu().status(), FERRUM_ERROR_OUT_OF_MEMORY);
    hog.free();
    EXPECT_EQ(manager.return_buffers(), 1u);
    EXPECT_TRUE(buffer.is_gpu());
    buffer.read(MiB, got.data(), got.size());
    EXPECT_EQ(given, got);
    EXPECT_EQ(buffer.try_address(FERRUM_LOCATION_CPU).status(),
              FERRUM_ERROR_INVALID_STATE);
    EXPECT_EQ(buffer.pin().first, buffer.address(FERRUM_LOCATION_GPU));
    EXPECT_EQ(buffer.try_to_cpu().status(), FERRUM_ERROR_BUSY);
    buffer.unpin();
    buffer.to_cpu();
    EXPECT_EQ(manager.tracker().find(buffer.info().buffer_id).location,
              FERRUM_LOCATION_CPU);

    const ferrum_address storage = buffer.take(FERRUM_LOCATION_CPU);
    EXPECT_FALSE(buffer);
    auto again = manager.adopt(FERRUM_LOCATION_CPU, storage, bytes(20 * MiB));
    again.read(MiB, got.data(), got.size());
    EXPECT_EQ(given, got);
    again.take(FERRUM_LOCATION_CPU);
    manager.end_storage(FERRUM_LOCATION_CPU, storage);
    // The owner frees a pinned buffer too.
    auto pinned = manager.alloc(bytes(1));
    pinned.pin();
}

TEST_F(CppFallback, test_one_interface) {
    auto manager =
        ferrum::fallback_manager::create(gpu.get(), host.get(), plain());
    const ferrum::gpu_memory_pool &pool = manager;
    EXPECT_EQ(pool.backend_name(), "cpu");
    EXPECT_EQ(pool.total_memory(), 32 * MiB);
    EXPECT_EQ(pool.free_memory(), 32 * MiB);
    EXPECT_EQ(pool.pressure(), FERRUM_PRESSURE_LOW);
    manager.alloc(bytes(4 * MiB)).free();
    EXPECT_EQ(pool.stats().pooled_bytes, 4 * MiB);
    EXPECT_GE(manager.shrink(), 4 * MiB);
    EXPECT_EQ(pool.stats().pooled_bytes, 0u);
}

TEST_F(CppFallback, test_generic_pool_owns_its_free_buffers) {
    auto token = std::make_shared<int>(1);
    {
        auto pool = ferrum::generic_pool<std::shared_ptr<int>>::create(
            plain().with_max_pooled(1));
        EXPECT_FALSE(pool.take(100).has_value());
        auto first = pool.record(token, 1000);
        auto second = pool.record(token, 900);
        EXPECT_EQ(token.use_count(), 3);
        pool.put(std::move(first));
        EXPECT_EQ(token.use_count(), 3);
        pool.put(std::move(second));
        EXPECT_EQ(token.use_count(), 2) << "its bucket is full";
        EXPECT_FALSE(pool.take(1001).has_value());
        auto taken = pool.take(400);
        ASSERT_TRUE(taken.has_value());
        EXPECT_EQ(taken->size_bytes, 1000u);
        auto wrong = *taken;
        wrong.size_bytes = 5;
        EXPECT_EQ(pool.try_put(wrong).status(), FERRUM_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(wrong.buffer, token);
        wrong.buffer.reset();
        pool.put(std::move(*taken));
        taken.reset();
        EXPECT_EQ(pool.pooled_count(), 1u);
        EXPECT_EQ(token.use_count(), 2);
    }
    EXPECT_EQ(token.use_count(), 1) << "the free buffers end with the pool";
}

TEST_F(CppFallback, test_generic_pool_adds_new_buffers) {
    auto token = std::make_shared<int>(1);
    auto pool = ferrum::generic_pool<std::shared_ptr<int>>::create(
        plain().with_max_pooled(1));
    pool.add(token, 1000);
    EXPECT_EQ(token.use_count(), 2);
    auto more = token;
    EXPECT_EQ(pool.try_add(more, 1000).status(),
              FERRUM_ERROR_RESOURCE_EXHAUSTED);
    EXPECT_EQ(more, token) << "a rejected buffer still belongs to the caller";
    auto taken = pool.take(900);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->buffer, token);
}

TEST_F(CppFallback, test_pressure_callback_of_a_fallback_manager) {
    auto manager =
        ferrum::fallback_manager::create(gpu.get(), host.get(), plain());
    std::promise<ferrum_pressure_level> first;
    std::atomic<bool> is_told{false};
    auto heard = manager.on_pressure([&](ferrum_pressure_level level) {
        if (!is_told.exchange(true))
            first.set_value(level);
    });
    auto large = manager.alloc(bytes(28 * MiB));
    ASSERT_TRUE(large.is_gpu());
    EXPECT_GT(first.get_future().get(), FERRUM_PRESSURE_LOW);
    heard.close();
}

TEST_F(CppFallback, test_tracker_and_settings) {
    auto tracker = ferrum::tracker::create();
    ferrum_buffer_metadata old{};
    old.buffer_id = ferrum::buffer_id_new();
    old.size_bytes = 1 << 20;
    old.age_ns = 3600 * std::uint64_t{1000000000};
    tracker.track(old);
    ferrum_buffer_metadata young = old;
    young.buffer_id = ferrum::buffer_id_new();
    young.age_ns = 0;
    tracker.track(young);
    EXPECT_LT(old.buffer_id, young.buffer_id);
    auto found = tracker.view().find_old(std::chrono::minutes(30));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].buffer_id, old.buffer_id);
    EXPECT_EQ(tracker.view().all().size(), 2u);
    tracker.untrack(old.buffer_id);
    EXPECT_EQ(tracker.view().totals().peak_bytes, 2u << 20);
    EXPECT_EQ(tracker.try_untrack(old.buffer_id).status(),
              FERRUM_ERROR_NOT_FOUND);

    auto training = ferrum::memory_config::for_training().get();
    EXPECT_EQ(training.flags & FERRUM_MEMORY_CPU_FALLBACK, 0u);
    EXPECT_EQ(training.min_free_bytes, 1024 * MiB);
    EXPECT_EQ(plain().get().gpu_memory_fraction, 1.0);
    EXPECT_EQ(plain().with_pre_allocation({}).try_check().status(),
              FERRUM_ERROR_INVALID_CONFIG);
    ferrum::memory_stats stats;
    stats.total_allocated_bytes = 1024 * MiB;
    stats.pool_hits = 100;
    stats.pool_misses = 10;
    EXPECT_NE(stats.text().find("1024.00 MB"), std::string::npos);
    EXPECT_NE(stats.text().find("90.9%"), std::string::npos);
    EXPECT_EQ(stats.merge(stats).pool_hits, 200u);
}

} // namespace

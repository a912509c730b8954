// Monitor and placement in the C++17 layer: the owner of the callable, and the
// results.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "ferrum_mem.hpp"

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

ferrum_config settings() {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = 128 * MiB;
    return config;
}

class CppMonitor : public ::testing::Test {
  protected:
    void TearDown() override {
        device.reset();
        other.reset();
        ASSERT_TRUE(library.try_stop().ok()) << ferrum::leak_report_json();
    }

    ferrum_config config = settings();
    ferrum::library library{&config};
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::device other = ferrum::device::open("cpu:1");
};

TEST_F(CppMonitor, test_monitor_owns_its_callable) {
    ferrum_monitor_config quiet = FERRUM_MONITOR_CONFIG_INIT;
    quiet.interval_ns = UINT64_MAX;
    quiet.flags = FERRUM_MONITOR_IGNORE_SYSTEM;
    auto token = std::make_shared<int>(1);
    std::weak_ptr<int> watched = token;
    {
        auto manager = device.create_manager();
        auto monitor = ferrum::monitor::create(&quiet);
        monitor.add(manager);
        EXPECT_EQ(monitor.try_add(manager).status(),
                  FERRUM_ERROR_ALREADY_EXISTS);
        std::promise<ferrum_device_level> heard;
        monitor.on_change([&heard, token](const ferrum_device_level *levels,
                                          std::size_t count) {
            if (count == 1 && levels[0].level == FERRUM_PRESSURE_HIGH)
                heard.set_value(levels[0]);
        });
        token.reset();
        auto pool = device.create_pool();
        auto block = pool.alloc(58 * MiB);
        EXPECT_EQ(heard.get_future().get().device.id, device.get().id);
        EXPECT_EQ(monitor.pressure().level, FERRUM_PRESSURE_HIGH);
        EXPECT_NE(monitor.info_json().find("\"cpu:0\""), std::string::npos);
        EXPECT_FALSE(watched.expired());
        monitor.on_change({});
        EXPECT_TRUE(watched.expired());
        monitor.remove(device);
        EXPECT_EQ(monitor.pressure().devices, 0u);
        pool.free(block);
    }
}

TEST_F(CppMonitor, test_recent_memory_info) {
    auto asked = device.memory_info();
    auto recent = device.recent_memory_info(ferrum::forever);
    EXPECT_EQ(asked.reading_age_ns, 0u);
    EXPECT_GT(recent.reading_age_ns, 0u);
    EXPECT_EQ(asked.free_bytes, recent.free_bytes);
}

TEST_F(CppMonitor, test_placement) {
    auto turns = ferrum::placement::create("round_robin");
    ferrum_placement_request request = FERRUM_PLACEMENT_REQUEST_INIT;
    request.size_bytes = MiB;
    EXPECT_EQ(turns.select(request).id, device.get().id);
    EXPECT_EQ(turns.select(request).id, other.get().id);
    EXPECT_NE(turns.explain_json(request).find("not_its_turn"),
              std::string::npos);
    EXPECT_EQ(ferrum::placement::try_create("first_fit").status(),
              FERRUM_ERROR_NOT_FOUND);
    std::int64_t answer = 1;
    auto own = ferrum::placement::create_own(
        "own",
        [](const ferrum_placement_request *, const ferrum_placement_option *,
           std::size_t, std::int64_t *chosen, void *data) {
            *chosen = *static_cast<std::int64_t *>(data);
            return ferrum_status(FERRUM_OK);
        },
        &answer);
    EXPECT_EQ(own.select(request).id, other.get().id);
    answer = 2;
    EXPECT_EQ(own.try_select(request).status(), FERRUM_ERROR_INVALID_ARGUMENT);
}

} // namespace

// Mappings, links, and external memory and streams in the C++17 layer: when
// each ends, and what a call returns.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "ferrum_mem.hpp"

namespace {

ferrum_config settings() {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    return config;
}

class CppMapping : public ::testing::Test {
  protected:
    void TearDown() override {
        manager.reset();
        other.reset();
        device.reset();
        second.reset();
        ASSERT_TRUE(library.try_stop().ok()) << ferrum::leak_report_json();
    }

    ferrum_config config = settings();
    ferrum::library library{&config};
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::device second = ferrum::device::open("cpu:1");
    ferrum::manager manager = device.create_manager();
    ferrum::manager other = second.create_manager();
};

TEST_F(CppMapping, test_mapping_ends_with_its_scope) {
    ferrum::memory block = manager.alloc(100);
    {
        ferrum::mapping all = block.map();
        EXPECT_EQ(all.size(), 100u);
        EXPECT_FALSE(all.staged());
        std::memcpy(all.data(), "text", 5);
        ferrum::mapping moved = std::move(all);
        ferrum::mapping part = block.map(FERRUM_HOST_READ_ONLY, 1, 3);
        EXPECT_EQ(std::memcmp(part.data(), "ext", 3), 0);
        EXPECT_EQ(block.try_free().status(), FERRUM_ERROR_BUSY);
        EXPECT_EQ(block.try_map(FERRUM_HOST_WRITE_ONLY, 50).status(),
                  FERRUM_ERROR_BUSY);
        part.unmap();
        EXPECT_EQ(part.try_unmap().status(), FERRUM_ERROR_INVALID_HANDLE);
        part = block.map(FERRUM_HOST_READ_ONLY);
        EXPECT_EQ(part.size(), 100u);
    }
    EXPECT_EQ(block.handle_info().is_mapped, 0u);
    EXPECT_EQ(block.try_map(FERRUM_HOST_READ_ONLY, 101).status(),
              FERRUM_ERROR_INVALID_OFFSET);
    EXPECT_THROW(block.map(FERRUM_HOST_READ_ONLY, 100, 1), ferrum::error);
    // A block that is destroyed before its mapping ends the mapping.
    ferrum_map_request forgotten = FERRUM_MAP_REQUEST_INIT;
    forgotten.memory = block.get();
    ferrum_mapping made = FERRUM_MAPPING_INIT;
    ASSERT_EQ(ferrum_memory_map(&forgotten, &made), FERRUM_OK);
    block.reset();
}

TEST_F(CppMapping, test_two_devices_have_one_memory) {
    ferrum_link_request request = FERRUM_LINK_REQUEST_INIT;
    request.size_bytes = 64;
    auto [here, there] = manager.create_mapping(other, request);
    here.write(0, "both", 5);
    char bytes[5] = {};
    here.reset();
    there.read(0, bytes, 5);
    EXPECT_STREQ(bytes, "both");
    EXPECT_EQ(manager.try_create_mapping(manager, request).status(),
              FERRUM_ERROR_INVALID_ARGUMENT);
}

TEST_F(CppMapping, test_hints_statistics_and_prefetch) {
    ferrum::memory block = manager.alloc(64);
    block.set_usage_hint(FERRUM_USAGE_RESIDENT);
    EXPECT_EQ(block.usage_hints().lifetime, FERRUM_USAGE_RESIDENT);
    EXPECT_EQ(block.try_set_usage_hint(9).status(),
              FERRUM_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(block.access_stats().is_accessed, 0u);
    block.write(0, "x", 1);
    EXPECT_EQ(block.access_stats().write_count, 1u);
    block.prefetch(second.get());
    EXPECT_FALSE(block.try_prefetch({}).ok());
}

TEST_F(CppMapping, test_external_memory_and_streams) {
    std::vector<char> own(1000);
    ferrum_adoption adoption = FERRUM_ADOPTION_INIT;
    adoption.address = reinterpret_cast<std::uintptr_t>(own.data());
    adoption.size_bytes = own.size();
    ferrum::memory block = manager.adopt(adoption);
    block.write(999, "x", 1);
    EXPECT_EQ(own[999], 'x');
    EXPECT_EQ(manager.try_adopt(adoption).status(),
              FERRUM_ERROR_ALREADY_EXISTS);

    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    EXPECT_EQ(device.try_adopt_stream(foreign).status(),
              FERRUM_ERROR_NULL_POINTER);
    int count = 0;
    foreign.user_data = &count;
    foreign.enqueue = [](ferrum_host_fn work, void *data,
                         void *counted) -> ferrum_status {
        ++*static_cast<int *>(counted);
        work(data);
        return FERRUM_OK;
    };
    ferrum::stream stream = device.adopt_stream(foreign);
    ferrum_fill fill = FERRUM_FILL_INIT;
    fill.memory = block.get();
    fill.size_bytes = own.size();
    fill.pattern = 'y';
    ferrum::memory::fill_async(fill, stream.get());
    stream.synchronize();
    EXPECT_EQ(own[0], 'y');
    EXPECT_GE(count, 2);

    // The end of the block waits for work that would write to freed memory.
    ferrum::stream busy = device.create_stream();
    for (fill.pattern = 1; fill.pattern <= 50; fill.pattern++)
        ferrum::memory::fill_async(fill, busy.get());
    block.reset();
    EXPECT_EQ(own[999], 50);
}

} // namespace

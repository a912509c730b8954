// The C++17 layer over the real library: ownership, both forms of errors,
// callables, and standard containers in a pool.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <list>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ferrum_mem.hpp"

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

ferrum_config settings() {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = 512 * MiB;
    return config;
}

ferrum_pool_config small() {
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.initial_size_bytes = 8 * MiB;
    config.growth_increment_bytes = 8 * MiB;
    config.ready_pages = FERRUM_READY_PAGES_ALL;
    return config;
}

// Starts and opens for each test. TearDown checks that nothing is left.
class Cpp : public ::testing::Test {
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

// If the program that queries vendors' libraries cannot be started, the flag
// makes it unnecessary.
TEST(CppSettings, test_probe_in_process) {
    ASSERT_EQ(setenv("FERRUM_PROBE_HELPER", "/nonexistent/helper", 1), 0);
    auto misses_helper = [](std::uint32_t flags) {
        ferrum_config config = FERRUM_CONFIG_INIT;
        config.flags = flags;
        ferrum::library started{&config};
        auto found = ferrum::backends_json();
        return found.find("helper_unavailable") != std::string::npos;
    };
    EXPECT_TRUE(misses_helper(0));
    EXPECT_FALSE(misses_helper(FERRUM_CONFIG_PROBE_IN_PROCESS));
    ASSERT_EQ(unsetenv("FERRUM_PROBE_HELPER"), 0);
}

TEST_F(Cpp, test_copies_by_address) {
    auto stream = device.create_stream();
    auto pool = device.create_pool();
    auto from = pool.alloc_batch(64, 2), to = pool.alloc_batch(64, 2);
    std::memset(reinterpret_cast<void *>(from[0]), 1, 64);
    std::memset(reinterpret_cast<void *>(from[1]), 2, 64);
    std::vector<ferrum_address_copy> copies{{from[0], to[1], 64},
                                            {from[1], to[1], 64}};
    EXPECT_EQ(stream.try_copy_batch(copies).status(),
              FERRUM_ERROR_INVALID_ARGUMENT);
    copies[1].destination = to[0];
    stream.copy_batch(copies);
    stream.synchronize();
    EXPECT_EQ(*reinterpret_cast<char *>(to[0]), 2);
    EXPECT_EQ(*reinterpret_cast<char *>(to[1] + 63), 1);
    pool.free_batch(from);
    pool.free_batch(to);
}

TEST_F(Cpp, test_errors_as_values_and_as_exceptions) {
    auto none = ferrum::device::try_open("cpu:9");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.status(), FERRUM_ERROR_DEVICE_NOT_FOUND);
    EXPECT_EQ(none.why().function, "ferrum_device_open");
    try {
        ferrum::device::open("cpu:9");
        FAIL();
    } catch (const ferrum::error &error) {
        EXPECT_EQ(error.status(), FERRUM_ERROR_DEVICE_NOT_FOUND);
        EXPECT_NE(std::string(error.what()).find("DEVICE_NOT_FOUND"),
                  std::string::npos);
        EXPECT_FALSE(error.why().message.empty());
    }
    ferrum_pool_config config = small();
    auto pool = device.create_pool(&config);
    EXPECT_EQ(pool.try_alloc(0).status(), FERRUM_ERROR_INVALID_SIZE);
    EXPECT_THROW(pool.alloc_with(ferrum::pool_request(1).aligned(3)),
                 ferrum::error);
    EXPECT_EQ(pool.try_free(1).status(), FERRUM_ERROR_INVALID_ADDRESS);
    EXPECT_EQ(library.try_stop().status(), FERRUM_ERROR_BUSY);
}

TEST_F(Cpp, test_ownership) {
    auto manager = device.create_manager();
    ferrum::memory block = manager.alloc(4096);
    ferrum::memory moved = std::move(block);
    EXPECT_FALSE(static_cast<bool>(block));
    EXPECT_EQ(manager.try_destroy().status(), FERRUM_ERROR_BUSY);
    moved = manager.alloc(100);
    EXPECT_EQ(device.statistics().live_blocks.current, 1u);
    ferrum_memory raw = moved.release();
    EXPECT_EQ(ferrum_memory_free(raw), FERRUM_OK);
    ferrum::memory taken(manager.alloc(10));
    taken.free();
    EXPECT_FALSE(static_cast<bool>(taken));
    manager.destroy();
    EXPECT_EQ(device.statistics().reserved.current, 0u);
}

TEST_F(Cpp, test_discovery) {
    ferrum::backends_refresh();
    EXPECT_EQ(
        ferrum::backends_summary().rfind("=== Available Backends ===\n", 0),
        0u);
    EXPECT_GE(ferrum::backend_best(), FERRUM_BACKEND_CPU);
    EXPECT_STREQ(ferrum::backend_select(FERRUM_BACKEND_CPU, MiB).id, "cpu:0");
    EXPECT_EQ(ferrum::try_backend_select(FERRUM_BACKEND_CPU, UINT64_C(1) << 60)
                  .status(),
              FERRUM_ERROR_OUT_OF_MEMORY);
    ferrum_backend_choice choice = FERRUM_BACKEND_CHOICE_INIT;
    {
        auto opened =
            ferrum::device::open_with_room(FERRUM_BACKEND_CPU, MiB, &choice);
        EXPECT_STREQ(opened.info().id, choice.id);
        EXPECT_STREQ(choice.tried, "cpu:0: chosen\n");
    }
    EXPECT_EQ(
        ferrum::device::try_open_with_room(FERRUM_BACKEND_METAL, 1).status(),
        FERRUM_ERROR_BACKEND_UNAVAILABLE);
    auto host = ferrum::host_info();
    EXPECT_NE(host.cpu_name[0], 0);
    EXPECT_LE(host.available_bytes, host.total_bytes);
}

TEST_F(Cpp, test_devices_and_books) {
    EXPECT_STREQ(other.info().id, "cpu:1");
    EXPECT_EQ(device.memory_info().total_bytes, 256 * MiB);
    EXPECT_GT(device.measure_bandwidth(), 0.0);
    device.set_limit(MiB);
    auto limited = device.memory_info();
    EXPECT_EQ(limited.total_bytes, MiB);
    EXPECT_EQ(limited.limit_bytes, MiB);
    EXPECT_EQ(limited.device_total_bytes, 256 * MiB);
    EXPECT_EQ(limited.pressure, FERRUM_PRESSURE_LOW);
    ferrum_pool_config config = small();
    auto pool = device.create_pool(&config);
    EXPECT_EQ(pool.try_alloc(2 * MiB).status(), FERRUM_ERROR_OUT_OF_MEMORY);
    device.set_limit(0);
    auto address = pool.alloc(2 * MiB);
    EXPECT_EQ(pool.statistics().live_blocks.current, 1u);
    EXPECT_NE(ferrum::snapshot_json().find("\"best_fit\""), std::string::npos);
    EXPECT_NE(ferrum::backends_json().find("\"cpu:1\""), std::string::npos);
    pool.free(address);
    pool.set_limit(64 * MiB);
    EXPECT_EQ(pool.info().page_bytes, 2 * MiB);
    EXPECT_EQ(pool.info().idle_pages, 1u);
    EXPECT_EQ(pool.trim(), 2 * MiB);
    pool.destroy();
    config.paging = FERRUM_PAGING_OFF;
    auto whole = device.create_pool(&config);
    whole.free(whole.alloc(2 * MiB));
    EXPECT_EQ(whole.info().page_bytes, 0u);
    EXPECT_EQ(whole.trim(), 8 * MiB);
}

TEST_F(Cpp, test_pool_requests_and_owners) {
    ferrum_pool_config config = small();
    config.name = "cpp";
    auto pool = device.create_pool(&config);
    auto stream = device.create_stream();
    ferrum::pool_tag tag = pool.tag("kv");
    EXPECT_EQ(pool.tag("kv").number, tag.number);
    EXPECT_EQ(pool.try_tag("").status(), FERRUM_ERROR_INVALID_ARGUMENT);
    auto block = pool.alloc_with(ferrum::pool_request(1000)
                                     .aligned(8192)
                                     .on(stream.get())
                                     .tagged(tag)
                                     .living(std::chrono::milliseconds(50))
                                     .grouped(7));
    EXPECT_EQ(block % 8192, 0u);
    EXPECT_GE(pool.usable_size(block), 1000u);
    ferrum_block_info info = device.owner(block + 500);
    EXPECT_EQ(info.state, FERRUM_BLOCK_LIVE);
    EXPECT_EQ(info.address, block);
    EXPECT_STREQ(info.tag, "kv");
    EXPECT_STREQ(info.pool_name, "cpp");
    EXPECT_EQ(other.try_owner(block).status(), FERRUM_ERROR_NOT_FOUND);
    pool.record_stream(block, device.default_stream());
    EXPECT_EQ(pool.try_free_sized(block, 999).status(),
              FERRUM_ERROR_INVALID_SIZE);
    pool.free_sized(block, 1000, stream.get());
    EXPECT_EQ(pool.try_usable_size(block).status(), FERRUM_ERROR_DOUBLE_FREE);
    EXPECT_EQ(pool.try_alloc_with(ferrum::pool_request(0)).status(),
              FERRUM_ERROR_INVALID_SIZE);
}

TEST_F(Cpp, test_pool_batches_and_retention) {
    ferrum_pool_config config = small();
    auto pool = device.create_pool(&config);
    std::vector<ferrum_address> blocks = pool.alloc_batch(4096, 100);
    EXPECT_EQ(std::set<ferrum_address>(blocks.begin(), blocks.end()).size(),
              100u);
    ferrum_address more[3];
    pool.alloc_batch(100, more, 3);
    EXPECT_EQ(pool.statistics().live_blocks.current, 103u);
    blocks.push_back(blocks[0]);
    EXPECT_EQ(pool.try_free_batch(blocks).status(), FERRUM_ERROR_DOUBLE_FREE);
    blocks.pop_back();
    pool.free_batch(blocks);
    pool.free_batch(more, 3);
    for (std::size_t count : {std::size_t{0}, std::size_t{1} << 40})
        EXPECT_EQ(pool.try_alloc_batch(16, count).status(),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    pool.alloc_batch(1 * MiB, 4);
    pool.reset();
    EXPECT_EQ(pool.statistics().live_blocks.current, 0u);
    pool.set_min_held(8 * MiB);
    EXPECT_EQ(pool.trim(), 0u);
    pool.set_min_held(0);
    pool.set_release_threshold(0);
    EXPECT_EQ(pool.trim(), 0u);
    EXPECT_EQ(pool.statistics().reserved.current, 0u);
}

TEST_F(Cpp, test_copies_streams_and_events) {
    auto here = device.create_manager(), there = other.create_manager();
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.size_bytes = MiB;
    request.alignment_bytes = 4096;
    auto a = here.alloc(MiB), b = there.alloc_with(request);
    a.write(5, "across", 6);
    auto stream = other.create_stream();
    std::promise<void> open;
    auto gate = open.get_future().share();
    stream.call([gate] { gate.wait(); });
    auto before = stream.record_event();
    ferrum::memory::copy_async(
        ferrum::transfer(a, b, 6).from_offset(5).to_offset(9), stream.get());
    EXPECT_FALSE(before.is_ready());
    EXPECT_EQ(stream.try_synchronize(std::chrono::microseconds(10)).status(),
              FERRUM_ERROR_TIMEOUT);
    EXPECT_EQ(b.handle_info().operations_in_flight, 1u);
    open.set_value();
    auto after = stream.record_event();
    auto second = device.create_stream();
    second.wait_event(after);
    second.synchronize();
    EXPECT_TRUE(before.is_ready() && stream.is_ready());
    EXPECT_GE(before.elapsed(after).count(), 0);
    char back[6];
    b.read(9, back, 6);
    EXPECT_EQ(std::memcmp(back, "across", 6), 0);
    ferrum::memory::copy(
        ferrum::transfer(b, b, 6).from_offset(9).to_offset(11));
    b.read(11, back, 6);
    EXPECT_EQ(std::memcmp(back, "across", 6), 0);
    ferrum_fill fill = FERRUM_FILL_INIT;
    fill.memory = a.get();
    fill.size_bytes = 6;
    fill.pattern = 'z';
    ferrum::memory::fill_async(fill);
    a.read(0, back, 6);
    EXPECT_EQ(std::string(back, 6), "zzzzzz");
    EXPECT_NE(device.default_stream().id, other.default_stream().id);
}

// While other work runs on a stream, copies of another stream complete.
TEST_F(Cpp, test_copies_overlap_other_work) {
    auto manager = device.create_manager();
    auto a = manager.alloc(MiB), b = manager.alloc(MiB);
    const std::string text(MiB, 'o');
    std::string back(MiB, ' ');
    a.write(0, text.data(), MiB);
    auto compute = device.create_stream(), transfers = device.create_stream();
    std::promise<void> open;
    auto gate = open.get_future().share();
    compute.call([gate] { gate.wait(); });
    auto queued = ferrum::memory::try_copy_async(ferrum::transfer(a, b, MiB),
                                                 transfers.get());
    auto copied = transfers.try_synchronize(std::chrono::minutes(1));
    auto other = compute.try_synchronize(std::chrono::nanoseconds(0));
    open.set_value();
    compute.synchronize();
    EXPECT_EQ(queued.status(), FERRUM_OK);
    EXPECT_EQ(copied.status(), FERRUM_OK);
    EXPECT_EQ(other.status(), FERRUM_ERROR_TIMEOUT);
    b.read(0, back.data(), MiB);
    EXPECT_TRUE(back == text);
}

TEST_F(Cpp, test_manager_requests) {
    auto manager = device.create_manager();
    ferrum_pool_config config = small();
    config.alignment_bytes = 4096;
    manager.configure_pool(FERRUM_MEMORY_TENSOR, config);
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.memory_type = FERRUM_MEMORY_TENSOR;
    request.size_bytes = 1;
    request.tag = "weights";
    {
        auto tensor = manager.alloc_with(request);
        EXPECT_EQ(tensor.handle_info().allocated_bytes, 4096u);
        EXPECT_STREQ(tensor.handle_info().tag, "weights");
        EXPECT_EQ(manager.statistics().requested.current, 1u);
    }
    EXPECT_EQ(manager.defragment().memory_freed_bytes, 2 * MiB);
    config.paging = FERRUM_PAGING_OFF;
    manager.configure_pool(FERRUM_MEMORY_TENSOR, config);
    manager.alloc_with(request);
    EXPECT_EQ(manager.defragment().memory_freed_bytes, 8 * MiB);
}

TEST_F(Cpp, test_relocatable_blocks_and_pins) {
    auto manager = device.create_manager();
    ferrum_pool_config config = small();
    config.paging = FERRUM_PAGING_ON;
    config.physical_page_bytes = 64 << 10;
    manager.configure_pool(FERRUM_MEMORY_GENERAL, config);
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.size_bytes = 48 << 10;
    request.flags = FERRUM_ALLOCATE_RELOCATABLE;
    auto first = manager.alloc_with(request);
    request.size_bytes = 16 << 10;
    auto gap = manager.alloc_with(request);
    auto last = manager.alloc_with(request);
    const char text[] = "where it was";
    last.write(0, text, sizeof text);
    gap.free();
    ferrum_address pinned = last.pin();
    EXPECT_EQ(pinned, last.handle_info().address);
    EXPECT_EQ(last.handle_info().pin_count, 1u);
    first.pin();
    EXPECT_EQ(manager.defragment_within(ferrum::forever).skipped_pinned, 2u);
    first.unpin();
    EXPECT_EQ(last.try_free().status(), FERRUM_ERROR_BUSY);
    last.unpin();
    EXPECT_EQ(last.try_unpin().status(), FERRUM_ERROR_INVALID_STATE);
    EXPECT_EQ(manager.defragment_within({}).skipped_over_budget, 2u);
    auto stats = manager.defragment_within(ferrum::forever);
    EXPECT_EQ(stats.time_taken_ms, (stats.time_taken_ns + 999999) / 1000000);
    EXPECT_EQ(stats.blocks_moved, 1u);
    EXPECT_EQ(stats.pages_emptied, 1u);
    EXPECT_NE(pinned, last.handle_info().address);
    char back[sizeof text];
    last.read(0, back, sizeof back);
    EXPECT_STREQ(back, text);
    // A pinned block is freed with its owner.
    first.pin();
}

TEST_F(Cpp, test_callbacks_own_their_callables) {
    ferrum_pool_config config = small();
    auto pool = device.create_pool(&config);
    auto counted = std::make_shared<int>(0);
    std::promise<ferrum_pressure_level> heard;
    std::atomic<bool> first{true};
    auto pressure =
        device.on_pressure([&, counted](ferrum_pressure_level level) {
            if (first.exchange(false))
                heard.set_value(level);
        });
    auto cached = pool.alloc(200 * MiB);
    EXPECT_GE(heard.get_future().get(), FERRUM_PRESSURE_MEDIUM);
    pressure.close();
    ferrum_reclaim_config patient = FERRUM_RECLAIM_CONFIG_INIT;
    patient.deadline_ns = 60'000'000'000;
    std::uint64_t asked = 0;
    {
        auto reclaim = device.on_reclaim(
            [&, counted](std::uint64_t needed) {
                asked = needed;
                pool.free(cached);
                return 200 * MiB;
            },
            &patient);
        EXPECT_EQ(counted.use_count(), 3);
        auto block = pool.alloc(150 * MiB);
        EXPECT_GE(asked, 150 * MiB);
        pool.free(block);
    }
}

TEST_F(Cpp, test_standard_containers_in_a_pool) {
    ferrum_pool_config config = small();
    auto pool = device.create_pool(&config);
    {
        ferrum::pool_resource resource(device, pool);
        std::pmr::vector<std::uint64_t> numbers(&resource);
        std::pmr::map<int, std::pmr::string> texts(&resource);
        std::pmr::list<double> list(&resource);
        for (int i = 0; i < 20000; i++) {
            numbers.push_back(static_cast<std::uint64_t>(i));
            if (i % 50 == 0)
                texts.emplace(
                    i, std::string(static_cast<std::size_t>(i % 300), 'x'));
            if (i % 100 == 0)
                list.push_back(i);
        }
        EXPECT_EQ(numbers[19999], 19999u);
        EXPECT_EQ(texts.at(250).size(), 250u);
        EXPECT_GT(pool.statistics().live_blocks.current, 400u);
        ferrum::pool_resource same(device, pool);
        EXPECT_TRUE(resource == same);
        EXPECT_FALSE(resource == *std::pmr::new_delete_resource());
        EXPECT_THROW((void)resource.allocate(std::size_t{1} << 40),
                     std::bad_alloc);
        void *aligned = resource.allocate(10, 65536);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 65536, 0u);
        resource.deallocate(aligned, 10, 65536);
    }
    EXPECT_EQ(pool.statistics().live_blocks.current, 0u);
}

/* A pool may align less than a type needs. */
TEST_F(Cpp, test_memory_resource_of_a_pool_with_a_small_alignment) {
    ferrum_pool_config config = small();
    config.alignment_bytes = 1;
    auto pool = device.create_pool(&config);
    {
        ferrum::pool_resource resource(device, pool);
        std::vector<std::pair<void *, std::size_t>> blocks;
        for (std::size_t alignment : {1, 16, 2, 8, 1, 64, 4, 16}) {
            void *block = resource.allocate(3, alignment);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
            blocks.emplace_back(block, alignment);
        }
        EXPECT_EQ(pool.statistics().live_blocks.current, blocks.size());
        for (auto [block, alignment] : blocks)
            resource.deallocate(block, 3, alignment);
    }
    EXPECT_EQ(pool.statistics().live_blocks.current, 0u);
}

TEST_F(Cpp, test_virtual_pools) {
    ferrum_page_sizes sizes = device.page_sizes();
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = 64 * sizes.minimum_bytes;
    config.page_bytes = sizes.minimum_bytes;
    ferrum::vpool pool = device.create_vpool(config);
    ferrum_vpool_request request = FERRUM_VPOOL_REQUEST_INIT;
    request.offset_bytes = 10;
    request.size_bytes = 100;
    request.tag = "kv";
    ferrum_address at = pool.alloc_with(request);
    EXPECT_EQ(at, pool.info().base_address + 10);
    // Each object belongs to the device that created it.
    ferrum::vpool second = other.create_vpool(config);
    EXPECT_EQ(other.info().ordinal, 1u);
    EXPECT_EQ(other.owner(second.alloc(0, 1)).vpool.id, second.get().id);
    EXPECT_EQ(device.info().ordinal, 0u);
    EXPECT_EQ(other.try_owner(at).status(), FERRUM_ERROR_NOT_FOUND);
    second.free(0, 1);
    std::memset(reinterpret_cast<void *>(at), 7, 100);
    EXPECT_TRUE(pool.is_mapped(0, sizes.minimum_bytes));
    EXPECT_FALSE(pool.is_mapped(sizes.minimum_bytes, 1));
    EXPECT_EQ(device.owner(at).vpool.id, pool.get().id);
    EXPECT_EQ(pool.try_alloc(0, 1).status(), FERRUM_ERROR_ALREADY_MAPPED);
    EXPECT_EQ(pool.try_destroy().status(), FERRUM_ERROR_BUSY);
    EXPECT_EQ(pool.statistics().live_blocks.current, 1u);
    pool.set_limit(8 * MiB);
    EXPECT_EQ(pool.info().limit_bytes, 8 * MiB);
    pool.free(10, 100);
    pool.synchronize();
    pool.pause();
    pool.compact();
    pool.trim();
    EXPECT_EQ(pool.info().held_bytes, 0u);
    pool.resume();
    pool.destroy();
    EXPECT_FALSE(pool);
    // The destructor destroys the pool, also with ranges.
    device.create_vpool(config).alloc(0, 1);
}

TEST_F(Cpp, test_sleep_and_wake) {
    const std::uint64_t page = device.page_sizes().minimum_bytes;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = 64 * page;
    config.page_bytes = page;
    ferrum::vpool pool = device.create_vpool(config);
    auto *bytes = reinterpret_cast<unsigned char *>(pool.alloc(0, page));
    bytes[page - 1] = 7;
    EXPECT_EQ(pool.sleep().released_bytes, page);
    EXPECT_TRUE(pool.is_asleep());
    EXPECT_EQ(pool.try_sleep().status(), FERRUM_ERROR_INVALID_STATE);
    ferrum_vpool_request request = FERRUM_VPOOL_REQUEST_INIT;
    request.offset_bytes = page;
    request.size_bytes = page;
    request.asleep_wait_ns = 1000000;
    EXPECT_EQ(pool.try_alloc_with(request).status(), FERRUM_ERROR_TIMEOUT);
    EXPECT_EQ(pool.wake().restored_bytes, page);
    EXPECT_EQ(bytes[page - 1], 7);
    EXPECT_THROW(pool.wake(), ferrum::error);
    EXPECT_NE(pool.alloc_with(request), 0u);

    ferrum_elastic_pool_config several = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    several.page_bytes = page;
    ferrum::elastic_pool shared = device.create_elastic_pool(&several);
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    model.virtual_bytes = 64 * page;
    shared.register_model("chat", model);
    shared.alloc("chat", 2 * page);
    ferrum_sleep_config discard = FERRUM_SLEEP_CONFIG_INIT;
    discard.backing = FERRUM_SLEEP_DISCARD;
    discard.tag = "chat";
    EXPECT_EQ(shared.sleep_model("chat", &discard).released_bytes, 2 * page);
    EXPECT_TRUE(shared.is_model_asleep("chat", "chat"));
    EXPECT_FALSE(shared.is_model_asleep("chat"));
    EXPECT_EQ(shared.wake_model("chat").restored_bytes, 2 * page);
    EXPECT_EQ(shared.try_wake_model("none").status(),
              FERRUM_ERROR_MODEL_NOT_FOUND);
}

// The numbers of a failure, in the order of ferrum_error_info. -1 means none.
std::vector<std::int64_t> numbers(const ferrum::failure &why) {
    std::vector<std::int64_t> out;
    for (const auto &number :
         {why.offset_bytes, why.size_bytes, why.capacity_bytes, why.page_bytes,
          why.requested_bytes, why.available_bytes, why.largest_free_bytes})
        out.push_back(number ? static_cast<std::int64_t>(*number) : -1);
    return out;
}

using Numbers = std::vector<std::int64_t>;

TEST_F(Cpp, test_failures_state_their_numbers) {
    constexpr std::int64_t page = 64 * 1024;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = MiB;
    config.page_bytes = page;
    config.limit_bytes = 4 * page;
    ferrum::vpool pool = device.create_vpool(config);
    pool.alloc(0, 3 * page);

    auto mapped = pool.try_alloc(2 * page, page);
    ASSERT_EQ(mapped.status(), FERRUM_ERROR_ALREADY_MAPPED);
    EXPECT_EQ(numbers(mapped.why()),
              (Numbers{2 * page, page, -1, page, -1, -1, -1}));
    auto nothing = pool.try_free(3 * page, page);
    ASSERT_EQ(nothing.status(), FERRUM_ERROR_NOT_MAPPED);
    EXPECT_EQ(numbers(nothing.why()),
              (Numbers{3 * page, page, -1, page, -1, -1, -1}));
    auto outside = pool.try_alloc(MiB - 1, 2);
    ASSERT_EQ(outside.status(), FERRUM_ERROR_INVALID_OFFSET);
    EXPECT_EQ(numbers(outside.why()),
              (Numbers{MiB - 1, 2, MiB, -1, -1, -1, -1}));
    auto full = pool.try_alloc(4 * page, 2 * page);
    ASSERT_EQ(full.status(), FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    EXPECT_EQ(numbers(full.why()),
              (Numbers{-1, -1, -1, -1, 2 * page, page, -1}));
    EXPECT_EQ(full.why().model, "");
    // A failure without numbers, right after one with numbers.
    auto none = ferrum::device::try_open("cpu:9");
    EXPECT_EQ(numbers(none.why()), Numbers(7, -1));

    ferrum::elastic_pool shared = device.create_elastic_pool();
    try {
        shared.alloc("nobody", page);
        FAIL();
    } catch (const ferrum::error &error) {
        EXPECT_EQ(error.status(), FERRUM_ERROR_MODEL_NOT_FOUND);
        EXPECT_EQ(error.why().model, "nobody");
    }
    try {
        pool.alloc(8 * page, 5 * page);
        FAIL();
    } catch (const ferrum::error &error) {
        const ferrum::error copy = error;
        EXPECT_EQ(copy.why().requested_bytes, std::uint64_t{5 * page});
        EXPECT_EQ(copy.why().available_bytes, std::uint64_t{page});
    }
    pool.free(0, 3 * page);
}

TEST_F(Cpp, test_elastic_pools) {
    const std::uint64_t page = device.page_sizes().minimum_bytes;
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.page_bytes = page;
    config.limit_bytes = 4 * page;
    config.ready_pages = 0;
    ferrum::elastic_pool pool = other.create_elastic_pool(&config);
    EXPECT_EQ(other.info().ordinal, 1u);
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    model.virtual_bytes = 64 * page;
    pool.register_model("chat", model);
    pool.register_model("code", model);
    EXPECT_EQ(pool.try_register_model("chat", model).status(),
              FERRUM_ERROR_MODEL_ALREADY_EXISTS);
    ferrum::model_range all = pool.alloc("chat", 4 * page);
    EXPECT_EQ(all.offset_bytes, 0u);
    EXPECT_EQ(pool.try_alloc("code", 1).status(),
              FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    std::atomic<std::uint64_t> asked{0};
    {
        ferrum::registration given =
            pool.on_reclaim("chat", [&](std::uint64_t needed) {
                asked = needed;
                pool.free("chat", all.offset_bytes, 4 * page);
                return 4 * page;
            });
        ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
        request.at_offset = 1;
        request.offset_bytes = 3 * page;
        request.size_bytes = page;
        EXPECT_EQ(pool.alloc_with("code", request).address,
                  pool.model_info("code").base_address + 3 * page);
    }
    EXPECT_EQ(asked, page);
    EXPECT_TRUE(pool.is_mapped("code", 3 * page, page));
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.size_bytes = 1;
    request.tag = "weights";
    EXPECT_EQ(pool.alloc_with("chat", request).offset_bytes, 0u);
    EXPECT_EQ(pool.alloc_batch_anywhere("chat", {page, 1}),
              (std::vector<std::uint64_t>{page, 2 * page}));
    pool.record_stream_batch("chat", {{page, page}, {2 * page, 1}});
    pool.free_batch("chat", {{page, page}, {2 * page, 1}});
    EXPECT_EQ(pool.try_alloc_batch_anywhere("chat", {page, 9 * page}).status(),
              FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    EXPECT_TRUE(pool.alloc_batch_anywhere("chat", {}).empty());
    const ferrum_address chat = pool.model_info("chat").base_address;
    EXPECT_EQ(other.owner(chat).tag, std::string("weights"));
    EXPECT_EQ(device.try_owner(chat).status(), FERRUM_ERROR_NOT_FOUND);
    ferrum_model_limits limits = FERRUM_MODEL_LIMITS_INIT;
    limits.guaranteed_bytes = page;
    pool.set_model_limits("chat", limits);
    EXPECT_EQ(pool.info().guaranteed_bytes, page);
    EXPECT_NE(pool.models_json().find("\"id\":\"code\""), std::string::npos);
    EXPECT_EQ(pool.statistics().live_blocks.current, 2u);
    pool.set_limit(0);
    EXPECT_EQ(pool.try_unregister_model("code").status(), FERRUM_ERROR_BUSY);
    pool.unregister_model("code", FERRUM_FORCE);
    pool.synchronize();
    pool.pause();
    pool.compact();
    pool.trim();
    pool.resume();
    EXPECT_EQ(pool.try_destroy().status(), FERRUM_ERROR_BUSY);
    pool.free("chat", 0, 1);
    pool.destroy();
}

TEST_F(Cpp, test_log) {
    std::promise<std::string> heard;
    struct state {
        std::promise<std::string> *heard;
        std::atomic<bool> first{true};
    } receiver{&heard};
    ferrum::library::set_log(
        FERRUM_LOG_DEBUG,
        [](ferrum_log_level, const char *message, void *data) {
            auto *to = static_cast<state *>(data);
            if (to->first.exchange(false))
                to->heard->set_value(message);
        },
        &receiver);
    device.create_pool();
    EXPECT_FALSE(heard.get_future().get().empty());
    ferrum::library::set_log(FERRUM_LOG_DEBUG, nullptr, nullptr);
}

} // namespace

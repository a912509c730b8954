// Owners in the C++17 layer: blocks of pools, callbacks and page-locked memory
// as members of classes, objects that start empty, and ends without force.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "ferrum_mem.hpp"

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

class Owners : public ::testing::Test {
  protected:
    void TearDown() override {
        pool = {};
        device = {};
        ASSERT_TRUE(library.try_stop().ok()) << ferrum::leak_report_json();
    }
    std::uint64_t live() const { return pool.statistics().live_blocks.current; }

    ferrum::library library;
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::pool pool = device.create_pool();
};

// Blocks the work of a stream until it is opened.
class gate {
  public:
    explicit gate(const ferrum::stream &on) {
        auto held = open_.get_future().share();
        on.call([held] { held.wait(); });
    }
    void open() { open_.set_value(); }

  private:
    std::promise<void> open_;
};

static_assert(std::is_nothrow_move_constructible_v<ferrum::pool_block>);
static_assert(!std::is_copy_constructible_v<ferrum::pool_block>);
static_assert(std::is_nothrow_move_assignable_v<ferrum::registration>);
static_assert(std::is_nothrow_default_constructible_v<ferrum::registration>);

TEST_F(Owners, test_a_block_is_freed_with_its_owner) {
    {
        ferrum::pool_block block = pool.block(4096);
        EXPECT_TRUE(static_cast<bool>(block));
        EXPECT_GE(block.usable_size(), 4096u);
        EXPECT_EQ(live(), 1u);
    }
    EXPECT_EQ(live(), 0u);
    try {
        auto block = pool.block_with(ferrum::pool_request(100).aligned(8192));
        EXPECT_EQ(block.address() % 8192, 0u);
        throw std::runtime_error("in the middle");
    } catch (const std::runtime_error &) {
    }
    EXPECT_EQ(live(), 0u);
    EXPECT_EQ(pool.try_block(0).status(), FERRUM_ERROR_INVALID_SIZE);
    EXPECT_THROW(pool.block_with(ferrum::pool_request(0)), ferrum::error);
}

TEST_F(Owners, test_blocks_move) {
    ferrum::pool_block empty;
    EXPECT_FALSE(static_cast<bool>(empty));
    empty.reset();
    ferrum::pool_block first = pool.block(100);
    const ferrum_address address = first.address();
    ferrum::pool_block second = std::move(first);
    EXPECT_FALSE(static_cast<bool>(first));
    EXPECT_EQ(second.address(), address);
    first = pool.block(100);
    EXPECT_EQ(live(), 2u);
    first = std::move(second);
    EXPECT_EQ(first.address(), address);
    EXPECT_EQ(live(), 1u);
    std::vector<ferrum::pool_block> many;
    for (int i = 0; i < 100; i++)
        many.push_back(pool.block(64));
    EXPECT_EQ(live(), 101u);
    many.clear();
    const ferrum_address given_up = first.release();
    first.reset();
    EXPECT_EQ(live(), 1u);
    ferrum::pool_block again(pool, given_up);
    again.free();
    EXPECT_FALSE(static_cast<bool>(again));
    EXPECT_EQ(live(), 0u);
}

TEST_F(Owners, test_a_block_that_is_not_live) {
    ferrum::pool_block block = pool.block(100);
    pool.free(block.address());
    EXPECT_EQ(block.try_free().status(), FERRUM_ERROR_DOUBLE_FREE);
    EXPECT_EQ(block.try_usable_size().status(), FERRUM_ERROR_DOUBLE_FREE);
    EXPECT_TRUE(static_cast<bool>(block));
}

TEST_F(Owners, test_the_free_waits_for_the_streams_of_the_block) {
    auto own = device.create_stream(), further = device.create_stream();
    // Freed blocks that queued work may still use. trim makes the pool check
    // them.
    auto in_flight = [this] {
        pool.trim();
        return pool.statistics().active.current;
    };
    for (const std::string use : {"own", "recorded", "freed_on"}) {
        const ferrum::stream &busy = use == "own" ? own : further;
        gate held(busy);
        {
            ferrum::pool_block block = pool.block(MiB, own);
            if (use == "recorded")
                block.record_stream(further);
            if (use == "freed_on")
                block.free_on(further);
        }
        EXPECT_EQ(live(), 0u) << use;
        EXPECT_GE(in_flight(), MiB) << use;
        held.open();
        busy.synchronize();
        EXPECT_EQ(in_flight(), 0u) << use;
    }
}

// The free of a block on a stream does not wait for the device's default stream.
TEST_F(Owners, test_the_free_waits_for_no_other_stream) {
    auto own = device.create_stream();
    ferrum::pool_block block = pool.block(MiB, own);
    std::promise<void> open;
    auto held = open.get_future().share();
    ASSERT_EQ(ferrum_stream_host_function(
                  device.default_stream(),
                  [](void *data) {
                      static_cast<std::shared_future<void> *>(data)->wait();
                  },
                  &held),
              FERRUM_OK);
    const ferrum_address address = block.address();
    block.reset();
    EXPECT_NE(device.owner(address).state, FERRUM_BLOCK_IN_FLIGHT);
    open.set_value();
    ASSERT_EQ(
        ferrum_stream_synchronize(device.default_stream(), FERRUM_WAIT_FOREVER),
        FERRUM_OK);
}

TEST_F(Owners, test_a_block_outlives_its_stream_and_its_pool) {
    auto stream = device.create_stream();
    ferrum::pool_block block = pool.block(MiB, stream);
    stream.destroy();
    block.free();
    EXPECT_EQ(live(), 0u);
    auto other = device.create_pool();
    ferrum::pool_block left = other.block(MiB);
    other = {};
    EXPECT_EQ(left.try_free().status(), FERRUM_ERROR_INVALID_HANDLE);
    left.reset();
    EXPECT_FALSE(static_cast<bool>(left));
}

// A class as users write it: all its members start empty.
struct worker {
    ferrum::manager manager;
    std::vector<char> bytes = std::vector<char>(MiB);
    ferrum::memory locked;
    ferrum::registration pressure;
    ferrum::monitor monitor;
    ferrum::generic_pool<int> spares;
    ferrum::memory block;
    ferrum::mapping mapped;
    ferrum::pool_block scratch;

    void start(const ferrum::device &device, const ferrum::pool &pool,
               std::shared_ptr<int> counted) {
        manager = device.create_manager();
        locked = manager.page_lock(bytes.data(), bytes.size(), "staging");
        pressure = device.on_pressure([counted](ferrum_pressure_level) {});
        monitor = ferrum::monitor::create();
        monitor.add(manager);
        monitor.on_change(
            [counted](const ferrum_device_level *, std::size_t) {});
        spares = ferrum::generic_pool<int>::create();
        block = manager.alloc(4096);
        mapped = block.map();
        scratch = pool.block(4096);
    }
};

TEST_F(Owners, test_members_of_a_class) {
    auto counted = std::make_shared<int>(0);
    worker idle;
    EXPECT_FALSE(idle.locked || idle.pressure || idle.monitor || idle.spares ||
                 idle.mapped || idle.scratch);
    idle.pressure.close();
    {
        worker one;
        one.start(device, pool, counted);
        EXPECT_TRUE(one.locked && one.pressure && one.monitor && one.spares &&
                    one.mapped && one.scratch);
        EXPECT_STREQ(one.locked.handle_info().tag, "staging");
        std::memcpy(one.bytes.data() + 7, "page", 4);
        char seen[4];
        one.locked.read(7, seen, 4);
        EXPECT_EQ(std::memcmp(seen, "page", 4), 0);
        worker moved = std::move(one);
        EXPECT_FALSE(one.pressure || one.monitor || one.mapped || one.scratch);
        std::memcpy(moved.mapped.data(), "kept", 4);
        EXPECT_EQ(counted.use_count(), 3);
        moved.monitor = ferrum::monitor::create();
        EXPECT_EQ(counted.use_count(), 2);
        moved.pressure = ferrum::registration();
        EXPECT_EQ(counted.use_count(), 1);
    }
    EXPECT_EQ(live(), 0u);
}

TEST_F(Owners, test_ends_without_force) {
    auto stream = device.create_stream();
    gate held(stream);
    EXPECT_EQ(stream.try_destroy().status(), FERRUM_ERROR_BUSY);
    EXPECT_EQ(device.try_close().status(), FERRUM_ERROR_BUSY);
    held.open();
    stream.synchronize();
    auto event = stream.record_event();
    event.destroy();
    EXPECT_EQ(event.try_destroy().status(), FERRUM_ERROR_INVALID_HANDLE);
    stream.destroy();
    auto placement = ferrum::placement::create("best_fit");
    placement.destroy();
    auto tracker = ferrum::tracker::create();
    tracker.destroy();
    EXPECT_FALSE(stream || event || placement || tracker);

    auto monitor = ferrum::monitor::create();
    auto counted = std::make_shared<int>(0);
    monitor.on_change([counted](const ferrum_device_level *, std::size_t) {});
    monitor.destroy();
    EXPECT_EQ(counted.use_count(), 1);
    EXPECT_EQ(monitor.try_destroy().status(), FERRUM_ERROR_INVALID_HANDLE);

    auto spares = ferrum::generic_pool<int>::create();
    auto used = spares.record(1, 100);
    spares.add(2, 100);
    EXPECT_EQ(spares.try_destroy().status(), FERRUM_ERROR_BUSY);
    spares.put(used);
    spares.destroy();
    EXPECT_FALSE(static_cast<bool>(spares));

    auto pressure = device.on_pressure([](ferrum_pressure_level) {});
    pressure.close();
    EXPECT_FALSE(static_cast<bool>(pressure));
    pool.destroy();
    device.close();
    EXPECT_FALSE(static_cast<bool>(device));
}

TEST_F(Owners, test_fallback_managers_end_without_force) {
    auto buffers = ferrum::fallback_manager::create(
        device, {}, ferrum::memory_config().with_cpu_fallback(false));
    ferrum_buffer_request request = FERRUM_BUFFER_REQUEST_INIT;
    request.num_elements = 16;
    auto buffer = buffers.alloc(request);
    EXPECT_EQ(buffers.try_destroy().status(), FERRUM_ERROR_BUSY);
    buffer.free();
    buffers.destroy();
    EXPECT_FALSE(static_cast<bool>(buffers));
}

TEST(Names, test_calls_that_never_fail) {
    EXPECT_EQ(ferrum::abi_version(), std::uint32_t{FERRUM_ABI_VERSION});
    EXPECT_STREQ(ferrum::version_string(), ferrum_version_string());
    EXPECT_STREQ(ferrum::status_name(FERRUM_ERROR_BUSY), "FERRUM_ERROR_BUSY");
    EXPECT_STREQ(ferrum::status_text(FERRUM_ERROR_TIMEOUT), "not done in time");
    EXPECT_STREQ(ferrum::backend_name(FERRUM_BACKEND_ROCM), "rocm");
    EXPECT_STREQ(ferrum::backend_display_name(FERRUM_BACKEND_ROCM), "ROCm");
}

TEST(Names, test_values_have_names) {
    static_assert(ferrum::pressure_level_name(FERRUM_PRESSURE_LOW)[0] == 'l');
    const char *levels[] = {"low", "medium", "high", "critical"};
    for (ferrum_pressure_level level = 0; level < 4; level++)
        EXPECT_STREQ(ferrum::pressure_level_name(level), levels[level]);
    EXPECT_STREQ(ferrum::pressure_level_name(4), "unknown");
    EXPECT_STREQ(ferrum::block_state_name(FERRUM_BLOCK_IN_FLIGHT), "in_flight");
    EXPECT_STREQ(ferrum::sleep_backing_name(FERRUM_SLEEP_FILE), "file");
    EXPECT_STREQ(ferrum::memory_type_name(FERRUM_MEMORY_TYPE_COUNT), "unknown");
    EXPECT_STREQ(ferrum::log_level_name(FERRUM_LOG_WARNING), "warning");
}

} // namespace

// The destructors of the C++ layer: none throws, whatever status the library
// returns and however little memory there is. The log reports an object that
// could not be ended.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ferrum_mem.hpp"

namespace {

// While this is set, C++ allocations fail.
thread_local bool dry = false;

} // namespace

void *operator new(std::size_t size) {
    void *made = dry ? nullptr : std::malloc(size);
    if (made == nullptr)
        throw std::bad_alloc();
    return made;
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

namespace {

template <class T> constexpr bool ends_quietly() {
    return std::is_nothrow_destructible<T>::value &&
           std::is_nothrow_move_constructible<T>::value;
}
template <class T> constexpr bool moves_quietly() {
    return ends_quietly<T>() && std::is_nothrow_move_assignable<T>::value;
}
static_assert(moves_quietly<ferrum::library>(), "library");
static_assert(moves_quietly<ferrum::device>(), "device");
static_assert(moves_quietly<ferrum::stream>(), "stream");
static_assert(moves_quietly<ferrum::event>(), "event");
static_assert(moves_quietly<ferrum::pool>(), "pool");
static_assert(moves_quietly<ferrum::vpool>(), "vpool");
static_assert(moves_quietly<ferrum::elastic_pool>(), "elastic_pool");
static_assert(moves_quietly<ferrum::manager>(), "manager");
static_assert(moves_quietly<ferrum::memory>(), "memory");
static_assert(moves_quietly<ferrum::mapping>(), "mapping");
static_assert(moves_quietly<ferrum::registration>(), "registration");
static_assert(moves_quietly<ferrum::placement>(), "placement");
static_assert(moves_quietly<ferrum::tracker>(), "tracker");
static_assert(moves_quietly<ferrum::fallback_buffer>(), "fallback_buffer");
static_assert(moves_quietly<ferrum::fallback_manager>(), "fallback_manager");
static_assert(moves_quietly<ferrum::generic_pool<std::string>>(),
              "generic_pool");
static_assert(ends_quietly<ferrum::monitor>(), "monitor");
static_assert(std::is_nothrow_destructible<ferrum::pool_resource>::value,
              "pool_resource");
static_assert(std::is_nothrow_destructible<ferrum::error>::value, "error");

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

class Ends : public ::testing::Test {
  protected:
    static ferrum_status start() {
        ferrum_config config = FERRUM_CONFIG_INIT;
        config.host_devices = 2;
        config.host_memory_bytes = 256 * MiB;
        return ferrum_init(&config);
    }
    void SetUp() override { ASSERT_EQ(start(), FERRUM_OK); }
    void TearDown() override {
        // The library's counters show that nothing leaked.
        EXPECT_EQ(ferrum_shutdown(0), FERRUM_OK) << ferrum::leak_report_json();
    }
};

// A buffer that counts itself and whose moves throw on demand.
struct counted {
    static std::atomic<int> alive;
    static bool throws;
    counted() { alive++; }
    counted(counted &&) {
        if (throws)
            throw std::bad_alloc();
        alive++;
    }
    counted &operator=(counted &&) = default;
    ~counted() { alive--; }
};
std::atomic<int> counted::alive{0};
bool counted::throws = false;

ferrum_buffer_request bytes() {
    ferrum_buffer_request request = FERRUM_BUFFER_REQUEST_INIT;
    request.dtype = FERRUM_DTYPE_U8;
    request.num_elements = 100;
    return request;
}

// One object of each kind.
struct everything {
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::device host = ferrum::device::open("cpu:1");
    ferrum::stream stream = device.create_stream();
    ferrum::event event = stream.record_event();
    ferrum::pool pool = device.create_pool();
    ferrum::manager manager = device.create_manager();
    ferrum::memory memory = manager.alloc(4096);
    ferrum::mapping mapping = memory.map();
    ferrum::registration pressure =
        device.on_pressure([](ferrum_pressure_level) {});
    ferrum::monitor monitor = ferrum::monitor::create();
    ferrum::placement placement = ferrum::placement::create("best_fit");
    ferrum::tracker tracker = ferrum::tracker::create();
    ferrum::fallback_manager buffers = ferrum::fallback_manager::create(
        device.get(), host.get(),
        ferrum::memory_config().with_min_free_bytes(0));
    ferrum::fallback_buffer buffer = buffers.alloc(bytes());
    ferrum::generic_pool<counted> generic =
        ferrum::generic_pool<counted>::create();
};

TEST_F(Ends, test_destructors_in_use_and_without_memory) {
    auto all = std::make_unique<everything>();
    all->pool.alloc(4096);
    all->memory.pin();
    all->generic.put(all->generic.record(counted(), 100));
    dry = true;
    counted::throws = true;
    all.reset();
    counted::throws = false;
    dry = false;
    EXPECT_EQ(counted::alive, 0);
}

TEST_F(Ends, test_destructors_of_ended_objects) {
    auto all = std::make_unique<everything>();
    // Other code stops the library by force, under every object.
    ASSERT_EQ(ferrum_shutdown(FERRUM_FORCE), FERRUM_OK);
    dry = true;
    all.reset();
    dry = false;
    ASSERT_EQ(start(), FERRUM_OK);
    // The handles have ended, and the library runs.
    all = std::make_unique<everything>();
    ASSERT_EQ(ferrum_shutdown(FERRUM_FORCE), FERRUM_OK);
    ASSERT_EQ(start(), FERRUM_OK);
    dry = true;
    all.reset();
    dry = false;
}

// The messages of the log, one after the other.
class messages {
  public:
    messages() {
        ferrum_log_set_callback(
            FERRUM_LOG_ERROR,
            [](ferrum_log_level, const char *message, void *data) {
                auto self = static_cast<messages *>(data);
                std::lock_guard<std::mutex> hold(self->mutex_);
                self->heard_.push_back(message);
                self->more_.notify_all();
            },
            this);
    }
    ~messages() { ferrum_log_set_callback(FERRUM_LOG_ERROR, nullptr, nullptr); }
    void await(const std::string &what) {
        std::unique_lock<std::mutex> hold(mutex_);
        more_.wait(hold, [&] {
            for (const auto &message : heard_)
                if (message.find(what) != std::string::npos)
                    return true;
            return false;
        });
    }

  private:
    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<std::string> heard_;
};

TEST_F(Ends, test_failed_ends_are_logged) {
    messages log;
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::stream stream = device.create_stream();
    // The library cannot be stopped from inside one of its callbacks.
    stream.call([] {
        ferrum::library inside;
        dry = true;
        {
            ferrum::library gone(std::move(inside));
        }
        dry = false;
    });
    stream.synchronize();
    log.await("the library was not stopped");
    stream.reset();
    device.reset();
    // That start was not undone, as the log has reported.
    EXPECT_EQ(ferrum_shutdown(0), FERRUM_OK);
}

// An assignment ends the former registration before its callable is destroyed.
TEST_F(Ends, test_assignment_of_a_registration) {
    ferrum::device device = ferrum::device::open("cpu:0");
    bool freed = false, freed_too_early = false;
    std::shared_ptr<int> last(new int(0), [&](int *token) {
        freed = true;
        freed_too_early = ferrum::leak_report_json().find("\"registration\"") !=
                          std::string::npos;
        delete token;
    });
    ferrum::registration first = device.on_pressure(
        [held = std::move(last)](ferrum_pressure_level) { (void)held; });
    ferrum::registration second =
        device.on_pressure([](ferrum_pressure_level) {});
    second.close();
    EXPECT_FALSE(freed);
    first = std::move(second);
    EXPECT_TRUE(freed);
    EXPECT_FALSE(freed_too_early);
}

} // namespace

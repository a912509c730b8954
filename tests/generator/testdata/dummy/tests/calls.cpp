// Calls both forms of every function of the dummy family.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ferrum_mem.hpp"

#define CHECK(...)                                               \
    do {                                                         \
        if (!(__VA_ARGS__)) {                                    \
            std::fprintf(stderr, "calls.cpp:%d: %s\n", __LINE__, \
                         #__VA_ARGS__);                          \
            std::exit(1);                                        \
        }                                                        \
    } while (0)

template <class Call> ferrum_status thrown(Call call) {
    try {
        call();
    } catch (const ferrum::error &why) {
        return why.status();
    }
    return FERRUM_OK;
}

static ferrum_dummy_item item(const char *name, std::uint64_t size) {
    ferrum_dummy_item made{};
    std::strcpy(made.name, name);
    made.extent.size_bytes = size;
    return made;
}

static void lists() {
    ferrum_dummy_config config = FERRUM_DUMMY_CONFIG_INIT;
    config.name = "list";
    config.room.size_bytes = 1000;
    config.flags = FERRUM_DUMMY_TRAIT_UNIQUE;
    auto dummy = ferrum::dummy::create(&config);
    CHECK(ferrum::dummy::try_create().ok());
    CHECK(dummy.info().room.size_bytes == 1000);
    CHECK(dummy.try_info().value().is_empty == 1);

    const std::vector<ferrum_dummy_item> items{item("b", 200), item("a", 100)};
    dummy.add(items);
    CHECK(dummy.try_add(items).status() == FERRUM_ERROR_ALREADY_EXISTS);
    CHECK(thrown([&] { dummy.add(items.data(), 1); }) ==
          FERRUM_ERROR_ALREADY_EXISTS);
    CHECK(dummy.items().size() == 2);
    CHECK(dummy.try_items().value()[1].extent.size_bytes == 100);

    CHECK(dummy.find("a").first == 1);
    CHECK(dummy.try_find(std::string("b")).value().second.extent.size_bytes ==
          200);
    CHECK(dummy.try_find("z").status() == FERRUM_ERROR_NOT_FOUND);
    CHECK(thrown([&] { dummy.find("z"); }) == FERRUM_ERROR_NOT_FOUND);

    dummy.add_json(R"([{"name": "c", "size_bytes": 1}])");
    CHECK(dummy.try_add_json("{").status() == FERRUM_ERROR_INVALID_FORMAT);
    CHECK(dummy.names_json() == R"(["b","a","c"])");
    CHECK(dummy.try_names_json().value() == R"(["b","a","c"])");

    CHECK(dummy.remove({"a", "c"}) == 2);
    CHECK(dummy.try_remove({"b", "c"}).status() == FERRUM_ERROR_NOT_FOUND);
    CHECK(dummy.try_remove({"b"}).value() == 1);
    CHECK(thrown([&] { dummy.remove({"b"}); }) == FERRUM_ERROR_NOT_FOUND);
    dummy.set_traits(FERRUM_DUMMY_TRAIT_CLOSED);
    CHECK(dummy.info().flags == FERRUM_DUMMY_TRAIT_CLOSED);
    CHECK(dummy.try_set_traits(8).status() == FERRUM_ERROR_INVALID_ARGUMENT);
}

static void releases() {
    int released = 0;
    auto count = std::make_shared<int>(0);
    {
        auto dummy = ferrum::dummy::create();
        dummy.adopt([&released, count] { ++released; });
        CHECK(dummy.try_adopt([&released, count] { ++released; }).ok());
        CHECK(dummy.try_adopt(nullptr).status() == FERRUM_ERROR_NULL_POINTER);
        CHECK(count.use_count() == 3);
        dummy.set_traits(FERRUM_DUMMY_TRAIT_CLOSED);
        CHECK(dummy.try_adopt([&released, count] { ++released; }).status() ==
              FERRUM_ERROR_INVALID_STATE);
        CHECK(thrown([&] {
                  dummy.adopt([&released, count] { ++released; });
              }) == FERRUM_ERROR_INVALID_STATE);
        CHECK(released == 0 && count.use_count() == 3);
    }
    CHECK(released == 2 && count.use_count() == 1);
}

static void jobs() {
    using std::chrono::nanoseconds;
    auto dummy = ferrum::dummy::create();
    dummy.add({item("b", 200), item("a", 100)});
    dummy.hold(true);
    auto job = dummy.sort(FERRUM_DUMMY_ORDER_SIZE);
    CHECK(dummy.try_sort(FERRUM_DUMMY_ORDER_SIZE).status() ==
          FERRUM_ERROR_BUSY);
    CHECK(job.try_progress().value().total == 2);
    CHECK(job.try_wait(nanoseconds(0)).status() == FERRUM_ERROR_TIMEOUT);
    CHECK(thrown([&] { job.result(); }) == FERRUM_ERROR_INVALID_STATE);
    CHECK(job.try_destroy().status() == FERRUM_ERROR_BUSY);
    CHECK(dummy.try_hold(false).ok());
    job.wait();
    CHECK(job.result().moved == 2 && job.progress().is_over == 1);
    job.destroy();
    CHECK(std::string(dummy.items()[0].name) == "a");
    dummy.hold(true);
    auto second = dummy.try_sort(FERRUM_DUMMY_ORDER_GIVEN).value();
    second.cancel();
    second.wait();
    CHECK(second.try_result().status() == FERRUM_ERROR_CANCELLED);
}

int main() {
    ferrum::library library;
    lists();
    releases();
    jobs();
    auto device = ferrum::device::open("cpu:0");
    auto pool = device.create_pool();
    pool.free(pool.alloc(1000));
    CHECK(pool.kept_bytes() >= 1000 && pool.try_kept_bytes().value() >= 1000);
    CHECK(ferrum::pool().try_kept_bytes().status() ==
          FERRUM_ERROR_INVALID_HANDLE);
    return 0;
}

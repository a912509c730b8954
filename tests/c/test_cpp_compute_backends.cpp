// Compute backends of the program in C++: callables, exceptions, ownership.
#include <ferrum_mem.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr char properties[] =
    R"({"supported_devices": ["cpu:0"], "supported_dtypes": ["f32"]})";

class CppComputeBackends : public ::testing::Test {
  protected:
    ferrum::library started;
    ferrum::device device = ferrum::device::open("cpu:0");
    std::vector<float> numbers{1, 2, 3};
    std::shared_ptr<int> alive = std::make_shared<int>(0);

    ferrum::compute_backend adder() {
        ferrum::compute_backend made;
        made.version = "5";
        made.run = [held = alive](const ferrum::compute_call &call) {
            const auto *a = call.input(0), *b = call.input(1);
            const auto *sum = call.output(0);
            for (std::int64_t i = 0; i < sum->shape[0]; i++)
                elements(sum)[i * sum->strides[0]] =
                    elements(a)[i * a->strides[0]] +
                    elements(b)[i * b->strides[0]];
        };
        return made;
    }
    static float *elements(const ferrum_tensor_desc *of) {
        return reinterpret_cast<float *>(
            static_cast<std::uintptr_t>(of->address));
    }
    ferrum::compute open(const char *name) {
        ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
        config.type = FERRUM_COMPUTE_CUSTOM;
        config.name = name;
        config.device = device;
        return ferrum::compute::open(config);
    }
    ferrum::tensor wrap() {
        const auto desc = ferrum::tensor::contiguous(FERRUM_DTYPE_F32, {3});
        return ferrum::tensor::wrap(
            device, reinterpret_cast<std::uintptr_t>(numbers.data()),
            numbers.size() * sizeof(float), desc, [] {});
    }
};

TEST_F(CppComputeBackends, a_backend_computes_and_ends) {
    auto made = ferrum::compute::register_backend("adder", properties, adder());
    EXPECT_EQ(alive.use_count(), 2);
    {
        auto compute = open("adder");
        auto x = wrap();
        auto sum = compute.prepare("Add").run({x, x});
        std::vector<float> got(3);
        sum[0].read(got.data(), 3 * sizeof(float));
        EXPECT_EQ(got, (std::vector<float>{2, 4, 6}));
        ferrum_statistics books = FERRUM_STATISTICS_INIT;
        EXPECT_EQ(ferrum_manager_get_statistics(compute.manager(), &books),
                  FERRUM_OK);
        EXPECT_EQ(books.live_blocks.current, 1u);
        EXPECT_EQ(made.try_close().status(), FERRUM_ERROR_BUSY);
        EXPECT_TRUE(bool(made));
        EXPECT_NE(ferrum::compute::backends_json().find("\"adder\""),
                  std::string::npos);
    }
    made.close();
    EXPECT_EQ(alive.use_count(), 1);
    // By its destructor too.
    {
        auto again =
            ferrum::compute::register_backend("adder", properties, adder());
    }
    EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(CppComputeBackends, exceptions_become_errors) {
    int throws = 0;
    auto backend = adder();
    backend.run = [&throws](const ferrum::compute_call &call) {
        EXPECT_EQ(call.domain(), "");
        switch (throws) {
        case 0:
            throw ferrum::program_failure(FERRUM_ERROR_DEVICE_LOST,
                                          "lost " + std::string(call.name()));
        case 1:
            throw std::runtime_error("unexpected");
        case 2:
            throw 5;
        case 3:
            throw ferrum::program_failure(FERRUM_OK, "no failure");
        default:
            throw std::runtime_error(std::string(5000, 'z'));
        }
    };
    backend.plan = [](const ferrum::compute_call &call) {
        if (call.name() == "Sub")
            throw ferrum::program_failure(FERRUM_ERROR_UNSUPPORTED, "no Sub");
        if (call.name() == "Mul")
            throw std::out_of_range("Mul");
        ferrum_compute_plan plan = FERRUM_COMPUTE_PLAN_INIT;
        plan.workspace_bytes = call.attributes() == "{}" ? 64 : 1;
        return plan;
    };
    backend.synchronize = [] { throw std::runtime_error("late"); };
    auto made = ferrum::compute::register_backend("thrower", properties,
                                                  std::move(backend));
    auto compute = open("thrower");
    auto x = wrap();
    auto add = compute.prepare("Add");
    const struct {
        ferrum_status status;
        const char *says;
    } wants[] = {{FERRUM_ERROR_DEVICE_LOST, "lost Add"},
                 {FERRUM_ERROR_INTERNAL, "unexpected"},
                 {FERRUM_ERROR_INTERNAL, "unknown type"},
                 {FERRUM_ERROR_INTERNAL, "no failure"},
                 {FERRUM_ERROR_INTERNAL, "zzz"}};
    for (const auto &want : wants) {
        auto failed = add.try_run({x, x});
        EXPECT_EQ(failed.status(), want.status);
        EXPECT_NE(failed.why().message.find(want.says), std::string::npos)
            << failed.why().message;
        throws++;
    }
    EXPECT_EQ(compute.prepare("Sub").try_run({x, x}).status(),
              FERRUM_ERROR_UNSUPPORTED);
    EXPECT_EQ(compute.prepare("Mul").try_run({x, x}).status(),
              FERRUM_ERROR_INTERNAL);
    EXPECT_EQ(compute.try_synchronize(ferrum::forever).status(),
              FERRUM_ERROR_INTERNAL);
}

TEST_F(CppComputeBackends, a_refused_registration_leaves_nothing) {
    using ferrum::compute;
    EXPECT_EQ(
        compute::try_register_backend("cpu", properties, adder()).status(),
        FERRUM_ERROR_ALREADY_EXISTS);
    EXPECT_EQ(compute::try_register_backend("mine", "{}", adder()).status(),
              FERRUM_ERROR_INVALID_CONFIG);
    EXPECT_EQ(compute::try_register_backend("mine", properties, {}).status(),
              FERRUM_ERROR_NULL_POINTER);
    EXPECT_EQ(alive.use_count(), 1);
}

// The callables live until the last backend is closed, whoever is destroyed first.
TEST_F(CppComputeBackends, a_registration_destroyed_early_frees_nothing) {
    auto made = std::make_unique<ferrum::registration>(
        ferrum::compute::register_backend("adder", properties, adder()));
    auto compute = open("adder");
    made.reset();
    auto x = wrap();
    EXPECT_TRUE(compute.prepare("Add").try_run({x, x}).ok());
    EXPECT_EQ(alive.use_count(), 2);
    x.destroy();
    compute.close();
    device.close();
    EXPECT_EQ(ferrum_shutdown(0), FERRUM_ERROR_BUSY);
    EXPECT_EQ(ferrum_shutdown(FERRUM_FORCE), FERRUM_OK);
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(ferrum_init(nullptr), FERRUM_OK);
}

} // namespace

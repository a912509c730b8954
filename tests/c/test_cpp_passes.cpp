// Passes of the program in C++: callables, exceptions, ownership, results.
#include <ferrum_mem.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" const char FIXTURE_DEFINITION[];

namespace {

std::string replaced(std::string_view text, const std::string &old,
                     const std::string &by) {
    std::string made(text);
    const auto at = made.find(old);
    if (at == std::string::npos)
        throw std::runtime_error("the definition has no " + old);
    return made.replace(at, old.size(), by);
}

class CppPasses : public ::testing::Test {
  protected:
    ferrum::library started;
    const std::string definition = FIXTURE_DEFINITION;
    std::shared_ptr<int> alive = std::make_shared<int>(0);

    ferrum::optimization_pass renamer(const std::string &name,
                                      const std::string &old,
                                      const std::string &by) {
        ferrum::optimization_pass made;
        made.name = name;
        made.apply = [held = alive, old, by](const ferrum::pass_call &call) {
            return std::optional<std::string>(
                replaced(call.definition(), old, by));
        };
        return made;
    }
};

using ferrum::optimization_pass;

TEST_F(CppPasses, a_pass_runs_after_its_dependencies_and_ends) {
    auto second = renamer("second", "\"version\":\"2\"", "\"version\":\"3\"");
    second.dependencies = {"first", "merge_same"};
    auto two = optimization_pass::register_pass(std::move(second));
    auto one = optimization_pass::register_pass(
        renamer("first", "\"version\":\"1\"", "\"version\":\"2\""));
    EXPECT_EQ(alive.use_count(), 3);
    const std::string made = ferrum::optimize_definition(
        definition, R"(["second", "merge_same", "first"])");
    EXPECT_NE(made.find("\"version\":\"3\""), std::string::npos) << made;
    EXPECT_NE(ferrum::builder_info_json().find("\"second\""),
              std::string::npos);
    EXPECT_NE(ferrum::optimize_definition(definition).find("fuse_norm"),
              std::string::npos);
    two.close();
    EXPECT_EQ(alive.use_count(), 2);
    EXPECT_EQ(
        ferrum::try_optimize_definition(definition, R"(["second"])").status(),
        FERRUM_ERROR_NOT_FOUND);
    one = ferrum::registration();
    EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(CppPasses, a_pass_is_skipped_or_leaves_the_definition) {
    int checks = 0;
    auto skipped = renamer("skipped", "\"version\":\"1\"", "\"version\":\"2\"");
    skipped.is_applicable = [&checks](const ferrum::pass_call &call) {
        checks++;
        return call.definition().empty();
    };
    optimization_pass warns;
    warns.name = "warns";
    warns.apply = [](const ferrum::pass_call &call) {
        call.warn("nothing to join");
        return std::nullopt;
    };
    auto one = optimization_pass::register_pass(std::move(skipped));
    auto two = optimization_pass::register_pass(std::move(warns));
    const std::string made =
        ferrum::optimize_definition(definition, R"(["skipped", "warns"])");
    EXPECT_EQ(checks, 1);
    EXPECT_NE(made.find("\"version\":\"1\""), std::string::npos);
    EXPECT_NE(made.find("\"warnings\":[\"nothing to join\"]"),
              std::string::npos);
}

TEST_F(CppPasses, exceptions_become_errors) {
    int throws = 0;
    optimization_pass thrower;
    thrower.name = "thrower";
    thrower.apply =
        [&throws](const ferrum::pass_call &call) -> std::optional<std::string> {
        switch (throws) {
        case 0:
            throw ferrum::program_failure(FERRUM_ERROR_UNSUPPORTED,
                                          "no such graph");
        case 1:
            throw std::runtime_error("unexpected");
        case 2:
            throw 5;
        case 3:
            call.warn("\xff");
            return std::nullopt;
        case 4:
            return std::string(FERRUM_DEFINITION_MAX + 1ull, ' ');
        default:
            return "{}";
        }
    };
    auto made = optimization_pass::register_pass(std::move(thrower));
    const struct {
        ferrum_status status;
        const char *says;
    } wants[] = {{FERRUM_ERROR_UNSUPPORTED, "no such graph"},
                 {FERRUM_ERROR_INTERNAL, "unexpected"},
                 {FERRUM_ERROR_INTERNAL, "unknown type"},
                 {FERRUM_ERROR_INVALID_ARGUMENT, "UTF-8"},
                 {FERRUM_ERROR_INVALID_SIZE, "64 MiB"},
                 {FERRUM_ERROR_INVALID_FORMAT, "thrower"}};
    for (const auto &want : wants) {
        auto failed =
            ferrum::try_optimize_definition(definition, R"(["thrower"])");
        EXPECT_EQ(failed.status(), want.status) << throws;
        EXPECT_NE(failed.why().message.find(want.says), std::string::npos)
            << failed.why().message;
        throws++;
    }
    EXPECT_THROW(ferrum::optimize_definition(definition, R"(["thrower"])"),
                 ferrum::error);
}

TEST_F(CppPasses, a_refused_registration_leaves_nothing) {
    auto named = [this](const std::string &name) {
        return optimization_pass::try_register(renamer(name, "", "")).status();
    };
    EXPECT_EQ(named("fuse_norm"), FERRUM_ERROR_ALREADY_EXISTS);
    EXPECT_EQ(named(""), FERRUM_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(optimization_pass::try_register({}).status(),
              FERRUM_ERROR_NULL_POINTER);
    EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(CppPasses, a_build_runs_a_pass) {
    auto pass = optimization_pass::register_pass(
        renamer("renamer", "\"version\":\"1\"", "\"version\":\"2\""));
    auto device = ferrum::device::open("cpu:0");
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = device;
    config.threads = 1;
    auto compute = ferrum::compute::open(config);
    ferrum_elastic_pool_config limits = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    limits.limit_bytes = 64u << 20;
    auto pool = device.create_elastic_pool(&limits);
    ferrum::build_request request;
    request.definition_json = definition;
    request.compute = compute;
    request.elastic_pool = pool;
    request.options_json = R"({"passes": ["renamer"]})";
    auto model = ferrum::executor::build(request);
    EXPECT_NE(model.definition_json().find("\"version\":\"2\""),
              std::string::npos);
    model.destroy();
    pass.close();
}

} // namespace

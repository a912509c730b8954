/*
 * Passes of the program, and passes over definitions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_OPTIMIZATION_PASS_HPP
#define FERRUM_MEM_OPTIMIZATION_PASS_HPP

#include "program_function.hpp"
#include "registration.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferrum {

/** What a pass works on; valid during the function that gets it. */
class pass_call {
  public:
    explicit pass_call(const ferrum_pass_call &raw) noexcept : raw_(raw) {}
    /** The call as C has it. */
    const ferrum_pass_call &get() const noexcept { return raw_; }
    /** The definition, as JSON with the fields of docs/model_definition.md. */
    std::string_view definition() const noexcept {
        return {raw_.definition_json,
                static_cast<std::size_t>(raw_.definition_bytes)};
    }
    /** Adds a warning to the result of the pass. */
    void warn(const std::string &text) const {
        const ferrum_status status = raw_.warn(raw_.call, text.c_str());
        if (status != FERRUM_OK)
            throw error(failure::last(status));
    }

  private:
    const ferrum_pass_call &raw_;
};

/** A pass of the program. Several threads may call a function at a time. An exception becomes
 *  the error of the call that runs the pass: ferrum::error keeps its status and message, any
 *  other has FERRUM_ERROR_INTERNAL. */
class optimization_pass {
  public:
    /** 1 to 63 letters, digits, '_', '-' and '.'. */
    std::string name;
    /** The names of the passes that must have run before. */
    std::vector<std::string> dependencies;
    /** Returns the changed definition, or nothing: the definition stays. */
    std::function<std::optional<std::string>(const pass_call &)> apply;
    /** Decides whether it runs; empty: always. */
    std::function<bool(const pass_call &)> is_applicable;

    /** Registers the pass. It stays registered while the registration exists, and cannot be
     *  removed while a call uses it: then a destructor of the registration leaves it to the
     *  stop of the library. */
    static result<registration> try_register(optimization_pass pass) {
        auto owned = std::make_unique<optimization_pass>(std::move(pass));
        std::vector<const char *> needs;
        for (const std::string &need : owned->dependencies)
            needs.push_back(need.c_str());
        ferrum_pass raw = FERRUM_PASS_INIT;
        raw.name = owned->name.c_str();
        raw.dependencies = needs.data();
        raw.dependency_count = static_cast<std::uint32_t>(needs.size());
        if (owned->apply)
            raw.apply = call_apply;
        if (owned->is_applicable)
            raw.is_applicable = call_is_applicable;
        raw.release = call_release;
        raw.user_data = owned.get();
        ferrum_registration out{};
        const ferrum_status status = ferrum_pass_register(&raw, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        owned.release(); /* the library calls raw.release */
        return registration(nullptr, out);
    }
    static registration register_pass(optimization_pass pass) {
        return try_register(std::move(pass)).value();
    }

  private:
    static ferrum_status call_apply(const ferrum_pass_call *call,
                                    void *data) noexcept {
        return detail::program_status(room(call), [&] {
            const std::optional<std::string> made =
                static_cast<optimization_pass *>(data)->apply(pass_call(*call));
            if (!made)
                return;
            const ferrum_status status =
                call->replace(call->call, made->data(), made->size());
            if (status != FERRUM_OK)
                throw error(failure::last(status));
        });
    }
    static ferrum_status call_is_applicable(const ferrum_pass_call *call,
                                            std::uint32_t *is_applicable_out,
                                            void *data) noexcept {
        return detail::program_status(room(call), [&] {
            *is_applicable_out =
                static_cast<optimization_pass *>(data)->is_applicable(
                    pass_call(*call));
        });
    }
    static void call_release(void *data) noexcept {
        delete static_cast<optimization_pass *>(data);
    }
    static detail::message_room room(const ferrum_pass_call *call) noexcept {
        return {call->message_out, FERRUM_PASS_MESSAGE_MAX};
    }
};

namespace detail {

/** The result of passes on its way to the caller. */
struct optimized_text {
    std::string text;
    std::exception_ptr failed;

    static void receive(const char *result_json, std::uint64_t result_bytes,
                        void *data) noexcept {
        auto *to = static_cast<optimized_text *>(data);
        try {
            to->text.assign(result_json, result_json + result_bytes);
        } catch (...) {
            to->failed = std::current_exception();
        }
    }
};

} // namespace detail

/** Runs passes over a definition: those of a JSON list of names, or those of optimization_level
 *  2. Returns the definition and the results, as JSON with the fields of docs/passes.md. */
inline result<std::string>
try_optimize_definition(std::string_view definition_json,
                        std::string_view passes_json = {}) {
    detail::optimized_text made;
    const ferrum_status status = ferrum_definition_optimize(
        definition_json.data(), definition_json.size(), passes_json.data(),
        passes_json.size(), detail::optimized_text::receive, &made);
    if (made.failed)
        std::rethrow_exception(made.failed);
    return detail::outcome(status, std::move(made.text));
}
inline std::string optimize_definition(std::string_view definition_json,
                                       std::string_view passes_json = {}) {
    return try_optimize_definition(definition_json, passes_json).value();
}

} // namespace ferrum

#endif /* FERRUM_MEM_OPTIMIZATION_PASS_HPP */

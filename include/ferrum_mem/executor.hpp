/*
 * Executors: models that are built from files, planned and run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_EXECUTOR_HPP
#define FERRUM_MEM_EXECUTOR_HPP

#include "calls/executor.hpp"
#include "tensor.hpp"
#include "unique_handle.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferrum {

namespace detail {

inline void end_executor(ferrum_executor h) noexcept {
    ferrum_executor_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Called during a build; it returns false to cancel. An exception from it terminates the
 *  process. */
using build_progress_function =
    std::function<bool(const ferrum_build_progress &)>;

namespace detail {

inline std::int32_t call_build_progress(const ferrum_build_progress *now,
                                        void *data) noexcept {
    return (*static_cast<build_progress_function *>(data))(*now) ? 0 : 1;
}

} // namespace detail

/** The model to build, and the memory for it. An empty text stands for NULL. */
struct build_request {
    /** The id of the model in the elastic pool. */
    std::string model;
    /** A folder with config.json, or a GGUF file. */
    std::string path;
    /** The definition, without path. */
    std::string definition_json;
    /** The tensors of the definition. */
    ferrum_weights weights{};
    /** The backend that computes. */
    ferrum_compute compute{};
    /** The memory. */
    ferrum_elastic_pool elastic_pool{};
    std::uint64_t guaranteed_bytes = 0;
    std::uint64_t max_bytes = 0;
    std::int32_t priority = 0;
    bool guarantee_may_wait = false;
    /** Options of the build, as JSON. */
    std::string options_json;
    /** Called during the build; may be empty. */
    build_progress_function progress;
};

/** Tensors by the names of inputs or outputs. */
using named_tensors = std::vector<std::pair<std::string, ferrum_tensor>>;

/** A built model that can run. */
class executor
    : public detail::unique_handle<ferrum_executor, detail::end_executor>,
      public executor_calls<executor> {
  public:
    using unique_handle::unique_handle;

    /** Builds a model. Returns when it can run. */
    static result<executor> try_build(const build_request &request) {
        ferrum_build_request raw = FERRUM_BUILD_REQUEST_INIT;
        raw.model = text_or_null(request.model);
        raw.path = text_or_null(request.path);
        raw.definition_json = text_or_null(request.definition_json);
        raw.definition_bytes = request.definition_json.size();
        raw.weights = request.weights;
        raw.compute = request.compute;
        raw.elastic_pool = request.elastic_pool;
        raw.guaranteed_bytes = request.guaranteed_bytes;
        raw.max_bytes = request.max_bytes;
        raw.priority = request.priority;
        raw.guarantee_may_wait = request.guarantee_may_wait ? 1 : 0;
        raw.options_json = text_or_null(request.options_json);
        raw.options_bytes = request.options_json.size();
        build_progress_function progress = request.progress;
        if (progress) {
            raw.progress = detail::call_build_progress;
            raw.user_data = &progress;
        }
        ferrum_executor made{};
        const ferrum_status status = ferrum_executor_build(&raw, &made);
        return detail::made<executor>(status, made);
    }
    static executor build(const build_request &request) {
        return try_build(request).value();
    }

    /** Runs the model with outputs that the call makes, in the order of their names. */
    result<std::vector<tensor>>
    try_run(const named_tensors &inputs, const std::vector<std::string> &wanted,
            ferrum_stream stream = {},
            std::uint64_t timeout_ns = FERRUM_WAIT_FOREVER) const {
        named_tensors outputs;
        for (const std::string &name : wanted)
            outputs.emplace_back(name, ferrum_tensor{});
        const ferrum_status status = call(inputs, outputs, stream, timeout_ns);
        std::vector<ferrum_tensor> made;
        for (const auto &each : outputs)
            made.push_back(each.second);
        return detail::outcome(status, detail::made_tensors(made));
    }
    std::vector<tensor>
    run(const named_tensors &inputs, const std::vector<std::string> &wanted,
        ferrum_stream stream = {},
        std::uint64_t timeout_ns = FERRUM_WAIT_FOREVER) const {
        return try_run(inputs, wanted, stream, timeout_ns).value();
    }

    /** Runs the model into given outputs. The caller owns the tensors of outputs with the
     *  id 0, which the call makes. */
    result<done>
    try_run_into(const named_tensors &inputs, named_tensors &outputs,
                 ferrum_stream stream = {},
                 std::uint64_t timeout_ns = FERRUM_WAIT_FOREVER) const {
        return detail::outcome(call(inputs, outputs, stream, timeout_ns));
    }
    void run_into(const named_tensors &inputs, named_tensors &outputs,
                  ferrum_stream stream = {},
                  std::uint64_t timeout_ns = FERRUM_WAIT_FOREVER) const {
        try_run_into(inputs, outputs, stream, timeout_ns).value();
    }

    /** Ends the handle. On failure the object still owns it. */
    result<done> try_destroy(std::uint32_t flags = 0) {
        return ended(ferrum_executor_destroy(get(), flags));
    }
    void destroy(std::uint32_t flags = 0) { try_destroy(flags).value(); }

  private:
    static const char *text_or_null(const std::string &text) {
        return text.empty() ? nullptr : text.c_str();
    }

    static std::vector<ferrum_named_tensor> raw_of(const named_tensors &list) {
        std::vector<ferrum_named_tensor> raw;
        for (const auto &each : list)
            raw.push_back({each.first.c_str(), each.second});
        return raw;
    }

    ferrum_status call(const named_tensors &inputs, named_tensors &outputs,
                       ferrum_stream stream, std::uint64_t timeout_ns) const {
        ferrum_named_tensor none{};
        const std::vector<ferrum_named_tensor> from = raw_of(inputs);
        std::vector<ferrum_named_tensor> to = raw_of(outputs);
        const ferrum_status status = ferrum_executor_run(
            get(), from.empty() ? &none : from.data(), from.size(),
            to.empty() ? &none : to.data(), to.size(), stream, timeout_ns);
        if (status == FERRUM_OK)
            for (std::size_t at = 0; at < to.size(); at++)
                outputs[at].second = to[at].tensor;
        return status;
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_EXECUTOR_HPP */

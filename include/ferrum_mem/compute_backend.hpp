/*
 * Compute backends of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_COMPUTE_BACKEND_HPP
#define FERRUM_MEM_COMPUTE_BACKEND_HPP

#include "program_function.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace ferrum {

/** An operation that a backend of the program computes; valid during the function that gets
 *  it. */
class compute_call {
  public:
    explicit compute_call(const ferrum_compute_call &raw) noexcept
        : raw_(raw) {}
    /** The call as C has it. */
    const ferrum_compute_call &get() const noexcept { return raw_; }
    /** The operator in its domain, such as "MatMul" or "linear". */
    std::string_view name() const noexcept { return raw_.name; }
    /** Its domain: "" for the operators of ONNX, or "ferrum". */
    std::string_view domain() const noexcept { return raw_.domain; }
    /** The attributes as a JSON object. */
    std::string_view attributes() const noexcept {
        return {raw_.attributes_json,
                static_cast<std::size_t>(raw_.attributes_bytes)};
    }
    /** An input; nullptr: not given. */
    const ferrum_tensor_desc *input(std::size_t at) const noexcept {
        return operand(raw_.inputs, raw_.input_count, at);
    }
    /** An output; nullptr: not wanted. */
    const ferrum_tensor_desc *output(std::size_t at) const noexcept {
        return operand(raw_.outputs, raw_.output_count, at);
    }

  private:
    static const ferrum_tensor_desc *operand(const ferrum_tensor_desc *list,
                                             std::uint64_t count,
                                             std::size_t at) noexcept {
        const bool is_there =
            at < count && (list[at].flags & FERRUM_ELEMENTS_ABSENT) == 0;
        return is_there ? &list[at] : nullptr;
    }

    const ferrum_compute_call &raw_;
};

/** A compute backend of the program, which compute::register_backend registers. Several
 *  threads may call a function at a time. An exception becomes the error of the call:
 *  ferrum::error keeps its status and message, any other has FERRUM_ERROR_INTERNAL. */
struct compute_backend {
    /** Computes the outputs of a call. */
    std::function<void(const compute_call &)> run;
    /** Decides how it computes; empty: it computes every call without a workspace. */
    std::function<ferrum_compute_plan(const compute_call &)> plan;
    /** Waits for work that run has left; empty: it leaves none. */
    std::function<void()> synchronize;
    /** A text for people. */
    std::string version;
};

namespace detail {

template <class Call>
ferrum_status compute_status(char *message_out, Call call) noexcept {
    return program_status({message_out, FERRUM_COMPUTE_MESSAGE_MAX},
                          std::move(call));
}

inline ferrum_status call_compute_plan(const ferrum_compute_call *call,
                                       ferrum_compute_plan *plan_out,
                                       void *data) noexcept {
    return compute_status(call->message_out, [&] {
        *plan_out =
            static_cast<compute_backend *>(data)->plan(compute_call(*call));
    });
}

inline ferrum_status call_compute_run(const ferrum_compute_call *call,
                                      void *data) noexcept {
    return compute_status(call->message_out, [&] {
        static_cast<compute_backend *>(data)->run(compute_call(*call));
    });
}

inline ferrum_status call_compute_synchronize(ferrum_device,
                                              void *data) noexcept {
    return compute_status(
        nullptr, [&] { static_cast<compute_backend *>(data)->synchronize(); });
}

inline void call_compute_release(void *data) noexcept {
    delete static_cast<compute_backend *>(data);
}

} // namespace detail

} // namespace ferrum

#endif /* FERRUM_MEM_COMPUTE_BACKEND_HPP */

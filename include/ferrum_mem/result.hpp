/*
 * The result of every call of ferrum_mem.hpp, the exception of a failure, and helpers of
 * the calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_RESULT_HPP
#define FERRUM_MEM_RESULT_HPP

#include "../ferrum_mem.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ferrum {

/** Why a call failed: a copy of the thread's error record. */
struct failure {
    ferrum_status status = FERRUM_OK;
    std::int64_t native_code = 0;
    std::string function;
    std::string operation;
    std::string device;
    std::string message;
    /** Model of an elastic pool, or empty. */
    std::string model;
    /** The numbers of the error, see ferrum_error_info. */
    std::optional<std::uint64_t> offset_bytes, size_bytes, capacity_bytes,
        page_bytes, requested_bytes, available_bytes, largest_free_bytes;

    /** The record of this thread's last failure. */
    static failure last(ferrum_status status) {
        ferrum_error_info info = FERRUM_ERROR_INFO_INIT;
        failure out;
        out.status = status;
        if (ferrum_last_error(&info) == FERRUM_OK && info.status == status) {
            out.native_code = info.native_code;
            out.function = info.function;
            out.operation = info.operation;
            out.device = info.device;
            out.message = info.message;
            out.model = info.model;
            out.state(info);
        }
        return out;
    }

  private:
    void state(const ferrum_error_info &info) {
        auto take = [&info](std::uint32_t fact, std::uint64_t value) {
            return info.facts & fact ? std::optional<std::uint64_t>(value)
                                     : std::nullopt;
        };
        offset_bytes = take(FERRUM_FACT_OFFSET_BYTES, info.offset_bytes);
        size_bytes = take(FERRUM_FACT_SIZE_BYTES, info.size_bytes);
        capacity_bytes = take(FERRUM_FACT_CAPACITY_BYTES, info.capacity_bytes);
        page_bytes = take(FERRUM_FACT_PAGE_BYTES, info.page_bytes);
        requested_bytes =
            take(FERRUM_FACT_REQUESTED_BYTES, info.requested_bytes);
        available_bytes =
            take(FERRUM_FACT_AVAILABLE_BYTES, info.available_bytes);
        largest_free_bytes =
            take(FERRUM_FACT_LARGEST_FREE_BYTES, info.largest_free_bytes);
    }
};

/** A failure as an exception. */
class error : public std::runtime_error {
  public:
    explicit error(failure why)
        : std::runtime_error(std::string(ferrum_status_name(why.status)) +
                             ": " + why.message),
          why_(std::make_shared<failure>(std::move(why))) {}

    ferrum_status status() const noexcept { return why_->status; }
    const failure &why() const noexcept { return *why_; }

  private:
    std::shared_ptr<const failure> why_;
};

/** A value, or the failure. The compiler warns about a result that is not used. */
template <class T> class [[nodiscard]] result {
  public:
    result(T value) : state_(std::move(value)) {}
    result(failure why) : state_(std::move(why)) {}

    bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }
    /** FERRUM_OK, or the status of the failure. */
    ferrum_status status() const noexcept {
        return ok() ? ferrum_status(FERRUM_OK) : std::get<1>(state_).status;
    }
    /** The failure. Call it only if there is one. */
    const failure &why() const { return std::get<1>(state_); }
    /** The value. Throws ferrum::error if there is none. */
    T value() && {
        if (!ok())
            throw error(std::get<1>(std::move(state_)));
        return std::get<0>(std::move(state_));
    }
    T &value() & {
        if (!ok())
            throw error(why());
        return std::get<0>(state_);
    }
    const T &value() const & {
        if (!ok())
            throw error(why());
        return std::get<0>(state_);
    }

  private:
    std::variant<T, failure> state_;
};

/** The value of a call that returns only success or failure. */
struct done {};

namespace detail {

inline result<done> outcome(ferrum_status status) {
    if (status == FERRUM_OK)
        return done{};
    return failure::last(status);
}

template <class T> result<T> outcome(ferrum_status status, T value) {
    if (status == FERRUM_OK)
        return value;
    return failure::last(status);
}

/** Makes the two calls that read a text. */
template <class Call> result<std::string> text(Call call) {
    for (;;) {
        std::size_t length = 0;
        ferrum_status status = call(nullptr, std::size_t{0}, &length);
        if (status != FERRUM_OK)
            return failure::last(status);
        std::string out(length + 1, '\0');
        status = call(&out[0], out.size(), &length);
        if (status == FERRUM_ERROR_BUFFER_TOO_SMALL)
            continue;
        if (status != FERRUM_OK)
            return failure::last(status);
        out.resize(length);
        return out;
    }
}

/** Makes the calls that read an array, until it is large enough. */
template <class T, class Call> result<std::vector<T>> list(T empty, Call call) {
    std::vector<T> out(16, empty);
    for (;;) {
        std::size_t count = 0;
        const ferrum_status status = call(out.data(), out.size(), &count);
        if (status != FERRUM_OK && status != FERRUM_ERROR_BUFFER_TOO_SMALL)
            return failure::last(status);
        out.resize(count, empty);
        if (status == FERRUM_OK)
            return out;
    }
}

/** The created object in its class. */
template <class T, class... Raw>
result<T> made(ferrum_status status, Raw... raw) {
    if (status == FERRUM_OK)
        return T(raw...);
    return failure::last(status);
}

/** A time in the library's unit. A negative time means no limit. */
inline std::uint64_t nanoseconds(std::chrono::nanoseconds time) {
    if (time < std::chrono::nanoseconds::zero())
        return FERRUM_WAIT_FOREVER;
    return static_cast<std::uint64_t>(time.count());
}

/** A text of the caller, for one call. */
class c_text {
  public:
    c_text(const char *text) noexcept : text_(text) {}
    c_text(const std::string &text) noexcept : text_(text.c_str()) {}
    const char *data() const noexcept { return text_; }

  private:
    const char *text_;
};

/** The items of a list, for a function that takes no NULL. */
template <class T> const T *items(const std::vector<T> &list) {
    static const T none{};
    return list.empty() ? &none : list.data();
}

} // namespace detail

/** Waits without a limit. */
inline constexpr std::chrono::nanoseconds forever{-1};

} // namespace ferrum

#endif /* FERRUM_MEM_RESULT_HPP */

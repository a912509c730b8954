/*
 * ferrum_mem for C++17: owning types over the C ABI, header-only.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every call that can fail comes twice: `name(...)` throws ferrum::error, and
 * `try_name(...)` returns a ferrum::result, which holds the value or the error.
 * Objects own their handle, move and do not copy; a destructor destroys with
 * FERRUM_FORCE, so that it always ends, and `release()` gives the handle up.
 * What a call means, its errors and its threads stand in ferrum_mem.h.
 */
#ifndef FERRUM_MEM_HPP
#define FERRUM_MEM_HPP

#include "ferrum_mem.h"

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace ferrum {

/** Why a call failed: the thread's record, copied out. */
struct failure {
    ferrum_status status = FERRUM_OK;
    std::int64_t native_code = 0;
    std::string function;
    std::string operation;
    std::string device;
    std::string message;
    /** Model of an elastic pool that the failure is about, or empty. */
    std::string model;
    /** The numbers that a failure of this status states, see ferrum_error_info. */
    std::optional<std::uint64_t> offset_bytes, size_bytes, capacity_bytes,
        page_bytes, requested_bytes, available_bytes, largest_free_bytes;

    /** The record of this thread's latest failure. */
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

/** A value, or why there is none. */
template <class T> class result {
  public:
    result(T value) : state_(std::move(value)) {}
    result(failure why) : state_(std::move(why)) {}

    bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }
    /** FERRUM_OK, or why there is no value. */
    ferrum_status status() const noexcept {
        return ok() ? ferrum_status(FERRUM_OK) : std::get<1>(state_).status;
    }
    /** The failure; only when there is one. */
    const failure &why() const { return std::get<1>(state_); }
    /** The value; throws ferrum::error when there is none. */
    T value() && {
        if (!ok())
            throw error(std::get<1>(std::move(state_)));
        return std::get<0>(std::move(state_));
    }

  private:
    std::variant<T, failure> state_;
};

/** Nothing, as the value of a call that only succeeds or fails. */
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

/** The two calls that get a text. */
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

inline std::uint64_t timeout(std::chrono::nanoseconds wait) {
    if (wait < std::chrono::nanoseconds::zero())
        return FERRUM_WAIT_FOREVER;
    return static_cast<std::uint64_t>(wait.count());
}

/** Owns a handle; Destroy ends it whatever uses it. What it cannot end, the log of
 *  the library tells of: a destructor throws nothing. */
template <class Handle, void (*Destroy)(Handle) noexcept> class owner {
  public:
    owner() noexcept : handle_{} {}
    explicit owner(Handle handle) noexcept : handle_(handle) {}
    owner(owner &&other) noexcept : handle_(other.release()) {}
    owner &operator=(owner &&other) noexcept {
        if (this != &other) {
            reset();
            handle_ = other.release();
        }
        return *this;
    }
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    ~owner() { reset(); }

    /** The C handle, still owned. */
    Handle get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_.id != 0; }
    /** Gives the handle up without destroying it. */
    Handle release() noexcept { return std::exchange(handle_, Handle{}); }
    /** Destroys it now. */
    void reset() noexcept {
        if (handle_.id != 0)
            Destroy(release());
    }

  private:
    Handle handle_;
};

inline void end_device(ferrum_device h) noexcept {
    ferrum_device_close(h, FERRUM_FORCE);
}
inline void end_stream(ferrum_stream h) noexcept {
    ferrum_stream_destroy(h, FERRUM_FORCE);
}
inline void end_event(ferrum_event h) noexcept { ferrum_event_destroy(h); }
inline void end_pool(ferrum_pool h) noexcept {
    ferrum_pool_destroy(h, FERRUM_FORCE);
}
inline void end_vpool(ferrum_vpool h) noexcept {
    ferrum_vpool_destroy(h, FERRUM_FORCE);
}
inline void end_elastic_pool(ferrum_elastic_pool h) noexcept {
    ferrum_elastic_pool_destroy(h, FERRUM_FORCE);
}
inline void end_monitor(ferrum_monitor h) noexcept {
    ferrum_monitor_destroy(h);
}
inline void end_placement(ferrum_placement h) noexcept {
    ferrum_placement_destroy(h);
}
inline void end_manager(ferrum_manager h) noexcept {
    ferrum_manager_destroy(h, FERRUM_FORCE);
}
inline void end_memory(ferrum_memory h) noexcept {
    // Nobody is left who could unpin or unmap it; work on adopted memory must be
    // over before its owner has it back, and a mapping waits for that.
    ferrum_map_request wait = FERRUM_MAP_REQUEST_INIT;
    ferrum_mapping mapped = FERRUM_MAPPING_INIT;
    wait.memory = h;
    wait.access = FERRUM_HOST_READ_ONLY;
    while (ferrum_memory_free(h) == FERRUM_ERROR_BUSY &&
           (ferrum_memory_unpin(h) == FERRUM_OK ||
            ferrum_memory_unmap(h, 0) == FERRUM_OK ||
            (ferrum_memory_map(&wait, &mapped) == FERRUM_OK &&
             ferrum_memory_unmap(h, mapped.mapping_id) == FERRUM_OK))) {
    }
}
inline void end_tracker(ferrum_tracker h) noexcept {
    ferrum_tracker_destroy(h);
}
inline void end_fallback_manager(ferrum_fallback_manager h) noexcept {
    ferrum_fallback_manager_destroy(h, FERRUM_FORCE);
}
inline void end_buffer(ferrum_fallback_buffer h) noexcept {
    // Nobody is left who could unpin it.
    while (ferrum_fallback_buffer_free(h, ferrum_stream{}) ==
               FERRUM_ERROR_BUSY &&
           ferrum_fallback_buffer_unpin(h) == FERRUM_OK) {
    }
}
inline void end_registration(ferrum_registration h) noexcept {
    ferrum_registration_remove(h);
}

} // namespace detail

/** Waits without an end. */
inline constexpr std::chrono::nanoseconds forever{-1};

/** Keeps the library started while it lives. */
class library {
  public:
    static result<library> try_start(const ferrum_config *config = nullptr) {
        ferrum_status status = ferrum_init(config);
        if (status != FERRUM_OK)
            return failure::last(status);
        return library(true);
    }
    /** Starts the library, or joins it when it runs. */
    explicit library(const ferrum_config *config = nullptr)
        : library(try_start(config).value()) {}
    library(library &&other) noexcept
        : started_(std::exchange(other.started_, false)) {}
    library &operator=(library &&other) noexcept {
        std::swap(started_, other.started_);
        return *this;
    }
    ~library() {
        if (started_)
            ferrum_shutdown(FERRUM_FORCE);
    }

    /** Stops it now; BUSY, and nothing has changed, while things are left. */
    result<done> try_stop() {
        ferrum_status status = started_ ? ferrum_shutdown(0) : FERRUM_OK;
        if (status == FERRUM_OK)
            started_ = false;
        return detail::outcome(status);
    }
    void stop() { try_stop().value(); }

    static result<std::string> try_backends_json() {
        return detail::text(ferrum_backends_json);
    }
    static std::string backends_json() { return try_backends_json().value(); }
    /** Asks all backends again. */
    static result<done> try_refresh_backends() {
        return detail::outcome(ferrum_backends_refresh());
    }
    static void refresh_backends() { try_refresh_backends().value(); }
    static result<std::string> try_backend_summary() {
        return detail::text(ferrum_backends_summary);
    }
    static std::string backend_summary() {
        return try_backend_summary().value();
    }
    static result<ferrum_backend> try_best_backend() {
        ferrum_backend out = FERRUM_BACKEND_AUTO;
        ferrum_status status = ferrum_backend_best(&out);
        return detail::outcome(status, out);
    }
    static ferrum_backend best_backend() { return try_best_backend().value(); }
    /** The first device that has room; it is not opened. */
    static result<ferrum_backend_choice>
    try_select_backend(ferrum_backend preference,
                       std::uint64_t required_bytes) {
        ferrum_backend_choice out = FERRUM_BACKEND_CHOICE_INIT;
        ferrum_status status =
            ferrum_backend_select(preference, required_bytes, &out);
        return detail::outcome(status, out);
    }
    static ferrum_backend_choice select_backend(ferrum_backend preference,
                                                std::uint64_t required_bytes) {
        return try_select_backend(preference, required_bytes).value();
    }
    static result<ferrum_host_info> try_host_info() {
        ferrum_host_info out = FERRUM_HOST_INFO_INIT;
        ferrum_status status = ferrum_host_get_info(&out);
        return detail::outcome(status, out);
    }
    static ferrum_host_info host_info() { return try_host_info().value(); }
    static result<std::string> try_snapshot_json() {
        return detail::text(ferrum_snapshot_json);
    }
    static std::string snapshot_json() { return try_snapshot_json().value(); }
    static result<std::string> try_leak_report_json() {
        return detail::text(ferrum_leak_report_json);
    }
    static std::string leak_report_json() {
        return try_leak_report_json().value();
    }
    static result<done> try_set_log(ferrum_log_level minimum_level,
                                    ferrum_log_fn callback, void *user_data) {
        return detail::outcome(
            ferrum_log_set_callback(minimum_level, callback, user_data));
    }
    static void set_log(ferrum_log_level minimum_level, ferrum_log_fn callback,
                        void *user_data) {
        try_set_log(minimum_level, callback, user_data).value();
    }

  private:
    explicit library(bool started) : started_(started) {}
    bool started_;
};

/**
 * Estimation: what a model takes, before anything of it is loaded. Nothing has to be
 * started for it. The short formulas take a model's numbers one by one.
 */
inline result<std::uint64_t>
try_estimate_model_memory(const ferrum_model_shape &shape) {
    std::uint64_t bytes = 0;
    ferrum_status status = ferrum_estimate_model_memory(&shape, &bytes);
    return detail::outcome(status, bytes);
}
inline std::uint64_t estimate_model_memory(const ferrum_model_shape &shape) {
    return try_estimate_model_memory(shape).value();
}
inline result<std::uint64_t>
try_estimate_kv_cache_memory(const ferrum_kv_cache_shape &shape) {
    std::uint64_t bytes = 0;
    ferrum_status status = ferrum_estimate_kv_cache_memory(&shape, &bytes);
    return detail::outcome(status, bytes);
}
inline std::uint64_t
estimate_kv_cache_memory(const ferrum_kv_cache_shape &shape) {
    return try_estimate_kv_cache_memory(shape).value();
}
inline result<ferrum_inference_estimate>
try_estimate_inference_memory(const ferrum_model_shape &shape) {
    ferrum_inference_estimate found = FERRUM_INFERENCE_ESTIMATE_INIT;
    ferrum_status status = ferrum_estimate_inference_memory(&shape, &found);
    return detail::outcome(status, found);
}
inline ferrum_inference_estimate
estimate_inference_memory(const ferrum_model_shape &shape) {
    return try_estimate_inference_memory(shape).value();
}

/** What serving a model takes, as JSON: of a folder, file or configuration. */
inline result<std::string>
try_estimate_file_json(const std::string &path,
                       const ferrum_estimate_request *request = nullptr) {
    return detail::text([&](char *to, std::size_t room, std::size_t *n) {
        return ferrum_estimate_file_json(path.c_str(), request, to, room, n);
    });
}
inline std::string
estimate_file_json(const std::string &path,
                   const ferrum_estimate_request *request = nullptr) {
    return try_estimate_file_json(path, request).value();
}
/** The same of the text of a config.json. */
inline result<std::string>
try_estimate_config_json(const std::string &config,
                         const ferrum_estimate_request *request = nullptr) {
    return detail::text([&](char *to, std::size_t room, std::size_t *n) {
        return ferrum_estimate_config_json(config.data(), config.size(),
                                           request, to, room, n);
    });
}
inline std::string
estimate_config_json(const std::string &config,
                     const ferrum_estimate_request *request = nullptr) {
    return try_estimate_config_json(config, request).value();
}

/** A point in a stream's queue. */
class event : public detail::owner<ferrum_event, detail::end_event> {
  public:
    using owner::owner;

    result<bool> try_ready() const {
        std::uint32_t ready = 0;
        ferrum_status status = ferrum_event_is_ready(get(), &ready);
        return detail::outcome(status, ready != 0);
    }
    bool ready() const { return try_ready().value(); }
    result<done>
    try_synchronize(std::chrono::nanoseconds wait = forever) const {
        return detail::outcome(
            ferrum_event_synchronize(get(), detail::timeout(wait)));
    }
    void synchronize(std::chrono::nanoseconds wait = forever) const {
        try_synchronize(wait).value();
    }
    /** The event of the vendor's runtime, such as a CUevent. */
    result<std::uint64_t> try_native() const {
        std::uint64_t out = 0;
        ferrum_status status = ferrum_event_get_native(get(), &out);
        return detail::outcome(status, out);
    }
    std::uint64_t native() const { return try_native().value(); }
    /** Time from this event to a later one of the same device. */
    result<std::chrono::nanoseconds> try_until(const event &end) const {
        std::int64_t elapsed = 0;
        ferrum_status status = ferrum_event_elapsed(get(), end.get(), &elapsed);
        return detail::outcome(status, std::chrono::nanoseconds(elapsed));
    }
    std::chrono::nanoseconds until(const event &end) const {
        return try_until(end).value();
    }
};

/** An ordered queue of work on a device. */
class stream : public detail::owner<ferrum_stream, detail::end_stream> {
  public:
    using owner::owner;

    result<done>
    try_synchronize(std::chrono::nanoseconds wait = forever) const {
        return detail::outcome(
            ferrum_stream_synchronize(get(), detail::timeout(wait)));
    }
    void synchronize(std::chrono::nanoseconds wait = forever) const {
        try_synchronize(wait).value();
    }
    result<bool> try_ready() const {
        std::uint32_t ready = 0;
        ferrum_status status = ferrum_stream_is_ready(get(), &ready);
        return detail::outcome(status, ready != 0);
    }
    bool ready() const { return try_ready().value(); }
    result<event> try_record() const {
        ferrum_event out{};
        ferrum_status status = ferrum_event_record(get(), &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return event(out);
    }
    event record() const { return try_record().value(); }
    /** As record, for other processes as well, which open it by shared. */
    result<event> try_share(ferrum_shared_event &shared) const {
        ferrum_event out{};
        shared = FERRUM_SHARED_EVENT_INIT;
        ferrum_status status = ferrum_event_share(get(), &shared, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return event(out);
    }
    event share(ferrum_shared_event &shared) const {
        return try_share(shared).value();
    }
    /** The stream of the vendor's runtime, such as a CUstream. */
    result<std::uint64_t> try_native() const {
        std::uint64_t out = 0;
        ferrum_status status = ferrum_stream_get_native(get(), &out);
        return detail::outcome(status, out);
    }
    std::uint64_t native() const { return try_native().value(); }
    result<done> try_wait(const event &before) const {
        return detail::outcome(ferrum_stream_wait_event(get(), before.get()));
    }
    void wait(const event &before) const { try_wait(before).value(); }
    /** Queues a call of work, once, on a thread of the library. An exception
     *  from it ends the process, as one from a thread does. */
    result<done> try_call(std::function<void()> work) const {
        auto held = std::make_unique<std::function<void()>>(std::move(work));
        ferrum_status status = ferrum_stream_host_function(
            get(),
            [](void *data) noexcept {
                std::unique_ptr<std::function<void()>> owned(
                    static_cast<std::function<void()> *>(data));
                (*owned)();
            },
            held.get());
        if (status == FERRUM_OK)
            held.release();
        return detail::outcome(status);
    }
    void call(std::function<void()> work) const {
        try_call(std::move(work)).value();
    }
};

/** A range of a block that the host addresses while this lives. The block must
 *  outlive it. */
class mapping {
  public:
    mapping(mapping &&other) noexcept
        : block_(std::exchange(other.block_, ferrum_memory{})),
          raw_(other.raw_) {}
    mapping &operator=(mapping &&other) noexcept {
        if (this != &other) {
            end();
            block_ = std::exchange(other.block_, ferrum_memory{});
            raw_ = other.raw_;
        }
        return *this;
    }
    ~mapping() { end(); }

    void *data() const noexcept { return raw_.host_pointer; }
    std::uint64_t size() const noexcept { return raw_.size_bytes; }
    /** Whether data is a copy, which is written back at the end. */
    bool staged() const noexcept { return raw_.is_staged != 0; }
    /** Ends it now; when that fails it has not ended. */
    result<done> try_unmap() {
        ferrum_status status = ferrum_memory_unmap(block_, raw_.mapping_id);
        if (status == FERRUM_OK)
            block_ = {};
        return detail::outcome(status);
    }
    void unmap() { try_unmap().value(); }

  private:
    friend class memory;
    mapping(ferrum_memory block, const ferrum_mapping &raw)
        : block_(block), raw_(raw) {}
    void end() noexcept {
        if (block_.id != 0)
            ferrum_memory_unmap(block_, raw_.mapping_id);
    }
    ferrum_memory block_{};
    ferrum_mapping raw_{};
};

/** A block of a manager. */
class memory : public detail::owner<ferrum_memory, detail::end_memory> {
  public:
    using owner::owner;

    /** Makes a range addressable by the host. */
    result<mapping> try_map(ferrum_host_access access = FERRUM_HOST_READ_WRITE,
                            std::uint64_t offset = 0,
                            std::uint64_t size = FERRUM_MAP_TO_END) const {
        ferrum_map_request request = FERRUM_MAP_REQUEST_INIT;
        request.memory = get();
        request.access = access;
        request.offset_bytes = offset;
        request.size_bytes = size;
        ferrum_mapping out = FERRUM_MAPPING_INIT;
        ferrum_status status = ferrum_memory_map(&request, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return mapping(get(), out);
    }
    mapping map(ferrum_host_access access = FERRUM_HOST_READ_WRITE,
                std::uint64_t offset = 0,
                std::uint64_t size = FERRUM_MAP_TO_END) const {
        return try_map(access, offset, size).value();
    }
    /** Queues that the block is brought near a device. */
    result<done> try_prefetch(ferrum_device target,
                              ferrum_stream on = {}) const {
        return detail::outcome(ferrum_memory_prefetch(get(), target, on));
    }
    void prefetch(ferrum_device target, ferrum_stream on = {}) const {
        try_prefetch(target, on).value();
    }
    result<done> try_set_usage_hint(ferrum_usage_hint hint) const {
        return detail::outcome(ferrum_memory_set_usage_hint(get(), hint));
    }
    void set_usage_hint(ferrum_usage_hint hint) const {
        try_set_usage_hint(hint).value();
    }
    result<ferrum_usage_hints> try_usage_hints() const {
        ferrum_usage_hints out = FERRUM_USAGE_HINTS_INIT;
        ferrum_status status = ferrum_memory_get_usage_hints(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_usage_hints usage_hints() const { return try_usage_hints().value(); }
    result<ferrum_access_stats> try_access_stats() const {
        ferrum_access_stats out = FERRUM_ACCESS_STATS_INIT;
        ferrum_status status = ferrum_memory_get_access_stats(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_access_stats access_stats() const {
        return try_access_stats().value();
    }
    result<ferrum_handle_info> try_info() const {
        ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
        ferrum_status status = ferrum_memory_get_handle_info(get(), &info);
        return detail::outcome(status, info);
    }
    ferrum_handle_info info() const { return try_info().value(); }
    result<done> try_write(std::uint64_t offset, const void *source,
                           std::uint64_t size) const {
        return detail::outcome(
            ferrum_memory_write(get(), offset, source, size));
    }
    void write(std::uint64_t offset, const void *source,
               std::uint64_t size) const {
        try_write(offset, source, size).value();
    }
    result<done> try_read(std::uint64_t offset, void *destination,
                          std::uint64_t size) const {
        return detail::outcome(
            ferrum_memory_read(get(), offset, destination, size));
    }
    void read(std::uint64_t offset, void *destination,
              std::uint64_t size) const {
        try_read(offset, destination, size).value();
    }
    /** The address, which stays until unpin() was called as often. */
    result<ferrum_address> try_pin() const {
        ferrum_address out = 0;
        ferrum_status status = ferrum_memory_pin(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_address pin() const { return try_pin().value(); }
    result<done> try_unpin() const {
        return detail::outcome(ferrum_memory_unpin(get()));
    }
    void unpin() const { try_unpin().value(); }
    /** Gives the block back now (BUSY while it is pinned or mapped, nothing has
     *  changed); it is gone also when bytes beside it were found to be overwritten. */
    result<done> try_free() {
        ferrum_status status = ferrum_memory_free(get());
        if (status == FERRUM_OK || status == FERRUM_ERROR_CORRUPTED)
            release();
        return detail::outcome(status);
    }
    void free() { try_free().value(); }
};

/** Bytes from one block to another. */
struct transfer {
    ferrum_memory src{};
    ferrum_memory dst{};
    std::uint64_t size = 0;
    std::uint64_t src_offset = 0;
    std::uint64_t dst_offset = 0;

    transfer(const memory &from, const memory &to, std::uint64_t bytes)
        : src(from.get()), dst(to.get()), size(bytes) {}
    transfer &from_offset(std::uint64_t bytes) {
        src_offset = bytes;
        return *this;
    }
    transfer &to_offset(std::uint64_t bytes) {
        dst_offset = bytes;
        return *this;
    }
    ferrum_transfer raw() const {
        ferrum_transfer out = FERRUM_TRANSFER_INIT;
        out.src = src;
        out.dst = dst;
        out.size_bytes = size;
        out.src_offset_bytes = src_offset;
        out.dst_offset_bytes = dst_offset;
        return out;
    }
};

inline result<done> try_copy(const transfer &what) {
    ferrum_transfer raw = what.raw();
    return detail::outcome(ferrum_memory_copy(&raw));
}
inline void copy(const transfer &what) { try_copy(what).value(); }

/** Queues a copy; without a stream on the default one. */
inline result<done> try_copy_async(const transfer &what,
                                   ferrum_stream on = {}) {
    ferrum_transfer raw = what.raw();
    return detail::outcome(ferrum_memory_copy_async(&raw, on));
}
inline void copy_async(const transfer &what, ferrum_stream on = {}) {
    try_copy_async(what, on).value();
}

/** Queues a fill of a range with a pattern. */
inline result<done> try_fill_async(const ferrum_fill &what,
                                   ferrum_stream on = {}) {
    return detail::outcome(ferrum_memory_fill_async(&what, on));
}
inline void fill_async(const ferrum_fill &what, ferrum_stream on = {}) {
    try_fill_async(what, on).value();
}

/** A tag of a pool; pool::tag gives it. */
struct pool_tag {
    std::uint32_t number = 0;
};

/** A block of a pool, as asked for. */
struct pool_request {
    std::uint64_t size = 0;
    std::uint64_t alignment = 0;
    ferrum_stream stream{};
    pool_tag tag{};
    /** Expected; zero: not known. */
    std::chrono::nanoseconds lifetime{0};
    std::uint64_t group = 0;

    explicit pool_request(std::uint64_t bytes) : size(bytes) {}
    pool_request &aligned(std::uint64_t bytes) {
        alignment = bytes;
        return *this;
    }
    pool_request &on(ferrum_stream first_use) {
        stream = first_use;
        return *this;
    }
    pool_request &tagged(pool_tag name) {
        tag = name;
        return *this;
    }
    /** A hint for the placement only. A negative time has no end. */
    pool_request &living(std::chrono::nanoseconds expected) {
        lifetime = expected;
        return *this;
    }
    /** A hint for the placement only: blocks that go together. */
    pool_request &grouped(std::uint64_t number) {
        group = number;
        return *this;
    }
    ferrum_pool_request raw() const {
        ferrum_pool_request out = FERRUM_POOL_REQUEST_INIT;
        out.tag = tag.number;
        out.size_bytes = size;
        out.alignment_bytes = alignment;
        out.stream = stream;
        out.expected_lifetime_ns = detail::timeout(lifetime);
        out.group = group;
        return out;
    }
};

/** Memory by address. */
class pool : public detail::owner<ferrum_pool, detail::end_pool> {
  public:
    using owner::owner;

    result<ferrum_address> try_alloc(std::uint64_t size,
                                     ferrum_stream on = {}) const {
        ferrum_address out = 0;
        ferrum_status status = ferrum_pool_alloc(get(), size, on, &out);
        return detail::outcome(status, out);
    }
    ferrum_address alloc(std::uint64_t size, ferrum_stream on = {}) const {
        return try_alloc(size, on).value();
    }
    result<ferrum_address> try_alloc_with(const pool_request &request) const {
        ferrum_pool_request raw = request.raw();
        ferrum_address out = 0;
        ferrum_status status = ferrum_pool_alloc_with(get(), &raw, &out);
        return detail::outcome(status, out);
    }
    ferrum_address alloc_with(const pool_request &request) const {
        return try_alloc_with(request).value();
    }
    /** Fills count addresses with blocks of one size: all of them or none. */
    result<done> try_alloc_batch(std::uint64_t size, ferrum_address *addresses,
                                 std::size_t count,
                                 ferrum_stream on = {}) const {
        return detail::outcome(
            ferrum_pool_alloc_batch(get(), size, count, on, addresses));
    }
    void alloc_batch(std::uint64_t size, ferrum_address *addresses,
                     std::size_t count, ferrum_stream on = {}) const {
        try_alloc_batch(size, addresses, count, on).value();
    }
    result<std::vector<ferrum_address>>
    try_alloc_batch(std::uint64_t size, std::size_t count,
                    ferrum_stream on = {}) const {
        /* A count that is out of bounds is refused before it is used. */
        std::vector<ferrum_address> out(
            count >= 1 && count <= FERRUM_BATCH_MAX ? count : 1);
        ferrum_status status =
            ferrum_pool_alloc_batch(get(), size, count, on, out.data());
        if (status != FERRUM_OK)
            return failure::last(status);
        return out;
    }
    std::vector<ferrum_address> alloc_batch(std::uint64_t size,
                                            std::size_t count,
                                            ferrum_stream on = {}) const {
        return try_alloc_batch(size, count, on).value();
    }
    /** The number of a tag stays while the pool lives. */
    result<pool_tag> try_tag(const char *name) const {
        pool_tag out;
        ferrum_status status = ferrum_pool_get_tag(get(), name, &out.number);
        return detail::outcome(status, out);
    }
    pool_tag tag(const char *name) const { return try_tag(name).value(); }
    result<done> try_free(ferrum_address address, ferrum_stream on = {}) const {
        return detail::outcome(ferrum_pool_free(get(), address, on));
    }
    void free(ferrum_address address, ferrum_stream on = {}) const {
        try_free(address, on).value();
    }
    /** As free, with the size that was asked for as a check. */
    result<done> try_free_sized(ferrum_address address, std::uint64_t size,
                                ferrum_stream on = {}) const {
        return detail::outcome(
            ferrum_pool_free_sized(get(), address, size, on));
    }
    void free_sized(ferrum_address address, std::uint64_t size,
                    ferrum_stream on = {}) const {
        try_free_sized(address, size, on).value();
    }
    /** Gives blocks back: all of them or none. */
    result<done> try_free_batch(const ferrum_address *addresses,
                                std::size_t count,
                                ferrum_stream on = {}) const {
        return detail::outcome(
            ferrum_pool_free_batch(get(), addresses, count, on));
    }
    void free_batch(const ferrum_address *addresses, std::size_t count,
                    ferrum_stream on = {}) const {
        try_free_batch(addresses, count, on).value();
    }
    result<done> try_free_batch(const std::vector<ferrum_address> &addresses,
                                ferrum_stream on = {}) const {
        return try_free_batch(addresses.data(), addresses.size(), on);
    }
    void free_batch(const std::vector<ferrum_address> &addresses,
                    ferrum_stream on = {}) const {
        try_free_batch(addresses, on).value();
    }
    /** The block's free then waits for this stream's work too. */
    result<done> try_record_stream(ferrum_address address,
                                   ferrum_stream user) const {
        return detail::outcome(ferrum_pool_record_stream(get(), address, user));
    }
    void record_stream(ferrum_address address, ferrum_stream user) const {
        try_record_stream(address, user).value();
    }
    /** Number of a graph, whose capture has begun and has the stream in it. What is
     *  allocated for the capture is of its private pool, or of that of a shared one. */
    result<std::uint64_t> try_capture_begin(ferrum_stream captures = {},
                                            std::uint64_t shared = 0) const {
        std::uint64_t graph = 0;
        ferrum_status status =
            ferrum_pool_capture_begin(get(), captures, shared, &graph);
        return detail::outcome(status, graph);
    }
    std::uint64_t capture_begin(ferrum_stream captures = {},
                                std::uint64_t shared = 0) const {
        return try_capture_begin(captures, shared).value();
    }
    result<done> try_capture_end(std::uint64_t graph) const {
        return detail::outcome(ferrum_pool_capture_end(get(), graph));
    }
    void capture_end(std::uint64_t graph) const {
        try_capture_end(graph).value();
    }
    /** The graph runs no more after what is queued on the stream now. */
    result<done> try_capture_release(std::uint64_t graph,
                                     ferrum_stream last = {}) const {
        return detail::outcome(ferrum_pool_capture_release(get(), graph, last));
    }
    void capture_release(std::uint64_t graph, ferrum_stream last = {}) const {
        try_capture_release(graph, last).value();
    }
    result<ferrum_graph_info> try_capture_info(std::uint64_t graph) const {
        ferrum_graph_info out = FERRUM_GRAPH_INFO_INIT;
        ferrum_status status = ferrum_pool_capture_get_info(get(), graph, &out);
        return detail::outcome(status, out);
    }
    ferrum_graph_info capture_info(std::uint64_t graph) const {
        return try_capture_info(graph).value();
    }
    result<std::uint64_t> try_usable_size(ferrum_address address) const {
        std::uint64_t out = 0;
        ferrum_status status = ferrum_pool_usable_size(get(), address, &out);
        return detail::outcome(status, out);
    }
    std::uint64_t usable_size(ferrum_address address) const {
        return try_usable_size(address).value();
    }
    /** Frees every live block at once. */
    result<done> try_reset(ferrum_stream on = {}) const {
        return detail::outcome(ferrum_pool_reset(get(), on));
    }
    void reset(ferrum_stream on = {}) const { try_reset(on).value(); }
    /** Looks at every block of a pool that debugs, as ferrum_pool_check. */
    result<done> try_check() const {
        return detail::outcome(ferrum_pool_check(get()));
    }
    void check() const { try_check().value(); }
    result<std::uint64_t> try_trim(std::uint64_t keep = 0) const {
        std::uint64_t released = 0;
        ferrum_status status = ferrum_pool_trim(get(), keep, &released);
        return detail::outcome(status, released);
    }
    std::uint64_t trim(std::uint64_t keep = 0) const {
        return try_trim(keep).value();
    }
    result<done> try_set_limit(std::uint64_t bytes) const {
        return detail::outcome(ferrum_pool_set_limit(get(), bytes));
    }
    void set_limit(std::uint64_t bytes) const { try_set_limit(bytes).value(); }
    result<done> try_set_min_held(std::uint64_t bytes) const {
        return detail::outcome(ferrum_pool_set_min_held(get(), bytes));
    }
    void set_min_held(std::uint64_t bytes) const {
        try_set_min_held(bytes).value();
    }
    /** UINT64_MAX: never. */
    result<done> try_set_release_threshold(std::uint64_t bytes) const {
        return detail::outcome(ferrum_pool_set_release_threshold(get(), bytes));
    }
    void set_release_threshold(std::uint64_t bytes) const {
        try_set_release_threshold(bytes).value();
    }
    result<ferrum_pool_info> try_info() const {
        ferrum_pool_info out = FERRUM_POOL_INFO_INIT;
        ferrum_status status = ferrum_pool_get_info(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_pool_info info() const { return try_info().value(); }
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics out = FERRUM_STATISTICS_INIT;
        ferrum_status status = ferrum_pool_get_statistics(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }
    /** Destroys it unless blocks are live (BUSY, nothing has changed). */
    result<done> try_destroy() {
        ferrum_status status = ferrum_pool_destroy(get(), 0);
        if (status == FERRUM_OK)
            release();
        return detail::outcome(status);
    }
    void destroy() { try_destroy().value(); }
};

/** Memory by handle. */
class manager : public detail::owner<ferrum_manager, detail::end_manager> {
  public:
    using owner::owner;

    result<memory> try_alloc(std::uint64_t size) const {
        ferrum_memory out{};
        return block(ferrum_manager_alloc(get(), size, &out), out);
    }
    memory alloc(std::uint64_t size) const { return try_alloc(size).value(); }
    result<memory>
    try_alloc_with(const ferrum_allocation_request &request) const {
        ferrum_memory out{};
        ferrum_status status = ferrum_manager_alloc_with(get(), &request, &out);
        return block(status, out);
    }
    memory alloc_with(const ferrum_allocation_request &request) const {
        return try_alloc_with(request).value();
    }
    /** A handle for memory of somebody else's, which stays his. */
    result<memory> try_adopt(const ferrum_adoption &adoption) const {
        ferrum_memory out{};
        ferrum_status status = ferrum_manager_adopt(get(), &adoption, &out);
        return block(status, out);
    }
    memory adopt(const ferrum_adoption &adoption) const {
        return try_adopt(adoption).value();
    }
    /** A block of pages that a process exported. */
    result<memory> try_import_pages(const ferrum_page_import &pages) const {
        ferrum_memory out{};
        ferrum_status status = ferrum_manager_import_pages(get(), &pages, &out);
        return block(status, out);
    }
    memory import_pages(const ferrum_page_import &pages) const {
        return try_import_pages(pages).value();
    }
    /** A block of memory that another process shared. */
    result<memory> try_import_memory(const ferrum_shared_memory &shared,
                                     const char *tag = nullptr) const {
        ferrum_memory out{};
        ferrum_status status =
            ferrum_manager_import_memory(get(), &shared, tag, &out);
        return block(status, out);
    }
    memory import_memory(const ferrum_shared_memory &shared,
                         const char *tag = nullptr) const {
        return try_import_memory(shared, tag).value();
    }
    /** Two blocks that are the same memory, for this manager and for one of another
     *  device. */
    result<std::pair<memory, memory>>
    try_create_mapping(const manager &other,
                       const ferrum_link_request &request) const {
        ferrum_memory first{}, second{};
        ferrum_status status = ferrum_manager_create_mapping(
            get(), other.get(), &request, &first, &second);
        if (status != FERRUM_OK)
            return failure::last(status);
        return std::pair<memory, memory>(memory(first), memory(second));
    }
    std::pair<memory, memory>
    create_mapping(const manager &other,
                   const ferrum_link_request &request) const {
        return try_create_mapping(other, request).value();
    }
    result<done> try_configure_pool(ferrum_memory_type type,
                                    const ferrum_pool_config &config) const {
        return detail::outcome(
            ferrum_manager_configure_pool(get(), type, &config));
    }
    void configure_pool(ferrum_memory_type type,
                        const ferrum_pool_config &config) const {
        try_configure_pool(type, config).value();
    }
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics out = FERRUM_STATISTICS_INIT;
        ferrum_status status = ferrum_manager_get_statistics(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }
    result<ferrum_defragmentation_stats> try_defragment() const {
        ferrum_defragmentation_stats out = FERRUM_DEFRAGMENTATION_STATS_INIT;
        ferrum_status status = ferrum_manager_defragment(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_defragmentation_stats defragment() const {
        return try_defragment().value();
    }
    /** Within a time; moves blocks that were asked for as relocatable. */
    result<ferrum_defragmentation_stats>
    try_defragment_within(std::chrono::nanoseconds budget) const {
        ferrum_defragmentation_stats out = FERRUM_DEFRAGMENTATION_STATS_INIT;
        ferrum_status status = ferrum_manager_defragment_within(
            get(), detail::timeout(budget), &out);
        return detail::outcome(status, out);
    }
    ferrum_defragmentation_stats
    defragment_within(std::chrono::nanoseconds budget) const {
        return try_defragment_within(budget).value();
    }
    /** Destroys it unless blocks are live (BUSY, nothing has changed). */
    result<done> try_destroy() {
        ferrum_status status = ferrum_manager_destroy(get(), 0);
        if (status == FERRUM_OK)
            release();
        return detail::outcome(status);
    }
    void destroy() { try_destroy().value(); }

  private:
    static result<memory> block(ferrum_status status, ferrum_memory out) {
        if (status != FERRUM_OK)
            return failure::last(status);
        return memory(out);
    }
};

/** A callback, registered while this lives. It owns the callable. */
class registration {
  public:
    registration(registration &&) noexcept = default;
    /* The library lets go of the former callable before it is freed. */
    registration &operator=(registration &&other) noexcept {
        handle_ = std::move(other.handle_);
        callable_ = std::move(other.callable_);
        return *this;
    }
    /** Removes the callback and waits for a running call of it. */
    void remove() { handle_.reset(); }

  private:
    friend class device;
    friend class elastic_pool;
    using handle = detail::owner<ferrum_registration, detail::end_registration>;
    registration(std::shared_ptr<void> callable, ferrum_registration id)
        : callable_(std::move(callable)), handle_(id) {}

    /* Destroyed after the handle: members go in reverse order. */
    std::shared_ptr<void> callable_;
    handle handle_;
};

/** Address space, and memory behind it by offset. */
class vpool : public detail::owner<ferrum_vpool, detail::end_vpool> {
  public:
    using owner::owner;

    result<ferrum_address> try_alloc(std::uint64_t offset,
                                     std::uint64_t size) const {
        ferrum_address out = 0;
        ferrum_status status = ferrum_vpool_alloc(get(), offset, size, &out);
        return detail::outcome(status, out);
    }
    ferrum_address alloc(std::uint64_t offset, std::uint64_t size) const {
        return try_alloc(offset, size).value();
    }
    result<done> try_free(std::uint64_t offset, std::uint64_t size,
                          ferrum_stream on = {}) const {
        return detail::outcome(ferrum_vpool_free(get(), offset, size, on));
    }
    void free(std::uint64_t offset, std::uint64_t size,
              ferrum_stream on = {}) const {
        try_free(offset, size, on).value();
    }
    /** Says that a stream uses the pages of a range too. */
    result<done> try_record_stream(std::uint64_t offset, std::uint64_t size,
                                   ferrum_stream stream) const {
        return detail::outcome(
            ferrum_vpool_record_stream(get(), offset, size, stream));
    }
    void record_stream(std::uint64_t offset, std::uint64_t size,
                       ferrum_stream stream) const {
        try_record_stream(offset, size, stream).value();
    }
    /** A file descriptor for each page of a range, which the caller closes. */
    result<std::vector<std::int32_t>> try_export(std::uint64_t offset,
                                                 std::uint64_t size) const {
        ferrum_vpool_info about = FERRUM_VPOOL_INFO_INIT;
        ferrum_status status = ferrum_vpool_get_info(get(), &about);
        if (status != FERRUM_OK)
            return failure::last(status);
        const std::uint64_t most = about.virtual_capacity_bytes < size
                                       ? about.virtual_capacity_bytes
                                       : size;
        std::size_t count = 0;
        std::vector<std::int32_t> out(
            static_cast<std::size_t>(most / about.page_bytes) + 1);
        status = ferrum_vpool_export(get(), offset, size, out.data(),
                                     out.size(), &count);
        if (status != FERRUM_OK)
            return failure::last(status);
        out.resize(count);
        return out;
    }
    std::vector<std::int32_t> export_pages(std::uint64_t offset,
                                           std::uint64_t size) const {
        return try_export(offset, size).value();
    }
    result<bool> try_is_mapped(std::uint64_t offset, std::uint64_t size) const {
        std::uint32_t mapped = 0;
        ferrum_status status =
            ferrum_vpool_is_mapped(get(), offset, size, &mapped);
        return detail::outcome(status, mapped != 0);
    }
    bool is_mapped(std::uint64_t offset, std::uint64_t size) const {
        return try_is_mapped(offset, size).value();
    }
    result<ferrum_address>
    try_alloc_with(const ferrum_vpool_request &request) const {
        ferrum_address out = 0;
        ferrum_status status = ferrum_vpool_alloc_with(get(), &request, &out);
        return detail::outcome(status, out);
    }
    ferrum_address alloc_with(const ferrum_vpool_request &request) const {
        return try_alloc_with(request).value();
    }
    /** Nobody uses what sleeps: there is no memory behind it. */
    result<ferrum_sleep_report>
    try_sleep(const ferrum_sleep_config *config = nullptr) const {
        ferrum_sleep_report out = FERRUM_SLEEP_REPORT_INIT;
        ferrum_status status = ferrum_vpool_sleep(get(), config, &out);
        return detail::outcome(status, out);
    }
    ferrum_sleep_report
    sleep(const ferrum_sleep_config *config = nullptr) const {
        return try_sleep(config).value();
    }
    result<ferrum_wake_report>
    try_wake(const ferrum_wake_config *config = nullptr) const {
        ferrum_wake_report out = FERRUM_WAKE_REPORT_INIT;
        ferrum_status status = ferrum_vpool_wake(get(), config, &out);
        return detail::outcome(status, out);
    }
    ferrum_wake_report wake(const ferrum_wake_config *config = nullptr) const {
        return try_wake(config).value();
    }
    /** A tag of nullptr: whether everything sleeps. */
    result<bool> try_is_asleep(const char *tag = nullptr) const {
        std::uint32_t asleep = 0;
        ferrum_status status = ferrum_vpool_is_asleep(get(), tag, &asleep);
        return detail::outcome(status, asleep != 0);
    }
    bool is_asleep(const char *tag = nullptr) const {
        return try_is_asleep(tag).value();
    }
    result<ferrum_vpool_info> try_info() const {
        ferrum_vpool_info out = FERRUM_VPOOL_INFO_INIT;
        ferrum_status status = ferrum_vpool_get_info(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_vpool_info info() const { return try_info().value(); }
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics out = FERRUM_STATISTICS_INIT;
        ferrum_status status = ferrum_vpool_get_statistics(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }
    result<ferrum_compact_report> try_compact() const {
        ferrum_compact_report out = FERRUM_COMPACT_REPORT_INIT;
        ferrum_status status = ferrum_vpool_compact(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_compact_report compact() const { return try_compact().value(); }
    result<std::uint64_t> try_trim(std::uint64_t keep = 0) const {
        std::uint64_t released = 0;
        ferrum_status status = ferrum_vpool_trim(get(), keep, &released);
        return detail::outcome(status, released);
    }
    std::uint64_t trim(std::uint64_t keep = 0) const {
        return try_trim(keep).value();
    }
    result<done> try_set_limit(std::uint64_t bytes) const {
        return detail::outcome(ferrum_vpool_set_limit(get(), bytes));
    }
    void set_limit(std::uint64_t bytes) const { try_set_limit(bytes).value(); }
    result<done>
    try_synchronize(std::chrono::nanoseconds wait = forever) const {
        return detail::outcome(
            ferrum_vpool_synchronize(get(), detail::timeout(wait)));
    }
    void synchronize(std::chrono::nanoseconds wait = forever) const {
        try_synchronize(wait).value();
    }
    result<done> try_pause() const {
        return detail::outcome(ferrum_vpool_pause(get()));
    }
    void pause() const { try_pause().value(); }
    result<done> try_resume() const {
        return detail::outcome(ferrum_vpool_resume(get()));
    }
    void resume() const { try_resume().value(); }
    /** Destroys it unless ranges are mapped (BUSY, nothing has changed). */
    result<done> try_destroy() {
        ferrum_status status = ferrum_vpool_destroy(get(), 0);
        if (status == FERRUM_OK)
            release();
        return detail::outcome(status);
    }
    void destroy() { try_destroy().value(); }
};

/** A range of a model. */
struct model_range {
    ferrum_address address;
    std::uint64_t offset;
};

/** Several models under one physical limit. */
class elastic_pool
    : public detail::owner<ferrum_elastic_pool, detail::end_elastic_pool> {
  public:
    using owner::owner;
    using reclaim_function = std::function<std::uint64_t(std::uint64_t)>;

    result<done> try_register_model(const char *model,
                                    const ferrum_model_config &config) const {
        return detail::outcome(
            ferrum_elastic_pool_register_model(get(), model, &config));
    }
    void register_model(const char *model,
                        const ferrum_model_config &config) const {
        try_register_model(model, config).value();
    }
    /** Flags: 0 or FERRUM_FORCE. */
    result<done> try_unregister_model(const char *model,
                                      std::uint32_t flags = 0) const {
        return detail::outcome(
            ferrum_elastic_pool_unregister_model(get(), model, flags));
    }
    void unregister_model(const char *model, std::uint32_t flags = 0) const {
        try_unregister_model(model, flags).value();
    }
    result<model_range>
    try_alloc_with(const char *model,
                   const ferrum_model_request &request) const {
        model_range out{};
        ferrum_status status = ferrum_elastic_pool_alloc_with(
            get(), model, &request, &out.address, &out.offset);
        return detail::outcome(status, out);
    }
    model_range alloc_with(const char *model,
                           const ferrum_model_request &request) const {
        return try_alloc_with(model, request).value();
    }
    result<model_range> try_alloc(const char *model, std::uint64_t size) const {
        model_range out{};
        ferrum_status status = ferrum_elastic_pool_alloc(
            get(), model, size, &out.address, &out.offset);
        return detail::outcome(status, out);
    }
    model_range alloc(const char *model, std::uint64_t size) const {
        return try_alloc(model, size).value();
    }
    result<done> try_free(const char *model, std::uint64_t offset,
                          std::uint64_t size, ferrum_stream on = {}) const {
        return detail::outcome(
            ferrum_elastic_pool_free(get(), model, offset, size, on));
    }
    void free(const char *model, std::uint64_t offset, std::uint64_t size,
              ferrum_stream on = {}) const {
        try_free(model, offset, size, on).value();
    }
    result<done> try_record_stream(const char *model, std::uint64_t offset,
                                   std::uint64_t size,
                                   ferrum_stream stream) const {
        return detail::outcome(ferrum_elastic_pool_record_stream(
            get(), model, offset, size, stream));
    }
    void record_stream(const char *model, std::uint64_t offset,
                       std::uint64_t size, ferrum_stream stream) const {
        try_record_stream(model, offset, size, stream).value();
    }
    result<bool> try_is_mapped(const char *model, std::uint64_t offset,
                               std::uint64_t size) const {
        std::uint32_t mapped = 0;
        ferrum_status status =
            ferrum_elastic_pool_is_mapped(get(), model, offset, size, &mapped);
        return detail::outcome(status, mapped != 0);
    }
    bool is_mapped(const char *model, std::uint64_t offset,
                   std::uint64_t size) const {
        return try_is_mapped(model, offset, size).value();
    }
    /** Nobody uses what sleeps: there is no memory behind it. */
    result<ferrum_sleep_report>
    try_sleep_model(const char *model,
                    const ferrum_sleep_config *config = nullptr) const {
        ferrum_sleep_report out = FERRUM_SLEEP_REPORT_INIT;
        ferrum_status status =
            ferrum_elastic_pool_sleep_model(get(), model, config, &out);
        return detail::outcome(status, out);
    }
    ferrum_sleep_report
    sleep_model(const char *model,
                const ferrum_sleep_config *config = nullptr) const {
        return try_sleep_model(model, config).value();
    }
    result<ferrum_wake_report>
    try_wake_model(const char *model,
                   const ferrum_wake_config *config = nullptr) const {
        ferrum_wake_report out = FERRUM_WAKE_REPORT_INIT;
        ferrum_status status =
            ferrum_elastic_pool_wake_model(get(), model, config, &out);
        return detail::outcome(status, out);
    }
    ferrum_wake_report
    wake_model(const char *model,
               const ferrum_wake_config *config = nullptr) const {
        return try_wake_model(model, config).value();
    }
    /** A tag of nullptr: whether everything sleeps. */
    result<bool> try_is_model_asleep(const char *model,
                                     const char *tag = nullptr) const {
        std::uint32_t asleep = 0;
        ferrum_status status =
            ferrum_elastic_pool_is_model_asleep(get(), model, tag, &asleep);
        return detail::outcome(status, asleep != 0);
    }
    bool is_model_asleep(const char *model, const char *tag = nullptr) const {
        return try_is_model_asleep(model, tag).value();
    }
    result<ferrum_model_info> try_model_info(const char *model) const {
        ferrum_model_info out = FERRUM_MODEL_INFO_INIT;
        ferrum_status status =
            ferrum_elastic_pool_get_model_info(get(), model, &out);
        return detail::outcome(status, out);
    }
    ferrum_model_info model_info(const char *model) const {
        return try_model_info(model).value();
    }
    result<done> try_set_model_limits(const char *model,
                                      const ferrum_model_limits &limits) const {
        return detail::outcome(
            ferrum_elastic_pool_set_model_limits(get(), model, &limits));
    }
    void set_model_limits(const char *model,
                          const ferrum_model_limits &limits) const {
        try_set_model_limits(model, limits).value();
    }
    result<ferrum_elastic_pool_info> try_info() const {
        ferrum_elastic_pool_info out = FERRUM_ELASTIC_POOL_INFO_INIT;
        ferrum_status status = ferrum_elastic_pool_get_info(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_elastic_pool_info info() const { return try_info().value(); }
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics out = FERRUM_STATISTICS_INIT;
        ferrum_status status = ferrum_elastic_pool_get_statistics(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }
    result<std::string> try_models_json() const {
        return detail::text([this](char *to, std::size_t room, std::size_t *n) {
            return ferrum_elastic_pool_models_json(get(), to, room, n);
        });
    }
    std::string models_json() const { return try_models_json().value(); }
    result<ferrum_compact_report> try_compact() const {
        ferrum_compact_report out = FERRUM_COMPACT_REPORT_INIT;
        ferrum_status status = ferrum_elastic_pool_compact(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_compact_report compact() const { return try_compact().value(); }
    result<std::uint64_t> try_trim(std::uint64_t keep = 0) const {
        std::uint64_t released = 0;
        ferrum_status status = ferrum_elastic_pool_trim(get(), keep, &released);
        return detail::outcome(status, released);
    }
    std::uint64_t trim(std::uint64_t keep = 0) const {
        return try_trim(keep).value();
    }
    result<done> try_set_limit(std::uint64_t bytes) const {
        return detail::outcome(ferrum_elastic_pool_set_limit(get(), bytes));
    }
    void set_limit(std::uint64_t bytes) const { try_set_limit(bytes).value(); }
    result<done>
    try_synchronize(std::chrono::nanoseconds wait = forever) const {
        return detail::outcome(
            ferrum_elastic_pool_synchronize(get(), detail::timeout(wait)));
    }
    void synchronize(std::chrono::nanoseconds wait = forever) const {
        try_synchronize(wait).value();
    }
    result<done> try_pause() const {
        return detail::outcome(ferrum_elastic_pool_pause(get()));
    }
    void pause() const { try_pause().value(); }
    result<done> try_resume() const {
        return detail::outcome(ferrum_elastic_pool_resume(get()));
    }
    void resume() const { try_resume().value(); }
    /** The callable gets the bytes needed and returns the bytes that it freed.
     *  An exception from it ends the process. */
    result<registration>
    try_on_reclaim(const char *model, reclaim_function give,
                   const ferrum_reclaim_config *config = nullptr) const {
        auto held = std::make_shared<reclaim_function>(std::move(give));
        ferrum_registration out{};
        ferrum_status status = ferrum_elastic_pool_reclaim_callback_add(
            get(), model, config,
            [](ferrum_elastic_pool, const char *, std::uint64_t needed,
               void *data) noexcept {
                return (*static_cast<reclaim_function *>(data))(needed);
            },
            held.get(), &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return registration(std::move(held), out);
    }
    registration
    on_reclaim(const char *model, reclaim_function give,
               const ferrum_reclaim_config *config = nullptr) const {
        return try_on_reclaim(model, std::move(give), config).value();
    }
    /** Destroys it unless models have ranges (BUSY, nothing has changed). */
    result<done> try_destroy() {
        ferrum_status status = ferrum_elastic_pool_destroy(get(), 0);
        if (status == FERRUM_OK)
            release();
        return detail::outcome(status);
    }
    void destroy() { try_destroy().value(); }
};

/** An open device. Destroy what is on it first. */
class device : public detail::owner<ferrum_device, detail::end_device> {
  public:
    using owner::owner;

    static result<device> try_open(const char *id) {
        ferrum_device out{};
        ferrum_status status = ferrum_device_open(id, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return device(out);
    }
    static device open(const char *id) { return try_open(id).value(); }
    /** Opens a device on a context of the program's in its vendor's runtime, such as a
     *  CUcontext, which the program keeps until the device is closed. */
    static result<device> try_open_native(const char *id,
                                          std::uint64_t native_context) {
        ferrum_device out{};
        ferrum_status status =
            ferrum_device_open_native(id, native_context, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return device(out);
    }
    static device open_native(const char *id, std::uint64_t native_context) {
        return try_open_native(id, native_context).value();
    }
    /** The context of the vendor's runtime, such as a CUcontext. */
    result<std::uint64_t> try_native() const {
        std::uint64_t out = 0;
        ferrum_status status = ferrum_device_get_native(get(), &out);
        return detail::outcome(status, out);
    }
    std::uint64_t native() const { return try_native().value(); }
    /** Lets work of another device use the memory of this one. */
    result<done> try_grant_peer(const device &peer) const {
        return detail::outcome(ferrum_device_grant_peer(get(), peer.get()));
    }
    void grant_peer(const device &peer) const { try_grant_peer(peer).value(); }
    /** Describes plain device memory for other processes. */
    result<ferrum_shared_memory> try_share(ferrum_address address,
                                           std::uint64_t size) const {
        ferrum_shared_memory out = FERRUM_SHARED_MEMORY_INIT;
        ferrum_status status =
            ferrum_device_share_memory(get(), address, size, &out);
        return detail::outcome(status, out);
    }
    ferrum_shared_memory share(ferrum_address address,
                               std::uint64_t size) const {
        return try_share(address, size).value();
    }
    /** An event that another process has shared. */
    result<event> try_open_event(const ferrum_shared_event &shared) const {
        ferrum_event out{};
        ferrum_status status = ferrum_event_open(get(), &shared, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return event(out);
    }
    event open_event(const ferrum_shared_event &shared) const {
        return try_open_event(shared).value();
    }
    /** Opens the first device that has room; choice, unless nullptr, tells which
     *  and what was tried. */
    static result<device>
    try_open_with_room(ferrum_backend preference, std::uint64_t required_bytes,
                       ferrum_backend_choice *choice = nullptr) {
        ferrum_device out{};
        ferrum_status status =
            ferrum_backend_open(preference, required_bytes, &out, choice);
        if (status != FERRUM_OK)
            return failure::last(status);
        return device(out);
    }
    static device open_with_room(ferrum_backend preference,
                                 std::uint64_t required_bytes,
                                 ferrum_backend_choice *choice = nullptr) {
        return try_open_with_room(preference, required_bytes, choice).value();
    }

    result<ferrum_device_info> try_info() const {
        ferrum_device_info out = FERRUM_DEVICE_INFO_INIT;
        ferrum_status status = ferrum_device_get_info(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_device_info info() const { return try_info().value(); }
    result<ferrum_memory_info> try_memory_info() const {
        ferrum_memory_info out = FERRUM_MEMORY_INFO_INIT;
        ferrum_status status = ferrum_device_get_memory_info(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_memory_info memory_info() const { return try_memory_info().value(); }
    /** From the books and a reading no older than that; UINT64_MAX: of any age. */
    result<ferrum_memory_info>
    try_recent_memory_info(std::uint64_t max_age_ns) const {
        ferrum_memory_info out = FERRUM_MEMORY_INFO_INIT;
        const ferrum_status status =
            ferrum_device_get_recent_memory_info(get(), max_age_ns, &out);
        return detail::outcome(status, out);
    }
    ferrum_memory_info recent_memory_info(std::uint64_t max_age_ns) const {
        return try_recent_memory_info(max_age_ns).value();
    }
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics out = FERRUM_STATISTICS_INIT;
        ferrum_status status = ferrum_device_get_statistics(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }
    /** Which pool and block an address belongs to; for debuggers. */
    result<ferrum_block_info> try_owner_of(ferrum_address address) const {
        ferrum_block_info out = FERRUM_BLOCK_INFO_INIT;
        ferrum_status status = ferrum_device_get_owner(get(), address, &out);
        return detail::outcome(status, out);
    }
    ferrum_block_info owner_of(ferrum_address address) const {
        return try_owner_of(address).value();
    }
    result<done>
    try_synchronize(std::chrono::nanoseconds wait = forever) const {
        return detail::outcome(
            ferrum_device_synchronize(get(), detail::timeout(wait)));
    }
    void synchronize(std::chrono::nanoseconds wait = forever) const {
        try_synchronize(wait).value();
    }
    result<done> try_set_limit(std::uint64_t bytes) const {
        return detail::outcome(ferrum_device_set_limit(get(), bytes));
    }
    void set_limit(std::uint64_t bytes) const { try_set_limit(bytes).value(); }
    result<double> try_measure_bandwidth() const {
        double gbps = 0;
        ferrum_status status = ferrum_device_measure_bandwidth(get(), &gbps);
        return detail::outcome(status, gbps);
    }
    double measure_bandwidth() const { return try_measure_bandwidth().value(); }

    result<stream> try_create_stream() const {
        ferrum_stream out{};
        ferrum_status status = ferrum_stream_create(get(), &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return stream(out);
    }
    stream create_stream() const { return try_create_stream().value(); }
    /** A stream that somebody else made, and keeps until this one is destroyed. */
    result<stream>
    try_adopt_stream(const ferrum_foreign_stream &foreign) const {
        ferrum_stream out{};
        ferrum_status status = ferrum_stream_adopt(get(), &foreign, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return stream(out);
    }
    stream adopt_stream(const ferrum_foreign_stream &foreign) const {
        return try_adopt_stream(foreign).value();
    }
    /** An event of the vendor's runtime that somebody else made, and keeps until this
     *  one is destroyed. */
    result<event> try_adopt_event(uint64_t native_handle) const {
        ferrum_event out{};
        ferrum_status status = ferrum_event_adopt(get(), native_handle, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return event(out);
    }
    event adopt_event(uint64_t native_handle) const {
        return try_adopt_event(native_handle).value();
    }
    /** The default stream, which belongs to the device. */
    result<ferrum_stream> try_default_stream() const {
        ferrum_stream out{};
        ferrum_status status = ferrum_stream_default(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_stream default_stream() const {
        return try_default_stream().value();
    }
    result<pool>
    try_create_pool(const ferrum_pool_config *config = nullptr) const {
        ferrum_pool out{};
        ferrum_status status = ferrum_pool_create(get(), config, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return pool(out);
    }
    pool create_pool(const ferrum_pool_config *config = nullptr) const {
        return try_create_pool(config).value();
    }
    result<ferrum_page_sizes> try_page_sizes() const {
        ferrum_page_sizes out = FERRUM_PAGE_SIZES_INIT;
        ferrum_status status = ferrum_device_get_page_sizes(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_page_sizes page_sizes() const { return try_page_sizes().value(); }
    result<vpool> try_create_vpool(const ferrum_vpool_config &config) const {
        ferrum_vpool out{};
        ferrum_status status = ferrum_vpool_create(get(), &config, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return vpool(out);
    }
    vpool create_vpool(const ferrum_vpool_config &config) const {
        return try_create_vpool(config).value();
    }
    result<elastic_pool> try_create_elastic_pool(
        const ferrum_elastic_pool_config *config = nullptr) const {
        ferrum_elastic_pool out{};
        ferrum_status status = ferrum_elastic_pool_create(get(), config, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return elastic_pool(out);
    }
    elastic_pool create_elastic_pool(
        const ferrum_elastic_pool_config *config = nullptr) const {
        return try_create_elastic_pool(config).value();
    }
    result<manager>
    try_create_manager(const ferrum_manager_config *config = nullptr) const {
        ferrum_manager out{};
        ferrum_status status = ferrum_manager_create(get(), config, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return manager(out);
    }
    manager
    create_manager(const ferrum_manager_config *config = nullptr) const {
        return try_create_manager(config).value();
    }

    using pressure_function = std::function<void(ferrum_pressure_level)>;
    using reclaim_function = std::function<std::uint64_t(std::uint64_t)>;

    /** An exception from the callable ends the process. */
    result<registration> try_on_pressure(pressure_function hear) const {
        auto held = std::make_shared<pressure_function>(std::move(hear));
        ferrum_registration out{};
        ferrum_status status = ferrum_device_pressure_callback_add(
            get(),
            [](ferrum_device, ferrum_pressure_level level,
               void *data) noexcept {
                (*static_cast<pressure_function *>(data))(level);
            },
            held.get(), &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return registration(std::move(held), out);
    }
    registration on_pressure(pressure_function hear) const {
        return try_on_pressure(std::move(hear)).value();
    }
    /** The callable gets the bytes needed and returns the bytes that it freed.
     *  An exception from it ends the process. */
    result<registration>
    try_on_reclaim(reclaim_function give,
                   const ferrum_reclaim_config *config = nullptr) const {
        auto held = std::make_shared<reclaim_function>(std::move(give));
        ferrum_registration out{};
        ferrum_status status = ferrum_device_reclaim_callback_add(
            get(), config,
            [](ferrum_device, std::uint64_t needed, void *data) noexcept {
                return (*static_cast<reclaim_function *>(data))(needed);
            },
            held.get(), &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return registration(std::move(held), out);
    }
    registration
    on_reclaim(reclaim_function give,
               const ferrum_reclaim_config *config = nullptr) const {
        return try_on_reclaim(std::move(give), config).value();
    }
};

/** Watches the memory of several devices as one. It owns its callable. */
class monitor {
  public:
    using levels_function =
        std::function<void(const ferrum_device_level *, std::size_t)>;

    static result<monitor>
    try_create(const ferrum_monitor_config *config = nullptr) {
        ferrum_monitor out{};
        ferrum_status status = ferrum_monitor_create(config, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return monitor(out);
    }
    static monitor create(const ferrum_monitor_config *config = nullptr) {
        return try_create(config).value();
    }
    monitor(monitor &&) = default;
    /* It would free the callable before the library lets go of it. */
    monitor &operator=(monitor &&) = delete;

    ferrum_monitor get() const noexcept { return handle_.get(); }

    /** The registration is weak: a manager that is destroyed leaves by itself. */
    result<done> try_add(const manager &watched) {
        return detail::outcome(ferrum_monitor_register(get(), watched.get()));
    }
    void add(const manager &watched) { try_add(watched).value(); }
    result<done> try_remove(const manager &watched) {
        return detail::outcome(ferrum_monitor_unregister(get(), watched.get()));
    }
    void remove(const manager &watched) { try_remove(watched).value(); }
    result<done> try_remove(const device &watched) {
        return detail::outcome(
            ferrum_monitor_unregister_device(get(), watched.get()));
    }
    void remove(const device &watched) { try_remove(watched).value(); }

    /** Replaces the callable; an empty one removes it. Not for several threads at
     *  once, and not from the callable. An exception from it ends the process. */
    result<done> try_on_change(levels_function hear) {
        std::shared_ptr<levels_function> held;
        if (hear)
            held = std::make_shared<levels_function>(std::move(hear));
        ferrum_monitor_fn call = nullptr;
        if (held)
            call = [](ferrum_monitor, const ferrum_device_level *levels,
                      std::size_t count, void *data) noexcept {
                (*static_cast<levels_function *>(data))(levels, count);
            };
        ferrum_status status =
            ferrum_monitor_set_callback(get(), call, held.get());
        if (status == FERRUM_OK)
            callable_ = std::move(held);
        return detail::outcome(status);
    }
    void on_change(levels_function hear) {
        try_on_change(std::move(hear)).value();
    }

    result<ferrum_monitor_pressure>
    try_pressure(std::uint64_t max_age_ns = 0) const {
        ferrum_monitor_pressure out = FERRUM_MONITOR_PRESSURE_INIT;
        const ferrum_status status =
            ferrum_monitor_get_pressure(get(), max_age_ns, &out);
        return detail::outcome(status, out);
    }
    ferrum_monitor_pressure pressure(std::uint64_t max_age_ns = 0) const {
        return try_pressure(max_age_ns).value();
    }
    result<std::string> try_info_json(std::uint64_t max_age_ns = 0) const {
        return detail::text(
            [&](char *buffer, std::size_t room, std::size_t *length) {
                return ferrum_monitor_info_json(get(), max_age_ns, buffer, room,
                                                length);
            });
    }
    std::string info_json(std::uint64_t max_age_ns = 0) const {
        return try_info_json(max_age_ns).value();
    }

  private:
    explicit monitor(ferrum_monitor id) : handle_(id) {}

    /* Destroyed after the handle: members go in reverse order. */
    std::shared_ptr<void> callable_;
    detail::owner<ferrum_monitor, detail::end_monitor> handle_;
};

/** A placement strategy: chooses the device for a request. */
class placement
    : public detail::owner<ferrum_placement, detail::end_placement> {
  public:
    using owner::owner;

    static result<placement> try_create(const char *strategy) {
        ferrum_placement out{};
        ferrum_status status = ferrum_placement_create(strategy, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return placement(out);
    }
    static placement create(const char *strategy) {
        return try_create(strategy).value();
    }
    /** A strategy of the caller's; user_data has to outlive it. */
    static result<placement> try_create_own(const char *name,
                                            ferrum_placement_fn choose,
                                            void *user_data) {
        ferrum_placement out{};
        ferrum_status status =
            ferrum_placement_create_own(name, choose, user_data, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return placement(out);
    }
    static placement create_own(const char *name, ferrum_placement_fn choose,
                                void *user_data) {
        return try_create_own(name, choose, user_data).value();
    }

    /** The device stays its openers'. */
    result<ferrum_device>
    try_select(const ferrum_placement_request &request) const {
        ferrum_device out{};
        const ferrum_status status =
            ferrum_placement_select(get(), &request, &out);
        return detail::outcome(status, out);
    }
    ferrum_device select(const ferrum_placement_request &request) const {
        return try_select(request).value();
    }
    result<std::string>
    try_explain_json(const ferrum_placement_request &request) const {
        return detail::text(
            [&](char *buffer, std::size_t room, std::size_t *length) {
                return ferrum_placement_explain_json(get(), &request, buffer,
                                                     room, length);
            });
    }
    std::string explain_json(const ferrum_placement_request &request) const {
        return try_explain_json(request).value();
    }
};

/**
 * Standard containers in a pool of a host-addressable device. The pool must
 * outlive it and every container on it.
 */
class pool_resource : public std::pmr::memory_resource {
  public:
    /** Throws ferrum::error with FERRUM_ERROR_UNSUPPORTED_DEVICE when the host
     *  cannot address the device's memory. */
    pool_resource(const device &on, const pool &from) : pool_(from.get()) {
        if ((on.info().capabilities & FERRUM_CAPABILITY_HOST_ADDRESSABLE) != 0)
            return;
        failure why;
        why.status = FERRUM_ERROR_UNSUPPORTED_DEVICE;
        why.operation = "pool_resource";
        why.message = "the host cannot address the device's memory";
        throw error(std::move(why));
    }

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        ferrum_pool_request request = FERRUM_POOL_REQUEST_INIT;
        request.size_bytes = bytes == 0 ? 1 : bytes;
        request.alignment_bytes = alignment;
        ferrum_address out = 0;
        ferrum_status status = ferrum_pool_alloc_with(pool_, &request, &out);
        if (status == FERRUM_ERROR_OUT_OF_MEMORY)
            throw std::bad_alloc();
        if (status != FERRUM_OK)
            throw error(failure::last(status));
        return reinterpret_cast<void *>(static_cast<std::uintptr_t>(out));
    }
    void do_deallocate(void *block, std::size_t, std::size_t) override {
        ferrum_status status = ferrum_pool_free(
            pool_, reinterpret_cast<std::uintptr_t>(block), ferrum_stream{});
        assert(status == FERRUM_OK &&
               "a block of another pool, or freed twice");
        (void)status;
    }
    bool do_is_equal(
        const std::pmr::memory_resource &other) const noexcept override {
        auto same = dynamic_cast<const pool_resource *>(&other);
        return same != nullptr && same->pool_.id == pool_.id;
    }

    ferrum_pool pool_;
};

/** Counters of a fallback manager or a generic pool, with what follows from them. */
struct memory_stats : ferrum_memory_stats {
    memory_stats() : ferrum_memory_stats(FERRUM_MEMORY_STATS_INIT) {}
    explicit memory_stats(const ferrum_memory_stats &raw)
        : ferrum_memory_stats(raw) {}

    result<ferrum_memory_ratios> try_ratios() const {
        ferrum_memory_ratios out = FERRUM_MEMORY_RATIOS_INIT;
        const ferrum_status status = ferrum_memory_stats_ratios(this, &out);
        return detail::outcome(status, out);
    }
    double hit_rate() const { return try_ratios().value().hit_rate; }
    double utilization() const { return try_ratios().value().utilization; }
    double efficiency() const { return try_ratios().value().efficiency; }
    result<memory_stats> try_merge(const memory_stats &other) const {
        memory_stats out;
        const ferrum_status status =
            ferrum_memory_stats_merge(this, &other, &out);
        return detail::outcome(status, out);
    }
    memory_stats merge(const memory_stats &other) const {
        return try_merge(other).value();
    }
    result<std::string> try_text() const {
        return detail::text(
            [&](char *buffer, std::size_t room, std::size_t *length) {
                return ferrum_memory_stats_text(this, buffer, room, length);
            });
    }
    /** One line for people. */
    std::string text() const { return try_text().value(); }
};

/** Settings of a fallback manager or a generic pool, by chained setters. */
class memory_config {
  public:
    memory_config() = default;
    static result<memory_config> try_preset(ferrum_memory_preset which) {
        memory_config out;
        const ferrum_status status =
            ferrum_memory_config_preset(which, &out.raw_);
        return detail::outcome(status, out);
    }
    static memory_config preset(ferrum_memory_preset which) {
        return try_preset(which).value();
    }
    static memory_config for_inference() {
        return preset(FERRUM_MEMORY_PRESET_INFERENCE);
    }
    static memory_config for_training() {
        return preset(FERRUM_MEMORY_PRESET_TRAINING);
    }
    static memory_config for_constrained() {
        return preset(FERRUM_MEMORY_PRESET_CONSTRAINED);
    }

    /** Brought to the nearest of 0.1 to 1. */
    memory_config &with_gpu_memory_fraction(double fraction) {
        raw_.gpu_memory_fraction =
            fraction < 0.1 ? 0.1 : (fraction > 1 ? 1 : fraction);
        return *this;
    }
    memory_config &with_cpu_fallback(bool enabled) {
        return with_flag(FERRUM_MEMORY_CPU_FALLBACK, enabled);
    }
    memory_config &with_min_free_bytes(std::uint64_t bytes) {
        raw_.min_free_bytes = bytes;
        return *this;
    }
    memory_config &with_tracking(bool enabled) {
        return with_flag(FERRUM_MEMORY_TRACK_ALLOCATIONS, enabled);
    }
    memory_config &with_max_pooled(std::uint64_t per_bucket) {
        raw_.max_pooled_per_bucket = per_bucket;
        return *this;
    }
    memory_config &with_max_pooled_bytes(std::uint64_t bytes) {
        raw_.max_pooled_bytes = bytes;
        return *this;
    }
    memory_config &with_pre_allocation(std::vector<std::uint64_t> sizes) {
        sizes_ = std::move(sizes);
        return with_flag(FERRUM_MEMORY_PRE_ALLOCATE, true);
    }
    result<done> try_check() const {
        const ferrum_memory_config raw = get();
        return detail::outcome(ferrum_memory_config_check(&raw));
    }
    void check() const { try_check().value(); }

    /** For a call; points into this object. */
    ferrum_memory_config get() const noexcept {
        ferrum_memory_config raw = raw_;
        raw.pre_allocate_sizes = sizes_.data();
        raw.pre_allocate_count = sizes_.size();
        return raw;
    }

  private:
    memory_config &with_flag(std::uint32_t flag, bool on) {
        raw_.flags = on ? raw_.flags | flag : raw_.flags & ~flag;
        return *this;
    }

    ferrum_memory_config raw_ = FERRUM_MEMORY_CONFIG_INIT;
    std::vector<std::uint64_t> sizes_;
};

/** What a tracker knows. A view of one that a manager or a pool owns. */
class tracker_view {
  public:
    explicit tracker_view(ferrum_tracker id) : id_(id) {}
    ferrum_tracker get() const noexcept { return id_; }

    result<ferrum_buffer_metadata> try_find(std::uint64_t buffer_id) const {
        ferrum_buffer_metadata out{};
        const ferrum_status status = ferrum_tracker_get(id_, buffer_id, &out);
        return detail::outcome(status, out);
    }
    ferrum_buffer_metadata find(std::uint64_t buffer_id) const {
        return try_find(buffer_id).value();
    }
    /** The oldest first. */
    result<std::vector<ferrum_buffer_metadata>> try_all() const {
        return list([this](ferrum_buffer_metadata *to, std::size_t room,
                           std::size_t *count) {
            return ferrum_tracker_get_all(id_, to, room, count);
        });
    }
    std::vector<ferrum_buffer_metadata> all() const {
        return try_all().value();
    }
    /** Those that are strictly older, the oldest first. */
    result<std::vector<ferrum_buffer_metadata>>
    try_find_old(std::chrono::nanoseconds age) const {
        const std::uint64_t ns =
            age.count() < 0 ? 0 : std::uint64_t(age.count());
        return list([this, ns](ferrum_buffer_metadata *to, std::size_t room,
                               std::size_t *count) {
            return ferrum_tracker_find_old(id_, ns, to, room, count);
        });
    }
    std::vector<ferrum_buffer_metadata>
    find_old(std::chrono::nanoseconds age) const {
        return try_find_old(age).value();
    }
    result<ferrum_tracker_totals> try_totals() const {
        ferrum_tracker_totals out = FERRUM_TRACKER_TOTALS_INIT;
        const ferrum_status status = ferrum_tracker_get_totals(id_, &out);
        return detail::outcome(status, out);
    }
    ferrum_tracker_totals totals() const { return try_totals().value(); }

  private:
    template <class Call>
    static result<std::vector<ferrum_buffer_metadata>> list(Call call) {
        std::vector<ferrum_buffer_metadata> out(16);
        for (;;) {
            std::size_t count = 0;
            ferrum_status status = call(out.data(), out.size(), &count);
            if (status == FERRUM_ERROR_BUFFER_TOO_SMALL) {
                out.resize(count);
                continue;
            }
            if (status != FERRUM_OK)
                return failure::last(status);
            out.resize(count);
            return out;
        }
    }

    ferrum_tracker id_;
};

/** A tracker of the program's own. */
class tracker : public detail::owner<ferrum_tracker, detail::end_tracker> {
  public:
    using owner::owner;

    static result<tracker> try_create() {
        ferrum_tracker out{};
        ferrum_status status = ferrum_tracker_create(&out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return tracker(out);
    }
    static tracker create() { return try_create().value(); }

    tracker_view view() const noexcept { return tracker_view(get()); }
    result<done> try_track(const ferrum_buffer_metadata &metadata) {
        return detail::outcome(ferrum_tracker_track(get(), &metadata));
    }
    void track(const ferrum_buffer_metadata &metadata) {
        try_track(metadata).value();
    }
    result<ferrum_buffer_metadata> try_untrack(std::uint64_t buffer_id) {
        ferrum_buffer_metadata out{};
        const ferrum_status status =
            ferrum_tracker_untrack(get(), buffer_id, &out);
        return detail::outcome(status, out);
    }
    ferrum_buffer_metadata untrack(std::uint64_t buffer_id) {
        return try_untrack(buffer_id).value();
    }
    result<done> try_clear() {
        return detail::outcome(ferrum_tracker_clear(get()));
    }
    void clear() { try_clear().value(); }
};

/** An id that no buffer of the process has had. */
inline std::uint64_t new_buffer_id() {
    std::uint64_t out = 0;
    detail::outcome(ferrum_buffer_id_new(&out)).value();
    return out;
}

/** Free buffers of any movable type, which are ended with the pool. */
template <class Buffer> class generic_pool {
  public:
    /** A buffer that is in use: give it back with put. */
    struct lease {
        Buffer buffer;
        std::uint64_t size_bytes;
        std::uint64_t buffer_id;
    };

    static result<generic_pool>
    try_create(const memory_config &config = memory_config()) {
        const ferrum_memory_config raw = config.get();
        ferrum_generic_pool out{};
        ferrum_status status = ferrum_generic_pool_create(&raw, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return generic_pool(out);
    }
    static generic_pool create(const memory_config &config = memory_config()) {
        return try_create(config).value();
    }
    ferrum_generic_pool get() const noexcept { return handle_.get(); }

    /** Accounts for a buffer that the program has made and uses. */
    result<lease> try_record(Buffer buffer, std::uint64_t size_bytes,
                             const ferrum_buffer_use *use = nullptr) {
        std::uint64_t id = 0;
        ferrum_status status =
            ferrum_generic_pool_record_allocation(get(), size_bytes, use, &id);
        if (status != FERRUM_OK)
            return failure::last(status);
        return lease{std::move(buffer), size_bytes, id};
    }
    lease record(Buffer buffer, std::uint64_t size_bytes,
                 const ferrum_buffer_use *use = nullptr) {
        return try_record(std::move(buffer), size_bytes, use).value();
    }
    /** The smallest free buffer that will do, if there is one. */
    result<std::optional<lease>>
    try_take(std::uint64_t min_bytes, const ferrum_buffer_use *use = nullptr) {
        ferrum_buffer_lease raw{};
        std::uint32_t found = 0;
        ferrum_status status =
            ferrum_generic_pool_try_get(get(), min_bytes, use, &raw, &found);
        if (status != FERRUM_OK)
            return failure::last(status);
        if (found == 0)
            return std::optional<lease>();
        return std::optional<lease>(
            lease{own(raw.buffer), raw.size_bytes, raw.buffer_id});
    }
    std::optional<lease> take(std::uint64_t min_bytes,
                              const ferrum_buffer_use *use = nullptr) {
        return try_take(min_bytes, use).value();
    }
    /** Ends the use of a buffer, which is destroyed when its bucket is full. On
     *  failure the lease is as it was. */
    result<done> try_put(lease &used) {
        auto held = std::make_unique<Buffer>(std::move(used.buffer));
        const ferrum_buffer_lease raw{word(held.get()), used.size_bytes,
                                      used.buffer_id};
        std::uint32_t kept = 0;
        ferrum_status status = ferrum_generic_pool_return(get(), &raw, &kept);
        if (status != FERRUM_OK) {
            used.buffer = std::move(*held);
            return failure::last(status);
        }
        if (kept != 0)
            held.release();
        return done{};
    }
    void put(lease used) { try_put(used).value(); }
    /** Destroys all free buffers; the sum of their sizes. */
    result<std::uint64_t> try_clear() { return clear_of(get()); }
    std::uint64_t clear() { return try_clear().value(); }

    result<memory_stats> try_stats() const {
        memory_stats out;
        const ferrum_status status = ferrum_generic_pool_get_stats(get(), &out);
        return detail::outcome(status, out);
    }
    memory_stats stats() const { return try_stats().value(); }
    result<std::uint64_t> try_pooled_count() const {
        std::uint64_t out = 0;
        const ferrum_status status =
            ferrum_generic_pool_get_pooled_count(get(), &out);
        return detail::outcome(status, out);
    }
    std::uint64_t pooled_count() const { return try_pooled_count().value(); }
    result<done> try_record_cpu_fallback() {
        return detail::outcome(ferrum_generic_pool_record_cpu_fallback(get()));
    }
    void record_cpu_fallback() { try_record_cpu_fallback().value(); }
    /** Only while the pool lives; INVALID_STATE: it does not track. */
    result<tracker_view> try_tracker() const {
        ferrum_tracker out{};
        const ferrum_status status =
            ferrum_generic_pool_get_tracker(get(), &out);
        return detail::outcome(status, tracker_view(out));
    }

  private:
    explicit generic_pool(ferrum_generic_pool id) : handle_(id) {}

    /* The word of a buffer is where it waits. */
    static std::uint64_t word(Buffer *waiting) {
        return reinterpret_cast<std::uintptr_t>(waiting);
    }
    static Buffer *at(std::uint64_t word) noexcept {
        return reinterpret_cast<Buffer *>(static_cast<std::uintptr_t>(word));
    }
    static Buffer own(std::uint64_t word) {
        std::unique_ptr<Buffer> held(at(word));
        return std::move(*held);
    }
    static result<std::uint64_t> clear_of(ferrum_generic_pool pool) {
        std::uint64_t dropped = 0;
        ferrum_buffer_lease gone[64];
        for (std::size_t count = 64; count == 64;) {
            ferrum_status status =
                ferrum_generic_pool_drain(pool, gone, 64, &count);
            if (status != FERRUM_OK)
                return failure::last(status);
            for (std::size_t i = 0; i < count; i++) {
                dropped += gone[i].size_bytes;
                own(gone[i].buffer);
            }
        }
        return dropped;
    }
    static void end(ferrum_generic_pool pool) noexcept {
        ferrum_buffer_lease gone[64];
        std::size_t count = 0;
        while (ferrum_generic_pool_drain(pool, gone, 64, &count) == FERRUM_OK &&
               count > 0)
            for (std::size_t i = 0; i < count; i++)
                delete at(gone[i].buffer);
        ferrum_generic_pool_destroy(pool, FERRUM_FORCE);
    }

    detail::owner<ferrum_generic_pool, end> handle_;
};

/** What the pools of all backends have in common. */
class gpu_memory_pool {
  public:
    virtual ~gpu_memory_pool() = default;
    virtual std::string backend_name() const = 0;
    virtual memory_stats stats() const = 0;
    /** 0 means unknown. */
    virtual std::uint64_t total_memory() const = 0;
    virtual std::uint64_t free_memory() const = 0;
    virtual ferrum_pressure_level pressure() const = 0;
    virtual void clear_pool() = 0;
    /** What the device has taken back. */
    virtual std::uint64_t shrink() = 0;
};

/** A buffer of a fallback manager, which it must not outlive. */
class fallback_buffer
    : public detail::owner<ferrum_fallback_buffer, detail::end_buffer> {
  public:
    using owner::owner;

    result<ferrum_fallback_buffer_info> try_info() const {
        ferrum_fallback_buffer_info out = FERRUM_FALLBACK_BUFFER_INFO_INIT;
        const ferrum_status status =
            ferrum_fallback_buffer_get_info(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_fallback_buffer_info info() const { return try_info().value(); }
    bool is_gpu() const { return info().location == FERRUM_LOCATION_GPU; }
    bool is_cpu_fallback() const { return !is_gpu(); }
    /** INVALID_STATE when the buffer is on the other side. */
    result<ferrum_address> try_address(ferrum_buffer_location side) const {
        ferrum_address out = 0;
        const ferrum_status status =
            ferrum_fallback_buffer_get_address(get(), side, &out);
        return detail::outcome(status, out);
    }
    ferrum_address address(ferrum_buffer_location side) const {
        return try_address(side).value();
    }
    result<done> try_to_cpu() {
        return detail::outcome(
            ferrum_fallback_buffer_move(get(), FERRUM_LOCATION_CPU));
    }
    void to_cpu() { try_to_cpu().value(); }
    result<done> try_to_gpu() {
        return detail::outcome(
            ferrum_fallback_buffer_move(get(), FERRUM_LOCATION_GPU));
    }
    void to_gpu() { try_to_gpu().value(); }
    /** Where it stays until it is unpinned as often. */
    result<ferrum_address> try_pin() {
        ferrum_address out = 0;
        ferrum_status status = ferrum_fallback_buffer_pin(get(), &out, nullptr);
        return detail::outcome(status, out);
    }
    ferrum_address pin() { return try_pin().value(); }
    result<done> try_unpin() {
        return detail::outcome(ferrum_fallback_buffer_unpin(get()));
    }
    void unpin() { try_unpin().value(); }
    result<done> try_write(std::uint64_t offset_bytes, const void *source,
                           std::uint64_t size_bytes) {
        return detail::outcome(ferrum_fallback_buffer_write(
            get(), offset_bytes, source, size_bytes));
    }
    void write(std::uint64_t offset_bytes, const void *source,
               std::uint64_t size_bytes) {
        try_write(offset_bytes, source, size_bytes).value();
    }
    result<done> try_read(std::uint64_t offset_bytes, void *destination,
                          std::uint64_t size_bytes) const {
        return detail::outcome(ferrum_fallback_buffer_read(
            get(), offset_bytes, destination, size_bytes));
    }
    void read(std::uint64_t offset_bytes, void *destination,
              std::uint64_t size_bytes) const {
        try_read(offset_bytes, destination, size_bytes).value();
    }
    /** Ends the buffer, unless it fails: the storage is the caller's. */
    result<ferrum_address> try_take(ferrum_buffer_location side) {
        ferrum_address out = 0;
        ferrum_status status = ferrum_fallback_buffer_take(get(), side, &out);
        if (status == FERRUM_OK)
            release();
        return detail::outcome(status, out);
    }
    ferrum_address take(ferrum_buffer_location side) {
        return try_take(side).value();
    }
    /** Ends the buffer after what is queued on the stream, unless it fails. */
    result<done> try_free(ferrum_stream stream = {}) {
        ferrum_status status = ferrum_fallback_buffer_free(get(), stream);
        if (status == FERRUM_OK)
            release();
        return detail::outcome(status);
    }
    void free(ferrum_stream stream = {}) { try_free(stream).value(); }
};

/** Memory of a device, with a second place to go to. */
class fallback_manager : public gpu_memory_pool,
                         public detail::owner<ferrum_fallback_manager,
                                              detail::end_fallback_manager> {
  public:
    using owner::owner;

    /** host may be {0} with settings that forbid to fall back. */
    static result<fallback_manager>
    try_create(ferrum_device device, ferrum_device host,
               const memory_config &config = memory_config()) {
        const ferrum_memory_config raw = config.get();
        ferrum_fallback_manager out{};
        ferrum_status status =
            ferrum_fallback_manager_create(device, host, &raw, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return fallback_manager(out);
    }
    static fallback_manager
    create(ferrum_device device, ferrum_device host,
           const memory_config &config = memory_config()) {
        return try_create(device, host, config).value();
    }

    result<std::string> try_backend_name() const {
        return detail::text(
            [&](char *buffer, std::size_t room, std::size_t *length) {
                return ferrum_fallback_manager_get_backend_name(get(), buffer,
                                                                room, length);
            });
    }
    std::string backend_name() const override {
        return try_backend_name().value();
    }
    result<memory_stats> try_stats() const {
        memory_stats out;
        const ferrum_status status =
            ferrum_fallback_manager_get_stats(get(), &out);
        return detail::outcome(status, out);
    }
    memory_stats stats() const override { return try_stats().value(); }
    result<ferrum_fallback_stats> try_fallback_stats() const {
        ferrum_fallback_stats out = FERRUM_FALLBACK_STATS_INIT;
        const ferrum_status status =
            ferrum_fallback_manager_get_fallback_stats(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_fallback_stats fallback_stats() const {
        return try_fallback_stats().value();
    }
    std::uint64_t total_memory() const override { return memory().first; }
    std::uint64_t free_memory() const override { return memory().second; }
    result<ferrum_pressure_level> try_pressure() const {
        ferrum_pressure_level out = 0;
        const ferrum_status status =
            ferrum_fallback_manager_get_pressure(get(), &out);
        return detail::outcome(status, out);
    }
    ferrum_pressure_level pressure() const override {
        return try_pressure().value();
    }
    result<done> try_clear_pool() {
        return detail::outcome(ferrum_fallback_manager_clear_pool(get()));
    }
    void clear_pool() override { try_clear_pool().value(); }
    result<std::uint64_t> try_shrink() {
        std::uint64_t out = 0;
        const ferrum_status status =
            ferrum_fallback_manager_shrink(get(), &out);
        return detail::outcome(status, out);
    }
    std::uint64_t shrink() override { return try_shrink().value(); }
    /** Only while the manager lives; INVALID_STATE: it does not track. */
    result<tracker_view> try_tracker() const {
        ferrum_tracker out{};
        ferrum_status status = ferrum_fallback_manager_get_tracker(get(), &out);
        return detail::outcome(status, tracker_view(out));
    }
    tracker_view tracker() const { return try_tracker().value(); }

    result<fallback_buffer> try_alloc(const ferrum_buffer_request &request) {
        ferrum_fallback_buffer out{};
        ferrum_status status =
            ferrum_fallback_manager_alloc(get(), &request, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return fallback_buffer(out);
    }
    fallback_buffer alloc(const ferrum_buffer_request &request) {
        return try_alloc(request).value();
    }
    /** Brings back what fell back, and says how many. */
    result<std::uint64_t> try_return_buffers() {
        std::uint64_t out = 0;
        const ferrum_status status =
            ferrum_fallback_manager_return_buffers(get(), &out);
        return detail::outcome(status, out);
    }
    std::uint64_t return_buffers() { return try_return_buffers().value(); }
    /** A buffer of storage that one of this manager gave. */
    result<fallback_buffer> try_adopt(ferrum_buffer_location side,
                                      ferrum_address address,
                                      const ferrum_buffer_request &request) {
        ferrum_fallback_buffer out{};
        ferrum_status status =
            ferrum_fallback_manager_adopt(get(), side, address, &request, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return fallback_buffer(out);
    }
    fallback_buffer adopt(ferrum_buffer_location side, ferrum_address address,
                          const ferrum_buffer_request &request) {
        return try_adopt(side, address, request).value();
    }
    /** Ends storage that one of this manager gave. */
    result<done> try_end_storage(ferrum_buffer_location side,
                                 ferrum_address address,
                                 ferrum_stream stream = {}) {
        return detail::outcome(
            ferrum_fallback_manager_release(get(), side, address, stream));
    }
    void end_storage(ferrum_buffer_location side, ferrum_address address,
                     ferrum_stream stream = {}) {
        try_end_storage(side, address, stream).value();
    }

  private:
    std::pair<std::uint64_t, std::uint64_t> memory() const {
        std::pair<std::uint64_t, std::uint64_t> out;
        detail::outcome(
            ferrum_fallback_manager_get_memory(get(), &out.first, &out.second))
            .value();
        return out;
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_HPP */

/*
 * Monitors: the memory of several devices together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_MONITOR_HPP
#define FERRUM_MEM_MONITOR_HPP

#include "calls/monitor.hpp"
#include "device.hpp"
#include "manager.hpp"
#include "unique_handle.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace ferrum {

namespace detail {

inline void end_monitor(ferrum_monitor h) noexcept {
    ferrum_monitor_destroy(h);
}

} // namespace detail

/** Watches the memory of several devices. It owns its callable. */
class monitor : public monitor_calls<monitor> {
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
    /** An empty object, for a later assignment. */
    monitor() = default;
    monitor(monitor &&) noexcept = default;
    /* The old handle is destroyed first, so the library never calls a freed callable. */
    monitor &operator=(monitor &&other) noexcept {
        handle_ = std::move(other.handle_);
        callable_ = std::move(other.callable_);
        return *this;
    }
    explicit operator bool() const noexcept { return bool(handle_); }

    ferrum_monitor get() const noexcept { return handle_.get(); }

    /** The registration is weak: a manager that is destroyed is unregistered. */
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

    /** Replaces the callable; an empty one removes it. Call it from one thread at a
     *  time, and not from the callable. An exception from the callable terminates the
     *  process. */
    result<done> try_on_change(levels_function callback) {
        std::shared_ptr<levels_function> held;
        if (callback)
            held = std::make_shared<levels_function>(std::move(callback));
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
    void on_change(levels_function callback) {
        try_on_change(std::move(callback)).value();
    }

    /** Destroys the monitor. The managers stay. Do not call it from the callable. */
    result<done> try_destroy() {
        const ferrum_status status = ferrum_monitor_destroy(get());
        if (status == FERRUM_OK) {
            handle_.release();
            callable_.reset();
        }
        return detail::outcome(status);
    }
    void destroy() { try_destroy().value(); }

  private:
    explicit monitor(ferrum_monitor id) : handle_(id) {}

    /* Destroyed after the handle: members are destroyed in reverse order. */
    std::shared_ptr<void> callable_;
    detail::unique_handle<ferrum_monitor, detail::end_monitor> handle_;
};

} // namespace ferrum

#endif /* FERRUM_MEM_MONITOR_HPP */

/*
 * Fallback managers: buffers on a device that fall back to a host device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_FALLBACK_MANAGER_HPP
#define FERRUM_MEM_FALLBACK_MANAGER_HPP

#include "calls/fallback_manager.hpp"
#include "memory_config.hpp"
#include "registration.hpp"
#include "unique_handle.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace ferrum {

/** The common interface of the pools of all backends. */
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
    /** Returns the bytes that the device got back. */
    virtual std::uint64_t shrink() = 0;
};

namespace detail {

inline void end_fallback_manager(ferrum_fallback_manager h) noexcept {
    ferrum_fallback_manager_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Creates buffers on a device, or on a host device while the device has no memory. */
class fallback_manager
    : public gpu_memory_pool,
      public detail::unique_handle<ferrum_fallback_manager,
                                   detail::end_fallback_manager>,
      public fallback_manager_calls<fallback_manager> {
    using calls = fallback_manager_calls<fallback_manager>;

  public:
    using unique_handle::unique_handle;

    /** host may be {0} if the settings forbid fallback. */
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

    std::string backend_name() const override { return calls::backend_name(); }
    result<memory_stats> try_stats() const {
        memory_stats out;
        const ferrum_status status =
            ferrum_fallback_manager_get_stats(get(), &out);
        return detail::outcome(status, out);
    }
    memory_stats stats() const override { return try_stats().value(); }
    std::uint64_t total_memory() const override { return memory().first; }
    std::uint64_t free_memory() const override { return memory().second; }
    ferrum_pressure_level pressure() const override {
        return calls::pressure();
    }
    void clear_pool() override { calls::clear_pool(); }
    std::uint64_t shrink() override { return calls::shrink(); }
    using pressure_function = std::function<void(ferrum_pressure_level)>;

    /** Like device::on_pressure for the manager's device, by
     *  FERRUM_PRESSURE_PROFILE_EARLY. */
    result<registration> try_on_pressure(pressure_function callback) const {
        auto held = std::make_shared<pressure_function>(std::move(callback));
        ferrum_registration out{};
        const ferrum_status status =
            ferrum_fallback_manager_pressure_callback_add(
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
    registration on_pressure(pressure_function callback) const {
        return try_on_pressure(std::move(callback)).value();
    }

    /** Frees storage that fallback_buffer::take of this manager returned. */
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
    /** Destroys it unless buffers are live (BUSY, nothing has changed). */
    result<done> try_destroy() {
        return ended(ferrum_fallback_manager_destroy(get(), 0));
    }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_FALLBACK_MANAGER_HPP */

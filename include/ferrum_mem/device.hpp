/*
 * Devices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_DEVICE_HPP
#define FERRUM_MEM_DEVICE_HPP

#include "calls/device.hpp"
#include "registration.hpp"
#include "unique_handle.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace ferrum {

namespace detail {

inline void end_device(ferrum_device h) noexcept {
    ferrum_device_close(h, FERRUM_FORCE);
}

} // namespace detail

/** An open device. Destroy its objects first. */
class device : public detail::unique_handle<ferrum_device, detail::end_device>,
               public device_calls<device> {
  public:
    using unique_handle::unique_handle;

    /** Opens the first device with enough free memory. choice, unless nullptr, gets the
     *  chosen device and the devices that were checked. */
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

    using pressure_function = std::function<void(ferrum_pressure_level)>;
    using reclaim_function = std::function<std::uint64_t(std::uint64_t)>;

    /** An exception from the callable terminates the process. */
    result<registration> try_on_pressure(pressure_function callback) const {
        auto held = std::make_shared<pressure_function>(std::move(callback));
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
    registration on_pressure(pressure_function callback) const {
        return try_on_pressure(std::move(callback)).value();
    }
    /** The callable gets the number of needed bytes and returns the number of bytes that
     *  it freed. An exception from it terminates the process. */
    result<registration>
    try_on_reclaim(reclaim_function callback,
                   const ferrum_reclaim_config *config = nullptr) const {
        auto held = std::make_shared<reclaim_function>(std::move(callback));
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
    on_reclaim(reclaim_function callback,
               const ferrum_reclaim_config *config = nullptr) const {
        return try_on_reclaim(std::move(callback), config).value();
    }
    /** Ends one open. The last one closes the device, unless objects of the device exist
     *  (BUSY, nothing has changed). */
    result<done> try_close() { return ended(ferrum_device_close(get(), 0)); }
    void close() { try_close().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_DEVICE_HPP */

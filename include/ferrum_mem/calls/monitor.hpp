/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_monitor.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_MONITOR_HPP
#define FERRUM_MEM_CALLS_MONITOR_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_monitor, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class monitor_calls {
  public:
    /** Returns the pressure of all devices together. */
    result<ferrum_monitor_pressure> try_pressure(
        std::chrono::nanoseconds max_age = std::chrono::nanoseconds(0)) const {
        ferrum_monitor_pressure pressure_out = FERRUM_MONITOR_PRESSURE_INIT;
        const ferrum_status status = ferrum_monitor_get_pressure(
            handle(), detail::nanoseconds(max_age), &pressure_out);
        return detail::outcome(status, pressure_out);
    }
    ferrum_monitor_pressure pressure(
        std::chrono::nanoseconds max_age = std::chrono::nanoseconds(0)) const {
        return try_pressure(max_age).value();
    }

    /** Returns the level of every device. */
    result<std::vector<ferrum_device_level>> try_levels(
        std::chrono::nanoseconds max_age = std::chrono::nanoseconds(0)) const {
        return detail::list<ferrum_device_level>(
            ferrum_device_level{},
            [&](ferrum_device_level *to, std::size_t room, std::size_t *found) {
                return ferrum_monitor_get_levels(
                    handle(), detail::nanoseconds(max_age), to, room, found);
            });
    }
    std::vector<ferrum_device_level> levels(
        std::chrono::nanoseconds max_age = std::chrono::nanoseconds(0)) const {
        return try_levels(max_age).value();
    }

    /** Returns the state of a monitor as JSON. */
    result<std::string> try_info_json(
        std::chrono::nanoseconds max_age = std::chrono::nanoseconds(0)) const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_monitor_info_json(
                    handle(), detail::nanoseconds(max_age), to, room, found);
            });
    }
    std::string info_json(
        std::chrono::nanoseconds max_age = std::chrono::nanoseconds(0)) const {
        return try_info_json(max_age).value();
    }

    /**
     * Defragments every registered manager, one after another, like
     * ferrum_manager_defragment. It skips a manager that is destroyed
     * meanwhile.
     */
    result<std::vector<ferrum_collected>> try_collect() const {
        return detail::list<ferrum_collected>(
            ferrum_collected{},
            [&](ferrum_collected *to, std::size_t room, std::size_t *found) {
                return ferrum_monitor_collect(handle(), to, room, found);
            });
    }
    std::vector<ferrum_collected> collect() const {
        return try_collect().value();
    }

  private:
    ferrum_monitor handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_MONITOR_HPP */

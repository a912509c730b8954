/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_placement.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_PLACEMENT_HPP
#define FERRUM_MEM_CALLS_PLACEMENT_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_placement, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class placement_calls {
  public:
    /** Creates a built-in strategy. */
    static result<Self> try_create(detail::c_text strategy) {
        ferrum_placement placement_out{};
        const ferrum_status status =
            ferrum_placement_create(strategy.data(), &placement_out);
        return detail::made<Self>(status, placement_out);
    }
    static Self create(detail::c_text strategy) {
        return try_create(strategy).value();
    }

    /** Returns the name of a strategy as text. */
    result<std::string> try_name() const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_placement_get_name(handle(), to, room, found);
            });
    }
    std::string name() const { return try_name().value(); }

    /**
     * Chooses a device for a request, from readings that are no older than 0.1
     * s.
     */
    result<ferrum_device>
    try_select(const ferrum_placement_request &request) const {
        ferrum_device device_out{};
        const ferrum_status status =
            ferrum_placement_select(handle(), &request, &device_out);
        return detail::outcome(status, device_out);
    }
    ferrum_device select(const ferrum_placement_request &request) const {
        return try_select(request).value();
    }

    /**
     * Returns the device that ferrum_placement_select would choose now, with
     * the reason for each device, as JSON.
     */
    result<std::string>
    try_explain_json(const ferrum_placement_request &request) const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_placement_explain_json(handle(), &request, to,
                                                     room, found);
            });
    }
    std::string explain_json(const ferrum_placement_request &request) const {
        return try_explain_json(request).value();
    }

  private:
    ferrum_placement handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_PLACEMENT_HPP */

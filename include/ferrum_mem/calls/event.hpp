/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_event.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_EVENT_HPP
#define FERRUM_MEM_CALLS_EVENT_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_event, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class event_calls {
  public:
    /**
     * Returns without waiting whether the event has completed (1) or not (0).
     */
    result<bool> try_is_ready() const {
        std::uint32_t ready_out = 0;
        const ferrum_status status =
            ferrum_event_is_ready(handle(), &ready_out);
        return detail::outcome(status, ready_out != 0);
    }
    bool is_ready() const { return try_is_ready().value(); }

    /** Waits until the event has completed. */
    result<done>
    try_synchronize(std::chrono::nanoseconds timeout = forever) const {
        return detail::outcome(
            ferrum_event_synchronize(handle(), detail::nanoseconds(timeout)));
    }
    void synchronize(std::chrono::nanoseconds timeout = forever) const {
        try_synchronize(timeout).value();
    }

    /**
     * Returns the time between two events of one device, with the resolution of
     * the device. CUDA measures in single precision.
     */
    result<std::chrono::nanoseconds> try_elapsed(ferrum_event end) const {
        std::int64_t elapsed_ns_out = 0;
        const ferrum_status status =
            ferrum_event_elapsed(handle(), end, &elapsed_ns_out);
        return detail::outcome(status,
                               std::chrono::nanoseconds(elapsed_ns_out));
    }
    std::chrono::nanoseconds elapsed(ferrum_event end) const {
        return try_elapsed(end).value();
    }

    /**
     * The same as ferrum_device_get_native, for an event: for example the
     * CUevent, which has been recorded. The program may wait for it, and must
     * not record it again.
     */
    result<std::uint64_t> try_native() const {
        std::uint64_t native_out = 0;
        const ferrum_status status =
            ferrum_event_get_native(handle(), &native_out);
        return detail::outcome(status, native_out);
    }
    std::uint64_t native() const { return try_native().value(); }

  private:
    ferrum_event handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_EVENT_HPP */

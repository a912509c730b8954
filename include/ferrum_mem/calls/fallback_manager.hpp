/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_fallback_manager.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_FALLBACK_MANAGER_HPP
#define FERRUM_MEM_CALLS_FALLBACK_MANAGER_HPP

#include "../fallback_buffer.hpp"
#include "../result.hpp"
#include "../tracker.hpp"

namespace ferrum {

/** The calls of a ferrum_fallback_manager, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class fallback_manager_calls {
  public:
    /**
     * Returns the name of the device's backend as text, such as "cpu" or
     * "cuda".
     */
    result<std::string> try_backend_name() const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_fallback_manager_get_backend_name(handle(), to,
                                                                room, found);
            });
    }
    std::string backend_name() const { return try_backend_name().value(); }

    /** Returns the counters of a fallback manager for the host. */
    result<ferrum_fallback_stats> try_fallback_stats() const {
        ferrum_fallback_stats stats_out = FERRUM_FALLBACK_STATS_INIT;
        const ferrum_status status =
            ferrum_fallback_manager_get_fallback_stats(handle(), &stats_out);
        return detail::outcome(status, stats_out);
    }
    ferrum_fallback_stats fallback_stats() const {
        return try_fallback_stats().value();
    }

    /** Queries the memory of the device. The pair holds total and free. */
    result<std::pair<std::uint64_t, std::uint64_t>> try_memory() const {
        std::uint64_t total_out = 0;
        std::uint64_t free_out = 0;
        const ferrum_status status =
            ferrum_fallback_manager_get_memory(handle(), &total_out, &free_out);
        return detail::outcome(status, std::make_pair(total_out, free_out));
    }
    std::pair<std::uint64_t, std::uint64_t> memory() const {
        return try_memory().value();
    }

    /**
     * Returns the present level of the device by FERRUM_PRESSURE_PROFILE_EARLY.
     */
    result<ferrum_pressure_level> try_pressure() const {
        ferrum_pressure_level level_out = 0;
        const ferrum_status status =
            ferrum_fallback_manager_get_pressure(handle(), &level_out);
        return detail::outcome(status, level_out);
    }
    ferrum_pressure_level pressure() const { return try_pressure().value(); }

    /**
     * Empties the buckets. The memory can then be allocated for buffers of any
     * size, and may still be held from the device.
     */
    result<done> try_clear_pool() const {
        return detail::outcome(ferrum_fallback_manager_clear_pool(handle()));
    }
    void clear_pool() const { try_clear_pool().value(); }

    /** Empties the buckets and releases free memory on both sides. */
    result<std::uint64_t> try_shrink() const {
        std::uint64_t released_out = 0;
        const ferrum_status status =
            ferrum_fallback_manager_shrink(handle(), &released_out);
        return detail::outcome(status, released_out);
    }
    std::uint64_t shrink() const { return try_shrink().value(); }

    /**
     * Returns the tracker of a fallback manager, for reading only, with the
     * buffers of both sides. FERRUM_ERROR_INVALID_STATE when the manager does
     * not track.
     */
    result<tracker_view> try_tracker() const {
        ferrum_tracker tracker_out{};
        const ferrum_status status =
            ferrum_fallback_manager_get_tracker(handle(), &tracker_out);
        return detail::made<tracker_view>(status, tracker_out);
    }
    tracker_view tracker() const { return try_tracker().value(); }

    /** Creates a buffer. Its contents are not defined. */
    result<fallback_buffer>
    try_alloc(const ferrum_buffer_request &request) const {
        ferrum_fallback_buffer buffer_out{};
        const ferrum_status status =
            ferrum_fallback_manager_alloc(handle(), &request, &buffer_out);
        return detail::made<fallback_buffer>(status, buffer_out);
    }
    fallback_buffer alloc(const ferrum_buffer_request &request) const {
        return try_alloc(request).value();
    }

    /**
     * Moves the buffers that fell back to the device, the oldest first, until
     * the device has no room for the next one. Pinned buffers stay, and no
     * memory is reclaimed for it. The addresses of buffers that are not pinned
     * may change. The call moves none while another thread does the same.
     */
    result<std::uint64_t> try_return_buffers() const {
        std::uint64_t moved_out = 0;
        const ferrum_status status =
            ferrum_fallback_manager_return_buffers(handle(), &moved_out);
        return detail::outcome(status, moved_out);
    }
    std::uint64_t return_buffers() const {
        return try_return_buffers().value();
    }

    /**
     * Creates a buffer from storage that was taken from a buffer of the same
     * manager.
     */
    result<fallback_buffer>
    try_adopt(ferrum_buffer_location location, ferrum_address address,
              const ferrum_buffer_request &request) const {
        ferrum_fallback_buffer buffer_out{};
        const ferrum_status status = ferrum_fallback_manager_adopt(
            handle(), location, address, &request, &buffer_out);
        return detail::made<fallback_buffer>(status, buffer_out);
    }
    fallback_buffer adopt(ferrum_buffer_location location,
                          ferrum_address address,
                          const ferrum_buffer_request &request) const {
        return try_adopt(location, address, request).value();
    }

  private:
    ferrum_fallback_manager handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_FALLBACK_MANAGER_HPP */

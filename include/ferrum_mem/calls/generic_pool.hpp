/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_generic_pool.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_GENERIC_POOL_HPP
#define FERRUM_MEM_CALLS_GENERIC_POOL_HPP

#include "../result.hpp"
#include "../tracker.hpp"

namespace ferrum {

/** The calls of a ferrum_generic_pool, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class generic_pool_calls {
  public:
    /** Returns the number of free buffers. */
    result<std::uint64_t> try_pooled_count() const {
        std::uint64_t count_out = 0;
        const ferrum_status status =
            ferrum_generic_pool_get_pooled_count(handle(), &count_out);
        return detail::outcome(status, count_out);
    }
    std::uint64_t pooled_count() const { return try_pooled_count().value(); }

    /** Counts a request that the caller served on the host. */
    result<done> try_record_cpu_fallback() const {
        return detail::outcome(
            ferrum_generic_pool_record_cpu_fallback(handle()));
    }
    void record_cpu_fallback() const { try_record_cpu_fallback().value(); }

    /**
     * Returns the tracker of a pool, for reading only.
     * FERRUM_ERROR_INVALID_STATE when the pool does not track.
     */
    result<tracker_view> try_tracker() const {
        ferrum_tracker tracker_out{};
        const ferrum_status status =
            ferrum_generic_pool_get_tracker(handle(), &tracker_out);
        return detail::made<tracker_view>(status, tracker_out);
    }
    tracker_view tracker() const { return try_tracker().value(); }

  private:
    ferrum_generic_pool handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_GENERIC_POOL_HPP */

/*
 * Buffers of a fallback manager.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_FALLBACK_BUFFER_HPP
#define FERRUM_MEM_FALLBACK_BUFFER_HPP

#include "calls/fallback_buffer.hpp"
#include "unique_handle.hpp"

namespace ferrum {

namespace detail {

inline void end_fallback_buffer(ferrum_fallback_buffer h) noexcept {
    // No other code can unpin it any more.
    while (ferrum_fallback_buffer_free(h, ferrum_stream{}) ==
               FERRUM_ERROR_BUSY &&
           ferrum_fallback_buffer_unpin(h) == FERRUM_OK) {
    }
}

} // namespace detail

/** A buffer of a fallback manager. It must not outlive the manager. */
class fallback_buffer
    : public detail::unique_handle<ferrum_fallback_buffer,
                                   detail::end_fallback_buffer>,
      public fallback_buffer_calls<fallback_buffer> {
  public:
    using unique_handle::unique_handle;

    bool is_gpu() const { return info().location == FERRUM_LOCATION_GPU; }
    bool is_cpu_fallback() const { return !is_gpu(); }
    result<done> try_to_cpu() { return try_move(FERRUM_LOCATION_CPU); }
    void to_cpu() { try_to_cpu().value(); }
    result<done> try_to_gpu() { return try_move(FERRUM_LOCATION_GPU); }
    void to_gpu() { try_to_gpu().value(); }
    /** Ends the buffer, unless it fails. The caller owns the storage. */
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
    /** Frees the buffer after the work that is queued on the stream, unless it fails. */
    result<done> try_free(ferrum_stream stream = {}) {
        ferrum_status status = ferrum_fallback_buffer_free(get(), stream);
        if (status == FERRUM_OK)
            release();
        return detail::outcome(status);
    }
    void free(ferrum_stream stream = {}) { try_free(stream).value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_FALLBACK_BUFFER_HPP */

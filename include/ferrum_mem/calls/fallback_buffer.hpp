/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_fallback_buffer.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_FALLBACK_BUFFER_HPP
#define FERRUM_MEM_CALLS_FALLBACK_BUFFER_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_fallback_buffer, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class fallback_buffer_calls {
  public:
    /** Describes a buffer. */
    result<ferrum_fallback_buffer_info> try_info() const {
        ferrum_fallback_buffer_info info_out = FERRUM_FALLBACK_BUFFER_INFO_INIT;
        const ferrum_status status =
            ferrum_fallback_buffer_get_info(handle(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_fallback_buffer_info info() const { return try_info().value(); }

    /**
     * Returns the address of a buffer on a side. FERRUM_ERROR_INVALID_STATE
     * when the buffer is on the other side.
     */
    result<ferrum_address> try_address(ferrum_buffer_location location) const {
        ferrum_address address_out = 0;
        const ferrum_status status = ferrum_fallback_buffer_get_address(
            handle(), location, &address_out);
        return detail::outcome(status, address_out);
    }
    ferrum_address address(ferrum_buffer_location location) const {
        return try_address(location).value();
    }

    /**
     * Moves a buffer after the work that is queued on the device's default
     * stream. It does nothing when the buffer is already on that side. A buffer
     * that was moved to the host by this call stays there. After a failed call
     * the buffer is unchanged.
     */
    result<done> try_move(ferrum_buffer_location location) const {
        return detail::outcome(ferrum_fallback_buffer_move(handle(), location));
    }
    void move(ferrum_buffer_location location) const {
        try_move(location).value();
    }

    /**
     * Keeps a buffer at its place until it has been unpinned as often as it was
     * pinned. The pair holds address and location.
     */
    result<std::pair<ferrum_address, ferrum_buffer_location>> try_pin() const {
        ferrum_address address_out = 0;
        ferrum_buffer_location location_out = 0;
        const ferrum_status status =
            ferrum_fallback_buffer_pin(handle(), &address_out, &location_out);
        return detail::outcome(status,
                               std::make_pair(address_out, location_out));
    }
    std::pair<ferrum_address, ferrum_buffer_location> pin() const {
        return try_pin().value();
    }

    /**
     * Undoes one ferrum_fallback_buffer_pin. FERRUM_ERROR_INVALID_STATE when
     * the buffer is not pinned.
     */
    result<done> try_unpin() const {
        return detail::outcome(ferrum_fallback_buffer_unpin(handle()));
    }
    void unpin() const { try_unpin().value(); }

    /**
     * Copies memory of the process into a buffer on either side, after the work
     * that is queued on the default stream of that side, and returns when the
     * copy has completed.
     */
    result<done> try_write(std::uint64_t offset_bytes, const void *source,
                           std::uint64_t size_bytes) const {
        return detail::outcome(ferrum_fallback_buffer_write(
            handle(), offset_bytes, source, size_bytes));
    }
    void write(std::uint64_t offset_bytes, const void *source,
               std::uint64_t size_bytes) const {
        try_write(offset_bytes, source, size_bytes).value();
    }

    /**
     * Copies from a buffer into memory of the process; otherwise the same as
     * ferrum_fallback_buffer_write.
     */
    result<done> try_read(std::uint64_t offset_bytes, void *destination,
                          std::uint64_t size_bytes) const {
        return detail::outcome(ferrum_fallback_buffer_read(
            handle(), offset_bytes, destination, size_bytes));
    }
    void read(std::uint64_t offset_bytes, void *destination,
              std::uint64_t size_bytes) const {
        try_read(offset_bytes, destination, size_bytes).value();
    }

  private:
    ferrum_fallback_buffer handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_FALLBACK_BUFFER_HPP */

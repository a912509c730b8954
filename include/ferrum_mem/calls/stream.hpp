/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_stream.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_STREAM_HPP
#define FERRUM_MEM_CALLS_STREAM_HPP

#include "../event.hpp"
#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_stream, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class stream_calls {
  public:
    /**
     * Waits until all work that was queued before the call has completed.
     * Returns the first failure of queued work since the last
     * ferrum_stream_synchronize.
     */
    result<done>
    try_synchronize(std::chrono::nanoseconds timeout = forever) const {
        return detail::outcome(
            ferrum_stream_synchronize(handle(), detail::nanoseconds(timeout)));
    }
    void synchronize(std::chrono::nanoseconds timeout = forever) const {
        try_synchronize(timeout).value();
    }

    /**
     * Returns without waiting whether all work queued so far has completed (1)
     * or not (0).
     */
    result<bool> try_is_ready() const {
        std::uint32_t ready_out = 0;
        const ferrum_status status =
            ferrum_stream_is_ready(handle(), &ready_out);
        return detail::outcome(status, ready_out != 0);
    }
    bool is_ready() const { return try_is_ready().value(); }

    /**
     * Queues many copies by address on a stream and returns. Use it for example
     * for KV blocks that move from one table to another. All copies are within
     * the device of the stream. The call checks every copy before it queues the
     * first one.
     */
    result<done> try_copy_batch(const ferrum_address_copy *copies,
                                std::size_t count) const {
        return detail::outcome(
            ferrum_stream_copy_batch(handle(), copies, count));
    }
    void copy_batch(const ferrum_address_copy *copies,
                    std::size_t count) const {
        try_copy_batch(copies, count).value();
    }
    result<done>
    try_copy_batch(const std::vector<ferrum_address_copy> &copies) const {
        return try_copy_batch(detail::items(copies), copies.size());
    }
    void copy_batch(const std::vector<ferrum_address_copy> &copies) const {
        try_copy_batch(copies).value();
    }

    /** Records a new event at the present end of the stream's queue. */
    result<event> try_record_event() const {
        ferrum_event event_out{};
        const ferrum_status status = ferrum_event_record(handle(), &event_out);
        return detail::made<event>(status, event_out);
    }
    event record_event() const { return try_record_event().value(); }

    /**
     * Makes all later work of the stream wait for the event. The event may
     * belong to another stream, or to another device of the same backend.
     */
    result<done> try_wait_event(ferrum_event event) const {
        return detail::outcome(ferrum_stream_wait_event(handle(), event));
    }
    void wait_event(ferrum_event event) const { try_wait_event(event).value(); }

    /**
     * The same as ferrum_device_get_native, for a stream: for example the
     * CUstream.
     */
    result<std::uint64_t> try_native() const {
        std::uint64_t native_out = 0;
        const ferrum_status status =
            ferrum_stream_get_native(handle(), &native_out);
        return detail::outcome(status, native_out);
    }
    std::uint64_t native() const { return try_native().value(); }

    /**
     * Records an event that other processes can open. It is kept until they
     * have opened it. The pair holds shared and event.
     */
    result<std::pair<ferrum_shared_event, event>> try_share_event() const {
        ferrum_shared_event shared_out = FERRUM_SHARED_EVENT_INIT;
        ferrum_event event_out{};
        const ferrum_status status =
            ferrum_event_share(handle(), &shared_out, &event_out);
        return detail::made<std::pair<ferrum_shared_event, event>>(
            status, shared_out, event_out);
    }
    std::pair<ferrum_shared_event, event> share_event() const {
        return try_share_event().value();
    }

  private:
    ferrum_stream handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_STREAM_HPP */

/*
 * Streams.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_STREAM_HPP
#define FERRUM_MEM_STREAM_HPP

#include "calls/stream.hpp"
#include "unique_handle.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace ferrum {

namespace detail {

inline void end_stream(ferrum_stream h) noexcept {
    ferrum_stream_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** An ordered queue of work on a device. */
class stream : public detail::unique_handle<ferrum_stream, detail::end_stream>,
               public stream_calls<stream> {
  public:
    using unique_handle::unique_handle;

    /** Queues a call of work, once, on a thread of the library. An exception from it
     *  terminates the process, like an exception from a thread. */
    result<done> try_call(std::function<void()> work) const {
        auto held = std::make_unique<std::function<void()>>(std::move(work));
        ferrum_status status = ferrum_stream_host_function(
            get(),
            [](void *data) noexcept {
                std::unique_ptr<std::function<void()>> owned(
                    static_cast<std::function<void()> *>(data));
                (*owned)();
            },
            held.get());
        if (status == FERRUM_OK)
            held.release();
        return detail::outcome(status);
    }
    void call(std::function<void()> work) const {
        try_call(std::move(work)).value();
    }
    /** Destroys it unless work is queued (BUSY, nothing has changed). */
    result<done> try_destroy() {
        return ended(ferrum_stream_destroy(get(), 0));
    }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_STREAM_HPP */

/*
 * Trackers: records of live buffers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_TRACKER_HPP
#define FERRUM_MEM_TRACKER_HPP

#include "calls/tracker.hpp"
#include "unique_handle.hpp"

namespace ferrum {

namespace detail {

inline void end_tracker(ferrum_tracker h) noexcept {
    ferrum_tracker_destroy(h);
}

} // namespace detail

/** Read access to a tracker, which may belong to a manager or a pool. Calls that would
 *  change such a tracker fail. */
class tracker_view : public tracker_calls<tracker_view> {
  public:
    explicit tracker_view(ferrum_tracker id) : id_(id) {}
    ferrum_tracker get() const noexcept { return id_; }

    result<ferrum_buffer_metadata> try_find(std::uint64_t buffer_id) const {
        ferrum_buffer_metadata out{};
        const ferrum_status status = ferrum_tracker_get(get(), buffer_id, &out);
        return detail::outcome(status, out);
    }
    ferrum_buffer_metadata find(std::uint64_t buffer_id) const {
        return try_find(buffer_id).value();
    }

  private:
    ferrum_tracker id_;
};

/** A tracker that the program owns. */
class tracker
    : public detail::unique_handle<ferrum_tracker, detail::end_tracker>,
      public tracker_calls<tracker> {
  public:
    using unique_handle::unique_handle;

    tracker_view view() const noexcept { return tracker_view(get()); }
    /** Destroys it. */
    result<done> try_destroy() { return ended(ferrum_tracker_destroy(get())); }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_TRACKER_HPP */

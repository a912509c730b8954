/*
 * Events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_EVENT_HPP
#define FERRUM_MEM_EVENT_HPP

#include "calls/event.hpp"
#include "unique_handle.hpp"

namespace ferrum {

namespace detail {

inline void end_event(ferrum_event h) noexcept { ferrum_event_destroy(h); }

} // namespace detail

/** A point in a stream's queue. */
class event : public detail::unique_handle<ferrum_event, detail::end_event>,
              public event_calls<event> {
  public:
    using unique_handle::unique_handle;
    /** Destroys it. */
    result<done> try_destroy() { return ended(ferrum_event_destroy(get())); }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_EVENT_HPP */

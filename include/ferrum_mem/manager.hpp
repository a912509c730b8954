/*
 * Managers: memory by handle.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_MANAGER_HPP
#define FERRUM_MEM_MANAGER_HPP

#include "calls/manager.hpp"
#include "unique_handle.hpp"

namespace ferrum {

namespace detail {

inline void end_manager(ferrum_manager h) noexcept {
    ferrum_manager_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Memory by handle. */
class manager
    : public detail::unique_handle<ferrum_manager, detail::end_manager>,
      public manager_calls<manager> {
  public:
    using unique_handle::unique_handle;

    /** Destroys it unless blocks are live (BUSY, nothing has changed). */
    result<done> try_destroy() {
        return ended(ferrum_manager_destroy(get(), 0));
    }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_MANAGER_HPP */

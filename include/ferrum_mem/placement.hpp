/*
 * Placement strategies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_PLACEMENT_HPP
#define FERRUM_MEM_PLACEMENT_HPP

#include "calls/placement.hpp"
#include "unique_handle.hpp"

namespace ferrum {

namespace detail {

inline void end_placement(ferrum_placement h) noexcept {
    ferrum_placement_destroy(h);
}

} // namespace detail

/** A placement strategy: chooses the device for a request. */
class placement
    : public detail::unique_handle<ferrum_placement, detail::end_placement>,
      public placement_calls<placement> {
  public:
    using unique_handle::unique_handle;

    /** A custom strategy. user_data must outlive it. */
    static result<placement> try_create_own(const char *name,
                                            ferrum_placement_fn choose,
                                            void *user_data) {
        ferrum_placement out{};
        ferrum_status status =
            ferrum_placement_create_own(name, choose, user_data, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return placement(out);
    }
    static placement create_own(const char *name, ferrum_placement_fn choose,
                                void *user_data) {
        return try_create_own(name, choose, user_data).value();
    }
    /** Destroys it. */
    result<done> try_destroy() {
        return ended(ferrum_placement_destroy(get()));
    }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_PLACEMENT_HPP */

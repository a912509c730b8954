/*
 * The class of a ferrum_dummy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_DUMMY_HPP
#define FERRUM_MEM_DUMMY_HPP

#include "calls/dummy.hpp"
#include "unique_handle.hpp"

namespace ferrum {

namespace detail {

inline void end_dummy(ferrum_dummy h) noexcept {
    ferrum_dummy_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Owns a ferrum_dummy. */
class dummy : public detail::unique_handle<ferrum_dummy, detail::end_dummy>,
              public dummy_calls<dummy> {
  public:
    using unique_handle::unique_handle;

    result<done> try_destroy(std::uint32_t flags = 0) {
        return ended(ferrum_dummy_destroy(get(), flags));
    }
    void destroy(std::uint32_t flags = 0) { try_destroy(flags).value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_DUMMY_HPP */

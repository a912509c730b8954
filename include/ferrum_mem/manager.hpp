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

    /** A block over memory of the process. The memory is page-locked while the block
     *  exists, if the device supports that, and must outlive the block. Copies from and
     *  to it overlap with other work. */
    result<memory> try_page_lock(void *start, std::uint64_t size,
                                 detail::c_text tag = nullptr) const {
        ferrum_adoption adoption = FERRUM_ADOPTION_INIT;
        adoption.memory_type = FERRUM_MEMORY_PINNED;
        adoption.address = reinterpret_cast<std::uintptr_t>(start);
        adoption.size_bytes = size;
        adoption.tag = tag.data();
        return try_adopt(adoption);
    }
    memory page_lock(void *start, std::uint64_t size,
                     detail::c_text tag = nullptr) const {
        return try_page_lock(start, size, tag).value();
    }
    /** Destroys it unless blocks are live (BUSY, nothing has changed). */
    result<done> try_destroy() {
        return ended(ferrum_manager_destroy(get(), 0));
    }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_MANAGER_HPP */

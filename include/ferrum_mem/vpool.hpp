/*
 * Virtual pools: reserved address space with pages of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_VPOOL_HPP
#define FERRUM_MEM_VPOOL_HPP

#include "calls/vpool.hpp"
#include "unique_handle.hpp"

namespace ferrum {

namespace detail {

inline void end_vpool(ferrum_vpool h) noexcept {
    ferrum_vpool_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Reserved address space. Memory is mapped by offset. */
class vpool : public detail::unique_handle<ferrum_vpool, detail::end_vpool>,
              public vpool_calls<vpool> {
  public:
    using unique_handle::unique_handle;

    /** A file descriptor for each page of a range. The caller closes them. */
    result<std::vector<std::int32_t>> try_export(std::uint64_t offset,
                                                 std::uint64_t size) const {
        ferrum_vpool_info about = FERRUM_VPOOL_INFO_INIT;
        ferrum_status status = ferrum_vpool_get_info(get(), &about);
        if (status != FERRUM_OK)
            return failure::last(status);
        const std::uint64_t most = about.virtual_capacity_bytes < size
                                       ? about.virtual_capacity_bytes
                                       : size;
        std::size_t count = 0;
        std::vector<std::int32_t> out(most / about.page_bytes + 1);
        status = ferrum_vpool_export(get(), offset, size, out.data(),
                                     out.size(), &count);
        if (status != FERRUM_OK)
            return failure::last(status);
        out.resize(count);
        return out;
    }
    std::vector<std::int32_t> export_pages(std::uint64_t offset,
                                           std::uint64_t size) const {
        return try_export(offset, size).value();
    }
    /** Destroys it unless ranges are mapped (BUSY, nothing has changed). */
    result<done> try_destroy() { return ended(ferrum_vpool_destroy(get(), 0)); }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_VPOOL_HPP */

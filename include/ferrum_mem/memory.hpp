/*
 * Blocks of a manager, mappings of them, and copies between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_MEMORY_HPP
#define FERRUM_MEM_MEMORY_HPP

#include "calls/memory.hpp"
#include "unique_handle.hpp"

#include <utility>

namespace ferrum {

/** A range of a block that the host can address while this object exists. The block must
 *  outlive it. */
class mapping {
  public:
    /** An empty object, for a later assignment. */
    mapping() noexcept = default;
    mapping(mapping &&other) noexcept
        : block_(std::exchange(other.block_, ferrum_memory{})),
          raw_(other.raw_) {}
    mapping &operator=(mapping &&other) noexcept {
        if (this != &other) {
            end();
            block_ = std::exchange(other.block_, ferrum_memory{});
            raw_ = other.raw_;
        }
        return *this;
    }
    ~mapping() { end(); }

    explicit operator bool() const noexcept { return block_.id != 0; }
    void *data() const noexcept { return raw_.host_pointer; }
    std::uint64_t size() const noexcept { return raw_.size_bytes; }
    /** Whether data is a staging copy, which is written back at the end. */
    bool staged() const noexcept { return raw_.is_staged != 0; }
    /** Ends the mapping. After a failure the mapping still exists. */
    result<done> try_unmap() {
        ferrum_status status = ferrum_memory_unmap(block_, raw_.mapping_id);
        if (status == FERRUM_OK)
            block_ = {};
        return detail::outcome(status);
    }
    void unmap() { try_unmap().value(); }

  private:
    friend class memory;
    mapping(ferrum_memory block, const ferrum_mapping &raw)
        : block_(block), raw_(raw) {}
    void end() noexcept {
        if (block_.id != 0)
            ferrum_memory_unmap(block_, raw_.mapping_id);
    }
    ferrum_memory block_{};
    ferrum_mapping raw_{};
};

namespace detail {

inline void end_memory(ferrum_memory h) noexcept {
    // No other code can unpin or unmap it any more. Work on adopted memory must be done
    // before its owner gets it back, and a mapping waits for that.
    ferrum_map_request wait = FERRUM_MAP_REQUEST_INIT;
    ferrum_mapping mapped = FERRUM_MAPPING_INIT;
    wait.memory = h;
    wait.access = FERRUM_HOST_READ_ONLY;
    while (ferrum_memory_free(h) == FERRUM_ERROR_BUSY &&
           (ferrum_memory_unpin(h) == FERRUM_OK ||
            ferrum_memory_unmap(h, 0) == FERRUM_OK ||
            (ferrum_memory_map(&wait, &mapped) == FERRUM_OK &&
             ferrum_memory_unmap(h, mapped.mapping_id) == FERRUM_OK))) {
    }
}

} // namespace detail

/** A block of a manager. */
class memory : public detail::unique_handle<ferrum_memory, detail::end_memory>,
               public memory_calls<memory> {
  public:
    using unique_handle::unique_handle;

    /** Maps a range for the host. */
    result<mapping> try_map(ferrum_host_access access = FERRUM_HOST_READ_WRITE,
                            std::uint64_t offset = 0,
                            std::uint64_t size = FERRUM_MAP_TO_END) const {
        ferrum_map_request request = FERRUM_MAP_REQUEST_INIT;
        request.memory = get();
        request.access = access;
        request.offset_bytes = offset;
        request.size_bytes = size;
        ferrum_mapping out = FERRUM_MAPPING_INIT;
        ferrum_status status = ferrum_memory_map(&request, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return mapping(get(), out);
    }
    mapping map(ferrum_host_access access = FERRUM_HOST_READ_WRITE,
                std::uint64_t offset = 0,
                std::uint64_t size = FERRUM_MAP_TO_END) const {
        return try_map(access, offset, size).value();
    }
    /** Frees the block (BUSY while it is pinned or mapped, nothing has changed). With
     *  CORRUPTED, bytes beside the block were overwritten, and the block is freed. */
    result<done> try_free() {
        ferrum_status status = ferrum_memory_free(get());
        if (status == FERRUM_OK || status == FERRUM_ERROR_CORRUPTED)
            release();
        return detail::outcome(status);
    }
    void free() { try_free().value(); }
};

/** A copy from one block to another. */
struct transfer {
    ferrum_memory src{};
    ferrum_memory dst{};
    std::uint64_t size = 0;
    std::uint64_t src_offset = 0;
    std::uint64_t dst_offset = 0;

    transfer(const memory &from, const memory &to, std::uint64_t bytes)
        : src(from.get()), dst(to.get()), size(bytes) {}
    transfer &from_offset(std::uint64_t bytes) {
        src_offset = bytes;
        return *this;
    }
    transfer &to_offset(std::uint64_t bytes) {
        dst_offset = bytes;
        return *this;
    }
    operator ferrum_transfer() const {
        ferrum_transfer out = FERRUM_TRANSFER_INIT;
        out.src = src;
        out.dst = dst;
        out.size_bytes = size;
        out.src_offset_bytes = src_offset;
        out.dst_offset_bytes = dst_offset;
        return out;
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_MEMORY_HPP */

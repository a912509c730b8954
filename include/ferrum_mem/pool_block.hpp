/*
 * A block of a pool with an owner.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_POOL_BLOCK_HPP
#define FERRUM_MEM_POOL_BLOCK_HPP

#include "result.hpp"

#include <utility>

namespace ferrum {

/**
 * Owns a block of a pool. The destructor frees the block on its stream, which is the
 * stream of the allocation. The free does not wait; the pool reuses the memory after the
 * work that is queued on that stream. The pool may be destroyed first. If the library
 * cannot free the block, the block stays live, and the leak report names it.
 */
class pool_block {
  public:
    pool_block() noexcept = default;
    /** Takes over a block that is live in the pool. */
    pool_block(ferrum_pool pool, ferrum_address block,
               ferrum_stream free_on = {}) noexcept
        : pool_(pool), address_(block), stream_(free_on) {}
    pool_block(pool_block &&other) noexcept
        : pool_(other.pool_), address_(other.release()),
          stream_(other.stream_) {}
    pool_block &operator=(pool_block &&other) noexcept {
        if (this != &other) {
            reset();
            pool_ = other.pool_;
            stream_ = other.stream_;
            address_ = other.release();
        }
        return *this;
    }
    ~pool_block() { reset(); }

    /** Its address on the device; 0 if there is no block. */
    ferrum_address address() const noexcept { return address_; }
    explicit operator bool() const noexcept { return address_ != 0; }
    /** Makes the free also wait for this stream. */
    void free_on(ferrum_stream stream) noexcept { stream_ = stream; }
    /** States that a further stream uses the block. A free then also waits for that
     *  stream. */
    result<done> try_record_stream(ferrum_stream stream) const {
        return detail::outcome(
            ferrum_pool_record_stream(pool_, address_, stream));
    }
    void record_stream(ferrum_stream stream) const {
        try_record_stream(stream).value();
    }
    /** The number of usable bytes: at least the requested size. */
    result<std::uint64_t> try_usable_size() const {
        std::uint64_t size = 0;
        const ferrum_status status =
            ferrum_pool_usable_size(pool_, address_, &size);
        return detail::outcome(status, size);
    }
    std::uint64_t usable_size() const { return try_usable_size().value(); }

    /** Returns the address and does not free the block. */
    ferrum_address release() noexcept { return std::exchange(address_, 0); }
    /** Frees the block and ignores errors. */
    void reset() noexcept {
        if (address_ != 0)
            end();
        address_ = 0;
    }
    /** Frees the block. With CORRUPTED, bytes beside the block were overwritten, and the
     *  block is freed. After any other error the block is still live. */
    result<done> try_free() {
        const ferrum_status status = end();
        if (status == FERRUM_OK || status == FERRUM_ERROR_CORRUPTED)
            release();
        return detail::outcome(status);
    }
    void free() { try_free().value(); }

  private:
    ferrum_status end() noexcept {
        const ferrum_status status = ferrum_pool_free(pool_, address_, stream_);
        /* A stream that was destroyed has completed its work, so there is nothing to
         * wait for. */
        if (status == FERRUM_ERROR_INVALID_HANDLE && stream_.id != 0)
            return ferrum_pool_free(pool_, address_, ferrum_stream{});
        return status;
    }

    ferrum_pool pool_{};
    ferrum_address address_ = 0;
    ferrum_stream stream_{};
};

} // namespace ferrum

#endif /* FERRUM_MEM_POOL_BLOCK_HPP */

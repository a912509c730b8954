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
 * Owns a block of a pool: its end frees the block on the stream that it keeps, which is
 * the one that the block was asked for on. The free does not wait; the pool hands the
 * memory out again when the work queued there is done. The pool may end first. One that
 * the library cannot free at its end stays live, and the leak report names it.
 */
class pool_block {
  public:
    pool_block() noexcept = default;
    /** Takes a block over that is live in the pool. */
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

    /** Where it starts on the device; 0 when there is none. */
    ferrum_address address() const noexcept { return address_; }
    explicit operator bool() const noexcept { return address_ != 0; }
    /** Has the free wait for this stream beside that of the block. */
    void free_on(ferrum_stream stream) noexcept { stream_ = stream; }
    /** Names a further stream that uses the block, for which its free waits. */
    result<done> try_record_stream(ferrum_stream stream) const {
        return detail::outcome(
            ferrum_pool_record_stream(pool_, address_, stream));
    }
    void record_stream(ferrum_stream stream) const {
        try_record_stream(stream).value();
    }
    /** How many bytes of it may be used: at least what was asked for. */
    result<std::uint64_t> try_usable_size() const {
        std::uint64_t size = 0;
        const ferrum_status status =
            ferrum_pool_usable_size(pool_, address_, &size);
        return detail::outcome(status, size);
    }
    std::uint64_t usable_size() const { return try_usable_size().value(); }

    /** Gives the block up without a free. */
    ferrum_address release() noexcept { return std::exchange(address_, 0); }
    /** Frees it now, whatever comes of it. */
    void reset() noexcept {
        if (address_ != 0)
            end();
        address_ = 0;
    }
    /** Frees it now. When bytes beside it were overwritten (CORRUPTED), it is free all
     *  the same; after any other failure it is as live as before. */
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
        /* A stream that was destroyed has run dry: there is no work to wait for. */
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

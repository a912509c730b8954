/*
 * Pools: memory by address.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_POOL_HPP
#define FERRUM_MEM_POOL_HPP

#include "calls/pool.hpp"
#include "pool_block.hpp"
#include "unique_handle.hpp"

namespace ferrum {

/** A tag of a pool, from pool::tag. */
struct pool_tag {
    std::uint32_t number = 0;
};

/** A request for a block of a pool. */
struct pool_request {
    std::uint64_t size = 0;
    std::uint64_t alignment = 0;
    ferrum_stream stream{};
    pool_tag tag{};
    /** Expected lifetime; zero: unknown. */
    std::chrono::nanoseconds lifetime{0};
    std::uint64_t group = 0;

    explicit pool_request(std::uint64_t bytes) : size(bytes) {}
    pool_request &aligned(std::uint64_t bytes) {
        alignment = bytes;
        return *this;
    }
    pool_request &on(ferrum_stream first_use) {
        stream = first_use;
        return *this;
    }
    pool_request &tagged(pool_tag name) {
        tag = name;
        return *this;
    }
    /** Only a hint for the placement. A negative time means no end. */
    pool_request &living(std::chrono::nanoseconds expected) {
        lifetime = expected;
        return *this;
    }
    /** Only a hint for the placement: blocks that will probably be freed together. */
    pool_request &grouped(std::uint64_t number) {
        group = number;
        return *this;
    }
    operator ferrum_pool_request() const {
        ferrum_pool_request out = FERRUM_POOL_REQUEST_INIT;
        out.tag = tag.number;
        out.size_bytes = size;
        out.alignment_bytes = alignment;
        out.stream = stream;
        out.expected_lifetime_ns = detail::nanoseconds(lifetime);
        out.group = group;
        return out;
    }
};

namespace detail {

inline void end_pool(ferrum_pool h) noexcept {
    ferrum_pool_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Memory by address. */
class pool : public detail::unique_handle<ferrum_pool, detail::end_pool>,
             public pool_calls<pool> {
  public:
    using unique_handle::unique_handle;
    /* reset of the handle is hidden: this reset frees the blocks. */
    using pool_calls<pool>::reset;

    /** Like alloc, with an owner that frees the block. */
    result<pool_block> try_block(std::uint64_t size,
                                 ferrum_stream on = {}) const {
        ferrum_address out = 0;
        const ferrum_status status = ferrum_pool_alloc(get(), size, on, &out);
        return detail::made<pool_block>(status, get(), out, on);
    }
    pool_block block(std::uint64_t size, ferrum_stream on = {}) const {
        return try_block(size, on).value();
    }
    /** Like alloc_with, with an owner that frees the block. */
    result<pool_block>
    try_block_with(const ferrum_pool_request &request) const {
        ferrum_address out = 0;
        const ferrum_status status =
            ferrum_pool_alloc_with(get(), &request, &out);
        return detail::made<pool_block>(status, get(), out, request.stream);
    }
    pool_block block_with(const ferrum_pool_request &request) const {
        return try_block_with(request).value();
    }

    /** Fills count addresses with blocks of one size: all or none. */
    result<done> try_alloc_batch(std::uint64_t size, ferrum_address *addresses,
                                 std::size_t count,
                                 ferrum_stream on = {}) const {
        return detail::outcome(
            ferrum_pool_alloc_batch(get(), size, count, on, addresses));
    }
    void alloc_batch(std::uint64_t size, ferrum_address *addresses,
                     std::size_t count, ferrum_stream on = {}) const {
        try_alloc_batch(size, addresses, count, on).value();
    }
    result<std::vector<ferrum_address>>
    try_alloc_batch(std::uint64_t size, std::size_t count,
                    ferrum_stream on = {}) const {
        /* The library rejects a count that is out of bounds before it uses the array. */
        std::vector<ferrum_address> out(
            count >= 1 && count <= FERRUM_BATCH_MAX ? count : 1);
        ferrum_status status =
            ferrum_pool_alloc_batch(get(), size, count, on, out.data());
        if (status != FERRUM_OK)
            return failure::last(status);
        return out;
    }
    std::vector<ferrum_address> alloc_batch(std::uint64_t size,
                                            std::size_t count,
                                            ferrum_stream on = {}) const {
        return try_alloc_batch(size, count, on).value();
    }
    /** The number of a tag. It is valid as long as the pool exists. */
    result<pool_tag> try_tag(const char *name) const {
        pool_tag out;
        ferrum_status status = ferrum_pool_get_tag(get(), name, &out.number);
        return detail::outcome(status, out);
    }
    pool_tag tag(const char *name) const { return try_tag(name).value(); }
    /** Destroys it unless blocks are live (BUSY, nothing has changed). */
    result<done> try_destroy() { return ended(ferrum_pool_destroy(get(), 0)); }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_POOL_HPP */

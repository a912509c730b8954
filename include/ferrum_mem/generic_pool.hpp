/*
 * Generic pools: caches of free objects of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_GENERIC_POOL_HPP
#define FERRUM_MEM_GENERIC_POOL_HPP

#include "calls/generic_pool.hpp"
#include "memory_config.hpp"
#include "unique_handle.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace ferrum {

/** A cache of free buffers of any movable type. The pool destroys its free buffers. */
template <class Buffer>
class generic_pool : public generic_pool_calls<generic_pool<Buffer>> {
  public:
    /** A buffer that is in use. put() ends its use. */
    struct lease {
        Buffer buffer;
        std::uint64_t size_bytes;
        std::uint64_t buffer_id;
    };

    static result<generic_pool>
    try_create(const memory_config &config = memory_config()) {
        const ferrum_memory_config raw = config.get();
        ferrum_generic_pool out{};
        ferrum_status status = ferrum_generic_pool_create(&raw, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return generic_pool(out);
    }
    static generic_pool create(const memory_config &config = memory_config()) {
        return try_create(config).value();
    }
    /** An empty object, for a later assignment. */
    generic_pool() = default;
    ferrum_generic_pool get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return bool(handle_); }

    /** Counts a new buffer that is in use. */
    result<lease> try_record(Buffer buffer, std::uint64_t size_bytes,
                             const ferrum_buffer_use *use = nullptr) {
        std::uint64_t id = 0;
        ferrum_status status =
            ferrum_generic_pool_record_allocation(get(), size_bytes, use, &id);
        if (status != FERRUM_OK)
            return failure::last(status);
        return lease{std::move(buffer), size_bytes, id};
    }
    lease record(Buffer buffer, std::uint64_t size_bytes,
                 const ferrum_buffer_use *use = nullptr) {
        return try_record(std::move(buffer), size_bytes, use).value();
    }
    /** Adds a free buffer that was not used yet. On failure the buffer is unchanged. */
    result<done> try_add(Buffer &buffer, std::uint64_t size_bytes) {
        auto held = std::make_unique<Buffer>(std::move(buffer));
        const ferrum_status status =
            ferrum_generic_pool_add_free(get(), word(held.get()), size_bytes);
        if (status != FERRUM_OK) {
            buffer = std::move(*held);
            return failure::last(status);
        }
        held.release();
        return done{};
    }
    void add(Buffer buffer, std::uint64_t size_bytes) {
        try_add(buffer, size_bytes).value();
    }
    /** The smallest free buffer that is large enough, if there is one. */
    result<std::optional<lease>>
    try_take(std::uint64_t min_bytes, const ferrum_buffer_use *use = nullptr) {
        ferrum_buffer_lease raw{};
        std::uint32_t found = 0;
        ferrum_status status =
            ferrum_generic_pool_try_get(get(), min_bytes, use, &raw, &found);
        if (status != FERRUM_OK)
            return failure::last(status);
        if (found == 0)
            return std::optional<lease>();
        return std::optional<lease>(
            lease{own(raw.buffer), raw.size_bytes, raw.buffer_id});
    }
    std::optional<lease> take(std::uint64_t min_bytes,
                              const ferrum_buffer_use *use = nullptr) {
        return try_take(min_bytes, use).value();
    }
    /** Ends the use of a buffer. The buffer is destroyed if its bucket is full. On
     *  failure the lease is unchanged. */
    result<done> try_put(lease &used) {
        auto held = std::make_unique<Buffer>(std::move(used.buffer));
        const ferrum_buffer_lease raw{word(held.get()), used.size_bytes,
                                      used.buffer_id};
        std::uint32_t kept = 0;
        ferrum_status status = ferrum_generic_pool_return(get(), &raw, &kept);
        if (status != FERRUM_OK) {
            used.buffer = std::move(*held);
            return failure::last(status);
        }
        if (kept != 0)
            held.release();
        return done{};
    }
    void put(lease used) { try_put(used).value(); }
    /** Destroys all free buffers, and returns the sum of their sizes. */
    result<std::uint64_t> try_clear() { return clear_of(get()); }
    std::uint64_t clear() { return try_clear().value(); }

    result<memory_stats> try_stats() const {
        memory_stats out;
        const ferrum_status status = ferrum_generic_pool_get_stats(get(), &out);
        return detail::outcome(status, out);
    }
    memory_stats stats() const { return try_stats().value(); }

    /** Destroys the free buffers, and the pool unless buffers are in use (BUSY). */
    result<done> try_destroy() {
        result<std::uint64_t> cleared = try_clear();
        if (!cleared)
            return cleared.why();
        const ferrum_status status = ferrum_generic_pool_destroy(get(), 0);
        if (status == FERRUM_OK)
            handle_.release();
        return detail::outcome(status);
    }
    void destroy() { try_destroy().value(); }

  private:
    explicit generic_pool(ferrum_generic_pool id) : handle_(id) {}

    /* The number of a buffer in the library is its address here. */
    static std::uint64_t word(Buffer *waiting) {
        return reinterpret_cast<std::uintptr_t>(waiting);
    }
    static Buffer *at(std::uint64_t word) noexcept {
        return reinterpret_cast<Buffer *>(word);
    }
    static Buffer own(std::uint64_t word) {
        std::unique_ptr<Buffer> held(at(word));
        return std::move(*held);
    }
    static result<std::uint64_t> clear_of(ferrum_generic_pool pool) {
        std::uint64_t dropped = 0;
        ferrum_buffer_lease gone[64];
        for (std::size_t count = 64; count == 64;) {
            ferrum_status status =
                ferrum_generic_pool_drain(pool, gone, 64, &count);
            if (status != FERRUM_OK)
                return failure::last(status);
            for (std::size_t i = 0; i < count; i++) {
                dropped += gone[i].size_bytes;
                own(gone[i].buffer);
            }
        }
        return dropped;
    }
    static void end(ferrum_generic_pool pool) noexcept {
        ferrum_buffer_lease gone[64];
        std::size_t count = 0;
        while (ferrum_generic_pool_drain(pool, gone, 64, &count) == FERRUM_OK &&
               count > 0)
            for (std::size_t i = 0; i < count; i++)
                delete at(gone[i].buffer);
        ferrum_generic_pool_destroy(pool, FERRUM_FORCE);
    }

    detail::unique_handle<ferrum_generic_pool, end> handle_;
};

} // namespace ferrum

#endif /* FERRUM_MEM_GENERIC_POOL_HPP */

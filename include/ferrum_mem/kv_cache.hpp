/*
 * KV caches: the blocks of a paged KV cache, which sequences share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_KV_CACHE_HPP
#define FERRUM_MEM_KV_CACHE_HPP

#include "calls/kv_cache.hpp"
#include "registration.hpp"
#include "tensor.hpp"
#include "unique_handle.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace ferrum {

namespace detail {

inline void end_kv_cache(ferrum_kv_cache h) noexcept {
    ferrum_kv_cache_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Owns a ferrum_kv_cache. */
class kv_cache
    : public detail::unique_handle<ferrum_kv_cache, detail::end_kv_cache>,
      public kv_cache_calls<kv_cache> {
  public:
    using unique_handle::unique_handle;

    using pressure_function = std::function<void(ferrum_pressure_level)>;

    /** The callable runs on the thread whose call changed the level. An exception from it
     *  terminates the process. */
    result<registration> try_on_pressure(pressure_function callback) const {
        auto held = std::make_shared<pressure_function>(std::move(callback));
        ferrum_registration out{};
        const ferrum_status status = ferrum_kv_cache_pressure_callback_add(
            get(),
            [](ferrum_device, ferrum_pressure_level level,
               void *data) noexcept {
                (*static_cast<pressure_function *>(data))(level);
            },
            held.get(), &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return registration(std::move(held), out);
    }
    registration on_pressure(pressure_function callback) const {
        return try_on_pressure(std::move(callback)).value();
    }

    /** Destroys it. Without FERRUM_FORCE: unless a sequence lives (BUSY, nothing has
     *  changed). */
    result<done> try_destroy(std::uint32_t flags = 0) {
        return ended(ferrum_kv_cache_destroy(get(), flags));
    }
    void destroy(std::uint32_t flags = 0) { try_destroy(flags).value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_KV_CACHE_HPP */

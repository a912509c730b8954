/*
 * Elastic pools: several models in the memory of one device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_ELASTIC_POOL_HPP
#define FERRUM_MEM_ELASTIC_POOL_HPP

#include "calls/elastic_pool.hpp"
#include "registration.hpp"
#include "unique_handle.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace ferrum {

/** A range of a model. */
struct model_range {
    ferrum_address address;
    std::uint64_t offset_bytes;
};

namespace detail {

inline void end_elastic_pool(ferrum_elastic_pool h) noexcept {
    ferrum_elastic_pool_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Several models under one physical limit. */
class elastic_pool : public detail::unique_handle<ferrum_elastic_pool,
                                                  detail::end_elastic_pool>,
                     public elastic_pool_calls<elastic_pool> {
  public:
    using unique_handle::unique_handle;
    using reclaim_function = std::function<std::uint64_t(std::uint64_t)>;

    result<model_range>
    try_alloc_with(const char *model,
                   const ferrum_model_request &request) const {
        model_range out{};
        ferrum_status status = ferrum_elastic_pool_alloc_with(
            get(), model, &request, &out.address, &out.offset_bytes);
        return detail::outcome(status, out);
    }
    model_range alloc_with(const char *model,
                           const ferrum_model_request &request) const {
        return try_alloc_with(model, request).value();
    }
    result<model_range> try_alloc(const char *model, std::uint64_t size) const {
        model_range out{};
        ferrum_status status = ferrum_elastic_pool_alloc(
            get(), model, size, &out.address, &out.offset_bytes);
        return detail::outcome(status, out);
    }
    model_range alloc(const char *model, std::uint64_t size) const {
        return try_alloc(model, size).value();
    }
    /** Maps ranges of these sizes at the first free places: all of them, or none.
     *  Returns their offsets, in the order of sizes. */
    result<std::vector<std::uint64_t>> try_alloc_batch_anywhere(
        const char *model, const std::vector<std::uint64_t> &sizes,
        const ferrum_batch_options *options = nullptr) const {
        /* With a list that is too long, the library uses no array. */
        std::vector<std::uint64_t> out(
            sizes.size() <= FERRUM_BATCH_MAX ? sizes.size() : 0);
        /* The data of an empty vector may be NULL, which the library rejects. */
        if (sizes.empty())
            return out;
        std::uint64_t none = 0;
        ferrum_status status = ferrum_elastic_pool_alloc_batch_anywhere(
            get(), model, sizes.data(), sizes.size(), options,
            out.empty() ? &none : out.data());
        if (status != FERRUM_OK)
            return failure::last(status);
        return out;
    }
    std::vector<std::uint64_t>
    alloc_batch_anywhere(const char *model,
                         const std::vector<std::uint64_t> &sizes,
                         const ferrum_batch_options *options = nullptr) const {
        return try_alloc_batch_anywhere(model, sizes, options).value();
    }
    /** The callable gets the number of needed bytes and returns the number of bytes that
     *  it freed. An exception from it terminates the process. */
    result<registration>
    try_on_reclaim(const char *model, reclaim_function callback,
                   const ferrum_reclaim_config *config = nullptr) const {
        auto held = std::make_shared<reclaim_function>(std::move(callback));
        ferrum_registration out{};
        ferrum_status status = ferrum_elastic_pool_reclaim_callback_add(
            get(), model, config,
            [](ferrum_elastic_pool, const char *, std::uint64_t needed,
               void *data) noexcept {
                return (*static_cast<reclaim_function *>(data))(needed);
            },
            held.get(), &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return registration(std::move(held), out);
    }
    registration
    on_reclaim(const char *model, reclaim_function callback,
               const ferrum_reclaim_config *config = nullptr) const {
        return try_on_reclaim(model, std::move(callback), config).value();
    }
    /** Destroys it unless models have ranges (BUSY, nothing has changed). */
    result<done> try_destroy() {
        return ended(ferrum_elastic_pool_destroy(get(), 0));
    }
    void destroy() { try_destroy().value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_ELASTIC_POOL_HPP */

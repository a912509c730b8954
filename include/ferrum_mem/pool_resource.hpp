/*
 * A pool as a memory resource of the standard library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_POOL_RESOURCE_HPP
#define FERRUM_MEM_POOL_RESOURCE_HPP

#include "device.hpp"
#include "pool.hpp"

#include <cassert>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <utility>

namespace ferrum {

/**
 * A memory resource for standard containers, over a pool of a host-addressable device.
 * The pool must outlive the resource and all its containers.
 */
class pool_resource : public std::pmr::memory_resource {
  public:
    /** Throws ferrum::error with FERRUM_ERROR_UNSUPPORTED_DEVICE if the host cannot
     *  address the device's memory. */
    pool_resource(const device &on, const pool &from) : pool_(from.get()) {
        if ((on.info().capabilities & FERRUM_CAPABILITY_HOST_ADDRESSABLE) != 0)
            return;
        failure why;
        why.status = FERRUM_ERROR_UNSUPPORTED_DEVICE;
        why.operation = "pool_resource";
        why.message = "the host cannot address the device's memory";
        throw error(std::move(why));
    }

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        ferrum_address out = 0;
        ferrum_status status = FERRUM_OK;
        bool usual = alignment <= alignof(std::max_align_t);
        if (usual)
            status = ferrum_pool_alloc(pool_, bytes == 0 ? 1 : bytes, {}, &out);
        if (!usual || (out & (alignment - 1)) != 0) {
            if (usual)
                do_deallocate(reinterpret_cast<void *>(out), bytes, alignment);
            status = aligned(bytes, alignment, &out);
        }
        if (status == FERRUM_ERROR_OUT_OF_MEMORY)
            throw std::bad_alloc();
        if (status != FERRUM_OK)
            throw error(failure::last(status));
        return reinterpret_cast<void *>(out);
    }
    /* The slower way, for a request whose alignment may be above the pool's. */
    ferrum_status aligned(std::size_t bytes, std::size_t alignment,
                          ferrum_address *out) {
        ferrum_pool_request request = FERRUM_POOL_REQUEST_INIT;
        request.size_bytes = bytes == 0 ? 1 : bytes;
        request.alignment_bytes = alignment;
        *out = 0;
        return ferrum_pool_alloc_with(pool_, &request, out);
    }
    void do_deallocate(void *block, std::size_t, std::size_t) override {
        ferrum_status status = ferrum_pool_free(
            pool_, reinterpret_cast<std::uintptr_t>(block), ferrum_stream{});
        assert(status == FERRUM_OK &&
               "a block of another pool, or freed twice");
        (void)status;
    }
    bool do_is_equal(
        const std::pmr::memory_resource &other) const noexcept override {
        auto same = dynamic_cast<const pool_resource *>(&other);
        return same != nullptr && same->pool_.id == pool_.id;
    }

    ferrum_pool pool_;
};

} // namespace ferrum

#endif /* FERRUM_MEM_POOL_RESOURCE_HPP */

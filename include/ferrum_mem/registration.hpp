/*
 * Registered callbacks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_REGISTRATION_HPP
#define FERRUM_MEM_REGISTRATION_HPP

#include "unique_handle.hpp"

#include <memory>
#include <utility>

namespace ferrum {

struct layer;

namespace detail {

inline void end_registration(ferrum_registration h) noexcept {
    ferrum_registration_remove(h);
}

} // namespace detail

/** A callback that is registered while this object exists. It owns the callable. */
class registration {
  public:
    /** An empty object, for a later assignment. */
    registration() noexcept = default;
    registration(registration &&) noexcept = default;
    /* The old handle is removed first, so the library never calls a freed callable. */
    registration &operator=(registration &&other) noexcept {
        handle_ = std::move(other.handle_);
        callable_ = std::move(other.callable_);
        return *this;
    }
    explicit operator bool() const noexcept { return bool(handle_); }
    /** Removes the callback, if there is one, and waits for a running call of it. */
    result<done> try_close() {
        const ferrum_status status =
            handle_ ? ferrum_registration_remove(handle_.get()) : FERRUM_OK;
        if (status == FERRUM_OK)
            handle_.release();
        return detail::outcome(status);
    }
    void close() { try_close().value(); }

  private:
    friend class compute;
    friend class device;
    friend class elastic_pool;
    friend class fallback_manager;
    friend class kv_cache;
    friend class optimization_pass;
    friend class weights;
    friend result<registration> try_register_layer(layer of);
    using handle =
        detail::unique_handle<ferrum_registration, detail::end_registration>;
    registration(std::shared_ptr<void> callable, ferrum_registration id)
        : callable_(std::move(callable)), handle_(id) {}

    /* Destroyed after the handle: members are destroyed in reverse order. */
    std::shared_ptr<void> callable_;
    handle handle_;
};

} // namespace ferrum

#endif /* FERRUM_MEM_REGISTRATION_HPP */

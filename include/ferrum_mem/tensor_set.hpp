/*
 * Tensors in memory: a load, and the tensors that it has loaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_TENSOR_SET_HPP
#define FERRUM_MEM_TENSOR_SET_HPP

#include "calls/tensor_set.hpp"
#include "unique_handle.hpp"

#include <memory>
#include <utility>

namespace ferrum {

namespace detail {

inline void end_tensor_set(ferrum_tensor_set h) noexcept {
    ferrum_tensor_set_free(h, FERRUM_FORCE);
}

} // namespace detail

/** Owns a ferrum_tensor_set and the callable of its load. The destructor cancels a load
 *  that runs. */
class tensor_set : public tensor_set_calls<tensor_set> {
  public:
    /** An empty object, for a later assignment. */
    tensor_set() noexcept = default;
    tensor_set(tensor_set &&) noexcept = default;
    /* The old set is freed first, so the library never calls a freed callable. */
    tensor_set &operator=(tensor_set &&other) noexcept {
        handle_ = std::move(other.handle_);
        callable_ = std::move(other.callable_);
        return *this;
    }
    explicit operator bool() const noexcept { return bool(handle_); }

    ferrum_tensor_set get() const noexcept { return handle_.get(); }

    /** Frees the tensors. On failure the object still owns them. */
    result<done> try_free(std::uint32_t flags = 0) {
        const ferrum_status status = ferrum_tensor_set_free(get(), flags);
        if (status == FERRUM_OK) {
            handle_.release();
            callable_.reset();
        }
        return detail::outcome(status);
    }
    void free(std::uint32_t flags = 0) { try_free(flags).value(); }

  private:
    friend class weights;
    tensor_set(std::shared_ptr<void> callable, ferrum_tensor_set id)
        : callable_(std::move(callable)), handle_(id) {}

    /* Destroyed after the handle: members are destroyed in reverse order. */
    std::shared_ptr<void> callable_;
    detail::unique_handle<ferrum_tensor_set, detail::end_tensor_set> handle_;
};

} // namespace ferrum

#endif /* FERRUM_MEM_TENSOR_SET_HPP */

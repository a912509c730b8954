/*
 * Who owns a handle: the base of the classes of ferrum_mem.hpp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_UNIQUE_HANDLE_HPP
#define FERRUM_MEM_UNIQUE_HANDLE_HPP

#include "result.hpp"

#include <utility>

namespace ferrum {

namespace detail {

/** Owns a handle; Destroy ends it whatever uses it. What it cannot end, the log of
 *  the library tells of: a destructor throws nothing. */
template <class Handle, void (*Destroy)(Handle) noexcept> class unique_handle {
  public:
    unique_handle() noexcept : handle_{} {}
    explicit unique_handle(Handle handle) noexcept : handle_(handle) {}
    unique_handle(unique_handle &&other) noexcept : handle_(other.release()) {}
    unique_handle &operator=(unique_handle &&other) noexcept {
        if (this != &other) {
            reset();
            handle_ = other.release();
        }
        return *this;
    }
    unique_handle(const unique_handle &) = delete;
    unique_handle &operator=(const unique_handle &) = delete;
    ~unique_handle() { reset(); }

    /** The C handle, still owned. */
    Handle get() const noexcept { return handle_; }
    /** The same where a call takes a handle. Not of an object that is about to end. */
    operator Handle() const & noexcept { return handle_; }
    operator Handle() const && = delete;
    explicit operator bool() const noexcept { return handle_.id != 0; }
    /** Gives the handle up without destroying it. */
    Handle release() noexcept { return std::exchange(handle_, Handle{}); }
    /** Destroys it now. */
    void reset() noexcept {
        if (handle_.id != 0)
            Destroy(release());
    }

  protected:
    /** After a call that ends the handle: gives it up if that did. */
    result<done> ended(ferrum_status status) {
        if (status == FERRUM_OK)
            release();
        return outcome(status);
    }

  private:
    Handle handle_;
};

} // namespace detail

} // namespace ferrum

#endif /* FERRUM_MEM_UNIQUE_HANDLE_HPP */

/*
 * Ownership of a handle: the base of the classes of ferrum_mem.hpp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_UNIQUE_HANDLE_HPP
#define FERRUM_MEM_UNIQUE_HANDLE_HPP

#include "result.hpp"

#include <utility>

namespace ferrum {

namespace detail {

/** Owns a handle. Destroy ends the object, also while it is in use. A destructor does
 *  not throw: if the object cannot be ended, the library logs that. */
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
    /** The handle as an argument of a call. Deleted for temporaries, whose handle would
     *  end. */
    operator Handle() const & noexcept { return handle_; }
    operator Handle() const && = delete;
    explicit operator bool() const noexcept { return handle_.id != 0; }
    /** Returns the handle and does not destroy it. */
    Handle release() noexcept { return std::exchange(handle_, Handle{}); }
    /** Destroys the handle. */
    void reset() noexcept {
        if (handle_.id != 0)
            Destroy(release());
    }

  protected:
    /** Gives up the handle if the call has ended it. */
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

/*
 * Callables that the library calls when it releases an object of the caller.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_RELEASE_HPP
#define FERRUM_MEM_RELEASE_HPP

#include "../ferrum_mem.h"

#include <functional>
#include <memory>

namespace ferrum {
namespace detail {

/** Makes a call that takes a release callback. If the call succeeds, the library
 *  owns the copy of the callable and calls it once. */
template <class Call>
ferrum_status releasing(const std::function<void()> &release, Call call) {
    if (!release)
        return call(nullptr, nullptr);
    auto held = std::make_unique<std::function<void()>>(release);
    const ferrum_status status = call(
        [](void *data) noexcept {
            std::unique_ptr<std::function<void()>> mine(
                static_cast<std::function<void()> *>(data));
            (*mine)();
        },
        held.get());
    if (status == FERRUM_OK)
        held.release();
    return status;
}

} // namespace detail
} // namespace ferrum

#endif /* FERRUM_MEM_RELEASE_HPP */

/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_tensor_set.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_TENSOR_SET_HPP
#define FERRUM_MEM_CALLS_TENSOR_SET_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_tensor_set, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class tensor_set_calls {
  public:
    /** Waits until the load is over, and returns its result. */
    result<done> try_wait(std::chrono::nanoseconds timeout = forever) const {
        return detail::outcome(
            ferrum_tensor_set_wait(handle(), detail::nanoseconds(timeout)));
    }
    void wait(std::chrono::nanoseconds timeout = forever) const {
        try_wait(timeout).value();
    }

    /** Makes the load end soon. Has no effect if the load is over. */
    result<done> try_cancel() const {
        return detail::outcome(ferrum_tensor_set_cancel(handle()));
    }
    void cancel() const { try_cancel().value(); }

    /** Returns the progress of the load. Never waits. */
    result<ferrum_weights_progress> try_progress() const {
        ferrum_weights_progress progress_out = FERRUM_WEIGHTS_PROGRESS_INIT;
        const ferrum_status status =
            ferrum_tensor_set_get_progress(handle(), &progress_out);
        return detail::outcome(status, progress_out);
    }
    ferrum_weights_progress progress() const { return try_progress().value(); }

    /** Returns the number of tensors. */
    result<std::uint64_t> try_count() const {
        std::uint64_t count_out = 0;
        const ferrum_status status =
            ferrum_tensor_set_get_count(handle(), &count_out);
        return detail::outcome(status, count_out);
    }
    std::uint64_t count() const { return try_count().value(); }

    /** Returns a tensor by its index in the order of the load, from 0 on. */
    result<ferrum_tensor_info> try_tensor(std::uint64_t index) const {
        ferrum_tensor_info info_out = FERRUM_TENSOR_INFO_INIT;
        const ferrum_status status =
            ferrum_tensor_set_get_tensor(handle(), index, &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_tensor_info tensor(std::uint64_t index) const {
        return try_tensor(index).value();
    }

    /** Returns the name of a tensor by its index. */
    result<std::string> try_tensor_name(std::uint64_t index) const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_tensor_set_get_tensor_name(handle(), index, to,
                                                         room, found);
            });
    }
    std::string tensor_name(std::uint64_t index) const {
        return try_tensor_name(index).value();
    }

    /** Finds a tensor of a set by its name. */
    result<ferrum_tensor_info> try_find(detail::c_text name) const {
        ferrum_tensor_info info_out = FERRUM_TENSOR_INFO_INIT;
        const ferrum_status status =
            ferrum_tensor_set_find(handle(), name.data(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_tensor_info find(detail::c_text name) const {
        return try_find(name).value();
    }

    /**
     * Returns all tensors of a set in their order, as JSON with the fields of
     * docs/weights.md.
     */
    result<std::string> try_tensors_json() const {
        return detail::text([&](char *to, std::size_t room,
                                std::size_t *found) {
            return ferrum_tensor_set_tensors_json(handle(), to, room, found);
        });
    }
    std::string tensors_json() const { return try_tensors_json().value(); }

    /**
     * Checks that no file of a mapped set has become shorter. For a set that is
     * not mapped the check always succeeds.
     */
    result<done> try_check() const {
        return detail::outcome(ferrum_tensor_set_check(handle()));
    }
    void check() const { try_check().value(); }

  private:
    ferrum_tensor_set handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_TENSOR_SET_HPP */

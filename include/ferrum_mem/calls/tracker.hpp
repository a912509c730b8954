/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_tracker.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_TRACKER_HPP
#define FERRUM_MEM_CALLS_TRACKER_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_tracker, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class tracker_calls {
  public:
    /** Creates an empty tracker. It belongs to no device. */
    static result<Self> try_create() {
        ferrum_tracker tracker_out{};
        const ferrum_status status = ferrum_tracker_create(&tracker_out);
        return detail::made<Self>(status, tracker_out);
    }
    static Self create() { return try_create().value(); }

    /**
     * Adds a buffer that was created age_ns ago. An entry with the same id is
     * replaced.
     */
    result<done> try_track(const ferrum_buffer_metadata &metadata) const {
        return detail::outcome(ferrum_tracker_track(handle(), &metadata));
    }
    void track(const ferrum_buffer_metadata &metadata) const {
        try_track(metadata).value();
    }

    /** Removes a buffer. */
    result<ferrum_buffer_metadata> try_untrack(std::uint64_t buffer_id) const {
        ferrum_buffer_metadata metadata_out{};
        const ferrum_status status =
            ferrum_tracker_untrack(handle(), buffer_id, &metadata_out);
        return detail::outcome(status, metadata_out);
    }
    ferrum_buffer_metadata untrack(std::uint64_t buffer_id) const {
        return try_untrack(buffer_id).value();
    }

    /** Lists all buffers, the oldest first. */
    result<std::vector<ferrum_buffer_metadata>> try_all() const {
        return detail::list<ferrum_buffer_metadata>(
            ferrum_buffer_metadata{},
            [&](ferrum_buffer_metadata *to, std::size_t room,
                std::size_t *found) {
                return ferrum_tracker_get_all(handle(), to, room, found);
            });
    }
    std::vector<ferrum_buffer_metadata> all() const {
        return try_all().value();
    }

    /**
     * Lists the buffers that are older than age_ns, like
     * ferrum_tracker_get_all: buffers that may be leaks.
     */
    result<std::vector<ferrum_buffer_metadata>>
    try_find_old(std::chrono::nanoseconds age) const {
        return detail::list<ferrum_buffer_metadata>(
            ferrum_buffer_metadata{},
            [&](ferrum_buffer_metadata *to, std::size_t room,
                std::size_t *found) {
                return ferrum_tracker_find_old(
                    handle(), detail::nanoseconds(age), to, room, found);
            });
    }
    std::vector<ferrum_buffer_metadata>
    find_old(std::chrono::nanoseconds age) const {
        return try_find_old(age).value();
    }

    /** Returns the numbers of a tracker. */
    result<ferrum_tracker_totals> try_totals() const {
        ferrum_tracker_totals totals_out = FERRUM_TRACKER_TOTALS_INIT;
        const ferrum_status status =
            ferrum_tracker_get_totals(handle(), &totals_out);
        return detail::outcome(status, totals_out);
    }
    ferrum_tracker_totals totals() const { return try_totals().value(); }

    /** Removes all entries. The peak stays. */
    result<done> try_clear() const {
        return detail::outcome(ferrum_tracker_clear(handle()));
    }
    void clear() const { try_clear().value(); }

  private:
    ferrum_tracker handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_TRACKER_HPP */

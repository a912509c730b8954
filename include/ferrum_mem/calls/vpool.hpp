/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_vpool.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. What they mean in full, their errors and their threads stand in
 * ferrum_mem.h, at the function that each of them calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_VPOOL_HPP
#define FERRUM_MEM_CALLS_VPOOL_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_vpool, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class vpool_calls {
  public:
    /**
     * Puts memory, readable and writable, behind every page that a range
     * touches: all of them or none. The first bytes are zeros, or what this
     * pool had written there before.
     */
    result<ferrum_address> try_alloc(std::uint64_t offset_bytes,
                                     std::uint64_t size_bytes) const {
        ferrum_address address_out = 0;
        const ferrum_status status = ferrum_vpool_alloc(
            handle(), offset_bytes, size_bytes, &address_out);
        return detail::outcome(status, address_out);
    }
    ferrum_address alloc(std::uint64_t offset_bytes,
                         std::uint64_t size_bytes) const {
        return try_alloc(offset_bytes, size_bytes).value();
    }

    /** As ferrum_vpool_alloc, with all that can be asked for. */
    result<ferrum_address>
    try_alloc_with(const ferrum_vpool_request &request) const {
        ferrum_address address_out = 0;
        const ferrum_status status =
            ferrum_vpool_alloc_with(handle(), &request, &address_out);
        return detail::outcome(status, address_out);
    }
    ferrum_address alloc_with(const ferrum_vpool_request &request) const {
        return try_alloc_with(request).value();
    }

    /**
     * Takes the memory of a range away, once the work is done that is queued
     * now
     */
    result<done> try_free(std::uint64_t offset_bytes, std::uint64_t size_bytes,
                          ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_vpool_free(handle(), offset_bytes, size_bytes, stream));
    }
    void free(std::uint64_t offset_bytes, std::uint64_t size_bytes,
              ferrum_stream stream = {}) const {
        try_free(offset_bytes, size_bytes, stream).value();
    }

    /**
     * Says that a stream uses every page that a range touches too, besides the
     * one that the range was asked for on: once freed, the pages wait for the
     * work that is queued on this stream at the time of their free as well. The
     * range may be a part of an allocation, or of several.
     */
    result<done> try_record_stream(std::uint64_t offset_bytes,
                                   std::uint64_t size_bytes,
                                   ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_vpool_record_stream(
            handle(), offset_bytes, size_bytes, stream));
    }
    void record_stream(std::uint64_t offset_bytes, std::uint64_t size_bytes,
                       ferrum_stream stream = {}) const {
        try_record_stream(offset_bytes, size_bytes, stream).value();
    }

    /**
     * Says whether every page that a range touches is mapped (1) or not (0); 0
     * for one that ends outside or has no bytes.
     */
    result<bool> try_is_mapped(std::uint64_t offset_bytes,
                               std::uint64_t size_bytes) const {
        std::uint32_t mapped_out = 0;
        const ferrum_status status = ferrum_vpool_is_mapped(
            handle(), offset_bytes, size_bytes, &mapped_out);
        return detail::outcome(status, mapped_out != 0);
    }
    bool is_mapped(std::uint64_t offset_bytes, std::uint64_t size_bytes) const {
        return try_is_mapped(offset_bytes, size_bytes).value();
    }

    /** Describes a virtual pool. Does not wait for queued work. */
    result<ferrum_vpool_info> try_info() const {
        ferrum_vpool_info info_out = FERRUM_VPOOL_INFO_INIT;
        const ferrum_status status = ferrum_vpool_get_info(handle(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_vpool_info info() const { return try_info().value(); }

    /** Books of a virtual pool: its live blocks are ranges. */
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics statistics_out = FERRUM_STATISTICS_INIT;
        const ferrum_status status =
            ferrum_vpool_get_statistics(handle(), &statistics_out);
        return detail::outcome(status, statistics_out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }

    /**
     * Brings together what nobody uses: parked pages leave their ranges, of the
     * free pages those that lie together are kept, as many as are kept ready,
     * and the others go back to the device. What is mapped stays where it is.
     */
    result<ferrum_compact_report> try_compact() const {
        ferrum_compact_report report_out = FERRUM_COMPACT_REPORT_INIT;
        const ferrum_status status =
            ferrum_vpool_compact(handle(), &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_compact_report compact() const { return try_compact().value(); }

    /**
     * Gives parked and ready pages back to the device until no more than
     * keep_bytes of them are held.
     */
    result<std::uint64_t> try_trim(std::uint64_t keep_bytes = 0) const {
        std::uint64_t released_bytes_out = 0;
        const ferrum_status status =
            ferrum_vpool_trim(handle(), keep_bytes, &released_bytes_out);
        return detail::outcome(status, released_bytes_out);
    }
    std::uint64_t trim(std::uint64_t keep_bytes = 0) const {
        return try_trim(keep_bytes).value();
    }

    /**
     * Changes the limit while the pool works; 0: what the device has. What is
     * mapped stays; free pages above the limit go back to the device, movable
     * ones by the pool's worker and after the call.
     */
    result<done> try_set_limit(std::uint64_t limit_bytes) const {
        return detail::outcome(ferrum_vpool_set_limit(handle(), limit_bytes));
    }
    void set_limit(std::uint64_t limit_bytes) const {
        try_set_limit(limit_bytes).value();
    }

    /** Waits until no range of the pool is retiring any more. */
    result<done>
    try_synchronize(std::chrono::nanoseconds timeout = forever) const {
        return detail::outcome(
            ferrum_vpool_synchronize(handle(), detail::nanoseconds(timeout)));
    }
    void synchronize(std::chrono::nanoseconds timeout = forever) const {
        try_synchronize(timeout).value();
    }

    /**
     * Has the pool's worker make no more pages ready, until
     * ferrum_vpool_resume. What it is at, it has ended when the call returns.
     */
    result<done> try_pause() const {
        return detail::outcome(ferrum_vpool_pause(handle()));
    }
    void pause() const { try_pause().value(); }

    /** Ends a ferrum_vpool_pause. */
    result<done> try_resume() const {
        return detail::outcome(ferrum_vpool_resume(handle()));
    }
    void resume() const { try_resume().value(); }

    /**
     * Puts ranges of a virtual pool to sleep, when the work is done that the
     * settings name. What slept before stays as it is. A call that fails
     * changes nothing and may be repeated. Where the device refuses to unmap a
     * part, and also to take that back, the call goes on instead and works: all
     * of it sleeps, and that part is not given up.
     */
    result<ferrum_sleep_report>
    try_sleep(const ferrum_sleep_config *config = nullptr) const {
        ferrum_sleep_report report_out = FERRUM_SLEEP_REPORT_INIT;
        const ferrum_status status =
            ferrum_vpool_sleep(handle(), config, &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_sleep_report
    sleep(const ferrum_sleep_config *config = nullptr) const {
        return try_sleep(config).value();
    }

    /**
     * Wakes ranges of a virtual pool at the addresses that they had. When it
     * fails all of them sleep as before, with all that is kept of them, and the
     * call may be repeated. Pages that the device then refuses to unmap count
     * as used until they are.
     */
    result<ferrum_wake_report>
    try_wake(const ferrum_wake_config *config = nullptr) const {
        ferrum_wake_report report_out = FERRUM_WAKE_REPORT_INIT;
        const ferrum_status status =
            ferrum_vpool_wake(handle(), config, &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_wake_report wake(const ferrum_wake_config *config = nullptr) const {
        return try_wake(config).value();
    }

    /** Says whether a tag of a virtual pool sleeps (1) or not (0). */
    result<bool> try_is_asleep(detail::c_text tag = nullptr) const {
        std::uint32_t asleep_out = 0;
        const ferrum_status status =
            ferrum_vpool_is_asleep(handle(), tag.data(), &asleep_out);
        return detail::outcome(status, asleep_out != 0);
    }
    bool is_asleep(detail::c_text tag = nullptr) const {
        return try_is_asleep(tag).value();
    }

    /**
     * As ferrum_vpool_export, by fabric handles: bytes that mean the pages in
     * processes of other hosts as well, as far as a fabric connects them
     * (NVLink between hosts). They can be sent in any way, and there is nothing
     * to close; a handle keeps no memory. For a pool with
     * FERRUM_BACKING_FABRIC.
     */
    result<std::vector<std::uint8_t>>
    try_export_fabric(std::uint64_t offset_bytes,
                      std::uint64_t size_bytes) const {
        return detail::list<std::uint8_t>(
            std::uint8_t{},
            [&](std::uint8_t *to, std::size_t room, std::size_t *count) {
                return ferrum_vpool_export_fabric(handle(), offset_bytes,
                                                  size_bytes, to, room, count);
            });
    }
    std::vector<std::uint8_t> export_fabric(std::uint64_t offset_bytes,
                                            std::uint64_t size_bytes) const {
        return try_export_fabric(offset_bytes, size_bytes).value();
    }

  private:
    ferrum_vpool handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_VPOOL_HPP */

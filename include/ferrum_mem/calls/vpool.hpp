/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_vpool.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
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
     * Maps readable and writable memory at every page that a range touches: at
     * all of them, or at none on failure. The first bytes are zeros, or bytes
     * that this pool wrote before.
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

    /** The same as ferrum_vpool_alloc, with all options. */
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
     * Maps memory at many ranges: at all of them, or at none on failure. Each
     * range becomes an allocation of its own, as if ferrum_vpool_alloc_with had
     * made it, and is freed alone or with others. One call costs less than one
     * call for each range: the lock is taken once, the limit is checked once
     * for the sum of all pages, and ranges that lie side by side are mapped
     * together. The address of a range is the base address + its offset.
     */
    result<done>
    try_alloc_batch(const ferrum_byte_range *ranges, std::size_t count,
                    const ferrum_batch_options *options = nullptr) const {
        return detail::outcome(
            ferrum_vpool_alloc_batch(handle(), ranges, count, options));
    }
    void alloc_batch(const ferrum_byte_range *ranges, std::size_t count,
                     const ferrum_batch_options *options = nullptr) const {
        try_alloc_batch(ranges, count, options).value();
    }
    result<done>
    try_alloc_batch(const std::vector<ferrum_byte_range> &ranges,
                    const ferrum_batch_options *options = nullptr) const {
        return try_alloc_batch(detail::items(ranges), ranges.size(), options);
    }
    void alloc_batch(const std::vector<ferrum_byte_range> &ranges,
                     const ferrum_batch_options *options = nullptr) const {
        try_alloc_batch(ranges, options).value();
    }

    /**
     * Frees a range. The pool reuses its memory when the work has completed
     * that is queued now
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
     * Frees many ranges: all of them, or none on failure. Each range follows
     * the rules of ferrum_vpool_free, and waits for the streams that use it and
     * not for those that use another one. Some ranges may be asleep and others
     * not. The call checks all ranges before it changes anything. Its only
     * calls of the driver record the ends of the queues of streams, before the
     * first change. It does not unmap: the pool does that later. So a failure
     * of the driver leaves all ranges mapped.
     */
    result<done> try_free_batch(const ferrum_byte_range *ranges,
                                std::size_t count,
                                ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_vpool_free_batch(handle(), ranges, count, stream));
    }
    void free_batch(const ferrum_byte_range *ranges, std::size_t count,
                    ferrum_stream stream = {}) const {
        try_free_batch(ranges, count, stream).value();
    }
    result<done> try_free_batch(const std::vector<ferrum_byte_range> &ranges,
                                ferrum_stream stream = {}) const {
        return try_free_batch(detail::items(ranges), ranges.size(), stream);
    }
    void free_batch(const std::vector<ferrum_byte_range> &ranges,
                    ferrum_stream stream = {}) const {
        try_free_batch(ranges, stream).value();
    }

    /**
     * Records a further stream that uses every page that a range touches. When
     * the pages are freed, the free also waits for the work that is queued on
     * this stream at that time. The range may be a part of an allocation, or of
     * several allocations. The stream that a range belongs to does not need
     * this call.
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
     * Records a further stream that uses many ranges: all of them, or none on
     * failure. Each range follows the rules of ferrum_vpool_record_stream. The
     * call makes no call of the driver before it has recorded the stream for
     * all ranges.
     */
    result<done> try_record_stream_batch(const ferrum_byte_range *ranges,
                                         std::size_t count,
                                         ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_vpool_record_stream_batch(handle(), ranges, count, stream));
    }
    void record_stream_batch(const ferrum_byte_range *ranges, std::size_t count,
                             ferrum_stream stream = {}) const {
        try_record_stream_batch(ranges, count, stream).value();
    }
    result<done>
    try_record_stream_batch(const std::vector<ferrum_byte_range> &ranges,
                            ferrum_stream stream = {}) const {
        return try_record_stream_batch(detail::items(ranges), ranges.size(),
                                       stream);
    }
    void record_stream_batch(const std::vector<ferrum_byte_range> &ranges,
                             ferrum_stream stream = {}) const {
        try_record_stream_batch(ranges, stream).value();
    }

    /**
     * Returns whether every page that a range touches is mapped (1) or not (0).
     * The result is 0 for a range that ends outside the pool or has no bytes.
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

    /** Returns the counters of a virtual pool. Its live blocks are ranges. */
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics statistics_out = FERRUM_STATISTICS_INIT;
        const ferrum_status status =
            ferrum_vpool_get_statistics(handle(), &statistics_out);
        return detail::outcome(status, statistics_out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }

    /**
     * Joins unused pages. The call unmaps parked pages. It keeps ready_pages
     * free pages, adjacent ones first, and releases the others to the device.
     * Mapped ranges keep their places.
     */
    result<ferrum_compact_report> try_compact() const {
        ferrum_compact_report report_out = FERRUM_COMPACT_REPORT_INIT;
        const ferrum_status status =
            ferrum_vpool_compact(handle(), &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_compact_report compact() const { return try_compact().value(); }

    /**
     * Releases parked and ready pages to the device, until the pool holds no
     * more than keep_bytes of them.
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
     * Changes the limit while the pool is in use; 0: the memory of the device.
     * Mapped ranges stay. Free pages above the limit are released to the
     * device. For movable pages the worker of the pool does that after the
     * call.
     */
    result<done> try_set_limit(std::uint64_t limit_bytes) const {
        return detail::outcome(ferrum_vpool_set_limit(handle(), limit_bytes));
    }
    void set_limit(std::uint64_t limit_bytes) const {
        try_set_limit(limit_bytes).value();
    }

    /** Waits until the pool has no retiring range. */
    result<done>
    try_synchronize(std::chrono::nanoseconds timeout = forever) const {
        return detail::outcome(
            ferrum_vpool_synchronize(handle(), detail::nanoseconds(timeout)));
    }
    void synchronize(std::chrono::nanoseconds timeout = forever) const {
        try_synchronize(timeout).value();
    }

    /**
     * Stops the worker of the pool from making pages ready, until
     * ferrum_vpool_resume. The call returns when the worker has finished its
     * present step.
     */
    result<done> try_pause() const {
        return detail::outcome(ferrum_vpool_pause(handle()));
    }
    void pause() const { try_pause().value(); }

    /** Undoes a ferrum_vpool_pause. */
    result<done> try_resume() const {
        return detail::outcome(ferrum_vpool_resume(handle()));
    }
    void resume() const { try_resume().value(); }

    /**
     * Puts ranges of a virtual pool to sleep, after the work that the settings
     * name has completed. Ranges that were asleep before stay as they are. A
     * failed call changes nothing and may be repeated. There is one exception
     * to failing: when the device fails to unmap some pages, and also fails to
     * map the others again, the call succeeds. All ranges are asleep then, and
     * the memory of these pages is not released.
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
     * Wakes ranges of a virtual pool at the addresses that they had. After a
     * failure all of them are asleep as before, with their contents, and the
     * call may be repeated. Pages that the device then fails to unmap count as
     * used until they are unmapped.
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

    /** Returns whether a tag of a virtual pool is asleep (1) or not (0). */
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
     * The same as ferrum_vpool_export, with fabric handles: bytes that name the
     * pages also for processes on other hosts, as far as a fabric connects them
     * (NVLink between hosts). They can be sent in any way and need not be
     * closed. A handle does not keep the memory allocated. For a pool with
     * FERRUM_BACKING_FABRIC.
     */
    result<std::vector<std::uint8_t>>
    try_export_fabric(std::uint64_t offset_bytes,
                      std::uint64_t size_bytes) const {
        return detail::list<std::uint8_t>(
            std::uint8_t{},
            [&](std::uint8_t *to, std::size_t room, std::size_t *found) {
                return ferrum_vpool_export_fabric(handle(), offset_bytes,
                                                  size_bytes, to, room, found);
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

/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_memory.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_MEMORY_HPP
#define FERRUM_MEM_CALLS_MEMORY_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_memory, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class memory_calls {
  public:
    /** Describes a block. FERRUM_ERROR_INVALID_HANDLE for an unknown one. */
    result<ferrum_handle_info> try_handle_info() const {
        ferrum_handle_info info_out = FERRUM_HANDLE_INFO_INIT;
        const ferrum_status status =
            ferrum_memory_get_handle_info(handle(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_handle_info handle_info() const { return try_handle_info().value(); }

    /**
     * Returns the address of a block, and keeps the block at this address until
     * ferrum_memory_unpin has been called as often as ferrum_memory_pin. Use it
     * for work on the address that the library does not know of. Every block
     * can be pinned. The call waits for a running move of the block. A pinned
     * block cannot be freed. Destroying its manager with FERRUM_FORCE frees it.
     */
    result<ferrum_address> try_pin() const {
        ferrum_address address_out = 0;
        const ferrum_status status = ferrum_memory_pin(handle(), &address_out);
        return detail::outcome(status, address_out);
    }
    ferrum_address pin() const { return try_pin().value(); }

    /** Undoes one ferrum_memory_pin. */
    result<done> try_unpin() const {
        return detail::outcome(ferrum_memory_unpin(handle()));
    }
    void unpin() const { try_unpin().value(); }

    /**
     * Copies bytes from one block to another, or within one block (like
     * memmove), and returns when the copy has completed. The call waits for
     * earlier work on streams that use the two blocks.
     */
    static result<done> try_copy(const ferrum_transfer &transfer) {
        return detail::outcome(ferrum_memory_copy(&transfer));
    }
    static void copy(const ferrum_transfer &transfer) {
        try_copy(transfer).value();
    }

    /**
     * Queues a copy on a stream and returns. The memory of both blocks stays
     * valid until the copy has completed, also when a block is freed meanwhile.
     * At most max_concurrent_transfers copies of the destination's manager are
     * in flight; the call waits for a transfer slot.
     */
    static result<done> try_copy_async(const ferrum_transfer &transfer,
                                       ferrum_stream stream = {}) {
        return detail::outcome(ferrum_memory_copy_async(&transfer, stream));
    }
    static void copy_async(const ferrum_transfer &transfer,
                           ferrum_stream stream = {}) {
        try_copy_async(transfer, stream).value();
    }

    /**
     * Copies from the caller's memory into a block, and returns when the copy
     * has completed.
     */
    result<done> try_write(std::uint64_t offset_bytes, const void *source,
                           std::uint64_t size_bytes) const {
        return detail::outcome(
            ferrum_memory_write(handle(), offset_bytes, source, size_bytes));
    }
    void write(std::uint64_t offset_bytes, const void *source,
               std::uint64_t size_bytes) const {
        try_write(offset_bytes, source, size_bytes).value();
    }

    /**
     * Copies from a block into the caller's memory, and returns when the copy
     * has completed.
     */
    result<done> try_read(std::uint64_t offset_bytes, void *destination,
                          std::uint64_t size_bytes) const {
        return detail::outcome(ferrum_memory_read(handle(), offset_bytes,
                                                  destination, size_bytes));
    }
    void read(std::uint64_t offset_bytes, void *destination,
              std::uint64_t size_bytes) const {
        try_read(offset_bytes, destination, size_bytes).value();
    }

    /**
     * Queues a fill on a stream and returns. The memory of the block stays
     * valid until the fill has completed.
     */
    static result<done> try_fill_async(const ferrum_fill &fill,
                                       ferrum_stream stream = {}) {
        return detail::outcome(ferrum_memory_fill_async(&fill, stream));
    }
    static void fill_async(const ferrum_fill &fill, ferrum_stream stream = {}) {
        try_fill_async(fill, stream).value();
    }

    /**
     * Queues a prefetch of a block to a device that will use it, and returns.
     * The contents stay the same. A prefetch is not counted as an access. On
     * the host, the system allocates the physical memory of the block. On other
     * devices, FERRUM_MEMORY_MANAGED migrates to the target (a host device
     * means the host); other memory stays.
     */
    result<done> try_prefetch(ferrum_device target,
                              ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_memory_prefetch(handle(), target, stream));
    }
    void prefetch(ferrum_device target, ferrum_stream stream = {}) const {
        try_prefetch(target, stream).value();
    }

    /**
     * Stores a hint with a block, in place of an earlier hint of the same
     * group. FERRUM_USAGE_NONE removes all hints. Programs read hints with
     * ferrum_memory_get_usage_hints. The library itself uses them only for
     * FERRUM_MEMORY_MANAGED: it passes FERRUM_USAGE_READ_MOSTLY (each reader
     * may have a copy) and FERRUM_USAGE_RESIDENT (the memory stays at the
     * device) to the device. If the device rejects one, the hints stay as they
     * were.
     */
    result<done> try_set_usage_hint(ferrum_usage_hint hint) const {
        return detail::outcome(ferrum_memory_set_usage_hint(handle(), hint));
    }
    void set_usage_hint(ferrum_usage_hint hint) const {
        try_set_usage_hint(hint).value();
    }

    /** Returns the hints of a block. */
    result<ferrum_usage_hints> try_usage_hints() const {
        ferrum_usage_hints hints_out = FERRUM_USAGE_HINTS_INIT;
        const ferrum_status status =
            ferrum_memory_get_usage_hints(handle(), &hints_out);
        return detail::outcome(status, hints_out);
    }
    ferrum_usage_hints usage_hints() const { return try_usage_hints().value(); }

    /**
     * Returns the access statistics of a block. Only managers with
     * enable_tracking record them; other managers have no cost for them.
     */
    result<ferrum_access_stats> try_access_stats() const {
        ferrum_access_stats stats_out = FERRUM_ACCESS_STATS_INIT;
        const ferrum_status status =
            ferrum_memory_get_access_stats(handle(), &stats_out);
        return detail::outcome(status, stats_out);
    }
    ferrum_access_stats access_stats() const {
        return try_access_stats().value();
    }

  private:
    ferrum_memory handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_MEMORY_HPP */

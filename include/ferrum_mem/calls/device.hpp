/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_device.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_DEVICE_HPP
#define FERRUM_MEM_CALLS_DEVICE_HPP

#include "../elastic_pool.hpp"
#include "../event.hpp"
#include "../manager.hpp"
#include "../pool.hpp"
#include "../result.hpp"
#include "../stream.hpp"
#include "../vpool.hpp"

namespace ferrum {

/** The calls of a ferrum_device, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class device_calls {
  public:
    /**
     * Returns whether a number of bytes fits into a device, with the rule of
     * ferrum_backend_select.
     */
    static result<bool> try_can_fit(detail::c_text id, std::uint64_t bytes) {
        std::uint32_t fits_out = 0;
        const ferrum_status status =
            ferrum_device_can_fit(id.data(), bytes, &fits_out);
        return detail::outcome(status, fits_out != 0);
    }
    static bool can_fit(detail::c_text id, std::uint64_t bytes) {
        return try_can_fit(id, bytes).value();
    }

    /**
     * Opens a device. If the device is open already, the call returns the same
     * handle. Each call must be undone by one ferrum_device_close.
     */
    static result<Self> try_open(detail::c_text id) {
        ferrum_device device_out{};
        const ferrum_status status = ferrum_device_open(id.data(), &device_out);
        return detail::made<Self>(status, device_out);
    }
    static Self open(detail::c_text id) { return try_open(id).value(); }

    /** Describes an open device. */
    result<ferrum_device_info> try_info() const {
        ferrum_device_info info_out = FERRUM_DEVICE_INFO_INIT;
        const ferrum_status status =
            ferrum_device_get_info(handle(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_device_info info() const { return try_info().value(); }

    /** Waits until no stream of the device has queued work. */
    result<done>
    try_synchronize(std::chrono::nanoseconds timeout = forever) const {
        return detail::outcome(
            ferrum_device_synchronize(handle(), detail::nanoseconds(timeout)));
    }
    void synchronize(std::chrono::nanoseconds timeout = forever) const {
        try_synchronize(timeout).value();
    }

    /**
     * Limits the memory that this library holds from the device, for all pools
     * and managers together. 0 removes the limit. A limit below the held memory
     * releases cached memory. Live blocks stay, and no further memory is
     * allocated from the device until the held memory is below the limit.
     */
    result<done> try_set_limit(std::uint64_t limit_bytes) const {
        return detail::outcome(ferrum_device_set_limit(handle(), limit_bytes));
    }
    void set_limit(std::uint64_t limit_bytes) const {
        try_set_limit(limit_bytes).value();
    }

    /**
     * Measures the copy bandwidth of the device by timed copies between two
     * temporary segments of at most 64 MiB each. The call takes some tens of
     * milliseconds and then releases the segments. From then on
     * ferrum_device_get_memory_info reports the bandwidth.
     */
    result<double> try_measure_bandwidth() const {
        double gbps_out = 0;
        const ferrum_status status =
            ferrum_device_measure_bandwidth(handle(), &gbps_out);
        return detail::outcome(status, gbps_out);
    }
    double measure_bandwidth() const { return try_measure_bandwidth().value(); }

    /** Queries the memory of a device, with all uses of it. */
    result<ferrum_memory_info> try_memory_info() const {
        ferrum_memory_info info_out = FERRUM_MEMORY_INFO_INIT;
        const ferrum_status status =
            ferrum_device_get_memory_info(handle(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_memory_info memory_info() const { return try_memory_info().value(); }

    /**
     * Returns the same as ferrum_device_get_memory_info, computed from the
     * counters and the latest reading of the device, if that reading is no
     * older than max_age_ns. Otherwise the call reads the device again. The
     * call is much quicker with an old reading, and does not delay other
     * threads.
     */
    result<ferrum_memory_info>
    try_recent_memory_info(std::chrono::nanoseconds max_age) const {
        ferrum_memory_info info_out = FERRUM_MEMORY_INFO_INIT;
        const ferrum_status status = ferrum_device_get_recent_memory_info(
            handle(), detail::nanoseconds(max_age), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_memory_info
    recent_memory_info(std::chrono::nanoseconds max_age) const {
        return try_recent_memory_info(max_age).value();
    }

    /**
     * Returns the counters of a device: the sum over its pools and managers.
     */
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics statistics_out = FERRUM_STATISTICS_INIT;
        const ferrum_status status =
            ferrum_device_get_statistics(handle(), &statistics_out);
        return detail::outcome(status, statistics_out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }

    /**
     * Creates a stream on a device. The thread of the stream starts with the
     * first work.
     */
    result<stream> try_create_stream() const {
        ferrum_stream stream_out{};
        const ferrum_status status =
            ferrum_stream_create(handle(), &stream_out);
        return detail::made<stream>(status, stream_out);
    }
    stream create_stream() const { return try_create_stream().value(); }

    /** Returns the default stream of a device: the same handle each time. */
    result<ferrum_stream> try_default_stream() const {
        ferrum_stream stream_out{};
        const ferrum_status status =
            ferrum_stream_default(handle(), &stream_out);
        return detail::outcome(status, stream_out);
    }
    ferrum_stream default_stream() const {
        return try_default_stream().value();
    }

    /** Creates a pool on a device. */
    result<pool>
    try_create_pool(const ferrum_pool_config *config = nullptr) const {
        ferrum_pool pool_out{};
        const ferrum_status status =
            ferrum_pool_create(handle(), config, &pool_out);
        return detail::made<pool>(status, pool_out);
    }
    pool create_pool(const ferrum_pool_config *config = nullptr) const {
        return try_create_pool(config).value();
    }

    /**
     * Finds the pool and the block that an address of a device belongs to. It
     * is meant for debuggers: it may traverse every block of a pool, in slices,
     * while other threads continue.
     */
    result<ferrum_block_info> try_owner(ferrum_address address) const {
        ferrum_block_info info_out = FERRUM_BLOCK_INFO_INIT;
        const ferrum_status status =
            ferrum_device_get_owner(handle(), address, &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_block_info owner(ferrum_address address) const {
        return try_owner(address).value();
    }

    /**
     * Returns where the live block at an address was allocated, as a JSON array
     * of strings, the innermost function first: ["engine.py:12 (load)",
     * "engine+0x12f4 (allocate)"]. It is empty unless the pool of the block,
     * which may be that of a manager, has FERRUM_DEBUG_CALL_SITES. For
     * debuggers, as ferrum_device_get_owner.
     */
    result<std::string> try_call_site_json(ferrum_address address) const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_device_get_call_site_json(handle(), address, to,
                                                        room, found);
            });
    }
    std::string call_site_json(ferrum_address address) const {
        return try_call_site_json(address).value();
    }

    /**
     * Creates a memory manager on a device. It holds no memory before the first
     * allocation, unless a pool setting requests it.
     */
    result<manager>
    try_create_manager(const ferrum_manager_config *config = nullptr) const {
        ferrum_manager manager_out{};
        const ferrum_status status =
            ferrum_manager_create(handle(), config, &manager_out);
        return detail::made<manager>(status, manager_out);
    }
    manager
    create_manager(const ferrum_manager_config *config = nullptr) const {
        return try_create_manager(config).value();
    }

    /** Returns the page sizes of a device. */
    result<ferrum_page_sizes> try_page_sizes() const {
        ferrum_page_sizes sizes_out = FERRUM_PAGE_SIZES_INIT;
        const ferrum_status status =
            ferrum_device_get_page_sizes(handle(), &sizes_out);
        return detail::outcome(status, sizes_out);
    }
    ferrum_page_sizes page_sizes() const { return try_page_sizes().value(); }

    /**
     * Creates a virtual pool. It reserves address space, and allocates memory
     * only for its tables.
     */
    result<vpool> try_create_vpool(const ferrum_vpool_config &config) const {
        ferrum_vpool vpool_out{};
        const ferrum_status status =
            ferrum_vpool_create(handle(), &config, &vpool_out);
        return detail::made<vpool>(status, vpool_out);
    }
    vpool create_vpool(const ferrum_vpool_config &config) const {
        return try_create_vpool(config).value();
    }

    /**
     * Creates an elastic pool without models. The pool allocates nothing from
     * the device yet.
     */
    result<elastic_pool> try_create_elastic_pool(
        const ferrum_elastic_pool_config *config = nullptr) const {
        ferrum_elastic_pool pool_out{};
        const ferrum_status status =
            ferrum_elastic_pool_create(handle(), config, &pool_out);
        return detail::made<elastic_pool>(status, pool_out);
    }
    elastic_pool create_elastic_pool(
        const ferrum_elastic_pool_config *config = nullptr) const {
        return try_create_elastic_pool(config).value();
    }

    /**
     * Gives a handle to an external stream, for every call that takes a stream.
     * Calls that wait for the stream also wait for the work that its owner
     * queued there. Only ferrum_stream_is_ready covers just the work that was
     * queued through the handle.
     */
    result<stream>
    try_adopt_stream(const ferrum_foreign_stream &foreign) const {
        ferrum_stream stream_out{};
        const ferrum_status status =
            ferrum_stream_adopt(handle(), &foreign, &stream_out);
        return detail::made<stream>(status, stream_out);
    }
    stream adopt_stream(const ferrum_foreign_stream &foreign) const {
        return try_adopt_stream(foreign).value();
    }

    /**
     * Gives a handle to an external event, for every call that takes an event.
     * The handle stands for the latest recording by the owner, and has no time.
     */
    result<event> try_adopt_event(std::uint64_t native_handle) const {
        ferrum_event event_out{};
        const ferrum_status status =
            ferrum_event_adopt(handle(), native_handle, &event_out);
        return detail::made<event>(status, event_out);
    }
    event adopt_event(std::uint64_t native_handle) const {
        return try_adopt_event(native_handle).value();
    }

    /**
     * Opens a device on a context that the program created in the runtime of
     * the device's vendor, such as a CUcontext. The program must keep the
     * context until the device is closed. The library uses only this context
     * for the device, and closing the device does not destroy it.
     * ferrum_device_open of a device that is open returns its handle, with
     * either kind of context.
     */
    static result<Self> try_open_native(detail::c_text id,
                                        std::uint64_t native_context) {
        ferrum_device device_out{};
        const ferrum_status status =
            ferrum_device_open_native(id.data(), native_context, &device_out);
        return detail::made<Self>(status, device_out);
    }
    static Self open_native(detail::c_text id, std::uint64_t native_context) {
        return try_open_native(id, native_context).value();
    }

    /**
     * Returns the context that the library uses for a device, such as the
     * CUcontext. The library owns it, and destroys it when the device is
     * closed.
     */
    result<std::uint64_t> try_native() const {
        std::uint64_t native_out = 0;
        const ferrum_status status =
            ferrum_device_get_native(handle(), &native_out);
        return detail::outcome(status, native_out);
    }
    std::uint64_t native() const { return try_native().value(); }

    /**
     * Allows work of another device, such as a kernel that the library does not
     * know of, to use the memory of a device: its allocations, and memory that
     * is mapped in virtual memory now and later, with the access rights of the
     * device itself. The access ends when one of the devices is closed. On
     * devices whose memory the process can address, the call has no effect.
     */
    result<done> try_grant_peer(ferrum_device peer) const {
        return detail::outcome(ferrum_device_grant_peer(handle(), peer));
    }
    void grant_peer(ferrum_device peer) const { try_grant_peer(peer).value(); }

    /**
     * Describes a range of plain device memory for other processes, with the
     * vendor's handles (CUDA's IPC). Memory of paged pools has no such handle:
     * use ferrum_vpool_export, or a pool with FERRUM_PAGING_OFF, which has
     * plain memory. The memory stays allocated while other processes have it
     * open.
     */
    result<ferrum_shared_memory>
    try_share_memory(ferrum_address address, std::uint64_t size_bytes) const {
        ferrum_shared_memory shared_out = FERRUM_SHARED_MEMORY_INIT;
        const ferrum_status status = ferrum_device_share_memory(
            handle(), address, size_bytes, &shared_out);
        return detail::outcome(status, shared_out);
    }
    ferrum_shared_memory share_memory(ferrum_address address,
                                      std::uint64_t size_bytes) const {
        return try_share_memory(address, size_bytes).value();
    }

    /**
     * Gives a handle to an event that another process shared, for every call
     * that takes an event.
     */
    result<event> try_open_event(const ferrum_shared_event &shared) const {
        ferrum_event event_out{};
        const ferrum_status status =
            ferrum_event_open(handle(), &shared, &event_out);
        return detail::made<event>(status, event_out);
    }
    event open_event(const ferrum_shared_event &shared) const {
        return try_open_event(shared).value();
    }

  private:
    ferrum_device handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_DEVICE_HPP */

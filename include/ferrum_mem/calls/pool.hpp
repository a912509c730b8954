/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_pool.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_POOL_HPP
#define FERRUM_MEM_CALLS_POOL_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_pool, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class pool_calls {
  public:
    /**
     * Allocates a block from a pool. The block belongs to the stream of the
     * request. Every free of the block waits for the work that is queued on
     * that stream at the time of the free.
     */
    result<ferrum_address> try_alloc(std::uint64_t size_bytes,
                                     ferrum_stream stream = {}) const {
        ferrum_address address_out = 0;
        const ferrum_status status =
            ferrum_pool_alloc(handle(), size_bytes, stream, &address_out);
        return detail::outcome(status, address_out);
    }
    ferrum_address alloc(std::uint64_t size_bytes,
                         ferrum_stream stream = {}) const {
        return try_alloc(size_bytes, stream).value();
    }

    /** The same as ferrum_pool_alloc, with all options. */
    result<ferrum_address>
    try_alloc_with(const ferrum_pool_request &request) const {
        ferrum_address address_out = 0;
        const ferrum_status status =
            ferrum_pool_alloc_with(handle(), &request, &address_out);
        return detail::outcome(status, address_out);
    }
    ferrum_address alloc_with(const ferrum_pool_request &request) const {
        return try_alloc_with(request).value();
    }

    /**
     * Frees a block. The pool reuses its memory when the work has completed
     * that is queued now
     */
    result<done> try_free(ferrum_address address,
                          ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_pool_free(handle(), address, stream));
    }
    void free(ferrum_address address, ferrum_stream stream = {}) const {
        try_free(address, stream).value();
    }

    /**
     * The same as ferrum_pool_free, with a check of the requested size. It
     * waits for the same streams.
     */
    result<done> try_free_sized(ferrum_address address,
                                std::uint64_t size_bytes,
                                ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_pool_free_sized(handle(), address, size_bytes, stream));
    }
    void free_sized(ferrum_address address, std::uint64_t size_bytes,
                    ferrum_stream stream = {}) const {
        try_free_sized(address, size_bytes, stream).value();
    }

    /**
     * Frees count blocks: all of them, or none on failure. Each free waits for
     * the same streams as ferrum_pool_free. The call frees a large batch in
     * slices, and other threads wait for one slice at most. Meanwhile a call of
     * another thread may find a block of the batch already freed, also when the
     * batch fails in the end.
     */
    result<done> try_free_batch(const ferrum_address *addresses,
                                std::size_t count,
                                ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_pool_free_batch(handle(), addresses, count, stream));
    }
    void free_batch(const ferrum_address *addresses, std::size_t count,
                    ferrum_stream stream = {}) const {
        try_free_batch(addresses, count, stream).value();
    }
    result<done> try_free_batch(const std::vector<ferrum_address> &addresses,
                                ferrum_stream stream = {}) const {
        return try_free_batch(detail::items(addresses), addresses.size(),
                              stream);
    }
    void free_batch(const std::vector<ferrum_address> &addresses,
                    ferrum_stream stream = {}) const {
        try_free_batch(addresses, stream).value();
    }

    /**
     * Records a further stream that uses a block. When the block is freed, the
     * free also waits for the work that is queued on this stream at that time.
     * The stream that the block belongs to does not need this call.
     */
    result<done> try_record_stream(ferrum_address address,
                                   ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_pool_record_stream(handle(), address, stream));
    }
    void record_stream(ferrum_address address,
                       ferrum_stream stream = {}) const {
        try_record_stream(address, stream).value();
    }

    /**
     * Records a further stream that uses many blocks, like
     * ferrum_pool_record_stream: all of them, or none on failure. An address
     * may occur twice. The call checks a list of more than 4096 blocks as a
     * whole and then records the stream in parts, and other threads wait for
     * one part at most. If another thread frees a block of such a list
     * meanwhile, the call may fail with some blocks recorded.
     */
    result<done> try_record_stream_batch(const ferrum_address *addresses,
                                         std::size_t count,
                                         ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_pool_record_stream_batch(
            handle(), addresses, count, stream));
    }
    void record_stream_batch(const ferrum_address *addresses, std::size_t count,
                             ferrum_stream stream = {}) const {
        try_record_stream_batch(addresses, count, stream).value();
    }
    result<done>
    try_record_stream_batch(const std::vector<ferrum_address> &addresses,
                            ferrum_stream stream = {}) const {
        return try_record_stream_batch(detail::items(addresses),
                                       addresses.size(), stream);
    }
    void record_stream_batch(const std::vector<ferrum_address> &addresses,
                             ferrum_stream stream = {}) const {
        try_record_stream_batch(addresses, stream).value();
    }

    /**
     * Returns the usable size of a live block: at least the requested size. All
     * of these bytes belong to the block.
     */
    result<std::uint64_t> try_usable_size(ferrum_address address) const {
        std::uint64_t size_bytes_out = 0;
        const ferrum_status status =
            ferrum_pool_usable_size(handle(), address, &size_bytes_out);
        return detail::outcome(status, size_bytes_out);
    }
    std::uint64_t usable_size(ferrum_address address) const {
        return try_usable_size(address).value();
    }

    /**
     * From now until ferrum_pool_capture_end, allocations for the streams of a
     * capture come from a private pool of the graph. Call it after the capture
     * has begun, for each pool that the capture uses. The library recognizes
     * streams that join the capture later. The program starts the capture with
     * the calls of the vendor (cuStreamBeginCapture). The stream is known to
     * the library by ferrum_stream_adopt or ferrum_stream_get_native.
     */
    result<std::uint64_t>
    try_capture_begin(ferrum_stream stream = {},
                      std::uint64_t shared_graph = 0) const {
        std::uint64_t graph_out = 0;
        const ferrum_status status = ferrum_pool_capture_begin(
            handle(), stream, shared_graph, &graph_out);
        return detail::outcome(status, graph_out);
    }
    std::uint64_t capture_begin(ferrum_stream stream = {},
                                std::uint64_t shared_graph = 0) const {
        return try_capture_begin(stream, shared_graph).value();
    }

    /**
     * Ends the use of a private pool that ferrum_pool_capture_begin began. Call
     * it after the capture itself has ended. Live blocks stay live.
     */
    result<done> try_capture_end(std::uint64_t graph) const {
        return detail::outcome(ferrum_pool_capture_end(handle(), graph));
    }
    void capture_end(std::uint64_t graph) const {
        try_capture_end(graph).value();
    }

    /**
     * Releases a graph. The program states that the graph will not run again
     * after the work that is queued on the stream now. When the last graph of a
     * private pool is released, that work has completed and no block of the
     * private pool is live, the memory of the private pool is released to the
     * system. The call does not wait for it. A failed capture without a graph
     * must be released too, with or without ferrum_pool_capture_end.
     */
    result<done> try_capture_release(std::uint64_t graph,
                                     ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_pool_capture_release(handle(), graph, stream));
    }
    void capture_release(std::uint64_t graph, ferrum_stream stream = {}) const {
        try_capture_release(graph, stream).value();
    }

    /**
     * Describes a graph. FERRUM_ERROR_NOT_FOUND for a released or unknown
     * graph.
     */
    result<ferrum_graph_info> try_capture_info(std::uint64_t graph) const {
        ferrum_graph_info info_out = FERRUM_GRAPH_INFO_INIT;
        const ferrum_status status =
            ferrum_pool_capture_get_info(handle(), graph, &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_graph_info capture_info(std::uint64_t graph) const {
        return try_capture_info(graph).value();
    }

    /**
     * Frees every live block of the pool, except for those of graphs, as
     * ferrum_pool_free does with this stream. Each block also waits for its own
     * stream. The call frees the blocks in slices. It needs the same amount of
     * memory for any number of blocks, and other threads wait for one slice at
     * most. A block that another thread allocates during the call may be freed
     * or not.
     */
    result<done> try_reset(ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_pool_reset(handle(), stream));
    }
    void reset(ferrum_stream stream = {}) const { try_reset(stream).value(); }

    /**
     * Checks every block of a pool in debug mode: the red zones of live blocks,
     * and the contents of blocks in quarantine. The call repairs the damage
     * that it reports, so each damage is reported once.
     */
    result<done> try_check() const {
        return detail::outcome(ferrum_pool_check(handle()));
    }
    void check() const { try_check().value(); }

    /**
     * Takes back the blocks of the thread caches, and releases segments and
     * pages without a live block to the system. It stops when the pool holds no
     * more than keep_bytes (or the pool's min_held_bytes), or when no free
     * segment or page is left.
     */
    result<std::uint64_t> try_trim(std::uint64_t keep_bytes = 0) const {
        std::uint64_t released_bytes_out = 0;
        const ferrum_status status =
            ferrum_pool_trim(handle(), keep_bytes, &released_bytes_out);
        return detail::outcome(status, released_bytes_out);
    }
    std::uint64_t trim(std::uint64_t keep_bytes = 0) const {
        return try_trim(keep_bytes).value();
    }

    /**
     * Changes the upper bound of the pool; 0 removes it. A bound below the held
     * memory releases cached memory. Live blocks stay.
     */
    result<done> try_set_limit(std::uint64_t max_size_bytes) const {
        return detail::outcome(ferrum_pool_set_limit(handle(), max_size_bytes));
    }
    void set_limit(std::uint64_t max_size_bytes) const {
        try_set_limit(max_size_bytes).value();
    }

    /** Changes min_held_bytes of the pool. */
    result<done> try_set_min_held(std::uint64_t min_held_bytes) const {
        return detail::outcome(
            ferrum_pool_set_min_held(handle(), min_held_bytes));
    }
    void set_min_held(std::uint64_t min_held_bytes) const {
        try_set_min_held(min_held_bytes).value();
    }

    /**
     * Changes release_threshold_bytes of the pool, and releases free memory
     * above the threshold. UINT64_MAX: no threshold.
     */
    result<done>
    try_set_release_threshold(std::uint64_t release_threshold_bytes) const {
        return detail::outcome(ferrum_pool_set_release_threshold(
            handle(), release_threshold_bytes));
    }
    void set_release_threshold(std::uint64_t release_threshold_bytes) const {
        try_set_release_threshold(release_threshold_bytes).value();
    }

    /** Describes the memory of a pool. */
    result<ferrum_pool_info> try_info() const {
        ferrum_pool_info info_out = FERRUM_POOL_INFO_INIT;
        const ferrum_status status = ferrum_pool_get_info(handle(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_pool_info info() const { return try_info().value(); }

    /** Returns the counters of a pool. */
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics statistics_out = FERRUM_STATISTICS_INIT;
        const ferrum_status status =
            ferrum_pool_get_statistics(handle(), &statistics_out);
        return detail::outcome(status, statistics_out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }

  private:
    ferrum_pool handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_POOL_HPP */

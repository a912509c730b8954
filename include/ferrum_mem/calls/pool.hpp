/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_pool.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. What they mean in full, their errors and their threads stand in
 * ferrum_mem.h, at the function that each of them calls.
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
     * Takes a block from a pool. The block is of the stream that it is asked
     * for on: its free waits for what is queued there, whoever frees it and
     * however.
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

    /** As ferrum_pool_alloc, with all that can be asked for. */
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
     * Gives a block back. Its memory is handed out again once the work is done
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
     * As ferrum_pool_free, with the size that was asked for as a check. It
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
     * Gives count blocks back: all of them or none. Each waits for its own
     * stream, those that were named for it and the stream of this call, as in
     * ferrum_pool_free. A large batch is gone over in slices, and others wait
     * for one of them at most: a call of another thread for one of its blocks
     * may find that freed already, also when the batch then fails.
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
        return try_free_batch(addresses.data(), addresses.size(), stream);
    }
    void free_batch(const std::vector<ferrum_address> &addresses,
                    ferrum_stream stream = {}) const {
        try_free_batch(addresses, stream).value();
    }

    /**
     * Says that a stream uses a block too, other than the one that it was asked
     * for on, for which it waits without this: once freed, the block waits for
     * the work that is queued on this stream at the time of its free as well.
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
     * How many bytes of a live block may be used: at least what was asked for.
     * All of them belong to the block.
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
     * Has allocations for the streams of a capture come from a private pool of
     * the graph, until ferrum_pool_capture_end. To be called when the capture
     * has begun, for each pool that is used in it: streams that join the
     * capture later are recognised. A stream captures by its vendor's calls
     * (cuStreamBeginCapture), and is known here by ferrum_stream_adopt, or
     * through ferrum_stream_get_native.
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
     * Ends what ferrum_pool_capture_begin began; to be called when the capture
     * itself has ended. Live blocks stay live.
     */
    result<done> try_capture_end(std::uint64_t graph) const {
        return detail::outcome(ferrum_pool_capture_end(handle(), graph));
    }
    void capture_end(std::uint64_t graph) const {
        try_capture_end(graph).value();
    }

    /**
     * Says that a graph will not run again once the work that is queued on the
     * stream now is done. With the last graph of a private pool its memory goes
     * back to the system, as soon as that work is done and none of its blocks
     * is live any more; the call does not wait for it. A capture that has
     * failed, and has no graph, is released as well, with or without
     * ferrum_pool_capture_end.
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
     * Describes a graph that was not released: FERRUM_ERROR_NOT_FOUND for any
     * other.
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
     * Gives back every live block of the pool, as ferrum_pool_free does on the
     * stream, each after its own as well; those of graphs stay. It goes over
     * the blocks in slices, so that it needs the same memory however many there
     * are and others wait for one slice at most: a block that another thread
     * takes meanwhile may go with them or stay.
     */
    result<done> try_reset(ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_pool_reset(handle(), stream));
    }
    void reset(ferrum_stream stream = {}) const { try_reset(stream).value(); }

    /**
     * Looks now at every block of a pool that debugs: beside live ones, and
     * into freed ones that are in quarantine. Damage that it reports is
     * repaired, so it is reported once.
     */
    result<done> try_check() const {
        return detail::outcome(ferrum_pool_check(handle()));
    }
    void check() const { try_check().value(); }

    /**
     * Takes back what thread caches keep, and gives segments that hold no live
     * block back to the system, until no more than keep_bytes (or the pool's
     * min_held_bytes) are held or none is left to give.
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
     * Changes the pool's upper bound; 0 takes it away. Lowering it below what
     * is held releases what is cached; what is live stays.
     */
    result<done> try_set_limit(std::uint64_t max_size_bytes) const {
        return detail::outcome(ferrum_pool_set_limit(handle(), max_size_bytes));
    }
    void set_limit(std::uint64_t max_size_bytes) const {
        try_set_limit(max_size_bytes).value();
    }

    /** Changes min_held_bytes of the pool's settings. */
    result<done> try_set_min_held(std::uint64_t min_held_bytes) const {
        return detail::outcome(
            ferrum_pool_set_min_held(handle(), min_held_bytes));
    }
    void set_min_held(std::uint64_t min_held_bytes) const {
        try_set_min_held(min_held_bytes).value();
    }

    /**
     * Changes release_threshold_bytes of the pool's settings, and gives back
     * what is held above it and holds no block. UINT64_MAX: never.
     */
    result<done>
    try_set_release_threshold(std::uint64_t release_threshold_bytes) const {
        return detail::outcome(ferrum_pool_set_release_threshold(
            handle(), release_threshold_bytes));
    }
    void set_release_threshold(std::uint64_t release_threshold_bytes) const {
        try_set_release_threshold(release_threshold_bytes).value();
    }

    /** Describes how a pool has its memory. */
    result<ferrum_pool_info> try_info() const {
        ferrum_pool_info info_out = FERRUM_POOL_INFO_INIT;
        const ferrum_status status = ferrum_pool_get_info(handle(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_pool_info info() const { return try_info().value(); }

    /** Books of a pool. */
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

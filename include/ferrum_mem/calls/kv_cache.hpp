/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_kv_cache.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_KV_CACHE_HPP
#define FERRUM_MEM_CALLS_KV_CACHE_HPP

#include "../result.hpp"
#include "../tensor.hpp"

namespace ferrum {

/** The calls of a ferrum_kv_cache, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class kv_cache_calls {
  public:
    /** Creates a cache. */
    static result<Self> try_create(const ferrum_kv_cache_config &config,
                                   const ferrum_weights_memory &memory,
                                   ferrum_pool host_pool = {},
                                   ferrum_stream stream = {}) {
        ferrum_kv_cache cache_out{};
        const ferrum_status status = ferrum_kv_cache_create(
            &config, &memory, host_pool, stream, &cache_out);
        return detail::made<Self>(status, cache_out);
    }
    static Self create(const ferrum_kv_cache_config &config,
                       const ferrum_weights_memory &memory,
                       ferrum_pool host_pool = {}, ferrum_stream stream = {}) {
        return try_create(config, memory, host_pool, stream).value();
    }

    /**
     * Computes the hashes of the whole blocks of tokens. The hash of a block
     * stands for the tokens of the block and of all blocks before it. Two
     * different prefixes have the same hash with a probability of 2^-64.
     */
    result<std::vector<std::uint64_t>>
    try_hash_tokens(std::uint64_t parent, const std::int32_t *tokens,
                    std::size_t count) const {
        return detail::list<std::uint64_t>(
            std::uint64_t{},
            [&](std::uint64_t *to, std::size_t room, std::size_t *found) {
                return ferrum_kv_cache_hash_tokens(handle(), parent, tokens,
                                                   count, to, room, found);
            });
    }
    std::vector<std::uint64_t> hash_tokens(std::uint64_t parent,
                                           const std::int32_t *tokens,
                                           std::size_t count) const {
        return try_hash_tokens(parent, tokens, count).value();
    }
    result<std::vector<std::uint64_t>>
    try_hash_tokens(std::uint64_t parent,
                    const std::vector<std::int32_t> &tokens) const {
        return try_hash_tokens(parent, detail::items(tokens), tokens.size());
    }
    std::vector<std::uint64_t>
    hash_tokens(std::uint64_t parent,
                const std::vector<std::int32_t> &tokens) const {
        return try_hash_tokens(parent, tokens).value();
    }

    /**
     * Returns how many hashes of a prefix, from the first one, have a block.
     */
    result<std::uint64_t> try_find(const std::uint64_t *hashes,
                                   std::size_t count) const {
        std::uint64_t blocks_out = 0;
        const ferrum_status status =
            ferrum_kv_cache_find(handle(), hashes, count, &blocks_out);
        return detail::outcome(status, blocks_out);
    }
    std::uint64_t find(const std::uint64_t *hashes, std::size_t count) const {
        return try_find(hashes, count).value();
    }
    result<std::uint64_t>
    try_find(const std::vector<std::uint64_t> &hashes) const {
        return try_find(detail::items(hashes), hashes.size());
    }
    std::uint64_t find(const std::vector<std::uint64_t> &hashes) const {
        return try_find(hashes).value();
    }

    /**
     * Makes sequences with blocks for their tokens. The first blocks of a
     * sequence are shared with the longest published prefix of its hashes; the
     * program computes the keys and values of the other tokens.
     */
    result<std::vector<ferrum_kv_sequence>>
    try_allocate(const std::uint32_t *lengths, std::size_t count,
                 const std::uint32_t *prefix_blocks,
                 std::size_t prefix_block_count, const std::uint64_t *hashes,
                 std::size_t hash_count) const {
        return detail::list<ferrum_kv_sequence>(
            ferrum_kv_sequence{},
            [&](ferrum_kv_sequence *to, std::size_t room, std::size_t *found) {
                return ferrum_kv_cache_allocate(
                    handle(), lengths, count, prefix_blocks, prefix_block_count,
                    hashes, hash_count, to, room, found);
            });
    }
    std::vector<ferrum_kv_sequence>
    allocate(const std::uint32_t *lengths, std::size_t count,
             const std::uint32_t *prefix_blocks, std::size_t prefix_block_count,
             const std::uint64_t *hashes, std::size_t hash_count) const {
        return try_allocate(lengths, count, prefix_blocks, prefix_block_count,
                            hashes, hash_count)
            .value();
    }
    result<std::vector<ferrum_kv_sequence>>
    try_allocate(const std::vector<std::uint32_t> &lengths,
                 const std::vector<std::uint32_t> &prefix_blocks,
                 const std::vector<std::uint64_t> &hashes) const {
        return try_allocate(detail::items(lengths), lengths.size(),
                            detail::items(prefix_blocks), prefix_blocks.size(),
                            detail::items(hashes), hashes.size());
    }
    std::vector<ferrum_kv_sequence>
    allocate(const std::vector<std::uint32_t> &lengths,
             const std::vector<std::uint32_t> &prefix_blocks,
             const std::vector<std::uint64_t> &hashes) const {
        return try_allocate(lengths, prefix_blocks, hashes).value();
    }

    /**
     * Adds tokens to sequences, and the blocks that the tokens need. If other
     * sequences share the last block of a sequence, the sequence gets a copy of
     * its own. A published block whose contents change loses its hash. With a
     * sliding window, the blocks that the first new token does not reach are
     * released before new ones are taken.
     */
    result<std::vector<ferrum_kv_copy>>
    try_append(const std::uint64_t *sequences, std::size_t count,
               const std::uint32_t *lengths, std::size_t length_count) const {
        return detail::list<ferrum_kv_copy>(
            ferrum_kv_copy{},
            [&](ferrum_kv_copy *to, std::size_t room, std::size_t *found) {
                return ferrum_kv_cache_append(handle(), sequences, count,
                                              lengths, length_count, to, room,
                                              found);
            });
    }
    std::vector<ferrum_kv_copy> append(const std::uint64_t *sequences,
                                       std::size_t count,
                                       const std::uint32_t *lengths,
                                       std::size_t length_count) const {
        return try_append(sequences, count, lengths, length_count).value();
    }
    result<std::vector<ferrum_kv_copy>>
    try_append(const std::vector<std::uint64_t> &sequences,
               const std::vector<std::uint32_t> &lengths) const {
        return try_append(detail::items(sequences), sequences.size(),
                          detail::items(lengths), lengths.size());
    }
    std::vector<ferrum_kv_copy>
    append(const std::vector<std::uint64_t> &sequences,
           const std::vector<std::uint32_t> &lengths) const {
        return try_append(sequences, lengths).value();
    }

    /**
     * States that whole blocks of sequences have their contents, and gives them
     * hashes, so that later sequences with the same prefix share them. A hash
     * that another block has is skipped.
     */
    result<done> try_publish(const std::uint64_t *sequences, std::size_t count,
                             const std::uint32_t *prefix_blocks,
                             std::size_t prefix_block_count,
                             const std::uint64_t *hashes,
                             std::size_t hash_count) const {
        return detail::outcome(
            ferrum_kv_cache_publish(handle(), sequences, count, prefix_blocks,
                                    prefix_block_count, hashes, hash_count));
    }
    void publish(const std::uint64_t *sequences, std::size_t count,
                 const std::uint32_t *prefix_blocks,
                 std::size_t prefix_block_count, const std::uint64_t *hashes,
                 std::size_t hash_count) const {
        try_publish(sequences, count, prefix_blocks, prefix_block_count, hashes,
                    hash_count)
            .value();
    }
    result<done> try_publish(const std::vector<std::uint64_t> &sequences,
                             const std::vector<std::uint32_t> &prefix_blocks,
                             const std::vector<std::uint64_t> &hashes) const {
        return try_publish(detail::items(sequences), sequences.size(),
                           detail::items(prefix_blocks), prefix_blocks.size(),
                           detail::items(hashes), hashes.size());
    }
    void publish(const std::vector<std::uint64_t> &sequences,
                 const std::vector<std::uint32_t> &prefix_blocks,
                 const std::vector<std::uint64_t> &hashes) const {
        try_publish(sequences, prefix_blocks, hashes).value();
    }

    /** Makes a copy of each sequence, which shares all of its blocks. */
    result<std::vector<std::uint64_t>> try_fork(const std::uint64_t *sequences,
                                                std::size_t count) const {
        return detail::list<std::uint64_t>(
            std::uint64_t{},
            [&](std::uint64_t *to, std::size_t room, std::size_t *found) {
                return ferrum_kv_cache_fork(handle(), sequences, count, to,
                                            room, found);
            });
    }
    std::vector<std::uint64_t> fork(const std::uint64_t *sequences,
                                    std::size_t count) const {
        return try_fork(sequences, count).value();
    }
    result<std::vector<std::uint64_t>>
    try_fork(const std::vector<std::uint64_t> &sequences) const {
        return try_fork(detail::items(sequences), sequences.size());
    }
    std::vector<std::uint64_t>
    fork(const std::vector<std::uint64_t> &sequences) const {
        return try_fork(sequences).value();
    }

    /**
     * Shortens sequences and releases the blocks behind their end, as after
     * rejected tokens of speculative decoding.
     */
    result<done> try_truncate(const std::uint64_t *sequences, std::size_t count,
                              const std::uint32_t *lengths,
                              std::size_t length_count) const {
        return detail::outcome(ferrum_kv_cache_truncate(
            handle(), sequences, count, lengths, length_count));
    }
    void truncate(const std::uint64_t *sequences, std::size_t count,
                  const std::uint32_t *lengths,
                  std::size_t length_count) const {
        try_truncate(sequences, count, lengths, length_count).value();
    }
    result<done> try_truncate(const std::vector<std::uint64_t> &sequences,
                              const std::vector<std::uint32_t> &lengths) const {
        return try_truncate(detail::items(sequences), sequences.size(),
                            detail::items(lengths), lengths.size());
    }
    void truncate(const std::vector<std::uint64_t> &sequences,
                  const std::vector<std::uint32_t> &lengths) const {
        try_truncate(sequences, lengths).value();
    }

    /**
     * Ends sequences and releases their blocks. Published blocks stay cached
     * until the cache needs them. Sequences that are swapped out can be freed
     * as well.
     */
    result<done> try_free(const std::uint64_t *sequences,
                          std::size_t count) const {
        return detail::outcome(
            ferrum_kv_cache_free(handle(), sequences, count));
    }
    void free(const std::uint64_t *sequences, std::size_t count) const {
        try_free(sequences, count).value();
    }
    result<done> try_free(const std::vector<std::uint64_t> &sequences) const {
        return try_free(detail::items(sequences), sequences.size());
    }
    void free(const std::vector<std::uint64_t> &sequences) const {
        try_free(sequences).value();
    }

    /**
     * Copies sequences to blocks of the host and releases their blocks.
     * Sequences of one call that share blocks share the copies. Only
     * ferrum_kv_cache_swap_in, ferrum_kv_cache_free and ferrum_kv_cache_lengths
     * accept a sequence that is swapped out.
     */
    result<std::vector<ferrum_kv_copy>>
    try_swap_out(const std::uint64_t *sequences, std::size_t count) const {
        return detail::list<ferrum_kv_copy>(
            ferrum_kv_copy{},
            [&](ferrum_kv_copy *to, std::size_t room, std::size_t *found) {
                return ferrum_kv_cache_swap_out(handle(), sequences, count, to,
                                                room, found);
            });
    }
    std::vector<ferrum_kv_copy> swap_out(const std::uint64_t *sequences,
                                         std::size_t count) const {
        return try_swap_out(sequences, count).value();
    }
    result<std::vector<ferrum_kv_copy>>
    try_swap_out(const std::vector<std::uint64_t> &sequences) const {
        return try_swap_out(detail::items(sequences), sequences.size());
    }
    std::vector<ferrum_kv_copy>
    swap_out(const std::vector<std::uint64_t> &sequences) const {
        return try_swap_out(sequences).value();
    }

    /**
     * Copies sequences back to blocks of the device. A block whose hash is
     * still published there is shared instead.
     */
    result<std::vector<ferrum_kv_copy>>
    try_swap_in(const std::uint64_t *sequences, std::size_t count) const {
        return detail::list<ferrum_kv_copy>(
            ferrum_kv_copy{},
            [&](ferrum_kv_copy *to, std::size_t room, std::size_t *found) {
                return ferrum_kv_cache_swap_in(handle(), sequences, count, to,
                                               room, found);
            });
    }
    std::vector<ferrum_kv_copy> swap_in(const std::uint64_t *sequences,
                                        std::size_t count) const {
        return try_swap_in(sequences, count).value();
    }
    result<std::vector<ferrum_kv_copy>>
    try_swap_in(const std::vector<std::uint64_t> &sequences) const {
        return try_swap_in(detail::items(sequences), sequences.size());
    }
    std::vector<ferrum_kv_copy>
    swap_in(const std::vector<std::uint64_t> &sequences) const {
        return try_swap_in(sequences).value();
    }

    /** Returns the block tables of sequences, one after the other. */
    result<std::vector<std::int32_t>>
    try_block_tables(const std::uint64_t *sequences, std::size_t count,
                     std::uint64_t width) const {
        return detail::list<std::int32_t>(
            std::int32_t{},
            [&](std::int32_t *to, std::size_t room, std::size_t *found) {
                return ferrum_kv_cache_block_tables(handle(), sequences, count,
                                                    width, to, room, found);
            });
    }
    std::vector<std::int32_t> block_tables(const std::uint64_t *sequences,
                                           std::size_t count,
                                           std::uint64_t width) const {
        return try_block_tables(sequences, count, width).value();
    }
    result<std::vector<std::int32_t>>
    try_block_tables(const std::vector<std::uint64_t> &sequences,
                     std::uint64_t width) const {
        return try_block_tables(detail::items(sequences), sequences.size(),
                                width);
    }
    std::vector<std::int32_t>
    block_tables(const std::vector<std::uint64_t> &sequences,
                 std::uint64_t width) const {
        return try_block_tables(sequences, width).value();
    }

    /** Returns the numbers of tokens of sequences. */
    result<std::vector<std::uint32_t>>
    try_lengths(const std::uint64_t *sequences, std::size_t count) const {
        return detail::list<std::uint32_t>(
            std::uint32_t{},
            [&](std::uint32_t *to, std::size_t room, std::size_t *found) {
                return ferrum_kv_cache_lengths(handle(), sequences, count, to,
                                               room, found);
            });
    }
    std::vector<std::uint32_t> lengths(const std::uint64_t *sequences,
                                       std::size_t count) const {
        return try_lengths(sequences, count).value();
    }
    result<std::vector<std::uint32_t>>
    try_lengths(const std::vector<std::uint64_t> &sequences) const {
        return try_lengths(detail::items(sequences), sequences.size());
    }
    std::vector<std::uint32_t>
    lengths(const std::vector<std::uint64_t> &sequences) const {
        return try_lengths(sequences).value();
    }

    /**
     * Returns the memory of the keys of a layer, or of its values: an array of
     * the shape [blocks, kv_heads, block_tokens, head_dim] without gaps. Only
     * blocks that sequences use can be accessed. The pair holds address and
     * size_bytes.
     */
    result<std::pair<ferrum_address, std::uint64_t>>
    try_plane(std::uint32_t layer, bool values) const {
        ferrum_address address_out = 0;
        std::uint64_t size_bytes_out = 0;
        const ferrum_status status = ferrum_kv_cache_plane(
            handle(), layer, values ? 1u : 0u, &address_out, &size_bytes_out);
        return detail::outcome(status,
                               std::make_pair(address_out, size_bytes_out));
    }
    std::pair<ferrum_address, std::uint64_t> plane(std::uint32_t layer,
                                                   bool values) const {
        return try_plane(layer, values).value();
    }

    /**
     * Makes a tensor over the memory of ferrum_kv_cache_plane. While it exists,
     * ferrum_kv_cache_destroy without FERRUM_FORCE returns FERRUM_ERROR_BUSY.
     */
    result<tensor> try_plane_tensor(std::uint32_t layer, bool values) const {
        ferrum_tensor tensor_out{};
        const ferrum_status status = ferrum_kv_cache_plane_tensor(
            handle(), layer, values ? 1u : 0u, &tensor_out);
        return detail::made<tensor>(status, tensor_out);
    }
    tensor plane_tensor(std::uint32_t layer, bool values) const {
        return try_plane_tensor(layer, values).value();
    }

    /**
     * Evicts cached blocks, those that were not used for the longest time
     * first, until at most so many are left, and releases the memory of all
     * chunks without contents.
     */
    result<std::uint64_t> try_trim(std::uint64_t keep_cached_blocks) const {
        std::uint64_t unmapped_blocks_out = 0;
        const ferrum_status status = ferrum_kv_cache_trim(
            handle(), keep_cached_blocks, &unmapped_blocks_out);
        return detail::outcome(status, unmapped_blocks_out);
    }
    std::uint64_t trim(std::uint64_t keep_cached_blocks) const {
        return try_trim(keep_cached_blocks).value();
    }

    /** Returns the state of a cache. */
    result<ferrum_kv_cache_stats> try_stats() const {
        ferrum_kv_cache_stats stats_out = FERRUM_KV_CACHE_STATS_INIT;
        const ferrum_status status =
            ferrum_kv_cache_get_stats(handle(), &stats_out);
        return detail::outcome(status, stats_out);
    }
    ferrum_kv_cache_stats stats() const { return try_stats().value(); }

  private:
    ferrum_kv_cache handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_KV_CACHE_HPP */

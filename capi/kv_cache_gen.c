/* Generated from include/ferrum_mem/kv_cache.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_kv_cache_create(const ferrum_kv_cache_config *config,
                                     const ferrum_weights_memory *memory,
                                     ferrum_pool host_pool,
                                     ferrum_stream stream,
                                     ferrum_kv_cache *cache_out) {
    FM_ENTER();
    FM_REQUIRE(cache_out);
    cache_out->id = 0;
    FM_REQUIRE(config);
    FM_REQUIRE(memory);
    ferrum_kv_cache_config config_full = FERRUM_KV_CACHE_CONFIG_INIT;
    FM_STRUCT_IN(config, config_full);
    ferrum_weights_memory memory_full = *memory;
    FM_LOOK();
    FM_RETURN(fmgo_kv_cache_create(&config_full, &memory_full, host_pool.id,
                                   stream.id, &cache_out->id));
}

ferrum_status ferrum_kv_cache_destroy(ferrum_kv_cache cache, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_kv_cache_destroy(cache.id, flags));
}

ferrum_status ferrum_kv_cache_hash_tokens(ferrum_kv_cache cache,
                                          uint64_t parent,
                                          const int32_t *tokens, uint64_t count,
                                          uint64_t *hashes_out, size_t capacity,
                                          size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(hashes_out);
    FM_REQUIRE(tokens);
    FM_RETURN(fmgo_kv_cache_hash_tokens(cache.id, parent, (int32_t *)tokens,
                                        count, hashes_out, capacity,
                                        count_out));
}

ferrum_status ferrum_kv_cache_find(ferrum_kv_cache cache,
                                   const uint64_t *hashes, uint64_t count,
                                   uint64_t *blocks_out) {
    FM_ENTER();
    FM_REQUIRE(blocks_out);
    *blocks_out = 0;
    FM_REQUIRE(hashes);
    FM_RETURN(
        fmgo_kv_cache_find(cache.id, (uint64_t *)hashes, count, blocks_out));
}

ferrum_status
ferrum_kv_cache_allocate(ferrum_kv_cache cache, const uint32_t *lengths,
                         uint64_t count, const uint32_t *prefix_blocks,
                         uint64_t prefix_block_count, const uint64_t *hashes,
                         uint64_t hash_count, ferrum_kv_sequence *sequences_out,
                         size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(sequences_out);
    FM_REQUIRE(lengths);
    FM_REQUIRE(prefix_blocks);
    FM_REQUIRE(hashes);
    FM_RETURN(fmgo_kv_cache_allocate(
        cache.id, (uint32_t *)lengths, count, (uint32_t *)prefix_blocks,
        prefix_block_count, (uint64_t *)hashes, hash_count, sequences_out,
        capacity, count_out));
}

ferrum_status ferrum_kv_cache_append(ferrum_kv_cache cache,
                                     const uint64_t *sequences, uint64_t count,
                                     const uint32_t *lengths,
                                     uint64_t length_count,
                                     ferrum_kv_copy *copies_out,
                                     size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(copies_out);
    FM_REQUIRE(sequences);
    FM_REQUIRE(lengths);
    FM_RETURN(fmgo_kv_cache_append(cache.id, (uint64_t *)sequences, count,
                                   (uint32_t *)lengths, length_count,
                                   copies_out, capacity, count_out));
}

ferrum_status ferrum_kv_cache_publish(ferrum_kv_cache cache,
                                      const uint64_t *sequences, uint64_t count,
                                      const uint32_t *prefix_blocks,
                                      uint64_t prefix_block_count,
                                      const uint64_t *hashes,
                                      uint64_t hash_count) {
    FM_ENTER();
    FM_REQUIRE(sequences);
    FM_REQUIRE(prefix_blocks);
    FM_REQUIRE(hashes);
    FM_RETURN(fmgo_kv_cache_publish(
        cache.id, (uint64_t *)sequences, count, (uint32_t *)prefix_blocks,
        prefix_block_count, (uint64_t *)hashes, hash_count));
}

ferrum_status ferrum_kv_cache_fork(ferrum_kv_cache cache,
                                   const uint64_t *sequences, uint64_t count,
                                   uint64_t *children_out, size_t capacity,
                                   size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(children_out);
    FM_REQUIRE(sequences);
    FM_RETURN(fmgo_kv_cache_fork(cache.id, (uint64_t *)sequences, count,
                                 children_out, capacity, count_out));
}

ferrum_status ferrum_kv_cache_truncate(ferrum_kv_cache cache,
                                       const uint64_t *sequences,
                                       uint64_t count, const uint32_t *lengths,
                                       uint64_t length_count) {
    FM_ENTER();
    FM_REQUIRE(sequences);
    FM_REQUIRE(lengths);
    FM_RETURN(fmgo_kv_cache_truncate(cache.id, (uint64_t *)sequences, count,
                                     (uint32_t *)lengths, length_count));
}

ferrum_status ferrum_kv_cache_free(ferrum_kv_cache cache,
                                   const uint64_t *sequences, uint64_t count) {
    FM_ENTER();
    FM_REQUIRE(sequences);
    FM_RETURN(fmgo_kv_cache_free(cache.id, (uint64_t *)sequences, count));
}

ferrum_status ferrum_kv_cache_swap_out(ferrum_kv_cache cache,
                                       const uint64_t *sequences,
                                       uint64_t count,
                                       ferrum_kv_copy *copies_out,
                                       size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(copies_out);
    FM_REQUIRE(sequences);
    FM_RETURN(fmgo_kv_cache_swap_out(cache.id, (uint64_t *)sequences, count,
                                     copies_out, capacity, count_out));
}

ferrum_status ferrum_kv_cache_swap_in(ferrum_kv_cache cache,
                                      const uint64_t *sequences, uint64_t count,
                                      ferrum_kv_copy *copies_out,
                                      size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(copies_out);
    FM_REQUIRE(sequences);
    FM_RETURN(fmgo_kv_cache_swap_in(cache.id, (uint64_t *)sequences, count,
                                    copies_out, capacity, count_out));
}

ferrum_status ferrum_kv_cache_block_tables(ferrum_kv_cache cache,
                                           const uint64_t *sequences,
                                           uint64_t count, uint64_t width,
                                           int32_t *tables_out, size_t capacity,
                                           size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(tables_out);
    FM_REQUIRE(sequences);
    FM_RETURN(fmgo_kv_cache_block_tables(cache.id, (uint64_t *)sequences, count,
                                         width, tables_out, capacity,
                                         count_out));
}

ferrum_status ferrum_kv_cache_lengths(ferrum_kv_cache cache,
                                      const uint64_t *sequences, uint64_t count,
                                      uint32_t *lengths_out, size_t capacity,
                                      size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(lengths_out);
    FM_REQUIRE(sequences);
    FM_RETURN(fmgo_kv_cache_lengths(cache.id, (uint64_t *)sequences, count,
                                    lengths_out, capacity, count_out));
}

ferrum_status ferrum_kv_cache_plane(ferrum_kv_cache cache, uint32_t layer,
                                    uint32_t values,
                                    ferrum_address *address_out,
                                    uint64_t *size_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    FM_REQUIRE(size_bytes_out);
    *size_bytes_out = 0;
    FM_RETURN(fmgo_kv_cache_plane(cache.id, layer, values, address_out,
                                  size_bytes_out));
}

ferrum_status ferrum_kv_cache_plane_tensor(ferrum_kv_cache cache,
                                           uint32_t layer, uint32_t values,
                                           ferrum_tensor *tensor_out) {
    FM_ENTER();
    FM_REQUIRE(tensor_out);
    tensor_out->id = 0;
    FM_LOOK();
    FM_RETURN(
        fmgo_kv_cache_plane_tensor(cache.id, layer, values, &tensor_out->id));
}

ferrum_status ferrum_kv_cache_trim(ferrum_kv_cache cache,
                                   uint64_t keep_cached_blocks,
                                   uint64_t *unmapped_blocks_out) {
    FM_ENTER();
    FM_REQUIRE(unmapped_blocks_out);
    *unmapped_blocks_out = 0;
    FM_RETURN(
        fmgo_kv_cache_trim(cache.id, keep_cached_blocks, unmapped_blocks_out));
}

ferrum_status ferrum_kv_cache_get_stats(ferrum_kv_cache cache,
                                        ferrum_kv_cache_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    ferrum_kv_cache_stats stats_full = FERRUM_KV_CACHE_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_kv_cache_get_stats(cache.id, &stats_full), stats_out,
                     stats_full);
}

ferrum_status ferrum_kv_cache_pressure_callback_add(
    ferrum_kv_cache cache, ferrum_pressure_fn callback, void *user_data,
    ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(callback);
    FM_RETURN(fmgo_kv_cache_pressure_callback_add(
        cache.id, callback, (uintptr_t)user_data, &registration_out->id));
}

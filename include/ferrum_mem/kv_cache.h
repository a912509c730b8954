/*
 * KV caches: the blocks of a paged KV cache, which sequences share, and their memory.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_KV_CACHE_H
#define FERRUM_MEM_KV_CACHE_H

#include "base.h"
#include "books.h"
#include "callbacks.h"
#include "dtype.h"
#include "pools.h"
#include "streams.h"
#include "tensor.h"
#include "weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A KV cache has the keys and values of the tokens of many sequences, in blocks of a fixed
 * number of tokens. The number of a block is the same in all layers. The block table of a
 * sequence has the numbers of its blocks in the order of its tokens. docs/kvcache.md explains
 * forks, prefixes, windows and swaps, and has an example.
 *
 * A sequence is a 64-bit number, which the cache chooses and does not use again. 0 is no
 * sequence. Each call takes a list of sequences and changes all of them, or none. Messages name
 * a wrong one by its place in the list.
 *
 * If a cache has memory, the library makes the copies that a call needs, on the stream of the
 * cache. Work that reads and writes blocks comes on that stream, or after its work. Without
 * memory the cache only manages the numbers of the blocks, and a call returns the copies that
 * the program has to make before it uses the blocks.
 */

/** A paged KV cache.
 *  @go kvCaches.KVCache */
typedef struct ferrum_kv_cache {
    uint64_t id; /**< 0 is no cache */
} ferrum_kv_cache;

/** Most blocks of a cache, and most blocks of its host. */
#define FERRUM_KV_BLOCKS_MAX 4194304
/** Most sequences of a cache. */
#define FERRUM_KV_SEQUENCES_MAX 65536
/** Most tokens of a block, a sequence and a window. */
#define FERRUM_KV_TOKENS_MAX 67108864
/** Most entries of block tables that one call returns. */
#define FERRUM_KV_TABLE_ENTRIES_MAX 16777216

/** The settings of a cache.
 *  @name kv_cache_config
 *  @go library.KVCacheConfig */
typedef struct ferrum_kv_cache_config {
    uint32_t struct_size;
    /** The type of keys and values; not used without memory.
     *  @go DType */
    ferrum_dtype dtype;
    /** Number of tokens of a block, at most FERRUM_KV_TOKENS_MAX.
     *  @required */
    uint32_t block_tokens;
    /** Number of blocks, at most FERRUM_KV_BLOCKS_MAX.
     *  @required */
    uint32_t blocks;
    /** Number of blocks of the host for swapped sequences; 0: none. */
    uint32_t host_blocks;
    /** Most sequences that live at the same time, at most FERRUM_KV_SEQUENCES_MAX.
     *  @required */
    uint32_t sequences;
    /** Most tokens of a sequence, at most FERRUM_KV_TOKENS_MAX.
     *  @required */
    uint32_t sequence_tokens;
    /** Length of the sliding window: a token uses so many tokens, itself among them; 0: each
     *  token uses all tokens before it. */
    uint32_t window_tokens;
    /** Number of layers; not used without memory. */
    uint32_t layers;
    /** Number of heads of keys and of values in a layer; not used without memory.
     *  @go Heads */
    uint32_t kv_heads;
    /** Length of a head; not used without memory. */
    uint32_t head_dim;
    /** In a virtual pool or a model: number of blocks, from the first one, that always have
     *  memory. The others get memory when sequences need them. In a pool all blocks always
     *  have memory. */
    uint32_t always_blocks;
    /** Seed of ferrum_kv_cache_hash_tokens. Caches with the same seed and block_tokens compute
     *  the same hashes. A secret seed keeps users from choosing tokens with the hash of the
     *  tokens of another user. */
    uint64_t hash_seed;
    uint64_t reserved;
} ferrum_kv_cache_config;

/* clang-format off */
#define FERRUM_KV_CACHE_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_kv_cache_config), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** The state of a cache.
 *  @name kv_cache_stats
 *  @go library.KVCacheStats */
typedef struct ferrum_kv_cache_stats {
    uint32_t struct_size;
    /** The level of used_blocks of blocks, with the bounds 60, 80 and 95 %. */
    ferrum_pressure_level level;
    /** Number of blocks: those used, cached, free and unmapped. */
    uint64_t blocks;
    /** Blocks that sequences use. */
    uint64_t used_blocks;
    /** Blocks with a hash that no sequence uses. The cache evicts them when it needs them. */
    uint64_t cached_blocks;
    /** Blocks without contents. */
    uint64_t free_blocks;
    /** Blocks that have no memory now. */
    uint64_t unmapped_blocks;
    /** Used and cached blocks with a hash. */
    uint64_t published_blocks;
    /** Number of blocks of all block tables together. Above used_blocks if sequences share
     *  blocks. */
    uint64_t references;
    /** Number of blocks of the host. */
    uint64_t host_blocks;
    /** Those of them that swapped sequences use. */
    uint64_t host_used_blocks;
    /** Number of live sequences. */
    uint64_t sequences;
    /** Those of them that are swapped out. */
    uint64_t swapped_sequences;
    /** Number of tokens of all sequences together. */
    uint64_t tokens;
    /** Hashes of ferrum_kv_cache_allocate whose block was shared. */
    uint64_t hits;
    /** The other hashes of ferrum_kv_cache_allocate. */
    uint64_t misses;
    /** Cached blocks that were evicted. */
    uint64_t evictions;
    /** Blocks that were copied because an append changed a shared block. */
    uint64_t copies;
    /** Blocks that were copied to the host. */
    uint64_t swapped_out_blocks;
    /** Blocks that were copied from the host. */
    uint64_t swapped_in_blocks;
    /** Calls that failed because there were not enough blocks. */
    uint64_t failures;
    /** Size of a block in all layers, keys and values; 0 without memory. */
    uint64_t block_bytes;
    /** Size of all blocks that have memory now. */
    uint64_t mapped_bytes;
} ferrum_kv_cache_stats;

/* clang-format off */
#define FERRUM_KV_CACHE_STATS_INIT {FERRUM_SIZE_OF(ferrum_kv_cache_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** A new sequence.
 *  @name kv_sequence
 *  @go library.KVSequence */
typedef struct ferrum_kv_sequence {
    /** The number of the sequence. */
    uint64_t sequence;
    /** Number of its first tokens whose keys and values are in shared blocks. */
    uint32_t cached_tokens;
    uint32_t reserved;
} ferrum_kv_sequence;

/** A copy of a whole block, with its keys and values of all layers.
 *  @name kv_copy
 *  @go kvcache.Copy */
typedef struct ferrum_kv_copy {
    /** The block to be copied.
     *  @go From */
    int32_t source;
    /** The block that gets the contents.
     *  @go To */
    int32_t target;
} ferrum_kv_copy;

/**
 * Creates a cache.
 *
 * In a pool all blocks are one block of the pool. In a virtual pool or a model of an elastic
 * pool the cache maps chunks of blocks when sequences need them, and unmaps them for other
 * models of the pool: chunks that no sequence uses. In a model the cache lies at the end of the
 * address space, before the other caches there. The memory has the tag of the memory.
 *
 * While the cache exists, a call that destroys its pool or model without FERRUM_FORCE returns
 * FERRUM_ERROR_BUSY. With FERRUM_FORCE, that call destroys the cache first.
 *
 * @param memory  a pool, a virtual pool with an offset, or a model of an elastic pool. All
 *                zero: the cache has no memory, and the program makes the copies.
 * @param host_pool  the memory of the blocks of the host, which the host must be able to
 *                address. {0} if host_blocks is 0, or the cache has no memory.
 * @param stream  the stream of the copies.
 * @return FERRUM_ERROR_INVALID_CONFIG with the name of the field;
 *         FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY if the address space of the pool or the model is too
 *         small; FERRUM_ERROR_UNSUPPORTED for a type whose elements share a scale; errors of the
 *         memory.
 *
 * @opens
 * @optional host_pool
 * @optional stream
 * @go kvCaches.Create
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_kv_cache_create(
    const ferrum_kv_cache_config *config, const ferrum_weights_memory *memory,
    ferrum_pool host_pool, ferrum_stream stream, ferrum_kv_cache *cache_out);

/**
 * Destroys a cache and frees its memory, after the work that is queued on its stream.
 *
 * @param flags  0 or FERRUM_FORCE: its sequences end with it.
 * @return FERRUM_ERROR_BUSY while a sequence lives, or a tensor is a view of its memory;
 *         FERRUM_ERROR_INVALID_STATE inside a pressure callback of the cache.
 *
 * @ends
 * @waits
 */
FERRUM_API ferrum_status ferrum_kv_cache_destroy(ferrum_kv_cache cache,
                                                 uint32_t flags);

/**
 * Computes the hashes of the whole blocks of tokens. The hash of a block stands for the tokens of
 * the block and of all blocks before it. Two different prefixes have the same hash with a
 * probability of 2^-64.
 *
 * @param parent  the hash of the block before the tokens; 0 at the start of a sequence.
 * @param tokens,count  the tokens. A part of a block at the end has no hash.
 * @param hashes_out,capacity  room for one hash of each whole block.
 * @param count_out  number of hashes.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL with *count_out set.
 *
 * @fills hashes_out
 */
FERRUM_API ferrum_status ferrum_kv_cache_hash_tokens(
    ferrum_kv_cache cache, uint64_t parent, const int32_t *tokens,
    uint64_t count, uint64_t *hashes_out, size_t capacity, size_t *count_out);

/**
 * Returns how many hashes of a prefix, from the first one, have a block.
 *
 * @param hashes,count  the hashes of the blocks of a prefix, in order.
 * @infallible
 */
FERRUM_API ferrum_status ferrum_kv_cache_find(ferrum_kv_cache cache,
                                              const uint64_t *hashes,
                                              uint64_t count,
                                              uint64_t *blocks_out);

/**
 * Makes sequences with blocks for their tokens. The first blocks of a sequence are shared with
 * the longest published prefix of its hashes; the program computes the keys and values of the
 * other tokens.
 *
 * @param lengths,count  number of tokens of each sequence.
 * @param prefix_blocks,prefix_block_count  for each sequence, for how many of its whole blocks
 *                hashes has a hash. prefix_block_count is count; 0: no sequence has hashes.
 *                prefix_blocks is not NULL.
 * @param hashes,hash_count  the hashes of the first sequence, then those of the second, and so
 *                on. They come from ferrum_kv_cache_hash_tokens or from the program; then a hash
 *                must stand for the whole prefix and for everything else that the keys and values
 *                depend on. hashes is not NULL.
 * @param sequences_out,capacity  room for count sequences.
 * @param count_out  count.
 * @return FERRUM_ERROR_INVALID_SIZE for a sequence that is longer than those of the cache;
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED for too many sequences; FERRUM_ERROR_OUT_OF_MEMORY if
 *         there are not enough blocks; FERRUM_ERROR_BUSY while the memory sleeps;
 *         FERRUM_ERROR_BUFFER_TOO_SMALL with *count_out set and nothing done.
 *
 * @fills sequences_out
 */
FERRUM_API ferrum_status ferrum_kv_cache_allocate(
    ferrum_kv_cache cache, const uint32_t *lengths, uint64_t count,
    const uint32_t *prefix_blocks, uint64_t prefix_block_count,
    const uint64_t *hashes, uint64_t hash_count,
    ferrum_kv_sequence *sequences_out, size_t capacity, size_t *count_out);

/**
 * Adds tokens to sequences, and the blocks that the tokens need. If other sequences share the last
 * block of a sequence, the sequence gets a copy of its own. A published block whose contents
 * change loses its hash. With a sliding window, the blocks that the first new token does not reach
 * are released before new ones are taken.
 *
 * @param sequences,count  each sequence at most once.
 * @param lengths,length_count  number of new tokens of each sequence. length_count is count; 0:
 *                one token each. lengths is not NULL.
 * @param copies_out,capacity  room for the copies that the program has to make, at most count.
 *                With memory the library makes the copies, and the list is empty.
 * @param count_out  number of copies.
 * @return FERRUM_ERROR_INVALID_HANDLE for a sequence that does not live;
 *         FERRUM_ERROR_INVALID_OFFSET for positions beyond sequence_tokens;
 *         FERRUM_ERROR_INVALID_STATE for a sequence that is swapped out;
 *         FERRUM_ERROR_OUT_OF_MEMORY if there are not enough blocks: the sequences live and are
 *         unchanged; FERRUM_ERROR_BUSY while the memory sleeps;
 *         FERRUM_ERROR_BUFFER_TOO_SMALL with *count_out set and nothing done.
 *
 * @hot
 * @fills copies_out
 */
FERRUM_API ferrum_status ferrum_kv_cache_append(
    ferrum_kv_cache cache, const uint64_t *sequences, uint64_t count,
    const uint32_t *lengths, uint64_t length_count, ferrum_kv_copy *copies_out,
    size_t capacity, size_t *count_out);

/**
 * States that whole blocks of sequences have their contents, and gives them hashes, so that later
 * sequences with the same prefix share them. A hash that another block has is skipped.
 *
 * @param sequences,count  each sequence at most once.
 * @param prefix_blocks,prefix_block_count  number of hashes of each sequence; prefix_block_count
 *                is count.
 * @param hashes,hash_count  the hashes of the next blocks of each sequence: the first one is that
 *                of the first block that was neither shared by ferrum_kv_cache_allocate nor
 *                published.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for more hashes than whole blocks;
 *         FERRUM_ERROR_INVALID_HANDLE, FERRUM_ERROR_INVALID_STATE as for ferrum_kv_cache_append.
 */
FERRUM_API ferrum_status ferrum_kv_cache_publish(
    ferrum_kv_cache cache, const uint64_t *sequences, uint64_t count,
    const uint32_t *prefix_blocks, uint64_t prefix_block_count,
    const uint64_t *hashes, uint64_t hash_count);

/**
 * Makes a copy of each sequence, which shares all of its blocks.
 *
 * @param sequences,count  a sequence may be in the list several times.
 * @param children_out,capacity  room for count sequences.
 * @param count_out  count.
 * @return FERRUM_ERROR_INVALID_HANDLE for a sequence that does not live;
 *         FERRUM_ERROR_INVALID_STATE for one that is swapped out;
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED for too many sequences;
 *         FERRUM_ERROR_BUFFER_TOO_SMALL with *count_out set and nothing done.
 *
 * @fills children_out
 */
FERRUM_API ferrum_status ferrum_kv_cache_fork(
    ferrum_kv_cache cache, const uint64_t *sequences, uint64_t count,
    uint64_t *children_out, size_t capacity, size_t *count_out);

/**
 * Shortens sequences and releases the blocks behind their end, as after rejected tokens of
 * speculative decoding.
 *
 * @param sequences,count  each sequence at most once.
 * @param lengths,length_count  the new number of tokens of each sequence; length_count is count.
 * @return FERRUM_ERROR_INVALID_OFFSET for a length above the present one, and for one whose
 *         window reaches blocks that were released; FERRUM_ERROR_INVALID_HANDLE,
 *         FERRUM_ERROR_INVALID_STATE as for ferrum_kv_cache_append.
 */
FERRUM_API ferrum_status ferrum_kv_cache_truncate(ferrum_kv_cache cache,
                                                  const uint64_t *sequences,
                                                  uint64_t count,
                                                  const uint32_t *lengths,
                                                  uint64_t length_count);

/**
 * Ends sequences and releases their blocks. Published blocks stay cached until the cache needs
 * them. Sequences that are swapped out can be freed as well.
 *
 * @param sequences,count  each sequence at most once.
 * @return FERRUM_ERROR_INVALID_HANDLE for a sequence that does not live.
 */
FERRUM_API ferrum_status ferrum_kv_cache_free(ferrum_kv_cache cache,
                                              const uint64_t *sequences,
                                              uint64_t count);

/**
 * Copies sequences to blocks of the host and releases their blocks. Sequences of one call that
 * share blocks share the copies. Only ferrum_kv_cache_swap_in, ferrum_kv_cache_free and
 * ferrum_kv_cache_lengths accept a sequence that is swapped out.
 *
 * @param sequences,count  each sequence at most once.
 * @param copies_out,capacity  room for the copies that the program has to make, from blocks of the
 *                device to blocks of the host. With memory the list is empty.
 * @param count_out  number of copies.
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED if the host has too few free blocks; errors of
 *         ferrum_kv_cache_append.
 *
 * @fills copies_out
 */
FERRUM_API ferrum_status ferrum_kv_cache_swap_out(
    ferrum_kv_cache cache, const uint64_t *sequences, uint64_t count,
    ferrum_kv_copy *copies_out, size_t capacity, size_t *count_out);

/**
 * Copies sequences back to blocks of the device. A block whose hash is still published there is
 * shared instead.
 *
 * @param sequences,count  each sequence at most once; all are swapped out.
 * @param copies_out,capacity  as for ferrum_kv_cache_swap_out, from the host to the device.
 * @param count_out  number of copies.
 * @return errors of ferrum_kv_cache_append.
 *
 * @fills copies_out
 */
FERRUM_API ferrum_status ferrum_kv_cache_swap_in(
    ferrum_kv_cache cache, const uint64_t *sequences, uint64_t count,
    ferrum_kv_copy *copies_out, size_t capacity, size_t *count_out);

/**
 * Returns the block tables of sequences, one after the other.
 *
 * @param sequences,count  the sequences.
 * @param width  number of entries for each sequence. Entries behind the blocks of a sequence, and
 *                those before its window, are -1.
 * @param tables_out,capacity  room for count * width entries, at most
 *                FERRUM_KV_TABLE_ENTRIES_MAX.
 * @param count_out  count * width.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL for a sequence with more blocks than width, and if
 *         capacity is too small; FERRUM_ERROR_INVALID_HANDLE; FERRUM_ERROR_INVALID_STATE for a
 *         sequence that is swapped out.
 *
 * @fills tables_out
 */
FERRUM_API ferrum_status ferrum_kv_cache_block_tables(
    ferrum_kv_cache cache, const uint64_t *sequences, uint64_t count,
    uint64_t width, int32_t *tables_out, size_t capacity, size_t *count_out);

/**
 * Returns the numbers of tokens of sequences.
 *
 * @param sequences,count  the sequences.
 * @param lengths_out,capacity  room for count numbers.
 * @param count_out  count.
 * @return FERRUM_ERROR_INVALID_HANDLE; FERRUM_ERROR_BUFFER_TOO_SMALL with *count_out set.
 *
 * @fills lengths_out
 */
FERRUM_API ferrum_status ferrum_kv_cache_lengths(
    ferrum_kv_cache cache, const uint64_t *sequences, uint64_t count,
    uint32_t *lengths_out, size_t capacity, size_t *count_out);

/**
 * Returns the memory of the keys of a layer, or of its values: an array of the shape
 * [blocks, kv_heads, block_tokens, head_dim] without gaps. Only blocks that sequences use can be
 * accessed.
 *
 * @param layer  0 to layers - 1.
 * @param values  0: the keys, 1: the values.
 * @param address_out  address of block 0.
 * @param size_bytes_out  size of all blocks.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for layer; FERRUM_ERROR_INVALID_STATE for a cache without
 *         memory.
 *
 * @bool values
 */
FERRUM_API ferrum_status ferrum_kv_cache_plane(ferrum_kv_cache cache,
                                               uint32_t layer, uint32_t values,
                                               ferrum_address *address_out,
                                               uint64_t *size_bytes_out);

/**
 * Makes a tensor over the memory of ferrum_kv_cache_plane. While it exists,
 * ferrum_kv_cache_destroy without FERRUM_FORCE returns FERRUM_ERROR_BUSY.
 *
 * @param layer,values  as for ferrum_kv_cache_plane.
 * @return FERRUM_ERROR_UNSUPPORTED unless all blocks always have memory; errors of
 *         ferrum_kv_cache_plane.
 *
 * @opens
 * @bool values
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status
ferrum_kv_cache_plane_tensor(ferrum_kv_cache cache, uint32_t layer,
                             uint32_t values, ferrum_tensor *tensor_out);

/**
 * Evicts cached blocks, those that were not used for the longest time first, until at most so many
 * are left, and releases the memory of all chunks without contents.
 *
 * @param keep_cached_blocks  number of cached blocks to keep.
 * @param unmapped_blocks_out  number of blocks that have lost their memory.
 */
FERRUM_API ferrum_status ferrum_kv_cache_trim(ferrum_kv_cache cache,
                                              uint64_t keep_cached_blocks,
                                              uint64_t *unmapped_blocks_out);

/** Returns the state of a cache.
 *  @infallible
 *  @go .Stats */
FERRUM_API ferrum_status ferrum_kv_cache_get_stats(
    ferrum_kv_cache cache, ferrum_kv_cache_stats *stats_out);

/**
 * The same as ferrum_device_pressure_callback_add for the level of a cache: that of its used
 * blocks. The callback runs on the thread whose call changed the level, before that call
 * returns, with no lock held and one call at a time. It may call the library, except to destroy
 * the cache, and except ferrum_shutdown. For a cache without memory it gets the device {0}.
 *
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status ferrum_kv_cache_pressure_callback_add(
    ferrum_kv_cache cache, ferrum_pressure_fn callback, void *user_data,
    ferrum_registration *registration_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_KV_CACHE_H */

// Code generated from include/ferrum_mem/kv_cache.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/kvcache"
	"ferrum_mem/core/library"
)

// kvCacheConfigOf reads a ferrum_kv_cache_config.
func kvCacheConfigOf(argument string, from *C.ferrum_kv_cache_config) (to library.KVCacheConfig, err error) {
	f := fields{argument: argument}
	read(&to.DType, from.dtype)
	read(&to.BlockTokens, from.block_tokens)
	read(&to.Blocks, from.blocks)
	read(&to.HostBlocks, from.host_blocks)
	read(&to.Sequences, from.sequences)
	read(&to.SequenceTokens, from.sequence_tokens)
	read(&to.WindowTokens, from.window_tokens)
	read(&to.Layers, from.layers)
	read(&to.Heads, from.kv_heads)
	read(&to.HeadDim, from.head_dim)
	read(&to.AlwaysBlocks, from.always_blocks)
	read(&to.HashSeed, from.hash_seed)
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}

// putKVCacheStats fills a ferrum_kv_cache_stats.
func putKVCacheStats(to *C.ferrum_kv_cache_stats, from *library.KVCacheStats) {
	set(&to.level, from.Level)
	set(&to.blocks, from.Blocks)
	set(&to.used_blocks, from.UsedBlocks)
	set(&to.cached_blocks, from.CachedBlocks)
	set(&to.free_blocks, from.FreeBlocks)
	set(&to.unmapped_blocks, from.UnmappedBlocks)
	set(&to.published_blocks, from.PublishedBlocks)
	set(&to.references, from.References)
	set(&to.host_blocks, from.HostBlocks)
	set(&to.host_used_blocks, from.HostUsedBlocks)
	set(&to.sequences, from.Sequences)
	set(&to.swapped_sequences, from.SwappedSequences)
	set(&to.tokens, from.Tokens)
	set(&to.hits, from.Hits)
	set(&to.misses, from.Misses)
	set(&to.evictions, from.Evictions)
	set(&to.copies, from.Copies)
	set(&to.swapped_out_blocks, from.SwappedOutBlocks)
	set(&to.swapped_in_blocks, from.SwappedInBlocks)
	set(&to.failures, from.Failures)
	set(&to.block_bytes, from.BlockBytes)
	set(&to.mapped_bytes, from.MappedBytes)
}

// putKVSequence fills a ferrum_kv_sequence.
func putKVSequence(to *C.ferrum_kv_sequence, from *library.KVSequence) {
	*to = C.ferrum_kv_sequence{}
	set(&to.sequence, from.Sequence)
	set(&to.cached_tokens, from.CachedTokens)
}

// putKVCopy fills a ferrum_kv_copy.
func putKVCopy(to *C.ferrum_kv_copy, from *kvcache.Copy) {
	*to = C.ferrum_kv_copy{}
	set(&to.source, from.From)
	set(&to.target, from.To)
}

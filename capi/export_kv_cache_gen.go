// Code generated from include/ferrum_mem/kv_cache.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/library"

//export fmgo_kv_cache_create
func fmgo_kv_cache_create(config *C.ferrum_kv_cache_config, memory *C.ferrum_weights_memory, hostPool C.uint64_t, stream C.uint64_t, cacheOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := kvCacheConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	memoryGiven, err := weightsMemoryOf("memory", memory)
	if err != nil {
		return fail(err)
	}
	cache, err := kvCaches.Create(configGiven, memoryGiven, uint64(hostPool), uint64(stream))
	return give(cacheOut, cache, err)
}

//export fmgo_kv_cache_destroy
func fmgo_kv_cache_destroy(cache C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.destroy", uint64(cache))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(force))
}

//export fmgo_kv_cache_hash_tokens
func fmgo_kv_cache_hash_tokens(cache C.uint64_t, parent C.uint64_t, tokens *C.int32_t, count C.uint64_t, hashesOut *C.uint64_t, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	tokensGiven, err := arrayOf[int32]("tokens", tokens, count)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.hash_tokens", uint64(cache))
	if err != nil {
		return fail(err)
	}
	hashes, hashesCount, err := object.HashTokens(uint64(parent), tokensGiven, uint64(capacity))
	*countOut = C.size_t(hashesCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(hashesOut, hashes, putNumber)
	return 0
}

//export fmgo_kv_cache_find
func fmgo_kv_cache_find(cache C.uint64_t, hashes *C.uint64_t, count C.uint64_t, blocksOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	hashesGiven, err := arrayOf[uint64]("hashes", hashes, count)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.find", uint64(cache))
	if err != nil {
		return fail(err)
	}
	blocks := object.Find(hashesGiven)
	return give(blocksOut, blocks, nil)
}

//export fmgo_kv_cache_allocate
func fmgo_kv_cache_allocate(cache C.uint64_t, lengths *C.uint32_t, count C.uint64_t, prefixBlocks *C.uint32_t, prefixBlockCount C.uint64_t, hashes *C.uint64_t, hashCount C.uint64_t, sequencesOut *C.ferrum_kv_sequence, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	lengthsGiven, err := arrayOf[uint32]("lengths", lengths, count)
	if err != nil {
		return fail(err)
	}
	prefixBlocksGiven, err := arrayOf[uint32]("prefix_blocks", prefixBlocks, prefixBlockCount)
	if err != nil {
		return fail(err)
	}
	hashesGiven, err := arrayOf[uint64]("hashes", hashes, hashCount)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.allocate", uint64(cache))
	if err != nil {
		return fail(err)
	}
	sequences, sequencesCount, err := object.Allocate(lengthsGiven, prefixBlocksGiven, hashesGiven, uint64(capacity))
	*countOut = C.size_t(sequencesCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(sequencesOut, sequences, putKVSequence)
	return 0
}

//export fmgo_kv_cache_append
func fmgo_kv_cache_append(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t, lengths *C.uint32_t, lengthCount C.uint64_t, copiesOut *C.ferrum_kv_copy, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	lengthsGiven, err := arrayOf[uint32]("lengths", lengths, lengthCount)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.append", uint64(cache))
	if err != nil {
		return fail(err)
	}
	copies, copiesCount, err := object.Append(sequencesGiven, lengthsGiven, uint64(capacity))
	*countOut = C.size_t(copiesCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(copiesOut, copies, putKVCopy)
	return 0
}

//export fmgo_kv_cache_publish
func fmgo_kv_cache_publish(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t, prefixBlocks *C.uint32_t, prefixBlockCount C.uint64_t, hashes *C.uint64_t, hashCount C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	prefixBlocksGiven, err := arrayOf[uint32]("prefix_blocks", prefixBlocks, prefixBlockCount)
	if err != nil {
		return fail(err)
	}
	hashesGiven, err := arrayOf[uint64]("hashes", hashes, hashCount)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.publish", uint64(cache))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Publish(sequencesGiven, prefixBlocksGiven, hashesGiven), object))
}

//export fmgo_kv_cache_fork
func fmgo_kv_cache_fork(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t, childrenOut *C.uint64_t, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.fork", uint64(cache))
	if err != nil {
		return fail(err)
	}
	children, childrenCount, err := object.Fork(sequencesGiven, uint64(capacity))
	*countOut = C.size_t(childrenCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(childrenOut, children, putNumber)
	return 0
}

//export fmgo_kv_cache_truncate
func fmgo_kv_cache_truncate(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t, lengths *C.uint32_t, lengthCount C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	lengthsGiven, err := arrayOf[uint32]("lengths", lengths, lengthCount)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.truncate", uint64(cache))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Truncate(sequencesGiven, lengthsGiven), object))
}

//export fmgo_kv_cache_free
func fmgo_kv_cache_free(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.free", uint64(cache))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Free(sequencesGiven), object))
}

//export fmgo_kv_cache_swap_out
func fmgo_kv_cache_swap_out(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t, copiesOut *C.ferrum_kv_copy, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.swap_out", uint64(cache))
	if err != nil {
		return fail(err)
	}
	copies, copiesCount, err := object.SwapOut(sequencesGiven, uint64(capacity))
	*countOut = C.size_t(copiesCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(copiesOut, copies, putKVCopy)
	return 0
}

//export fmgo_kv_cache_swap_in
func fmgo_kv_cache_swap_in(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t, copiesOut *C.ferrum_kv_copy, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.swap_in", uint64(cache))
	if err != nil {
		return fail(err)
	}
	copies, copiesCount, err := object.SwapIn(sequencesGiven, uint64(capacity))
	*countOut = C.size_t(copiesCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(copiesOut, copies, putKVCopy)
	return 0
}

//export fmgo_kv_cache_block_tables
func fmgo_kv_cache_block_tables(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t, width C.uint64_t, tablesOut *C.int32_t, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.block_tables", uint64(cache))
	if err != nil {
		return fail(err)
	}
	tables, tablesCount, err := object.BlockTables(sequencesGiven, uint64(width), uint64(capacity))
	*countOut = C.size_t(tablesCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(tablesOut, tables, putNumber)
	return 0
}

//export fmgo_kv_cache_lengths
func fmgo_kv_cache_lengths(cache C.uint64_t, sequences *C.uint64_t, count C.uint64_t, lengthsOut *C.uint32_t, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	sequencesGiven, err := arrayOf[uint64]("sequences", sequences, count)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.lengths", uint64(cache))
	if err != nil {
		return fail(err)
	}
	lengths, lengthsCount, err := object.Lengths(sequencesGiven, uint64(capacity))
	*countOut = C.size_t(lengthsCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(lengthsOut, lengths, putNumber)
	return 0
}

//export fmgo_kv_cache_plane
func fmgo_kv_cache_plane(cache C.uint64_t, layer C.uint32_t, values C.uint32_t, addressOut *C.uint64_t, sizeBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	valuesSet, err := truth("values", values)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.plane", uint64(cache))
	if err != nil {
		return fail(err)
	}
	address, sizeBytes, err := object.Plane(uint32(layer), valuesSet)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	set(addressOut, address)
	set(sizeBytesOut, sizeBytes)
	return 0
}

//export fmgo_kv_cache_plane_tensor
func fmgo_kv_cache_plane_tensor(cache C.uint64_t, layer C.uint32_t, values C.uint32_t, tensorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	valuesSet, err := truth("values", values)
	if err != nil {
		return fail(err)
	}
	object, err := kvCaches.KVCache("kv_cache.plane_tensor", uint64(cache))
	if err != nil {
		return fail(err)
	}
	tensor, err := object.PlaneTensor(uint32(layer), valuesSet)
	return give(tensorOut, tensor, library.CallError(err, object))
}

//export fmgo_kv_cache_trim
func fmgo_kv_cache_trim(cache C.uint64_t, keepCachedBlocks C.uint64_t, unmappedBlocksOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := kvCaches.KVCache("kv_cache.trim", uint64(cache))
	if err != nil {
		return fail(err)
	}
	unmappedBlocks, err := object.Trim(uint64(keepCachedBlocks))
	return give(unmappedBlocksOut, unmappedBlocks, library.CallError(err, object))
}

//export fmgo_kv_cache_get_stats
func fmgo_kv_cache_get_stats(cache C.uint64_t, statsOut *C.ferrum_kv_cache_stats) (status C.int32_t) {
	defer guard(&status)
	object, err := kvCaches.KVCache("kv_cache.stats", uint64(cache))
	if err != nil {
		return fail(err)
	}
	stats := object.Stats()
	putKVCacheStats(statsOut, &stats)
	return 0
}

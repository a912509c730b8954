package threadcache

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -I${SRCDIR}/../../include -ftls-model=initial-exec -fvisibility=hidden -O2 -Wall -Wextra -Wno-unused-parameter
#cgo noescape fm_cache_adopt
#cgo nocallback fm_cache_adopt
#cgo noescape fm_cache_count_own
#cgo noescape fm_cache_find_many
#cgo nocallback fm_cache_find_many
#cgo noescape fm_cache_next
#cgo nocallback fm_cache_next
#cgo noescape fm_cache_adopt_next
#cgo nocallback fm_cache_adopt_next
#cgo nocallback fm_cache_count_own
#include "cache.h"
*/
import "C"

import (
	"embed"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
	// A change of a header gives this package a new build.
	_ "ferrum_mem/include"
)

// Source is the text of the headers. A change of it gives the packages that include them a new build.
//
//go:embed *.h
var Source embed.FS

// Caches creates the thread caches of this library.
type Caches struct{}

// Open puts caches in front of a pool. It returns nil if the pool works without caches.
func (Caches) Open(handle uint64, c pool.Config) pool.Cache {
	if !C.fm_cache_open(C.uint64_t(handle), C.uint64_t(c.AlignmentBytes), C.uint64_t(c.ThreadCacheBytes)) {
		return nil
	}
	return poolCache(handle)
}

// SetTags states that a pool knows the tags from 0 to last. The caches leave calls with
// other tags to the pool.
func SetTags(handle uint64, last uint32) { C.fm_cache_set_tags(C.uint64_t(handle), C.uint32_t(last)) }

// CountsAt reads a struct fm_cache_counts, which the caches pass with their calls.
func CountsAt(counts unsafe.Pointer) pool.CacheCounts {
	return cacheCountsOf((*C.struct_fm_cache_counts)(counts))
}

// ForgetStream removes the handle of a stream that was destroyed.
func (Caches) ForgetStream(stream uint64) { C.fm_cache_forget_stream(C.uint64_t(stream)) }

// poolCache is the thread caches of the pool with this handle.
type poolCache C.uint64_t

// Counts returns the blocks that the caches hold and the numbers of their uses, of one
// moment.
func (p poolCache) Counts() pool.CacheCounts {
	var counts C.struct_fm_cache_counts
	C.fm_cache_count(C.uint64_t(p), &counts)
	return cacheCountsOf(&counts)
}

// Number returns the handle by which the caches are found.
func (p poolCache) Number() uint64 { return uint64(p) }

// OwnCounts is Counts without what other threads have done since their last call of the
// core.
func (p poolCache) OwnCounts() pool.CacheCounts {
	var counts C.struct_fm_cache_counts
	_ = C.fm_cache_count_own(C.uint64_t(p), &counts)
	return cacheCountsOf(&counts)
}

// Take takes idle blocks out of the caches.
func (p poolCache) Take(to []pool.CachedBlock) int {
	var blocks [64]C.struct_fm_cache_block
	taken := 0
	for taken < len(to) {
		n := int(C.fm_cache_take(C.uint64_t(p), &blocks[0], C.uint64_t(min(len(blocks), len(to)-taken))))
		if n == 0 {
			break
		}
		for i := range n {
			to[taken+i] = cachedBlockOf(&blocks[i])
		}
		taken += n
	}
	return taken
}

// Block returns the leased block that starts at an address.
func (p poolCache) Block(addr device.Addr) (pool.CachedBlock, bool) {
	var block C.struct_fm_cache_block
	found := bool(C.fm_cache_find(C.uint64_t(p), C.uint64_t(addr), &block))
	return cachedBlockOf(&block), found
}

// cacheSlice is the number of blocks that one call of C processes.
const cacheSlice = 512

// Find describes the leased blocks that start at the addresses in blocks.
func (p poolCache) Find(blocks []pool.CachedBlock) {
	var addresses [cacheSlice]C.uint64_t
	var found [cacheSlice]C.struct_fm_cache_block
	for len(blocks) > 0 {
		n := min(len(blocks), cacheSlice)
		for i := range n {
			addresses[i] = C.uint64_t(blocks[i].Addr)
		}
		C.fm_cache_find_many(C.uint64_t(p), &addresses[0], C.uint64_t(n), &found[0])
		for i := range n {
			blocks[i] = cachedBlockOf(&found[i])
		}
		blocks = blocks[n:]
	}
}

// Next lists leased blocks, starting at a given place.
func (p poolCache) Next(place uint64, to []pool.CachedBlock) (n int, next uint64) {
	var blocks [cacheSlice]C.struct_fm_cache_block
	at := C.uint64_t(place)
	n = int(C.fm_cache_next(C.uint64_t(p), &at, &blocks[0], C.uint64_t(min(len(to), cacheSlice))))
	return describeAll(blocks[:n], to), uint64(at)
}

// AdoptNext removes live blocks from the caches, starting at a given place.
func (p poolCache) AdoptNext(place uint64, to []pool.CachedBlock) (n int, next uint64) {
	var blocks [cacheSlice]C.struct_fm_cache_block
	at := C.uint64_t(place)
	n = int(C.fm_cache_adopt_next(C.uint64_t(p), &at, &blocks[0], C.uint64_t(min(len(to), cacheSlice))))
	return describeAll(blocks[:n], to), uint64(at)
}

func describeAll(blocks []C.struct_fm_cache_block, to []pool.CachedBlock) int {
	for i := range blocks {
		to[i] = cachedBlockOf(&blocks[i])
	}
	return len(blocks)
}

// Adopt removes a live block from the caches.
func (p poolCache) Adopt(addr device.Addr) (pool.CachedBlock, bool) {
	var block C.struct_fm_cache_block
	adopted := bool(C.fm_cache_adopt(C.uint64_t(p), C.uint64_t(addr), &block))
	return cachedBlockOf(&block), adopted
}

// Pause(true) makes all calls pass to the core, until Pause(false).
func (p poolCache) Pause(paused bool) { C.fm_cache_pause(C.uint64_t(p), C.bool(paused)) }

// Drop removes every block; free releases the memory.
func (p poolCache) Drop() (free func()) {
	dropped := C.fm_cache_drop(C.uint64_t(p))
	return func() { C.fm_cache_end(dropped) }
}

func cachedBlockOf(b *C.struct_fm_cache_block) pool.CachedBlock {
	return pool.CachedBlock{
		Addr:           device.Addr(b.address),
		SizeBytes:      uint64(b.size_bytes),
		RequestedBytes: uint64(b.requested_bytes),
		Tag:            uint32(b.tag),
		Live:           b.live != 0,
		Stream:         uint64(b.stream),
	}
}

func cacheCountsOf(c *C.struct_fm_cache_counts) pool.CacheCounts {
	return pool.CacheCounts{
		RequestedBytes: uint64(c.requested_bytes),
		LiveBytes:      uint64(c.live_bytes),
		LiveBlocks:     uint64(c.live_blocks),
		IdleBytes:      uint64(c.idle_bytes),
		EnteredBytes:   uint64(c.entered_bytes),
		LeftBytes:      uint64(c.left_bytes),
		Allocations:    uint64(c.allocations),
		Frees:          uint64(c.frees),
	}
}

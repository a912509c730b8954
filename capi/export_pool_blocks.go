package main

/*
#include "bridge.h"
#include "cache.h"
*/
import "C"

import (
	"math"
	"time"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

//export fmgo_pool_alloc_with
func fmgo_pool_alloc_with(handle C.uint64_t, request *C.ferrum_pool_request, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addr, err := lib.PoolAllocWith(uint64(handle), uint64(request.stream.id), pool.Request{
		SizeBytes:      uint64(request.size_bytes),
		AlignmentBytes: uint64(request.alignment_bytes),
		TagNumber:      uint32(request.tag),
		Lifetime:       lifetimeOf(request.expected_lifetime_ns),
		Group:          uint64(request.group),
	})
	return give(out, addr, err)
}

//export fmgo_pool_alloc_batch
func fmgo_pool_alloc_batch(handle, sizeBytes, stream C.uint64_t, to *C.uint64_t, count C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolAllocBatch(uint64(handle), uint64(sizeBytes), uint64(stream), addressesOf(to, count)))
}

//export fmgo_pool_get_tag
func fmgo_pool_get_tag(handle C.uint64_t, name *C.char, out *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	text, err := textOf("name", name)
	if err != nil {
		return fail(err)
	}
	number, err := lib.PoolGetTag(uint64(handle), text)
	if err != nil {
		return fail(err)
	}
	*out = C.uint32_t(number)
	// Numbers are given in order: from now on the caches let this one through.
	C.fm_cache_set_tags(handle, *out)
	return 0
}

//export fmgo_pool_free_sized
func fmgo_pool_free_sized(handle, addr, sizeBytes, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolFreeSized(uint64(handle), device.Addr(addr), uint64(sizeBytes), uint64(stream)))
}

//export fmgo_pool_free_batch
func fmgo_pool_free_batch(handle C.uint64_t, addresses *C.uint64_t, count, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolFreeBatch(uint64(handle), addressesOf(addresses, count), uint64(stream)))
}

//export fmgo_pool_usable_size
func fmgo_pool_usable_size(handle, addr C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	size, err := lib.PoolUsableSize(uint64(handle), device.Addr(addr))
	return give(out, size, err)
}

//export fmgo_device_get_owner
func fmgo_device_get_owner(handle, addr C.uint64_t, out *C.ferrum_block_info) (status C.int32_t) {
	defer guard(&status)
	owner, err := lib.DeviceGetOwner(uint64(handle), device.Addr(addr))
	if err != nil {
		return fail(err)
	}
	out.state = C.int32_t(owner.State)
	out.pool.id = C.uint64_t(owner.Pool)
	out.vpool.id = C.uint64_t(owner.VPool)
	out.elastic_pool.id = C.uint64_t(owner.ElasticPool)
	putText(out.model[:], owner.Model)
	out.manager = C.uint64_t(owner.Manager)
	out.address = C.uint64_t(owner.Addr)
	out.size_bytes = C.uint64_t(owner.SizeBytes)
	out.requested_bytes = C.uint64_t(owner.RequestedBytes)
	out.age_ns = C.uint64_t(owner.Age)
	putText(out.pool_name[:], owner.PoolName)
	putText(out.tag[:], owner.Tag)
	return 0
}

// The states have the numbers of the header: another one would not compile.
var (
	_ = [1]struct{}{}[pool.BlockLive-C.FERRUM_BLOCK_LIVE]
	_ = [1]struct{}{}[pool.BlockInFlight-C.FERRUM_BLOCK_IN_FLIGHT]
	_ = [1]struct{}{}[pool.BlockCached-C.FERRUM_BLOCK_CACHED]
	_ = [1]struct{}{}[pool.BlockFree-C.FERRUM_BLOCK_FREE]
	_ = [1]struct{}{}[pool.BlockUnusable-C.FERRUM_BLOCK_UNUSABLE]
)

// addressesOf is the caller's array as it lies there; C has bounded its length.
func addressesOf(array *C.uint64_t, count C.uint64_t) []device.Addr {
	return unsafe.Slice((*device.Addr)(unsafe.Pointer(array)), int(count))
}

// lifetimeOf reads a hint in nanoseconds; what does not fit a Duration (292
// years) lives as long as one can.
func lifetimeOf(ns C.uint64_t) time.Duration {
	return time.Duration(min(uint64(ns), math.MaxInt64))
}

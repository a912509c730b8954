package main

/*
#include "bridge.h"
#include "threadcache/library.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/capi/threadcache"
	"ferrum_mem/core/device"
)

// The calls of the thread caches. None of them records an error: if a call cannot be served
// here, the caches pass it to the pool, which reports the reason.

//export fmgo_cache_lease
func fmgo_cache_lease(handle, stream, sizeBytes C.uint64_t, count C.uint32_t, out *C.uint64_t,
	counts *C.struct_fm_cache_counts,
) (leased C.int32_t) {
	defer guard(&leased)
	before := threadcache.CountsAt(unsafe.Pointer(counts))
	n, err := lib.CacheLease(uint64(handle), uint64(sizeBytes), uint64(stream), addressesOf(out, C.uint64_t(count)), &before)
	if err != nil {
		return 0
	}
	return C.int32_t(n)
}

//export fmgo_cache_give_back
func fmgo_cache_give_back(handle, stream C.uint64_t, addresses *C.uint64_t, count C.uint32_t,
	counts *C.struct_fm_cache_counts,
) (status C.int32_t) {
	defer guard(&status)
	after := threadcache.CountsAt(unsafe.Pointer(counts))
	err := lib.CacheGiveBack(uint64(handle), uint64(stream), addressesOf(addresses, C.uint64_t(count)), &after)
	if err != nil {
		return C.int32_t(device.CodeOf(err))
	}
	return 0
}

//export fmgo_cache_stream
func fmgo_cache_stream(handle, stream C.uint64_t) (own C.uint64_t) {
	var status C.int32_t
	defer guard(&status)
	id, err := lib.CacheStream(uint64(handle), uint64(stream))
	if err != nil {
		return 0
	}
	return C.uint64_t(id)
}

//export fmgo_cache_busy
func fmgo_cache_busy(own, named C.uint64_t) (busy C.int32_t) {
	// A stream whose state cannot be read counts as busy.
	busy = C.FM_BUSY_OWN | C.FM_BUSY_NAMED
	var status C.int32_t
	defer guard(&status)
	if lib.CacheStreamIsDry(uint64(own)) {
		busy &^= C.FM_BUSY_OWN
	}
	if lib.CacheStreamIsDry(uint64(named)) {
		busy &^= C.FM_BUSY_NAMED
	}
	return busy
}

// addressesOf returns the caches' array without a copy.
func addressesOf(array *C.uint64_t, count C.uint64_t) []device.Addr {
	return unsafe.Slice((*device.Addr)(unsafe.Pointer(array)), int(count))
}

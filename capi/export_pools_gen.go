// Code generated from include/ferrum_mem/pools.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/device"

//export fmgo_pool_destroy
func fmgo_pool_destroy(pool C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.PoolDestroy(uint64(pool), force))
}

//export fmgo_pool_record_stream
func fmgo_pool_record_stream(pool C.uint64_t, address C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolRecordStream(uint64(pool), device.Addr(address), uint64(stream)))
}

//export fmgo_pool_capture_begin
func fmgo_pool_capture_begin(pool C.uint64_t, stream C.uint64_t, sharedGraph C.uint64_t, graphOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	graph, err := lib.PoolCaptureBegin(uint64(pool), uint64(stream), uint64(sharedGraph))
	return give(graphOut, graph, err)
}

//export fmgo_pool_capture_end
func fmgo_pool_capture_end(pool C.uint64_t, graph C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolCaptureEnd(uint64(pool), uint64(graph)))
}

//export fmgo_pool_capture_release
func fmgo_pool_capture_release(pool C.uint64_t, graph C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolCaptureRelease(uint64(pool), uint64(graph), uint64(stream)))
}

//export fmgo_pool_reset
func fmgo_pool_reset(pool C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolReset(uint64(pool), uint64(stream)))
}

//export fmgo_pool_check
func fmgo_pool_check(pool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolCheck(uint64(pool)))
}

//export fmgo_pool_trim
func fmgo_pool_trim(pool C.uint64_t, keepBytes C.uint64_t, releasedBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	releasedBytes, err := lib.PoolTrim(uint64(pool), uint64(keepBytes))
	return give(releasedBytesOut, releasedBytes, err)
}

//export fmgo_pool_set_limit
func fmgo_pool_set_limit(pool C.uint64_t, maxSizeBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolSetLimit(uint64(pool), uint64(maxSizeBytes)))
}

//export fmgo_pool_set_min_held
func fmgo_pool_set_min_held(pool C.uint64_t, minHeldBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolSetMinHeld(uint64(pool), uint64(minHeldBytes)))
}

//export fmgo_pool_set_release_threshold
func fmgo_pool_set_release_threshold(pool C.uint64_t, releaseThresholdBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolSetReleaseThreshold(uint64(pool), uint64(releaseThresholdBytes)))
}

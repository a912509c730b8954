// Code generated from include/ferrum_mem/pools.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/device"

//export fmgo_pool_create
func fmgo_pool_create(dev C.uint64_t, config *C.ferrum_pool_config, poolOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := poolConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	poolFound, err := lib.PoolCreate(uint64(dev), &configGiven)
	return give(poolOut, poolFound, err)
}

//export fmgo_pool_destroy
func fmgo_pool_destroy(pool C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.PoolDestroy(uint64(pool), force))
}

//export fmgo_pool_alloc
func fmgo_pool_alloc(pool C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t, addressOut *C.uint64_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	address, err := lib.PoolAlloc(uint64(pool), uint64(sizeBytes), uint64(stream))
	return give(addressOut, address, err)
}

//export fmgo_pool_alloc_with
func fmgo_pool_alloc_with(pool C.uint64_t, request *C.ferrum_pool_request, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := poolRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	address, err := lib.PoolAllocWith(uint64(pool), requestGiven)
	return give(addressOut, address, err)
}

//export fmgo_pool_alloc_batch
func fmgo_pool_alloc_batch(pool C.uint64_t, sizeBytes C.uint64_t, count C.uint64_t, stream C.uint64_t, addressesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addressesGiven, err := arrayOf[device.Addr]("addresses", addressesOut, count)
	if err != nil {
		return fail(err)
	}
	return done(lib.PoolAllocBatch(uint64(pool), uint64(sizeBytes), uint64(stream), addressesGiven))
}

//export fmgo_pool_free
func fmgo_pool_free(pool C.uint64_t, address C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	return done(lib.PoolFree(uint64(pool), device.Addr(address), uint64(stream)))
}

//export fmgo_pool_free_sized
func fmgo_pool_free_sized(pool C.uint64_t, address C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolFreeSized(uint64(pool), device.Addr(address), uint64(sizeBytes), uint64(stream)))
}

//export fmgo_pool_free_batch
func fmgo_pool_free_batch(pool C.uint64_t, addresses *C.uint64_t, count C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addressesGiven, err := arrayOf[device.Addr]("addresses", addresses, count)
	if err != nil {
		return fail(err)
	}
	return done(lib.PoolFreeBatch(uint64(pool), addressesGiven, uint64(stream)))
}

//export fmgo_pool_record_stream
func fmgo_pool_record_stream(pool C.uint64_t, address C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolRecordStream(uint64(pool), device.Addr(address), uint64(stream)))
}

//export fmgo_pool_usable_size
func fmgo_pool_usable_size(pool C.uint64_t, address C.uint64_t, sizeBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	sizeBytes, err := lib.PoolUsableSize(uint64(pool), device.Addr(address))
	return give(sizeBytesOut, sizeBytes, err)
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

//export fmgo_pool_capture_get_info
func fmgo_pool_capture_get_info(pool C.uint64_t, graph C.uint64_t, infoOut *C.ferrum_graph_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.PoolCaptureGetInfo(uint64(pool), uint64(graph))
	if err != nil {
		return fail(err)
	}
	putGraphInfo(infoOut, &info)
	return 0
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

//export fmgo_pool_get_info
func fmgo_pool_get_info(pool C.uint64_t, infoOut *C.ferrum_pool_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.PoolGetInfo(uint64(pool))
	if err != nil {
		return fail(err)
	}
	putPoolInfo(infoOut, &info)
	return 0
}

//export fmgo_pool_get_statistics
func fmgo_pool_get_statistics(pool C.uint64_t, statisticsOut *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.PoolGetStatistics(uint64(pool))
	if err != nil {
		return fail(err)
	}
	putStatistics(statisticsOut, &statistics)
	return 0
}

//export fmgo_device_get_owner
func fmgo_device_get_owner(dev C.uint64_t, address C.uint64_t, infoOut *C.ferrum_block_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.DeviceGetOwner(uint64(dev), device.Addr(address))
	if err != nil {
		return fail(err)
	}
	putBlockInfo(infoOut, &info)
	return 0
}

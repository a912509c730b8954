// Code generated from include/ferrum_mem/pools.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

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
	object, err := lib.Pool("pool.destroy", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(force))
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
	object, err := lib.Pool("pool.alloc_with", uint64(pool))
	if err != nil {
		return fail(err)
	}
	address, err := object.AllocWith(requestGiven)
	return give(addressOut, address, library.CallError(err, object))
}

//export fmgo_pool_alloc_batch
func fmgo_pool_alloc_batch(pool C.uint64_t, sizeBytes C.uint64_t, count C.uint64_t, stream C.uint64_t, addressesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addressesGiven, err := arrayOf[device.Addr]("addresses", addressesOut, count)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Pool("pool.alloc_batch", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.AllocBatch(uint64(sizeBytes), uint64(stream), addressesGiven), object))
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
	object, err := lib.Pool("pool.free_sized", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.FreeSized(device.Addr(address), uint64(sizeBytes), uint64(stream)), object))
}

//export fmgo_pool_free_batch
func fmgo_pool_free_batch(pool C.uint64_t, addresses *C.uint64_t, count C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addressesGiven, err := arrayOf[device.Addr]("addresses", addresses, count)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Pool("pool.free_batch", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.FreeBatch(addressesGiven, uint64(stream)), object))
}

//export fmgo_pool_record_stream
func fmgo_pool_record_stream(pool C.uint64_t, address C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.record_stream", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.RecordStream(device.Addr(address), uint64(stream)), object))
}

//export fmgo_pool_record_stream_batch
func fmgo_pool_record_stream_batch(pool C.uint64_t, addresses *C.uint64_t, count C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addressesGiven, err := arrayOf[device.Addr]("addresses", addresses, count)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Pool("pool.record_stream_batch", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.RecordStreamBatch(addressesGiven, uint64(stream)), object))
}

//export fmgo_pool_usable_size
func fmgo_pool_usable_size(pool C.uint64_t, address C.uint64_t, sizeBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.usable_size", uint64(pool))
	if err != nil {
		return fail(err)
	}
	sizeBytes, err := object.UsableSize(device.Addr(address))
	return give(sizeBytesOut, sizeBytes, library.CallError(err, object))
}

//export fmgo_pool_capture_begin
func fmgo_pool_capture_begin(pool C.uint64_t, stream C.uint64_t, sharedGraph C.uint64_t, graphOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.capture_begin", uint64(pool))
	if err != nil {
		return fail(err)
	}
	graph, err := object.CaptureBegin(uint64(stream), uint64(sharedGraph))
	return give(graphOut, graph, library.CallError(err, object))
}

//export fmgo_pool_capture_end
func fmgo_pool_capture_end(pool C.uint64_t, graph C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.capture_end", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.CaptureEnd(uint64(graph)), object))
}

//export fmgo_pool_capture_release
func fmgo_pool_capture_release(pool C.uint64_t, graph C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.capture_release", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.CaptureRelease(uint64(graph), uint64(stream)), object))
}

//export fmgo_pool_capture_get_info
func fmgo_pool_capture_get_info(pool C.uint64_t, graph C.uint64_t, infoOut *C.ferrum_graph_info) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.capture_info", uint64(pool))
	if err != nil {
		return fail(err)
	}
	info, err := object.CaptureInfo(uint64(graph))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putGraphInfo(infoOut, &info)
	return 0
}

//export fmgo_pool_reset
func fmgo_pool_reset(pool C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.reset", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Reset(uint64(stream)), object))
}

//export fmgo_pool_check
func fmgo_pool_check(pool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.check", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Check(), object))
}

//export fmgo_pool_trim
func fmgo_pool_trim(pool C.uint64_t, keepBytes C.uint64_t, releasedBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.trim", uint64(pool))
	if err != nil {
		return fail(err)
	}
	releasedBytes, err := object.Trim(uint64(keepBytes))
	return give(releasedBytesOut, releasedBytes, library.CallError(err, object))
}

//export fmgo_pool_set_limit
func fmgo_pool_set_limit(pool C.uint64_t, maxSizeBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.set_limit", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.SetLimit(uint64(maxSizeBytes)), object))
}

//export fmgo_pool_set_min_held
func fmgo_pool_set_min_held(pool C.uint64_t, minHeldBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.set_min_held", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.SetMinHeld(uint64(minHeldBytes)), object))
}

//export fmgo_pool_set_release_threshold
func fmgo_pool_set_release_threshold(pool C.uint64_t, releaseThresholdBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.set_release_threshold", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.SetReleaseThreshold(uint64(releaseThresholdBytes)), object))
}

//export fmgo_pool_get_info
func fmgo_pool_get_info(pool C.uint64_t, infoOut *C.ferrum_pool_info) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.info", uint64(pool))
	if err != nil {
		return fail(err)
	}
	info := object.Info()
	putPoolInfo(infoOut, &info)
	return 0
}

//export fmgo_pool_get_statistics
func fmgo_pool_get_statistics(pool C.uint64_t, statisticsOut *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Pool("pool.statistics", uint64(pool))
	if err != nil {
		return fail(err)
	}
	statistics := object.Statistics()
	putStatistics(statisticsOut, &statistics)
	return 0
}

//export fmgo_device_get_owner
func fmgo_device_get_owner(dev C.uint64_t, address C.uint64_t, infoOut *C.ferrum_block_info) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.owner", uint64(dev))
	if err != nil {
		return fail(err)
	}
	info, err := object.Owner(device.Addr(address))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putBlockInfo(infoOut, &info)
	return 0
}

//export fmgo_device_get_call_site_json
func fmgo_device_get_call_site_json(dev C.uint64_t, address C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.call_site_json", uint64(dev))
	if err != nil {
		return fail(err)
	}
	text, err := object.CallSiteJSON(device.Addr(address))
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

// Code generated from include/ferrum_mem/virtual.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_device_get_page_sizes
func fmgo_device_get_page_sizes(dev C.uint64_t, sizesOut *C.ferrum_page_sizes) (status C.int32_t) {
	defer guard(&status)
	sizes, err := lib.DeviceGetPageSizes(uint64(dev))
	if err != nil {
		return fail(err)
	}
	putPageSizes(sizesOut, &sizes)
	return 0
}

//export fmgo_vpool_create
func fmgo_vpool_create(dev C.uint64_t, config *C.ferrum_vpool_config, vpoolOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := vpoolConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	vpool, err := lib.VPoolCreate(uint64(dev), configGiven)
	return give(vpoolOut, vpool, err)
}

//export fmgo_vpool_destroy
func fmgo_vpool_destroy(vpool C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.VPoolDestroy(uint64(vpool), force))
}

//export fmgo_vpool_alloc
func fmgo_vpool_alloc(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	address, err := lib.VPoolAlloc(uint64(vpool), rangeOf(offsetBytes, sizeBytes))
	return give(addressOut, address, err)
}

//export fmgo_vpool_alloc_with
func fmgo_vpool_alloc_with(vpool C.uint64_t, request *C.ferrum_vpool_request, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := vpoolRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	address, err := lib.VPoolAllocWith(uint64(vpool), requestGiven)
	return give(addressOut, address, err)
}

//export fmgo_vpool_free
func fmgo_vpool_free(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolFree(uint64(vpool), rangeOf(offsetBytes, sizeBytes), uint64(stream)))
}

//export fmgo_vpool_record_stream
func fmgo_vpool_record_stream(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolRecordStream(uint64(vpool), rangeOf(offsetBytes, sizeBytes), uint64(stream)))
}

//export fmgo_vpool_is_mapped
func fmgo_vpool_is_mapped(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, mappedOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	mapped, err := lib.VPoolIsMapped(uint64(vpool), rangeOf(offsetBytes, sizeBytes))
	return giveTruth(mappedOut, mapped, err)
}

//export fmgo_vpool_get_info
func fmgo_vpool_get_info(vpool C.uint64_t, infoOut *C.ferrum_vpool_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.VPoolGetInfo(uint64(vpool))
	if err != nil {
		return fail(err)
	}
	putVPoolInfo(infoOut, &info)
	return 0
}

//export fmgo_vpool_get_statistics
func fmgo_vpool_get_statistics(vpool C.uint64_t, statisticsOut *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.VPoolGetStatistics(uint64(vpool))
	if err != nil {
		return fail(err)
	}
	putStatistics(statisticsOut, &statistics)
	return 0
}

//export fmgo_vpool_compact
func fmgo_vpool_compact(vpool C.uint64_t, reportOut *C.ferrum_compact_report) (status C.int32_t) {
	defer guard(&status)
	report, err := lib.VPoolCompact(uint64(vpool))
	if err != nil {
		return fail(err)
	}
	putCompactReport(reportOut, &report)
	return 0
}

//export fmgo_vpool_trim
func fmgo_vpool_trim(vpool C.uint64_t, keepBytes C.uint64_t, releasedBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	releasedBytes, err := lib.VPoolTrim(uint64(vpool), uint64(keepBytes))
	return give(releasedBytesOut, releasedBytes, err)
}

//export fmgo_vpool_set_limit
func fmgo_vpool_set_limit(vpool C.uint64_t, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolSetLimit(uint64(vpool), uint64(limitBytes)))
}

//export fmgo_vpool_synchronize
func fmgo_vpool_synchronize(vpool C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolSynchronize(uint64(vpool), timeoutOf(timeoutNs)))
}

//export fmgo_vpool_pause
func fmgo_vpool_pause(vpool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolPause(uint64(vpool)))
}

//export fmgo_vpool_resume
func fmgo_vpool_resume(vpool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolResume(uint64(vpool)))
}

// Code generated from include/ferrum_mem/virtual.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/library"

//export fmgo_device_get_page_sizes
func fmgo_device_get_page_sizes(dev C.uint64_t, sizesOut *C.ferrum_page_sizes) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.page_sizes", uint64(dev))
	if err != nil {
		return fail(err)
	}
	sizes, err := object.PageSizes()
	if err != nil {
		return fail(library.CallError(err, object))
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
	object, err := lib.VPool("vpool.destroy", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(force))
}

//export fmgo_vpool_alloc
func fmgo_vpool_alloc(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.alloc", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	address, err := object.Alloc(rangeOf(offsetBytes, sizeBytes))
	return give(addressOut, address, library.CallError(err, object))
}

//export fmgo_vpool_alloc_with
func fmgo_vpool_alloc_with(vpool C.uint64_t, request *C.ferrum_vpool_request, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := vpoolRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	object, err := lib.VPool("vpool.alloc_with", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	address, err := object.AllocWith(requestGiven)
	return give(addressOut, address, library.CallError(err, object))
}

//export fmgo_vpool_alloc_batch
func fmgo_vpool_alloc_batch(vpool C.uint64_t, ranges *C.ferrum_byte_range, count C.uint64_t, options *C.ferrum_batch_options) (status C.int32_t) {
	defer guard(&status)
	rangesGiven, err := recordsOf("ranges", ranges, count, byteRangeOf)
	if err != nil {
		return fail(err)
	}
	optionsGiven, err := batchOptionsOf("options", options)
	if err != nil {
		return fail(err)
	}
	object, err := lib.VPool("vpool.alloc_batch", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.AllocBatch(rangesGiven, optionsGiven), object))
}

//export fmgo_vpool_free
func fmgo_vpool_free(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.free", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Free(rangeOf(offsetBytes, sizeBytes), uint64(stream)), object))
}

//export fmgo_vpool_free_batch
func fmgo_vpool_free_batch(vpool C.uint64_t, ranges *C.ferrum_byte_range, count C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	rangesGiven, err := recordsOf("ranges", ranges, count, byteRangeOf)
	if err != nil {
		return fail(err)
	}
	object, err := lib.VPool("vpool.free_batch", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.FreeBatch(rangesGiven, uint64(stream)), object))
}

//export fmgo_vpool_record_stream
func fmgo_vpool_record_stream(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.record_stream", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.RecordStream(rangeOf(offsetBytes, sizeBytes), uint64(stream)), object))
}

//export fmgo_vpool_record_stream_batch
func fmgo_vpool_record_stream_batch(vpool C.uint64_t, ranges *C.ferrum_byte_range, count C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	rangesGiven, err := recordsOf("ranges", ranges, count, byteRangeOf)
	if err != nil {
		return fail(err)
	}
	object, err := lib.VPool("vpool.record_stream_batch", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.RecordStreamBatch(rangesGiven, uint64(stream)), object))
}

//export fmgo_vpool_is_mapped
func fmgo_vpool_is_mapped(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, mappedOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.is_mapped", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	mapped := object.IsMapped(rangeOf(offsetBytes, sizeBytes))
	return giveTruth(mappedOut, mapped, nil)
}

//export fmgo_vpool_get_info
func fmgo_vpool_get_info(vpool C.uint64_t, infoOut *C.ferrum_vpool_info) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.info", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	info := object.Info()
	putVPoolInfo(infoOut, &info)
	return 0
}

//export fmgo_vpool_get_statistics
func fmgo_vpool_get_statistics(vpool C.uint64_t, statisticsOut *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.statistics", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	statistics := object.Statistics()
	putStatistics(statisticsOut, &statistics)
	return 0
}

//export fmgo_vpool_compact
func fmgo_vpool_compact(vpool C.uint64_t, reportOut *C.ferrum_compact_report) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.compact", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	report, err := object.Compact()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putCompactReport(reportOut, &report)
	return 0
}

//export fmgo_vpool_trim
func fmgo_vpool_trim(vpool C.uint64_t, keepBytes C.uint64_t, releasedBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.trim", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	releasedBytes, err := object.Trim(uint64(keepBytes))
	return give(releasedBytesOut, releasedBytes, library.CallError(err, object))
}

//export fmgo_vpool_set_limit
func fmgo_vpool_set_limit(vpool C.uint64_t, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.set_limit", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.SetLimit(uint64(limitBytes)), object))
}

//export fmgo_vpool_synchronize
func fmgo_vpool_synchronize(vpool C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.synchronize", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Synchronize(timeoutOf(timeoutNs)), object))
}

//export fmgo_vpool_pause
func fmgo_vpool_pause(vpool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.pause", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	object.Pause()
	return 0
}

//export fmgo_vpool_resume
func fmgo_vpool_resume(vpool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.resume", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	object.Resume()
	return 0
}

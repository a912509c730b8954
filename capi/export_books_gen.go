// Code generated from include/ferrum_mem/books.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/library"

//export fmgo_device_get_memory_info
func fmgo_device_get_memory_info(dev C.uint64_t, infoOut *C.ferrum_memory_info) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.memory_info", uint64(dev))
	if err != nil {
		return fail(err)
	}
	info, err := object.MemoryInfo()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putMemoryInfo(infoOut, &info)
	return 0
}

//export fmgo_device_get_recent_memory_info
func fmgo_device_get_recent_memory_info(dev C.uint64_t, maxAgeNs C.uint64_t, infoOut *C.ferrum_memory_info) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	object, err := lib.Device("device.recent_memory_info", uint64(dev))
	if err != nil {
		return fail(err)
	}
	info, err := object.RecentMemoryInfo(ageOf(maxAgeNs))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putMemoryInfo(infoOut, &info)
	return 0
}

//export fmgo_device_get_statistics
func fmgo_device_get_statistics(dev C.uint64_t, statisticsOut *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.statistics", uint64(dev))
	if err != nil {
		return fail(err)
	}
	statistics := object.Statistics()
	putStatistics(statisticsOut, &statistics)
	return 0
}

//export fmgo_snapshot_json
func fmgo_snapshot_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.SnapshotJSON()
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_leak_report_json
func fmgo_leak_report_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text := lib.LeakReportJSON()
	return giveText(buffer, capacity, lengthOut, text, nil)
}

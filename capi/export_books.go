package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

//export fmgo_device_get_memory_info
func fmgo_device_get_memory_info(handle C.uint64_t, out *C.ferrum_memory_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.DeviceGetMemoryInfo(uint64(handle))
	if err != nil {
		return fail(err)
	}
	putMemoryInfo(out, &info)
	return 0
}

func putMemoryInfo(out *C.ferrum_memory_info, info *engine.MemoryInfo) {
	out.pressure = C.int32_t(info.Pressure)
	out.total_bytes = C.uint64_t(info.TotalBytes)
	out.used_bytes = C.uint64_t(info.UsedBytes)
	out.free_bytes = C.uint64_t(info.FreeBytes)
	out.reserved_bytes = C.uint64_t(info.ReservedBytes)
	out.active_allocations = C.uint64_t(info.ActiveAllocations)
	out.fragmentation_ratio = C.float(info.FragmentationRatio)
	out.utilization_percent = C.float(info.UtilizationPercent())
	if info.BandwidthGBps != nil {
		out.bandwidth_known = 1
		out.bandwidth_gbps = C.float(*info.BandwidthGBps)
	}
	out.reading_age_ns = C.uint64_t(info.ReadingAge)
	out.largest_free_bytes = C.uint64_t(info.LargestFreeBytes)
}

//export fmgo_device_get_statistics
func fmgo_device_get_statistics(handle C.uint64_t, out *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.DeviceGetStatistics(uint64(handle))
	return giveStatistics(out, statistics, err)
}

//export fmgo_leak_report_json
func fmgo_leak_report_json(buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	return giveText(buffer, capacity, length, lib.LeakReportJSON(), nil)
}

func giveStatistics(out *C.ferrum_statistics, s track.Statistics, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	gauge := func(g track.Gauge) C.ferrum_gauge {
		return C.ferrum_gauge{current: C.uint64_t(g.Current), peak: C.uint64_t(g.Peak)}
	}
	out.requested = gauge(s.Requested)
	out.allocated = gauge(s.Allocated)
	out.active = gauge(s.Active)
	out.cached = gauge(s.Cached)
	out.unusable = gauge(s.Unusable)
	out.reserved = gauge(s.Reserved)
	out.live_blocks = gauge(s.LiveBlocks)
	out.segments = gauge(s.Segments)
	out.allocations = C.uint64_t(s.Allocations)
	out.frees = C.uint64_t(s.Frees)
	out.failures = C.uint64_t(s.Failures)
	out.largest_free_bytes = C.uint64_t(s.LargestFreeBytes)
	out.thread_cached_bytes = C.uint64_t(s.ThreadCachedBytes)
	return 0
}

// Code generated from include/ferrum_mem/books.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// putMemoryInfo fills a ferrum_memory_info.
func putMemoryInfo(to *C.ferrum_memory_info, from *engine.MemoryInfo) {
	set(&to.pressure, from.Pressure)
	set(&to.total_bytes, from.TotalBytes)
	set(&to.used_bytes, from.UsedBytes)
	set(&to.free_bytes, from.FreeBytes)
	set(&to.reserved_bytes, from.ReservedBytes)
	set(&to.active_allocations, from.ActiveAllocations)
	set(&to.fragmentation_ratio, from.FragmentationRatio)
	set(&to.utilization_percent, from.UtilizationPercent())
	setTruth(&to.bandwidth_known, from.BandwidthGBps != nil)
	set(&to.bandwidth_gbps, from.Bandwidth())
	set(&to.reading_age_ns, from.ReadingAge)
	set(&to.largest_free_bytes, from.LargestFreeBytes)
	set(&to.limit_bytes, from.LimitBytes)
	set(&to.device_total_bytes, from.DeviceTotalBytes)
	set(&to.device_free_bytes, from.DeviceFreeBytes)
}

// putGauge fills a ferrum_gauge.
func putGauge(to *C.ferrum_gauge, from *track.Gauge) {
	*to = C.ferrum_gauge{}
	set(&to.current, from.Current)
	set(&to.peak, from.Peak)
}

// putStatistics fills a ferrum_statistics.
func putStatistics(to *C.ferrum_statistics, from *track.Statistics) {
	putGauge(&to.requested, &from.Requested)
	putGauge(&to.allocated, &from.Allocated)
	putGauge(&to.active, &from.Active)
	putGauge(&to.cached, &from.Cached)
	putGauge(&to.unusable, &from.Unusable)
	putGauge(&to.reserved, &from.Reserved)
	putGauge(&to.live_blocks, &from.LiveBlocks)
	putGauge(&to.segments, &from.Segments)
	set(&to.allocations, from.Allocations)
	set(&to.frees, from.Frees)
	set(&to.failures, from.Failures)
	set(&to.largest_free_bytes, from.LargestFreeBytes)
	set(&to.thread_cached_bytes, from.ThreadCachedBytes)
}

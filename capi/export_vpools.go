package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/vmm"
)

//export fmgo_device_get_page_sizes
func fmgo_device_get_page_sizes(dev C.uint64_t, out *C.ferrum_page_sizes) (status C.int32_t) {
	defer guard(&status)
	sizes, err := lib.DeviceGetPageSizes(uint64(dev))
	if err != nil {
		return fail(err)
	}
	out.minimum_bytes = C.uint64_t(sizes.MinimumBytes)
	out.recommended_bytes = C.uint64_t(sizes.RecommendedBytes)
	return 0
}

//export fmgo_vpool_create
func fmgo_vpool_create(dev C.uint64_t, config *C.ferrum_vpool_config, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	settings, err := vpoolConfigOf(config)
	if err != nil {
		return fail(err)
	}
	handle, err := lib.VPoolCreate(uint64(dev), settings)
	return give(out, handle, err)
}

//export fmgo_vpool_alloc
func fmgo_vpool_alloc(handle, offset, size C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addr, err := lib.VPoolAllocWith(uint64(handle), vmm.AllocRequest{OffsetBytes: uint64(offset), SizeBytes: uint64(size)}, 0)
	return give(out, addr, err)
}

func rangeOf(offset, size C.uint64_t) library.ByteRange {
	return library.ByteRange{OffsetBytes: uint64(offset), SizeBytes: uint64(size)}
}

//export fmgo_vpool_get_info
func fmgo_vpool_get_info(handle C.uint64_t, out *C.ferrum_vpool_info) (status C.int32_t) {
	defer guard(&status)
	stats, base, err := lib.VPoolGetInfo(uint64(handle))
	if err != nil {
		return fail(err)
	}
	out.unmapped_share = C.float(stats.UnmappedShare)
	out.fragmentation = C.float(stats.Fragmentation)
	out.base_address = C.uint64_t(base)
	out.page_bytes = C.uint64_t(stats.PageBytes)
	out.virtual_capacity_bytes = C.uint64_t(stats.VirtualCapacityBytes)
	out.physical_bytes = C.uint64_t(stats.PhysicalBytes)
	out.peak_physical_bytes = C.uint64_t(stats.PeakPhysicalBytes)
	out.requested_bytes = C.uint64_t(stats.RequestedBytes)
	out.mapped_pages = C.uint64_t(stats.MappedPages)
	out.retiring_pages = C.uint64_t(stats.RetiringPages)
	out.parked_pages = C.uint64_t(stats.ParkedPages)
	out.ready_pages = C.uint64_t(stats.ReadyPages)
	out.held_bytes = C.uint64_t(stats.HeldBytes)
	out.limit_bytes = C.uint64_t(stats.LimitBytes)
	out.available_bytes = C.uint64_t(stats.AvailableBytes)
	out.largest_free_run_bytes = C.uint64_t(stats.LargestFreeRunBytes)
	out.allocations = C.uint64_t(stats.Allocations)
	out.table_bytes = C.uint64_t(stats.TableBytes)
	out.asleep_pages = C.uint64_t(stats.AsleepPages)
	out.asleep_bytes = C.uint64_t(stats.AsleepBytes)
	out.asleep_host_bytes = C.uint64_t(stats.AsleepHostBytes)
	out.asleep_file_bytes = C.uint64_t(stats.AsleepFileBytes)
	out.asleep_discarded_bytes = C.uint64_t(stats.AsleepDiscardedBytes)
	out.sleeps = C.uint64_t(stats.Sleeps)
	out.wakes = C.uint64_t(stats.Wakes)
	out.sleep_ns = C.uint64_t(stats.SleepNs)
	out.wake_ns = C.uint64_t(stats.WakeNs)
	out.sleep_failures = C.uint64_t(stats.SleepFailures)
	out.wake_failures = C.uint64_t(stats.WakeFailures)
	return 0
}

//export fmgo_vpool_get_statistics
func fmgo_vpool_get_statistics(handle C.uint64_t, out *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.VPoolGetStatistics(uint64(handle))
	return giveStatistics(out, statistics, err)
}

//export fmgo_vpool_compact
func fmgo_vpool_compact(handle C.uint64_t, out *C.ferrum_compact_report) (status C.int32_t) {
	defer guard(&status)
	report, err := lib.VPoolCompact(uint64(handle))
	return giveCompacted(out, report, err)
}

func giveCompacted(out *C.ferrum_compact_report, report vmm.CompactReport, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	out.landed_pages = C.uint64_t(report.LandedPages)
	out.unmapped_pages = C.uint64_t(report.UnmappedPages)
	out.released_bytes = C.uint64_t(report.ReleasedBytes)
	out.runs_before = C.uint64_t(report.RunsBefore)
	out.runs_after = C.uint64_t(report.RunsAfter)
	return 0
}

func vpoolConfigOf(c *C.ferrum_vpool_config) (vmm.Config, error) {
	settings := vmm.Config{
		CapacityBytes: uint64(c.capacity_bytes), PageBytes: uint64(c.page_bytes), LimitBytes: uint64(c.limit_bytes),
		Backing: device.Backing(c.backing),
	}
	if c.flags != 0 {
		return settings, device.Errorf(device.CodeInvalidArgument, "capi.vpool_config",
			"config->flags is %#x: none is known", uint32(c.flags))
	}
	var err error
	if settings.Name, err = textOf("config->name", c.name); err != nil {
		return settings, err
	}
	settings.ReadyPages, err = readyPagesOf(c.ready_pages)
	return settings, err
}

// maxReadyPages bounds ready_pages.
const maxReadyPages = 1 << 16

// readyPagesOf is ready_pages as the settings of a stock of pages have it: 0 leaves
// it to the library, below 0 is none.
func readyPagesOf(pages C.uint32_t) (int, error) {
	switch {
	case pages == C.FERRUM_READY_PAGES_AUTO:
		return 0, nil
	case pages == 0:
		return -1, nil
	case pages > maxReadyPages:
		return 0, device.Errorf(device.CodeInvalidArgument, "capi.ready_pages",
			"config->ready_pages is %d: want at most %d, or FERRUM_READY_PAGES_AUTO", uint32(pages), maxReadyPages)
	}
	return int(pages), nil
}

// The backings have the numbers of the header: another one would not compile.
var (
	_ = [1]struct{}{}[device.BackingMovable-C.FERRUM_BACKING_MOVABLE]
	_ = [1]struct{}{}[device.BackingPrivate-C.FERRUM_BACKING_PRIVATE]
)

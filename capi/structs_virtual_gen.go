// Code generated from include/ferrum_mem/virtual.h by scripts/genabi.py; DO NOT EDIT.

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

// putPageSizes fills a ferrum_page_sizes.
func putPageSizes(to *C.ferrum_page_sizes, from *device.Granularity) {
	set(&to.minimum_bytes, from.MinimumBytes)
	set(&to.recommended_bytes, from.RecommendedBytes)
}

// vpoolConfigOf reads a ferrum_vpool_config.
func vpoolConfigOf(argument string, from *C.ferrum_vpool_config) (to vmm.Config, err error) {
	f := fields{argument: argument}
	f.known(from.flags, 0, "none is")
	read(&to.CapacityBytes, from.capacity_bytes)
	read(&to.PageBytes, from.page_bytes)
	read(&to.LimitBytes, from.limit_bytes)
	f.text(&to.Name, from.name, "name")
	f.readyPages(&to.ReadyPages, from.ready_pages, "ready_pages")
	read(&to.Backing, from.backing)
	return to, f.err
}

// vpoolRequestOf reads a ferrum_vpool_request.
func vpoolRequestOf(argument string, from *C.ferrum_vpool_request) (to library.RangeRequest, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	read(&to.OffsetBytes, from.offset_bytes)
	read(&to.SizeBytes, from.size_bytes)
	f.text(&to.Tag, from.tag, "tag")
	readWait(&to.Wait, from.asleep_wait_ns)
	read(&to.StreamHandle, from.stream.id)
	return to, f.err
}

// byteRangeOf reads a ferrum_byte_range.
func byteRangeOf(_ string, from *C.ferrum_byte_range) (to vmm.ByteRange, err error) {
	read(&to.OffsetBytes, from.offset_bytes)
	read(&to.SizeBytes, from.size_bytes)
	return to, nil
}

// batchOptionsOf reads a ferrum_batch_options.
func batchOptionsOf(argument string, from *C.ferrum_batch_options) (to library.BatchRequest, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	f.text(&to.Tag, from.tag, "tag")
	readWait(&to.Wait, from.asleep_wait_ns)
	read(&to.StreamHandle, from.stream.id)
	return to, f.err
}

// putVPoolInfo fills a ferrum_vpool_info.
func putVPoolInfo(to *C.ferrum_vpool_info, from *library.VPoolInfo) {
	set(&to.unmapped_share, from.UnmappedShare)
	set(&to.fragmentation, from.Fragmentation)
	set(&to.base_address, from.BaseAddress)
	set(&to.page_bytes, from.PageBytes)
	set(&to.virtual_capacity_bytes, from.VirtualCapacityBytes)
	set(&to.physical_bytes, from.PhysicalBytes)
	set(&to.peak_physical_bytes, from.PeakPhysicalBytes)
	set(&to.requested_bytes, from.RequestedBytes)
	set(&to.mapped_pages, from.MappedPages)
	set(&to.retiring_pages, from.RetiringPages)
	set(&to.parked_pages, from.ParkedPages)
	set(&to.ready_pages, from.ReadyPages)
	set(&to.held_bytes, from.HeldBytes)
	set(&to.limit_bytes, from.LimitBytes)
	set(&to.available_bytes, from.AvailableBytes)
	set(&to.largest_free_run_bytes, from.LargestFreeRunBytes)
	set(&to.allocations, from.Allocations)
	set(&to.table_bytes, from.TableBytes)
	set(&to.asleep_pages, from.AsleepPages)
	set(&to.asleep_bytes, from.AsleepBytes)
	set(&to.asleep_host_bytes, from.AsleepHostBytes)
	set(&to.asleep_file_bytes, from.AsleepFileBytes)
	set(&to.asleep_discarded_bytes, from.AsleepDiscardedBytes)
	set(&to.sleeps, from.Sleeps)
	set(&to.wakes, from.Wakes)
	set(&to.sleep_ns, from.SleepNs)
	set(&to.wake_ns, from.WakeNs)
	set(&to.sleep_failures, from.SleepFailures)
	set(&to.wake_failures, from.WakeFailures)
}

// putCompactReport fills a ferrum_compact_report.
func putCompactReport(to *C.ferrum_compact_report, from *vmm.CompactReport) {
	set(&to.landed_pages, from.LandedPages)
	set(&to.unmapped_pages, from.UnmappedPages)
	set(&to.released_bytes, from.ReleasedBytes)
	set(&to.runs_before, from.RunsBefore)
	set(&to.runs_after, from.RunsAfter)
}

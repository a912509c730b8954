// Code generated from include/ferrum_mem/monitor.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/monitor"
)

// monitorConfigOf reads a ferrum_monitor_config.
func monitorConfigOf(argument string, from *C.ferrum_monitor_config) (to library.MonitorConfig, err error) {
	f := fields{argument: argument}
	read(&to.Profile, from.profile)
	readWait(&to.Interval, from.interval_ns)
	f.known(from.flags, C.FERRUM_MONITOR_IGNORE_SYSTEM, "only FERRUM_MONITOR_IGNORE_SYSTEM (0x1) is")
	to.IgnoreSystem = from.flags&C.FERRUM_MONITOR_IGNORE_SYSTEM != 0
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}

// putDeviceLevel fills a ferrum_device_level.
func putDeviceLevel(to *C.ferrum_device_level, from *library.DeviceLevel) {
	*to = C.ferrum_device_level{}
	set(&to.device.id, from.Device)
	set(&to.level, from.Level)
}

// putMonitorPressure fills a ferrum_monitor_pressure.
func putMonitorPressure(to *C.ferrum_monitor_pressure, from *monitor.Summary) {
	set(&to.level, from.Level)
	set(&to.weighted_level, from.WeightedLevel)
	set(&to.devices, from.Devices)
	set(&to.unknown_devices, from.Unknown)
	set(&to.total_bytes, from.TotalBytes)
	set(&to.used_bytes, from.UsedBytes)
}

// putCollected fills a ferrum_collected.
func putCollected(to *C.ferrum_collected, from *library.MonitorCollected) {
	*to = C.ferrum_collected{}
	set(&to.device.id, from.Device)
	set(&to.status, from.Status())
	set(&to.managers, from.Managers)
	set(&to.fragmentation_before, from.Stats.FragmentationBefore)
	set(&to.fragmentation_after, from.Stats.FragmentationAfter)
	set(&to.memory_freed_bytes, from.Stats.MemoryFreedBytes)
	set(&to.blocks_moved, from.Stats.BlocksMoved)
	set(&to.blocks_skipped, from.Stats.BlocksSkipped)
	set(&to.time_taken_ns, from.Stats.TimeTakenNs)
	set(&to.time_taken_ms, from.Stats.TimeTakenMs)
}

// placementRequestOf reads a ferrum_placement_request.
func placementRequestOf(argument string, from *C.ferrum_placement_request) (to library.PlacementRequest, err error) {
	f := fields{argument: argument}
	read(&to.Type, from.memory_type)
	read(&to.SizeBytes, from.size_bytes)
	read(&to.AlignmentBytes, from.alignment_bytes)
	read(&to.Lifetime, from.expected_lifetime_ns)
	readList(&f, &to.Preferred, (*C.uint64_t)(unsafe.Pointer(from.preferred)), listLength{uint64(from.preferred_count), C.FERRUM_PLACEMENT_DEVICES_MAX, "preferred_count", device.CodeInvalidArgument}, "preferred")
	readList(&f, &to.Devices, (*C.uint64_t)(unsafe.Pointer(from.devices)), listLength{uint64(from.device_count), C.FERRUM_PLACEMENT_DEVICES_MAX, "device_count", device.CodeInvalidArgument}, "devices")
	f.known(from.flags, C.FERRUM_PLACEMENT_CRITICAL|C.FERRUM_PLACEMENT_STRICT|C.FERRUM_PLACEMENT_REFUSE_CRITICAL, "only FERRUM_PLACEMENT_CRITICAL (0x1), FERRUM_PLACEMENT_STRICT (0x2) and FERRUM_PLACEMENT_REFUSE_CRITICAL (0x4) are")
	to.Critical = from.flags&C.FERRUM_PLACEMENT_CRITICAL != 0
	to.Strict = from.flags&C.FERRUM_PLACEMENT_STRICT != 0
	to.RefuseCritical = from.flags&C.FERRUM_PLACEMENT_REFUSE_CRITICAL != 0
	read(&to.Profile, from.profile)
	return to, f.err
}

// putPlacementRequest fills a ferrum_placement_request.
func putPlacementRequest(to *C.ferrum_placement_request, from *library.PlacementRequest) {
	set(&to.memory_type, from.Type)
	set(&to.size_bytes, from.SizeBytes)
	set(&to.alignment_bytes, from.AlignmentBytes)
	set(&to.expected_lifetime_ns, from.Lifetime)
	to.flags = 0
	setFlag(&to.flags, C.FERRUM_PLACEMENT_CRITICAL, from.Critical)
	setFlag(&to.flags, C.FERRUM_PLACEMENT_STRICT, from.Strict)
	setFlag(&to.flags, C.FERRUM_PLACEMENT_REFUSE_CRITICAL, from.RefuseCritical)
	set(&to.profile, from.Profile)
}

// putPlacementOption fills a ferrum_placement_option.
func putPlacementOption(to *C.ferrum_placement_option, from *library.PlacementOption) {
	*to = C.ferrum_placement_option{}
	set(&to.device.id, from.Device)
	set(&to.needed_bytes, from.NeedBytes)
	set(&to.total_bytes, from.TotalBytes)
	set(&to.used_bytes, from.UsedBytes)
	set(&to.free_bytes, from.FreeBytes)
	set(&to.largest_free_bytes, from.LargestFreeBytes)
	set(&to.reason, from.Reason)
	set(&to.tier, from.Tier)
	set(&to.preferred_rank, from.Rank)
	set(&to.level_after, from.LevelAfter)
}

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"time"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/pressure"
)

// ageOf reads nanoseconds; what does not fit a Duration is any age.
func ageOf(ns C.uint64_t) time.Duration {
	return time.Duration(min(uint64(ns), math.MaxInt64))
}

//export fmgo_device_get_recent_memory_info
func fmgo_device_get_recent_memory_info(handle, maxAgeNS C.uint64_t, out *C.ferrum_memory_info) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	info, err := lib.DeviceGetRecentMemoryInfo(uint64(handle), ageOf(maxAgeNS))
	if err != nil {
		return fail(err)
	}
	putMemoryInfo(out, &info)
	return 0
}

//export fmgo_pressure_level_of
func fmgo_pressure_level_of(profile C.int32_t, totalBytes, freeBytes C.uint64_t, out *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	p := pressure.Profile(profile)
	if err := p.Check("pressure.level_of"); err != nil {
		return fail(err)
	}
	*out = C.int32_t(p.LevelOf(uint64(totalBytes), uint64(freeBytes)))
	return 0
}

//export fmgo_pressure_from_utilization
func fmgo_pressure_from_utilization(profile C.int32_t, ratio C.double, out *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	level, err := pressure.Profile(profile).FromUtilization(float64(ratio))
	if err != nil {
		return fail(err)
	}
	*out = C.int32_t(level)
	return 0
}

//export fmgo_monitor_create
func fmgo_monitor_create(config *C.ferrum_monitor_config, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	if config.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.monitor", "config->reserved is %d: want 0", uint32(config.reserved)))
	}
	if config.flags&^C.FERRUM_MONITOR_IGNORE_SYSTEM != 0 {
		return fail(device.Errorf(device.CodeInvalidArgument, "capi.monitor",
			"config->flags is %#x: only FERRUM_MONITOR_IGNORE_SYSTEM (0x1) is known", uint32(config.flags)))
	}
	c := library.MonitorConfig{
		Profile: pressure.Profile(config.profile), Interval: ageOf(config.interval_ns), IgnoreSystem: config.flags&C.FERRUM_MONITOR_IGNORE_SYSTEM != 0,
	}
	if uint64(config.interval_ns) > math.MaxInt64 {
		c.Interval = -1
	}
	handle, err := lib.MonitorCreate(c)
	return give(out, handle, err)
}

//export fmgo_monitor_destroy
func fmgo_monitor_destroy(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MonitorDestroy(uint64(handle), uint64(C.fm_token_now())))
}

//export fmgo_monitor_set_callback
func fmgo_monitor_set_callback(handle C.uint64_t, callback C.ferrum_monitor_fn, userData C.uintptr_t) (status C.int32_t) {
	defer guard(&status)
	var hear func([]library.DeviceLevel)
	if callback != nil {
		hear = func(levels []library.DeviceLevel) {
			given := make([]C.ferrum_device_level, len(levels))
			putLevels(given, levels)
			C.fm_call_monitor(callback, handle, unsafe.SliceData(given), C.size_t(len(given)), userData)
		}
	}
	return done(lib.MonitorSetCallback(uint64(handle), uint64(C.fm_token_now()), hear))
}

func putLevels(to []C.ferrum_device_level, levels []library.DeviceLevel) {
	for i, l := range levels {
		to[i] = C.ferrum_device_level{device: C.ferrum_device{id: C.uint64_t(l.Device)}, level: C.int32_t(l.Level)}
	}
}

//export fmgo_monitor_get_pressure
func fmgo_monitor_get_pressure(handle, maxAgeNS C.uint64_t, out *C.ferrum_monitor_pressure) (status C.int32_t) {
	defer guard(&status)
	s, err := lib.MonitorGetPressure(uint64(handle), ageOf(maxAgeNS))
	if err != nil {
		return fail(err)
	}
	out.level, out.weighted_level = C.int32_t(s.Level), C.int32_t(s.WeightedLevel)
	out.devices, out.unknown_devices = C.uint32_t(s.Devices), C.uint32_t(s.Unknown)
	out.total_bytes, out.used_bytes = C.uint64_t(s.TotalBytes), C.uint64_t(s.UsedBytes)
	return 0
}

//export fmgo_monitor_get_levels
func fmgo_monitor_get_levels(handle, maxAgeNS C.uint64_t, out *C.ferrum_device_level, capacity C.size_t, count *C.size_t) (status C.int32_t) {
	defer guard(&status)
	levels, err := lib.MonitorGetLevels(uint64(handle), ageOf(maxAgeNS))
	if err != nil {
		return fail(err)
	}
	*count = C.size_t(len(levels))
	if capacity == 0 {
		return 0
	}
	if err := fits("capi.levels", len(levels), capacity); err != nil {
		return fail(err)
	}
	putLevels(unsafe.Slice(out, len(levels)), levels)
	return 0
}

func fits(op string, count int, capacity C.size_t) error {
	if uint64(count) <= uint64(capacity) {
		return nil
	}
	return device.Errorf(device.CodeBufferTooSmall, op, "capacity is %d: there are %d devices", uint64(capacity), count)
}

//export fmgo_monitor_collect
func fmgo_monitor_collect(handle C.uint64_t, out *C.ferrum_collected, capacity C.size_t, count *C.size_t) (status C.int32_t) {
	defer guard(&status)
	watched, err := lib.MonitorDevices(uint64(handle))
	if err == nil {
		*count = C.size_t(watched)
		err = fits("capi.collect", watched, capacity)
	}
	if err != nil {
		return fail(err)
	}
	collected, err := lib.MonitorCollect(uint64(handle))
	if err != nil {
		return fail(err)
	}
	// One that came since the room was looked at is collected, but not told of.
	collected = collected[:min(uint64(len(collected)), uint64(capacity))]
	*count = C.size_t(len(collected))
	to := unsafe.Slice(out, len(collected))
	for i, c := range collected {
		to[i] = C.ferrum_collected{
			device: C.ferrum_device{id: C.uint64_t(c.Device)}, status: C.int32_t(device.CodeOf(c.Err)),
			managers:             C.uint32_t(c.Managers),
			fragmentation_before: C.float(c.Stats.FragmentationBefore), fragmentation_after: C.float(c.Stats.FragmentationAfter),
			memory_freed_bytes: C.uint64_t(c.Stats.MemoryFreedBytes), blocks_moved: C.uint64_t(c.Stats.BlocksMoved),
			blocks_skipped: C.uint64_t(c.Stats.BlocksSkipped), time_taken_ns: C.uint64_t(c.Stats.TimeTakenNs),
		}
	}
	return 0
}

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

//export fmgo_shared_pool_create
func fmgo_shared_pool_create(dev C.uint64_t, config *C.ferrum_shared_pool_config, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	settings, err := sharedConfigOf(config)
	if err != nil {
		return fail(err)
	}
	handle, err := lib.SharedPoolCreate(uint64(dev), settings)
	return give(out, handle, err)
}

//export fmgo_shared_pool_destroy
func fmgo_shared_pool_destroy(handle C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.SharedPoolDestroy(uint64(handle), force))
}

//export fmgo_shared_pool_get_info
func fmgo_shared_pool_get_info(handle C.uint64_t, out *C.ferrum_shared_pool_info) (status C.int32_t) {
	defer guard(&status)
	stats, pageBytes, err := lib.SharedPoolInfo(uint64(handle))
	if err != nil {
		return fail(err)
	}
	out.page_bytes = C.uint64_t(pageBytes)
	out.physical_limit_bytes = C.uint64_t(stats.PhysicalLimitBytes)
	out.physical_bytes = C.uint64_t(stats.PhysicalBytes)
	out.peak_physical_bytes = C.uint64_t(stats.PeakPhysicalBytes)
	out.num_models = C.uint64_t(stats.Models)
	out.virtual_bytes = C.uint64_t(stats.VirtualBytes)
	out.guaranteed_bytes = C.uint64_t(stats.GuaranteedBytes)
	out.retiring_bytes = C.uint64_t(stats.RetiringBytes)
	out.cached_bytes = C.uint64_t(stats.CachedBytes)
	out.held_bytes = C.uint64_t(stats.HeldBytes)
	out.waiting = C.uint64_t(stats.Waiting)
	return 0
}

//export fmgo_shared_pool_get_statistics
func fmgo_shared_pool_get_statistics(handle C.uint64_t, out *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.SharedPoolStatistics(uint64(handle))
	return giveStatistics(out, statistics, err)
}

//export fmgo_shared_pool_models_json
func fmgo_shared_pool_models_json(handle C.uint64_t, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.SharedPoolModelsJSON(uint64(handle))
	return giveText(buffer, capacity, length, text, err)
}

//export fmgo_shared_pool_set_limit
func fmgo_shared_pool_set_limit(handle, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.SharedPoolSetLimit(uint64(handle), uint64(limitBytes)))
}

//export fmgo_shared_pool_compact
func fmgo_shared_pool_compact(handle C.uint64_t, out *C.ferrum_compact_report) (status C.int32_t) {
	defer guard(&status)
	report, err := lib.SharedPoolCompact(uint64(handle))
	return giveCompacted(out, report, err)
}

//export fmgo_shared_pool_trim
func fmgo_shared_pool_trim(handle, keepBytes C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	released, err := lib.SharedPoolTrim(uint64(handle), uint64(keepBytes))
	return give(out, released, err)
}

//export fmgo_shared_pool_synchronize
func fmgo_shared_pool_synchronize(handle, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.SharedPoolSynchronize(uint64(handle), timeoutOf(timeoutNs)))
}

//export fmgo_shared_pool_pause
func fmgo_shared_pool_pause(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.SharedPoolPause(uint64(handle)))
}

//export fmgo_shared_pool_resume
func fmgo_shared_pool_resume(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.SharedPoolResume(uint64(handle)))
}

func sharedConfigOf(c *C.ferrum_shared_pool_config) (vmm.SharedConfig, error) {
	settings := vmm.SharedConfig{
		LimitBytes: uint64(c.limit_bytes), PageBytes: uint64(c.page_bytes), Backing: device.Backing(c.backing),
	}
	if c.flags != 0 {
		return settings, device.Errorf(device.CodeInvalidArgument, "capi.shared_pool_config",
			"config->flags is %#x: none is known", uint32(c.flags))
	}
	var err error
	if settings.Name, err = textOf("config->name", c.name); err != nil {
		return settings, err
	}
	settings.ReadyPages, err = readyPagesOf(c.ready_pages)
	return settings, err
}

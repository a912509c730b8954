package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

//export fmgo_elastic_pool_create
func fmgo_elastic_pool_create(dev C.uint64_t, config *C.ferrum_elastic_pool_config, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	settings, err := sharedConfigOf(config)
	if err != nil {
		return fail(err)
	}
	handle, err := lib.ElasticPoolCreate(uint64(dev), settings)
	return give(out, handle, err)
}

//export fmgo_elastic_pool_destroy
func fmgo_elastic_pool_destroy(handle C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolDestroy(uint64(handle), force))
}

//export fmgo_elastic_pool_get_info
func fmgo_elastic_pool_get_info(handle C.uint64_t, out *C.ferrum_elastic_pool_info) (status C.int32_t) {
	defer guard(&status)
	stats, pageBytes, err := lib.ElasticPoolInfo(uint64(handle))
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

//export fmgo_elastic_pool_get_statistics
func fmgo_elastic_pool_get_statistics(handle C.uint64_t, out *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.ElasticPoolStatistics(uint64(handle))
	return giveStatistics(out, statistics, err)
}

//export fmgo_elastic_pool_models_json
func fmgo_elastic_pool_models_json(handle C.uint64_t, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.ElasticPoolModelsJSON(uint64(handle))
	return giveText(buffer, capacity, length, text, err)
}

//export fmgo_elastic_pool_set_limit
func fmgo_elastic_pool_set_limit(handle, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolSetLimit(uint64(handle), uint64(limitBytes)))
}

//export fmgo_elastic_pool_compact
func fmgo_elastic_pool_compact(handle C.uint64_t, out *C.ferrum_compact_report) (status C.int32_t) {
	defer guard(&status)
	report, err := lib.ElasticPoolCompact(uint64(handle))
	return giveCompacted(out, report, err)
}

//export fmgo_elastic_pool_trim
func fmgo_elastic_pool_trim(handle, keepBytes C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	released, err := lib.ElasticPoolTrim(uint64(handle), uint64(keepBytes))
	return give(out, released, err)
}

//export fmgo_elastic_pool_synchronize
func fmgo_elastic_pool_synchronize(handle, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolSynchronize(uint64(handle), timeoutOf(timeoutNs)))
}

//export fmgo_elastic_pool_pause
func fmgo_elastic_pool_pause(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolPause(uint64(handle)))
}

//export fmgo_elastic_pool_resume
func fmgo_elastic_pool_resume(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolResume(uint64(handle)))
}

func sharedConfigOf(c *C.ferrum_elastic_pool_config) (vmm.ElasticConfig, error) {
	settings := vmm.ElasticConfig{
		LimitBytes: uint64(c.limit_bytes), PageBytes: uint64(c.page_bytes), Backing: device.Backing(c.backing),
	}
	if c.flags != 0 {
		return settings, device.Errorf(device.CodeInvalidArgument, "capi.elastic_pool_config",
			"config->flags is %#x: none is known", uint32(c.flags))
	}
	var err error
	if settings.Name, err = textOf("config->name", c.name); err != nil {
		return settings, err
	}
	settings.ReadyPages, err = readyPagesOf(c.ready_pages)
	return settings, err
}

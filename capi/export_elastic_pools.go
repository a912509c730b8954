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

//export fmgo_elastic_pool_get_info
func fmgo_elastic_pool_get_info(handle C.uint64_t, out *C.ferrum_elastic_pool_info) (status C.int32_t) {
	defer guard(&status)
	stats, pageBytes, err := lib.ElasticPoolGetInfo(uint64(handle))
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
	statistics, err := lib.ElasticPoolGetStatistics(uint64(handle))
	return giveStatistics(out, statistics, err)
}

//export fmgo_elastic_pool_compact
func fmgo_elastic_pool_compact(handle C.uint64_t, out *C.ferrum_compact_report) (status C.int32_t) {
	defer guard(&status)
	report, err := lib.ElasticPoolCompact(uint64(handle))
	return giveCompacted(out, report, err)
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

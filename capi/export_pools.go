package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

//export fmgo_pool_create
func fmgo_pool_create(dev C.uint64_t, config *C.ferrum_pool_config, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	settings, err := poolConfigOf(config)
	if err != nil {
		return fail(err)
	}
	handle, err := lib.PoolCreate(uint64(dev), &settings)
	return give(out, handle, err)
}

//export fmgo_pool_alloc
func fmgo_pool_alloc(handle, sizeBytes, stream C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	addr, err := lib.PoolAlloc(uint64(handle), uint64(sizeBytes), uint64(stream))
	return give(out, addr, err)
}

//export fmgo_pool_free
func fmgo_pool_free(handle, addr, stream C.uint64_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	return done(lib.PoolFree(uint64(handle), device.Addr(addr), uint64(stream)))
}

//export fmgo_pool_get_info
func fmgo_pool_get_info(handle C.uint64_t, out *C.ferrum_pool_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.PoolGetInfo(uint64(handle))
	if err != nil {
		return fail(err)
	}
	out.held_bytes = C.uint64_t(info.HeldBytes)
	out.page_bytes = C.uint64_t(info.PageBytes)
	out.mapped_pages = C.uint64_t(info.MappedPages)
	out.idle_pages = C.uint64_t(info.IdlePages)
	out.ready_pages = C.uint64_t(info.ReadyPages)
	out.segments = C.uint64_t(info.Segments)
	out.address_bytes = C.uint64_t(info.AddressBytes)
	return done(nil)
}

//export fmgo_pool_get_statistics
func fmgo_pool_get_statistics(handle C.uint64_t, out *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.PoolGetStatistics(uint64(handle))
	return giveStatistics(out, statistics, err)
}

// idlePagesOf has the pool's own words for what the header has numbers for.
func idlePagesOf(pages uint32) int {
	switch pages {
	case C.FERRUM_READY_PAGES_AUTO:
		return 0
	case C.FERRUM_READY_PAGES_ALL:
		return pool.KeepAllPages
	case 0:
		return -1
	}
	return int(min(pages, pool.KeepAllPages))
}

func poolConfigOf(c *C.ferrum_pool_config) (pool.Config, error) {
	settings := pool.Config{
		InitialSizeBytes:      uint64(c.initial_size_bytes),
		MaxSizeBytes:          uint64(c.max_size_bytes),
		GrowthIncrementBytes:  uint64(c.growth_increment_bytes),
		AlignmentBytes:        uint64(c.alignment_bytes),
		ThreadCacheBytes:      uint64(c.thread_cache_bytes),
		MinHeldBytes:          uint64(c.min_held_bytes),
		ReleaseThresholdBytes: uint64(c.release_threshold_bytes),
		FixedBlockBytes:       uint64(c.fixed_block_bytes),
		PageBytes:             uint64(c.page_bytes),
		Paging:                pool.Paging(c.paging),
		PhysicalPageBytes:     uint64(c.physical_page_bytes),
		ReadyPages:            idlePagesOf(uint32(c.ready_pages)),
		Debug:                 pool.DebugFlags(c.debug),
	}
	var err error
	if settings.Name, err = textOf("config->name", c.name); err != nil {
		return settings, err
	}
	if settings.Strategy, err = textOf("config->strategy", c.strategy); err != nil {
		return settings, err
	}
	if settings.AutoExpansion, err = truth("config->enable_auto_expansion", c.enable_auto_expansion); err != nil {
		return settings, err
	}
	if settings.PreAlloc, err = truth("config->pre_allocate", c.pre_allocate); err != nil {
		return settings, err
	}
	if settings.Tracking, err = truth("config->tracking", c.tracking); err != nil {
		return settings, err
	}
	if settings.Stats, err = truth("config->enable_stats", c.enable_stats); err != nil {
		return settings, err
	}
	settings.StreamOrdered = c.segment_source == C.FERRUM_SEGMENTS_STREAM_ORDERED
	if c.segment_source != C.FERRUM_SEGMENTS_PLAIN && !settings.StreamOrdered {
		return settings, device.Errorf(device.CodeInvalidConfig, "capi.pool_config",
			"config->segment_source is %d: want %d (plain) or %d (stream ordered)",
			int32(c.segment_source), C.FERRUM_SEGMENTS_PLAIN, C.FERRUM_SEGMENTS_STREAM_ORDERED)
	}
	if c.reserved != 0 {
		return settings, device.Errorf(device.CodeInvalidStruct, "capi.pool_config",
			"config->reserved is %d: want 0", uint32(c.reserved))
	}
	return settings, nil
}

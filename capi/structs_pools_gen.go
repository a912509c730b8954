// Code generated from include/ferrum_mem/pools.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/library"
	"ferrum_mem/core/pool"
)

// poolConfigOf reads a ferrum_pool_config.
func poolConfigOf(argument string, from *C.ferrum_pool_config) (to pool.Config, err error) {
	f := fields{argument: argument}
	f.truth(&to.AutoExpansion, from.enable_auto_expansion, "enable_auto_expansion")
	read(&to.InitialSizeBytes, from.initial_size_bytes)
	read(&to.MaxSizeBytes, from.max_size_bytes)
	read(&to.GrowthIncrementBytes, from.growth_increment_bytes)
	read(&to.AlignmentBytes, from.alignment_bytes)
	f.truth(&to.PreAlloc, from.pre_allocate, "pre_allocate")
	f.truth(&to.Stats, from.enable_stats, "enable_stats")
	f.text(&to.Strategy, from.strategy, "strategy")
	f.text(&to.Name, from.name, "name")
	f.truth(&to.Tracking, from.tracking, "tracking")
	read(&to.Debug, from.debug)
	read(&to.ThreadCacheBytes, from.thread_cache_bytes)
	read(&to.MinHeldBytes, from.min_held_bytes)
	read(&to.ReleaseThresholdBytes, from.release_threshold_bytes)
	read(&to.FixedBlockBytes, from.fixed_block_bytes)
	read(&to.PageBytes, from.page_bytes)
	read(&to.Paging, from.paging)
	f.idlePages(&to.ReadyPages, from.ready_pages, "ready_pages")
	read(&to.PhysicalPageBytes, from.physical_page_bytes)
	f.segmentSource(&to.StreamOrdered, from.segment_source, "segment_source")
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}

// poolRequestOf reads a ferrum_pool_request.
func poolRequestOf(_ string, from *C.ferrum_pool_request) (to library.PoolRequest, err error) {
	read(&to.TagNumber, from.tag)
	read(&to.SizeBytes, from.size_bytes)
	read(&to.AlignmentBytes, from.alignment_bytes)
	read(&to.StreamHandle, from.stream.id)
	read(&to.Lifetime, from.expected_lifetime_ns)
	read(&to.Group, from.group)
	return to, nil
}

// putGraphInfo fills a ferrum_graph_info.
func putGraphInfo(to *C.ferrum_graph_info, from *pool.GraphInfo) {
	setTruth(&to.capturing, from.Capturing)
	set(&to.sharing, from.Sharing)
	set(&to.held_bytes, from.HeldBytes)
	set(&to.live_bytes, from.LiveBytes)
	set(&to.live_blocks, from.LiveBlocks)
	set(&to.parked_bytes, from.ParkedBytes)
}

// putPoolInfo fills a ferrum_pool_info.
func putPoolInfo(to *C.ferrum_pool_info, from *pool.Info) {
	set(&to.held_bytes, from.HeldBytes)
	set(&to.page_bytes, from.PageBytes)
	set(&to.mapped_pages, from.MappedPages)
	set(&to.idle_pages, from.IdlePages)
	set(&to.ready_pages, from.ReadyPages)
	set(&to.segments, from.Segments)
	set(&to.address_bytes, from.AddressBytes)
}

// putBlockInfo fills a ferrum_block_info.
func putBlockInfo(to *C.ferrum_block_info, from *library.Owner) {
	set(&to.state, from.State)
	set(&to.pool.id, from.Pool)
	set(&to.manager, from.Manager)
	set(&to.address, from.Addr)
	set(&to.size_bytes, from.SizeBytes)
	set(&to.requested_bytes, from.RequestedBytes)
	set(&to.age_ns, from.Age)
	putText(to.pool_name[:], from.PoolName)
	putText(to.tag[:], from.Tag)
	set(&to.vpool.id, from.VPool)
	set(&to.elastic_pool.id, from.ElasticPool)
	putText(to.model[:], from.Model)
}

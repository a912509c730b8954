// Code generated from include/ferrum_mem/elastic.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/library"
	"ferrum_mem/core/vmm"
)

// elasticPoolConfigOf reads a ferrum_elastic_pool_config.
func elasticPoolConfigOf(argument string, from *C.ferrum_elastic_pool_config) (to vmm.ElasticConfig, err error) {
	f := fields{argument: argument}
	f.known(from.flags, 0, "none is")
	read(&to.LimitBytes, from.limit_bytes)
	read(&to.PageBytes, from.page_bytes)
	f.text(&to.Name, from.name, "name")
	f.readyPages(&to.ReadyPages, from.ready_pages, "ready_pages")
	read(&to.Backing, from.backing)
	return to, f.err
}

// modelConfigOf reads a ferrum_model_config.
func modelConfigOf(argument string, from *C.ferrum_model_config) (to vmm.ModelConfig, err error) {
	f := fields{argument: argument}
	read(&to.Priority, from.priority)
	read(&to.VirtualBytes, from.virtual_bytes)
	read(&to.GuaranteedBytes, from.guaranteed_bytes)
	read(&to.MaxBytes, from.max_bytes)
	f.truth(&to.Unscrubbed, from.unscrubbed, "unscrubbed")
	f.truth(&to.GuaranteeMayWait, from.guarantee_may_wait, "guarantee_may_wait")
	return to, f.err
}

// modelRequestOf reads a ferrum_model_request.
func modelRequestOf(argument string, from *C.ferrum_model_request) (to library.ModelRequest, err error) {
	f := fields{argument: argument}
	f.truth(&to.Placed, from.at_offset, "at_offset")
	read(&to.OffsetBytes, from.offset_bytes)
	read(&to.SizeBytes, from.size_bytes)
	f.text(&to.Tag, from.tag, "tag")
	readWait(&to.Wait, from.asleep_wait_ns)
	read(&to.StreamHandle, from.stream.id)
	return to, f.err
}

// putModelInfo fills a ferrum_model_info.
func putModelInfo(to *C.ferrum_model_info, from *library.ModelInfo) {
	set(&to.priority, from.Priority)
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
	set(&to.cached_bytes, from.CachedBytes)
	set(&to.guaranteed_bytes, from.GuaranteedBytes)
	set(&to.max_bytes, from.MaxBytes)
	set(&to.available_bytes, from.AvailableBytes)
	set(&to.largest_free_run_bytes, from.LargestFreeRunBytes)
	set(&to.allocations, from.Allocations)
	set(&to.frees, from.Frees)
	set(&to.failures, from.Failures)
	set(&to.waits, from.Waits)
	set(&to.waited_ns, from.WaitedNs)
	set(&to.reclaim_calls, from.ReclaimCalls)
	set(&to.reclaimed_bytes, from.ReclaimedBytes)
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
	set(&to.requested_guarantee_bytes, from.RequestedGuaranteeBytes)
}

// modelLimitsOf reads a ferrum_model_limits.
func modelLimitsOf(argument string, from *C.ferrum_model_limits) (to vmm.ModelLimits, err error) {
	f := fields{argument: argument}
	read(&to.Priority, from.priority)
	read(&to.GuaranteedBytes, from.guaranteed_bytes)
	read(&to.MaxBytes, from.max_bytes)
	f.truth(&to.GuaranteeMayWait, from.guarantee_may_wait, "guarantee_may_wait")
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}

// putElasticPoolInfo fills a ferrum_elastic_pool_info.
func putElasticPoolInfo(to *C.ferrum_elastic_pool_info, from *library.ElasticPoolInfo) {
	set(&to.page_bytes, from.PageBytes)
	set(&to.physical_limit_bytes, from.PhysicalLimitBytes)
	set(&to.physical_bytes, from.PhysicalBytes)
	set(&to.peak_physical_bytes, from.PeakPhysicalBytes)
	set(&to.num_models, from.Models)
	set(&to.virtual_bytes, from.VirtualBytes)
	set(&to.guaranteed_bytes, from.GuaranteedBytes)
	set(&to.retiring_bytes, from.RetiringBytes)
	set(&to.cached_bytes, from.CachedBytes)
	set(&to.held_bytes, from.HeldBytes)
	set(&to.waiting, from.Waiting)
}

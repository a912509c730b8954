package main

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/vmm"
)

// modelOf reads which model a call is about.
func modelOf(pool C.uint64_t, model *C.char) (library.ModelRef, error) {
	id, err := textOf("model", model)
	return library.ModelRef{Pool: uint64(pool), ID: id}, err
}

//export fmgo_elastic_pool_register_model
func fmgo_elastic_pool_register_model(pool C.uint64_t, model *C.char, config *C.ferrum_model_config) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	settings := vmm.ModelConfig{
		VirtualBytes: uint64(config.virtual_bytes), GuaranteedBytes: uint64(config.guaranteed_bytes),
		MaxBytes: uint64(config.max_bytes), Priority: int32(config.priority),
	}
	if settings.GuaranteeMayWait, err = truth("config->guarantee_may_wait", config.guarantee_may_wait); err != nil {
		return fail(err)
	}
	if settings.Unscrubbed, err = truth("config->unscrubbed", config.unscrubbed); err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolRegisterModel(ref, settings))
}

//export fmgo_elastic_pool_alloc_with
func fmgo_elastic_pool_alloc_with(pool C.uint64_t, model *C.char, request *C.ferrum_model_request, address, offset *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	wanted := library.ModelRequest{AllocRequest: vmm.AllocRequest{
		OffsetBytes: uint64(request.offset_bytes), SizeBytes: uint64(request.size_bytes),
		Wait: timeoutOf(request.asleep_wait_ns),
	}}
	if wanted.Tag, err = textOf("request->tag", request.tag); err != nil {
		return fail(err)
	}
	if wanted.Placed, err = truth("request->at_offset", request.at_offset); err != nil {
		return fail(err)
	}
	made, err := lib.ElasticPoolAllocWith(ref, wanted, uint64(request.stream.id))
	if err != nil {
		return fail(err)
	}
	*address = C.uint64_t(made.Addr)
	*offset = C.uint64_t(made.OffsetBytes)
	return 0
}

//export fmgo_elastic_pool_get_model_info
func fmgo_elastic_pool_get_model_info(pool C.uint64_t, model *C.char, out *C.ferrum_model_info) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	stats, base, err := lib.ElasticPoolGetModelInfo(ref)
	if err != nil {
		return fail(err)
	}
	out.priority = C.int32_t(stats.Priority)
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
	out.cached_bytes = C.uint64_t(stats.CachedBytes)
	out.guaranteed_bytes = C.uint64_t(stats.GuaranteedBytes)
	out.requested_guarantee_bytes = C.uint64_t(stats.RequestedGuaranteeBytes)
	out.max_bytes = C.uint64_t(stats.MaxBytes)
	out.available_bytes = C.uint64_t(stats.AvailableBytes)
	out.largest_free_run_bytes = C.uint64_t(stats.LargestFreeRunBytes)
	out.allocations = C.uint64_t(stats.Allocations)
	out.frees = C.uint64_t(stats.Frees)
	out.failures = C.uint64_t(stats.Failures)
	out.waits = C.uint64_t(stats.Waits)
	out.waited_ns = C.uint64_t(stats.WaitedNs)
	out.reclaim_calls = C.uint64_t(stats.ReclaimCalls)
	out.reclaimed_bytes = C.uint64_t(stats.ReclaimedBytes)
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

//export fmgo_elastic_pool_set_model_limits
func fmgo_elastic_pool_set_model_limits(pool C.uint64_t, model *C.char, limits *C.ferrum_model_limits) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	settings := vmm.ModelLimits{
		GuaranteedBytes: uint64(limits.guaranteed_bytes), MaxBytes: uint64(limits.max_bytes),
		Priority: int32(limits.priority),
	}
	if limits.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.model_limits",
			"limits->reserved is %d: want 0", uint32(limits.reserved)))
	}
	if settings.GuaranteeMayWait, err = truth("limits->guarantee_may_wait", limits.guarantee_may_wait); err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolSetModelLimits(ref, settings))
}

//export fmgo_elastic_pool_reclaim_callback_add
func fmgo_elastic_pool_reclaim_callback_add(pool C.uint64_t, model *C.char, config *C.ferrum_reclaim_config, callback C.ferrum_model_reclaim_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	if config.priority != 0 {
		return fail(device.Errorf(device.CodeInvalidArgument, "capi.reclaim",
			"config->priority is %d: it is the model's, want 0", int32(config.priority)))
	}
	deadline, err := deadlineOf(config)
	if err != nil {
		return fail(err)
	}
	token := newToken()
	handle, err := lib.ModelReclaimCallbackAdd(ref, token, deadline, func(needed uint64) uint64 {
		id := C.CString(ref.ID)
		defer C.free(unsafe.Pointer(id))
		return uint64(C.fm_call_model_reclaim(callback, pool, id, C.uint64_t(needed), userData, C.uint64_t(token)))
	})
	return give(out, handle, err)
}

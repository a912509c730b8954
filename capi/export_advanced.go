package main

/*
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
)

//export fmgo_memory_map
func fmgo_memory_map(request *C.ferrum_map_request, out *C.ferrum_mapping) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.MemoryMap(manager.MapRequest{
		Memory:      manager.MemoryHandle(request.memory.id),
		OffsetBytes: uint64(request.offset_bytes),
		SizeBytes:   uint64(request.size_bytes),
		Access:      manager.HostAccess(request.access),
	})
	if err != nil {
		return fail(err)
	}
	if made.Staged {
		out.is_staged = 1
	}
	out.mapping_id = C.uint64_t(made.ID)
	// The pointer is written as a number: it is no address of Go's.
	*(*uint64)(unsafe.Pointer(&out.host_pointer)) = uint64(made.HostAddr)
	out.size_bytes = C.uint64_t(made.SizeBytes)
	return 0
}

//export fmgo_manager_create_mapping
func fmgo_manager_create_mapping(first, second C.uint64_t, request *C.ferrum_link_request, firstOut, secondOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	tag, err := textOf("request->tag", request.tag)
	if err != nil {
		return fail(err)
	}
	if request.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.create_mapping",
			"request->reserved is %d: want 0", request.reserved))
	}
	a, b, err := lib.ManagerCreateMapping(uint64(first), uint64(second), manager.LinkRequest{
		SizeBytes: uint64(request.size_bytes), AlignmentBytes: uint64(request.alignment_bytes), Tag: tag,
	})
	if err != nil {
		return fail(err)
	}
	*firstOut, *secondOut = C.uint64_t(a), C.uint64_t(b)
	return 0
}

//export fmgo_memory_set_usage_hint
func fmgo_memory_set_usage_hint(memory C.uint64_t, hint C.int32_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MemorySetUsageHint(uint64(memory), manager.UsageHint(hint)))
}

//export fmgo_memory_get_usage_hints
func fmgo_memory_get_usage_hints(memory C.uint64_t, out *C.ferrum_usage_hints) (status C.int32_t) {
	defer guard(&status)
	hints, err := lib.MemoryGetUsageHints(uint64(memory))
	if err != nil {
		return fail(err)
	}
	out.order = C.int32_t(hints.Order)
	out.direction = C.int32_t(hints.Direction)
	out.lifetime = C.int32_t(hints.Lifetime)
	return 0
}

//export fmgo_memory_get_access_stats
func fmgo_memory_get_access_stats(memory C.uint64_t, out *C.ferrum_access_stats) (status C.int32_t) {
	defer guard(&status)
	stats, tracked, err := lib.MemoryGetAccessStats(uint64(memory))
	if err != nil {
		return fail(err)
	}
	if tracked {
		out.is_tracked = 1
	}
	if stats.Accessed {
		out.is_accessed = 1
	}
	out.pattern = C.int32_t(stats.Pattern)
	out.read_count = C.uint64_t(stats.ReadCount)
	out.write_count = C.uint64_t(stats.WriteCount)
	out.average_read_bytes = C.uint64_t(stats.AvgReadBytes)
	out.average_write_bytes = C.uint64_t(stats.AvgWriteBytes)
	out.last_access_ns = C.uint64_t(stats.LastAccess.Nanoseconds())
	return 0
}

//export fmgo_manager_adopt
func fmgo_manager_adopt(handle C.uint64_t, adoption *C.ferrum_adoption, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	tag, err := textOf("adoption->tag", adoption.tag)
	if err != nil {
		return fail(err)
	}
	memory, err := lib.ManagerAdopt(uint64(handle), manager.Adoption{
		Type:      manager.MemoryType(adoption.memory_type),
		Addr:      device.Addr(adoption.address),
		SizeBytes: uint64(adoption.size_bytes),
		Tag:       tag,
	})
	return give(out, memory, err)
}

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

//export fmgo_manager_create
func fmgo_manager_create(dev C.uint64_t, config *C.ferrum_manager_config, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	settings, err := managerConfigOf(config)
	if err != nil {
		return fail(err)
	}
	handle, err := lib.ManagerCreate(uint64(dev), &settings)
	return give(out, handle, err)
}

//export fmgo_manager_configure_pool
func fmgo_manager_configure_pool(handle C.uint64_t, memoryType C.int32_t, config *C.ferrum_pool_config) (status C.int32_t) {
	defer guard(&status)
	settings, err := poolConfigOf(config)
	if err != nil {
		return fail(err)
	}
	return done(lib.ManagerConfigurePool(uint64(handle), manager.MemoryType(memoryType), &settings))
}

//export fmgo_manager_get_statistics
func fmgo_manager_get_statistics(handle C.uint64_t, out *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.ManagerGetStatistics(uint64(handle))
	return giveStatistics(out, statistics, err)
}

//export fmgo_manager_alloc_with
func fmgo_manager_alloc_with(handle C.uint64_t, request *C.ferrum_allocation_request, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	tag, err := textOf("request->tag", request.tag)
	if err != nil {
		return fail(err)
	}
	if request.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.alloc",
			"request->reserved is %d: want 0", request.reserved))
	}
	if unknown := request.flags &^ C.FERRUM_ALLOCATE_RELOCATABLE; unknown != 0 {
		return fail(device.Errorf(device.CodeInvalidArgument, "capi.alloc",
			"request->flags is %#x: %#x is not known", uint32(request.flags), uint32(unknown)))
	}
	memory, err := lib.ManagerAllocWith(uint64(handle), manager.Request{
		Type:           manager.MemoryType(request.memory_type),
		SizeBytes:      uint64(request.size_bytes),
		AlignmentBytes: uint64(request.alignment_bytes),
		Tag:            tag,
		Relocatable:    request.flags&C.FERRUM_ALLOCATE_RELOCATABLE != 0,
	})
	return give(out, memory, err)
}

//export fmgo_memory_get_handle_info
func fmgo_memory_get_handle_info(memory C.uint64_t, out *C.ferrum_handle_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.MemoryGetHandleInfo(uint64(memory))
	if err != nil {
		return fail(err)
	}
	out.memory_type = C.int32_t(info.Type)
	out.memory.id = memory
	out.manager.id = C.uint64_t(info.Manager)
	out.device.id = C.uint64_t(info.Device)
	out.size_bytes = C.uint64_t(info.SizeBytes)
	out.allocated_bytes = C.uint64_t(info.AllocatedBytes)
	out.alignment_bytes = C.uint64_t(info.AlignmentBytes)
	out.address = C.uint64_t(info.Addr)
	// The pointer is written as a number: it is no address of Go's.
	*(*uint64)(unsafe.Pointer(&out.host_pointer)) = uint64(info.HostAddr)
	out.allocated_at_ns = C.uint64_t(info.AllocatedAt.Nanoseconds())
	if info.Mapped {
		out.is_mapped = 1
	}
	out.operations_in_flight = C.uint32_t(info.OperationsInFlight)
	putText(out.tag[:], info.Tag)
	if info.Relocatable {
		out.is_relocatable = 1
	}
	out.pin_count = C.uint32_t(info.Pins)
	out.linked.id = C.uint64_t(info.Linked)
	if info.Adopted {
		out.is_adopted = 1
	}
	return 0
}

//export fmgo_memory_copy
func fmgo_memory_copy(transfer *C.ferrum_transfer) (status C.int32_t) {
	defer guard(&status)
	t, err := transferOf(transfer)
	if err != nil {
		return fail(err)
	}
	return done(lib.MemoryCopy(t))
}

//export fmgo_memory_copy_async
func fmgo_memory_copy_async(transfer *C.ferrum_transfer, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	t, err := transferOf(transfer)
	if err != nil {
		return fail(err)
	}
	return done(lib.MemoryCopyAsync(t, uint64(stream)))
}

//export fmgo_memory_write
func fmgo_memory_write(memory, offset C.uint64_t, source C.uintptr_t, size C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MemoryWrite(uint64(memory), uint64(offset), device.HostAddr(source), uint64(size)))
}

//export fmgo_memory_read
func fmgo_memory_read(memory, offset C.uint64_t, destination C.uintptr_t, size C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MemoryRead(uint64(memory), uint64(offset), device.HostAddr(destination), uint64(size)))
}

//export fmgo_memory_fill_async
func fmgo_memory_fill_async(fill *C.ferrum_fill, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	if fill.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.fill", "fill->reserved is %d: want 0", fill.reserved))
	}
	if fill.pattern_bytes > 4 {
		return fail(device.Errorf(device.CodeInvalidArgument, "capi.fill",
			"fill->pattern_bytes is %d: want 1, 2 or 4", fill.pattern_bytes))
	}
	return done(lib.MemoryFillAsync(manager.Fill{
		Memory:      manager.MemoryHandle(fill.memory.id),
		OffsetBytes: uint64(fill.offset_bytes),
		SizeBytes:   uint64(fill.size_bytes),
		Pattern:     device.Pattern{Value: uint32(fill.pattern), WidthBytes: int(fill.pattern_bytes)},
	}, uint64(stream)))
}

//export fmgo_manager_defragment_within
func fmgo_manager_defragment_within(handle, budget C.uint64_t, out *C.ferrum_defragmentation_stats) (status C.int32_t) {
	defer guard(&status)
	stats, err := lib.ManagerDefragmentWithin(uint64(handle), timeoutOf(budget))
	if err != nil {
		return fail(err)
	}
	out.fragmentation_before = C.float(stats.FragmentationBefore)
	out.fragmentation_after = C.float(stats.FragmentationAfter)
	out.memory_freed_bytes = C.uint64_t(stats.MemoryFreedBytes)
	out.blocks_moved = C.uint64_t(stats.BlocksMoved)
	out.blocks_skipped = C.uint64_t(stats.BlocksSkipped)
	out.time_taken_ns = C.uint64_t(stats.TimeTakenNs)
	out.time_taken_ms = C.uint64_t(stats.TimeTakenMs)
	out.bytes_moved = C.uint64_t(stats.BytesMoved)
	out.pages_emptied = C.uint64_t(stats.PagesEmptied)
	out.segments_emptied = C.uint64_t(stats.SegmentsEmptied)
	out.blocks_kept = C.uint64_t(stats.BlocksKept)
	out.skipped_not_relocatable = C.uint64_t(stats.Skipped.NotRelocatable)
	out.skipped_debugged = C.uint64_t(stats.Skipped.Debugged)
	out.skipped_pinned = C.uint64_t(stats.Skipped.Pinned)
	out.skipped_in_use = C.uint64_t(stats.Skipped.InUse)
	out.skipped_no_room = C.uint64_t(stats.Skipped.NoRoom)
	out.skipped_over_budget = C.uint64_t(stats.Skipped.OverBudget)
	out.skipped_mapped = C.uint64_t(stats.Skipped.Mapped)
	if stats.BudgetEnded {
		out.budget_ended = 1
	}
	return 0
}

func transferOf(t *C.ferrum_transfer) (manager.Transfer, error) {
	if t.reserved != 0 {
		return manager.Transfer{}, device.Errorf(device.CodeInvalidStruct, "capi.copy",
			"transfer->reserved is %d: want 0", t.reserved)
	}
	return manager.Transfer{
		Src:            manager.MemoryHandle(t.src.id),
		Dst:            manager.MemoryHandle(t.dst.id),
		SizeBytes:      uint64(t.size_bytes),
		SrcOffsetBytes: uint64(t.src_offset_bytes),
		DstOffsetBytes: uint64(t.dst_offset_bytes),
	}, nil
}

func managerConfigOf(c *C.ferrum_manager_config) (manager.Config, error) {
	settings := manager.Config{
		GCThreshold:            float32(c.gc_threshold),
		MaxConcurrentTransfers: int(c.max_concurrent_transfers),
		PoolConfigs:            map[manager.MemoryType]pool.Config{},
	}
	var err error
	if settings.EnableTracking, err = truth("config->enable_tracking", c.enable_tracking); err != nil {
		return settings, err
	}
	if settings.EnableAutoGC, err = truth("config->enable_auto_gc", c.enable_auto_gc); err != nil {
		return settings, err
	}
	if settings.EnableDebug, err = truth("config->enable_debug", c.enable_debug); err != nil {
		return settings, err
	}
	for i, given := range c.pool_configs {
		if given == nil {
			continue
		}
		if i >= C.FERRUM_MEMORY_TYPE_COUNT {
			return settings, device.Errorf(device.CodeInvalidStruct, "capi.manager_config",
				"config->pool_configs[%d] is set: there are %d memory types", i, C.FERRUM_MEMORY_TYPE_COUNT)
		}
		if settings.PoolConfigs[manager.MemoryType(i)], err = poolConfigOf(given); err != nil {
			return settings, err
		}
	}
	return settings, nil
}

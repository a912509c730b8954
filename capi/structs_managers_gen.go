// Code generated from include/ferrum_mem/managers.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
)

// managerConfigOf reads a ferrum_manager_config.
func managerConfigOf(argument string, from *C.ferrum_manager_config) (to manager.Config, err error) {
	f := fields{argument: argument}
	f.truth(&to.EnableTracking, from.enable_tracking, "enable_tracking")
	f.truth(&to.EnableAutoGC, from.enable_auto_gc, "enable_auto_gc")
	f.truth(&to.EnableDebug, from.enable_debug, "enable_debug")
	set(&to.GCThreshold, from.gc_threshold)
	read(&to.MaxConcurrentTransfers, from.max_concurrent_transfers)
	f.poolConfigs(&to.PoolConfigs, from.pool_configs, "pool_configs")
	return to, f.err
}

// allocationRequestOf reads a ferrum_allocation_request.
func allocationRequestOf(argument string, from *C.ferrum_allocation_request) (to manager.Request, err error) {
	f := fields{argument: argument}
	read(&to.Type, from.memory_type)
	read(&to.SizeBytes, from.size_bytes)
	read(&to.AlignmentBytes, from.alignment_bytes)
	f.text(&to.Tag, from.tag, "tag")
	f.known(from.flags, C.FERRUM_ALLOCATE_RELOCATABLE, "only FERRUM_ALLOCATE_RELOCATABLE (0x1) is")
	to.Relocatable = from.flags&C.FERRUM_ALLOCATE_RELOCATABLE != 0
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}

// putHandleInfo fills a ferrum_handle_info.
func putHandleInfo(to *C.ferrum_handle_info, from *library.HandleInfo) {
	set(&to.memory_type, from.Type)
	set(&to.memory.id, from.Memory)
	set(&to.manager.id, from.Manager)
	set(&to.device.id, from.Device)
	set(&to.size_bytes, from.SizeBytes)
	set(&to.allocated_bytes, from.AllocatedBytes)
	set(&to.alignment_bytes, from.AlignmentBytes)
	set(&to.address, from.Addr)
	setPointer(&to.host_pointer, from.HostAddr)
	set(&to.allocated_at_ns, from.AllocatedAt)
	setTruth(&to.is_mapped, from.Mapped)
	set(&to.operations_in_flight, from.OperationsInFlight)
	putText(to.tag[:], from.Tag)
	setTruth(&to.is_relocatable, from.Relocatable)
	set(&to.pin_count, from.Pins)
	set(&to.linked.id, from.Linked)
	setTruth(&to.is_adopted, from.Adopted)
	setTruth(&to.is_read_only, from.ReadOnly)
}

// transferOf reads a ferrum_transfer.
func transferOf(argument string, from *C.ferrum_transfer) (to manager.Transfer, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	read(&to.Src, from.src.id)
	read(&to.Dst, from.dst.id)
	read(&to.SizeBytes, from.size_bytes)
	read(&to.SrcOffsetBytes, from.src_offset_bytes)
	read(&to.DstOffsetBytes, from.dst_offset_bytes)
	return to, f.err
}

// fillOf reads a ferrum_fill.
func fillOf(argument string, from *C.ferrum_fill) (to manager.Fill, err error) {
	f := fields{argument: argument}
	read(&to.Pattern.WidthBytes, from.pattern_bytes)
	read(&to.Memory, from.memory.id)
	read(&to.OffsetBytes, from.offset_bytes)
	read(&to.SizeBytes, from.size_bytes)
	read(&to.Pattern.Value, from.pattern)
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}

// putDefragmentationStats fills a ferrum_defragmentation_stats.
func putDefragmentationStats(to *C.ferrum_defragmentation_stats, from *manager.DefragmentationStats) {
	set(&to.fragmentation_before, from.FragmentationBefore)
	set(&to.fragmentation_after, from.FragmentationAfter)
	set(&to.memory_freed_bytes, from.MemoryFreedBytes)
	set(&to.blocks_moved, from.BlocksMoved)
	set(&to.blocks_skipped, from.BlocksSkipped)
	set(&to.time_taken_ns, from.TimeTakenNs)
	set(&to.time_taken_ms, from.TimeTakenMs)
	set(&to.bytes_moved, from.BytesMoved)
	set(&to.pages_emptied, from.PagesEmptied)
	set(&to.segments_emptied, from.SegmentsEmptied)
	set(&to.blocks_kept, from.BlocksKept)
	set(&to.skipped_not_relocatable, from.Skipped.NotRelocatable)
	set(&to.skipped_debugged, from.Skipped.Debugged)
	set(&to.skipped_pinned, from.Skipped.Pinned)
	set(&to.skipped_in_use, from.Skipped.InUse)
	set(&to.skipped_no_room, from.Skipped.NoRoom)
	set(&to.skipped_over_budget, from.Skipped.OverBudget)
	setTruth(&to.budget_ended, from.BudgetEnded)
	set(&to.skipped_mapped, from.Skipped.Mapped)
}

// Code generated from include/ferrum_mem/managers.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
)

//export fmgo_manager_create
func fmgo_manager_create(dev C.uint64_t, config *C.ferrum_manager_config, managerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := managerConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	managerFound, err := lib.ManagerCreate(uint64(dev), &configGiven)
	return give(managerOut, managerFound, err)
}

//export fmgo_manager_destroy
func fmgo_manager_destroy(manager C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Manager("manager.destroy", uint64(manager))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(force))
}

//export fmgo_manager_configure_pool
func fmgo_manager_configure_pool(managerID C.uint64_t, memoryType C.int32_t, config *C.ferrum_pool_config) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := poolConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Manager("manager.configure_pool", uint64(managerID))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.ConfigurePool(numberOf[manager.MemoryType](memoryType), &configGiven), object))
}

//export fmgo_manager_get_statistics
func fmgo_manager_get_statistics(manager C.uint64_t, statisticsOut *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Manager("manager.statistics", uint64(manager))
	if err != nil {
		return fail(err)
	}
	statistics := object.Statistics()
	putStatistics(statisticsOut, &statistics)
	return 0
}

//export fmgo_manager_alloc
func fmgo_manager_alloc(manager C.uint64_t, sizeBytes C.uint64_t, memoryOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Manager("manager.alloc", uint64(manager))
	if err != nil {
		return fail(err)
	}
	memory, err := object.Alloc(uint64(sizeBytes))
	return give(memoryOut, memory, library.CallError(err, object))
}

//export fmgo_manager_alloc_with
func fmgo_manager_alloc_with(manager C.uint64_t, request *C.ferrum_allocation_request, memoryOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := allocationRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Manager("manager.alloc_with", uint64(manager))
	if err != nil {
		return fail(err)
	}
	memory, err := object.AllocTyped(requestGiven)
	return give(memoryOut, memory, library.CallError(err, object))
}

//export fmgo_memory_free
func fmgo_memory_free(memory C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("memory.free")
	if err != nil {
		return fail(err)
	}
	return done(made.Free(manager.MemoryHandle(memory)))
}

//export fmgo_memory_get_handle_info
func fmgo_memory_get_handle_info(memory C.uint64_t, infoOut *C.ferrum_handle_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.MemoryGetHandleInfo(uint64(memory))
	if err != nil {
		return fail(err)
	}
	putHandleInfo(infoOut, &info)
	return 0
}

//export fmgo_memory_pin
func fmgo_memory_pin(memory C.uint64_t, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("memory.pin")
	if err != nil {
		return fail(err)
	}
	address, err := made.Pin(manager.MemoryHandle(memory))
	return give(addressOut, address, err)
}

//export fmgo_memory_unpin
func fmgo_memory_unpin(memory C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("memory.unpin")
	if err != nil {
		return fail(err)
	}
	return done(made.Unpin(manager.MemoryHandle(memory)))
}

//export fmgo_memory_copy
func fmgo_memory_copy(transfer *C.ferrum_transfer) (status C.int32_t) {
	defer guard(&status)
	transferGiven, err := transferOf("transfer", transfer)
	if err != nil {
		return fail(err)
	}
	made, err := lib.Factory("memory.copy")
	if err != nil {
		return fail(err)
	}
	return done(made.Copy(transferGiven))
}

//export fmgo_memory_copy_async
func fmgo_memory_copy_async(transfer *C.ferrum_transfer, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	transferGiven, err := transferOf("transfer", transfer)
	if err != nil {
		return fail(err)
	}
	made, err := lib.Factory("memory.copy_async")
	if err != nil {
		return fail(err)
	}
	return done(made.CopyAsync(transferGiven, manager.StreamHandle(stream)))
}

//export fmgo_memory_write
func fmgo_memory_write(memory C.uint64_t, offsetBytes C.uint64_t, source C.uintptr_t, sizeBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("memory.write")
	if err != nil {
		return fail(err)
	}
	return done(made.Write(manager.MemoryHandle(memory), uint64(offsetBytes), device.HostAddr(source), uint64(sizeBytes)))
}

//export fmgo_memory_read
func fmgo_memory_read(memory C.uint64_t, offsetBytes C.uint64_t, destinationOut C.uintptr_t, sizeBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("memory.read")
	if err != nil {
		return fail(err)
	}
	return done(made.Read(manager.MemoryHandle(memory), uint64(offsetBytes), device.HostAddr(destinationOut), uint64(sizeBytes)))
}

//export fmgo_memory_fill_async
func fmgo_memory_fill_async(fill *C.ferrum_fill, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	fillGiven, err := fillOf("fill", fill)
	if err != nil {
		return fail(err)
	}
	made, err := lib.Factory("memory.fill_async")
	if err != nil {
		return fail(err)
	}
	return done(made.FillAsync(fillGiven, manager.StreamHandle(stream)))
}

//export fmgo_manager_defragment
func fmgo_manager_defragment(manager C.uint64_t, statsOut *C.ferrum_defragmentation_stats) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Manager("manager.defragment", uint64(manager))
	if err != nil {
		return fail(err)
	}
	stats, err := object.Defragment()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putDefragmentationStats(statsOut, &stats)
	return 0
}

//export fmgo_manager_defragment_within
func fmgo_manager_defragment_within(manager C.uint64_t, budgetNs C.uint64_t, statsOut *C.ferrum_defragmentation_stats) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Manager("manager.defragment_within", uint64(manager))
	if err != nil {
		return fail(err)
	}
	stats, err := object.DefragmentWithin(ageOf(budgetNs))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putDefragmentationStats(statsOut, &stats)
	return 0
}

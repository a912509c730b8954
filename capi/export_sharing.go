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

//export fmgo_vpool_export
func fmgo_vpool_export(handle, offset, size C.uint64_t, out *C.int32_t, capacity C.size_t, count *C.size_t) (status C.int32_t) {
	defer guard(&status)
	files, pages, err := lib.VPoolExport(uint64(handle), rangeOf(offset, size), uint64(capacity))
	*count = C.size_t(pages)
	if err != nil {
		return fail(err)
	}
	to := unsafe.Slice(out, len(files))
	for i, file := range files {
		to[i] = C.int32_t(file)
	}
	return 0
}

// maxDescriptors bounds what is copied of a caller's list.
const maxDescriptors = 1 << 20

//export fmgo_manager_import_pages
func fmgo_manager_import_pages(handle C.uint64_t, pages *C.ferrum_page_import, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	const op = "capi.import_pages"
	if pages.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, op, "pages->reserved is %d: want 0", pages.reserved))
	}
	if pages.count == 0 || pages.count > maxDescriptors {
		return fail(device.Errorf(device.CodeInvalidArgument, op, "pages->count is %d: want 1 to %d", pages.count, maxDescriptors))
	}
	tag, err := textOf("pages->tag", pages.tag)
	if err != nil {
		return fail(err)
	}
	files := make([]int, pages.count)
	for i, file := range unsafe.Slice(pages.descriptors, len(files)) {
		files[i] = int(file)
	}
	memory, err := lib.Import(uint64(handle), manager.Importation{Files: files, PageBytes: uint64(pages.page_bytes), Tag: tag})
	return give(out, memory, err)
}

//export fmgo_device_share_memory
func fmgo_device_share_memory(dev, address, size C.uint64_t, out *C.ferrum_shared_memory) (status C.int32_t) {
	defer guard(&status)
	shared, err := lib.DeviceShareMemory(uint64(dev), device.Addr(address), uint64(size))
	if err != nil {
		return fail(err)
	}
	out.offset_bytes, out.size_bytes = C.uint64_t(shared.OffsetBytes), C.uint64_t(shared.SizeBytes)
	giveHandle(&out.handle, shared.Handle)
	return 0
}

func giveHandle(out *[device.ProcessHandleBytes]C.uint8_t, handle device.ProcessHandle) {
	for i, one := range handle {
		out[i] = C.uint8_t(one)
	}
}

func handleOf(given *[device.ProcessHandleBytes]C.uint8_t) (handle device.ProcessHandle) {
	for i, one := range given {
		handle[i] = byte(one)
	}
	return handle
}

//export fmgo_manager_import_memory
func fmgo_manager_import_memory(handle C.uint64_t, shared *C.ferrum_shared_memory, tag *C.char, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	if shared.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.import_memory", "shared->reserved is %d: want 0", shared.reserved))
	}
	name, err := textOf("tag", tag)
	if err != nil {
		return fail(err)
	}
	memory, err := lib.Import(uint64(handle), manager.Importation{Shared: &device.SharedMemory{
		Handle: handleOf(&shared.handle), OffsetBytes: uint64(shared.offset_bytes), SizeBytes: uint64(shared.size_bytes),
	}, Tag: name})
	return give(out, memory, err)
}

//export fmgo_event_share
func fmgo_event_share(stream C.uint64_t, shared *C.ferrum_shared_event, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	event, handle, err := lib.EventShare(uint64(stream))
	if err == nil {
		giveHandle(&shared.handle, handle)
	}
	return give(out, event, err)
}

//export fmgo_event_open
func fmgo_event_open(dev C.uint64_t, shared *C.ferrum_shared_event, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	if shared.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.event_open", "shared->reserved is %d: want 0", shared.reserved))
	}
	event, err := lib.EventOpen(uint64(dev), handleOf(&shared.handle))
	return give(out, event, err)
}

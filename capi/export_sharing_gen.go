// Code generated from include/ferrum_mem/sharing.h by scripts/genabi.py; DO NOT EDIT.

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

//export fmgo_device_open_native
func fmgo_device_open_native(id *C.char, nativeContext C.uint64_t, deviceOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	idText, err := textOf("id", id)
	if err != nil {
		return fail(err)
	}
	dev, err := lib.DeviceOpenNative(idText, uint64(nativeContext))
	return give(deviceOut, dev, err)
}

//export fmgo_device_get_native
func fmgo_device_get_native(dev C.uint64_t, nativeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.native", uint64(dev))
	if err != nil {
		return fail(err)
	}
	native, err := object.Native()
	return give(nativeOut, native, library.CallError(err, object))
}

//export fmgo_stream_get_native
func fmgo_stream_get_native(stream C.uint64_t, nativeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("stream.native")
	if err != nil {
		return fail(err)
	}
	native, err := made.StreamNative(manager.StreamHandle(stream))
	return give(nativeOut, native, err)
}

//export fmgo_event_get_native
func fmgo_event_get_native(event C.uint64_t, nativeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("event.native")
	if err != nil {
		return fail(err)
	}
	native, err := made.EventNative(manager.EventHandle(event))
	return give(nativeOut, native, err)
}

//export fmgo_device_grant_peer
func fmgo_device_grant_peer(dev C.uint64_t, peer C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.grant_peer", uint64(dev))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.GrantPeer(uint64(peer)), object))
}

//export fmgo_vpool_export
func fmgo_vpool_export(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, descriptorsOut *C.int32_t, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.export", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	descriptors, descriptorsCount, err := object.Export(rangeOf(offsetBytes, sizeBytes), uint64(capacity))
	*countOut = C.size_t(descriptorsCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(descriptorsOut, descriptors, putNumber)
	return 0
}

//export fmgo_vpool_export_fabric
func fmgo_vpool_export_fabric(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, handlesOut *C.uint8_t, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.VPool("vpool.export_fabric", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	handles, handlesCount, err := object.ExportFabric(rangeOf(offsetBytes, sizeBytes), uint64(capacity))
	*countOut = C.size_t(handlesCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(handlesOut, handles, putNumber)
	return 0
}

//export fmgo_manager_import_pages
func fmgo_manager_import_pages(manager C.uint64_t, pages *C.ferrum_page_import, memoryOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	pagesGiven, err := pageImportOf("pages", pages)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Manager("manager.import_pages", uint64(manager))
	if err != nil {
		return fail(err)
	}
	memory, err := object.Import(pagesGiven)
	return give(memoryOut, memory, library.CallError(err, object))
}

//export fmgo_device_share_memory
func fmgo_device_share_memory(dev C.uint64_t, address C.uint64_t, sizeBytes C.uint64_t, sharedOut *C.ferrum_shared_memory) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.share_memory", uint64(dev))
	if err != nil {
		return fail(err)
	}
	shared, err := object.ShareMemory(device.Addr(address), uint64(sizeBytes))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putSharedMemory(sharedOut, &shared)
	return 0
}

//export fmgo_manager_import_memory
func fmgo_manager_import_memory(manager C.uint64_t, shared *C.ferrum_shared_memory, tag *C.char, memoryOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	sharedGiven, err := sharedMemoryOf("shared", shared)
	if err != nil {
		return fail(err)
	}
	tagText, err := textOf("tag", tag)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Manager("manager.import_memory", uint64(manager))
	if err != nil {
		return fail(err)
	}
	memory, err := object.ImportMemory(sharedGiven, tagText)
	return give(memoryOut, memory, library.CallError(err, object))
}

//export fmgo_event_share
func fmgo_event_share(stream C.uint64_t, sharedOut *C.ferrum_shared_event, eventOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	shared, event, err := lib.EventShare(uint64(stream))
	if err != nil {
		return fail(err)
	}
	putSharedEvent(sharedOut, &shared)
	set(eventOut, event)
	return 0
}

//export fmgo_event_open
func fmgo_event_open(dev C.uint64_t, shared *C.ferrum_shared_event, eventOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	sharedGiven, err := sharedEventOf("shared", shared)
	if err != nil {
		return fail(err)
	}
	event, err := lib.EventOpen(uint64(dev), sharedGiven)
	return give(eventOut, event, err)
}

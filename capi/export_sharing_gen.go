// Code generated from include/ferrum_mem/sharing.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/device"

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
	native, err := lib.DeviceGetNative(uint64(dev))
	return give(nativeOut, native, err)
}

//export fmgo_stream_get_native
func fmgo_stream_get_native(stream C.uint64_t, nativeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	native, err := lib.StreamGetNative(uint64(stream))
	return give(nativeOut, native, err)
}

//export fmgo_event_get_native
func fmgo_event_get_native(event C.uint64_t, nativeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	native, err := lib.EventGetNative(uint64(event))
	return give(nativeOut, native, err)
}

//export fmgo_device_grant_peer
func fmgo_device_grant_peer(dev C.uint64_t, peer C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.DeviceGrantPeer(uint64(dev), uint64(peer)))
}

//export fmgo_vpool_export
func fmgo_vpool_export(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, descriptorsOut *C.int32_t, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	descriptors, descriptorsCount, err := lib.VPoolExport(uint64(vpool), rangeOf(offsetBytes, sizeBytes), uint64(capacity))
	*countOut = C.size_t(descriptorsCount)
	if err != nil {
		return fail(err)
	}
	fillArray(descriptorsOut, descriptors, putNumber)
	return 0
}

//export fmgo_manager_import_pages
func fmgo_manager_import_pages(manager C.uint64_t, pages *C.ferrum_page_import, memoryOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	pagesGiven, err := pageImportOf("pages", pages)
	if err != nil {
		return fail(err)
	}
	memory, err := lib.ManagerImportPages(uint64(manager), pagesGiven)
	return give(memoryOut, memory, err)
}

//export fmgo_device_share_memory
func fmgo_device_share_memory(dev C.uint64_t, address C.uint64_t, sizeBytes C.uint64_t, sharedOut *C.ferrum_shared_memory) (status C.int32_t) {
	defer guard(&status)
	shared, err := lib.DeviceShareMemory(uint64(dev), device.Addr(address), uint64(sizeBytes))
	if err != nil {
		return fail(err)
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
	memory, err := lib.ManagerImportMemory(uint64(manager), sharedGiven, tagText)
	return give(memoryOut, memory, err)
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

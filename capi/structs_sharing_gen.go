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

// pageImportOf reads a ferrum_page_import.
func pageImportOf(argument string, from *C.ferrum_page_import) (to manager.Importation, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	readList(&f, &to.Files, from.descriptors, listLength{uint64(from.count), 1048576, "count", device.CodeInvalidArgument}, "descriptors")
	read(&to.PageBytes, from.page_bytes)
	f.text(&to.Tag, from.tag, "tag")
	readList(&f, &to.FabricHandles, from.fabric_handles, listLength{uint64(from.fabric_handle_bytes), 4194304, "fabric_handle_bytes", device.CodeInvalidArgument}, "fabric_handles")
	return to, f.err
}

// sharedMemoryOf reads a ferrum_shared_memory.
func sharedMemoryOf(argument string, from *C.ferrum_shared_memory) (to device.SharedMemory, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	read(&to.OffsetBytes, from.offset_bytes)
	read(&to.SizeBytes, from.size_bytes)
	copyNumbers(to.Handle[:], from.handle[:])
	return to, f.err
}

// putSharedMemory fills a ferrum_shared_memory.
func putSharedMemory(to *C.ferrum_shared_memory, from *device.SharedMemory) {
	set(&to.offset_bytes, from.OffsetBytes)
	set(&to.size_bytes, from.SizeBytes)
	copyNumbers(to.handle[:], from.Handle[:])
}

// sharedEventOf reads a ferrum_shared_event.
func sharedEventOf(argument string, from *C.ferrum_shared_event) (to library.SharedEvent, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	copyNumbers(to.Handle[:], from.handle[:])
	return to, f.err
}

// putSharedEvent fills a ferrum_shared_event.
func putSharedEvent(to *C.ferrum_shared_event, from *library.SharedEvent) {
	copyNumbers(to.handle[:], from.Handle[:])
}

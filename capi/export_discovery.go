package main

/*
#include "bridge.h"
#include "discovery.h"
*/
import "C"

import (
	"path/filepath"
	"unsafe"

	"ferrum_mem/core/library"
	"ferrum_mem/drivers/host"
)

// probeHelpers are the places of the program that asks vendors' libraries: beside this
// library as it is built and in a wheel, in its own folder there as it is installed, and
// the command, which can do the same.
func probeHelpers() []string {
	const name = "ferrum-mem-probe"
	var buffer [4096]byte
	length := C.fm_library_path((*C.char)(unsafe.Pointer(&buffer[0])), C.size_t(len(buffer)))
	if length == 0 {
		return nil
	}
	folder := filepath.Dir(string(buffer[:length]))
	return []string{
		filepath.Join(folder, name), filepath.Join(folder, "ferrum_mem", name),
		filepath.Join(folder, "..", "bin", "ferrum-mem"),
	}
}

// environ is the environment of the process as it is now: a host program may have
// chosen devices in it since it started.
func environ() []string {
	var all []string
	start := C.fm_environment()
	if start == nil {
		return nil
	}
	for entry := start; *entry != nil; entry = (**C.char)(unsafe.Add(unsafe.Pointer(entry), unsafe.Sizeof(*entry))) {
		all = append(all, C.GoString(*entry))
	}
	return all
}

func hostInfo() library.HostInfo { return library.HostInfo(host.ReadMachine()) }

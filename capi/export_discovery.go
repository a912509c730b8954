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

// probeHelpers returns the possible paths of the program that queries vendors' libraries:
// beside this library in a build and in a wheel, in its own folder in an installation, and
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

// environ returns the current environment of the process. A host program may have selected
// devices in it since it started.
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

package main

/*
#include "bridge.h"
#include "discovery.h"
*/
import "C"

import (
	"path/filepath"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
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

//export fmgo_backend_best
func fmgo_backend_best(out *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	best, err := lib.BackendBest()
	if err != nil {
		return fail(err)
	}
	*out = C.int32_t(best)
	return 0
}

func putChoice(out *C.ferrum_backend_choice, choice discover.Choice) {
	out.backend = C.int32_t(choice.Backend)
	out.device_index = C.uint32_t(choice.Device.ID.Index)
	out.total_bytes = C.uint64_t(choice.Device.TotalBytes)
	if choice.Device.FreeKnown {
		out.free_bytes = C.uint64_t(choice.Device.FreeBytes)
	}
	putText(out.id[:], choice.Device.ID.String())
	putText(out.tried[:], choice.Tried())
}

//export fmgo_backend_select
func fmgo_backend_select(preference C.int32_t, bytes C.uint64_t, out *C.ferrum_backend_choice) (status C.int32_t) {
	defer guard(&status)
	choice, err := lib.BackendSelect(discover.BackendType(preference), uint64(bytes))
	if err != nil {
		return fail(err)
	}
	putChoice(out, choice)
	return 0
}

//export fmgo_backend_open
func fmgo_backend_open(preference C.int32_t, bytes C.uint64_t, device *C.uint64_t, out *C.ferrum_backend_choice) (status C.int32_t) {
	defer guard(&status)
	handle, choice, err := lib.BackendOpen(discover.BackendType(preference), uint64(bytes))
	if err != nil {
		return fail(err)
	}
	putChoice(out, choice)
	*device = C.uint64_t(handle)
	return 0
}

//export fmgo_host_get_info
func fmgo_host_get_info(out *C.ferrum_host_info) (status C.int32_t) {
	defer guard(&status)
	info := lib.HostGetInfo()
	putText(out.cpu_name[:], info.Processor)
	out.total_bytes = C.uint64_t(info.TotalBytes)
	out.available_bytes = C.uint64_t(info.AvailableBytes)
	if info.AvailableKnown {
		out.available_known = 1
	}
	return 0
}

//export fmgo_round_up_power_of_2
func fmgo_round_up_power_of_2(n C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	result, err := device.RoundUpPowerOf2(uint64(n))
	return give(out, result, err)
}

//export fmgo_size_class
func fmgo_size_class(bytes C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	result, err := device.SizeClass(uint64(bytes))
	return give(out, result, err)
}

//export fmgo_f32_bytes
func fmgo_f32_bytes(count C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	result, err := device.F32Bytes(uint64(count))
	return give(out, result, err)
}

//export fmgo_f16_bytes
func fmgo_f16_bytes(count C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	result, err := device.F16Bytes(uint64(count))
	return give(out, result, err)
}

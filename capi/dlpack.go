package main

/*
#include "bridge.h"
#include "dlpack.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// releaseOf converts a release callback of the caller.
func releaseOf(release C.ferrum_release_fn, userData C.uintptr_t) func() {
	if release == nil {
		return nil
	}
	return func() { C.fm_call_release(release, userData) }
}

// dlpackStructs makes and reads the structs of DLPack.
type dlpackStructs struct{}

func truthOf(from bool) (to C.uint32_t) {
	setTruth(&to, from)
	return to
}

func (dlpackStructs) Make(handle uint64, v library.DLContent, versioned bool) (device.HostAddr, error) {
	content := C.struct_fm_dlpack{
		data: C.uint64_t(v.Data), device_type: C.int32_t(v.Device), device_index: C.int32_t(v.Index), rank: C.int32_t(len(v.Shape)),
		code: C.uint8_t(v.Code), bits: C.uint8_t(v.Bits), lanes: C.uint16_t(v.Lanes), is_read_only: truthOf(v.ReadOnly),
	}
	copyNumbers(content.shape[:len(v.Shape)], v.Shape)
	copyNumbers(content.strides[:len(v.Strides)], v.Strides)
	managed := C.fm_dlpack_make(C.uint64_t(handle), &content, C.int32_t(truthOf(versioned)))
	if managed == 0 {
		return 0, device.Errorf(device.CodeResourceExhausted, "capi.dlpack", "the process has no memory for a struct of DLPack")
	}
	return device.HostAddr(managed), nil
}

func (dlpackStructs) Read(given library.DLPack) (v library.DLContent, release func(), err error) {
	wrong := func(code device.Code, format string, values ...any) (library.DLContent, func(), error) {
		return v, nil, device.Errorf(code, "capi.dlpack", "dlpack->managed "+format, values...)
	}
	managed, versioned := C.uintptr_t(given.Managed), C.int32_t(truthOf(given.Versioned))
	if managed == 0 {
		return wrong(device.CodeNullPointer, "is NULL")
	}
	var content C.struct_fm_dlpack
	switch C.fm_dlpack_read(managed, versioned, &content) {
	case C.FM_DLPACK_VERSION:
		return wrong(device.CodeUnsupported, "has version %d of DLPack: want 1", uint32(C.fm_dlpack_major(managed)))
	case C.FM_DLPACK_RANK:
		return wrong(device.CodeInvalidArgument, "has %d dimensions: want 0 to %d", int32(content.rank), C.FERRUM_TENSOR_RANK_MAX)
	case C.FM_DLPACK_SHAPE:
		return wrong(device.CodeInvalidArgument, "has no shape for %d dimensions", int32(content.rank))
	case C.FM_DLPACK_OFFSET:
		return wrong(device.CodeOverflow, "has an offset beyond the end of the address space")
	}
	v = library.DLContent{
		Data: device.Addr(content.data), Device: int32(content.device_type), Index: int32(content.device_index),
		Code: uint8(content.code), Bits: uint8(content.bits), Lanes: uint16(content.lanes),
		ReadOnly: content.is_read_only != 0, Padded: content.is_padded != 0, Shape: make([]int64, content.rank),
	}
	copyNumbers(v.Shape, content.shape[:content.rank])
	if content.has_strides != 0 {
		v.Strides = make([]int64, content.rank)
		copyNumbers(v.Strides, content.strides[:content.rank])
	}
	return v, func() { C.fm_dlpack_release(managed, versioned) }, nil
}

//export fmgo_tensor_export_end
func fmgo_tensor_export_end(handle C.uint64_t) {
	var status C.int32_t
	defer guard(&status)
	tensors.EndExport(uint64(handle))
}

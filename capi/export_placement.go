package main

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/placement"
)

//export fmgo_placement_create_own
func fmgo_placement_create_own(name *C.char, callback C.ferrum_placement_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	text, err := textOf("name", name)
	if err != nil {
		return fail(err)
	}
	handle, err := lib.PlacementCreateOwn(text, func(r library.PlacementRequest, options []library.PlacementOption) (int, error) {
		return callPlacement(callback, userData, r, options)
	})
	return give(out, handle, err)
}

// callPlacement calls the caller's function. Its arguments lie in Go memory, which contains
// no pointers except those that are pinned during the call.
func callPlacement(callback C.ferrum_placement_fn, userData C.uintptr_t, r library.PlacementRequest, options []library.PlacementOption) (int, error) {
	shown := make([]C.ferrum_placement_option, len(options))
	for i, o := range options {
		putPlacementOption(&shown[i], &o)
	}
	preferred := make([]C.ferrum_device, len(r.Preferred))
	for i, id := range r.Preferred {
		preferred[i].id = C.uint64_t(id)
	}
	var request C.ferrum_placement_request
	putPlacementRequest(&request, &r)
	chosen := C.int64_t(placement.None)
	status := C.fm_call_placement(callback, &request, unsafe.SliceData(preferred), C.size_t(len(preferred)),
		unsafe.SliceData(shown), C.size_t(len(shown)), &chosen, userData, C.uint64_t(r.Strategy))
	if status != 0 {
		code := device.Code(status)
		if status > 0 {
			code = device.CodeInvalidArgument
		}
		return placement.None, device.Errorf(code, "capi.placement", "its callback returned %d", int32(status))
	}
	if chosen > math.MaxInt32 || chosen < math.MinInt32 {
		return placement.None, device.Errorf(device.CodeInvalidArgument, "capi.placement", "its callback chose %d", int64(chosen))
	}
	return int(chosen), nil
}

//export fmgo_placement_destroy
func fmgo_placement_destroy(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Placement("placement.destroy", uint64(handle))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(runningTokens()))
}

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"time"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/placement"
	"ferrum_mem/core/pressure"
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

// callPlacement asks the caller's function. What it is shown lies in memory of Go,
// which holds no pointer but those that are pinned for the call.
func callPlacement(callback C.ferrum_placement_fn, userData C.uintptr_t, r library.PlacementRequest, options []library.PlacementOption) (int, error) {
	shown := make([]C.ferrum_placement_option, len(options))
	for i, o := range options {
		shown[i] = C.ferrum_placement_option{
			device: C.ferrum_device{id: C.uint64_t(o.Device)}, needed_bytes: C.uint64_t(o.NeedBytes),
			total_bytes: C.uint64_t(o.TotalBytes), used_bytes: C.uint64_t(o.UsedBytes), free_bytes: C.uint64_t(o.FreeBytes),
			largest_free_bytes: C.uint64_t(o.LargestFreeBytes), reason: C.int32_t(o.Reason), tier: C.int32_t(o.Tier),
			preferred_rank: C.uint32_t(o.Rank), level_after: C.int32_t(o.LevelAfter),
		}
	}
	preferred := make([]C.ferrum_device, len(r.Preferred))
	for i, id := range r.Preferred {
		preferred[i].id = C.uint64_t(id)
	}
	request := C.ferrum_placement_request{
		memory_type: C.int32_t(r.Type), size_bytes: C.uint64_t(r.SizeBytes), alignment_bytes: C.uint64_t(r.AlignmentBytes),
		expected_lifetime_ns: C.uint64_t(r.Lifetime), flags: placementFlags(r), profile: C.int32_t(r.Profile),
	}
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

// The flags of a request.
const (
	placementCritical       = 1
	placementStrict         = 2
	placementRefuseCritical = 4
)

func placementFlags(r library.PlacementRequest) C.uint32_t {
	var flags C.uint32_t
	for flag, on := range map[C.uint32_t]bool{
		placementCritical: r.Critical, placementStrict: r.Strict, placementRefuseCritical: r.RefuseCritical,
	} {
		if on {
			flags |= flag
		}
	}
	return flags
}

func placementRequestOf(c *C.ferrum_placement_request) (library.PlacementRequest, error) {
	var r library.PlacementRequest
	const known = placementCritical | placementStrict | placementRefuseCritical
	if c.flags&^known != 0 {
		return r, device.Errorf(device.CodeInvalidArgument, "capi.placement",
			"request->flags is %#x: only 0x7 is known", uint32(c.flags))
	}
	r.Type, r.SizeBytes, r.AlignmentBytes = manager.MemoryType(c.memory_type), uint64(c.size_bytes), uint64(c.alignment_bytes)
	r.Lifetime = time.Duration(min(uint64(c.expected_lifetime_ns), math.MaxInt64))
	r.Critical, r.Strict = c.flags&placementCritical != 0, c.flags&placementStrict != 0
	r.RefuseCritical = c.flags&placementRefuseCritical != 0
	r.Profile = pressure.Profile(c.profile)
	var err error
	if r.Preferred, err = devicesOf("preferred", c.preferred, c.preferred_count); err != nil {
		return r, err
	}
	r.Devices, err = devicesOf("devices", c.devices, c.device_count)
	return r, err
}

// devicesOf reads a list of handles; NULL is none, and then the count has to be 0.
func devicesOf(name string, list *C.ferrum_device, count C.uint32_t) ([]uint64, error) {
	if count > C.FERRUM_PLACEMENT_DEVICES_MAX {
		return nil, device.Errorf(device.CodeInvalidArgument, "capi.placement",
			"request->%s has %d devices: want at most %d", name, uint32(count), int(C.FERRUM_PLACEMENT_DEVICES_MAX))
	}
	if list == nil {
		if count != 0 {
			return nil, device.Errorf(device.CodeNullPointer, "capi.placement",
				"request->%s is NULL, and its count is %d", name, uint32(count))
		}
		return nil, nil
	}
	handles := make([]uint64, count)
	for i, d := range unsafe.Slice(list, count) {
		handles[i] = uint64(d.id)
	}
	return handles, nil
}

//export fmgo_placement_destroy
func fmgo_placement_destroy(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PlacementDestroy(uint64(handle), uint64(C.fm_token_now())))
}

//export fmgo_placement_get_name
func fmgo_placement_get_name(handle C.uint64_t, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	name, err := lib.PlacementGetName(uint64(handle))
	if err == nil && capacity == 0 {
		*length = C.size_t(len(name))
		return 0
	}
	return giveText(buffer, capacity, length, unsafe.Slice(unsafe.StringData(name), len(name)), err)
}

//export fmgo_placement_select
func fmgo_placement_select(handle C.uint64_t, request *C.ferrum_placement_request, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	r, err := placementRequestOf(request)
	if err != nil {
		return fail(err)
	}
	chosen, err := lib.PlacementSelect(uint64(handle), r)
	return give(out, chosen, err)
}

//export fmgo_placement_explain_json
func fmgo_placement_explain_json(handle C.uint64_t, request *C.ferrum_placement_request, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	r, err := placementRequestOf(request)
	if err != nil {
		return fail(err)
	}
	text, err := lib.PlacementExplainJSON(uint64(handle), r)
	return giveText(buffer, capacity, length, text, err)
}

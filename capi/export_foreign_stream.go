package main

/*
#include "bridge.h"
*/
import "C"

import (
	"sync"

	"ferrum_mem/core/device"
)

// foreignWork is the work that external streams were requested to call, by number. The caller's
// code passes the number back, so a number may arrive twice or never.
var foreignWork = struct {
	sync.Mutex
	last  uint64
	queue map[uint64]func()
}{queue: map[uint64]func(){}}

//export fmgo_stream_adopt
func fmgo_stream_adopt(dev C.uint64_t, foreign *C.ferrum_foreign_stream, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	if foreign.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.stream_adopt",
			"foreign->reserved is %d: want 0", foreign.reserved))
	}
	described := device.ForeignStream{Native: uint64(foreign.native_handle)}
	if enqueue := foreign.enqueue; enqueue != nil {
		userData := C.uintptr_t(uintptr(foreign.user_data))
		described.Enqueue = func(work func()) error { return enqueueForeign(enqueue, userData, work) }
	}
	handle, err := lib.StreamAdopt(uint64(dev), described)
	return give(out, handle, err)
}

func enqueueForeign(enqueue C.ferrum_enqueue_fn, userData C.uintptr_t, work func()) error {
	foreignWork.Lock()
	foreignWork.last++
	number := foreignWork.last
	foreignWork.queue[number] = work
	foreignWork.Unlock()
	said := C.fm_call_enqueue(enqueue, C.uint64_t(number), userData)
	if said == 0 {
		return nil
	}
	foreignWork.Lock()
	delete(foreignWork.queue, number)
	foreignWork.Unlock()
	return device.Errorf(device.CodeDevice, "capi.enqueue", "enqueue returned status %d", int32(said)).
		WithNative(int64(said))
}

//export fmgo_foreign_run
func fmgo_foreign_run(number C.uint64_t) {
	var status C.int32_t
	defer guard(&status)
	foreignWork.Lock()
	work := foreignWork.queue[uint64(number)]
	delete(foreignWork.queue, uint64(number))
	foreignWork.Unlock()
	if work != nil {
		work()
	}
}

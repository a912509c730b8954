package main

/*
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/library"
)

//export fmgo_monitor_destroy
func fmgo_monitor_destroy(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.destroy", uint64(handle))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(runningTokens()))
}

//export fmgo_monitor_set_callback
func fmgo_monitor_set_callback(handle C.uint64_t, callback C.ferrum_monitor_fn, userData C.uintptr_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.set_callback", uint64(handle))
	if err != nil {
		return fail(err)
	}
	var hear func([]library.DeviceLevel)
	if callback != nil {
		hear = func(levels []library.DeviceLevel) {
			given := make([]C.ferrum_device_level, len(levels))
			for i := range levels {
				putDeviceLevel(&given[i], &levels[i])
			}
			C.fm_call_monitor(callback, handle, unsafe.SliceData(given), C.size_t(len(given)), userData)
		}
	}
	return done(object.SetCallback(runningTokens(), hear))
}

//export fmgo_memory_show
func fmgo_memory_show(handle C.uint64_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	lib.PublishCounters(uint64(handle))
	return 0
}

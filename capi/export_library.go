package main

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

//export fmgo_init
func fmgo_init(config *C.ferrum_config) (status C.int32_t) {
	defer guard(&status)
	if config == nil {
		return done(lib.Init(nil))
	}
	if config.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.init", "config->reserved is %d: want 0", config.reserved))
	}
	const known = C.FERRUM_CONFIG_HOST_MEMORY_FORCED | C.FERRUM_CONFIG_PROBE_IN_PROCESS | C.FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS
	if config.flags&^known != 0 {
		return fail(device.Errorf(device.CodeInvalidArgument, "capi.init",
			"config->flags is %#x: only FERRUM_CONFIG_HOST_MEMORY_FORCED (0x1), FERRUM_CONFIG_PROBE_IN_PROCESS (0x2) and "+
				"FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS (0x4) are known",
			config.flags))
	}
	return done(lib.Init(&library.Settings{
		HostDevices:      int(config.host_devices),
		HostMemoryBytes:  uint64(config.host_memory_bytes),
		HostMemoryForced: config.flags&C.FERRUM_CONFIG_HOST_MEMORY_FORCED != 0,
		ProbeInProcess:   config.flags&C.FERRUM_CONFIG_PROBE_IN_PROCESS != 0,
		LeaveHandlers:    config.flags&C.FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS != 0,
	}))
}

//export fmgo_log_set_callback
func fmgo_log_set_callback(minimum C.int32_t, callback C.ferrum_log_fn, userData C.uintptr_t) (status C.int32_t) {
	defer guard(&status)
	token := newToken()
	// A callback cannot wait for its own end. It may belong to a receiver that has been
	// replaced already, so the token of the current receiver would not identify it.
	inside := C.fm_inside_now() == C.FM_INSIDE_LOG
	if callback == nil {
		return done(lib.SetLog(int32(minimum), nil, !inside))
	}
	return done(lib.SetLog(int32(minimum), func(level int32, message string) {
		text := C.CString(message)
		defer C.free(unsafe.Pointer(text))
		C.fm_call_log(callback, C.int32_t(level), text, userData, C.uint64_t(token))
	}, !inside))
}

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/manager"

//export fmgo_stream_host_function
func fmgo_stream_host_function(stream C.uint64_t, function C.ferrum_host_fn, userData C.uintptr_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("stream.host_function")
	if err != nil {
		return fail(err)
	}
	return done(made.HostFunction(manager.StreamHandle(stream), func() {
		C.fm_call_host(function, userData)
	}))
}

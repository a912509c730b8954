package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_stream_host_function
func fmgo_stream_host_function(stream C.uint64_t, function C.ferrum_host_fn, userData C.uintptr_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.StreamHostFunction(uint64(stream), func() {
		C.fm_call_host(function, userData)
	}))
}

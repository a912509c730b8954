package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_stream_create
func fmgo_stream_create(dev C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	handle, err := lib.StreamCreate(uint64(dev))
	return give(out, handle, err)
}

//export fmgo_stream_destroy
func fmgo_stream_destroy(stream C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.StreamDestroy(uint64(stream), force))
}

//export fmgo_stream_default
func fmgo_stream_default(dev C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	handle, err := lib.StreamDefault(uint64(dev))
	return give(out, handle, err)
}

//export fmgo_stream_synchronize
func fmgo_stream_synchronize(stream, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.StreamSynchronize(uint64(stream), timeoutOf(timeoutNs)))
}

//export fmgo_stream_is_ready
func fmgo_stream_is_ready(stream C.uint64_t, out *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ready, err := lib.StreamIsReady(uint64(stream))
	return giveTruth(out, ready, err)
}

//export fmgo_stream_host_function
func fmgo_stream_host_function(stream C.uint64_t, function C.ferrum_host_fn, userData C.uintptr_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.StreamHostFunction(uint64(stream), func() {
		C.fm_call_host(function, userData)
	}))
}

//export fmgo_event_record
func fmgo_event_record(stream C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	handle, err := lib.EventRecord(uint64(stream))
	return give(out, handle, err)
}

//export fmgo_event_destroy
func fmgo_event_destroy(event C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.EventDestroy(uint64(event)))
}

//export fmgo_event_is_ready
func fmgo_event_is_ready(event C.uint64_t, out *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ready, err := lib.EventIsReady(uint64(event))
	return giveTruth(out, ready, err)
}

//export fmgo_event_synchronize
func fmgo_event_synchronize(event, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.EventSynchronize(uint64(event), timeoutOf(timeoutNs)))
}

//export fmgo_event_elapsed
func fmgo_event_elapsed(start, end C.uint64_t, out *C.int64_t) (status C.int32_t) {
	defer guard(&status)
	elapsed, err := lib.EventElapsed(uint64(start), uint64(end))
	if err != nil {
		return fail(err)
	}
	*out = C.int64_t(elapsed.Nanoseconds())
	return 0
}

//export fmgo_stream_wait_event
func fmgo_stream_wait_event(stream, event C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.StreamWaitEvent(uint64(stream), uint64(event)))
}

func giveTruth(out *C.uint32_t, value bool, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	if value {
		*out = 1
	}
	return 0
}

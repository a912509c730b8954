// Code generated from include/ferrum_mem/streams.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_stream_create
func fmgo_stream_create(dev C.uint64_t, streamOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	stream, err := lib.StreamCreate(uint64(dev))
	return give(streamOut, stream, err)
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
func fmgo_stream_default(dev C.uint64_t, streamOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	stream, err := lib.StreamDefault(uint64(dev))
	return give(streamOut, stream, err)
}

//export fmgo_stream_synchronize
func fmgo_stream_synchronize(stream C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.StreamSynchronize(uint64(stream), timeoutOf(timeoutNs)))
}

//export fmgo_stream_is_ready
func fmgo_stream_is_ready(stream C.uint64_t, readyOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ready, err := lib.StreamIsReady(uint64(stream))
	return giveTruth(readyOut, ready, err)
}

//export fmgo_event_record
func fmgo_event_record(stream C.uint64_t, eventOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	event, err := lib.EventRecord(uint64(stream))
	return give(eventOut, event, err)
}

//export fmgo_event_destroy
func fmgo_event_destroy(event C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.EventDestroy(uint64(event)))
}

//export fmgo_event_is_ready
func fmgo_event_is_ready(event C.uint64_t, readyOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ready, err := lib.EventIsReady(uint64(event))
	return giveTruth(readyOut, ready, err)
}

//export fmgo_event_synchronize
func fmgo_event_synchronize(event C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.EventSynchronize(uint64(event), timeoutOf(timeoutNs)))
}

//export fmgo_event_elapsed
func fmgo_event_elapsed(start C.uint64_t, end C.uint64_t, elapsedNsOut *C.int64_t) (status C.int32_t) {
	defer guard(&status)
	elapsedNs, err := lib.EventElapsed(uint64(start), uint64(end))
	if err != nil {
		return fail(err)
	}
	set(elapsedNsOut, elapsedNs)
	return 0
}

//export fmgo_stream_wait_event
func fmgo_stream_wait_event(stream C.uint64_t, event C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.StreamWaitEvent(uint64(stream), uint64(event)))
}

// Code generated from include/ferrum_mem/streams.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/manager"

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
	made, err := lib.Factory("stream.synchronize")
	if err != nil {
		return fail(err)
	}
	return done(made.SynchronizeStream(manager.StreamHandle(stream), timeoutOf(timeoutNs)))
}

//export fmgo_stream_is_ready
func fmgo_stream_is_ready(stream C.uint64_t, readyOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("stream.is_ready")
	if err != nil {
		return fail(err)
	}
	ready, err := made.IsStreamReady(manager.StreamHandle(stream))
	return giveTruth(readyOut, ready, err)
}

//export fmgo_stream_copy_batch
func fmgo_stream_copy_batch(stream C.uint64_t, copies *C.ferrum_address_copy, count C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	copiesGiven, err := recordsOf("copies", copies, count, addressCopyOf)
	if err != nil {
		return fail(err)
	}
	made, err := lib.Factory("stream.copy_batch")
	if err != nil {
		return fail(err)
	}
	return done(made.CopyBatch(manager.StreamHandle(stream), copiesGiven))
}

//export fmgo_event_record
func fmgo_event_record(stream C.uint64_t, eventOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("event.record")
	if err != nil {
		return fail(err)
	}
	event, err := made.RecordEvent(manager.StreamHandle(stream))
	return give(eventOut, event, err)
}

//export fmgo_event_destroy
func fmgo_event_destroy(event C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("event.destroy")
	if err != nil {
		return fail(err)
	}
	return done(made.DestroyEvent(manager.EventHandle(event)))
}

//export fmgo_event_is_ready
func fmgo_event_is_ready(event C.uint64_t, readyOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("event.is_ready")
	if err != nil {
		return fail(err)
	}
	ready, err := made.IsEventReady(manager.EventHandle(event))
	return giveTruth(readyOut, ready, err)
}

//export fmgo_event_synchronize
func fmgo_event_synchronize(event C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("event.synchronize")
	if err != nil {
		return fail(err)
	}
	return done(made.SynchronizeEvent(manager.EventHandle(event), timeoutOf(timeoutNs)))
}

//export fmgo_event_elapsed
func fmgo_event_elapsed(start C.uint64_t, end C.uint64_t, elapsedNsOut *C.int64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("event.elapsed")
	if err != nil {
		return fail(err)
	}
	elapsedNs, err := made.EventElapsed(manager.EventHandle(start), manager.EventHandle(end))
	if err != nil {
		return fail(err)
	}
	set(elapsedNsOut, elapsedNs)
	return 0
}

//export fmgo_stream_wait_event
func fmgo_stream_wait_event(stream C.uint64_t, event C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("stream.wait_event")
	if err != nil {
		return fail(err)
	}
	return done(made.WaitEvent(manager.StreamHandle(stream), manager.EventHandle(event)))
}

// Code generated from include/ferrum_mem/sharing.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_device_open_native
func fmgo_device_open_native(id *C.char, nativeContext C.uint64_t, deviceOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	idText, err := textOf("id", id)
	if err != nil {
		return fail(err)
	}
	dev, err := lib.DeviceOpenNative(idText, uint64(nativeContext))
	return give(deviceOut, dev, err)
}

//export fmgo_device_get_native
func fmgo_device_get_native(dev C.uint64_t, nativeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	native, err := lib.DeviceGetNative(uint64(dev))
	return give(nativeOut, native, err)
}

//export fmgo_stream_get_native
func fmgo_stream_get_native(stream C.uint64_t, nativeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	native, err := lib.StreamGetNative(uint64(stream))
	return give(nativeOut, native, err)
}

//export fmgo_event_get_native
func fmgo_event_get_native(event C.uint64_t, nativeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	native, err := lib.EventGetNative(uint64(event))
	return give(nativeOut, native, err)
}

//export fmgo_device_grant_peer
func fmgo_device_grant_peer(dev C.uint64_t, peer C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.DeviceGrantPeer(uint64(dev), uint64(peer)))
}

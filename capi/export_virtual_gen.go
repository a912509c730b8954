// Code generated from include/ferrum_mem/virtual.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_vpool_destroy
func fmgo_vpool_destroy(vpool C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.VPoolDestroy(uint64(vpool), force))
}

//export fmgo_vpool_free
func fmgo_vpool_free(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolFree(uint64(vpool), rangeOf(offsetBytes, sizeBytes), uint64(stream)))
}

//export fmgo_vpool_record_stream
func fmgo_vpool_record_stream(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolRecordStream(uint64(vpool), rangeOf(offsetBytes, sizeBytes), uint64(stream)))
}

//export fmgo_vpool_is_mapped
func fmgo_vpool_is_mapped(vpool C.uint64_t, offsetBytes C.uint64_t, sizeBytes C.uint64_t, mappedOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	mapped, err := lib.VPoolIsMapped(uint64(vpool), rangeOf(offsetBytes, sizeBytes))
	return giveTruth(mappedOut, mapped, err)
}

//export fmgo_vpool_trim
func fmgo_vpool_trim(vpool C.uint64_t, keepBytes C.uint64_t, releasedBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	releasedBytes, err := lib.VPoolTrim(uint64(vpool), uint64(keepBytes))
	return give(releasedBytesOut, releasedBytes, err)
}

//export fmgo_vpool_set_limit
func fmgo_vpool_set_limit(vpool C.uint64_t, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolSetLimit(uint64(vpool), uint64(limitBytes)))
}

//export fmgo_vpool_synchronize
func fmgo_vpool_synchronize(vpool C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolSynchronize(uint64(vpool), timeoutOf(timeoutNs)))
}

//export fmgo_vpool_pause
func fmgo_vpool_pause(vpool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolPause(uint64(vpool)))
}

//export fmgo_vpool_resume
func fmgo_vpool_resume(vpool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.VPoolResume(uint64(vpool)))
}

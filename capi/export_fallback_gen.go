// Code generated from include/ferrum_mem/fallback.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_tracker_create
func fmgo_tracker_create(trackerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	tracker, err := lib.TrackerCreate()
	return give(trackerOut, tracker, err)
}

//export fmgo_tracker_destroy
func fmgo_tracker_destroy(tracker C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.TrackerDestroy(uint64(tracker)))
}

//export fmgo_tracker_clear
func fmgo_tracker_clear(tracker C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.TrackerClear(uint64(tracker)))
}

//export fmgo_generic_pool_destroy
func fmgo_generic_pool_destroy(pool C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.GenericPoolDestroy(uint64(pool), force))
}

//export fmgo_generic_pool_add_free
func fmgo_generic_pool_add_free(pool C.uint64_t, buffer C.uint64_t, sizeBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.GenericPoolAddFree(uint64(pool), uint64(buffer), uint64(sizeBytes)))
}

//export fmgo_generic_pool_record_cpu_fallback
func fmgo_generic_pool_record_cpu_fallback(pool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.GenericPoolRecordCPUFallback(uint64(pool)))
}

//export fmgo_generic_pool_get_tracker
func fmgo_generic_pool_get_tracker(pool C.uint64_t, trackerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	tracker, err := lib.GenericPoolGetTracker(uint64(pool))
	return give(trackerOut, tracker, err)
}

//export fmgo_fallback_manager_destroy
func fmgo_fallback_manager_destroy(manager C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.FallbackManagerDestroy(uint64(manager), force))
}

//export fmgo_fallback_manager_get_backend_name
func fmgo_fallback_manager_get_backend_name(manager C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.FallbackManagerGetBackendName(uint64(manager))
	return giveText(buffer, capacity, lengthOut, []byte(text), err)
}

//export fmgo_fallback_manager_get_memory
func fmgo_fallback_manager_get_memory(manager C.uint64_t, totalOut *C.uint64_t, freeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	total, free, err := lib.FallbackManagerGetMemory(uint64(manager))
	if err != nil {
		return fail(err)
	}
	*totalOut = C.uint64_t(total)
	*freeOut = C.uint64_t(free)
	return 0
}

//export fmgo_fallback_manager_clear_pool
func fmgo_fallback_manager_clear_pool(manager C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.FallbackManagerClearPool(uint64(manager)))
}

//export fmgo_fallback_manager_shrink
func fmgo_fallback_manager_shrink(manager C.uint64_t, releasedOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	released, err := lib.FallbackManagerShrink(uint64(manager))
	return give(releasedOut, released, err)
}

//export fmgo_fallback_manager_get_tracker
func fmgo_fallback_manager_get_tracker(manager C.uint64_t, trackerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	tracker, err := lib.FallbackManagerGetTracker(uint64(manager))
	return give(trackerOut, tracker, err)
}

//export fmgo_fallback_manager_return_buffers
func fmgo_fallback_manager_return_buffers(manager C.uint64_t, movedOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	moved, err := lib.FallbackManagerReturnBuffers(uint64(manager))
	return give(movedOut, moved, err)
}

//export fmgo_fallback_buffer_free
func fmgo_fallback_buffer_free(buffer C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.FallbackBufferFree(uint64(buffer), uint64(stream)))
}

//export fmgo_fallback_buffer_unpin
func fmgo_fallback_buffer_unpin(buffer C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.FallbackBufferUnpin(uint64(buffer)))
}

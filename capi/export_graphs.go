package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_pool_capture_begin
func fmgo_pool_capture_begin(handle, stream, shared C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	graph, err := lib.PoolCaptureBegin(uint64(handle), uint64(stream), uint64(shared))
	return give(out, graph, err)
}

//export fmgo_pool_capture_end
func fmgo_pool_capture_end(handle, graph C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolCaptureEnd(uint64(handle), uint64(graph)))
}

//export fmgo_pool_capture_release
func fmgo_pool_capture_release(handle, graph, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolCaptureRelease(uint64(handle), uint64(graph), uint64(stream)))
}

//export fmgo_pool_capture_get_info
func fmgo_pool_capture_get_info(handle, graph C.uint64_t, out *C.ferrum_graph_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.PoolCaptureInfo(uint64(handle), uint64(graph))
	if err != nil {
		return fail(err)
	}
	if info.Capturing {
		out.capturing = 1
	}
	out.sharing = C.uint64_t(info.Sharing)
	out.held_bytes = C.uint64_t(info.HeldBytes)
	out.live_bytes = C.uint64_t(info.LiveBytes)
	out.live_blocks = C.uint64_t(info.LiveBlocks)
	out.parked_bytes = C.uint64_t(info.ParkedBytes)
	return done(nil)
}

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_pool_capture_get_info
func fmgo_pool_capture_get_info(handle, graph C.uint64_t, out *C.ferrum_graph_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.PoolCaptureGetInfo(uint64(handle), uint64(graph))
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

package main

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// rangeOf returns the range of bytes of a call.
func rangeOf(offset, size C.uint64_t) library.ByteRange {
	return library.ByteRange{OffsetBytes: uint64(offset), SizeBytes: uint64(size)}
}

//export fmgo_elastic_pool_reclaim_callback_add
func fmgo_elastic_pool_reclaim_callback_add(pool C.uint64_t, model *C.char, config *C.ferrum_reclaim_config, callback C.ferrum_model_reclaim_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	if config.priority != 0 {
		return fail(device.Errorf(device.CodeInvalidArgument, "capi.reclaim",
			"config->priority is %d: a model callback uses the model's priority; want 0", int32(config.priority)))
	}
	deadline, err := deadlineOf(config)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.reclaim_callback_add", uint64(pool))
	if err != nil {
		return fail(err)
	}
	token := newToken()
	handle, err := object.ReclaimCallbackAdd(modelText, token, deadline, func(needed uint64) uint64 {
		id := C.CString(modelText)
		defer C.free(unsafe.Pointer(id))
		return uint64(C.fm_call_model_reclaim(callback, pool, id, C.uint64_t(needed), userData, C.uint64_t(token)))
	})
	return give(out, handle, err)
}

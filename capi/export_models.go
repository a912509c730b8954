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

// modelOf reads which model a call is about.
func modelOf(pool C.uint64_t, model *C.char) (library.ModelRef, error) {
	id, err := textOf("model", model)
	return library.ModelRef{Pool: uint64(pool), ID: id}, err
}

// rangeOf reads which bytes a call is about.
func rangeOf(offset, size C.uint64_t) library.ByteRange {
	return library.ByteRange{OffsetBytes: uint64(offset), SizeBytes: uint64(size)}
}

//export fmgo_elastic_pool_reclaim_callback_add
func fmgo_elastic_pool_reclaim_callback_add(pool C.uint64_t, model *C.char, config *C.ferrum_reclaim_config, callback C.ferrum_model_reclaim_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	if config.priority != 0 {
		return fail(device.Errorf(device.CodeInvalidArgument, "capi.reclaim",
			"config->priority is %d: it is the model's, want 0", int32(config.priority)))
	}
	deadline, err := deadlineOf(config)
	if err != nil {
		return fail(err)
	}
	token := newToken()
	handle, err := lib.ModelReclaimCallbackAdd(ref, token, deadline, func(needed uint64) uint64 {
		id := C.CString(ref.ID)
		defer C.free(unsafe.Pointer(id))
		return uint64(C.fm_call_model_reclaim(callback, pool, id, C.uint64_t(needed), userData, C.uint64_t(token)))
	})
	return give(out, handle, err)
}

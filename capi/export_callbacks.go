package main

/*
#include "bridge.h"
*/
import "C"

import (
	"sync/atomic"
	"time"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/library"
)

// lastToken is the last token in use. A token identifies a callback. While a callback runs,
// its thread carries its token, so that removing the callback from inside does not wait for
// itself.
var lastToken atomic.Uint64

func newToken() uint64 { return lastToken.Add(1) }

// newWork returns the tokens of the callbacks of work that the calling thread begins: a new one, and then those of
// the callbacks that the thread runs. Such a callback may wait for the work, so it must not be waited for in a
// callback of the work, which may run on another thread.
func newWork() []uint64 { return append([]uint64{newToken()}, runningTokens()...) }

// runningTokens returns the tokens of the callbacks that the calling thread runs.
func runningTokens() []uint64 {
	count := C.fm_tokens_now(nil, 0)
	if count == 0 {
		return nil
	}
	tokens := make([]uint64, count)
	C.fm_tokens_now(tokensOf(tokens), count)
	return tokens
}

func tokensOf(list []uint64) *C.uint64_t { return (*C.uint64_t)(unsafe.SliceData(list)) }

//export fmgo_device_pressure_callback_add
func fmgo_device_pressure_callback_add(dev C.uint64_t, callback C.ferrum_pressure_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	token := newToken()
	handle, err := lib.PressureCallbackAdd(uint64(dev), token, func(dev uint64, level int32) {
		C.fm_call_pressure(callback, C.uint64_t(dev), C.int32_t(level), userData, C.uint64_t(token))
	})
	return give(out, handle, err)
}

//export fmgo_device_reclaim_callback_add
func fmgo_device_reclaim_callback_add(dev C.uint64_t, config *C.ferrum_reclaim_config, callback C.ferrum_reclaim_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	token := newToken()
	deadline, err := deadlineOf(config)
	if err != nil {
		return fail(err)
	}
	settings := engine.ReclaimConfig{Priority: int32(config.priority), Deadline: deadline}
	handle, err := lib.ReclaimCallbackAdd(uint64(dev), token, settings, func(dev, needed uint64) uint64 {
		return uint64(C.fm_call_reclaim(callback, C.uint64_t(dev), C.uint64_t(needed), userData, C.uint64_t(token)))
	})
	return give(out, handle, err)
}

//export fmgo_kv_cache_pressure_callback_add
func fmgo_kv_cache_pressure_callback_add(cache C.uint64_t, callback C.ferrum_pressure_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := kvCaches.KVCache("kv_cache.pressure_callback_add", uint64(cache))
	if err != nil {
		return fail(err)
	}
	token := newToken()
	registered, err := object.PressureCallbackAdd(token, func(dev uint64, level int32) {
		C.fm_call_pressure(callback, C.uint64_t(dev), C.int32_t(level), userData, C.uint64_t(token))
	})
	return give(out, registered, library.CallError(err, object))
}

func deadlineOf(config *C.ferrum_reclaim_config) (time.Duration, error) {
	switch deadline := timeoutOf(config.deadline_ns); deadline {
	case device.Forever:
		return 0, device.Errorf(device.CodeInvalidArgument, "capi.reclaim",
			"config->deadline_ns is %d: an allocation cannot wait without a limit", uint64(config.deadline_ns))
	case 0:
		return defaultDeadline, nil
	default:
		return deadline, nil
	}
}

// defaultDeadline is the meaning of a deadline_ns of 0.
const defaultDeadline = 100 * time.Millisecond

//export fmgo_fallback_manager_pressure_callback_add
func fmgo_fallback_manager_pressure_callback_add(handle C.uint64_t, callback C.ferrum_pressure_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.pressure_callback_add", uint64(handle))
	if err != nil {
		return fail(err)
	}
	token := newToken()
	registered, err := object.PressureCallbackAdd(token, func(dev uint64, level int32) {
		C.fm_call_pressure(callback, C.uint64_t(dev), C.int32_t(level), userData, C.uint64_t(token))
	})
	return give(out, registered, err)
}

//export fmgo_registration_remove
func fmgo_registration_remove(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.RegistrationRemove(uint64(handle), runningTokens()))
}

//go:build cgo && !windows

package ort

/*
#cgo CFLAGS: -std=gnu11 -O2 -fexceptions -fvisibility=hidden -Wall -Wextra
#include <stdlib.h>
#include "allocate.h"
#include "kernel.h"

static void fo_fill(struct fo_allocator *a, uintptr_t allocate, uintptr_t release, uintptr_t fail, uintptr_t info) {
	a->allocate = (uintptr_t (*)(uintptr_t, uintptr_t))allocate;
	a->release = (uintptr_t (*)(uintptr_t, uintptr_t))release;
	a->fail = (void (*)(void))fail;
	a->memory_info = (const void *)info;
	fo_allocator_init(a);
}

static void fo_kernel_fill(struct fo_kernel *k, uintptr_t call, uintptr_t api) {
	k->call = (uintptr_t (*)(uintptr_t, uintptr_t))call;
	k->api = (void *const *)api;
}
*/
import "C"

import "unsafe"

// canThrow states whether ONNX Runtime can be told that memory is missing.
func canThrow() error { return nil }

// newTable makes the struct that ONNX Runtime calls; 0: the process has no memory. freeTable frees it.
func newTable(allocate, release, throw, memoryInfo uintptr) uintptr {
	made := (*C.struct_fo_allocator)(C.calloc(1, C.sizeof_struct_fo_allocator))
	if made != nil {
		C.fo_fill(made, C.uintptr_t(allocate), C.uintptr_t(release), C.uintptr_t(throw), C.uintptr_t(memoryInfo))
	}
	return uintptr(unsafe.Pointer(made))
}

func freeTable(at uintptr) { C.free(pointerTo(at)) }

// newKernel makes the struct that ONNX Runtime calls for an operator; 0: the process has no memory. types has the
// types of its inputs and then its outputs, as ONNX numbers them. freeTable frees the struct.
func newKernel(name []byte, types []int32, inputs int, call, api uintptr) uintptr {
	made := C.fo_kernel_new((*C.char)(unsafe.Pointer(&name[0])), (*C.int32_t)(unsafe.SliceData(types)), C.size_t(inputs), C.size_t(len(types)-inputs))
	if made != nil {
		C.fo_kernel_fill(made, C.uintptr_t(call), C.uintptr_t(api))
	}
	return uintptr(unsafe.Pointer(made))
}

// makeOutputs makes the outputs of a call, whose shapes are set. false: ONNX Runtime has failed, and the call has
// its status.
func makeOutputs(kernel, call uintptr) bool {
	return C.fo_kernel_outputs((*C.struct_fo_kernel)(pointerTo(kernel)), (*C.struct_fo_call)(pointerTo(call))) != 0
}

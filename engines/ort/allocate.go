//go:build cgo && !windows

package ort

/*
#cgo CFLAGS: -std=gnu11 -O2 -fexceptions -fvisibility=hidden -Wall -Wextra
#include <stdlib.h>
#include "allocate.h"

static void fo_fill(struct fo_allocator *a, uintptr_t allocate, uintptr_t release, uintptr_t fail, uintptr_t info) {
	a->allocate = (uintptr_t (*)(uintptr_t, uintptr_t))allocate;
	a->release = (uintptr_t (*)(uintptr_t, uintptr_t))release;
	a->fail = (void (*)(void))fail;
	a->memory_info = (const void *)info;
	fo_allocator_init(a);
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

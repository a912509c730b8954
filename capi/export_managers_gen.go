// Code generated from include/ferrum_mem/managers.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_manager_destroy
func fmgo_manager_destroy(manager C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.ManagerDestroy(uint64(manager), force))
}

//export fmgo_manager_alloc
func fmgo_manager_alloc(manager C.uint64_t, sizeBytes C.uint64_t, memoryOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	memory, err := lib.ManagerAlloc(uint64(manager), uint64(sizeBytes))
	return give(memoryOut, memory, err)
}

//export fmgo_memory_free
func fmgo_memory_free(memory C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MemoryFree(uint64(memory)))
}

//export fmgo_memory_pin
func fmgo_memory_pin(memory C.uint64_t, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	address, err := lib.MemoryPin(uint64(memory))
	return give(addressOut, address, err)
}

//export fmgo_memory_unpin
func fmgo_memory_unpin(memory C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MemoryUnpin(uint64(memory)))
}

// Code generated from include/ferrum_mem/mapping.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_memory_unmap
func fmgo_memory_unmap(memory C.uint64_t, mappingID C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MemoryUnmap(uint64(memory), uint64(mappingID)))
}

//export fmgo_memory_prefetch
func fmgo_memory_prefetch(memory C.uint64_t, target C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MemoryPrefetch(uint64(memory), uint64(target), uint64(stream)))
}

//export fmgo_event_adopt
func fmgo_event_adopt(dev C.uint64_t, nativeHandle C.uint64_t, eventOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	event, err := lib.EventAdopt(uint64(dev), uint64(nativeHandle))
	return give(eventOut, event, err)
}

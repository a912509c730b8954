// Code generated from include/ferrum_mem/mapping.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
)

//export fmgo_memory_map
func fmgo_memory_map(request *C.ferrum_map_request, mappingOut *C.ferrum_mapping) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := mapRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	made, err := lib.Factory("memory.map")
	if err != nil {
		return fail(err)
	}
	mapping, err := made.Map(requestGiven)
	if err != nil {
		return fail(err)
	}
	putMapping(mappingOut, &mapping)
	return 0
}

//export fmgo_memory_unmap
func fmgo_memory_unmap(memory C.uint64_t, mappingID C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("memory.unmap")
	if err != nil {
		return fail(err)
	}
	return done(made.Unmap(manager.MemoryHandle(memory), uint64(mappingID)))
}

//export fmgo_manager_create_mapping
func fmgo_manager_create_mapping(first C.uint64_t, second C.uint64_t, request *C.ferrum_link_request, firstOut *C.uint64_t, secondOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := linkRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Manager("manager.create_mapping", uint64(first))
	if err != nil {
		return fail(err)
	}
	firstFound, secondFound, err := object.CreateMapping(uint64(second), requestGiven)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	set(firstOut, firstFound)
	set(secondOut, secondFound)
	return 0
}

//export fmgo_memory_prefetch
func fmgo_memory_prefetch(memory C.uint64_t, target C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MemoryPrefetch(uint64(memory), uint64(target), uint64(stream)))
}

//export fmgo_memory_set_usage_hint
func fmgo_memory_set_usage_hint(memory C.uint64_t, hint C.int32_t) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("memory.set_usage_hint")
	if err != nil {
		return fail(err)
	}
	return done(made.SetUsageHint(manager.MemoryHandle(memory), numberOf[manager.UsageHint](hint)))
}

//export fmgo_memory_get_usage_hints
func fmgo_memory_get_usage_hints(memory C.uint64_t, hintsOut *C.ferrum_usage_hints) (status C.int32_t) {
	defer guard(&status)
	made, err := lib.Factory("memory.usage_hints")
	if err != nil {
		return fail(err)
	}
	hints, err := made.UsageHints(manager.MemoryHandle(memory))
	if err != nil {
		return fail(err)
	}
	putUsageHints(hintsOut, &hints)
	return 0
}

//export fmgo_memory_get_access_stats
func fmgo_memory_get_access_stats(memory C.uint64_t, statsOut *C.ferrum_access_stats) (status C.int32_t) {
	defer guard(&status)
	stats, err := lib.MemoryGetAccessStats(uint64(memory))
	if err != nil {
		return fail(err)
	}
	putAccessStats(statsOut, &stats)
	return 0
}

//export fmgo_manager_adopt
func fmgo_manager_adopt(manager C.uint64_t, adoption *C.ferrum_adoption, memoryOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	adoptionGiven, err := adoptionOf("adoption", adoption)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Manager("manager.adopt", uint64(manager))
	if err != nil {
		return fail(err)
	}
	memory, err := object.Adopt(adoptionGiven)
	return give(memoryOut, memory, library.CallError(err, object))
}

//export fmgo_event_adopt
func fmgo_event_adopt(dev C.uint64_t, nativeHandle C.uint64_t, eventOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	event, err := lib.EventAdopt(uint64(dev), uint64(nativeHandle))
	return give(eventOut, event, err)
}

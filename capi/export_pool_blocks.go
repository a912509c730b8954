package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/capi/threadcache"
	"ferrum_mem/core/library"
)

//export fmgo_pool_get_tag
func fmgo_pool_get_tag(handle C.uint64_t, name *C.char, out *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	text, err := textOf("name", name)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Pool("pool.tag", uint64(handle))
	if err != nil {
		return fail(err)
	}
	number, err := object.Tag(text)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	*out = C.uint32_t(number)
	// Numbers are allocated in order. From now on the caches accept this one.
	threadcache.SetTags(uint64(handle), number)
	return 0
}

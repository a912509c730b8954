// Code generated from include/ferrum_mem/sleep.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_vpool_is_asleep
func fmgo_vpool_is_asleep(vpool C.uint64_t, tag *C.char, asleepOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	tagText, err := textOf("tag", tag)
	if err != nil {
		return fail(err)
	}
	asleep, err := lib.VPoolIsAsleep(uint64(vpool), tagText)
	return giveTruth(asleepOut, asleep, err)
}

//export fmgo_elastic_pool_is_model_asleep
func fmgo_elastic_pool_is_model_asleep(pool C.uint64_t, model *C.char, tag *C.char, asleepOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	tagText, err := textOf("tag", tag)
	if err != nil {
		return fail(err)
	}
	asleep, err := lib.ElasticPoolIsModelAsleep(ref, tagText)
	return giveTruth(asleepOut, asleep, err)
}

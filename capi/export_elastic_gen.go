// Code generated from include/ferrum_mem/elastic.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_elastic_pool_destroy
func fmgo_elastic_pool_destroy(pool C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolDestroy(uint64(pool), force))
}

//export fmgo_elastic_pool_unregister_model
func fmgo_elastic_pool_unregister_model(pool C.uint64_t, model *C.char, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolUnregisterModel(ref, force))
}

//export fmgo_elastic_pool_free
func fmgo_elastic_pool_free(pool C.uint64_t, model *C.char, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolFree(ref, rangeOf(offsetBytes, sizeBytes), uint64(stream)))
}

//export fmgo_elastic_pool_record_stream
func fmgo_elastic_pool_record_stream(pool C.uint64_t, model *C.char, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolRecordStream(ref, rangeOf(offsetBytes, sizeBytes), uint64(stream)))
}

//export fmgo_elastic_pool_is_mapped
func fmgo_elastic_pool_is_mapped(pool C.uint64_t, model *C.char, offsetBytes C.uint64_t, sizeBytes C.uint64_t, mappedOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	mapped, err := lib.ElasticPoolIsMapped(ref, rangeOf(offsetBytes, sizeBytes))
	return giveTruth(mappedOut, mapped, err)
}

//export fmgo_elastic_pool_models_json
func fmgo_elastic_pool_models_json(pool C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.ElasticPoolModelsJSON(uint64(pool))
	return giveText(buffer, capacity, lengthOut, []byte(text), err)
}

//export fmgo_elastic_pool_set_limit
func fmgo_elastic_pool_set_limit(pool C.uint64_t, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolSetLimit(uint64(pool), uint64(limitBytes)))
}

//export fmgo_elastic_pool_trim
func fmgo_elastic_pool_trim(pool C.uint64_t, keepBytes C.uint64_t, releasedBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	releasedBytes, err := lib.ElasticPoolTrim(uint64(pool), uint64(keepBytes))
	return give(releasedBytesOut, releasedBytes, err)
}

//export fmgo_elastic_pool_synchronize
func fmgo_elastic_pool_synchronize(pool C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolSynchronize(uint64(pool), timeoutOf(timeoutNs)))
}

//export fmgo_elastic_pool_pause
func fmgo_elastic_pool_pause(pool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolPause(uint64(pool)))
}

//export fmgo_elastic_pool_resume
func fmgo_elastic_pool_resume(pool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolResume(uint64(pool)))
}

// Code generated from include/ferrum_mem/elastic.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_elastic_pool_create
func fmgo_elastic_pool_create(dev C.uint64_t, config *C.ferrum_elastic_pool_config, poolOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := elasticPoolConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	poolFound, err := lib.ElasticPoolCreate(uint64(dev), configGiven)
	return give(poolOut, poolFound, err)
}

//export fmgo_elastic_pool_destroy
func fmgo_elastic_pool_destroy(pool C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolDestroy(uint64(pool), force))
}

//export fmgo_elastic_pool_register_model
func fmgo_elastic_pool_register_model(pool C.uint64_t, model *C.char, config *C.ferrum_model_config) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	configGiven, err := modelConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolRegisterModel(ref, configGiven))
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

//export fmgo_elastic_pool_alloc
func fmgo_elastic_pool_alloc(pool C.uint64_t, model *C.char, sizeBytes C.uint64_t, addressOut *C.uint64_t, offsetBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	address, offsetBytes, err := lib.ElasticPoolAlloc(ref, uint64(sizeBytes))
	if err != nil {
		return fail(err)
	}
	set(addressOut, address)
	set(offsetBytesOut, offsetBytes)
	return 0
}

//export fmgo_elastic_pool_alloc_with
func fmgo_elastic_pool_alloc_with(pool C.uint64_t, model *C.char, request *C.ferrum_model_request, addressOut *C.uint64_t, offsetBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	requestGiven, err := modelRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	address, offsetBytes, err := lib.ElasticPoolAllocWith(ref, requestGiven)
	if err != nil {
		return fail(err)
	}
	set(addressOut, address)
	set(offsetBytesOut, offsetBytes)
	return 0
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

//export fmgo_elastic_pool_get_model_info
func fmgo_elastic_pool_get_model_info(pool C.uint64_t, model *C.char, infoOut *C.ferrum_model_info) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	info, err := lib.ElasticPoolGetModelInfo(ref)
	if err != nil {
		return fail(err)
	}
	putModelInfo(infoOut, &info)
	return 0
}

//export fmgo_elastic_pool_set_model_limits
func fmgo_elastic_pool_set_model_limits(pool C.uint64_t, model *C.char, limits *C.ferrum_model_limits) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	limitsGiven, err := modelLimitsOf("limits", limits)
	if err != nil {
		return fail(err)
	}
	return done(lib.ElasticPoolSetModelLimits(ref, limitsGiven))
}

//export fmgo_elastic_pool_get_info
func fmgo_elastic_pool_get_info(pool C.uint64_t, infoOut *C.ferrum_elastic_pool_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.ElasticPoolGetInfo(uint64(pool))
	if err != nil {
		return fail(err)
	}
	putElasticPoolInfo(infoOut, &info)
	return 0
}

//export fmgo_elastic_pool_get_statistics
func fmgo_elastic_pool_get_statistics(pool C.uint64_t, statisticsOut *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	statistics, err := lib.ElasticPoolGetStatistics(uint64(pool))
	if err != nil {
		return fail(err)
	}
	putStatistics(statisticsOut, &statistics)
	return 0
}

//export fmgo_elastic_pool_models_json
func fmgo_elastic_pool_models_json(pool C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.ElasticPoolModelsJSON(uint64(pool))
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_elastic_pool_set_limit
func fmgo_elastic_pool_set_limit(pool C.uint64_t, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.ElasticPoolSetLimit(uint64(pool), uint64(limitBytes)))
}

//export fmgo_elastic_pool_compact
func fmgo_elastic_pool_compact(pool C.uint64_t, reportOut *C.ferrum_compact_report) (status C.int32_t) {
	defer guard(&status)
	report, err := lib.ElasticPoolCompact(uint64(pool))
	if err != nil {
		return fail(err)
	}
	putCompactReport(reportOut, &report)
	return 0
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

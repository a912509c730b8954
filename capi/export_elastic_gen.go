// Code generated from include/ferrum_mem/elastic.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/library"

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
	object, err := lib.ElasticPool("elastic_pool.destroy", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(force))
}

//export fmgo_elastic_pool_register_model
func fmgo_elastic_pool_register_model(pool C.uint64_t, model *C.char, config *C.ferrum_model_config) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	configGiven, err := modelConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.register_model", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.RegisterModel(modelText, configGiven), object))
}

//export fmgo_elastic_pool_unregister_model
func fmgo_elastic_pool_unregister_model(pool C.uint64_t, model *C.char, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.unregister_model", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.UnregisterModel(modelText, force), object))
}

//export fmgo_elastic_pool_alloc
func fmgo_elastic_pool_alloc(pool C.uint64_t, model *C.char, sizeBytes C.uint64_t, addressOut *C.uint64_t, offsetBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.alloc", uint64(pool))
	if err != nil {
		return fail(err)
	}
	address, offsetBytes, err := object.Alloc(modelText, uint64(sizeBytes))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	set(addressOut, address)
	set(offsetBytesOut, offsetBytes)
	return 0
}

//export fmgo_elastic_pool_alloc_with
func fmgo_elastic_pool_alloc_with(pool C.uint64_t, model *C.char, request *C.ferrum_model_request, addressOut *C.uint64_t, offsetBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	requestGiven, err := modelRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.alloc_with", uint64(pool))
	if err != nil {
		return fail(err)
	}
	address, offsetBytes, err := object.AllocWith(modelText, requestGiven)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	set(addressOut, address)
	set(offsetBytesOut, offsetBytes)
	return 0
}

//export fmgo_elastic_pool_alloc_batch
func fmgo_elastic_pool_alloc_batch(pool C.uint64_t, model *C.char, ranges *C.ferrum_byte_range, count C.uint64_t, options *C.ferrum_batch_options) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	rangesGiven, err := recordsOf("ranges", ranges, count, byteRangeOf)
	if err != nil {
		return fail(err)
	}
	optionsGiven, err := batchOptionsOf("options", options)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.alloc_batch", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.AllocBatch(modelText, rangesGiven, optionsGiven), object))
}

//export fmgo_elastic_pool_alloc_batch_anywhere
func fmgo_elastic_pool_alloc_batch_anywhere(pool C.uint64_t, model *C.char, sizes *C.uint64_t, count C.uint64_t, options *C.ferrum_batch_options, offsetsOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	sizesGiven, err := arrayOf[uint64]("sizes", sizes, count)
	if err != nil {
		return fail(err)
	}
	optionsGiven, err := batchOptionsOf("options", options)
	if err != nil {
		return fail(err)
	}
	offsetsGiven, err := arrayOf[uint64]("offsets", offsetsOut, count)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.alloc_batch_anywhere", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.AllocBatchAnywhere(modelText, sizesGiven, optionsGiven, offsetsGiven), object))
}

//export fmgo_elastic_pool_free
func fmgo_elastic_pool_free(pool C.uint64_t, model *C.char, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.free", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Free(modelText, rangeOf(offsetBytes, sizeBytes), uint64(stream)), object))
}

//export fmgo_elastic_pool_free_batch
func fmgo_elastic_pool_free_batch(pool C.uint64_t, model *C.char, ranges *C.ferrum_byte_range, count C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	rangesGiven, err := recordsOf("ranges", ranges, count, byteRangeOf)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.free_batch", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.FreeBatch(modelText, rangesGiven, uint64(stream)), object))
}

//export fmgo_elastic_pool_record_stream
func fmgo_elastic_pool_record_stream(pool C.uint64_t, model *C.char, offsetBytes C.uint64_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.record_stream", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.RecordStream(modelText, rangeOf(offsetBytes, sizeBytes), uint64(stream)), object))
}

//export fmgo_elastic_pool_record_stream_batch
func fmgo_elastic_pool_record_stream_batch(pool C.uint64_t, model *C.char, ranges *C.ferrum_byte_range, count C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	rangesGiven, err := recordsOf("ranges", ranges, count, byteRangeOf)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.record_stream_batch", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.RecordStreamBatch(modelText, rangesGiven, uint64(stream)), object))
}

//export fmgo_elastic_pool_is_mapped
func fmgo_elastic_pool_is_mapped(pool C.uint64_t, model *C.char, offsetBytes C.uint64_t, sizeBytes C.uint64_t, mappedOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.is_mapped", uint64(pool))
	if err != nil {
		return fail(err)
	}
	mapped, err := object.IsMapped(modelText, rangeOf(offsetBytes, sizeBytes))
	return giveTruth(mappedOut, mapped, library.CallError(err, object))
}

//export fmgo_elastic_pool_get_model_info
func fmgo_elastic_pool_get_model_info(pool C.uint64_t, model *C.char, infoOut *C.ferrum_model_info) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.model_info", uint64(pool))
	if err != nil {
		return fail(err)
	}
	info, err := object.ModelInfo(modelText)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putModelInfo(infoOut, &info)
	return 0
}

//export fmgo_elastic_pool_set_model_limits
func fmgo_elastic_pool_set_model_limits(pool C.uint64_t, model *C.char, limits *C.ferrum_model_limits) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	limitsGiven, err := modelLimitsOf("limits", limits)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.set_model_limits", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.SetModelLimits(modelText, limitsGiven), object))
}

//export fmgo_elastic_pool_get_info
func fmgo_elastic_pool_get_info(pool C.uint64_t, infoOut *C.ferrum_elastic_pool_info) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.info", uint64(pool))
	if err != nil {
		return fail(err)
	}
	info := object.Info()
	putElasticPoolInfo(infoOut, &info)
	return 0
}

//export fmgo_elastic_pool_get_statistics
func fmgo_elastic_pool_get_statistics(pool C.uint64_t, statisticsOut *C.ferrum_statistics) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.statistics", uint64(pool))
	if err != nil {
		return fail(err)
	}
	statistics := object.Statistics()
	putStatistics(statisticsOut, &statistics)
	return 0
}

//export fmgo_elastic_pool_models_json
func fmgo_elastic_pool_models_json(pool C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.models_json", uint64(pool))
	if err != nil {
		return fail(err)
	}
	text, err := object.ModelsJSON()
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_elastic_pool_set_limit
func fmgo_elastic_pool_set_limit(pool C.uint64_t, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.set_limit", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.SetLimit(uint64(limitBytes)), object))
}

//export fmgo_elastic_pool_compact
func fmgo_elastic_pool_compact(pool C.uint64_t, reportOut *C.ferrum_compact_report) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.compact", uint64(pool))
	if err != nil {
		return fail(err)
	}
	report, err := object.Compact()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putCompactReport(reportOut, &report)
	return 0
}

//export fmgo_elastic_pool_trim
func fmgo_elastic_pool_trim(pool C.uint64_t, keepBytes C.uint64_t, releasedBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.trim", uint64(pool))
	if err != nil {
		return fail(err)
	}
	releasedBytes, err := object.Trim(uint64(keepBytes))
	return give(releasedBytesOut, releasedBytes, library.CallError(err, object))
}

//export fmgo_elastic_pool_synchronize
func fmgo_elastic_pool_synchronize(pool C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.synchronize", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Synchronize(timeoutOf(timeoutNs)), object))
}

//export fmgo_elastic_pool_pause
func fmgo_elastic_pool_pause(pool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.pause", uint64(pool))
	if err != nil {
		return fail(err)
	}
	object.Pause()
	return 0
}

//export fmgo_elastic_pool_resume
func fmgo_elastic_pool_resume(pool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.ElasticPool("elastic_pool.resume", uint64(pool))
	if err != nil {
		return fail(err)
	}
	object.Resume()
	return 0
}

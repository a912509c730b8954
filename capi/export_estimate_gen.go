// Code generated from include/ferrum_mem/estimate.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/estimate"

//export fmgo_estimate_model_memory
func fmgo_estimate_model_memory(shape *C.ferrum_model_shape, bytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	shapeGiven, err := modelShapeOf("shape", shape)
	if err != nil {
		return fail(err)
	}
	bytes, err := estimate.InferenceShape.ModelMemory(shapeGiven)
	return give(bytesOut, bytes, err)
}

//export fmgo_estimate_kv_cache_memory
func fmgo_estimate_kv_cache_memory(shape *C.ferrum_kv_cache_shape, bytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	shapeGiven, err := kvCacheShapeOf("shape", shape)
	if err != nil {
		return fail(err)
	}
	bytes, err := estimate.EstimateKVCacheMemory(shapeGiven)
	return give(bytesOut, bytes, err)
}

//export fmgo_estimate_inference_memory
func fmgo_estimate_inference_memory(shape *C.ferrum_model_shape, estimateOut *C.ferrum_inference_estimate) (status C.int32_t) {
	defer guard(&status)
	shapeGiven, err := modelShapeOf("shape", shape)
	if err != nil {
		return fail(err)
	}
	estimateFound, err := estimate.EstimateInferenceMemory(shapeGiven)
	if err != nil {
		return fail(err)
	}
	putInferenceEstimate(estimateOut, &estimateFound)
	return 0
}

//export fmgo_estimate_file_json
func fmgo_estimate_file_json(path *C.char, request *C.ferrum_estimate_request, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	pathText, err := pathOf("path", path)
	if err != nil {
		return fail(err)
	}
	requestGiven, err := estimateRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	text, err := estimate.FileJSON(pathText, requestGiven)
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_estimate_config_json
func fmgo_estimate_config_json(configText *C.char, configBytes C.size_t, request *C.ferrum_estimate_request, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	configTextGiven, err := bytesOf("config_bytes", configText, configBytes)
	if err != nil {
		return fail(err)
	}
	requestGiven, err := estimateRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	text, err := estimate.ConfigJSON(configTextGiven, requestGiven)
	return giveText(buffer, capacity, lengthOut, text, err)
}

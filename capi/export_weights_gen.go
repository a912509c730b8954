// Code generated from include/ferrum_mem/weights.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/library"

//export fmgo_weights_open
func fmgo_weights_open(source *C.ferrum_weights_source, weightsOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	sourceGiven, err := weightsSourceOf("source", source)
	if err != nil {
		return fail(err)
	}
	weightsFound, err := loader.Open(sourceGiven)
	return give(weightsOut, weightsFound, err)
}

//export fmgo_weights_check
func fmgo_weights_check(source *C.ferrum_weights_source) (status C.int32_t) {
	defer guard(&status)
	sourceGiven, err := weightsSourceOf("source", source)
	if err != nil {
		return fail(err)
	}
	return done(loader.Check(sourceGiven))
}

//export fmgo_weights_close
func fmgo_weights_close(weights C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := loader.Weights("weights.close", uint64(weights))
	if err != nil {
		return fail(err)
	}
	return done(object.Close(force))
}

//export fmgo_weights_metadata_json
func fmgo_weights_metadata_json(weights C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.Weights("weights.metadata_json", uint64(weights))
	if err != nil {
		return fail(err)
	}
	text, err := object.MetadataJSON()
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_weights_capabilities_json
func fmgo_weights_capabilities_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := loader.CapabilitiesJSON()
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_weights_find
func fmgo_weights_find(weights C.uint64_t, name *C.char, infoOut *C.ferrum_tensor_info) (status C.int32_t) {
	defer guard(&status)
	nameText, err := longTextOf("name", name)
	if err != nil {
		return fail(err)
	}
	object, err := loader.Weights("weights.find", uint64(weights))
	if err != nil {
		return fail(err)
	}
	info, err := object.Find(nameText)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putTensorInfo(infoOut, &info)
	return 0
}

//export fmgo_tensor_set_wait
func fmgo_tensor_set_wait(set C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.TensorSet("tensor_set.wait", uint64(set))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Wait(timeoutOf(timeoutNs)), object))
}

//export fmgo_tensor_set_cancel
func fmgo_tensor_set_cancel(set C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.TensorSet("tensor_set.cancel", uint64(set))
	if err != nil {
		return fail(err)
	}
	object.Cancel()
	return 0
}

//export fmgo_tensor_set_get_progress
func fmgo_tensor_set_get_progress(set C.uint64_t, progressOut *C.ferrum_weights_progress) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.TensorSet("tensor_set.progress", uint64(set))
	if err != nil {
		return fail(err)
	}
	progress := object.Progress()
	putWeightsProgress(progressOut, &progress)
	return 0
}

//export fmgo_tensor_set_get_count
func fmgo_tensor_set_get_count(set C.uint64_t, countOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.TensorSet("tensor_set.count", uint64(set))
	if err != nil {
		return fail(err)
	}
	count, err := object.Count()
	return give(countOut, count, library.CallError(err, object))
}

//export fmgo_tensor_set_get_tensor
func fmgo_tensor_set_get_tensor(set C.uint64_t, index C.uint64_t, infoOut *C.ferrum_tensor_info) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.TensorSet("tensor_set.tensor", uint64(set))
	if err != nil {
		return fail(err)
	}
	info, err := object.Tensor(uint64(index))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putTensorInfo(infoOut, &info)
	return 0
}

//export fmgo_tensor_set_get_tensor_name
func fmgo_tensor_set_get_tensor_name(set C.uint64_t, index C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.TensorSet("tensor_set.tensor_name", uint64(set))
	if err != nil {
		return fail(err)
	}
	text, err := object.TensorName(uint64(index))
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_tensor_set_find
func fmgo_tensor_set_find(set C.uint64_t, name *C.char, infoOut *C.ferrum_tensor_info) (status C.int32_t) {
	defer guard(&status)
	nameText, err := longTextOf("name", name)
	if err != nil {
		return fail(err)
	}
	object, err := loader.TensorSet("tensor_set.find", uint64(set))
	if err != nil {
		return fail(err)
	}
	info, err := object.Find(nameText)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putTensorInfo(infoOut, &info)
	return 0
}

//export fmgo_tensor_set_tensors_json
func fmgo_tensor_set_tensors_json(set C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.TensorSet("tensor_set.tensors_json", uint64(set))
	if err != nil {
		return fail(err)
	}
	text, err := object.TensorsJSON()
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_tensor_set_check
func fmgo_tensor_set_check(set C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := loader.TensorSet("tensor_set.check", uint64(set))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Check(), object))
}

//export fmgo_tensor_set_free
func fmgo_tensor_set_free(set C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := loader.TensorSet("tensor_set.free", uint64(set))
	if err != nil {
		return fail(err)
	}
	return done(object.Free(force))
}

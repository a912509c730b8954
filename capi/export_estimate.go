package main

/*
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/estimate"
)

//export fmgo_estimate_model_memory
func fmgo_estimate_model_memory(shape *C.ferrum_model_shape, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	s, err := shapeOf(shape)
	if err != nil {
		return fail(err)
	}
	bytes, err := estimate.EstimateModelMemory(s.ModelShape)
	return give(out, bytes, err)
}

//export fmgo_estimate_kv_cache_memory
func fmgo_estimate_kv_cache_memory(shape *C.ferrum_kv_cache_shape, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	if err := unreserved("shape", shape.reserved); err != nil {
		return fail(err)
	}
	bytes, err := estimate.EstimateKVCacheMemory(estimate.KVCacheShape{
		Layers: uint64(shape.num_layers), KVHeads: uint64(shape.num_kv_heads), HeadDim: uint64(shape.head_dim),
		MaxSeqLen: uint64(shape.max_seq_len), DTypeBytes: uint64(shape.dtype_bytes),
	})
	return give(out, bytes, err)
}

//export fmgo_estimate_inference_memory
func fmgo_estimate_inference_memory(shape *C.ferrum_model_shape, out *C.ferrum_inference_estimate) (status C.int32_t) {
	defer guard(&status)
	s, err := shapeOf(shape)
	if err != nil {
		return fail(err)
	}
	e, err := estimate.EstimateInferenceMemory(s)
	if err != nil {
		return fail(err)
	}
	out.model_bytes = C.uint64_t(e.ModelBytes)
	out.kv_cache_bytes = C.uint64_t(e.KVCacheBytes)
	out.activation_bytes = C.uint64_t(e.ActivationBytes)
	out.total_bytes = C.uint64_t(e.TotalBytes)
	return 0
}

//export fmgo_estimate_file_json
func fmgo_estimate_file_json(path *C.char, request *C.ferrum_estimate_request, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	name, err := pathOf("path", path)
	if err != nil {
		return fail(err)
	}
	r, err := requestOf(request)
	if err != nil {
		return fail(err)
	}
	x, err := estimate.Open(name)
	if err != nil {
		return fail(err)
	}
	text, err := x.JSON(r)
	return giveText(buffer, capacity, length, text, err)
}

//export fmgo_estimate_config_json
func fmgo_estimate_config_json(config *C.char, size C.size_t, request *C.ferrum_estimate_request, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	if uint64(size) > estimate.MaxConfigBytes {
		return fail(device.Errorf(device.CodeInvalidSize, "capi.estimate",
			"config_bytes %d is more than %d", uint64(size), estimate.MaxConfigBytes))
	}
	r, err := requestOf(request)
	if err != nil {
		return fail(err)
	}
	x, err := estimate.OpenConfig(estimate.ConfigName, unsafe.Slice((*byte)(unsafe.Pointer(config)), int(size)))
	if err != nil {
		return fail(err)
	}
	text, err := x.JSON(r)
	return giveText(buffer, capacity, length, text, err)
}

func shapeOf(shape *C.ferrum_model_shape) (estimate.InferenceShape, error) {
	return estimate.InferenceShape{
		ModelShape: estimate.ModelShape{
			HiddenSize: uint64(shape.hidden_size), IntermediateSize: uint64(shape.intermediate_size),
			Layers: uint64(shape.num_layers), VocabSize: uint64(shape.vocab_size),
			Heads: uint64(shape.num_heads), KVHeads: uint64(shape.num_kv_heads), DTypeBytes: uint64(shape.dtype_bytes),
		},
		MaxSeqLen: uint64(shape.max_seq_len),
	}, unreserved("shape", shape.reserved)
}

func unreserved(argument string, reserved C.uint32_t) error {
	if reserved == 0 {
		return nil
	}
	return device.Errorf(device.CodeInvalidStruct, "capi.estimate", "%s->reserved is %d: want 0", argument, uint32(reserved))
}

func requestOf(c *C.ferrum_estimate_request) (r estimate.Request, err error) {
	const known = C.FERRUM_ESTIMATE_EAGER_ATTENTION | C.FERRUM_ESTIMATE_ALL_LOGITS
	if c.flags&^known != 0 {
		return r, device.Errorf(device.CodeInvalidArgument, "capi.estimate",
			"request->flags is %#x: only FERRUM_ESTIMATE_ bits (%#x) are known", uint32(c.flags), uint32(known))
	}
	if r.KVDTypeName, err = textOf("request->kv_dtype", c.kv_dtype); err != nil {
		return r, err
	}
	if r.WeightDTypeName, err = textOf("request->weight_dtype", c.weight_dtype); err != nil {
		return r, err
	}
	r.FreeBytes = uint64(c.free_bytes)
	r.Serving = estimate.Serving{
		Context: uint64(c.context), Batch: uint64(c.batch), TensorParallel: uint64(c.tensor_parallel),
		PrefillTokens: uint64(c.prefill_tokens), OverheadPermille: uint64(c.overhead_permille),
		EagerAttention: c.flags&C.FERRUM_ESTIMATE_EAGER_ATTENTION != 0, AllLogits: c.flags&C.FERRUM_ESTIMATE_ALL_LOGITS != 0,
	}
	if r.TensorParallel == 0 {
		return r, device.Errorf(device.CodeInvalidArgument, "capi.estimate", "request->tensor_parallel is 0: at least 1 device is needed")
	}
	return r, nil
}

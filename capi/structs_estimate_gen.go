// Code generated from include/ferrum_mem/estimate.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/estimate"

// modelShapeOf reads a ferrum_model_shape.
func modelShapeOf(argument string, from *C.ferrum_model_shape) (to estimate.InferenceShape, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	read(&to.HiddenSize, from.hidden_size)
	read(&to.IntermediateSize, from.intermediate_size)
	read(&to.Layers, from.num_layers)
	read(&to.VocabSize, from.vocab_size)
	read(&to.Heads, from.num_heads)
	read(&to.KVHeads, from.num_kv_heads)
	read(&to.MaxSeqLen, from.max_seq_len)
	read(&to.DTypeBytes, from.dtype_bytes)
	return to, f.err
}

// kvCacheShapeOf reads a ferrum_kv_cache_shape.
func kvCacheShapeOf(argument string, from *C.ferrum_kv_cache_shape) (to estimate.KVCacheShape, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	read(&to.Layers, from.num_layers)
	read(&to.KVHeads, from.num_kv_heads)
	read(&to.HeadDim, from.head_dim)
	read(&to.MaxSeqLen, from.max_seq_len)
	read(&to.DTypeBytes, from.dtype_bytes)
	return to, f.err
}

// putInferenceEstimate fills a ferrum_inference_estimate.
func putInferenceEstimate(to *C.ferrum_inference_estimate, from *estimate.InferenceMemoryEstimate) {
	set(&to.model_bytes, from.ModelBytes)
	set(&to.kv_cache_bytes, from.KVCacheBytes)
	set(&to.activation_bytes, from.ActivationBytes)
	set(&to.total_bytes, from.TotalBytes)
}

// estimateRequestOf reads a ferrum_estimate_request.
func estimateRequestOf(argument string, from *C.ferrum_estimate_request) (to estimate.Request, err error) {
	f := fields{argument: argument}
	f.known(from.flags, C.FERRUM_ESTIMATE_EAGER_ATTENTION|C.FERRUM_ESTIMATE_ALL_LOGITS, "only FERRUM_ESTIMATE_EAGER_ATTENTION (0x1) and FERRUM_ESTIMATE_ALL_LOGITS (0x2) are")
	to.EagerAttention = from.flags&C.FERRUM_ESTIMATE_EAGER_ATTENTION != 0
	to.AllLogits = from.flags&C.FERRUM_ESTIMATE_ALL_LOGITS != 0
	read(&to.Context, from.context)
	read(&to.Batch, from.batch)
	read(&to.TensorParallel, from.tensor_parallel)
	read(&to.PrefillTokens, from.prefill_tokens)
	read(&to.OverheadPermille, from.overhead_permille)
	read(&to.FreeBytes, from.free_bytes)
	f.text(&to.KVDTypeName, from.kv_dtype, "kv_dtype")
	f.text(&to.WeightDTypeName, from.weight_dtype, "weight_dtype")
	read(&to.BlockTokens, from.block_tokens)
	return to, f.err
}

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// computeConfigOf reads a ferrum_compute_config.
func computeConfigOf(argument string, from *C.ferrum_compute_config) (to library.ComputeConfig, err error) {
	f := fields{argument: argument}
	read(&to.Type, from._type)
	f.text(&to.Name, from.name, "name")
	read(&to.DeviceHandle, from.device.id)
	read(&to.OptimizationLevel, from.optimization_level)
	read(&to.Threads, from.threads)
	f.truth(&to.EnableDebug, from.enable_debug, "enable_debug")
	read(&to.Memory.Growth, from.growth)
	read(&to.Memory.PoolSizeBytes, from.pool_size_bytes)
	read(&to.Memory.AlignmentBytes, from.alignment_bytes)
	f.truth(&to.Memory.EnablePooling, from.enable_pooling, "enable_pooling")
	f.reserved(uint64(from.reserved), "reserved")
	var options []byte
	f.json(&options, from.options_json, from.options_bytes, "options_json", "options_bytes")
	if f.err == nil {
		to.Options, f.err = backend.ParseOptions(options)
	}
	return to, f.err
}

// tensorsOf returns the caller's list of tensors without a copy.
func tensorsOf(name string, list *C.ferrum_tensor, count C.uint64_t) ([]uint64, error) {
	if count > C.FERRUM_OP_TENSORS_MAX {
		return nil, device.Errorf(device.CodeInvalidArgument, "capi.tensors", "%s has %d tensors: want at most %d", name, uint64(count), C.FERRUM_OP_TENSORS_MAX)
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(list)), int(count)), nil
}

// bothOf returns both lists of a call.
func bothOf(inputs *C.ferrum_tensor, inputCount C.uint64_t, outputs *C.ferrum_tensor, outputCount C.uint64_t) (from, to []uint64, err error) {
	if from, err = tensorsOf("inputs", inputs, inputCount); err == nil {
		to, err = tensorsOf("outputs", outputs, outputCount)
	}
	return from, to, err
}

//export fmgo_op_run
func fmgo_op_run(op C.uint64_t, inputs *C.ferrum_tensor, inputCount C.uint64_t, outputs *C.ferrum_tensor, outputCount C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	object, err := computes.Op("op.run", uint64(op))
	if err != nil {
		return fail(err)
	}
	from, to, err := bothOf(inputs, inputCount, outputs, outputCount)
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Run(from, to, uint64(stream)), object))
}

//export fmgo_sequence_add
func fmgo_sequence_add(sequence, op C.uint64_t, inputs *C.ferrum_tensor, inputCount C.uint64_t, outputs *C.ferrum_tensor, outputCount C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Sequence("sequence.add", uint64(sequence))
	if err != nil {
		return fail(err)
	}
	from, to, err := bothOf(inputs, inputCount, outputs, outputCount)
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Add(uint64(op), from, to), object))
}

//export fmgo_op_find
func fmgo_op_find(op C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Op("op.infer", uint64(op))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(nil, object))
}

// The descriptions have been read into full structs.
//
//export fmgo_op_infer
func fmgo_op_infer(op C.uint64_t, inputs *C.ferrum_tensor_desc, inputCount C.uint64_t, outputs *C.ferrum_tensor_desc, outputCount C.uint64_t, workspace *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Op("op.infer", uint64(op))
	if err != nil {
		return fail(err)
	}
	from, err := recordsOf("inputs", inputs, inputCount, tensorDescOf)
	if err != nil {
		return fail(err)
	}
	to, err := recordsOf("outputs", outputs, outputCount, tensorDescOf)
	if err != nil {
		return fail(err)
	}
	bytes, err := object.Infer(from, to)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(outputs, to, putTensorDesc)
	*workspace = C.uint64_t(bytes)
	return 0
}

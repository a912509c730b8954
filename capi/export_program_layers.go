package main

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// layerOf reads a ferrum_layer.
func layerOf(argument string, from *C.ferrum_layer) (to library.ProgramLayer, err error) {
	f := fields{argument: argument}
	f.known(from.flags, C.FERRUM_LAYER_IN_PLACE|C.FERRUM_LAYER_STRIDES|C.FERRUM_LAYER_ONE_AT_A_TIME,
		"only FERRUM_LAYER_IN_PLACE (0x1), FERRUM_LAYER_STRIDES (0x2) and FERRUM_LAYER_ONE_AT_A_TIME (0x4) are")
	to.InPlace = from.flags&C.FERRUM_LAYER_IN_PLACE != 0
	to.Strides = from.flags&C.FERRUM_LAYER_STRIDES != 0
	to.OneAtATime = from.flags&C.FERRUM_LAYER_ONE_AT_A_TIME != 0
	f.text(&to.Type, from._type, "type")
	f.text(&to.Name, from.name, "name")
	f.json(&to.Config, from.config_json, from.config_bytes, "config_json", "config_bytes")
	to.OutputCount = uint32(from.output_count)
	switch to.HasInputShape = from.input_rank != C.FERRUM_LAYER_ANY_RANK; {
	case !to.HasInputShape:
	case from.input_rank > C.FERRUM_TENSOR_RANK_MAX:
		f.wrong(device.CodeInvalidArgument, "input_rank is %d: want at most %d, or FERRUM_LAYER_ANY_RANK", uint32(from.input_rank), C.FERRUM_TENSOR_RANK_MAX)
	default:
		to.InputShape = make([]int64, from.input_rank)
		copyNumbers(to.InputShape, from.input_shape[:from.input_rank])
	}
	layerFunctions(&to, from, dataOf(&from.user_data))
	return to, f.err
}

// layerFunctions reads the functions of a ferrum_layer.
func layerFunctions(to *library.ProgramLayer, from *C.ferrum_layer, data C.uintptr_t) {
	if infer := from.infer; infer != nil {
		to.Infer = func(call *library.ComputeCall, outputs []library.TensorDesc) error {
			return callLayerInfer(infer, call, outputs, data)
		}
	}
	if parameters := from.parameters; parameters != nil {
		to.Parameters = func(call *library.ComputeCall) ([]byte, error) { return callLayerParameters(parameters, call, data) }
	}
	if initialize := from.initialize; initialize != nil {
		to.Initialize = func(call *library.ComputeCall, parameter string) error {
			c := computeCallOf(call)
			return c.result(C.fm_call_layer_initialize(initialize, &c.call, c.lists, terminated(parameter), data))
		}
	}
	if plan := from.plan; plan != nil {
		to.Plan = func(call *library.ComputeCall) (library.ComputePlan, error) { return callComputePlan(plan, call, data) }
	}
	if forward := from.forward; forward != nil {
		to.Forward = func(call *library.ComputeCall) library.LayerRun { return layerRunOf(forward, call, data) }
	}
	to.Release = releaseOf(from.release, data)
}

// layerRunOf converts the texts and lists of a call once for all its runs.
func layerRunOf(forward C.ferrum_compute_run_fn, call *library.ComputeCall, data C.uintptr_t) library.LayerRun {
	c := computeCallOf(call)
	return func(inputs, outputs []device.Addr, workspace device.Addr) error {
		outcome := C.fm_call_layer_forward(forward, &c.call, c.lists, addresses(inputs), addresses(outputs), C.uint64_t(workspace), data)
		if outcome.status == 0 {
			return nil
		}
		message := ""
		if outcome.message != nil {
			message = C.GoString(outcome.message)
			C.free(unsafe.Pointer(outcome.message))
		}
		return programError(outcome.status, validText(message))
	}
}

func addresses(list []device.Addr) *C.uint64_t {
	return (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(list)))
}

// callLayerInfer makes a layer change the descriptions of its outputs.
func callLayerInfer(infer C.ferrum_layer_infer_fn, call *library.ComputeCall, outputs []library.TensorDesc, data C.uintptr_t) error {
	c := computeCallOf(call)
	c.call.output_count = C.uint64_t(len(outputs))
	list := tensorDescsOf(outputs)
	if err := c.result(C.fm_call_layer_infer(infer, &c.call, c.lists, list, data)); err != nil {
		return err
	}
	for i, made := range unsafe.Slice(list, len(outputs)) {
		if outputs[i].Absent {
			continue
		}
		outputs[i] = library.TensorDesc{Rank: uint32(made.rank), Absent: made.flags&C.FERRUM_ELEMENTS_ABSENT != 0}
		read(&outputs[i].DType, made.dtype)
		copyNumbers(outputs[i].Shape[:], made.shape[:])
	}
	return nil
}

// callLayerParameters makes a layer state its parameters.
func callLayerParameters(parameters C.ferrum_layer_parameters_fn, call *library.ComputeCall, data C.uintptr_t) ([]byte, error) {
	list := newStatedText()
	defer list.end()
	c := computeCallOf(call)
	if err := c.result(C.fm_call_layer_parameters(parameters, &c.call, c.lists, C.uint64_t(list.number), data)); err != nil {
		return nil, err
	}
	return list.get(), nil
}

package main

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/model"
)

// buildProgressOf converts a progress callback of the caller; NULL: there is none.
func buildProgressOf(progress C.ferrum_build_progress_fn, data C.uintptr_t, tokens []uint64) func(model.Progress) bool {
	if progress == nil {
		return nil
	}
	return func(p model.Progress) bool {
		operation := C.CString(p.CurrentOperation)
		defer C.free(unsafe.Pointer(operation))
		now := C.ferrum_build_progress{
			phase: C.ferrum_build_phase(p.Phase), progress: C.double(p.Progress), elapsed_seconds: C.double(p.ElapsedSeconds),
			remaining_seconds: -1, done_bytes: C.uint64_t(p.PhaseDetails["done_bytes"]), total_bytes: C.uint64_t(p.PhaseDetails["total_bytes"]),
		}
		if p.RemainingSeconds != nil {
			now.remaining_seconds = C.double(*p.RemainingSeconds)
		}
		return C.fm_call_build_progress(progress, &now, operation, data, tokensOf(tokens), C.size_t(len(tokens))) == 0
	}
}

//export fmgo_executor_build
func fmgo_executor_build(request *C.ferrum_build_request, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	f, tokens := fields{argument: "request"}, newWork()
	r := library.BuildRequest{
		Weights: uint64(request.weights.id), Compute: uint64(request.compute.id), ElasticPool: uint64(request.elastic_pool.id),
		Token: tokens[0],
	}
	f.reserved(uint64(request.reserved), "reserved")
	f.text(&r.Model, request.model, "model")
	f.path(&r.Path, request.path, "path")
	f.json(&r.Definition, request.definition_json, request.definition_bytes, "definition_json", "definition_bytes")
	f.json(&r.Options, request.options_json, request.options_bytes, "options_json", "options_bytes")
	read(&r.Limits.GuaranteedBytes, request.guaranteed_bytes)
	read(&r.Limits.MaxBytes, request.max_bytes)
	read(&r.Limits.Priority, request.priority)
	f.truth(&r.Limits.GuaranteeMayWait, request.guarantee_may_wait, "guarantee_may_wait")
	if f.err != nil {
		return fail(f.err)
	}
	if request.path != nil && r.Path == "" {
		return fail(device.Errorf(device.CodeInvalidArgument, "capi.request", "request->path is empty"))
	}
	r.Progress = buildProgressOf(request.progress, dataOf(&request.user_data), tokens)
	executor, err := executors.Build(r)
	return give(out, executor, err)
}

// namedOf reads a list of tensors with names.
func namedOf(argument string, list *C.ferrum_named_tensor, count C.uint64_t) ([]library.NamedTensor, error) {
	if count > C.FERRUM_EXECUTOR_TENSORS_MAX {
		return nil, device.Errorf(device.CodeInvalidArgument, "capi."+argument, "%s has %d tensors: want at most %d", argument, uint64(count), C.FERRUM_EXECUTOR_TENSORS_MAX)
	}
	given := unsafe.Slice(list, int(count))
	named := make([]library.NamedTensor, len(given))
	for at := range given {
		name, err := longTextOf(fmt.Sprintf("%s[%d].name", argument, at), given[at].name)
		if err != nil {
			return nil, err
		}
		named[at] = library.NamedTensor{Name: name, ID: uint64(given[at].tensor.id)}
	}
	return named, nil
}

//export fmgo_executor_run
func fmgo_executor_run(executor C.uint64_t, inputs *C.ferrum_named_tensor, inputCount C.uint64_t, outputs *C.ferrum_named_tensor, outputCount C.uint64_t, stream, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := executors.Executor("executor.run", uint64(executor))
	if err != nil {
		return fail(err)
	}
	from, err := namedOf("inputs", inputs, inputCount)
	if err != nil {
		return fail(err)
	}
	to, err := namedOf("outputs", outputs, outputCount)
	if err != nil {
		return fail(err)
	}
	if err := object.Run(from, to, uint64(stream), timeoutOf(timeoutNs)); err != nil {
		return fail(library.CallError(err, object))
	}
	made := unsafe.Slice(outputs, int(outputCount))
	for at := range made {
		made[at].tensor.id = C.uint64_t(to[at].ID)
	}
	return 0
}

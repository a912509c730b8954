package main

/*
#include "bridge.h"
*/
import "C"

import (
	"bytes"
	"strings"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// computeBackendOf reads a ferrum_compute_backend.
func computeBackendOf(argument string, from *C.ferrum_compute_backend) (to library.ProgramBackend, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	f.text(&to.Name, from.name, "name")
	f.text(&to.Version, from.version, "version")
	f.json(&to.Capabilities, from.capabilities_json, from.capabilities_bytes, "capabilities_json", "capabilities_bytes")
	data := dataOf(&from.user_data)
	if plan := from.plan; plan != nil {
		to.Plan = func(call *library.ComputeCall) (library.ComputePlan, error) { return callComputePlan(plan, call, data) }
	}
	if run := from.run; run != nil {
		to.Run = func(call *library.ComputeCall) error {
			c := computeCallOf(call)
			return c.result(C.fm_call_compute_run(run, &c.call, c.lists, data))
		}
	}
	if synchronize := from.synchronize; synchronize != nil {
		to.Synchronize = func(dev uint64) error {
			return programError(C.fm_call_compute_synchronize(synchronize, C.uint64_t(dev), data), "")
		}
	}
	to.Release = releaseOf(from.release, data)
	return to, f.err
}

// computeCall is a call in the form that a backend of the program gets.
type computeCall struct {
	call  C.ferrum_compute_call
	lists C.struct_fm_compute_lists
}

func computeCallOf(from *library.ComputeCall) *computeCall {
	c := &computeCall{}
	c.call.opset = C.uint32_t(from.Opset)
	c.call.attributes_bytes = C.uint64_t(len(from.Attributes))
	c.call.device.id = C.uint64_t(from.Device)
	c.call.input_count, c.call.output_count = C.uint64_t(len(from.Inputs)), C.uint64_t(len(from.Outputs))
	c.call.workspace, c.call.workspace_bytes = C.ferrum_address(from.Workspace), C.uint64_t(from.WorkspaceBytes)
	c.lists.name, c.lists.domain = terminated(from.Name), terminated(from.Domain)
	c.lists.attributes = terminated(string(from.Attributes))
	c.lists.inputs, c.lists.outputs = tensorDescsOf(from.Inputs), tensorDescsOf(from.Outputs)
	message := make([]byte, C.FERRUM_COMPUTE_MESSAGE_MAX)
	c.lists.message = (*C.char)(unsafe.Pointer(unsafe.SliceData(message)))
	return c
}

// terminated returns a text with a NUL in memory of Go.
func terminated(text string) *C.char {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(append([]byte(text), 0))))
}

func tensorDescsOf(from []library.TensorDesc) *C.ferrum_tensor_desc {
	to := make([]C.ferrum_tensor_desc, len(from))
	for i := range from {
		to[i].struct_size = C.uint32_t(unsafe.Sizeof(to[i]))
		putTensorDesc(&to[i], &from[i])
	}
	return unsafe.SliceData(to)
}

// result converts the status of a function of the program.
func (c *computeCall) result(status C.ferrum_status) error {
	return programError(status, messageOf(unsafe.Slice((*byte)(unsafe.Pointer(c.lists.message)), C.FERRUM_COMPUTE_MESSAGE_MAX)))
}

// messageOf reads the message of a function of the program, up to a NUL.
func messageOf(message []byte) string {
	text, _, _ := bytes.Cut(message, []byte{0})
	return validText(string(text))
}

func validText(text string) string { return strings.ToValidUTF8(text, "?") }

// programError is the error of a function of the program. nil: it has succeeded.
func programError(status C.ferrum_status, message string) error {
	const op = "capi.program_function"
	code := device.Code(status)
	switch {
	case status == 0:
		return nil
	case code.String() == device.Code(1).String():
		return device.Errorf(device.CodeInternal, op, "it returned %d, which is no status", int32(status))
	case message == "":
		return device.Errorf(code, op, "it returned %v", code)
	}
	return device.Errorf(code, op, "%s", message)
}

func callComputePlan(plan C.ferrum_compute_plan_fn, call *library.ComputeCall, data C.uintptr_t) (made library.ComputePlan, err error) {
	c := computeCallOf(call)
	var out C.ferrum_compute_plan
	if err := c.result(C.fm_call_compute_plan(plan, &c.call, c.lists, &out, data)); err != nil {
		return made, err
	}
	f := fields{argument: "plan_out"}
	f.known(out.flags, C.FERRUM_COMPUTE_PLAN_IN_PLACE, "only FERRUM_COMPUTE_PLAN_IN_PLACE (0x1) is")
	made.InPlace = out.flags&C.FERRUM_COMPUTE_PLAN_IN_PLACE != 0
	made.WorkspaceBytes = uint64(out.workspace_bytes)
	return made, f.err
}

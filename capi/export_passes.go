package main

/*
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// passOf reads a ferrum_pass.
func passOf(argument string, from *C.ferrum_pass) (to library.ProgramPass, err error) {
	f := fields{argument: argument}
	f.text(&to.Name, from.name, "name")
	switch count := from.dependency_count; {
	case count > C.FERRUM_PASS_DEPENDENCIES_MAX:
		f.wrong(device.CodeInvalidArgument, "dependency_count is %d: want at most %d", uint32(count), C.FERRUM_PASS_DEPENDENCIES_MAX)
	case count > 0 && from.dependencies == nil:
		f.wrong(device.CodeNullPointer, "dependencies is NULL and dependency_count %d", uint32(count))
	default:
		for i, name := range unsafe.Slice(from.dependencies, int(count)) {
			var need string
			f.text(&need, name, fmt.Sprintf("dependencies[%d]", i))
			to.Dependencies = append(to.Dependencies, need)
		}
	}
	data := dataOf(&from.user_data)
	if isApplicable := from.is_applicable; isApplicable != nil {
		to.IsApplicable = func(c library.PassCall) (bool, error) {
			of := beginPassCall(c)
			defer of.end()
			var is C.uint32_t
			err := of.result(C.fm_call_pass_is_applicable(isApplicable, of.texts(), &is, data, C.uint64_t(c.Token)))
			return is != 0, err
		}
	}
	if apply := from.apply; apply != nil {
		to.Apply = func(c library.PassCall) ([]byte, []string, error) {
			of := beginPassCall(c)
			defer of.end()
			err := of.result(C.fm_call_pass_apply(apply, of.texts(), data, C.uint64_t(c.Token)))
			of.mu.Lock()
			defer of.mu.Unlock()
			return of.changed, of.warnings, err
		}
	}
	to.Release = releaseOf(from.release, data)
	return to, f.err
}

// passCall is a running call of a pass of the program.
type passCall struct {
	number     uint64
	definition []byte // a NUL follows it
	message    []byte // memory of its own, because C gets its address

	// mu guards the rest: the program may use the call on several threads.
	mu       sync.Mutex
	changed  []byte
	warnings []string
}

// passCalls are the running calls, by their numbers.
var (
	passCalls    sync.Map
	lastPassCall atomic.Uint64
)

func beginPassCall(c library.PassCall) *passCall {
	made := &passCall{number: lastPassCall.Add(1), definition: append(c.Definition, 0), message: make([]byte, C.FERRUM_PASS_MESSAGE_MAX)}
	passCalls.Store(made.number, made)
	return made
}

func (p *passCall) end() { passCalls.Delete(p.number) }

// texts returns the texts in the form of C.
func (p *passCall) texts() C.struct_fm_pass_texts {
	return C.struct_fm_pass_texts{
		call: C.uint64_t(p.number), definition: (*C.char)(unsafe.Pointer(unsafe.SliceData(p.definition))),
		definition_bytes: C.uint64_t(len(p.definition) - 1), message: (*C.char)(unsafe.Pointer(unsafe.SliceData(p.message))),
	}
}

func (p *passCall) result(status C.ferrum_status) error {
	return programError(status, messageOf(p.message))
}

func passCallOf(number C.uint64_t) (*passCall, error) {
	found, is := passCalls.Load(uint64(number))
	if !is {
		return nil, device.Errorf(device.CodeInvalidHandle, "capi.pass_call", "call %d of a pass has ended", uint64(number))
	}
	return found.(*passCall), nil
}

//export fmgo_pass_replace
func fmgo_pass_replace(call C.uint64_t, definition *C.char, size C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	p, err := passCallOf(call)
	if err != nil {
		return fail(err)
	}
	if size > C.FERRUM_DEFINITION_MAX {
		return fail(device.Errorf(device.CodeInvalidSize, "capi.pass_call", "definition_bytes is %v: want at most %v",
			device.Size(uint64(size)), device.Size(C.FERRUM_DEFINITION_MAX)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = append([]byte{}, unsafe.Slice((*byte)(unsafe.Pointer(definition)), int(size))...)
	return 0
}

//export fmgo_pass_warn
func fmgo_pass_warn(call C.uint64_t, warning *C.char) (status C.int32_t) {
	defer guard(&status)
	p, err := passCallOf(call)
	if err != nil {
		return fail(err)
	}
	text, err := shortTextOf("warning", warning, C.FERRUM_PASS_WARNING_MAX-1)
	if err != nil {
		return fail(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.warnings) == C.FERRUM_PASS_WARNINGS_MAX {
		return fail(device.Errorf(device.CodeResourceExhausted, "capi.pass_call", "the pass has %d warnings: no further ones are kept", len(p.warnings)))
	}
	p.warnings = append(p.warnings, text)
	return 0
}

//export fmgo_definition_optimize
func fmgo_definition_optimize(definition *C.char, size C.size_t, passes *C.char, passesSize C.size_t, optimized C.ferrum_optimized_fn, userData C.uintptr_t) (status C.int32_t) {
	defer guard(&status)
	f := fields{argument: "call"}
	var given, names []byte
	f.json(&given, definition, C.uint64_t(size), "definition_text", "definition_bytes")
	f.json(&names, passes, C.uint64_t(passesSize), "passes_text", "passes_bytes")
	if f.err != nil {
		return fail(f.err)
	}
	made, err := executors.OptimizeJSON(given, names)
	if err != nil {
		return fail(err)
	}
	made = append(made, 0)
	C.fm_call_optimized(optimized, (*C.char)(unsafe.Pointer(unsafe.SliceData(made))), C.uint64_t(len(made)-1), userData)
	return 0
}

package main

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"ferrum_mem/core/device"
)

// fail records the error for the calling thread and returns its status.
func fail(err error) C.int32_t {
	code := device.CodeOf(err)
	record := device.Error{Code: code, Message: err.Error()}
	var typed *device.Error
	if errors.As(err, &typed) {
		record = *typed
	}
	keep(&record)
	return C.int32_t(code)
}

func keep(record *device.Error) {
	operation := C.CString(record.Op)
	name := C.CString(record.Device)
	// Callers write the code behind the message. A cause at its end may have written the same.
	message := C.CString(strings.TrimSuffix(record.Message, " ("+record.Code.String()+")"))
	C.fm_error_keep(C.int32_t(record.Code), C.int64_t(record.Native), operation, name, message)
	C.free(unsafe.Pointer(operation))
	C.free(unsafe.Pointer(name))
	C.free(unsafe.Pointer(message))
	keepFacts(&record.Facts)
}

// keepFacts adds the known facts of an error to the record.
func keepFacts(facts *device.Facts) {
	var flags C.uint32_t
	var values [C.FM_FACTS]C.uint64_t
	for fact := range device.NumFacts {
		if value, stated := facts.Value(fact); stated {
			flags |= 1 << fact
			values[fact] = C.uint64_t(value)
		}
	}
	if flags == 0 && facts.Model == "" {
		return
	}
	model := C.CString(facts.Model)
	C.fm_error_facts(flags, &values[0], model)
	C.free(unsafe.Pointer(model))
}

// The core and the public header must use the same bits for the facts of an error, and the
// bridge must have a slot for each fact. A difference is an index out of range here, so the
// package does not compile.
var (
	_ = [1]struct{}{}[1<<device.FactOffsetBytes-C.FERRUM_FACT_OFFSET_BYTES]
	_ = [1]struct{}{}[1<<device.FactSizeBytes-C.FERRUM_FACT_SIZE_BYTES]
	_ = [1]struct{}{}[1<<device.FactCapacityBytes-C.FERRUM_FACT_CAPACITY_BYTES]
	_ = [1]struct{}{}[1<<device.FactPageBytes-C.FERRUM_FACT_PAGE_BYTES]
	_ = [1]struct{}{}[1<<device.FactRequestedBytes-C.FERRUM_FACT_REQUESTED_BYTES]
	_ = [1]struct{}{}[1<<device.FactAvailableBytes-C.FERRUM_FACT_AVAILABLE_BYTES]
	_ = [1]struct{}{}[1<<device.FactLargestFreeBytes-C.FERRUM_FACT_LARGEST_FREE_BYTES]
	_ = [1]struct{}{}[device.NumFacts-C.FM_FACTS]
)

// done returns the status of a call without outputs.
func done(err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	return 0
}

// giveTruth stores 0 or 1, or records the error.
func giveTruth(out *C.uint32_t, value bool, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	setTruth(out, value)
	return 0
}

// give stores a handle or an address, or records the error.
func give[T ~uint64](out *C.uint64_t, value T, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	*out = C.uint64_t(value)
	return 0
}

// giveText writes text and a NUL into the caller's buffer, as the header describes for
// ferrum_backends_json.
func giveText[T ~string | ~[]byte](buffer *C.char, capacity C.size_t, length *C.size_t, text T, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	*length = C.size_t(len(text))
	if capacity == 0 {
		return 0
	}
	if uint64(capacity) <= uint64(len(text)) {
		return fail(device.Errorf(device.CodeBufferTooSmall, "capi.text",
			"capacity is %d: the text has %v and a closing NUL", uint64(capacity), device.Size(len(text))))
	}
	to := unsafe.Slice((*byte)(unsafe.Pointer(buffer)), len(text)+1)
	copy(to, text)
	to[len(text)] = 0
	return 0
}

// guard is deferred by every export. After a panic the state of the library may be wrong,
// so guard reports the panic, and later calls do no work.
func guard(status *C.int32_t) {
	if value := recover(); value != nil {
		caught(status, value)
	}
}

// unfinished is not a status of the public header. The fastest exports set their status to
// unfinished and replace it when they return. They call recover only if it is still set,
// because recover costs a few nanoseconds.
const unfinished = 1

// caught reports a panic value that recover returned, and marks the library as unusable.
func caught(status *C.int32_t, value any) {
	C.fm_poison()
	stack := debug.Stack()
	err := device.Errorf(device.CodeInternal, "capi.guard", "a defect of this library: %v", value)
	keep(err)
	*status = C.int32_t(device.CodeInternal)
	lib.ReportDefect("call", value, stack)
}

// timeoutOf converts nanoseconds. A value that does not fit a Duration (292 years) means no
// limit.
func timeoutOf(ns C.uint64_t) time.Duration {
	if uint64(ns) > math.MaxInt64 {
		return device.Forever
	}
	return time.Duration(ns)
}

// ageOf converts nanoseconds. A value that does not fit a Duration means any age.
func ageOf(ns C.uint64_t) time.Duration { return numberOf[time.Duration](ns) }

// forced reads the flags of a destroying call.
func forced(flags C.uint32_t) (bool, error) {
	if flags > 1 {
		return false, device.Errorf(device.CodeInvalidArgument, "capi.flags",
			"flags is %#x: only FERRUM_FORCE (0x1) is known", uint32(flags))
	}
	return flags == 1, nil
}

// flagsOf reads a set of flags. names lists the known ones.
func flagsOf(name string, flags, known C.uint32_t, names string) (uint32, error) {
	if flags&^known != 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, "capi.flags", "%s is %#x: %s known", name, uint32(flags), names)
	}
	return uint32(flags), nil
}

// truth reads a setting that must be 0 or 1.
func truth(name string, value C.uint32_t) (bool, error) {
	if value > 1 {
		return false, device.Errorf(device.CodeInvalidArgument, "capi.flag",
			"%s is %d: want 0 or 1", name, uint32(value))
	}
	return value == 1, nil
}

// nameMax is the maximum number of bytes of a tag, a name or a device id.
const nameMax = 63

// textOf reads a text of the caller of at most nameMax bytes. NULL is the empty text.
func textOf(argument string, text *C.char) (string, error) {
	return shortTextOf(argument, text, nameMax)
}

// longTextOf is textOf for the name of a tensor.
func longTextOf(argument string, text *C.char) (string, error) {
	return shortTextOf(argument, text, C.FERRUM_WEIGHTS_NAME_MAX-1)
}

func shortTextOf(argument string, text *C.char, most int) (string, error) {
	read, problem := boundedText(text, most)
	if problem != "" {
		return "", device.Errorf(device.CodeInvalidArgument, "capi.text", "%s %s", argument, problem)
	}
	return read, nil
}

// boundedText reads a text of at most that many bytes and never reads beyond that. problem
// describes an invalid text.
func boundedText(text *C.char, most int) (read, problem string) {
	if text == nil {
		return "", ""
	}
	length := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(text), length)) != 0 {
		if length++; length > most {
			return "", fmt.Sprintf("is longer than %v", device.Size(most))
		}
	}
	read = C.GoStringN(text, C.int(length))
	if !utf8.ValidString(read) {
		return "", fmt.Sprintf("is not UTF-8: %q", read)
	}
	return read, ""
}

// pathOf reads a path of the caller. NULL is the empty path.
func pathOf(argument string, path *C.char) (string, error) {
	read, problem := boundedPath(path)
	if problem != "" {
		return "", device.Errorf(device.CodeInvalidArgument, "capi.path", "%s %s", argument, problem)
	}
	return read, nil
}

// boundedPath reads a path of at most FERRUM_PATH_MAX bytes and never reads beyond that.
// problem describes an invalid path.
func boundedPath(path *C.char) (read, problem string) {
	if path == nil {
		return "", ""
	}
	length := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(path), length)) != 0 {
		if length++; length >= C.FERRUM_PATH_MAX {
			return "", fmt.Sprintf("is longer than %v", device.Size(C.FERRUM_PATH_MAX-1))
		}
	}
	return C.GoStringN(path, C.int(length)), ""
}

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"time"
	"unicode/utf8"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

// The converters of structs_*_gen.go consist of these functions. Each converts one field.
// The Go types are inferred.

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type number interface {
	integer | ~float32 | ~float64
}

// Conversions from Go to C

// set stores a number.
func set[To, From number](to *To, from From) { *to = To(from) }

// putNumber stores an element that is a number.
func putNumber[To, From number](to *To, from *From) { *to = To(*from) }

// setTruth stores 0 or 1.
func setTruth(to *C.uint32_t, from bool) {
	*to = 0
	if from {
		*to = 1
	}
}

// setFlag adds a flag to a set that was zeroed before.
func setFlag(to *C.uint32_t, flag C.uint32_t, from bool) {
	if from {
		*to |= flag
	}
}

// setPointer stores an address of the host. It is written as a number, because it is not an
// address of Go memory.
func setPointer(to *unsafe.Pointer, from device.HostAddr) {
	*(*uint64)(unsafe.Pointer(to)) = uint64(from)
}

// copyNumbers fills an array from a slice of the same length.
func copyNumbers[To, From number](to []To, from []From) {
	for i := range to {
		to[i] = To(from[i])
	}
}

// putText writes text and a NUL into a fixed field, truncated at the end of a character.
// The field was zeroed before.
func putText(field []C.char, text string) {
	n := min(len(text), len(field)-1)
	for n < len(text) && n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	for i := range n {
		field[i] = C.char(text[i])
	}
}

// giveArray writes all elements into the caller's array, or only their number if the array
// is too small.
func giveArray[To, From any](to *To, capacity C.size_t, count *C.size_t, from []From, put func(*To, *From), name string) C.int32_t {
	*count = C.size_t(len(from))
	if capacity == 0 {
		return 0
	}
	if uint64(len(from)) > uint64(capacity) {
		return fail(device.Errorf(device.CodeBufferTooSmall, "capi.array", "capacity is %d: there are %d %s",
			uint64(capacity), len(from), name))
	}
	fillArray(to, from, put)
	return 0
}

// fillArray writes elements into the caller's array, which is large enough.
func fillArray[To, From any](to *To, from []From, put func(*To, *From)) {
	given := unsafe.Slice(to, len(from))
	for i := range from {
		put(&given[i], &from[i])
	}
}

// Conversions from C to Go

// readPointer reads an address of the caller. It is read as a number, because it may be any number,
// which Go must not see as a pointer.
func readPointer(to *device.HostAddr, from *unsafe.Pointer) {
	*to = device.HostAddr(*(*uint64)(unsafe.Pointer(from)))
}

// dataOf reads the user_data of a callback in the same way.
func dataOf(from *unsafe.Pointer) C.uintptr_t { return *(*C.uintptr_t)(unsafe.Pointer(from)) }

// fields reads the fields of a struct of the caller. The first error is kept.
type fields struct {
	// argument is the name of the struct, such as "config".
	argument string
	err      error
}

func (f *fields) wrong(code device.Code, format string, values ...any) {
	if f.err == nil {
		f.err = device.Errorf(code, "capi."+f.argument, "%s->"+format, append([]any{f.argument}, values...)...)
	}
}

// read converts a whole number. A value that does not fit the type becomes the largest
// value of the type, for example an age in nanoseconds that means no limit.
func read[To, From integer](to *To, from From) {
	*to = To(from)
	if From(*to) == from && (*to < 0) == (from < 0) {
		return
	}
	largest := ^To(0)
	if largest < 0 {
		largest = To(uint64(math.MaxInt64) >> (64 - 8*unsafe.Sizeof(largest)))
	}
	*to = largest
}

// numberOf converts a number of the caller to a Go type.
func numberOf[To, From integer](from From) (to To) {
	read(&to, from)
	return to
}

// readWait converts a timeout in nanoseconds.
func readWait(to *time.Duration, from C.uint64_t) { *to = timeoutOf(from) }

func (f *fields) truth(to *bool, from C.uint32_t, name string) {
	if from > 1 {
		f.wrong(device.CodeInvalidArgument, "%s is %d: want 0 or 1", name, uint32(from))
	}
	*to = from == 1
}

func (f *fields) reserved(from uint64, name string) {
	if from != 0 {
		f.wrong(device.CodeInvalidStruct, "%s is %d: want 0", name, from)
	}
}

// known rejects unknown flags.
func (f *fields) known(from, known C.uint32_t, names string) {
	if from&^known != 0 {
		f.wrong(device.CodeInvalidArgument, "flags is %#x: %s known", uint32(from), names)
	}
}

// text reads a text of at most nameMax bytes. NULL is the empty text.
func (f *fields) text(to *string, from *C.char, name string) {
	read, problem := boundedText(from, nameMax)
	if problem != "" {
		f.wrong(device.CodeInvalidArgument, "%s %s", name, problem)
	}
	*to = read
}

// path reads a path. NULL is the empty path.
func (f *fields) path(to *string, from *C.char, name string) {
	read, problem := boundedPath(from)
	if problem != "" {
		f.wrong(device.CodeInvalidArgument, "%s %s", name, problem)
	}
	*to = read
}

// json reads a JSON text whose length is the field lengthName. NULL is no text. The text is not copied.
func (f *fields) json(to *[]byte, from *C.char, length C.uint64_t, name, lengthName string) {
	switch {
	case from == nil && length == 0:
	case from == nil:
		f.wrong(device.CodeNullPointer, "%s is NULL and %s %d", name, lengthName, uint64(length))
	case length == 0:
		f.wrong(device.CodeInvalidArgument, "%s is set and %s 0", name, lengthName)
	case length > C.FERRUM_WEIGHTS_JSON_MAX:
		f.wrong(device.CodeInvalidArgument, "%s is %v: want at most %v", lengthName, device.Size(uint64(length)), device.Size(C.FERRUM_WEIGHTS_JSON_MAX))
	default:
		*to = unsafe.Slice((*byte)(unsafe.Pointer(from)), int(length))
	}
}

// fixedText reads the text of a fixed field, which ends with a NUL.
func (f *fields) fixedText(to *string, from []C.char, name string) {
	text := make([]byte, 0, len(from))
	for _, c := range from {
		if c != 0 {
			text = append(text, byte(c))
			continue
		}
		if !utf8.Valid(text) {
			f.wrong(device.CodeInvalidArgument, "%s is not UTF-8: %q", name, text)
		}
		*to = string(text)
		return
	}
	f.wrong(device.CodeInvalidArgument, "%s has no NUL in its %v", name, device.Size(len(from)))
}

// listLength is the number of elements of a list, the maximum of that number, the field
// that holds the number, and the status for a number above the maximum.
type listLength struct {
	count, most uint64
	field       string
	tooMany     device.Code
}

// readList copies a list of numbers. NULL means no list, which differs from a list without
// elements. Its count must be 0.
func readList[To, From integer](f *fields, to *[]To, from *From, length listLength, name string) {
	if length.count > length.most {
		f.wrong(length.tooMany, "%s is %d: want at most %d", length.field, length.count, length.most)
		return
	}
	if from == nil && length.count == 0 {
		return
	}
	if from == nil {
		f.wrong(device.CodeNullPointer, "%s is NULL and %s %d", name, length.field, length.count)
		return
	}
	*to = make([]To, length.count)
	for i, one := range unsafe.Slice(from, length.count) {
		read(&(*to)[i], one)
	}
}

// segmentSource reads the source of a pool's segments.
func (f *fields) segmentSource(isStreamOrdered *bool, from C.int32_t, name string) {
	*isStreamOrdered = from == C.FERRUM_SEGMENTS_STREAM_ORDERED
	if from != C.FERRUM_SEGMENTS_PLAIN && !*isStreamOrdered {
		f.wrong(device.CodeInvalidConfig, "%s is %d: want %d (plain) or %d (stream ordered)",
			name, int32(from), C.FERRUM_SEGMENTS_PLAIN, C.FERRUM_SEGMENTS_STREAM_ORDERED)
	}
}

// idlePages converts the number of idle pages that a pool keeps to the pool's own values.
func (f *fields) idlePages(to *int, from C.uint32_t, _ string) {
	switch from {
	case C.FERRUM_READY_PAGES_AUTO:
		*to = 0
	case C.FERRUM_READY_PAGES_ALL:
		*to = pool.KeepAllPages
	case 0:
		*to = -1
	default:
		*to = int(min(from, pool.KeepAllPages))
	}
}

// maxReadyPages is the maximum of ready_pages of virtual and elastic pools.
const maxReadyPages = 1 << 16

// readyPages converts the number of ready pages to the value of a stock of pages: 0 means
// the default of the library, and a negative number means none.
func (f *fields) readyPages(to *int, from C.uint32_t, name string) {
	switch {
	case from == C.FERRUM_READY_PAGES_AUTO:
		*to = 0
	case from == 0:
		*to = -1
	case from > maxReadyPages:
		f.wrong(device.CodeInvalidArgument, "%s is %d: want at most %d, or FERRUM_READY_PAGES_AUTO",
			name, uint32(from), maxReadyPages)
	default:
		*to = int(from)
	}
}

// structsOf returns the caller's array without a copy. It has at most FERRUM_BATCH_MAX
// elements.
func structsOf[T any](name string, array *T, count C.uint64_t) ([]T, error) {
	if count > C.FERRUM_BATCH_MAX {
		return nil, device.Errorf(device.CodeInvalidArgument, "capi.array", "count is %d: %s has at most %d",
			uint64(count), name, uint64(C.FERRUM_BATCH_MAX))
	}
	return unsafe.Slice(array, int(count)), nil
}

// arrayOf returns the caller's array of numbers without a copy. To is as wide as From.
func arrayOf[To, From integer](name string, array *From, count C.uint64_t) ([]To, error) {
	return structsOf(name, (*To)(unsafe.Pointer(array)), count)
}

// recordsOf reads the structs of a caller's array.
func recordsOf[To, From any](name string, array *From, count C.uint64_t, read func(string, *From) (To, error)) ([]To, error) {
	given, err := structsOf(name, array, count)
	if err != nil {
		return nil, err
	}
	all := make([]To, len(given))
	for i := range given {
		if all[i], err = read(name, &given[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// bytesOf returns the caller's bytes without a copy. name is that of the length.
func bytesOf(name string, text *C.char, size C.size_t) ([]byte, error) {
	if uint64(size) > math.MaxInt32 {
		return nil, device.Errorf(device.CodeInvalidSize, "capi.bytes", "%s %d is more than %d", name, uint64(size), math.MaxInt32)
	}
	if text == nil && size > 0 {
		return nil, device.Errorf(device.CodeNullPointer, "capi.bytes", "%s is %d, but the text is NULL", name, uint64(size))
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size)), nil
}

// poolConfigs reads the configurations of pools, by their memory type.
func (f *fields) poolConfigs(to *map[manager.MemoryType]pool.Config, from [8]*C.ferrum_pool_config, name string) {
	*to = map[manager.MemoryType]pool.Config{}
	for i, given := range from {
		if given == nil || f.err != nil {
			continue
		}
		if i >= C.FERRUM_MEMORY_TYPE_COUNT {
			f.wrong(device.CodeInvalidStruct, "%s[%d] is set: there are %d memory types", name, i, C.FERRUM_MEMORY_TYPE_COUNT)
			return
		}
		(*to)[manager.MemoryType(i)], f.err = poolConfigOf(f.argument, given)
	}
}

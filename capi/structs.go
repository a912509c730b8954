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

// The converters of structs_*_gen.go are made of these: each moves one field, and the
// types on the side of Go are inferred.

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type number interface {
	integer | ~float32 | ~float64
}

// Out of Go

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

// setFlag adds a flag to a set that is zeroed already.
func setFlag(to *C.uint32_t, flag C.uint32_t, from bool) {
	if from {
		*to |= flag
	}
}

// setPointer stores an address of the host's. It is written as a number: it is no
// address of Go's.
func setPointer(to *unsafe.Pointer, from device.HostAddr) {
	*(*uint64)(unsafe.Pointer(to)) = uint64(from)
}

// copyNumbers fills an array from one of as many elements.
func copyNumbers[To, From number](to []To, from []From) {
	for i := range to {
		to[i] = To(from[i])
	}
}

// putText writes text and a NUL into a fixed field, cut off at a character's
// end; the field is zeroed already.
func putText(field []C.char, text string) {
	n := min(len(text), len(field)-1)
	for n < len(text) && n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	for i := range n {
		field[i] = C.char(text[i])
	}
}

// giveArray writes all elements into the caller's array, or only their number where it
// has no room.
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

// fillArray writes elements into the caller's array, which has room for them.
func fillArray[To, From any](to *To, from []From, put func(*To, *From)) {
	given := unsafe.Slice(to, len(from))
	for i := range from {
		put(&given[i], &from[i])
	}
}

// Into Go

// fields reads the fields of a struct of the caller; what is wrong first is kept.
type fields struct {
	// argument is its name, such as "config".
	argument string
	err      error
}

func (f *fields) wrong(code device.Code, format string, values ...any) {
	if f.err == nil {
		f.err = device.Errorf(code, "capi."+f.argument, "%s->"+format, append([]any{f.argument}, values...)...)
	}
}

// read takes a whole number; what the type has no room for is the largest that it has,
// as an age in nanoseconds that is none.
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

// numberOf is a number of the caller as a type of Go's.
func numberOf[To, From integer](from From) (to To) {
	read(&to, from)
	return to
}

// readWait takes nanoseconds to wait.
func readWait(to *time.Duration, from C.uint64_t) { *to = timeoutOf(from) }

func (f *fields) truth(to *bool, from C.uint32_t, name string) {
	if from > 1 {
		f.wrong(device.CodeInvalidArgument, "%s is %d: want 0 or 1", name, uint32(from))
	}
	*to = from == 1
}

func (f *fields) reserved(from C.uint32_t, name string) {
	if from != 0 {
		f.wrong(device.CodeInvalidStruct, "%s is %d: want 0", name, uint32(from))
	}
}

// known refuses flags that are none of the known ones.
func (f *fields) known(from, known C.uint32_t, names string) {
	if from&^known != 0 {
		f.wrong(device.CodeInvalidArgument, "flags is %#x: %s known", uint32(from), names)
	}
}

// text takes a text of at most nameMax bytes; NULL is the empty text.
func (f *fields) text(to *string, from *C.char, name string) {
	read, problem := boundedText(from)
	if problem != "" {
		f.wrong(device.CodeInvalidArgument, "%s %s", name, problem)
	}
	*to = read
}

// path takes a path; NULL is the empty one.
func (f *fields) path(to *string, from *C.char, name string) {
	read, problem := boundedPath(from)
	if problem != "" {
		f.wrong(device.CodeInvalidArgument, "%s %s", name, problem)
	}
	*to = read
}

// fixedText takes the text of a fixed field, which ends with a NUL.
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
	f.wrong(device.CodeInvalidArgument, "%s has no NUL in its %d bytes", name, len(from))
}

// listLength is how many elements a list has, the most that it may have, the field that
// says so, and the status of too many.
type listLength struct {
	count, most uint64
	field       string
	tooMany     device.Code
}

// readList copies a list of numbers. NULL is no list, which is not one of no elements;
// its count has to be 0.
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

// segmentSource takes where a pool has its segments from.
func (f *fields) segmentSource(isStreamOrdered *bool, from C.int32_t, name string) {
	*isStreamOrdered = from == C.FERRUM_SEGMENTS_STREAM_ORDERED
	if from != C.FERRUM_SEGMENTS_PLAIN && !*isStreamOrdered {
		f.wrong(device.CodeInvalidConfig, "%s is %d: want %d (plain) or %d (stream ordered)",
			name, int32(from), C.FERRUM_SEGMENTS_PLAIN, C.FERRUM_SEGMENTS_STREAM_ORDERED)
	}
}

// idlePages takes how many pages a pool keeps, for which the pool has words of its own.
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

// maxReadyPages bounds the ready_pages of virtual and elastic pools.
const maxReadyPages = 1 << 16

// readyPages takes how many pages are kept ready as the settings of a stock of pages have
// it: 0 leaves it to the library, below 0 is none.
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

// structsOf is the caller's array as it lies there, of at most as many as a batch has.
func structsOf[T any](name string, array *T, count C.uint64_t) ([]T, error) {
	if count > C.FERRUM_BATCH_MAX {
		return nil, device.Errorf(device.CodeInvalidArgument, "capi.array", "count is %d: %s has at most %d",
			uint64(count), name, uint64(C.FERRUM_BATCH_MAX))
	}
	return unsafe.Slice(array, int(count)), nil
}

// arrayOf is the caller's array of numbers as it lies there. To is as wide as From.
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

// bytesOf is the caller's bytes as they lie there.
func bytesOf(name string, text *C.char, size C.size_t) ([]byte, error) {
	if uint64(size) > math.MaxInt32 {
		return nil, device.Errorf(device.CodeInvalidSize, "capi.bytes", "%s %d is more than %d", name, uint64(size), math.MaxInt32)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size)), nil
}

// poolConfigs takes the settings of pools by the type of memory that they are for.
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

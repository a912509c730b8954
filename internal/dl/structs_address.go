//go:build arm64 || (amd64 && windows)

package dl

import (
	"runtime"
	"slices"
)

// HasStructs states that CallWithStruct works on this processor.
const HasStructs = true

// The convention passes a large struct as the address of a copy, which the function may
// change.
func callWithStruct(f *Function, before, words, after []uintptr) int32 {
	own := slices.Clone(words)
	result := f.Call(slices.Concat(before, []uintptr{Pointer(&own[0])}, after)...)
	runtime.KeepAlive(own)
	return result
}

//go:build arm64 || (amd64 && windows)

package dl

import (
	"runtime"
	"slices"
)

// HasStructs says that CallWithStruct works here.
const HasStructs = true

// A large struct is passed as the address of a copy of its own, which the function may
// change.
func callWithStruct(f *Function, before, words, after []uintptr) int32 {
	own := slices.Clone(words)
	result := f.Call(slices.Concat(before, []uintptr{Pointer(&own[0])}, after)...)
	runtime.KeepAlive(own)
	return result
}

//go:build darwin || freebsd || linux

package dl

import "github.com/ebitengine/purego"

// Callback creates a C function void f(void *data) that calls fn with its argument as a
// number. A process can create only a few of them and never frees one: create one for each
// kind of call, not for each call. fn must not panic.
func Callback(fn func(data uintptr)) (uintptr, error) { return purego.NewCallback(fn), nil }

// Answering creates a C function int32_t f(const T *value, void *) that calls fn and returns its
// result. The value is valid during the call. The rules of Callback apply.
func Answering[T any](fn func(value *T) int32) (uintptr, error) {
	return purego.NewCallback(func(value *T, _ uintptr) uintptr { return uintptr(uint32(fn(value))) }), nil
}

// Returning creates a C function uintptr_t f(uintptr_t first, uintptr_t second) that calls fn. A C function
// that takes less, or returns nothing, may have the same address: the rest has no meaning then. The rules
// of Callback apply.
func Returning(fn func(first, second uintptr) uintptr) (uintptr, error) {
	return purego.NewCallback(fn), nil
}

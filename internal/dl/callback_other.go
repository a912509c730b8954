//go:build !darwin && !freebsd && !linux

package dl

import (
	"errors"
	"runtime"
)

// Callback is not supported on this system.
func Callback(func(data uintptr)) (uintptr, error) {
	return 0, errors.New("C code cannot call back on " + runtime.GOOS)
}

// Answering is not supported on this system.
func Answering[T any](func(value *T) int32) (uintptr, error) {
	return 0, errors.New("C code cannot call back on " + runtime.GOOS)
}

// Returning is not supported on this system.
func Returning(func(first, second uintptr) uintptr) (uintptr, error) {
	return 0, errors.New("C code cannot call back on " + runtime.GOOS)
}

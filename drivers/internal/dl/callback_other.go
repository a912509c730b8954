//go:build !darwin && !freebsd && !linux

package dl

import (
	"errors"
	"runtime"
)

// Callback is not possible here.
func Callback(func(data uintptr)) (uintptr, error) {
	return 0, errors.New("C code cannot call back on " + runtime.GOOS)
}

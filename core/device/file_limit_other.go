//go:build !linux

package device

import "math"

// FileSizeLimit is math.MaxUint64: the bound is not known here.
func FileSizeLimit() uint64 { return math.MaxUint64 }

// WithinFileSizeLimit makes a call.
func WithinFileSizeLimit(call func() error) error { return call() }

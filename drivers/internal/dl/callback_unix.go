//go:build darwin || freebsd || linux

package dl

import "github.com/ebitengine/purego"

// Callback makes a C function void f(void *data) that calls fn with its argument as a
// number. A process has room for few of them and never gives one back: make one for
// each kind of call, not for each call. fn may not panic.
func Callback(fn func(data uintptr)) (uintptr, error) { return purego.NewCallback(fn), nil }

//go:build darwin || freebsd || linux

package dl

import "github.com/ebitengine/purego"

// Callback creates a C function void f(void *data) that calls fn with its argument as a
// number. A process can create only a few of them and never frees one: create one for each
// kind of call, not for each call. fn must not panic.
func Callback(fn func(data uintptr)) (uintptr, error) { return purego.NewCallback(fn), nil }

//go:build darwin || freebsd || linux

package dl

import (
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// load opens a library. The thread is kept because dlerror is the thread's.
func load(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// isMissing tells a library that is not there from one that is broken. Both loaders
// say so in words only: glibc and musl name the file that was not found, which may
// be another one that the library needs.
func isMissing(name string, err error) bool {
	text := err.Error()
	missing := strings.Contains(text, "No such file") || strings.Contains(text, "no such file")
	if runtime.GOOS == "darwin" {
		return missing && !strings.Contains(text, "Library not loaded")
	}
	return missing && (strings.HasPrefix(text, name+":") || strings.Contains(text, "library "+name+":"))
}

func symbol(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

// Call calls a C function that takes integers and pointers only, and gives what it
// returns as an int.
func Call(function uintptr, arguments ...uintptr) int32 {
	result, _, _ := purego.SyscallN(function, arguments...)
	return int32(result)
}

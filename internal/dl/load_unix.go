//go:build darwin || freebsd || linux

package dl

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// load opens a library. It locks the goroutine to its thread, because dlerror belongs to
// the thread.
func load(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// isMissing distinguishes a missing library from a broken one. Both glibc and musl state
// this only in the text: they name the file that was not found, which may be another
// library that this one needs.
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

// Call calls a C function that takes only integers and pointers. It returns the function's
// result as an int.
func Call(function uintptr, arguments ...uintptr) int32 {
	result, _, _ := purego.SyscallN(function, arguments...)
	return int32(result)
}

// CallWord calls a C function that takes only integers and pointers. It returns the function's result as
// a word.
func CallWord(function uintptr, arguments ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, arguments...)
	return result
}

// FileOf returns the path of the library that has the function at an address, or the given name if the
// system does not state it.
func FileOf(function uintptr, name string) string {
	find, err := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	if err != nil {
		return name
	}
	var found struct { // Dl_info
		file         *byte
		base         uintptr
		symbol       *byte
		symbolOffset uintptr
	}
	if Call(find, function, Pointer(&found)) == 0 || found.file == nil {
		return name
	}
	return textFrom(unsafe.Pointer(found.file), maxPath)
}

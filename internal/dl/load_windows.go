package dl

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// load opens a library from the system folder only. A library in the folder of the program
// or in the current folder is not the driver's.
func load(name string) (uintptr, error) {
	handle, err := windows.LoadLibraryEx(name, 0, windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	return uintptr(handle), err
}

func isMissing(_ string, err error) bool { return errors.Is(err, windows.ERROR_MOD_NOT_FOUND) }

func symbol(handle uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), name)
}

// Call calls a C function that takes only integers and pointers. It returns the function's
// result as an int.
func Call(function uintptr, arguments ...uintptr) int32 {
	result, _, _ := syscall.SyscallN(function, arguments...)
	return int32(result)
}

// CallWord calls a C function that takes only integers and pointers. It returns the function's result as
// a word.
func CallWord(function uintptr, arguments ...uintptr) uintptr {
	result, _, _ := syscall.SyscallN(function, arguments...)
	return result
}

// FileOf returns the name.
func FileOf(_ uintptr, name string) string { return name }

package mapping

import "unsafe"

// Pointer converts an address to a pointer to memory outside of the Go heap.
//
// It must not be inlined: Go 1.26.8 on amd64 fails to compile some copies from constants
// through an inlined form of it.
//
//go:noinline
func Pointer(address uint64) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// Bytes returns the memory at an address. The caller must know that the whole range is
// mapped and that its end does not overflow.
func Bytes(address, size uint64) []byte {
	return unsafe.Slice((*byte)(Pointer(address)), size)
}

package mapping

import "unsafe"

// Pointer turns an address into a pointer to memory that is not Go's.
//
// It must not be inlined: Go 1.26.8 on amd64 fails to compile some copies from
// constants through an inlined form of it.
//
//go:noinline
func Pointer(address uint64) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// Bytes is the memory at an address. The caller has checked that the range is
// mapped, or was promised so, and that it does not wrap.
func Bytes(address, size uint64) []byte {
	return unsafe.Slice((*byte)(Pointer(address)), size)
}

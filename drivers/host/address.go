package host

import "unsafe"

// pointer turns an address into a pointer to memory that is not Go's.
//
// It must not be inlined: Go 1.26.8 on amd64 fails to compile some copies from
// constants through an inlined form of it.
//
//go:noinline
func pointer(address uint64) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// bytesAt is the memory at an address. The caller has checked that the range is
// mapped, or was promised so, and that it does not wrap.
func bytesAt(address, size uint64) []byte {
	return unsafe.Slice((*byte)(pointer(address)), size)
}

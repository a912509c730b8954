package offheap

import "unsafe"

// View returns the memory of this process at an address as bytes. The owner of the memory keeps it
// mapped while the bytes are used: an access after that is a fault.
func View(address uintptr, bytes int) []byte {
	if bytes == 0 {
		return nil
	}
	// The address is of memory outside of the Go heap, so the collector never moves it.
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), bytes)
}

// AddressOf returns the address of bytes outside of the Go heap, 0 for none.
func AddressOf(memory []byte) uintptr {
	if len(memory) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
}

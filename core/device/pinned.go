package device

// PinnedHost is the capability of page-locked host memory. The system never moves or
// swaps it, and both this process and the device address it. All methods are safe for
// concurrent use.
type PinnedHost interface {
	// AllocPinned allocates page-locked memory. size is a multiple of
	// Info().GranularityBytes and not 0. The addresses are multiples of
	// Info().AlignmentBytes. It returns CodeOutOfMemory if there is not enough memory,
	// and CodeResourceExhausted at the system's limit on locked memory, which the
	// message names.
	AllocPinned(size uint64) (PinnedMemory, error)
	// FreePinned frees exactly what one AllocPinned returned. The caller must have
	// waited for work that uses it. If it fails, the memory does not change.
	FreePinned(addr Addr, size uint64) error
}

// PinnedMemory has the addresses of page-locked memory.
type PinnedMemory struct {
	Addr Addr
	// HostAddr is the address of the same memory in this process.
	HostAddr HostAddr
}

// Prefetcher is the capability to bring memory near a device before its use.
type Prefetcher interface {
	// Prefetch queues on stream, a stream of this device, the move of size bytes at
	// addr near the device to, which may be this one or another. The bytes do not
	// change. It returns CodeUnsupported for memory that cannot be moved there.
	Prefetch(stream Stream, addr Addr, size uint64, to Device) error
}

package device

// PinnedHost is the capability of page-locked memory of the host, which the system
// never moves or swaps out, and which this process and the device both address. All
// methods are safe for concurrent use.
type PinnedHost interface {
	// AllocPinned takes page-locked memory. size is a multiple of
	// Info().GranularityBytes and not 0, and the addresses are multiples of
	// Info().AlignmentBytes. No room is CodeOutOfMemory; the system's bound on locked
	// memory is CodeResourceExhausted, and the message names that bound.
	AllocPinned(size uint64) (PinnedMemory, error)
	// FreePinned gives back exactly what one AllocPinned returned. Work that still
	// uses it must have been waited for. When it fails, the memory is as it was.
	FreePinned(addr Addr, size uint64) error
}

// PinnedMemory is where page-locked memory lies.
type PinnedMemory struct {
	Addr Addr
	// HostAddr is the same memory as this process addresses it.
	HostAddr HostAddr
}

// Prefetcher is the capability of bringing memory near a device before it is used.
type Prefetcher interface {
	// Prefetch queues on stream, a stream of this device, that size bytes at addr are
	// brought near the device to, this one or another. The bytes stay as they are.
	// What cannot be brought there is CodeUnsupported.
	Prefetch(stream Stream, addr Addr, size uint64, to Device) error
}

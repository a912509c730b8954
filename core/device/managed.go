package device

// Managed is the capability of memory that both this process and the device address.
// The device's system migrates it to the place of its use. Info().Managed states
// whether the open device has the capability. Without it every call returns
// CodeUnsupported. All methods are safe for concurrent use.
//
// Such memory may have no physical memory before its first use, and is not counted
// until then. Prefetcher brings it to the device, or to the host: a device whose memory
// the process addresses.
type Managed interface {
	// AllocManaged allocates managed memory. size is a multiple of
	// Info().GranularityBytes and not 0. The addresses are multiples of
	// Info().AlignmentBytes. It returns CodeOutOfMemory if there is not enough memory.
	AllocManaged(size uint64) (PinnedMemory, error)
	// FreeManaged frees exactly what one AllocManaged returned. The caller must have
	// waited for work that uses it. If it fails, the memory does not change.
	FreeManaged(addr Addr, size uint64) error
	// Advise states how a range of managed memory will be used, and replaces earlier
	// advice. The bytes do not change. It returns CodeInvalidAddress for a range that
	// is not within one AllocManaged, and CodeInvalidSize for a size of 0. If it fails,
	// a part of the advice may be in effect.
	Advise(addr Addr, size uint64, advice Advice) error
}

// Advice states how memory will be used; the zero value states nothing.
type Advice struct {
	// ReadMostly: each reader may have its own copy, which a write invalidates.
	ReadMostly bool
	// Resident: the memory should stay at the device, as far as there is space.
	Resident bool
}

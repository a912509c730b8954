package device

// Managed is the capability of memory that this process and the device both address,
// and that the device's system moves to where it is used; Info().Managed says whether
// the open device has it, and without it every call is CodeUnsupported. All methods are
// safe for concurrent use.
//
// Such memory need not be anywhere before it is touched, so it counts nowhere until
// then. Prefetcher brings it to the device, or to the host: a device whose memory the
// process addresses.
type Managed interface {
	// AllocManaged takes managed memory. size is a multiple of
	// Info().GranularityBytes and not 0, and the addresses are multiples of
	// Info().AlignmentBytes. No room is CodeOutOfMemory.
	AllocManaged(size uint64) (PinnedMemory, error)
	// FreeManaged gives back exactly what one AllocManaged returned. Work that still
	// uses it must have been waited for. When it fails, the memory is as it was.
	FreeManaged(addr Addr, size uint64) error
	// Advise says how a range of managed memory will be used, in place of what was said
	// before. The bytes stay as they are. A range that is not within one AllocManaged
	// is CodeInvalidAddress, a size of 0 CodeInvalidSize. When it fails, some of the
	// advice may have been taken.
	Advise(addr Addr, size uint64, advice Advice) error
}

// Advice is how memory will be used; the zero value says nothing.
type Advice struct {
	// ReadMostly: who reads it may have a copy of its own, which a write ends.
	ReadMostly bool
	// Resident: it is to stay at the device, as far as there is room.
	Resident bool
}

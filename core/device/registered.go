package device

// Registrar is the capability of page-locking memory that this process has already, so
// that the device can use it; Info().Registrar says whether the open device has it, and
// without it every call is CodeUnsupported. All methods are safe for concurrent use.
type Registrar interface {
	// Register page-locks size bytes at host and gives where the device has them. Their
	// owner keeps them valid until Unregister. Memory that is page-locked already, all of
	// it in one piece, is taken as it is. What cannot be page-locked is
	// CodeInvalidAddress, what overlaps memory that the device has already
	// CodeAlreadyExists, a size of 0 CodeInvalidSize, an end beyond 64 bits
	// CodeOverflow; the system's bound on page-locked memory is CodeOutOfMemory. Access
	// is as for Adopter.Adopt. Where the device cannot page-lock memory that the
	// process may only read, such memory is CodeInvalidAddress.
	Register(host HostAddr, size uint64, access Access) (Addr, error)
	// Unregister ends what one Register began: CodeInvalidAddress for anything else. Work
	// that still uses it must have been waited for. When it fails, the memory is as it
	// was.
	Unregister(addr Addr, size uint64) error
}

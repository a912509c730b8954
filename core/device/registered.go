package device

// Registrar is the capability to page-lock existing memory of this process, so that the
// device can use it. Info().Registrar states whether the open device has it. Without it
// every call returns CodeUnsupported. All methods are safe for concurrent use.
type Registrar interface {
	// Register page-locks size bytes at host and returns their address on the device.
	// Their owner keeps them valid until Unregister. Memory that is already
	// page-locked, all in one piece, is accepted as it is. access is as for
	// Adopter.Adopt. Errors: CodeInvalidAddress for memory that cannot be page-locked,
	// including read-only memory if the device cannot page-lock it; CodeAlreadyExists
	// for memory that overlaps memory of the device; CodeInvalidSize for a size of 0;
	// CodeOverflow for an end beyond 64 bits; CodeOutOfMemory at the system's limit on
	// page-locked memory.
	Register(host HostAddr, size uint64, access Access) (Addr, error)
	// Unregister ends one Register. It returns CodeInvalidAddress for anything else.
	// The caller must have waited for work that uses the memory. If it fails, the
	// memory does not change.
	Unregister(addr Addr, size uint64) error
}

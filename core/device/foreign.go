package device

// Adopter is the capability of working on memory that somebody else has. All
// methods are safe for concurrent use.
type Adopter interface {
	// Adopt lets work of this device use a range that somebody else owns and keeps
	// valid until Disown. Access is AccessReadWrite, or AccessRead: then work that
	// writes there is CodePermissionDenied. A range that does not allow that access
	// throughout is CodeInvalidAddress, one that overlaps what was adopted before or
	// is this device's own CodeAlreadyExists, a size of 0 CodeInvalidSize, an end
	// beyond 64 bits CodeOverflow, another access CodeInvalidArgument.
	Adopt(addr Addr, size uint64, access Access) error
	// Disown ends what one Adopt began: CodeInvalidAddress for anything else. Work
	// that still uses the range must have been waited for; a device that knows of it
	// says CodeBusy.
	Disown(addr Addr, size uint64) error
}

// Linker is the capability of addressing memory that another device has. All
// methods are safe for concurrent use.
type Linker interface {
	// Link lets work of this device use a range of the other device, which stays
	// allocated there until Unlink, and gives its address here. A device whose memory
	// cannot be addressed, or nil, is CodeUnsupported, this one itself
	// CodeInvalidArgument; ranges are refused as by Adopt.
	Link(from Device, addr Addr, size uint64) (Addr, error)
	// Unlink ends what one Link began: CodeInvalidAddress for anything else. Work that
	// still uses the range is as for Disown.
	Unlink(addr Addr, size uint64) error
}

// StreamAdopter is the capability of queueing on a stream that somebody else made.
type StreamAdopter interface {
	// AdoptStream gives a stream that queues its work in the foreign one, which its
	// owner keeps until Close has returned. Close runs dry what was queued here, and
	// leaves the foreign stream alone. It may leave work of the owner's (WorkLeaver). A description that the device cannot use is
	// CodeInvalidArgument or CodeUnsupported, one without anything may be
	// CodeNullPointer.
	AdoptStream(foreign ForeignStream) (Stream, error)
}

// EventAdopter is the capability of waiting for an event that somebody else made.
type EventAdopter interface {
	// AdoptEvent gives an event that stands for the runtime's with this handle, which its
	// owner keeps until Close has returned; that leaves it alone. It is passed when what
	// its owner recorded last is, and it has no time. A handle of 0, and an event that
	// the device cannot use, are CodeInvalidArgument.
	AdoptEvent(native uint64) (Event, error)
}

// ForeignStream describes a stream that somebody else made: by its handle in the
// device's runtime, or by a function that queues work.
type ForeignStream struct {
	// Native is the handle in the runtime of the device's vendor; 0: none.
	Native uint64
	// Enqueue has work called once, on any thread, after all that was queued before
	// and before all that is queued later. When it fails, work is never called. It
	// may call work at once. nil: none.
	Enqueue func(work func()) error
}

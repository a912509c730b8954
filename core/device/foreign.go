package device

// Sharing states whether an adopted range may overlap others.
type Sharing bool

const (
	// Alone: no other range that was adopted Alone may overlap the range.
	Alone Sharing = false
	// Shared: any adopted range may overlap the range. Work may write where at least one of
	// the ranges allows it.
	Shared Sharing = true
)

// Adopter is the capability to use external memory. All methods are safe for concurrent
// use.
type Adopter interface {
	// Adopt lets work of this device use an external range. Its owner keeps it valid
	// until Disown. access is AccessReadWrite, or AccessRead: then work that writes to
	// the range returns CodePermissionDenied. Errors: CodeInvalidAddress for a range
	// that does not allow that access everywhere, CodeAlreadyExists for one that
	// overlaps memory of this device or, if both are Alone, an adopted range,
	// CodeInvalidSize for a size of 0, CodeOverflow for an end beyond 64 bits,
	// CodeInvalidArgument for another access.
	Adopt(addr Addr, size uint64, access Access, how Sharing) error
	// Disown ends one Adopt with the same range and sharing. Of several it ends a
	// read-only one first. It returns CodeInvalidAddress for anything else. The caller
	// must have waited for work that uses the range; a device that knows of such work
	// returns CodeBusy.
	Disown(addr Addr, size uint64, how Sharing) error
}

// Linker is the capability to address memory of another device. All methods are safe
// for concurrent use.
type Linker interface {
	// Link lets work of this device use a range of the other device, and returns its
	// address here. The range stays allocated there until Unlink. Errors:
	// CodeUnsupported for nil or a device whose memory cannot be addressed,
	// CodeInvalidArgument for this device itself, and those of Adopt for ranges.
	Link(from Device, addr Addr, size uint64) (Addr, error)
	// Unlink ends one Link. It returns CodeInvalidAddress for anything else. Work that
	// uses the range is treated as by Disown.
	Unlink(addr Addr, size uint64) error
}

// StreamAdopter is the capability to queue work on an external stream.
type StreamAdopter interface {
	// AdoptStream returns a stream that queues its work in an external stream. The
	// owner keeps the external stream until Close has returned. Close waits for the
	// work that was queued here and does not destroy the external stream. Work of the
	// owner may still be queued then (WorkLeaver). It returns CodeInvalidArgument or
	// CodeUnsupported for a description that the device cannot use; an empty
	// description may return CodeNullPointer.
	AdoptStream(foreign ForeignStream) (Stream, error)
}

// EventAdopter is the capability to wait for an external event.
type EventAdopter interface {
	// AdoptEvent returns an event for the runtime's event with this handle. The owner
	// keeps it until Close has returned; Close does not destroy it. The event completes
	// when the owner's last record of it has completed, and it has no time. It returns
	// CodeInvalidArgument for 0 and for an event that the device cannot use.
	AdoptEvent(native uint64) (Event, error)
}

// ForeignStream describes an external stream: by its handle in the device's runtime, or
// by a function that queues work.
type ForeignStream struct {
	// Native is the handle in the runtime of the device's vendor; 0: none.
	Native uint64
	// Enqueue queues work: it is called once, on any thread, after all earlier work and
	// before all later work. If Enqueue fails, work is never called. Enqueue may call
	// work at once. nil: none.
	Enqueue func(work func()) error
}

package engine

import "ferrum_mem/core/device"

// Source is where segments come from.
type Source int8

const (
	// SourceDevice is the device's own memory.
	SourceDevice Source = iota
	// SourcePinned is page-locked memory of the host (device.PinnedHost).
	SourcePinned
	// SourceManaged is memory that the device's system moves (device.Managed).
	SourceManaged
	// SourceOrdered is the device's own memory from the pool of its runtime
	// (device.StreamOrdered).
	SourceOrdered
)

// String says what there is from that source.
func (s Source) String() string {
	switch s {
	case SourcePinned:
		return "page-locked memory of the host"
	case SourceManaged:
		return "managed memory"
	case SourceOrdered:
		return "stream-ordered pool"
	default:
		return "memory of its own"
	}
}

// Segment is memory had from the device in one piece.
type Segment struct {
	Addr      device.Addr
	SizeBytes uint64
	// HostAddr is the same memory as the process addresses it, if it is page-locked
	// memory of the host or managed memory; else 0.
	HostAddr device.HostAddr
	// Source is where it came from, and goes back to.
	Source Source
}

// Want is the size of a segment: what is good to have, and the least that will
// do. Both are multiples of the device's granularity (RoundUp), not 0, and
// MinBytes is not above PreferredBytes.
type Want struct {
	MinBytes       uint64
	PreferredBytes uint64
	Source         Source
}

package engine

import "ferrum_mem/core/device"

// Source is the source of segments.
type Source int8

const (
	// SourceDevice is the device's own memory.
	SourceDevice Source = iota
	// SourcePinned is page-locked memory of the host (device.PinnedHost).
	SourcePinned
	// SourceManaged is memory that the device's system migrates (device.Managed).
	SourceManaged
	// SourceOrdered is the device's own memory from the pool of its runtime
	// (device.StreamOrdered).
	SourceOrdered
)

// String describes the memory from that source.
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

// Segment is memory that was allocated from the device in one piece.
type Segment struct {
	Addr      device.Addr
	SizeBytes uint64
	// HostAddr is the address of the same memory in the process, if it is page-locked
	// host memory or managed memory; otherwise 0.
	HostAddr device.HostAddr
	// Source is the source to which it is released.
	Source Source
}

// Want is the size of a segment: the preferred and the smallest acceptable size. Both
// are multiples of the device's granularity (RoundUp) and not 0, and MinBytes is not
// above PreferredBytes.
type Want struct {
	MinBytes       uint64
	PreferredBytes uint64
	Source         Source
}

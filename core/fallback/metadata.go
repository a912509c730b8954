package fallback

import (
	"strconv"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// BufferID names a buffer. Ids are unique in the process, grow, and start at 1; 0
// names none.
type BufferID uint64

var lastBufferID atomic.Uint64

// NewBufferID returns an id that no buffer has had.
func NewBufferID() BufferID { return BufferID(lastBufferID.Add(1)) }

// String returns the form for messages about leaks: "Buffer#7".
func (id BufferID) String() string { return "Buffer#" + strconv.FormatUint(uint64(id), 10) }

// Side is the location of a buffer.
type Side int32

// The sides of the C ABI.
const (
	GPU Side = 0 // on the device
	CPU Side = 1 // on the host, because the device had no room or by request
)

// Check returns CodeInvalidArgument for any other value.
func (s Side) Check(op string) error {
	if s == GPU || s == CPU {
		return nil
	}
	return device.Errorf(device.CodeInvalidArgument, op, "location %d: want 0 or 1", int32(s))
}

// String returns "GPU" or "CPU".
func (s Side) String() string {
	switch s {
	case GPU:
		return "GPU"
	case CPU:
		return "CPU"
	}
	return "unknown"
}

// MarshalText returns String, so that JSON has a side as a word.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// BufferLocation is a side and its device.
type BufferLocation struct {
	Side Side `json:"side"`
	// Device has an empty backend if the owner knows no device.
	Device device.ID `json:"-"`
}

// String returns the name of the side.
func (l BufferLocation) String() string { return l.Side.String() }

// BufferMetadata is the record of a tracked buffer.
type BufferMetadata struct {
	ID          BufferID
	SizeBytes   uint64
	NumElements uint64
	Location    BufferLocation
	// AllocatedAt is on the clock of track.Now.
	AllocatedAt time.Duration
	// Tag is "" if no tag was given.
	Tag string
}

// Extent is the size of a buffer.
type Extent struct {
	SizeBytes   uint64
	NumElements uint64
}

// NewBufferMetadata returns the record of a buffer that is created now, without a tag.
func NewBufferMetadata(id BufferID, e Extent, where BufferLocation) BufferMetadata {
	return BufferMetadata{
		ID: id, SizeBytes: e.SizeBytes, NumElements: e.NumElements, Location: where, AllocatedAt: track.Now(),
	}
}

// WithTag returns the record with a tag.
func (m BufferMetadata) WithTag(tag string) BufferMetadata {
	m.Tag = tag
	return m
}

// Age returns the time since the creation of the buffer.
func (m BufferMetadata) Age() time.Duration { return max(track.Now()-m.AllocatedAt, 0) }

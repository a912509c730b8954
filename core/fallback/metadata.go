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

// NewBufferID gives an id that no buffer has had.
func NewBufferID() BufferID { return BufferID(lastBufferID.Add(1)) }

// String is the form of messages about leaks: "Buffer#7".
func (id BufferID) String() string { return "Buffer#" + strconv.FormatUint(uint64(id), 10) }

// Side is where a buffer is.
type Side int32

// The sides of the C ABI.
const (
	GPU Side = 0 // on the device
	CPU Side = 1 // on the host, because the device had no room or by request
)

// Check is CodeInvalidArgument for what is neither of them.
func (s Side) Check(op string) error {
	if s == GPU || s == CPU {
		return nil
	}
	return device.Errorf(device.CodeInvalidArgument, op, "location %d is none of 0 and 1", int32(s))
}

// String is "GPU" or "CPU".
func (s Side) String() string {
	switch s {
	case GPU:
		return "GPU"
	case CPU:
		return "CPU"
	}
	return "unknown"
}

// MarshalText is String, so that JSON has a side as a word.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// BufferLocation is a side and the device of it.
type BufferLocation struct {
	Side Side `json:"side"`
	// Device has an empty backend where the owner knows of no device.
	Device device.ID `json:"-"`
}

// String is that of the side.
func (l BufferLocation) String() string { return l.Side.String() }

// BufferMetadata is the record of a tracked buffer.
type BufferMetadata struct {
	ID          BufferID
	SizeBytes   uint64
	NumElements uint64
	Location    BufferLocation
	// AllocatedAt is on the clock of track.Now.
	AllocatedAt time.Duration
	// Tag is "" where nobody gave one.
	Tag string
}

// Extent is how large a buffer is.
type Extent struct {
	SizeBytes   uint64
	NumElements uint64
}

// NewBufferMetadata is the record of a buffer that is made now, without a tag.
func NewBufferMetadata(id BufferID, e Extent, where BufferLocation) BufferMetadata {
	return BufferMetadata{
		ID: id, SizeBytes: e.SizeBytes, NumElements: e.NumElements, Location: where, AllocatedAt: track.Now(),
	}
}

// WithTag is the record with a tag.
func (m BufferMetadata) WithTag(tag string) BufferMetadata {
	m.Tag = tag
	return m
}

// Age is the time since the buffer was made.
func (m BufferMetadata) Age() time.Duration { return max(track.Now()-m.AllocatedAt, 0) }

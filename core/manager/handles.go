package manager

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// MemoryHandle names a block. 0 names none. It can be compared and be the key
// of a map, and is never given out twice.
type MemoryHandle uint64

// NewMemoryHandle wraps a number that came from elsewhere.
func NewMemoryHandle(id uint64) MemoryHandle { return MemoryHandle(id) }

// ID is the number back.
func (h MemoryHandle) ID() uint64 { return uint64(h) }

// IsValid says whether the handle is not 0. Whether its block is alive is what
// Factory.HandleInfo says.
func (h MemoryHandle) IsValid() bool { return h != 0 }

func (h MemoryHandle) String() string { return fmt.Sprintf("memory %#x", uint64(h)) }

// StreamHandle names a stream. Where a stream is optional, DefaultStream stands
// for the default stream of the device that the call works on; that stream has
// a handle of its own as well.
type StreamHandle uint64

// DefaultStream, as an optional stream, is the device's default stream.
const DefaultStream StreamHandle = 0

// NewStreamHandle wraps a number that came from elsewhere.
func NewStreamHandle(id uint64) StreamHandle { return StreamHandle(id) }

// ID is the number back.
func (h StreamHandle) ID() uint64 { return uint64(h) }

func (h StreamHandle) String() string { return fmt.Sprintf("stream %#x", uint64(h)) }

// EventHandle names an event. 0 names none.
type EventHandle uint64

// NewEventHandle wraps a number that came from elsewhere.
func NewEventHandle(id uint64) EventHandle { return EventHandle(id) }

// ID is the number back.
func (h EventHandle) ID() uint64 { return uint64(h) }

// IsValid says whether the handle is not 0.
func (h EventHandle) IsValid() bool { return h != 0 }

func (h EventHandle) String() string { return fmt.Sprintf("event %#x", uint64(h)) }

// destroyed is the error for an object that was found by a handle which died
// while the call was on its way.
func destroyed(op string, kind handle.Kind, id uint64) *device.Error {
	return device.Errorf(device.CodeInvalidHandle, op,
		"%s handle %#x has been destroyed", kind, id)
}

// badHandle is what a table said of a handle, as an error of the call that the
// argument of that name was given to.
func badHandle(op, name string, err error) error {
	var said *device.Error
	if !errors.As(err, &said) {
		return err
	}
	return device.Errorf(said.Code, op, "%s: %s", name, said.Message)
}

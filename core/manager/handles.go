package manager

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// MemoryHandle names a block. 0 names none. It is comparable, can be a key of a map,
// and is never reused.
type MemoryHandle uint64

// NewMemoryHandle converts a number to a handle.
func NewMemoryHandle(id uint64) MemoryHandle { return MemoryHandle(id) }

// ID returns the handle as a number.
func (h MemoryHandle) ID() uint64 { return uint64(h) }

// IsValid reports whether the handle is not 0. Factory.HandleInfo reports whether its
// block is live.
func (h MemoryHandle) IsValid() bool { return h != 0 }

func (h MemoryHandle) String() string { return fmt.Sprintf("memory %#x", uint64(h)) }

// StreamHandle names a stream. For an optional stream, DefaultStream means the default
// stream of the call's device. That stream also has a handle.
type StreamHandle uint64

// DefaultStream, as an optional stream, means the device's default stream.
const DefaultStream StreamHandle = 0

// NewStreamHandle converts a number to a handle.
func NewStreamHandle(id uint64) StreamHandle { return StreamHandle(id) }

// ID returns the handle as a number.
func (h StreamHandle) ID() uint64 { return uint64(h) }

func (h StreamHandle) String() string { return fmt.Sprintf("stream %#x", uint64(h)) }

// EventHandle names an event. 0 names none.
type EventHandle uint64

// NewEventHandle converts a number to a handle.
func NewEventHandle(id uint64) EventHandle { return EventHandle(id) }

// ID returns the handle as a number.
func (h EventHandle) ID() uint64 { return uint64(h) }

// IsValid reports whether the handle is not 0.
func (h EventHandle) IsValid() bool { return h != 0 }

func (h EventHandle) String() string { return fmt.Sprintf("event %#x", uint64(h)) }

// destroyed is the error for an object whose handle became invalid during the call.
func destroyed(op string, kind handle.Kind, id uint64) *device.Error {
	return device.Errorf(device.CodeInvalidHandle, op,
		"%s handle %#x has been destroyed", kind, id)
}

// badHandle turns the error of a handle table into an error of the call. name is the
// name of the argument.
func badHandle(op, name string, err error) error {
	var said *device.Error
	if !errors.As(err, &said) {
		return err
	}
	return device.Errorf(said.Code, op, "%s: %s", name, said.Message)
}

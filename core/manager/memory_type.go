package manager

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// MemoryType is the use of a block. Each type may have its own pool.
type MemoryType int32

// The memory types of the C ABI.
const (
	General   MemoryType = 0 // any use
	Tensor    MemoryType = 1 // tensors
	Cache     MemoryType = 2 // the KV cache
	Temporary MemoryType = 3 // scratch
	Pinned    MemoryType = 4 // page-locked host memory
	Mapped    MemoryType = 5 // shared between devices
	Managed   MemoryType = 6 // memory of host and device that migrates to its use
)

// MemoryTypeCount is the number of memory types.
const MemoryTypeCount = 7

var memoryTypeNames = [MemoryTypeCount]string{
	"general", "tensor", "cache", "temporary", "pinned", "mapped", "managed",
}

func (t MemoryType) known() bool { return t >= 0 && t < MemoryTypeCount }

// String returns the type as a word in lower case.
func (t MemoryType) String() string {
	if !t.known() {
		return fmt.Sprintf("unknown (%d)", int32(t))
	}
	return memoryTypeNames[t]
}

// MarshalText returns String for a known type, so that JSON has the type as a word.
func (t MemoryType) MarshalText() ([]byte, error) {
	if !t.known() {
		return nil, device.Errorf(device.CodeInvalidArgument, "manager.marshal_memory_type",
			"memory_type %d is not from 0 to %d", int32(t), MemoryTypeCount-1)
	}
	return []byte(t.String()), nil
}

// UnmarshalText parses the result of MarshalText.
func (t *MemoryType) UnmarshalText(text []byte) error {
	for i, name := range memoryTypeNames {
		if name == string(text) {
			*t = MemoryType(i)
			return nil
		}
	}
	return device.Errorf(device.CodeInvalidFormat, "manager.unmarshal_memory_type",
		"memory type %q: want one of %q", text, memoryTypeNames)
}

// check rejects a type that is unknown or that the device cannot provide.
func (t MemoryType) check(op string, e *engine.Engine) error {
	if err := t.checkKnown(op, e.ID()); err != nil {
		return err
	}
	if e.Has(t.sourceOn(e)) != nil {
		return device.Errorf(device.CodeUnsupported, op,
			"memory_type %s (%d): device %s has no such memory", t, int32(t), e.ID()).On(e.ID())
	}
	return nil
}

func (t MemoryType) checkKnown(op string, id device.ID) error {
	if !t.known() {
		return device.Errorf(device.CodeInvalidArgument, op,
			"memory_type %d is not from 0 to %d", int32(t), MemoryTypeCount-1).On(id)
	}
	return nil
}

// sourceOn returns the source of memory of the type. Memory shared between devices is
// page-locked host memory, and memory that migrates is managed memory, unless the
// device's own memory is host memory.
func (t MemoryType) sourceOn(e *engine.Engine) engine.Source {
	switch {
	case t == Pinned, t == Mapped && !e.Info().HostAddressable:
		return engine.SourcePinned
	case t == Managed && !e.Info().HostAddressable:
		return engine.SourceManaged
	default:
		return engine.SourceDevice
	}
}

package manager

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// MemoryType is what a block is used for. Each type may have a pool of its own.
type MemoryType int32

// The memory types of the C ABI.
const (
	General   MemoryType = 0 // anything
	Tensor    MemoryType = 1 // tensors
	Cache     MemoryType = 2 // the KV cache
	Temporary MemoryType = 3 // scratch
	Pinned    MemoryType = 4 // page-locked host memory
	Mapped    MemoryType = 5 // shared between devices
	Managed   MemoryType = 6 // of host and device, moved to where it is used
)

// MemoryTypeCount is the number of memory types.
const MemoryTypeCount = 7

var memoryTypeNames = [MemoryTypeCount]string{
	"general", "tensor", "cache", "temporary", "pinned", "mapped", "managed",
}

func (t MemoryType) known() bool { return t >= 0 && t < MemoryTypeCount }

// String is the type as a word in lower case.
func (t MemoryType) String() string {
	if !t.known() {
		return fmt.Sprintf("unknown (%d)", int32(t))
	}
	return memoryTypeNames[t]
}

// MarshalText is String for a known type, so that JSON has a type as a word.
func (t MemoryType) MarshalText() ([]byte, error) {
	if !t.known() {
		return nil, device.Errorf(device.CodeInvalidArgument, "manager.marshal_memory_type",
			"memory_type %d is none of 0 to %d", int32(t), MemoryTypeCount-1)
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
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

// check refuses a type that is unknown or that the device cannot serve.
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
			"memory_type %d is none of 0 to %d", int32(t), MemoryTypeCount-1).On(id)
	}
	return nil
}

// sourceOn is where memory of the type comes from. What is shared between devices is
// page-locked memory of the host, and what moves is managed, unless the device's own
// memory is the host's.
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

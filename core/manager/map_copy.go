package manager

import (
	"errors"
	"math"
	"reflect"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/manager/mappings"
)

// takeMapCopy allocates zeroed memory from the system.
func takeMapCopy(bytes uint64) (*mappings.Copy, error) {
	const op = "manager.map"
	if bytes > math.MaxInt {
		return nil, device.Errorf(device.CodeOutOfMemory, op,
			"size_bytes %d: no memory of this process has this size", bytes)
	}
	memory, err := offheap.NewBlock(int(bytes))
	if err != nil {
		return nil, device.Errorf(device.CodeOutOfMemory, op,
			"size_bytes %d: there is no host memory for the copy: %w", bytes, err)
	}
	addr := device.HostAddr(reflect.ValueOf(memory.Bytes()).Pointer())
	return &mappings.Copy{Addr: addr, Free: memory.Free}, nil
}

// bringCopy creates a staging copy of a range of a block, with its bytes if they are
// read.
func (f *Factory) bringCopy(op string, b *block, r mappings.Range) (*mappings.Copy, error) {
	made, err := f.staging.takeMapCopy(r.SizeBytes)
	if err != nil {
		return nil, on(err, b.manager)
	}
	if !r.Reads {
		// Work that is queued now must run before Unmap writes the bytes.
		err = f.awaitUses(b)
	} else {
		err = f.runNow(op, func(*stream) func(device.Stream) error {
			return func(dev device.Stream) error {
				return dev.CopyToHost(made.Addr, b.memory.Addr+device.Addr(r.OffsetBytes), r.SizeBytes)
			}
		}, use{block: b})
	}
	if err == nil {
		return made, nil
	}
	// The device may still write there. Memory that it may write to is never freed.
	if f.awaitUses(b) == nil {
		made.Free()
	}
	return nil, err
}

// writeBack copies the bytes of a staging copy to its block.
func (f *Factory) writeBack(op string, b *block, m *mappings.Mapping) error {
	r := m.Range
	return f.runNow(op, func(*stream) func(device.Stream) error {
		return func(dev device.Stream) error {
			return dev.CopyFromHost(b.memory.Addr+device.Addr(r.OffsetBytes), m.Copy.Addr, r.SizeBytes)
		}
	}, use{block: b})
}

// on sets the manager's device in an error that has none.
func on(err error, m *Manager) error {
	var typed *device.Error
	if errors.As(err, &typed) && typed.Device == "" {
		return typed.On(m.owner.engine.ID())
	}
	return err
}

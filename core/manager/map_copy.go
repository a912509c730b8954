package manager

import (
	"errors"
	"math"
	"reflect"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// mapCopy is host memory that stands for a range of a block which the host cannot
// address. What it holds stays where it is until free.
type mapCopy struct {
	addr device.HostAddr
	free func()
}

// takeMapCopy takes memory of the system, all 0.
func takeMapCopy(bytes uint64) (*mapCopy, error) {
	const op = "manager.map"
	if bytes > math.MaxInt {
		return nil, device.Errorf(device.CodeOutOfMemory, op,
			"size_bytes %d: no memory of this process has so many", bytes)
	}
	memory, err := offheap.NewBlock(int(bytes))
	if err != nil {
		return nil, device.Errorf(device.CodeOutOfMemory, op,
			"size_bytes %d: there is no host memory for the copy: %w", bytes, err)
	}
	addr := device.HostAddr(reflect.ValueOf(memory.Bytes()).Pointer())
	return &mapCopy{addr: addr, free: memory.Free}, nil
}

// bringCopy makes a copy of a range of a block, with its bytes if they are read.
func (f *Factory) bringCopy(op string, b *block, r MapRequest) (*mapCopy, error) {
	made, err := f.staging.takeMapCopy(r.SizeBytes)
	if err != nil {
		return nil, on(err, b.manager)
	}
	if !r.Access.reads() {
		// What is queued now comes before the bytes that Unmap writes.
		err = f.awaitUses(b)
	} else {
		err = f.runNow(op, func(*stream) func(device.Stream) error {
			return func(dev device.Stream) error {
				return dev.CopyToHost(made.addr, b.memory.Addr+device.Addr(r.OffsetBytes), r.SizeBytes)
			}
		}, use{block: b})
	}
	if err == nil {
		return made, nil
	}
	// The device may still write there; memory that it may write to is never given
	// back.
	if f.awaitUses(b) == nil {
		made.free()
	}
	return nil, err
}

// writeBack puts the bytes of a copy into its block.
func (f *Factory) writeBack(op string, b *block, m *mapping) error {
	r := m.request
	return f.runNow(op, func(*stream) func(device.Stream) error {
		return func(dev device.Stream) error {
			return dev.CopyFromHost(b.memory.Addr+device.Addr(r.OffsetBytes), m.copied.addr, r.SizeBytes)
		}
	}, use{block: b})
}

// on adds the manager's device to an error that was made without knowing it.
func on(err error, m *Manager) error {
	var typed *device.Error
	if errors.As(err, &typed) && typed.Device == "" {
		return typed.On(m.owner.engine.ID())
	}
	return err
}

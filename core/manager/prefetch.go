package manager

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// Prefetch queues, on a stream of the block's device (0: the default one), that the
// block is brought near a device before it is used there, its own or another, and
// returns. The bytes stay as they are, and it counts as no access. A device whose
// memory is always near has nothing to do for itself. Errors: CodeUnsupported for a
// target that the block cannot be brought to, CodeInvalidArgument for a stream of
// another device.
func (f *Factory) Prefetch(h MemoryHandle, target *engine.Engine, on StreamHandle) error {
	const op = "manager.prefetch"
	b, err := f.lookUp(op, "memory", h)
	if err != nil {
		return err
	}
	own := b.manager.Engine()
	s, err := f.streamOn(op, b.manager.owner, on)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(op); err != nil {
		return err
	}
	near, ok := own.Device().(device.Prefetcher)
	if !ok {
		if target == own {
			return nil
		}
		return lacks(op, own, "bring memory near device "+target.ID().String())
	}
	_, err = enqueue(op, s, func(dev device.Stream) error {
		return near.Prefetch(dev, b.memory.Addr, b.memory.RequestedBytes, target.Device())
	}, 0, b)
	return err
}

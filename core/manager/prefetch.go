package manager

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// Prefetch queues, on a stream of the block's device (0: the default one), the move of
// the block near a device before its use there, and returns. The device is the block's
// own or another one. The bytes do not change, and it does not count as an access. A
// device whose memory is always near does nothing for itself. Errors: CodeUnsupported
// for a target to which the block cannot be moved, CodeInvalidArgument for a stream of
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
		return lacks(op, own, "prefetch memory to device "+target.ID().String())
	}
	_, err = enqueue(op, s, func(dev device.Stream) error {
		return near.Prefetch(dev, b.memory.Addr, b.memory.RequestedBytes, target.Device())
	}, 0, b)
	return err
}

package manager

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// Pin returns the address of a block and keeps it unchanged until Unpin was called as
// often as Pin. It waits for a move in progress. Free rejects a pinned block. Errors:
// CodeInvalidHandle, CodeResourceExhausted for a block that is pinned 2^32 - 1 times.
func (f *Factory) Pin(h MemoryHandle) (addr device.Addr, err error) {
	const op = "manager.pin"
	err = f.withLive(op, h, func(b *block) error {
		if b.pins == math.MaxUint32 {
			return device.Errorf(device.CodeResourceExhausted, op, "memory handle %#x is pinned %d times",
				uint64(h), b.pins).On(b.manager.Engine().ID())
		}
		b.pins++
		addr = b.memory.Addr
		return nil
	})
	return addr, err
}

// Unpin ends one call of Pin. Errors: CodeInvalidHandle, CodeInvalidState for a
// block that is not pinned.
func (f *Factory) Unpin(h MemoryHandle) error {
	const op = "manager.unpin"
	return f.withLive(op, h, func(b *block) error {
		if b.pins == 0 {
			return device.Errorf(device.CodeInvalidState, op, "memory handle %#x is not pinned",
				uint64(h)).On(b.manager.Engine().ID())
		}
		b.pins--
		return nil
	})
}

// withLive finds a live block and calls fn with its lock held.
func (f *Factory) withLive(op string, h MemoryHandle, fn func(*block) error) error {
	b, err := f.lookUp(op, "memory", h)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return destroyed(op, handle.Memory, uint64(h)).On(b.manager.Engine().ID())
	}
	return fn(b)
}

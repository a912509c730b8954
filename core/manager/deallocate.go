package manager

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// Free gives a block back; its handle is dead from then on. The memory is
// handed out again only once everything that is queued on the streams that have
// used it is done; Free does not wait for that. When it fails, the block
// is as it was; but CodeCorrupted, from a pool with red zones, says that bytes
// beside the block were overwritten, and the block is gone all the same. A block
// that is pinned or mapped is CodeBusy, and so is an adopted one on which work is
// queued: its owner may do as he likes with the memory when Free has returned.
// The memory of two linked blocks is free once both are given back.
func (f *Factory) Free(h MemoryHandle) error {
	b, err := f.lookUp("manager.free", "memory", h)
	if err != nil {
		return err
	}
	m := b.manager
	err = m.giveBack(b)
	if err != nil && !errors.Is(err, device.CodeCorrupted) {
		return err
	}
	m.collector.freed.Add(1)
	m.closeFormer()
	if b.link != nil {
		b.link.settle(m)
	}
	return err
}

func (m *Manager) giveBack(b *block) error {
	if b.link == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
	} else {
		defer lockBoth(b, b.link.other(b))()
	}
	if b.dead {
		return destroyed("manager.free", handle.Memory, uint64(b.handle)).On(m.owner.engine.ID())
	}
	if b.pins != 0 {
		return device.Errorf(device.CodeBusy, "manager.free", "memory handle %#x is pinned %d times",
			uint64(b.handle), b.pins).On(m.owner.engine.ID())
	}
	if b.mappings.Len() != 0 {
		return device.Errorf(device.CodeBusy, "manager.free", "memory handle %#x has %d mappings",
			uint64(b.handle), b.mappings.Len()).On(m.owner.engine.ID())
	}
	switch {
	case b.adopted:
		return m.disown(b)
	case b.link != nil && b.link.left > 1:
		b.link.passOn(b)
		return m.bury(b)
	}
	fences, err := b.fences(nil)
	if err != nil {
		return err
	}
	if m.config.EnableDebug {
		if fences, err = m.markFreed(b.memory, fences); err != nil {
			m.owner.closeEvents(fences...)
			return err
		}
	}
	// The next block there is nothing that this one's hints were about.
	hints := b.hints
	m.logFailure("the hints of a block of managed memory could not be taken back", b.takeHints(Hints{}))
	damage := b.freeMemory(fences)
	if damage != nil && !errors.Is(damage, device.CodeCorrupted) {
		m.logFailure("the hints of a block of managed memory could not be set again", b.takeHints(hints))
		m.owner.closeEvents(fences...)
		return damage
	}
	if err := m.bury(b); err != nil {
		return err
	}
	// A debugging pool has freed the block all the same.
	return damage
}

// bury takes a block out of the table and the books. The caller holds b.mu.
func (m *Manager) bury(b *block) error {
	b.forget()
	m.mu.Lock()
	m.live[b.kind]--
	switch {
	case b.adopted:
		m.adopted.Blocks--
		m.adopted.Bytes -= b.memory.SizeBytes
	case b.link == nil:
		b.home.users--
	}
	m.changed.Broadcast()
	m.mu.Unlock()
	if b.link != nil {
		b.link.releaseLocked(b)
	}
	_, err := m.factory.memory.Remove(uint64(b.handle))
	return err
}

// freeMemory gives the memory of a block back, after the events; not that of one
// that was adopted.
func (b *block) freeMemory(fences []device.Event) error {
	if b.link != nil {
		return b.link.home.pool.FreeAfter(b.link.addr, fences)
	}
	return b.home.pool.FreeAfter(b.memory.Addr, fences)
}

// waitAll waits until all events have passed.
func waitAll(events []device.Event) error {
	for _, event := range events {
		if err := event.Synchronize(device.Forever); err != nil {
			return err
		}
	}
	return nil
}

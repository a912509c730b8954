package manager

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// Free frees a block; its handle is invalid from then on. The memory is reused only
// after all work that is queued on the streams that have used it; Free does not wait
// for that work. If Free fails, the block does not change, with one exception:
// CodeCorrupted, from a pool with red zones, reports that bytes beside the block were
// overwritten, and the block is freed. Free returns CodeBusy for a block that is pinned
// or mapped, and for an adopted block with queued work, because its owner may reuse the
// memory after Free. The memory of two linked blocks is free after both blocks were
// freed.
func (f *Factory) Free(h MemoryHandle) error {
	b, err := f.lookUp("manager.free", "memory", h)
	if err != nil {
		return err
	}
	m := b.manager
	err = m.releaseMemory(b)
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

func (m *Manager) releaseMemory(b *block) error {
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
		return device.Errorf(device.CodeBusy, "manager.free", "memory handle %#x is pinned %s",
			uint64(b.handle), device.Count(b.pins, "time")).On(m.owner.engine.ID())
	}
	if b.mappings.Len() != 0 {
		return device.Errorf(device.CodeBusy, "manager.free", "memory handle %#x has %s",
			uint64(b.handle), device.Count(b.mappings.Len(), "mapping")).On(m.owner.engine.ID())
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
	// The hints of this block must not apply to the next block at its address.
	hints := b.hints
	m.logFailure("the hints of a block of managed memory could not be removed", b.takeHints(Hints{}))
	damage := b.freeMemory(fences)
	if damage != nil && !errors.Is(damage, device.CodeCorrupted) {
		m.logFailure("the hints of a block of managed memory could not be set again", b.takeHints(hints))
		m.owner.closeEvents(fences...)
		return damage
	}
	if err := m.bury(b); err != nil {
		return err
	}
	// A debug pool has freed the block in spite of the error.
	return damage
}

// bury removes a block from the table and the counters. The caller holds b.mu.
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

// freeMemory frees the memory of a block, after the events. It does not free adopted
// memory.
func (b *block) freeMemory(fences []device.Event) error {
	if b.link != nil {
		return b.link.home.pool.FreeAfter(b.link.addr, fences)
	}
	return b.home.pool.FreeAfter(b.memory.Addr, fences)
}

// waitAll waits until all events have completed.
func waitAll(events []device.Event) error {
	for _, event := range events {
		if err := event.Synchronize(device.Forever); err != nil {
			return err
		}
	}
	return nil
}

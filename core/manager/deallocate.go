package manager

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// Deallocate gives a block back; its handle is dead from then on. The memory is
// handed out again only once everything that is queued on the streams that have
// used it is done; Deallocate does not wait for that. When it fails, the block
// is as it was; but CodeCorrupted, from a pool with red zones, says that bytes
// beside the block were overwritten, and the block is gone all the same. A block
// that is pinned or mapped is CodeBusy.
func (f *Factory) Deallocate(h MemoryHandle) error {
	b, err := f.lookUp("manager.deallocate", "memory", h)
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
	return err
}

func (m *Manager) giveBack(b *block) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return destroyed("manager.deallocate", handle.Memory, uint64(b.handle)).On(m.owner.engine.ID())
	}
	if b.pins != 0 {
		return device.Errorf(device.CodeBusy, "manager.deallocate", "memory handle %#x is pinned %d times",
			uint64(b.handle), b.pins).On(m.owner.engine.ID())
	}
	if len(b.mappings) != 0 {
		return device.Errorf(device.CodeBusy, "manager.deallocate", "memory handle %#x has %d mappings",
			uint64(b.handle), len(b.mappings)).On(m.owner.engine.ID())
	}
	fences, err := b.fencesLocked(nil)
	if err != nil {
		return err
	}
	if m.config.EnableDebug {
		scrubbed, err := m.markFreed(b.memory, fences)
		if err != nil {
			m.owner.closeEvents(fences...)
			return err
		}
		if scrubbed != nil {
			fences = append(fences, scrubbed)
		}
	}
	damage := b.home.pool.FreeAfter(b.memory.Addr, fences)
	if damage != nil && !errors.Is(damage, device.CodeCorrupted) {
		m.owner.closeEvents(fences...)
		return damage
	}
	if err := m.buryLocked(b); err != nil {
		return err
	}
	// A debugging pool has freed the block all the same.
	return damage
}

// buryLocked takes a block out of the table and the books; its lock is held.
func (m *Manager) buryLocked(b *block) error {
	b.forgetLocked()
	m.mu.Lock()
	m.live[b.kind]--
	b.home.users--
	m.changed.Broadcast()
	m.mu.Unlock()
	_, err := m.factory.memory.Remove(uint64(b.handle))
	return err
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

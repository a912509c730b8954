package manager

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// Close ends the manager and gives its memory back. Without force it is
// CodeBusy, and changes nothing, while blocks are live. With force it waits for
// the work that is queued on the streams that have used them, frees them, and
// their handles die; when that work cannot be waited for, nothing has changed.
// When the driver fails to take memory back, the manager is of no more use, but
// Close may be called again.
func (m *Manager) Close(force bool) error {
	m.closeMu.Lock()
	defer m.closeMu.Unlock()
	if err := m.beginClose(force); err != nil {
		return err
	}
	if force {
		if err := m.killBlocks(); err != nil {
			m.closing.Store(false)
			return err
		}
	}
	if err := m.closePools(); err != nil {
		return err
	}
	if err := m.closeRelocator(); err != nil {
		return err
	}
	m.transfers.drop()
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	if m.collector.wanted() {
		m.owner.engine.WatchUse(false)
	}
	d := m.owner
	d.mu.Lock()
	d.built.Remove(m)
	d.managers--
	d.mu.Unlock()
	m.tellClosed()
	return nil
}

// IsOver says that the manager has ended or is ending: what Close does not refuse.
func (m *Manager) IsOver() bool { return m.closing.Load() }

// beginClose refuses new blocks and work once nothing is live or, with force,
// at once; calls under way are waited for.
func (m *Manager) beginClose(force bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return m.closedError("manager.close")
	}
	if force {
		m.closing.Store(true)
	}
	for {
		if live := m.countLive(); live+m.lent > 0 && !force {
			return device.Errorf(device.CodeBusy, "manager.close",
				"%d blocks are live, and %d that are linked to memory of this manager",
				live, m.lent).On(m.owner.engine.ID())
		}
		if m.calls == 0 {
			m.closing.Store(true)
			return nil
		}
		m.changed.Wait()
	}
}

// killBlocks waits for the work on every live block and then frees them all.
// New work is refused already: a block that was seen here under its lock gets
// none.
func (m *Manager) killBlocks() error {
	work := newWork()
	defer work.release()
	m.eachVictim(func(b *block) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.dead {
			work.add(b)
		}
		return true
	})
	if err := work.wait(); err != nil {
		return err
	}
	count, bytes := uint64(0), uint64(0)
	m.eachVictim(func(b *block) bool {
		unlock := b.lockLinked()
		defer unlock()
		if b.dead {
			return true
		}
		count++
		bytes += b.memory.SizeBytes
		switch {
		case b.adopted:
			m.logFailure("memory of others in a closing manager", b.returnToOwner())
		case b.link == nil || b.link.left == 1:
			// Closing the pool frees what could not be freed here.
			m.logFailure("a block of a closing manager", b.freeMemory(nil))
		}
		m.logFailure("the handle of a block of a closing manager", b.manager.bury(b))
		return true
	})
	m.owner.flushUnlinks()
	if count > 0 {
		m.owner.engine.Log(engine.Warning, fmt.Sprintf(
			"a manager was closed by force with %d live blocks of %d bytes", count, bytes))
	}
	return nil
}

// eachVictim visits the blocks that go with the manager: its own and those which are
// linked to its memory.
func (m *Manager) eachVictim(visit func(*block) bool) {
	m.factory.memory.Each(func(_ uint64, b *block) bool {
		if b.manager != m && (b.link == nil || b.link.owner != m) {
			return true
		}
		return visit(b)
	})
}

// work is what is in flight on many blocks: each stream and each operation
// once.
type work struct {
	streams    map[*stream]bool
	operations map[*operation]bool
}

func newWork() *work {
	return &work{streams: map[*stream]bool{}, operations: map[*operation]bool{}}
}

func (w *work) add(b *block) {
	for _, s := range b.streams {
		w.streams[s] = true
	}
	for _, o := range b.operations {
		if !w.operations[o] {
			o.keep()
			w.operations[o] = true
		}
	}
}

// wait waits for the present end of each stream, and for the operations on
// those where no end can be marked.
func (w *work) wait() error {
	unmarked := map[*stream]bool{}
	for s := range w.streams {
		fence, err := s.fence()
		if err != nil {
			unmarked[s] = true
			continue
		}
		if fence == nil {
			continue
		}
		err = fence.Synchronize(device.Forever)
		s.owner.closeEvents(fence)
		if err != nil && !errors.Is(err, device.CodeDeviceLost) {
			return err
		}
	}
	for o := range w.operations {
		if !unmarked[o.stream] {
			continue
		}
		if err := o.wait(); err != nil && !errors.Is(err, device.CodeDeviceLost) {
			return err
		}
	}
	return nil
}

func (w *work) release() {
	for o := range w.operations {
		o.release()
	}
}

// closePools closes every pool. One that fails stays, for another try.
func (m *Manager) closePools() error {
	m.mu.Lock()
	homes := m.listHomes()
	m.mu.Unlock()
	var failures error
	for _, h := range homes {
		// No call is under way that could still want it, and no handle leads to
		// what is live in it.
		if err := h.pool.Close(true); err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		m.mu.Lock()
		m.dropHome(h)
		m.mu.Unlock()
	}
	return failures
}

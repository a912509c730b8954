package manager

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// Close destroys the manager and releases its memory. Without force it returns
// CodeBusy, and changes nothing, while blocks are live. With force it waits for the
// work that is queued on the streams that have used the blocks, and frees the blocks
// with their handles; if the wait fails, nothing has changed. If the driver fails to
// release memory, the manager cannot be used any more, but Close may be called again.
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

// HasEnded reports whether the manager is closed or closing. Close accepts a manager in
// these states.
func (m *Manager) HasEnded() bool { return m.closing.Load() }

// beginClose makes the manager reject new blocks and work: with force at once, and
// without force if no block is live. It waits for calls in progress.
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
				"%s still live, and %s of other managers linked to memory of this manager",
				device.Count(live, "block"), device.Count(m.lent, "block")).On(m.owner.engine.ID())
		}
		if m.calls == 0 {
			m.closing.Store(true)
			return nil
		}
		m.changed.Wait()
	}
}

// killBlocks waits for the work on every live block and then frees all blocks. New work
// is already rejected, so a block that was checked here under its lock gets no more
// work.
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
			m.logFailure("external memory in a closing manager", b.returnToOwner())
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
			"forced close of a manager with %s of %v", device.Count(count, "live block"), device.Size(bytes)))
	}
	return nil
}

// eachVictim visits the blocks that end with the manager: its own blocks and those
// linked to its memory.
func (m *Manager) eachVictim(visit func(*block) bool) {
	m.factory.memory.Each(func(_ uint64, b *block) bool {
		if b.manager != m && (b.link == nil || b.link.owner != m) {
			return true
		}
		return visit(b)
	})
}

// work is the work in flight on many blocks, with each stream and each operation once.
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

// wait waits for the present end of each stream. For streams whose end cannot be marked
// it waits for the operations.
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

// closePools closes every pool. A pool that fails to close stays for another attempt.
func (m *Manager) closePools() error {
	m.mu.Lock()
	homes := m.listHomes()
	m.mu.Unlock()
	var failures error
	for _, h := range homes {
		// No call in progress can use the pool, and the blocks that are live in it have
		// no handles.
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

package manager

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// ready has a stream for the copies on which nothing is queued. What it still has
// from a copy that took longer than its budget is waited for.
func (d *defragmentation) ready() error {
	m := d.manager
	r := &m.relocator
	if r.stream == nil {
		made, err := m.owner.engine.Device().NewStream()
		if err != nil {
			return err
		}
		r.stream = &stream{owner: m.owner, dev: made}
		return nil
	}
	// A failure of that copy was told, or changed nothing.
	waited := r.stream.dev.Synchronize(d.left())
	idle, err := r.stream.dev.Idle()
	switch {
	case err != nil:
		return err
	case !idle && errors.Is(waited, device.CodeTimeout):
		return errOverBudget
	case !idle:
		return waited
	}
	for _, place := range r.owed {
		place.pool.Abandon(place.claim)
	}
	r.owed = nil
	return nil
}

// moveOne moves a block to its claimed place, or gives the place back. The lock of
// the block is held from the check that nobody uses it until its address is
// another one: a call that wants the block waits for that. False without an error:
// the block stays, and that is counted, or is gone.
func (d *defragmentation) moveOne(p *pool.Pool, b *block, c pool.Claim) (moved bool, err error) {
	if d.over() {
		p.Abandon(c)
		return false, errOverBudget
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead || b.memory.Addr != c.From || !d.mayMove(b) {
		p.Abandon(c)
		return false, nil
	}
	if d.manager.closing.Load() {
		p.Abandon(c)
		return false, d.manager.closedError(opMove)
	}
	if err := d.copyLocked(b, c); err != nil {
		d.manager.abandonBehindCopy(p, c)
		return false, err
	}
	if !p.Settle(c) {
		p.Abandon(c)
		return false, nil
	}
	b.memory.Addr = c.To
	d.stats.BlocksMoved++
	d.stats.BytesMoved += c.SizeBytes
	return true, nil
}

// copyLocked copies a block's bytes to its new place and waits for that, part by part,
// within the budget. Each part is an operation on the block, so that one that is not
// waited for to its end keeps the block's memory where it is. The caller holds b.mu.
func (d *defragmentation) copyLocked(b *block, c pool.Claim) error {
	on := d.manager.relocator.stream
	for done := uint64(0); done < c.SizeBytes; {
		if d.over() {
			return errOverBudget
		}
		part := min(c.SizeBytes-done, partBytes)
		o, err := enqueue(opMove, on, func(dev device.Stream) error {
			return dev.Copy(c.To+device.Addr(done), c.From+device.Addr(done), part)
		}, 1, b)
		if err != nil {
			return err
		}
		err = on.dev.Synchronize(d.left())
		if err == nil {
			o.passed.Store(true)
		}
		o.release()
		if errors.Is(err, device.CodeTimeout) {
			return errOverBudget
		}
		if err != nil {
			return err
		}
		done += part
	}
	return nil
}

// abandonBehindCopy gives a place back to which a copy may still be on its way.
func (m *Manager) abandonBehindCopy(p *pool.Pool, c pool.Claim) {
	on := m.relocator.stream
	fence, err := on.fence()
	switch {
	case err == nil && fence == nil:
		p.Abandon(c)
	case err == nil:
		p.Abandon(c, fence)
	case on.drain() == nil:
		p.Abandon(c)
	default:
		m.relocator.owed = append(m.relocator.owed, owedPlace{p, c})
	}
}

// closeRelocator ends the stream of the copies. The pools are closed, so nobody
// waits for a place that is owed.
func (m *Manager) closeRelocator() error {
	r := &m.relocator
	r.owed, r.plan = nil, nil
	if r.stream == nil {
		return nil
	}
	if err := r.stream.destroy(true); err != nil {
		return err
	}
	r.stream = nil
	return nil
}

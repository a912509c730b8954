package manager

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager/relocation"
	"ferrum_mem/core/pool"
)

// partBytes is copied between two checks of the budget.
const partBytes = 8 << 20

// blockPool has the calls of a pool that a relocation needs.
type blockPool struct{ *pool.Pool }

func (p blockPool) Relocate(movable []pool.Movable) (relocation.Run, error) {
	return p.Pool.Relocate(movable)
}

// mover moves the blocks of a manager. The call that moves blocks owns its fields.
type mover struct {
	*Manager
	// stream copies the bytes; nil until the first move. No caller can use it and
	// nothing else is queued on it, so a wait for it always ends.
	stream *stream
	// owed has reserved targets to which a copy may still be in flight without an event
	// that marks its end.
	owed []owedPlace
}

type owedPlace struct {
	pool  *pool.Pool
	claim pool.Claim
}

// Scan visits the blocks of all managers.
func (m *mover) Scan(from, count uint64, visit func(*block)) (next uint64) {
	return m.factory.memory.Scan(from, count, func(_ uint64, b *block) { visit(b) })
}

func (m *mover) Made() uint64 { return m.factory.blocks.Load() }

func (m *mover) Live() uint64 { return m.liveBlocks() }

func (m *mover) Look(b *block) (in blockPool, at pool.Movable, why relocation.Reason, there bool) {
	if b.manager != m.Manager {
		return blockPool{}, pool.Movable{}, relocation.None, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return blockPool{}, pool.Movable{}, relocation.None, false
	}
	if why := b.whyItStays(); why != relocation.None {
		return blockPool{}, pool.Movable{}, why, true
	}
	return blockPool{b.home.pool}, pool.Movable{Addr: b.memory.Addr, AlignmentBytes: b.alignment}, relocation.None, true
}

// whyItStays returns the reason why a block may not move. The caller holds b.mu.
func (b *block) whyItStays() relocation.Reason {
	switch {
	case !b.relocatable:
		return relocation.NotRelocatable
	case b.manager.config.EnableDebug:
		return relocation.Debugged
	case b.pins != 0:
		return relocation.Pinned
	case b.mappings.Len() != 0:
		return relocation.Mapped
	case b.inUseLocked():
		return relocation.InUse
	}
	return relocation.None
}

// inUseLocked reports whether queued work may use the block, including the caller's own
// work on a stream that has used it. The caller holds b.mu.
func (b *block) inUseLocked() bool {
	b.prune()
	for _, s := range b.streams {
		if idle, err := s.settled(); err != nil || !idle {
			return true
		}
	}
	return len(b.operations) > 0
}

// Ready creates the stream for the copies, if necessary, and waits until nothing is
// queued on it. A copy that exceeded the budget of an earlier call may still be queued.
func (m *mover) Ready(budget relocation.Budget) error {
	if m.stream == nil {
		made, err := m.owner.engine.Device().NewStream()
		if err != nil {
			return err
		}
		m.stream = &stream{owner: m.owner, dev: made}
		return nil
	}
	// A failure of that copy was already reported, or changed nothing.
	waited := m.stream.dev.Synchronize(budget.Left())
	idle, err := m.stream.dev.Idle()
	switch {
	case err != nil:
		return err
	case !idle && errors.Is(waited, device.CodeTimeout):
		return relocation.ErrOverBudget
	case !idle:
		return waited
	}
	for _, place := range m.owed {
		place.pool.Abandon(place.claim)
	}
	m.owed = nil
	return nil
}

// Move moves a block to its reserved target, or releases the target. The lock of the
// block is held from the check that no work uses it until its address has changed.
// Calls that need the block wait for that.
func (m *mover) Move(b *block, p blockPool, c pool.Claim, budget relocation.Budget) (moved bool, why relocation.Reason, err error) {
	if budget.Over() {
		p.Abandon(c)
		return false, relocation.None, relocation.ErrOverBudget
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead || b.memory.Addr != c.From {
		p.Abandon(c)
		return false, relocation.None, nil
	}
	if why := b.whyItStays(); why != relocation.None {
		p.Abandon(c)
		return false, why, nil
	}
	if m.closing.Load() {
		p.Abandon(c)
		return false, relocation.None, m.closedError(opMove)
	}
	if err := m.copyLocked(b, c, budget); err != nil {
		m.abandonBehindCopy(p.Pool, c)
		return false, relocation.None, err
	}
	if !p.Settle(c) {
		p.Abandon(c)
		return false, relocation.None, nil
	}
	b.memory.Addr = c.To
	return true, relocation.None, nil
}

// copyLocked copies a block's bytes to its target and waits for the copy, part by part,
// within the budget. Each part is an operation on the block, so that a copy that was
// not waited for keeps the block's memory. The caller holds b.mu.
func (m *mover) copyLocked(b *block, c pool.Claim, budget relocation.Budget) error {
	on := m.stream
	for done := uint64(0); done < c.SizeBytes; {
		if budget.Over() {
			return relocation.ErrOverBudget
		}
		part := min(c.SizeBytes-done, partBytes)
		o, err := enqueue(opMove, on, func(dev device.Stream) error {
			return dev.Copy(c.To+device.Addr(done), c.From+device.Addr(done), part)
		}, 1, b)
		if err != nil {
			return err
		}
		err = on.dev.Synchronize(budget.Left())
		if err == nil {
			o.passed.Store(true)
		}
		o.release()
		if errors.Is(err, device.CodeTimeout) {
			return relocation.ErrOverBudget
		}
		if err != nil {
			return err
		}
		done += part
	}
	return nil
}

// abandonBehindCopy releases a target to which a copy may still be in flight.
func (m *mover) abandonBehindCopy(p *pool.Pool, c pool.Claim) {
	on := m.stream
	fence, err := on.fence()
	switch {
	case err == nil && fence == nil:
		p.Abandon(c)
	case err == nil:
		p.Abandon(c, fence)
	case on.drain() == nil:
		p.Abandon(c)
	default:
		m.owed = append(m.owed, owedPlace{p, c})
	}
}

// closeRelocator closes the stream of the copies. The pools are closed, so nothing
// waits for owed targets.
func (m *Manager) closeRelocator() error {
	m.relocator.Forget()
	m.mover.owed = nil
	if m.mover.stream == nil {
		return nil
	}
	if err := m.mover.stream.destroy(true); err != nil {
		return err
	}
	m.mover.stream = nil
	return nil
}

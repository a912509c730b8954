package manager

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

const (
	// batchBytes is how much is chosen at a time: a choice looks at all blocks of a
	// pool.
	batchBytes = 64 << 20
	// partBytes is copied between two looks at the budget.
	partBytes = 8 << 20
)

// relocator is what a manager moves its blocks with.
type relocator struct {
	// turn is held by the one call that moves blocks, and guards the rest.
	turn chan struct{}
	// stream copies the bytes; nil until the first move. No caller knows it, and
	// nothing else is queued on it, so waiting for it always ends.
	stream *stream
	// owed are places to which a copy may still be on its way, though no event
	// could be had that says when it is done.
	owed []owedPlace
}

type owedPlace struct {
	pool  *pool.Pool
	claim pool.Claim
}

// defragmentation is one call of Defragment that moves blocks.
type defragmentation struct {
	manager *Manager
	deadline
	stats DefragmentationStats
}

// errOverBudget ends the moving.
var errOverBudget = errors.New("the budget of a defragmentation is over")

// candidates are the blocks of a pool that may move, by address.
type candidates map[device.Addr]*block

// move moves what can be moved and is worth it.
func (d *defragmentation) move() error {
	m := d.manager
	// Blocks are looked for in the turn: those found before it may have been moved,
	// and others may lie where they were.
	if !d.takeTurn() {
		d.overBudget(m.liveBlocks())
		return nil
	}
	defer func() { <-m.relocator.turn }()
	byHome := d.findCandidates()
	m.mu.Lock()
	homes := m.listHomesLocked()
	m.mu.Unlock()
	for _, h := range homes {
		if found := byHome[h]; found != nil {
			if err := d.moveIn(h, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeTurn waits until no other call moves blocks; false: the budget is over.
func (d *defragmentation) takeTurn() bool {
	left := d.left()
	if left == 0 {
		return false
	}
	turn := d.manager.relocator.turn
	if left == device.Forever {
		turn <- struct{}{}
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case turn <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

func (d *defragmentation) overBudget(blocks uint64) {
	d.stats.BudgetEnded = true
	d.stats.Skipped.OverBudget += blocks
}

// findCandidates finds the blocks that may move, and counts the others.
func (d *defragmentation) findCandidates() map[*home]candidates {
	byHome := map[*home]candidates{}
	d.manager.eachBlock(func(b *block) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.dead || !d.mayMoveLocked(b) {
			return true
		}
		if byHome[b.home] == nil {
			byHome[b.home] = candidates{}
		}
		byHome[b.home][b.memory.Addr] = b
		return true
	})
	return byHome
}

// mayMoveLocked says whether a block may move, and counts the reason if not.
func (d *defragmentation) mayMoveLocked(b *block) bool {
	skipped := &d.stats.Skipped
	switch {
	case !b.relocatable:
		skipped.NotRelocatable++
	case d.manager.config.EnableDebug:
		skipped.Debugged++
	case b.pins != 0:
		skipped.Pinned++
	case b.inUseLocked():
		skipped.InUse++
	default:
		return true
	}
	return false
}

// inUseLocked says whether queued work may use the block: also the caller's own
// on a stream that has used it.
func (b *block) inUseLocked() bool {
	b.pruneLocked()
	for _, s := range b.streams {
		if idle, err := s.idle(); err != nil || !idle {
			return true
		}
	}
	return len(b.operations) > 0
}

// moveIn moves blocks of one pool.
func (d *defragmentation) moveIn(h *home, found candidates) error {
	movable := make(map[device.Addr]uint64, len(found))
	for addr, b := range found {
		movable[addr] = b.alignment
	}
	run, err := h.pool.Relocate(movable)
	if err != nil {
		if errors.Is(err, device.CodeUnsupported) {
			d.stats.Skipped.Debugged += uint64(len(found))
			return nil
		}
		return closedIsNoError(err)
	}
	// What is emptied is room for what comes next.
	h.pool.PauseReturn()
	defer h.pool.ResumeReturn()
	left := uint64(len(found))
	for {
		if d.over() {
			d.overBudget(left)
			return nil
		}
		chosen, noRoom, err := run.Next(batchBytes)
		if err != nil {
			return closedIsNoError(err)
		}
		if len(chosen) == 0 {
			d.stats.Skipped.NoRoom += noRoom
			d.stats.BlocksKept += left - noRoom
			return nil
		}
		ended, err := d.evacuateAll(h, found, chosen)
		left -= ended
		if errors.Is(err, errOverBudget) {
			d.overBudget(left)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// closedIsNoError takes the error of a pool that was replaced and has been closed
// since it was listed for none: its blocks are gone.
func closedIsNoError(err error) error {
	if errors.Is(err, device.CodeInvalidState) {
		return nil
	}
	return err
}

// evacuateAll moves what was chosen, and says how many blocks it is done with.
func (d *defragmentation) evacuateAll(h *home, found candidates, chosen []pool.Evacuation) (ended uint64, err error) {
	if err = d.ready(); err != nil {
		for _, e := range chosen {
			abandonAll(h.pool, e.Claims)
		}
		return 0, err
	}
	for i, e := range chosen {
		some, err := d.evacuate(h, found, e)
		ended += some
		if err != nil {
			for _, rest := range chosen[i+1:] {
				abandonAll(h.pool, rest.Claims)
			}
			return ended, err
		}
	}
	return ended, nil
}

// evacuate moves all blocks of a page or segment, up to the first that stays: then
// it does not come free.
func (d *defragmentation) evacuate(h *home, found candidates, e pool.Evacuation) (ended uint64, err error) {
	for at, c := range e.Claims {
		moved, err := d.moveOne(h.pool, found[c.From], c)
		if err == nil {
			ended++
		}
		if !moved {
			abandonAll(h.pool, e.Claims[at+1:])
			return ended, err
		}
	}
	if h.pool.PhysicalPageBytes() != 0 {
		d.stats.PagesEmptied++
	} else {
		d.stats.SegmentsEmptied++
	}
	return ended, nil
}

func abandonAll(p *pool.Pool, claims []pool.Claim) {
	for _, c := range claims {
		p.Abandon(c)
	}
}

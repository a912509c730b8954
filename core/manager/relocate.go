package manager

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// partBytes is copied between two looks at the budget.
const partBytes = 8 << 20

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

// candidates are the blocks of a pool that may move.
type candidates []*block

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

// looksPerBudget is how many blocks are looked at between two looks at the budget.
const looksPerBudget = 256

// findCandidates finds the blocks that may move, and counts the others. Those that
// the budget does not last for are not looked at.
func (d *defragmentation) findCandidates() map[*home]candidates {
	m := d.manager
	byHome, found, looks := map[*home]candidates{}, uint64(0), 0
	ended := d.over()
	live := m.liveBlocks()
	m.factory.memory.Each(func(_ uint64, b *block) bool {
		if looks++; ended || looks%looksPerBudget == 0 && d.over() {
			ended = true
			return false
		}
		if b.manager != m {
			return true
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.dead && d.mayMoveLocked(b) {
			byHome[b.home] = append(byHome[b.home], b)
			found++
		}
		return true
	})
	if seen := found + d.stats.Skipped.sum(); ended {
		d.overBudget(live - min(live, seen))
	}
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
	case len(b.mappings) != 0:
		skipped.Mapped++
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
	run, err := h.pool.Relocate(found.movable(), d.over)
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
		next, err := run.Next()
		if err != nil {
			return closedIsNoError(err)
		}
		if len(next.Claims) == 0 {
			if !run.Ended() {
				d.overBudget(left)
				return nil
			}
			d.stats.Skipped.NoRoom += run.NoRoom()
			d.stats.BlocksKept += left - run.NoRoom()
			return nil
		}
		ended, err := d.evacuate(h, found, next.Claims)
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

// movable is the candidates as their pool knows them. Their addresses stay while the
// caller has the turn.
func (found candidates) movable() []pool.Movable {
	movable := make([]pool.Movable, len(found))
	for i, b := range found {
		b.mu.Lock()
		movable[i] = pool.Movable{Addr: b.memory.Addr, AlignmentBytes: b.alignment}
		b.mu.Unlock()
	}
	return movable
}

// closedIsNoError takes the error of a pool that was replaced and has been closed
// since it was listed for none: its blocks are gone.
func closedIsNoError(err error) error {
	if errors.Is(err, device.CodeInvalidState) {
		return nil
	}
	return err
}

// evacuate moves all blocks of a page or segment, up to the first that stays: then
// it does not come free. It says how many blocks it is done with.
func (d *defragmentation) evacuate(h *home, found candidates, claims []pool.Claim) (ended uint64, err error) {
	if err = d.ready(); err != nil {
		h.pool.AbandonAll(claims)
		return 0, err
	}
	for at, c := range claims {
		moved, err := d.moveOne(h.pool, found[c.Index], c)
		if err == nil {
			ended++
		}
		if !moved {
			h.pool.AbandonAll(claims[at+1:])
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

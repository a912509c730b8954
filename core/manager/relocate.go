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
	// plan is what a call has left whose budget was over, or nil.
	plan *plan
}

type owedPlace struct {
	pool  *pool.Pool
	claim pool.Claim
}

// defragmentation is one call of Defragment that moves blocks.
type defragmentation struct {
	manager *Manager
	budget
	plan  *plan
	stats DefragmentationStats
}

// budget is the time that there is: a deadline.
type budget interface {
	left() time.Duration
	over() bool
}

// errOverBudget ends the moving.
var errOverBudget = errors.New("the budget of a defragmentation is over")

// move moves what can be moved and is worth it.
func (d *defragmentation) move() error {
	m := d.manager
	// Blocks are looked for in the turn: those found before it may have been moved,
	// and others may lie where they were.
	if !d.takeTurn() {
		d.stats.BudgetEnded = true
		d.stats.Skipped.OverBudget = m.liveBlocks()
		return nil
	}
	defer func() { <-m.relocator.turn }()
	d.plan, m.relocator.plan = m.relocator.plan, nil
	goesOn := d.plan != nil && d.left() != device.Forever
	if !goesOn {
		d.plan = m.newPlan()
	}
	err := d.carryOut()
	if err == nil && goesOn && !d.stats.BudgetEnded && d.plan.newcomers() != 0 {
		// What that plan knew nothing of has come since another call made it.
		d.plan = m.newPlan()
		err = d.carryOut()
	}
	if err != nil {
		return err
	}
	d.count()
	if d.stats.BudgetEnded {
		m.relocator.plan = d.plan
	}
	return nil
}

// carryOut goes on with the plan until it is done or the budget is over.
func (d *defragmentation) carryOut() error {
	if !d.look() {
		d.stats.BudgetEnded = true
		return nil
	}
	for len(d.plan.parts) > 0 {
		err := d.moveIn(d.plan.parts[0])
		if errors.Is(err, errOverBudget) {
			d.stats.BudgetEnded = true
			return nil
		}
		if err != nil {
			return err
		}
		d.plan.parts[0], d.plan.parts = nil, d.plan.parts[1:]
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

// mayMove says whether a block may move, and counts the reason if not. The caller holds
// b.mu.
func (d *defragmentation) mayMove(b *block) bool {
	skipped := &d.plan.skipped
	switch {
	case !b.relocatable:
		skipped.NotRelocatable++
	case d.manager.config.EnableDebug:
		skipped.Debugged++
	case b.pins != 0:
		skipped.Pinned++
	case b.mappings.Len() != 0:
		skipped.Mapped++
	case b.inUseLocked():
		skipped.InUse++
	default:
		return true
	}
	return false
}

// inUseLocked says whether queued work may use the block: also the caller's own on a
// stream that has used it. The caller holds b.mu.
func (b *block) inUseLocked() bool {
	b.prune()
	for _, s := range b.streams {
		if idle, err := s.idle(); err != nil || !idle {
			return true
		}
	}
	return len(b.operations) > 0
}

// moveIn moves blocks of one pool.
func (d *defragmentation) moveIn(part *planPart) error {
	from := part.home.pool
	if part.run == nil {
		run, err := from.Relocate(part.movable)
		if errors.Is(err, device.CodeUnsupported) {
			d.plan.skipped.Debugged += part.left
			return nil
		}
		if err != nil {
			return closedIsNoError(err)
		}
		part.run = run
	}
	// What is emptied is room for what comes next.
	from.PauseReturn()
	defer from.ResumeReturn()
	for {
		next, err := part.run.Next(d.over)
		switch {
		case err != nil:
			return closedIsNoError(err)
		case part.run.Ended():
			d.plan.skipped.NoRoom += part.run.NoRoom()
			return nil
		case len(next.Claims) == 0:
			return errOverBudget
		}
		if err := d.evacuate(part, next.Claims); err != nil {
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

// evacuate moves all blocks of a page or segment, up to the first that stays: then
// it does not come free.
func (d *defragmentation) evacuate(part *planPart, claims []pool.Claim) error {
	from := part.home.pool
	if err := d.ready(); err != nil {
		from.AbandonAll(claims)
		part.run.NotTried(claims)
		return err
	}
	for at, c := range claims {
		moved, err := d.moveOne(from, part.blocks[c.Index], c)
		if err == nil {
			part.left--
		}
		if !moved {
			from.AbandonAll(claims[at+1:])
			if err != nil {
				part.run.NotTried(claims[at:])
			}
			return err
		}
	}
	if from.PhysicalPageBytes() != 0 {
		d.stats.PagesEmptied++
	} else {
		d.stats.SegmentsEmptied++
	}
	return nil
}

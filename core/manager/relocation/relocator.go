package relocation

import (
	"time"

	"ferrum_mem/core/device"
)

// Relocator has the turn, and the rest of a plan.
type Relocator[B any, P Pool] struct {
	// turn is held by the one call that moves blocks, and guards plan.
	turn chan struct{}
	// plan is the rest of a call whose budget has ended, or nil.
	plan *plan[B, P]
}

// New returns a Relocator without a plan.
func New[B any, P Pool]() *Relocator[B, P] {
	return &Relocator[B, P]{turn: make(chan struct{}, 1)}
}

// Run moves the blocks that can be moved and whose move frees memory, within the
// budget. It waits for another call that moves blocks, also within the budget.
func (r *Relocator[B, P]) Run(blocks Blocks[B, P], budget Budget) (Stats, error) {
	// Look for blocks only with the turn: blocks found earlier may have been moved, and
	// others may be at their addresses.
	if !r.takeTurn(budget) {
		return Stats{BudgetEnded: true, Skipped: Skipped{OverBudget: blocks.Live()}}, nil
	}
	defer func() { <-r.turn }()
	var stats Stats
	now := r.plan
	r.plan = nil
	goesOn := now != nil && budget.Left() != device.Forever
	if !goesOn {
		now = newPlan(blocks)
	}
	err := now.carryOut(budget, &stats)
	if err == nil && goesOn && !stats.BudgetEnded && now.newcomers() != 0 {
		// Blocks that the old plan does not know were allocated since another call made
		// it.
		now = newPlan(blocks)
		err = now.carryOut(budget, &stats)
	}
	if err != nil {
		return Stats{}, err
	}
	now.count(&stats)
	if stats.BudgetEnded {
		r.plan = now
	}
	return stats, nil
}

// Forget drops the rest of a plan. No call may be running.
func (r *Relocator[B, P]) Forget() { r.plan = nil }

// takeTurn waits until no other call moves blocks; false: the budget has ended.
func (r *Relocator[B, P]) takeTurn(budget Budget) bool {
	left := budget.Left()
	if left == 0 {
		return false
	}
	if left == device.Forever {
		r.turn <- struct{}{}
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case r.turn <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

package relocation

import (
	"time"

	"ferrum_mem/core/device"
)

// Relocator has the turn, and what is left of a plan.
type Relocator[B any, P Pool] struct {
	// turn is held by the one call that moves blocks, and guards plan.
	turn chan struct{}
	// plan is what a call has left whose budget was over, or nil.
	plan *plan[B, P]
}

// New has no plan.
func New[B any, P Pool]() *Relocator[B, P] {
	return &Relocator[B, P]{turn: make(chan struct{}, 1)}
}

// Run moves what can be moved and is worth it, within the budget. Another call that moves
// blocks is waited for, within the budget too.
func (r *Relocator[B, P]) Run(blocks Blocks[B, P], budget Budget) (Stats, error) {
	// Blocks are looked for in the turn: those found before it may have been moved,
	// and others may lie where they were.
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
		// What that plan knew nothing of has come since another call made it.
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

// Forget drops what is left of a plan. No call may run.
func (r *Relocator[B, P]) Forget() { r.plan = nil }

// takeTurn waits until no other call moves blocks; false: the budget is over.
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

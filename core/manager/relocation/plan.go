package relocation

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// Budget is the time that a call may use.
type Budget interface {
	// Left returns the rest of the budget, or device.Forever; 0: it has ended.
	Left() time.Duration
	Over() bool
}

// ErrOverBudget is the error of Ready and Move when the budget has ended.
var ErrOverBudget = errors.New("the budget of a relocation is used up")

// Pool has the blocks, and chooses which page or segment to empty next.
type Pool interface {
	comparable
	Relocate(movable []pool.Movable) (Run, error)
	// PauseReturn and ResumeReturn enclose a relocation. Between them emptied memory is
	// not released, because it is free space for the next moves.
	PauseReturn()
	ResumeReturn()
	AbandonAll(claims []pool.Claim)
	// PhysicalPageBytes is 0 for a segmented pool.
	PhysicalPageBytes() uint64
}

// Run is one relocation of a pool, such as *pool.Relocation.
type Run interface {
	Next(over func() bool) (pool.Evacuation, error)
	Ended() bool
	NoRoom() uint64
	NotTried(claims []pool.Claim)
}

// Blocks is the owner of the blocks.
type Blocks[B any, P Pool] interface {
	// Scan visits at most count blocks from a position on, and returns the position to
	// continue; the same position means that all were visited.
	Scan(from, count uint64, visit func(B)) (next uint64)
	// Made returns the number of blocks ever created, Live the number of live blocks.
	Made() uint64
	Live() uint64
	// Look returns where a block lies, or the reason why it may not move; there is
	// false for a block of another owner.
	Look(b B) (in P, at pool.Movable, why Reason, there bool)
	// Ready is called before a page is emptied.
	Ready(budget Budget) error
	// Move moves a block to its reserved target, or releases the target. False without
	// an error: the block stays, for the reason, or was freed.
	Move(b B, in P, to pool.Claim, budget Budget) (moved bool, why Reason, err error)
}

// lookAtOnce is the number of blocks that are checked between two checks of the budget.
const lookAtOnce = 256

// plan is the work for some blocks.
type plan[B any, P Pool] struct {
	blocks Blocks[B, P]
	// made is the number of blocks created before the plan.
	made uint64
	// next is the position where the check of blocks continues. looked states that all
	// were checked.
	next   uint64
	looked bool
	// parts has the pools that are not complete.
	parts  []*part[B, P]
	partOf map[P]*part[B, P]
	// skipped counts the blocks that may not move; OverBudget is 0.
	skipped Skipped
}

// part is the part of a plan for one pool.
type part[B any, P Pool] struct {
	in P
	// blocks has the blocks that may move, and movable the same blocks as the pool
	// knows them.
	blocks  []B
	movable []pool.Movable
	// left counts the blocks whose move was not tried.
	left uint64
	// run is nil until the pool's turn.
	run Run
}

func newPlan[B any, P Pool](blocks Blocks[B, P]) *plan[B, P] {
	return &plan[B, P]{blocks: blocks, made: blocks.Made(), partOf: map[P]*part[B, P]{}}
}

// newcomers returns about how many blocks were created since the plan; 0: none.
func (p *plan[B, P]) newcomers() uint64 { return p.blocks.Made() - p.made }

// look finds the blocks that may move, and counts the others; false: the budget has
// ended.
func (p *plan[B, P]) look(budget Budget) bool {
	for !p.looked {
		if budget.Over() {
			return false
		}
		next := p.blocks.Scan(p.next, lookAtOnce, p.lookAt)
		p.looked, p.next = next == p.next, next
	}
	p.partOf = nil
	return true
}

func (p *plan[B, P]) lookAt(b B) {
	in, at, why, there := p.blocks.Look(b)
	if !there {
		return
	}
	if why != None {
		p.skipped.add(why)
		return
	}
	of := p.partOf[in]
	if of == nil {
		of = &part[B, P]{in: in}
		p.parts, p.partOf[in] = append(p.parts, of), of
	}
	// The address does not change while the caller has the turn, and longer: only this
	// plan may change it.
	of.blocks, of.movable = append(of.blocks, b), append(of.movable, at)
	of.left++
}

// carryOut continues until the plan is complete or the budget has ended.
func (p *plan[B, P]) carryOut(budget Budget, stats *Stats) error {
	if !p.look(budget) {
		stats.BudgetEnded = true
		return nil
	}
	for len(p.parts) > 0 {
		err := p.empty(p.parts[0], budget, stats)
		if errors.Is(err, ErrOverBudget) {
			stats.BudgetEnded = true
			return nil
		}
		if err != nil {
			return err
		}
		p.parts[0], p.parts = nil, p.parts[1:]
	}
	return nil
}

// empty moves blocks of one pool.
func (p *plan[B, P]) empty(of *part[B, P], budget Budget, stats *Stats) error {
	if of.run == nil {
		run, err := of.in.Relocate(of.movable)
		if errors.Is(err, device.CodeUnsupported) {
			p.skipped.Debugged += of.left
			return nil
		}
		if err != nil {
			return closedIsNoError(err)
		}
		of.run = run
	}
	of.in.PauseReturn()
	defer of.in.ResumeReturn()
	for {
		next, err := of.run.Next(budget.Over)
		switch {
		case err != nil:
			return closedIsNoError(err)
		case of.run.Ended():
			p.skipped.NoRoom += of.run.NoRoom()
			return nil
		case len(next.Claims) == 0:
			return ErrOverBudget
		}
		if err := p.evacuate(of, next.Claims, budget, stats); err != nil {
			return err
		}
	}
}

// closedIsNoError ignores the error of a replaced pool that was closed since its blocks
// were found: the blocks were freed.
func closedIsNoError(err error) error {
	if errors.Is(err, device.CodeInvalidState) {
		return nil
	}
	return err
}

// evacuate moves all blocks of a page or segment. It stops at the first block that
// stays, because then the page does not become free.
func (p *plan[B, P]) evacuate(of *part[B, P], claims []pool.Claim, budget Budget, stats *Stats) error {
	if err := p.blocks.Ready(budget); err != nil {
		of.in.AbandonAll(claims)
		of.run.NotTried(claims)
		return err
	}
	for at, c := range claims {
		moved, why, err := p.blocks.Move(of.blocks[c.Index], of.in, c, budget)
		p.skipped.add(why)
		if err == nil {
			of.left--
		}
		if !moved {
			of.in.AbandonAll(claims[at+1:])
			if err != nil {
				of.run.NotTried(claims[at:])
			}
			return err
		}
		stats.BlocksMoved++
		stats.BytesMoved += c.SizeBytes
	}
	if of.in.PhysicalPageBytes() != 0 {
		stats.PagesEmptied++
	} else {
		stats.SegmentsEmptied++
	}
	return nil
}

// count counts every live block once in the report. Blocks that an earlier call has
// checked count with the result of that check.
func (p *plan[B, P]) count(stats *Stats) {
	stats.Skipped = p.skipped
	live := p.blocks.Live()
	rest := live - min(live, stats.BlocksMoved+p.skipped.Sum())
	if stats.BudgetEnded {
		stats.Skipped.OverBudget = rest
		if p.looked {
			left := p.newcomers()
			for _, of := range p.parts {
				left += of.left
			}
			stats.Skipped.OverBudget = min(left, rest)
		}
	}
	stats.BlocksKept = rest - stats.Skipped.OverBudget
}

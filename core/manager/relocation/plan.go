package relocation

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// Budget is the time that there is.
type Budget interface {
	// Left is what is left of it, or device.Forever; 0: it is over.
	Left() time.Duration
	Over() bool
}

// ErrOverBudget is what Ready and Move fail with when the budget is over.
var ErrOverBudget = errors.New("the budget of a relocation is over")

// Pool is where blocks lie, and knows which page or segment is to be emptied next.
type Pool interface {
	comparable
	Relocate(movable []pool.Movable) (Run, error)
	// Between these two, what is emptied is not given back: it is room for what comes
	// next.
	PauseReturn()
	ResumeReturn()
	AbandonAll(claims []pool.Claim)
	// PhysicalPageBytes is 0 where segments are taken whole.
	PhysicalPageBytes() uint64
}

// Run is one run over a pool, as *pool.Relocation is.
type Run interface {
	Next(over func() bool) (pool.Evacuation, error)
	Ended() bool
	NoRoom() uint64
	NotTried(claims []pool.Claim)
}

// Blocks is who owns the blocks.
type Blocks[B any, P Pool] interface {
	// Scan visits at most count blocks from a place on, and gives where to go on; the
	// same place again when all were visited.
	Scan(from, count uint64, visit func(B)) (next uint64)
	// Made counts the blocks that were ever made, Live those that are live.
	Made() uint64
	Live() uint64
	// Look says where a block lies; or, with a reason, why it may not move; or that it
	// is none of these blocks.
	Look(b B) (in P, at pool.Movable, why Reason, there bool)
	// Ready is asked before a page is emptied.
	Ready(budget Budget) error
	// Move moves a block to its claimed place, or gives the place back. False without
	// an error: the block stays, for the reason, or is gone.
	Move(b B, in P, to pool.Claim, budget Budget) (moved bool, why Reason, err error)
}

// lookAtOnce is how many blocks are looked at between two looks at the budget.
const lookAtOnce = 256

// plan is what is to be done for some blocks.
type plan[B any, P Pool] struct {
	blocks Blocks[B, P]
	// made is how many blocks had been made before the plan.
	made uint64
	// next is where blocks are looked at next, and looked says that all were.
	next   uint64
	looked bool
	// parts are the pools that are not done.
	parts  []*part[B, P]
	partOf map[P]*part[B, P]
	// skipped counts the blocks that may not move; OverBudget is 0.
	skipped Skipped
}

// part is the part of a plan for one pool.
type part[B any, P Pool] struct {
	in P
	// blocks are those that may move, and movable the same as the pool knows them.
	blocks  []B
	movable []pool.Movable
	// left counts those that no move was tried for.
	left uint64
	// run is nil until the pool's turn comes.
	run Run
}

func newPlan[B any, P Pool](blocks Blocks[B, P]) *plan[B, P] {
	return &plan[B, P]{blocks: blocks, made: blocks.Made(), partOf: map[P]*part[B, P]{}}
}

// newcomers is about how many blocks were made since the plan; 0: none.
func (p *plan[B, P]) newcomers() uint64 { return p.blocks.Made() - p.made }

// look finds the blocks that may move, and counts the others; false: the budget is over.
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
	// The address stays while the caller has the turn, and longer: only this plan may
	// change it.
	of.blocks, of.movable = append(of.blocks, b), append(of.movable, at)
	of.left++
}

// carryOut goes on until all is done or the budget is over.
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

// closedIsNoError takes the error of a pool that was replaced and has been closed
// since its blocks were found for none: they are gone.
func closedIsNoError(err error) error {
	if errors.Is(err, device.CodeInvalidState) {
		return nil
	}
	return err
}

// evacuate moves all blocks of a page or segment, up to the first that stays: then
// it does not come free.
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

// count puts every live block into the report once. What the plan has seen in an
// earlier call counts as it was seen.
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

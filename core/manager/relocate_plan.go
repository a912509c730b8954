package manager

import (
	"ferrum_mem/core/pool"
)

// plan is what is to be done for the blocks of a manager. A call whose budget is over
// leaves it to the next one with a budget: so a small budget gets somewhere, however
// many blocks there are to be looked at. All that it says is looked at again before a
// block is moved. It belongs to who has the turn.
type plan struct {
	manager *Manager
	// order is that of the last block that was made before the plan.
	order uint64
	// nextSlot of the handles is to be looked at next, and looked says that all were.
	nextSlot uint64
	looked   bool
	// parts are the pools that are not done.
	parts  []*planPart
	partOf map[*home]*planPart
	// skipped counts the blocks that may not move; OverBudget is 0.
	skipped Skipped
}

// planPart is the part of a plan for one pool.
type planPart struct {
	home *home
	// blocks are those that may move, and movable the same as the pool knows them.
	blocks  []*block
	movable []pool.Movable
	// left counts those that no move was tried for.
	left uint64
	// run is nil until the pool's turn comes.
	run *pool.Relocation
}

func (m *Manager) newPlan() *plan {
	return &plan{manager: m, order: m.factory.blocks.Load(), partOf: map[*home]*planPart{}}
}

// newcomers is about how many blocks were made since the plan; 0: none.
func (p *plan) newcomers() uint64 { return p.manager.factory.blocks.Load() - p.order }

// slotsPerBudget is how many handles are looked at between two looks at the budget.
const slotsPerBudget = 256

// look finds the blocks that may move, and counts the others; false: the budget is
// over.
func (d *defragmentation) look() bool {
	p := d.plan
	for !p.looked {
		if d.over() {
			return false
		}
		next := d.manager.factory.memory.Scan(p.nextSlot, slotsPerBudget, func(_ uint64, b *block) { d.lookAt(b) })
		p.looked, p.nextSlot = next == p.nextSlot, next
	}
	p.partOf = nil
	return true
}

func (d *defragmentation) lookAt(b *block) {
	p := d.plan
	if b.manager != d.manager {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead || !d.mayMove(b) {
		return
	}
	part := p.partOf[b.home]
	if part == nil {
		part = &planPart{home: b.home}
		p.parts, p.partOf[b.home] = append(p.parts, part), part
	}
	// The address stays while the caller has the turn, and longer: only this plan
	// may change it.
	part.blocks = append(part.blocks, b)
	part.movable = append(part.movable, pool.Movable{Addr: b.memory.Addr, AlignmentBytes: b.alignment})
	part.left++
}

// count puts every live block into the report once. What the plan has seen in an
// earlier call counts as it was seen.
func (d *defragmentation) count() {
	stats, p := &d.stats, d.plan
	stats.Skipped = p.skipped
	live := d.manager.liveBlocks()
	rest := live - min(live, stats.BlocksMoved+p.skipped.sum())
	if stats.BudgetEnded {
		stats.Skipped.OverBudget = rest
		if p.looked {
			left := p.newcomers()
			for _, part := range p.parts {
				left += part.left
			}
			stats.Skipped.OverBudget = min(left, rest)
		}
	}
	stats.BlocksKept = rest - stats.Skipped.OverBudget
}

package pool

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/lending"
	"ferrum_mem/core/rangealloc"
)

// Lending. Large blocks can be allocated by C code. At the end of such a call, the pool
// lends its tables to C (package lending) if it is used only for such calls. C code does
// only what needs no more than these tables, and leaves everything else to the pool.
// Taking heap.mu recalls the tables.

// LeastLentBytes is the size up to which C code does not place blocks: blocks up to this
// size come from the thread caches.
const LeastLentBytes = 1 << 20

// lentTables is the state of lending, guarded by heap.mu.
type lentTables struct {
	heap *heap
	// to is the place in C memory where the tables are lent; nil means that they are not
	// lent.
	to *lending.State
	// others reports whether blocks need treatment that C code cannot do: there are
	// captures or private pools.
	others func() bool
	// of is the segment that is lent.
	of *segment
	// unused counts how often in succession C code did not use the lent tables. pauses is
	// the number of calls during which nothing is lent because of that.
	unused, pauses int
	// recall is recallTables.
	recall func()
}

const (
	// Lending pauses for pausedCalls calls after C code did not use the lent tables
	// maxUnused times in succession.
	maxUnused   = 8
	pausedCalls = 100
)

// LendTo sets the place where a pool may lend its tables, and the handle by which C code
// knows the pool; nil ends lending. While a pool lends to a place, no other pool may lend
// to it.
func LendTo(p *Pool, place *lending.State, handle uint64) {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	p.heap.lent.to = place
	if place != nil {
		place.Pool = handle
	}
}

// lend lends the tables of the segment in which a block was placed or freed, if C code
// can serve the next such call. The caller holds mu by Lock and is about to release it.
// It has checked that the pool is open, is not frozen and has no debug mode.
func (l *lentTables) lend(s *segment) {
	if l.to == nil {
		return
	}
	if l.pauses > 0 {
		l.pauses--
		return
	}
	if !l.arePossible(s) || !l.fill(s) {
		return
	}
	l.of = s
	l.heap.mu.Lend(l.recall)
	l.to.Lend()
}

// arePossible reports whether a call for a plain block needs only the tables of a
// segment.
func (l *lentTables) arePossible(s *segment) bool {
	h := l.heap
	return h.held <= h.threshold && h.inFlight.Count() == 0 && len(h.segments) == 1 && h.streams.linked() == 0 &&
		!s.timed && s.narrow && !l.others()
}

// fill writes the tables that are lent. It returns false if a table cannot be lent now.
func (l *lentTables) fill(s *segment) bool {
	lender, ok := s.strategy.(rangealloc.Lender)
	to, h := l.to, l.heap
	if !ok || !lender.Lend(&to.Places) || !h.counters.Lend(&to.Counters, &to.Places) {
		return false
	}
	infos, ok := s.wordMemory.Share(&s.words)
	if !ok {
		return false
	}
	to.Segment = lending.Segment{
		BaseAddr: uint64(s.base), SizeBytes: s.usable, Infos: infos, Slots: uint64(s.slots),
	}
	to.Pages = lending.Pages{}
	if s.pages != nil {
		if !s.pages.Lend(&to.Pages) {
			return false
		}
		to.Pages.IdleMost = l.idleMost()
	}
	to.Queue = lending.Queue{}
	if queue, ok := h.defaultStream.(device.CountedQueue); ok {
		completed, submitted := queue.QueueCounts()
		to.Queue = lending.Queue{Completed: uint64(completed), Submitted: uint64(submitted)}
	}
	to.TagCount, to.TagsChanged = h.tags.Lendable(), 0
	return true
}

// idleMost returns the number of pages that may be idle before heap.pagesFreed has to be
// called: there is no bound if the worker already watches, and otherwise as many as may
// stay.
func (l *lentTables) idleMost() uint64 {
	h := l.heap
	w := &h.paged.worker
	switch {
	case w.watches && (w.done != nil || w.pauses > 0) || h.held <= h.leastHeld():
		return math.MaxUint64
	case h.paged.shared:
		// readyNow decreases as more pages are idle. This is its lowest value for the
		// pages held.
		return min(h.paged.ready, h.paged.held/(readyShare+1))
	}
	return h.paged.ready
}

// recallTables returns the lent tables to the pool. The caller holds mu.
func (l *lentTables) recallTables() {
	from, s, h := l.to, l.of, l.heap
	from.Recall()
	l.of = nil
	change := h.counters.Absorb(&from.Counters, &from.Places)
	if change.Blocks == 0 && from.Counters.Frees == 0 {
		if from.Counters.Looks != 0 {
			l.unused = 0
		} else if l.unused++; l.unused == maxUnused {
			l.unused, l.pauses = 0, pausedCalls
		}
		return
	}
	l.unused = 0
	s.strategy.(rangealloc.Lender).Absorb(&from.Places)
	s.blocks += change.Blocks
	if from.Counters.Frees != 0 {
		s.full = anyFits
	}
	if s.pages != nil {
		s.pages.Absorb(&from.Pages)
	}
	h.tags.Absorb(from, change)
}

package pool

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/lending"
	"ferrum_mem/core/rangealloc"
)

// Lending. A pool that large blocks are asked of by C lends its tables to C (package lending)
// at the end of such a call, if nothing is going on but such calls: what is not plain C leaves
// to the pool, which has its tables back as soon as anybody takes heap.mu.

// LeastLentBytes is what the blocks are longer than that C places: shorter ones are those of
// the thread caches.
const LeastLentBytes = 1 << 20

// loans is what a heap knows of its lending, under heap.mu.
type loans struct {
	heap *heap
	// to is where the tables are lent; nil: nowhere.
	to *lending.State
	// others asks whether anything is done with the blocks that C must not do: there are
	// captures, or private pools.
	others func() bool
	// of is the segment that is lent.
	of *segment
	// vain counts the loans, one after the other, that nobody used, and pauses the calls
	// after which no loan is tried because of that.
	vain, pauses int
	// recall is loans.takeBack.
	recall func()
}

const (
	// vainLoans is after how many the pool pauses, for so many calls.
	vainLoans   = 8
	pausedCalls = 100
)

// LendTo says where a pool may lend its tables from now on, to a reader who knows it by its
// handle; nil: nowhere. No other pool lends there before this one has another place.
func LendTo(p *Pool, place *lending.State, handle uint64) {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	p.heap.loans.to = place
	if place != nil {
		place.Pool = handle
	}
}

// lend lends the tables of the segment that a block was placed in, or freed, if C can do the
// next such call. The caller holds mu, by Lock, has found the pool open, not frozen and not
// debugging, and is about to let go of it.
func (l *loans) lend(s *segment) {
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

// arePossible says that a call for a plain block needs no more than the tables of a segment.
func (l *loans) arePossible(s *segment) bool {
	h := l.heap
	return h.held <= h.threshold && h.inFlight.Count() == 0 && len(h.segments) == 1 && h.streams.linked() == 0 &&
		!s.timed && s.narrow && !l.others()
}

// fill writes what is lent; false: something of it cannot be lent now.
func (l *loans) fill(s *segment) bool {
	lender, ok := s.strategy.(rangealloc.Lender)
	to, h := l.to, l.heap
	if !ok || !lender.Lend(&to.Places) || !h.books.Lend(&to.Books) {
		return false
	}
	infos, ok := s.wordMemory.Share(&s.words)
	if !ok {
		return false
	}
	to.Segment = lending.Segment{
		BaseAddr: uint64(s.base), SizeBytes: s.usable, Blocks: s.blocks, Full: s.full,
		Infos: infos, Slots: uint64(s.slots),
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
	to.Calls, to.TagCount, to.TagsChanged = 0, h.tags.Lendable(), 0
	return true
}

// idleMost is how many pages may be idle without anybody to tell, see heap.leftPages: somebody
// looks after them already, or they are no more than may stay.
func (l *loans) idleMost() uint64 {
	h := l.heap
	w := &h.paged.worker
	switch {
	case w.watches && (w.done != nil || w.pauses > 0) || h.held <= h.leastHeld():
		return math.MaxUint64
	case h.paged.shared:
		// readyNow is smaller the more pages are idle: of all that are held, so many at most.
		return min(h.paged.ready, h.paged.held/(readyShare+1))
	}
	return h.paged.ready
}

// takeBack takes the tables back. The caller holds mu.
func (l *loans) takeBack() {
	from, s, h := l.to, l.of, l.heap
	from.Recall()
	l.of = nil
	if from.Calls == 0 {
		if l.vain++; l.vain == vainLoans {
			l.vain, l.pauses = 0, pausedCalls
		}
		return
	}
	l.vain = 0
	s.strategy.(rangealloc.Lender).Absorb(&from.Places)
	s.blocks, s.full = from.Segment.Blocks, from.Segment.Full
	if s.pages != nil {
		s.pages.Absorb(&from.Pages)
	}
	h.books.Absorb(&from.Books)
	h.tags.Absorb(from)
}

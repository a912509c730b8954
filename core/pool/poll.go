package pool

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

const (
	// pollBudget bounds the events that an ordinary call asks.
	pollBudget = 4
	// pollAll asks as many as there is any use in.
	pollAll = int(^uint(0) >> 1)
)

// landBlocks bounds the blocks that are taken in while others wait.
const landBlocks = 256

// land takes in freed blocks whose events have passed, no more than landBlocks, asking
// no more than budget events. True: there may be more. The caller holds mu.
func (p *Pool) land(budget int) (more bool) {
	f := &p.flights
	f.quota = landBlocks
	if len(f.unclosed) > 0 {
		f.closeLeft()
	}
	if q := &f.queues[loose]; len(q.fences) > q.head {
		// Half of a bounded look is for the streams.
		share := budget
		if budget == pollBudget && len(f.active) > 0 {
			share = budget / 2
		}
		budget -= share - p.pollLoose(share)
	}
	for visits := len(f.active); visits > 0 && budget > 0 && len(f.active) > 0; visits-- {
		f.cursor %= len(f.active)
		at := f.active[f.cursor]
		budget = p.pollStream(&f.queues[at], budget)
		if q := &f.queues[at]; q.head == len(q.fences) {
			f.retireQueue(f.cursor)
		} else {
			f.cursor++
		}
	}
	return f.quota == 0
}

// lockLanded is lock when every freed block is taken in whose events have passed. Others
// may have the lock meanwhile.
func (p *Pool) lockLanded() {
	p.lock()
	p.landAll()
}

// landAll takes in every freed block whose events have passed. The caller holds mu, and
// knows nothing for certain of the pool any more.
func (p *Pool) landAll() {
	for p.land(pollAll) {
		p.mu.Unlock()
		p.lock()
	}
}

// pollStream asks the fences of a stream from the oldest on until one has not
// passed, and gives what is left of the budget.
func (p *Pool) pollStream(q *flightQueue, budget int) int {
	f := &p.flights
	for f.tidy(q); budget > 0 && q.head < len(q.fences); f.tidy(q) {
		at := q.fences[q.head]
		if f.fences[at].done {
			// A thread that waited on it has yet to come back.
			break
		}
		if !f.fences[at].passed {
			budget--
			if !passed(f.fences[at].event) {
				break
			}
		}
		if !p.pass(at) {
			return 0
		}
	}
	return budget
}

// pollLoose asks fences that pass in any order; those that have not go to the
// end, so that a bounded look comes round to all of them.
func (p *Pool) pollLoose(budget int) int {
	f := &p.flights
	q := &f.queues[loose]
	for looks := len(q.fences) - q.head; looks > 0 && budget > 0 && q.head < len(q.fences); looks-- {
		at := q.fences[q.head]
		if !f.fences[at].done {
			if !f.fences[at].passed {
				budget--
			}
			if (f.fences[at].passed || passed(f.fences[at].event)) && !p.pass(at) {
				return 0
			}
		}
		if fence := &f.fences[at]; !fence.done || fence.waiters > 0 {
			q.fences[q.head] = none
			q.head++
			q.fences = append(q.fences, at)
		}
		f.tidy(q)
	}
	return budget
}

// pass ends a fence whose event has passed: blocks that waited for nothing else
// are ready to be handed out again. False: there are more of them than may be taken in
// now.
func (p *Pool) pass(at int32) bool {
	f := &p.flights
	f.fences[at].passed = true
	for f.fences[at].first != none {
		if f.quota == 0 {
			return false
		}
		f.quota--
		tie := f.fences[at].first
		block := f.links.items[tie].flight
		f.untie(tie)
		if f.flights.items[block].left == 0 {
			p.landOne(block)
		} else {
			f.offer(block)
		}
	}
	f.passes++
	f.finish(at)
	return true
}

// landOne gives a block back to its segment.
func (p *Pool) landOne(at int32) {
	l := p.flying(at)
	p.flights.forget(at)
	p.landed(l)
}

// giveToSegment makes the memory of a block free in its segment.
func (p *Pool) giveToSegment(l located) {
	if _, err := l.strategy.Free(l.Offset); err != nil {
		p.broken("pool.land", err)
	}
	l.leavePages()
	p.left(l.segment, 1)
}

// leavePages counts a block out of its pages.
func (l located) leavePages() {
	if l.pages != nil {
		l.pages.leave(l.Offset, l.Size)
	}
}

// anyFits as segment.full says that nothing is known not to fit.
const anyFits = ^uint64(0)

// refused notes that a size, at the pool's own alignment, has no room, if that says
// anything of larger ones.
func (s *segment) refused(size uint64) {
	if s.sizeOrdered {
		s.full = size
	}
}

// left counts blocks that a segment has got back.
func (p *Pool) left(s *segment, count uint64) {
	s.full = anyFits
	p.leftRun(s, count)
}

// leftRun is left where full is right already.
func (p *Pool) leftRun(s *segment, count uint64) {
	s.blocks -= count
	if s.pages != nil {
		p.leftPages()
		return
	}
	if s.blocks == 0 && p.held > p.threshold {
		p.overfull = true
	}
}

// retireQueue puts an empty queue aside.
func (f *flights) retireQueue(cursor int) {
	at := f.active[cursor]
	q := &f.queues[at]
	delete(f.byStream, q.stream)
	q.stream, q.used = nil, false
	f.spareQueues = append(f.spareQueues, at)
	last := len(f.active) - 1
	f.active[cursor] = f.active[last]
	f.active = f.active[:last]
	if f.recent == at {
		f.recent = loose
	}
}

// Land takes in every freed block whose queued work is done.
func (p *Pool) Land() {
	p.sweepGraphs()
	p.lockLanded()
	p.mu.Unlock()
	p.changed()
}

// The time that a wait spends on one stream before it asks the others.
const (
	firstTurn = 100 * time.Microsecond
	lastTurn  = 5 * time.Millisecond
)

// WaitForFlight waits until an event that freed blocks wait for has passed, and
// takes in all whose have. Several streams are waited for in turns, so that one
// that stands holds up no other. It is false when no block is in flight,
// CodeTimeout when it takes longer than timeout (device.Forever: no limit).
func (p *Pool) WaitForFlight(timeout time.Duration) (bool, error) {
	f := &p.flights
	start, turn := track.Now(), firstTurn
	p.lock()
	before := f.passes
	for round := 0; ; round++ {
		at, several := f.toWaitFor(round)
		if at == none {
			landed := f.passes != before
			p.mu.Unlock()
			p.changed()
			return landed, nil
		}
		f.fences[at].waiters++
		event := f.fences[at].event
		p.mu.Unlock()

		left := timeout
		if timeout != device.Forever {
			left = max(timeout-(track.Now()-start), 0)
		}
		span := left
		if several && (left == device.Forever || left > turn) {
			span = turn
			turn = min(turn+turn/4, lastTurn)
		}
		err := event.Synchronize(span)

		p.lock()
		p.waited(at, err == nil || errors.Is(err, device.CodeDeviceLost))
		if f.passes != before {
			p.mu.Unlock()
			p.changed()
			return true, nil
		}
		if err != nil && (span == left || !errors.Is(err, device.CodeTimeout)) {
			p.mu.Unlock()
			return false, err
		}
	}
}

// waited ends a wait for a fence and takes in what is ready.
func (p *Pool) waited(at int32, passed bool) {
	f := &p.flights
	for passed && !f.fences[at].done {
		if f.quota = landBlocks; !p.pass(at) {
			p.mu.Unlock()
			p.lock()
		}
	}
	f.fences[at].waiters--
	if fence := &f.fences[at]; fence.done {
		f.closeEvent(fence)
	}
	p.landAll()
}

// toWaitFor is the fence to wait for in a round, the oldest first, and whether
// there are others.
func (f *flights) toWaitFor(round int) (at int32, several bool) {
	var open []int32
	for _, fence := range f.queues[loose].fences[f.queues[loose].head:] {
		if !f.fences[fence].done && mayBeWaitedFor(f.fences[fence].event) {
			open = append(open, fence)
		}
	}
	for _, queue := range f.active {
		q := &f.queues[queue]
		for _, fence := range q.fences[q.head:] {
			if !f.fences[fence].done {
				if mayBeWaitedFor(f.fences[fence].event) {
					open = append(open, fence)
				}
				break
			}
		}
	}
	if len(open) == 0 {
		return none, false
	}
	slices.SortFunc(open, func(a, b int32) int { return cmp.Compare(f.fences[a].order, f.fences[b].order) })
	return open[round%len(open)], len(open) > 1
}

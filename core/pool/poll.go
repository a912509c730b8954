package pool

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/track"
)

// land takes in freed blocks whose events have passed, no more than inflight.LandBlocks,
// asking no more than budget events. True: there may be more. The caller holds mu.
func (p *Pool) land(budget int) (more bool) {
	landed, more := p.inFlight.Land(budget)
	for _, block := range landed {
		p.landed(p.flying(block.Addr))
	}
	return more
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
	for p.land(inflight.PollAll) {
		p.mu.Unlock()
		p.lock()
	}
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
		l.pages.Leave(l.Offset, l.Size)
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
	f := &p.inFlight
	start, turn := track.Now(), firstTurn
	p.lock()
	before := f.Passes()
	for round := 0; ; round++ {
		wait, ok := f.BeginWait(round)
		landed := f.Passes() != before
		if !ok {
			p.mu.Unlock()
			p.changed()
			return landed, nil
		}
		p.mu.Unlock()

		left := timeout
		if timeout != device.Forever {
			left = max(timeout-(track.Now()-start), 0)
		}
		span := left
		if wait.Several && (left == device.Forever || left > turn) {
			span = turn
			turn = min(turn+turn/4, lastTurn)
		}
		err := wait.Event.Synchronize(span)

		p.lock()
		f.EndWait(wait, err == nil || errors.Is(err, device.CodeDeviceLost))
		p.landAll()
		if f.Passes() != before {
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

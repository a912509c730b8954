package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

const (
	// quarantineBytes and a share of what the pool holds bound what is in
	// quarantine.
	quarantineBytes = 64 << 20
	quarantineShare = 8
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

// flying is the block in flight at an address.
func (p *Pool) flying(addr device.Addr) located {
	l, ok := p.locate(addr)
	if !ok {
		p.broken("pool.land", device.Errorf(device.CodeInternal, "pool.land",
			"the block in flight at %#x is not there", uint64(addr)))
	}
	return l
}

// landed makes the memory of a retired block, which no queued work uses any
// more, free in its segment, or holds it back for a while.
func (p *Pool) landed(l located) {
	if p.debug == nil {
		p.giveToSegment(l)
		p.books.Land(l.Size)
		return
	}
	bound := min(p.held/quarantineShare, quarantineBytes)
	p.debug.Land(l.addr(), bound)
	p.evict(bound)
}

// evict takes blocks out of quarantine until no more than boundBytes are in it,
// and says whether there were any. The caller holds mu.
func (p *Pool) evict(boundBytes uint64) (some bool) {
	for base, ok := p.debug.Evict(boundBytes); ok; base, ok = p.debug.Evict(boundBytes) {
		l, there := p.locate(base)
		if !there {
			p.broken("pool.quarantine", device.Errorf(device.CodeInternal, "pool.quarantine",
				"a block in quarantine is not there"))
		}
		l.setInfo(0)
		p.giveToSegment(l)
		p.books.Land(l.Size)
		some = true
	}
	return some
}

// flushQuarantine empties the quarantine, and says whether anything was in it.
// The caller holds no lock.
func (p *Pool) flushQuarantine() bool {
	p.lockLanded()
	some := p.evict(0)
	p.mu.Unlock()
	p.changed()
	return some
}

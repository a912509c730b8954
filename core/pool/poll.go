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
func (h *heap) land(budget int) (more bool) {
	landed, more := h.inFlight.Land(budget)
	for _, block := range landed {
		h.landed(h.flying(block.Addr))
	}
	return more
}

// lockLanded is lock when every freed block is taken in whose events have passed. Others
// may have the lock meanwhile.
func (h *heap) lockLanded() {
	h.lock()
	h.landAll()
}

// landAll takes in every freed block whose events have passed. The caller holds mu, and
// knows nothing for certain of the pool any more.
func (h *heap) landAll() {
	for h.land(inflight.PollAll) {
		h.mu.Unlock()
		h.lock()
	}
}

// giveToSegment makes the memory of a block free in its segment.
func (h *heap) giveToSegment(l located) {
	if _, err := l.strategy.Free(l.Offset); err != nil {
		h.broken("pool.land", err)
	}
	l.releasePages()
	h.left(l.segment, 1)
}

// releasePages counts a block out of its pages.
func (l located) releasePages() {
	if l.pages != nil {
		l.pages.Release(l.Offset, l.Size)
	}
}

// left counts blocks that a segment has got back.
func (h *heap) left(s *segment, count uint64) {
	s.full = anyFits
	h.leftRun(s, count)
}

// leftRun is left where full is right already.
func (h *heap) leftRun(s *segment, count uint64) {
	s.blocks -= count
	if s.pages != nil {
		h.leftPages()
		return
	}
	if s.blocks == 0 && h.held > h.threshold {
		h.overfull = true
	}
}

// flying is the block in flight at an address.
func (h *heap) flying(addr device.Addr) located {
	l, ok := h.locate(addr)
	if !ok {
		h.broken("pool.land", device.Errorf(device.CodeInternal, "pool.land",
			"the block in flight at %#x is not there", uint64(addr)))
	}
	return l
}

// landed makes the memory of a retired block, which no queued work uses any
// more, free in its segment, or holds it back for a while.
func (h *heap) landed(l located) {
	if h.debug == nil {
		h.giveToSegment(l)
		h.books.Land(l.Size)
		return
	}
	bound := min(h.held/quarantineShare, quarantineBytes)
	h.debug.Land(l.addr(), bound)
	h.evict(bound)
}

// evict takes blocks out of quarantine until no more than boundBytes are in it,
// and says whether there were any. The caller holds mu.
func (h *heap) evict(boundBytes uint64) (some bool) {
	for base, ok := h.debug.Evict(boundBytes); ok; base, ok = h.debug.Evict(boundBytes) {
		l, there := h.locate(base)
		if !there {
			h.broken("pool.quarantine", device.Errorf(device.CodeInternal, "pool.quarantine",
				"a block in quarantine is not there"))
		}
		l.setInfo(0)
		h.giveToSegment(l)
		h.books.Land(l.Size)
		some = true
	}
	return some
}

// flushQuarantine empties the quarantine, and says whether anything was in it.
// The caller holds no lock.
func (h *heap) flushQuarantine() bool {
	h.lockLanded()
	some := h.evict(0)
	h.mu.Unlock()
	h.changed()
	return some
}

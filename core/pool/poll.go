package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

const (
	// The quarantine holds at most quarantineBytes, and at most 1/quarantineShare of what
	// the pool holds.
	quarantineBytes = 64 << 20
	quarantineShare = 8
)

// completeFrees takes in freed blocks whose events have completed: at most
// inflight.CompletedMost blocks, after querying at most budget events. It returns true if
// there may be more. The caller holds mu.
func (h *heap) completeFrees(budget int) (more bool) {
	completed, more := h.inFlight.TakeCompleted(budget)
	for _, block := range completed {
		h.completeFree(h.flying(block.Addr))
	}
	return more
}

// lockCompleted is lock, followed by completeAll. Other threads may take the lock in between.
func (h *heap) lockCompleted() {
	h.lock()
	h.completeAll()
}

// completeAll takes in every freed block whose events have completed. The caller holds mu.
// completeAll releases mu in between, so the caller has to check the state of the pool again.
func (h *heap) completeAll() {
	for h.completeFrees(inflight.PollAll) {
		h.mu.Unlock()
		h.lock()
	}
}

// giveToSegment makes the memory of a block free in its segment.
func (h *heap) giveToSegment(l located) {
	if _, err := l.strategy.Free(l.Offset); err != nil {
		h.broken("pool.complete_frees", err)
	}
	l.releasePages()
	h.blocksFreed(l.segment, 1)
}

// releasePages subtracts a block from the counts of its pages.
func (l located) releasePages() {
	if l.pages != nil {
		l.pages.Release(l.Offset, l.Size)
	}
}

// blocksFreed is called after blocks were returned to a segment.
func (h *heap) blocksFreed(s *segment, count uint64) {
	s.full = anyFits
	h.runFreed(s, count)
}

// runFreed is blocksFreed for a caller that has already set full.
func (h *heap) runFreed(s *segment, count uint64) {
	s.blocks -= count
	if s.pages != nil {
		h.pagesFreed()
		return
	}
	if s.blocks == 0 && h.held > h.threshold {
		h.overfull = true
	}
}

// flying returns the block in flight at an address.
func (h *heap) flying(addr device.Addr) located {
	l, ok := h.locate(addr)
	if !ok {
		h.broken("pool.complete_frees", device.Errorf(device.CodeInternal, "pool.complete_frees",
			"the block in flight at %#x is not there", uint64(addr)))
	}
	return l
}

// completeFree makes the memory of a freed block, which no queued work uses any more, free in
// its segment. In debug mode the block goes to the quarantine first.
func (h *heap) completeFree(l located) {
	if h.debug == nil {
		h.giveToSegment(l)
		h.counters.Deactivate(l.Size)
		return
	}
	bound := min(h.held/quarantineShare, quarantineBytes)
	h.debug.CompleteFree(l.addr(), bound)
	h.evict(bound)
}

// evict takes blocks out of quarantine until at most boundBytes are in it. It reports
// whether it took any. The caller holds mu.
func (h *heap) evict(boundBytes uint64) (some bool) {
	for base, ok := h.debug.Evict(boundBytes); ok; base, ok = h.debug.Evict(boundBytes) {
		l, there := h.locate(base)
		if !there {
			h.broken("pool.quarantine", device.Errorf(device.CodeInternal, "pool.quarantine",
				"a block in quarantine is not there"))
		}
		l.setInfo(0)
		h.giveToSegment(l)
		h.counters.Deactivate(l.Size)
		some = true
	}
	return some
}

// flushQuarantine empties the quarantine and reports whether a block was in it. The
// caller holds no lock.
func (h *heap) flushQuarantine() bool {
	h.lockCompleted()
	some := h.evict(0)
	h.mu.Unlock()
	h.changed()
	return some
}

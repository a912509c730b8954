package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/pace"
	"ferrum_mem/core/pool/inflight"
)

// A free of more than heldBlocks blocks is done in slices, and is all or nothing all the
// same: first every block is found and marked as leaving, so that nobody else frees it
// or has it record a stream, then there is room for all of them, and then they go. What
// was marked is live again when the free fails before that. A close waits for it.

// heldBlocks is how many blocks a free may have that others wait for as a whole.
const heldBlocks = 4096

// many says that a free is done in slices. The debug mode reports on its blocks together,
// and what parks blocks of graphs is one for all.
func (p *Pool) many(j *pendingFree) bool {
	return len(j.addrs) > heldBlocks && p.heap.debug == nil && len(j.graphs) == 0
}

// retireMany is retire in slices; false, and nothing has changed: a graph has come to use
// the blocks.
func (p *Pool) retireMany(j *pendingFree) (done bool, err error) {
	p.heap.lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return true, p.heap.closedError(opFree)
	}
	p.batches++
	p.heap.mu.Unlock()
	defer func() {
		p.heap.mu.Peek()
		p.batches--
		p.heap.passed.Broadcast()
		p.heap.mu.Unlock()
	}()
	j.sliced = true
	for p.many(j) {
		again, err := p.tryRetireMany(j)
		if err != nil || !again {
			return true, err
		}
	}
	j.sliced = false
	return false, nil
}

// tryRetireMany is tryRetire in slices.
func (p *Pool) tryRetireMany(j *pendingFree) (again bool, err error) {
	links, leased, err := p.findMany(j)
	switch {
	case err == errNotLive: //nolint:errorlint // the very value, of findSlice
		return true, p.refuse(j)
	case err != nil:
		return true, err
	case leased != 0:
		return true, p.leases.takeOverFrom(leased, j.addrs)
	case len(j.missing) > 0:
		p.restoreMany(j, len(j.addrs))
		p.markAll(j, j.missing)
		return true, nil
	}
	p.heap.lock()
	err = p.roomFor(j, len(j.addrs), links)
	if err == nil && j.waits() {
		p.heap.inFlight.Promise(len(j.addrs), links)
	}
	p.heap.mu.Unlock()
	if err != nil {
		p.restoreMany(j, len(j.addrs))
		if !j.landed {
			j.landed = true
			p.Land()
			return true, nil
		}
		return false, err
	}
	p.retireSlices(j, links)
	return false, nil
}

// findMany is findLive in slices.
func (p *Pool) findMany(j *pendingFree) (links int, leased device.Addr, err error) {
	j.reports, j.missing = nil, nil
	steps := pace.Pace{}
	for first := 0; first < len(j.addrs); first += sliceBlocks {
		p.heap.lock()
		var found []located
		found, leased, err = p.findSlice(j, first)
		if err != nil || leased != 0 {
			if err != nil && err != errNotLive { //nolint:errorlint // the very value, of findSlice
				err = p.refused(j, err)
			}
			marked := first + len(found)
			p.heap.mu.Unlock()
			p.restoreMany(j, marked)
			return 0, leased, err
		}
		p.unmarked(j, found)
		links += p.linksOf(j, found)
		p.heap.mu.Unlock()
		steps.Rest()
	}
	return links, 0, nil
}

// restoreMany is restore in slices.
func (p *Pool) restoreMany(j *pendingFree, count int) {
	steps := pace.Pace{}
	for some := range slices.Chunk(j.addrs[:count], sliceBlocks) {
		p.heap.lock()
		for _, l := range p.leaving(some) {
			l.setInfo(l.info().with(blockLive))
		}
		p.heap.mu.Unlock()
		steps.Rest()
	}
}

// retireSlices ends the lives of all blocks of a free, which are leaving. Where they may
// have to wait, the room for them is promised.
func (p *Pool) retireSlices(j *pendingFree, links int) {
	waits, steps := j.waits(), pace.Pace{}
	for some := range slices.Chunk(j.addrs, sliceBlocks) {
		p.heap.lock()
		found := p.leaving(some)
		if waits {
			part := min(p.linksOf(j, found), links)
			p.heap.inFlight.Promise(-len(found), -part)
			links -= part
		}
		p.retireFound(j, found)
		if p.heap.inFlight.Count() > 0 {
			p.heap.land(inflight.PollBudget)
		}
		overfull := p.heap.overfull
		p.heap.mu.Unlock()
		if overfull {
			p.supply.shrink()
		}
		steps.Rest()
	}
	p.heap.lock()
	if waits {
		p.heap.inFlight.Promise(0, -links)
	}
	p.dropUnused(j)
	p.heap.mu.Unlock()
}

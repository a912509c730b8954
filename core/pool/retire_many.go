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
func (f *frees) many(j *pendingFree) bool {
	return len(j.addrs) > heldBlocks && f.heap.debug == nil && len(j.graphs) == 0
}

// retireMany is retire in slices; false, and nothing has changed: a graph has come to use
// the blocks.
func (f *frees) retireMany(j *pendingFree) (done bool, err error) {
	f.heap.lock()
	if f.heap.state != stateOpen {
		f.heap.mu.Unlock()
		return true, f.heap.closedError(opFree)
	}
	f.batches++
	f.heap.mu.Unlock()
	defer func() {
		f.heap.mu.Peek()
		f.batches--
		f.heap.passed.Broadcast()
		f.heap.mu.Unlock()
	}()
	j.sliced = true
	for f.many(j) {
		again, err := f.tryRetireMany(j)
		if err != nil || !again {
			return true, err
		}
	}
	j.sliced = false
	return false, nil
}

// tryRetireMany is tryRetire in slices.
func (f *frees) tryRetireMany(j *pendingFree) (again bool, err error) {
	links, leased, err := f.findMany(j)
	switch {
	case err == errNotLive: //nolint:errorlint // the very value, of findSlice
		return true, f.refuse(j)
	case err != nil:
		return true, err
	case leased != 0:
		return true, f.leases.takeOverFrom(leased, j.addrs)
	case len(j.missing) > 0:
		f.restoreMany(j, len(j.addrs))
		f.markAll(j, j.missing)
		return true, nil
	}
	f.heap.lock()
	err = f.roomFor(j, len(j.addrs), links)
	if err == nil && j.waits() {
		f.heap.inFlight.Promise(len(j.addrs), links)
	}
	f.heap.mu.Unlock()
	if err != nil {
		f.restoreMany(j, len(j.addrs))
		if !j.landed {
			j.landed = true
			f.land()
			return true, nil
		}
		return false, err
	}
	f.retireSlices(j, links)
	return false, nil
}

// findMany is findLive in slices.
func (f *frees) findMany(j *pendingFree) (links int, leased device.Addr, err error) {
	j.reports, j.missing = nil, nil
	steps := pace.Pace{}
	for first := 0; first < len(j.addrs); first += sliceBlocks {
		f.heap.lock()
		var found []located
		found, leased, err = f.findSlice(j, first)
		if err != nil || leased != 0 {
			if err != nil && err != errNotLive { //nolint:errorlint // the very value, of findSlice
				err = f.refused(j, err)
			}
			marked := first + len(found)
			f.heap.mu.Unlock()
			f.restoreMany(j, marked)
			return 0, leased, err
		}
		f.unmarked(j, found)
		links += f.linksOf(j, found)
		f.heap.mu.Unlock()
		steps.Rest()
	}
	return links, 0, nil
}

// restoreMany is restore in slices.
func (f *frees) restoreMany(j *pendingFree, count int) {
	steps := pace.Pace{}
	for some := range slices.Chunk(j.addrs[:count], sliceBlocks) {
		f.heap.lock()
		for _, l := range f.leaving(some) {
			l.setInfo(l.info().with(blockLive))
		}
		f.heap.mu.Unlock()
		steps.Rest()
	}
}

// retireSlices ends the lives of all blocks of a free, which are leaving. Where they may
// have to wait, the room for them is promised.
func (f *frees) retireSlices(j *pendingFree, links int) {
	waits, steps := j.waits(), pace.Pace{}
	for some := range slices.Chunk(j.addrs, sliceBlocks) {
		f.heap.lock()
		found := f.leaving(some)
		if waits {
			part := min(f.linksOf(j, found), links)
			f.heap.inFlight.Promise(-len(found), -part)
			links -= part
		}
		f.retireFound(j, found)
		if f.heap.inFlight.Count() > 0 {
			f.heap.land(inflight.PollBudget)
		}
		overfull := f.heap.overfull
		f.heap.mu.Unlock()
		if overfull {
			f.supply.shrink()
		}
		steps.Rest()
	}
	f.heap.lock()
	if waits {
		f.heap.inFlight.Promise(0, -links)
	}
	f.dropUnused(j)
	f.heap.mu.Unlock()
}

package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/pace"
	"ferrum_mem/core/pool/inflight"
)

// A free of more than heldBlocks blocks runs in slices, and still frees all blocks or
// none. It first finds every block and marks it as leaving, so that no other call frees
// the block or records a stream for it. Then it reserves space for all of them in the
// tables. Then it frees them. If it fails before that, it makes the marked blocks live
// again. A close waits for such a free.

// heldBlocks is the most blocks that a free may have without slices, while other threads
// wait.
const heldBlocks = 4096

// many reports whether a free runs in slices. The debug mode reports on all blocks of a
// free together, and all blocks of a free that a graph keeps are parked together, so
// these frees do not.
func (f *frees) many(j *pendingFree) bool {
	return len(j.addrs) > heldBlocks && f.heap.debug == nil && len(j.graphs) == 0
}

// retireMany is retire in slices. It returns false, and has changed nothing, if a graph
// has come to use the blocks.
func (f *frees) retireMany(j *pendingFree) (done bool, err error) {
	f.heap.lock()
	if f.heap.state != stateOpen {
		f.heap.mu.Unlock()
		return true, f.heap.closedError(opFree)
	}
	f.batches++
	f.heap.mu.Unlock()
	defer func() {
		f.heap.mu.LockToRead()
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
	case err == errNotLive: //nolint:errorlint // findSlice returns this very value
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
		if !j.completed {
			j.completed = true
			f.completeFrees()
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
			if err != nil && err != errNotLive { //nolint:errorlint // findSlice returns this very value
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

// retireSlices ends the lives of all blocks of a free, which are leaving. If they have to
// wait, the space for them was promised.
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
			f.heap.completeFrees(inflight.PollBudget)
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

package pool

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/track"
)

// frees ends the lives of blocks: it finds the blocks, records events for the work that
// they have to wait for, and puts the blocks behind these events.
type frees struct {
	heap   *heap
	leases *leases
	supply *supply
	// batches counts the frees that run in slices; some of their blocks may be leaving.
	// Each of them signals heap.passed at its end. It is guarded by heap.mu.
	batches int
	// parked counts blocks that graphs still use and that are behind no fence yet. It is
	// guarded by heap.mu.
	parked uint64

	// completeFrees takes in every freed block whose queued work has completed. The caller holds
	// no lock.
	completeFrees func()
	// askSiblings adds to a report which other pool contains an address. The caller holds
	// no lock.
	askSiblings func(report *memcheck.Report, addr device.Addr)
	// markGraph reports whether a graph uses the blocks of a free, and records what they
	// wait for. The caller holds no lock.
	markGraph func(j *pendingFree, of device.Stream) (used bool, err error)
	// park passes leaving blocks to the graphs that use them. It returns false if all
	// these graphs were released meanwhile. The caller holds heap.mu.
	park func(j *pendingFree, found []located) bool
}

// retire ends the lives of all blocks of a free, or of none. It first adopts those that
// the caches have leased; an adopted block stays live if the call fails.
func (f *frees) retire(j *pendingFree) error {
	if !j.idle && len(j.marks) == 0 {
		if err := j.mark(j.stream); err != nil {
			return err
		}
	}
	if f.many(j) {
		if done, err := f.retireMany(j); done {
			f.heap.changed()
			return f.report(j, errors.Join(err, j.closeMarks()))
		}
	}
	for {
		again, err := f.tryRetire(j)
		if err != nil {
			return errors.Join(f.report(j, err), j.closeMarks())
		}
		if !again {
			f.heap.changed()
			return f.report(j, nil)
		}
	}
}

// tryRetire returns false when the blocks have been retired, and true when it had to do
// something without the lock and has to be called again.
func (f *frees) tryRetire(j *pendingFree) (again bool, err error) {
	if f.heap.ended.Load() {
		return false, f.heap.closedError(opFree)
	}
	f.heap.lock()
	if f.heap.state != stateOpen {
		f.heap.mu.Unlock()
		return false, f.heap.closedError(opFree)
	}
	links, leased, err := f.findLive(j)
	if err != nil || leased != 0 {
		f.heap.mu.Unlock()
		switch {
		case err == nil:
			err = f.leases.takeOverFrom(leased, j.addrs)
		case err == errNotLive: //nolint:errorlint // findLive returns this very value
			err = f.refuse(j)
		}
		return true, err
	}
	if len(j.missing) > 0 {
		f.restore(j, len(j.addrs))
		f.heap.mu.Unlock()
		f.markAll(j, j.missing)
		return true, nil
	}
	if err := f.roomFor(j, len(j.addrs), links); err != nil {
		f.restore(j, len(j.addrs))
		f.heap.mu.Unlock()
		if !j.completed {
			j.completed = true
			f.completeFrees()
			return true, nil
		}
		return false, err
	}
	f.retireAll(j)
	if f.heap.inFlight.Count() > 0 {
		f.heap.completeFrees(inflight.PollBudget)
	}
	overfull := f.heap.overfull
	f.heap.mu.Unlock()
	if overfull {
		f.supply.shrink()
	}
	return false, nil
}

// findLive finds all blocks of a free and marks them as leaving. If one is not live, it
// marks none and returns the error; if one is leased, it marks none and returns its
// address. links is an upper bound of the number of fences for which the blocks wait. It
// sets j.missing.
func (f *frees) findLive(j *pendingFree) (links int, leased device.Addr, err error) {
	j.reports, j.missing = nil, nil
	for first := 0; first < len(j.addrs); first += sliceBlocks {
		found, leased, err := f.findSlice(j, first)
		if err != nil || leased != 0 {
			f.restore(j, first+len(found))
			if err != nil && err != errNotLive { //nolint:errorlint // findSlice returns this very value
				err = f.refused(j, err)
			}
			return 0, leased, err
		}
		f.unmarked(j, found)
		links += f.linksOf(j, found)
	}
	return links, 0, nil
}

// findSlice is findLive for one slice of the addresses. It returns the blocks that it has
// marked.
func (f *frees) findSlice(j *pendingFree, first int) (found []located, leased device.Addr, err error) {
	found = f.heap.scratch.slice[:0]
	defer func() { f.heap.scratch.slice = found }()
	for i, addr := range j.addrs[first:min(first+sliceBlocks, len(j.addrs))] {
		l, ok := f.heap.locateGiven(addr)
		state := blockNone
		if ok {
			state = l.info().state()
		}
		j.wrong = first + i
		switch {
		case state == blockLive && j.size != anySize && l.Size-l.info().slack() != j.size:
			return found, 0, device.Errorf(device.CodeInvalidSize, opFree, "size_bytes is %d: the block at %#x was allocated with %d",
				j.size, uint64(addr), l.Size-l.info().slack()).On(f.heap.engine.ID())
		case state == blockLive:
			l.setInfo(l.info().with(blockLeaving))
			found = append(found, l)
		case state == blockLeased:
			return found, addr, nil
		case state == blockLeaving:
			return found, 0, device.Errorf(device.CodeDoubleFree, opFree,
				"address %#x is listed twice", uint64(addr)).On(f.heap.engine.ID())
		default:
			return found, 0, errNotLive
		}
	}
	return found, 0, nil
}

// leaving returns a slice of the blocks of a free. They are marked as leaving.
func (f *frees) leaving(addrs []device.Addr) []located {
	found := f.heap.scratch.slice[:0]
	for _, addr := range addrs {
		l, ok := f.heap.locateGiven(addr)
		if !ok {
			f.heap.broken(opFree, device.Errorf(device.CodeInternal, opFree,
				"the block at %#x that is leaving is not there", uint64(addr)))
		}
		found = append(found, l)
	}
	f.heap.scratch.slice = found
	return found
}

// errNotLive is replaced by the error of refuse, which has more details.
var errNotLive = errors.New("no live block starts at the address")

// refuse returns the error of a free that names an address without a live block. Finding
// out what is at the address takes long, so the caller holds no lock.
func (f *frees) refuse(j *pendingFree) error {
	err := f.heap.notLive(opFree, j.addrs[j.wrong])
	f.heap.mu.LockToRead()
	defer f.heap.mu.Unlock()
	return f.refused(j, err)
}

// refused adds to an error what the debug mode knows of the address, and the index of the
// address in a batch. The caller holds mu.
func (f *frees) refused(j *pendingFree, err error) error {
	addr := j.addrs[j.wrong]
	if f.heap.debug != nil {
		j.reports = append(j.reports, f.heap.debug.Refuse(opFree, addr, err))
		j.foreign = f.heap.segmentOf(addr) == nil
	}
	if j.batch {
		return device.Errorf(device.CodeOf(err), opFree, "addresses[%d]: %w", j.wrong, err)
	}
	return err
}

// restore makes the first blocks of a free, which were leaving, live again.
func (f *frees) restore(j *pendingFree, count int) {
	for some := range slices.Chunk(j.addrs[:count], sliceBlocks) {
		for _, l := range f.leaving(some) {
			l.setInfo(l.info().with(blockLive))
		}
	}
}

// markAll records events for the streams. A stream without queued work gets a nil event.
func (f *frees) markAll(j *pendingFree, streams []device.Stream) {
	for _, stream := range streams {
		used, err := f.markGraph(j, stream)
		if used {
			continue
		}
		var mark device.Event
		if err == nil {
			mark = inflight.EndOf(stream)
		} else if !device.HasEnded(stream, err) {
			mark = inflight.LaterEndOf(stream)
		}
		j.streams, j.marks = append(j.streams, stream), append(j.marks, mark)
	}
}

// retireAll ends the lives of all blocks of a free, which are leaving.
func (f *frees) retireAll(j *pendingFree) {
	most := sliceBlocks
	if len(j.graphs) > 0 {
		// All blocks of a free that a graph keeps are parked together.
		most = len(j.addrs)
	}
	if len(j.addrs) <= sliceBlocks {
		f.retireFound(j, f.heap.scratch.slice)
	} else {
		for some := range slices.Chunk(j.addrs, most) {
			f.retireFound(j, f.leaving(some))
		}
	}
	f.dropUnused(j)
}

// retireFound ends the lives of leaving blocks. The caller has reserved space for them.
func (f *frees) retireFound(j *pendingFree, found []located) {
	if f.heap.debug != nil {
		f.heap.unguard(j, found)
	}
	var sum track.Block
	for at := 0; at < len(found); {
		// Blocks with the same tag are usually adjacent in a batch.
		tag := found[at].info().tag()
		var part track.Block
		first := at
		for ; at < len(found) && found[at].info().tag() == tag; at++ {
			part.AllocatedBytes += found[at].Size
			part.RequestedBytes += found[at].Size - found[at].info().slack()
		}
		f.heap.tags.Remove(tag, part, uint64(at-first))
		sum.AllocatedBytes += part.AllocatedBytes
		sum.RequestedBytes += part.RequestedBytes
	}
	if f.heap.debug == nil && len(j.graphs) == 0 && !j.waits() {
		f.heap.streams.forgetAll(found)
		f.heap.giveManyToSegments(found)
		f.heap.counters.FreeMany(sum, uint64(len(found)))
		return
	}
	f.heap.counters.DeferFreeMany(sum, uint64(len(found)))
	if len(j.graphs) == 0 || !f.park(j, found) {
		f.fly(j, found)
	}
}

// giveManyToSegments is giveToSegment for many blocks.
func (h *heap) giveManyToSegments(found []located) {
	for len(found) > 0 {
		s := found[0].segment
		if s.batcher == nil || len(found) == 1 {
			found[0].setInfo(0)
			h.giveToSegment(found[0])
			found = found[1:]
			continue
		}
		offsets := h.scratch.offsets[:0]
		n := 0
		for ; n < len(found) && found[n].segment == s; n++ {
			s.setInfo(found[n].Slot, 0)
			offsets = append(offsets, found[n].Offset)
		}
		h.scratch.offsets = offsets
		if err := s.batcher.FreeBatch(offsets); err != nil {
			h.broken("pool.complete_frees", err)
		}
		for _, l := range found[:n] {
			l.releasePages()
		}
		h.blocksFreed(s, uint64(n))
		found = found[n:]
	}
}

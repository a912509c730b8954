package pool

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/track"
)

// frees ends the lives of blocks: it finds what is to go, has marks made of the work that
// it waits for, and puts it behind them.
type frees struct {
	heap   *heap
	leases *leases
	supply *supply
	// batches counts the frees in slices that are under way, some of whose blocks may be
	// leaving; heap.passed is signalled when one is over. It is under heap.mu.
	batches int
	// parked counts blocks that graphs still use, and that are behind no fence yet. It is
	// under heap.mu.
	parked uint64

	// land takes in every freed block whose queued work is done. No lock is held.
	land func()
	// askSiblings adds to a report which other pool an address belongs to. No lock is held.
	askSiblings func(report *memcheck.Report, addr device.Addr)
	// markGraph says that a graph uses the blocks of a free, and notes what they wait
	// for. No lock is held.
	markGraph func(j *pendingFree, of device.Stream) (used bool, err error)
	// park has graphs keep blocks that are leaving; false: all were released meanwhile.
	// The caller holds heap.mu.
	park func(j *pendingFree, found []located) bool
}

// retire ends the lives of blocks, all or none. What the caches have out among
// them is taken over first; it stays live if the call fails.
func (f *frees) retire(j *pendingFree) error {
	if !j.idle && len(j.marks) == 0 {
		if err := j.mark(j.stream); err != nil {
			return err
		}
	}
	if f.many(j) {
		if done, err := f.retireMany(j); done {
			f.heap.changed()
			return f.told(j, errors.Join(err, j.closeMarks()))
		}
	}
	for {
		again, err := f.tryRetire(j)
		if err != nil {
			return errors.Join(f.told(j, err), j.closeMarks())
		}
		if !again {
			f.heap.changed()
			return f.told(j, nil)
		}
	}
}

// tryRetire is false when the blocks are retired, and true when something had to
// be done without the lock first.
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
		case err == errNotLive: //nolint:errorlint // the very value, of findLive
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
		if !j.landed {
			j.landed = true
			f.land()
			return true, nil
		}
		return false, err
	}
	f.retireAll(j)
	if f.heap.inFlight.Count() > 0 {
		f.heap.land(inflight.PollBudget)
	}
	overfull := f.heap.overfull
	f.heap.mu.Unlock()
	if overfull {
		f.supply.shrink()
	}
	return false, nil
}

// findLive finds all blocks of a free and marks them as leaving, or none and
// says what is wrong, or which of them is with the caches. links is how many fences
// they wait for together, at most; j.missing is set.
func (f *frees) findLive(j *pendingFree) (links int, leased device.Addr, err error) {
	j.reports, j.missing = nil, nil
	for first := 0; first < len(j.addrs); first += sliceBlocks {
		found, leased, err := f.findSlice(j, first)
		if err != nil || leased != 0 {
			f.restore(j, first+len(found))
			if err != nil && err != errNotLive { //nolint:errorlint // the very value, of findSlice
				err = f.refused(j, err)
			}
			return 0, leased, err
		}
		f.unmarked(j, found)
		links += f.linksOf(j, found)
	}
	return links, 0, nil
}

// findSlice is findLive for one slice of the addresses, and gives those that it has
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
			return found, 0, device.Errorf(device.CodeInvalidSize, opFree, "size_bytes is %d: the block at %#x was asked for with %d",
				j.size, uint64(addr), l.Size-l.info().slack()).On(f.heap.engine.ID())
		case state == blockLive:
			l.setInfo(l.info().with(blockLeaving))
			found = append(found, l)
		case state == blockLeased:
			return found, addr, nil
		case state == blockLeaving:
			return found, 0, device.Errorf(device.CodeDoubleFree, opFree,
				"address %#x is named twice", uint64(addr)).On(f.heap.engine.ID())
		default:
			return found, 0, errNotLive
		}
	}
	return found, 0, nil
}

// leaving is a slice of the blocks of a free, which are marked as such.
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

// errNotLive is for refuse to say more about.
var errNotLive = errors.New("no live block starts at the address")

// refuse is the error of a free one of whose addresses is no live block's. To find out
// what is there takes its time, so nobody waits for it: the caller holds no lock.
func (f *frees) refuse(j *pendingFree) error {
	err := f.heap.notLive(opFree, j.addrs[j.wrong])
	f.heap.mu.Peek()
	defer f.heap.mu.Unlock()
	return f.refused(j, err)
}

// refused adds to an error what the debug mode knows of the address, and which of many
// it is. The caller holds mu.
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

// markAll marks the streams. One that has run dry needs none, and gets a nil mark.
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
		// What parks them is one for all.
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

// retireFound ends the lives of blocks that are leaving. There is room for them.
func (f *frees) retireFound(j *pendingFree, found []located) {
	if f.heap.debug != nil {
		f.heap.unguard(j, found)
	}
	var sum track.Block
	for at := 0; at < len(found); {
		// Blocks of one tag mostly come together.
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
		f.heap.books.FreeMany(sum, uint64(len(found)))
		return
	}
	f.heap.books.RetireMany(sum, uint64(len(found)))
	if len(j.graphs) == 0 || !f.park(j, found) {
		f.fly(j, found)
	}
}

// giveManyToSegments is giveToSegment for many.
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
			h.broken("pool.land", err)
		}
		for _, l := range found[:n] {
			l.releasePages()
		}
		h.left(s, uint64(n))
		found = found[n:]
	}
}

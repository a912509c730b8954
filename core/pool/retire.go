package pool

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/track"
)

// retire ends the lives of blocks, all or none. What the caches have out among
// them is taken over first; it stays live if the call fails.
func (p *Pool) retire(j *pendingFree) error {
	if !j.idle && len(j.marks) == 0 {
		if err := j.mark(j.stream); err != nil {
			return err
		}
	}
	if p.many(j) {
		if done, err := p.retireMany(j); done {
			p.heap.changed()
			return p.told(j, errors.Join(err, j.closeMarks()))
		}
	}
	for {
		again, err := p.tryRetire(j)
		if err != nil {
			return errors.Join(p.told(j, err), j.closeMarks())
		}
		if !again {
			p.heap.changed()
			return p.told(j, nil)
		}
	}
}

// tryRetire is false when the blocks are retired, and true when something had to
// be done without the lock first.
func (p *Pool) tryRetire(j *pendingFree) (again bool, err error) {
	if p.heap.ended.Load() {
		return false, p.heap.closedError(opFree)
	}
	p.heap.lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return false, p.heap.closedError(opFree)
	}
	links, leased, err := p.findLive(j)
	if err != nil || leased != 0 {
		p.heap.mu.Unlock()
		switch {
		case err == nil:
			err = p.leases.takeOverFrom(leased, j.addrs)
		case err == errNotLive: //nolint:errorlint // the very value, of findLive
			err = p.refuse(j)
		}
		return true, err
	}
	if len(j.missing) > 0 {
		p.restore(j, len(j.addrs))
		p.heap.mu.Unlock()
		p.markAll(j, j.missing)
		return true, nil
	}
	if err := p.roomFor(j, len(j.addrs), links); err != nil {
		p.restore(j, len(j.addrs))
		p.heap.mu.Unlock()
		if !j.landed {
			j.landed = true
			p.Land()
			return true, nil
		}
		return false, err
	}
	p.retireAll(j)
	if p.heap.inFlight.Count() > 0 {
		p.heap.land(inflight.PollBudget)
	}
	overfull := p.heap.overfull
	p.heap.mu.Unlock()
	if overfull {
		p.supply.shrink()
	}
	return false, nil
}

// findLive finds all blocks of a free and marks them as leaving, or none and
// says what is wrong, or which of them is with the caches. links is how many fences
// they wait for together, at most; j.missing is set.
func (p *Pool) findLive(j *pendingFree) (links int, leased device.Addr, err error) {
	j.reports, j.missing = nil, nil
	for first := 0; first < len(j.addrs); first += sliceBlocks {
		found, leased, err := p.findSlice(j, first)
		if err != nil || leased != 0 {
			p.restore(j, first+len(found))
			if err != nil && err != errNotLive { //nolint:errorlint // the very value, of findSlice
				err = p.refused(j, err)
			}
			return 0, leased, err
		}
		p.unmarked(j, found)
		links += p.linksOf(j, found)
	}
	return links, 0, nil
}

// findSlice is findLive for one slice of the addresses, and gives those that it has
// marked.
func (p *Pool) findSlice(j *pendingFree, first int) (found []located, leased device.Addr, err error) {
	found = p.heap.scratch.slice[:0]
	defer func() { p.heap.scratch.slice = found }()
	for i, addr := range j.addrs[first:min(first+sliceBlocks, len(j.addrs))] {
		l, ok := p.heap.locateGiven(addr)
		state := blockNone
		if ok {
			state = l.info().state()
		}
		j.wrong = first + i
		switch {
		case state == blockLive && j.size != anySize && l.Size-l.info().slack() != j.size:
			return found, 0, device.Errorf(device.CodeInvalidSize, opFree, "size_bytes is %d: the block at %#x was asked for with %d",
				j.size, uint64(addr), l.Size-l.info().slack()).On(p.heap.engine.ID())
		case state == blockLive:
			l.setInfo(l.info().with(blockLeaving))
			found = append(found, l)
		case state == blockLeased:
			return found, addr, nil
		case state == blockLeaving:
			return found, 0, device.Errorf(device.CodeDoubleFree, opFree,
				"address %#x is named twice", uint64(addr)).On(p.heap.engine.ID())
		default:
			return found, 0, errNotLive
		}
	}
	return found, 0, nil
}

// leaving is a slice of the blocks of a free, which are marked as such.
func (p *Pool) leaving(addrs []device.Addr) []located {
	found := p.heap.scratch.slice[:0]
	for _, addr := range addrs {
		l, ok := p.heap.locateGiven(addr)
		if !ok {
			p.heap.broken(opFree, device.Errorf(device.CodeInternal, opFree,
				"the block at %#x that is leaving is not there", uint64(addr)))
		}
		found = append(found, l)
	}
	p.heap.scratch.slice = found
	return found
}

// errNotLive is for refuse to say more about.
var errNotLive = errors.New("no live block starts at the address")

// refuse is the error of a free one of whose addresses is no live block's. To find out
// what is there takes its time, so nobody waits for it: the caller holds no lock.
func (p *Pool) refuse(j *pendingFree) error {
	err := p.heap.notLive(opFree, j.addrs[j.wrong])
	p.heap.mu.Peek()
	defer p.heap.mu.Unlock()
	return p.refused(j, err)
}

// refused adds to an error what the debug mode knows of the address, and which of many
// it is. The caller holds mu.
func (p *Pool) refused(j *pendingFree, err error) error {
	addr := j.addrs[j.wrong]
	if p.heap.debug != nil {
		j.reports = append(j.reports, p.heap.debug.Refuse(opFree, addr, err))
		j.foreign = p.heap.segmentOf(addr) == nil
	}
	if j.batch {
		return device.Errorf(device.CodeOf(err), opFree, "addresses[%d]: %w", j.wrong, err)
	}
	return err
}

// restore makes the first blocks of a free, which were leaving, live again.
func (p *Pool) restore(j *pendingFree, count int) {
	for some := range slices.Chunk(j.addrs[:count], sliceBlocks) {
		for _, l := range p.leaving(some) {
			l.setInfo(l.info().with(blockLive))
		}
	}
}

// markAll marks the streams. One that has run dry needs none, and gets a nil mark.
func (p *Pool) markAll(j *pendingFree, streams []device.Stream) {
	for _, stream := range streams {
		used, err := p.markGraph(j, stream)
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
func (p *Pool) retireAll(j *pendingFree) {
	most := sliceBlocks
	if len(j.graphs) > 0 {
		// What parks them is one for all.
		most = len(j.addrs)
	}
	if len(j.addrs) <= sliceBlocks {
		p.retireFound(j, p.heap.scratch.slice)
	} else {
		for some := range slices.Chunk(j.addrs, most) {
			p.retireFound(j, p.leaving(some))
		}
	}
	p.dropUnused(j)
}

// retireFound ends the lives of blocks that are leaving. There is room for them.
func (p *Pool) retireFound(j *pendingFree, found []located) {
	if p.heap.debug != nil {
		p.heap.unguard(j, found)
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
		p.heap.tags.Leave(tag, part, uint64(at-first))
		sum.AllocatedBytes += part.AllocatedBytes
		sum.RequestedBytes += part.RequestedBytes
	}
	if p.heap.debug == nil && len(j.graphs) == 0 && !j.waits() {
		p.heap.streams.forgetAll(found)
		p.heap.giveManyToSegments(found)
		p.heap.books.FreeMany(sum, uint64(len(found)))
		return
	}
	p.heap.books.RetireMany(sum, uint64(len(found)))
	if len(j.graphs) == 0 || !p.park(j, found) {
		p.fly(j, found)
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
			l.leavePages()
		}
		h.left(s, uint64(n))
		found = found[n:]
	}
}

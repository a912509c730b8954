package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// AllocBatch allocates one block of the request for each element of to, all or none.
// Errors: those of Alloc. After an error to contains only zeros, and the counters are
// unchanged except for the count of failures.
func (p *Pool) AllocBatch(r Request, to []device.Addr) error {
	if len(to) == 0 {
		return nil
	}
	var n need
	err := p.heap.check(&r, &n)
	if err == nil {
		n.count = uint64(len(to))
		err = p.allocBatch(&n, to)
	}
	if err != nil {
		clear(to)
	}
	return err
}

func (p *Pool) allocBatch(n *need, to []device.Addr) error {
	if p.heap.ended.Load() {
		return p.heap.closedError(opAlloc)
	}
	if p.family.graphs.AnyCapturing() {
		if private, inside, err := p.family.routed(n); private != nil || err != nil {
			if err != nil {
				return err
			}
			return private.allocBatch(inside, to)
		}
	}
	p.heap.lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return p.heap.closedError(opAlloc)
	}
	if p.heap.inFlight.Count() > 0 {
		p.heap.completeFrees(inflight.PollBudget)
	}
	err := p.heap.placeBatch(n, to, inflight.Fits)
	overfull := p.heap.overfull
	p.heap.mu.Unlock()
	if noRoom(err) {
		_, err = p.supply.search(n, to)
		return err
	}
	if overfull {
		p.supply.shrink()
	}
	p.heap.changed()
	return err
}

// placeBatch allocates all blocks from present memory, or returns ErrNoRoom. The caller
// holds mu.
func (h *heap) placeBatch(n *need, to []device.Addr, excess inflight.Excess) error {
	tag, err := h.tagOf(n)
	if err != nil {
		return err
	}
	if h.inFlight.Count() == 0 && h.debug == nil {
		if done, err := h.placeTogether(n, to, tag); done || err != nil {
			return err
		}
	}
	reused := h.reusable(n, excess, len(to))
	ranges, err := h.gather(n, len(to)-len(reused))
	if err != nil {
		return err
	}
	var sum, revived track.Block
	for i, at := range reused {
		l := h.flying(h.inFlight.At(at).Addr)
		h.inFlight.Drop(at)
		to[i] = h.writeOne(l, n, tag)
		revived.AllocatedBytes += l.Size
	}
	h.counters.Deactivate(revived.AllocatedBytes)
	for i, l := range ranges {
		to[len(reused)+i] = h.writeOne(l, n, tag)
		l.blocks++
		sum.AllocatedBytes += l.Size
	}
	sum.AllocatedBytes += revived.AllocatedBytes
	h.enterBatch(n, tag, sum.AllocatedBytes)
	return nil
}

func (h *heap) enterBatch(n *need, tag uint32, allocatedBytes uint64) {
	sum := track.Block{RequestedBytes: n.requested * n.count, AllocatedBytes: allocatedBytes}
	h.tags.Add(tag, sum, n.count)
	h.counters.AllocMany(sum, n.count)
}

// placeTogether allocates all blocks from one segment whose strategy supports batches. It
// returns false if no segment has space. This path has to be fast.
func (h *heap) placeTogether(n *need, to []device.Addr, tag uint32) (done bool, err error) {
	for _, s := range h.segments {
		var total uint64
		switch {
		case s.runBatcher != nil:
			total, err = h.placeRuns(s, n, to, tag)
		case s.batcher != nil:
			total, err = h.placeRanges(s, n, to, tag)
		default:
			continue
		}
		if err == rangealloc.ErrNoRoom || err == errUnmapped && h.paged.choosy {
			continue
		}
		if err != nil {
			return false, err
		}
		s.blocks += n.count
		h.enterBatch(n, tag, total)
		return true, nil
	}
	return false, nil
}

// placeRuns allocates all blocks from a strategy whose blocks have one size. It returns
// the sum of their sizes.
func (h *heap) placeRuns(s *segment, n *need, to []device.Addr, tag uint32) (total uint64, err error) {
	runs, size, err := s.allocRuns(&n.Request, len(to), h.scratch.runs)
	if err != nil {
		return 0, err
	}
	h.scratch.runs = runs
	if size-n.requested > maxSlackBytes {
		if s.pages != nil {
			s.releaseRuns(runs, size)
		}
		s.undoRuns(runs, size)
		return 0, h.tooSlack(n, size-n.requested)
	}
	info, now := makeInfo(blockLive, tag, size-n.requested), s.now()
	for _, run := range runs {
		addr, infos := s.base+device.Addr(run.Offset), s.infos[run.Slot:][:run.Count]
		addrs := to[:run.Count]
		for i := range infos {
			infos[i] = info
		}
		for i := range addrs {
			addrs[i] = addr
			addr += device.Addr(size)
		}
		if s.timed {
			times := s.times[run.Slot:][:run.Count]
			for i := range times {
				times[i] = now
			}
		}
		if n.stream != h.defaultStream {
			for i := range run.Count {
				at := rangealloc.Range{Offset: run.Offset + uint64(i)*size, Size: size, Slot: run.Slot + i}
				h.streams.note(located{s, at}, n.stream)
			}
		}
		to = to[run.Count:]
	}
	return n.count * size, nil
}

// placeRanges allocates all blocks from a strategy that supports batches. It returns the
// sum of their sizes.
func (h *heap) placeRanges(s *segment, n *need, to []device.Addr, tag uint32) (total uint64, err error) {
	ranges := h.scratch.room(len(to))
	if err := s.allocBatch(&n.Request, ranges); err != nil {
		return 0, err
	}
	size, info, now := uint64(0), blockInfo(0), s.now()
	for i := range ranges {
		r := &ranges[i]
		if r.Size != size {
			size = r.Size
			if size-n.requested > maxSlackBytes {
				s.releaseRanges(ranges)
				s.undo(ranges)
				return 0, h.tooSlack(n, size-n.requested)
			}
			info = makeInfo(blockLive, tag, size-n.requested)
		}
		s.setInfo(r.Slot, info)
		h.streams.note(located{s, *r}, n.stream)
		if s.timed {
			s.times[r.Slot] = now
		}
		to[i] = s.base + device.Addr(r.Offset)
		total += size
	}
	return total, nil
}

// togetherBlocks is the most blocks that freeTogether frees while other threads wait.
const togetherBlocks = 32 << 10

// freeTogether frees live blocks of one segment. It requires that all blocks of the pool
// belong to the stream, that no queued work uses them, and that the strategy supports
// runs. Otherwise it returns false and changes nothing.
func (f *frees) freeTogether(addrs []device.Addr, stream device.Stream) bool {
	if f.heap.ended.Load() || len(addrs) > togetherBlocks {
		return false
	}
	f.heap.lock()
	s, _, ok := f.heap.locateLive(addrs[0])
	if !ok || f.heap.state != stateOpen || s.runBatcher == nil || !f.allPlain() || !f.heap.streams.allAreOf(stream, f.heap.segments) {
		f.heap.mu.Unlock()
		return false
	}
	f.heap.scratch.offsets = slices.Grow(f.heap.scratch.offsets[:0], len(addrs))[:len(addrs)]
	offsets, base := f.heap.scratch.offsets, s.base
	for i, addr := range addrs {
		offsets[i] = uint64(addr - base)
	}
	runs, size, err := s.runBatcher.FreeRuns(offsets, f.heap.scratch.runs)
	f.heap.scratch.runs = runs
	if err != nil {
		f.heap.mu.Unlock()
		return false
	}
	f.heap.removeTogether(s, size, runs)
	if s.pages != nil {
		s.releaseRuns(runs, size)
	}
	f.heap.blocksFreed(s, uint64(len(addrs)))
	overfull := f.heap.overfull
	f.heap.mu.Unlock()
	if overfull {
		f.supply.shrink()
	}
	f.heap.engine.Changed()
	return true
}

// allPlain reports whether every allocated block is live, belongs to the pool itself, and
// is used only by its own stream. The caller holds mu.
func (f *frees) allPlain() bool {
	return f.heap.inFlight.Count() == 0 && f.leases.leased == f.leases.returned && !f.heap.neverCompletes &&
		!f.heap.streams.anyNamed() && f.heap.debug == nil && f.parked == 0 && f.batches == 0
}

// removeTogether subtracts live blocks of one size from the counters and the tags.
// Usually all blocks of a batch have the same tag.
func (h *heap) removeTogether(s *segment, size uint64, runs []rangealloc.Run) {
	var sum track.Block
	var all, count, slack uint64
	tag := s.infos[runs[0].Slot].tag()
	finishTag := func() {
		part := track.Block{RequestedBytes: count*size - slack, AllocatedBytes: count * size}
		h.tags.Remove(tag, part, count)
		sum.RequestedBytes += part.RequestedBytes
		sum.AllocatedBytes += part.AllocatedBytes
		all += count
	}
	for _, run := range runs {
		if h.streams.live > 0 {
			for slot := range run.Count {
				h.streams.forget(s, run.Slot+slot)
			}
		}
		for _, info := range s.infos[run.Slot:][:run.Count] {
			if info.tag() != tag {
				finishTag()
				tag, count, slack = info.tag(), 0, 0
			}
			count++
			slack += info.slack()
		}
	}
	finishTag()
	h.counters.FreeMany(sum, all)
}

// writeOne records a live block in the table of its segment and returns the address for
// the caller.
func (h *heap) writeOne(l located, n *need, tag uint32) device.Addr {
	l.setInfo(makeInfo(blockLive, tag, l.Size-n.requested))
	h.streams.note(l, n.stream)
	if l.timed {
		l.times[l.Slot] = int64(track.Now())
	}
	if h.debug == nil {
		return l.addr()
	}
	block := Block{Tag: h.tags.Name(tag)}
	h.guard(l, n, &block)
	return block.Addr
}

// reusable chooses blocks in flight that the stream may reuse at once. They stay in
// flight.
func (h *heap) reusable(n *need, excess inflight.Excess, most int) []int32 {
	if h.inFlight.Count() == 0 {
		return nil
	}
	return h.inFlight.FindMany(n.stream, n.inFlight(excess), most)
}

// gather allocates count blocks from the segments, as many as possible from each segment
// in turn. It allocates all or none. If pages are missing and are to be noted, it first
// finds the places of all blocks.
func (h *heap) gather(n *need, count int) ([]located, error) {
	found, bare := h.scratch.located[:0], 0
	for _, s := range h.segments {
		left := count - len(found)
		if left == 0 {
			break
		}
		if s.batcher != nil && left > 1 {
			ranges := h.scratch.room(left)
			err := s.allocBatch(&n.Request, ranges)
			if err == nil {
				for _, r := range ranges {
					found = append(found, located{s, r})
				}
				break
			}
			if err == errUnmapped && !h.paged.choosy {
				h.ungather(found)
				return nil, err
			}
		}
		for ; left > 0; left-- {
			r, err := s.alloc(&n.Request)
			if err == rangealloc.ErrNoRoom {
				break
			}
			if err == errUnmapped && h.paged.noting {
				// The strategy had this place a moment ago, and will return it again.
				if r, err = s.strategy.Alloc(n.Request); err == nil {
					s.setInfo(r.Slot, makeInfo(blockBare, 0, 0))
					bare++
				}
			}
			if err != nil {
				h.ungather(found)
				return nil, err
			}
			found = append(found, located{s, r})
		}
	}
	if len(found) < count {
		h.ungather(found)
		return nil, rangealloc.ErrNoRoom
	}
	if bare > 0 {
		h.ungather(found)
		return nil, errUnmapped
	}
	h.scratch.located = found
	for _, l := range found {
		if slack := l.Size - n.requested; slack > maxSlackBytes {
			h.ungather(found)
			return nil, h.tooSlack(n, slack)
		}
	}
	return found, nil
}

// ungather returns blocks that were not recorded to their strategies, the last one first.
// Bare blocks are not counted in their pages.
func (h *heap) ungather(found []located) {
	h.scratch.located = found
	for _, l := range slices.Backward(found) {
		if l.info().state() != blockBare {
			h.unplace(l)
			continue
		}
		l.setInfo(0)
		l.retract(l.Offset)
	}
}

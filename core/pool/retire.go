package pool

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// leave is a free under way.
type leave struct {
	addrs []device.Addr
	// stream is what the blocks were freed on; nil: only events count, and the streams
	// that the blocks are of.
	stream device.Stream
	idle   bool
	events []device.Event
	batch  bool
	// size is what the blocks were asked for with, or anySize.
	size uint64

	// streams are those whose work has to pass, and marks their events, which
	// are this call's until the blocks are in flight.
	streams []device.Stream
	marks   []device.Event
	// graphs use the blocks, which were captured on other streams of captures.
	graphs   []*graph
	captured []device.Stream

	// reports are what the debug mode has found, of the address of that index if
	// the free is refused; foreign says that it is not the pool's.
	reports []*memcheck.Report
	wrong   int
	foreign bool
}

// retire ends the lives of blocks, all or none. What the caches have out among
// them is taken over first; it stays live if the call fails.
func (p *Pool) retire(j *leave) error {
	if !j.idle && len(j.marks) == 0 {
		if err := j.mark(j.stream); err != nil {
			return err
		}
	}
	for {
		again, err := p.tryRetire(j)
		if err != nil {
			return errors.Join(p.told(j, err), j.closeMarks())
		}
		if !again {
			p.changed()
			return p.told(j, nil)
		}
	}
}

// mark records the present end of a stream's queue.
func (j *leave) mark(stream device.Stream) error {
	event, err := device.Mark(opFree, stream)
	if err != nil {
		return err
	}
	j.streams, j.marks = append(j.streams, stream), append(j.marks, event)
	return nil
}

func (j *leave) closeMarks() error {
	var failures error
	for _, event := range j.marks {
		if event != nil {
			failures = errors.Join(failures, event.Close())
		}
	}
	return failures
}

// tryRetire is false when the blocks are retired, and true when something had to
// be done without the lock first.
func (p *Pool) tryRetire(j *leave) (again bool, err error) {
	p.lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return false, p.closedError(opFree)
	}
	found, leased, err := p.findLive(j)
	if err != nil || leased != 0 {
		p.mu.Unlock()
		switch {
		case err == nil:
			err = p.takeOverFrom(leased, j.addrs)
		case err == errNotLive: //nolint:errorlint // the very value, of findLive
			err = p.refuse(j)
		}
		return true, err
	}
	if missing := p.unmarked(j, found); len(missing) > 0 {
		p.restore(found)
		p.mu.Unlock()
		p.markAll(j, missing)
		return true, nil
	}
	p.retireFound(j, found)
	if p.flights.count > 0 {
		p.land(pollBudget)
	}
	overfull := p.overfull
	p.mu.Unlock()
	if overfull {
		p.shrink()
	}
	return false, nil
}

// findLive finds all blocks of a free and marks them as leaving, or none and
// says what is wrong, or which of them is with the caches.
func (p *Pool) findLive(j *leave) (found []located, leased device.Addr, err error) {
	j.reports = nil
	found = p.scratch.located[:0]
	for i, addr := range j.addrs {
		l, ok := p.locateGiven(addr)
		state := blockNone
		if ok {
			state = l.info().state()
		}
		switch {
		case state == blockLive && j.size != anySize && l.Size-l.info().slack() != j.size:
			err = device.Errorf(device.CodeInvalidSize, opFree, "size_bytes is %d: the block at %#x was asked for with %d",
				j.size, uint64(addr), l.Size-l.info().slack()).On(p.engine.ID())
		case state == blockLive:
			l.setInfo(l.info().with(blockLeaving))
			found = append(found, l)
			continue
		case state == blockLeased:
			leased = addr
		case state == blockLeaving:
			err = device.Errorf(device.CodeDoubleFree, opFree,
				"address %#x is named twice", uint64(addr)).On(p.engine.ID())
		default:
			err = errNotLive
		}
		p.scratch.located = found
		p.restore(found)
		if j.wrong = i; err != nil && err != errNotLive { //nolint:errorlint // the very value, from above
			err = p.refused(j, err)
		}
		return nil, leased, err
	}
	p.scratch.located = found
	return found, 0, nil
}

// errNotLive is for refuse to say more about.
var errNotLive = errors.New("no live block starts at the address")

// refuse is the error of a free one of whose addresses is no live block's. To find out
// what is there takes its time, so nobody waits for it: the caller holds no lock.
func (p *Pool) refuse(j *leave) error {
	err := p.notLive(opFree, j.addrs[j.wrong])
	p.mu.Peek()
	defer p.mu.Unlock()
	return p.refused(j, err)
}

// refused adds to an error what the debug mode knows of the address, and which of many
// it is. The caller holds mu.
func (p *Pool) refused(j *leave, err error) error {
	addr := j.addrs[j.wrong]
	if p.debug != nil {
		j.reports = append(j.reports, p.debug.Refuse(opFree, addr, err))
		j.foreign = p.segmentOf(addr) == nil
	}
	if j.batch {
		return device.Errorf(device.CodeOf(err), opFree, "addresses[%d]: %w", j.wrong, err)
	}
	return err
}

// restore makes blocks that were leaving live again.
func (p *Pool) restore(found []located) {
	for _, l := range found {
		l.setInfo(l.info().with(blockLive))
	}
}

// unmarked lists the streams that the blocks are of, and those that RecordStream named
// for them, that have no mark yet.
func (p *Pool) unmarked(j *leave, found []located) []device.Stream {
	if len(p.streams) == 0 && p.blockStreams.live == 0 && (j.stream == nil || j.stream == p.defaultStream) {
		return nil
	}
	var missing []device.Stream
	miss := func(stream device.Stream) {
		if stream != j.stream && !slices.Contains(j.streams, stream) && !slices.Contains(missing, stream) {
			missing = append(missing, stream)
		}
	}
	for _, l := range found {
		if of := p.streamFor(j, l); of != nil {
			miss(of)
		}
		if !l.info().recorded() {
			continue
		}
		for _, stream := range p.streams[l.addr()] {
			miss(stream)
		}
	}
	return missing
}

// markAll marks the streams. One that has run dry needs none, and gets a nil mark.
func (p *Pool) markAll(j *leave, streams []device.Stream) {
	for _, stream := range streams {
		used, err := p.markGraph(j, stream)
		if used {
			continue
		}
		var mark device.Event
		if err == nil {
			mark = endOf(stream)
		} else if !hasEnded(stream, err) {
			mark = &lateEnd{stream: stream}
		}
		j.streams, j.marks = append(j.streams, stream), append(j.marks, mark)
	}
}

// retireFound ends the lives of blocks that are leaving.
func (p *Pool) retireFound(j *leave, found []located) {
	if p.debug != nil {
		p.unguard(j, found)
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
		p.tags.Leave(tag, part, uint64(at-first))
		sum.AllocatedBytes += part.AllocatedBytes
		sum.RequestedBytes += part.RequestedBytes
	}
	if p.debug == nil && len(j.events) == 0 && len(j.graphs) == 0 && !slices.ContainsFunc(j.marks, func(e device.Event) bool { return e != nil }) {
		p.forgetStreams(found)
		p.giveManyToSegments(found)
		p.books.FreeMany(sum, uint64(len(found)))
		return
	}
	p.books.RetireMany(sum, uint64(len(found)))
	if len(j.graphs) == 0 || !p.park(j, found) {
		p.fly(j, found)
	}
}

// fly puts blocks that are leaving in flight behind the marks that they need.
func (p *Pool) fly(j *leave, found []located) {
	f := &p.flights
	fences := make([]int32, len(j.marks))
	for i, event := range j.marks {
		fences[i] = none
		if event != nil {
			fences[i] = f.fenceOn(j.streams[i], event)
		}
	}
	var own []int32
	for _, event := range j.events {
		own = append(own, f.fenceOn(nil, event))
	}
	behind := make([]int32, 0, len(own)+len(fences))
	for _, l := range found {
		behind = append(behind[:0], own...)
		named, of := p.streams[l.addr()], p.streamFor(j, l)
		for i, fence := range fences {
			if fence != none && (j.streams[i] == j.stream || j.streams[i] == of || slices.Contains(named, j.streams[i])) {
				behind = append(behind, fence)
			}
		}
		l.setInfo(makeInfo(blockInFlight, 0, 0))
		if len(behind) == 0 {
			p.landed(l)
			continue
		}
		f.add(l, behind)
	}
	for _, fence := range fences {
		if fence != none && f.fences[fence].count == 0 {
			f.letGo(fence)
		}
	}
	p.forgetStreams(found)
}

// forgetStreams drops the streams of blocks that have died, and those that RecordStream
// named for them.
func (p *Pool) forgetStreams(found []located) {
	if p.blockStreams.live > 0 {
		for _, l := range found {
			p.forgetStream(l.segment, l.Slot)
		}
	}
	if len(p.streams) == 0 {
		return
	}
	for _, l := range found {
		delete(p.streams, l.addr())
	}
}

// giveManyToSegments is giveToSegment for many.
func (p *Pool) giveManyToSegments(found []located) {
	for len(found) > 0 {
		s := found[0].segment
		if s.batcher == nil || len(found) == 1 {
			found[0].setInfo(0)
			p.giveToSegment(found[0])
			found = found[1:]
			continue
		}
		offsets := p.scratch.offsets[:0]
		n := 0
		for ; n < len(found) && found[n].segment == s; n++ {
			s.setInfo(found[n].Slot, 0)
			offsets = append(offsets, found[n].Offset)
		}
		p.scratch.offsets = offsets
		if err := s.batcher.FreeBatch(offsets); err != nil {
			p.broken("pool.land", err)
		}
		for _, l := range found[:n] {
			l.leavePages()
		}
		p.left(s, uint64(n))
		found = found[n:]
	}
}

// scratch is room for batches that is used again, under mu.
type scratch struct {
	located []located
	slice   []located
	offsets []uint64
	runs    []rangealloc.Run
	ranges  []rangealloc.Range
}

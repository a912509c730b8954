package pool

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// parkedBlocks are blocks that one free has parked: a graph uses them that was being
// captured then, but they are of another pool than its private one. They are in flight,
// behind no fence yet.
type parkedBlocks struct {
	owner *Pool
	addrs []device.Addr
	bytes uint64
	// graphs are those that use the blocks and were not released when they were freed. The
	// first that is not released yet has them in its list.
	graphs []*graph
	// streams are those of captures, whose earlier work may use the blocks as well, and
	// events what the blocks wait for besides.
	streams []device.Stream
	events  []device.Event
}

// park takes over blocks that are leaving, and the marks of their free. It is false when the
// graphs were all released meanwhile. The caller holds mu.
func (p *Pool) park(j *pendingFree, found []located) bool {
	parked := &parkedBlocks{owner: p, graphs: j.graphs, streams: j.captured}
	for _, l := range found {
		parked.addrs = append(parked.addrs, l.addr())
		parked.bytes += l.Size
	}
	parked.events = append(parked.events, j.events...)
	for i, event := range j.marks {
		if event != nil {
			parked.events = append(parked.events, j.lend(i))
		}
	}
	if !parked.handOver() {
		j.takeBack()
		return false
	}
	for _, l := range found {
		l.setInfo(makeInfo(blockInFlight, 0, 0))
	}
	p.parked += uint64(len(found))
	p.forgetStreams(found)
	return true
}

// markGraph notes that a graph uses the blocks of a free: one for which the stream captures, or
// captured when RecordStream named it. Those of its private pool wait for the end of the capture,
// all others for the release. False: none does.
func (p *Pool) markGraph(j *pendingFree, of device.Stream) (used bool, err error) {
	real, g := of, (*graph)(nil)
	if b, ok := of.(*branch); ok {
		real, g = b.Stream, b.graph
	} else if g, _, err = p.graphOf(of); err != nil {
		return false, err
	}
	if g == nil {
		return false, nil
	}
	if p == g.private.Pool {
		j.streams, j.marks = append(j.streams, of), append(j.marks, captureEnd{g})
		return true, nil
	}
	j.graphs, j.captured = append(j.graphs, g), append(j.captured, real)
	j.streams, j.marks = append(j.streams, of), append(j.marks, nil)
	return true, nil
}

// handOver gives the blocks to the next graph that was not released; false: there is none.
func (b *parkedBlocks) handOver() bool {
	for len(b.graphs) > 0 {
		g := b.graphs[0]
		b.graphs = b.graphs[1:]
		g.mu.Lock()
		if !g.released {
			g.parked = append(g.parked, b)
			g.mu.Unlock()
			return true
		}
		g.mu.Unlock()
	}
	return false
}

func (g *graph) parkedBytes() (bytes uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.parked {
		bytes += b.bytes
	}
	return bytes
}

// release is all that a graph needs to be released: nothing can fail any more.
type release struct {
	parked []*parkedBlocks
	// marks are what the parked blocks wait for from now on, each list for one of them,
	// and last what the private pool does; nil: nothing.
	marks [][]device.Event
	last  device.Event
}

// prepareRelease records the end of the last run for everything that waits for it, and
// marks the graph as released; or changes nothing.
func prepareRelease(g *graph, stream device.Stream) (*release, error) {
	r := &release{}
	var err error
	r.last, err = endOfRun(stream)
	for err == nil {
		g.mu.Lock()
		if len(r.parked) == len(g.parked) {
			g.parked, g.released = nil, true
			g.mu.Unlock()
			return r, nil
		}
		next := g.parked[len(r.parked)]
		g.mu.Unlock()
		var marks []device.Event
		marks, err = next.marksBehind(stream)
		r.parked, r.marks = append(r.parked, next), append(r.marks, marks)
	}
	return nil, errors.Join(err, r.drop())
}

// drop closes the events of a release that does not come about.
func (r *release) drop() (failures error) {
	if r.last != nil {
		failures = r.last.Close()
	}
	for _, marks := range r.marks {
		for _, event := range marks {
			failures = errors.Join(failures, event.Close())
		}
	}
	return failures
}

// marksBehind records the ends of the stream of the last run and of the streams that captured.
func (b *parkedBlocks) marksBehind(stream device.Stream) (marks []device.Event, err error) {
	for i := -1; i < len(b.streams) && err == nil; i++ {
		of := stream
		if i >= 0 {
			of = b.streams[i]
		}
		if i >= 0 && of == stream {
			continue
		}
		var event device.Event
		if event, err = endOfRun(of); event != nil {
			marks = append(marks, event)
		}
	}
	if err != nil {
		for _, event := range marks {
			err = errors.Join(err, event.Close())
		}
		return nil, err
	}
	return marks, nil
}

// endOfRun marks the end of the queue of a stream whose work has to pass before a graph is
// released; nil: no work is queued there.
func endOfRun(stream device.Stream) (device.Event, error) {
	event, err := device.MarkEnd(opRelease, stream)
	if errors.Is(err, device.CodeInvalidState) {
		return nil, device.Errorf(device.CodeInvalidState, opRelease, "%w: release the graph after that", err)
	}
	return event, err
}

// commit lets go of what the graph had; last says that it was the last of its private pool. The
// error is that of an event that could not be closed.
func (r *release) commit(g *graph, last bool) (err error) {
	for i, b := range r.parked {
		b.events = append(b.events, r.marks[i]...)
		if !b.handOver() {
			b.owner.unpark(b)
		}
	}
	if last {
		g.private.letGo(r.last)
	} else if r.last != nil {
		err = r.last.Close()
	}
	return err
}

// unpark puts parked blocks behind what they still wait for.
func (p *Pool) unpark(b *parkedBlocks) {
	p.lock()
	f, passed := &p.inFlight, true
	if f.Reserve(len(b.addrs), len(b.addrs)*len(b.events)) != nil {
		// There is no memory to note them behind the events.
		p.mu.Unlock()
		passed, b.events = inflight.PassAll(b.events), nil
		p.lock()
	}
	var fences []inflight.Fence
	for _, event := range b.events {
		fences = append(fences, f.Fence(nil, event))
	}
	for _, addr := range b.addrs {
		l, ok := p.locate(addr)
		if !ok {
			p.broken("pool.unpark", device.Errorf(device.CodeInternal, "pool.unpark",
				"the parked block at %#x is not there", uint64(addr)))
		}
		switch {
		case len(fences) > 0:
			f.Add(l.inFlight(), fences)
		case passed:
			p.landed(l)
		default:
			// They stay until the pool ends.
			p.grounded = true
		}
	}
	p.parked -= uint64(len(b.addrs))
	p.landAll()
	p.mu.Unlock()
	p.changed()
}

package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/graphs"
	"ferrum_mem/core/pool/inflight"
)

// park takes over leaving blocks and the events of their free. It returns false if all
// the graphs were released meanwhile. The caller holds mu.
func (p *Pool) park(j *pendingFree, found []located) bool {
	parked := &graphs.Parked[*Pool]{Owner: p, Graphs: j.graphs, Streams: j.captured}
	for _, l := range found {
		parked.Addrs = append(parked.Addrs, l.addr())
		parked.Bytes += l.Size
	}
	parked.Events = append(parked.Events, j.events...)
	for i, event := range j.marks {
		if event != nil {
			parked.Events = append(parked.Events, j.lend(i))
		}
	}
	if !parked.Park() {
		j.closeShared()
		return false
	}
	for _, l := range found {
		l.setInfo(makeInfo(blockInFlight, 0, 0))
	}
	p.frees.parked += uint64(len(found))
	p.heap.streams.forgetAll(found)
	return true
}

// markGraph records that a graph uses the blocks of a free: the graph for which the
// stream is captured, or was captured when RecordStream named it. Blocks of the private
// pool of that graph wait for the end of the capture; all others wait for the release of
// the graph. It returns false if no graph uses the blocks.
func (m *family) markGraph(j *pendingFree, of device.Stream) (used bool, err error) {
	real, g := of, (*graph)(nil)
	if b, ok := of.(*branch); ok {
		real, g = b.Stream, b.Graph()
	} else if g, _, err = m.graphOf(of); err != nil {
		return false, err
	}
	if g == nil {
		return false, nil
	}
	if m.pool == g.Private() {
		j.streams, j.marks = append(j.streams, of), append(j.marks, g.End())
		return true, nil
	}
	j.graphs, j.captured = append(j.graphs, g), append(j.captured, real)
	j.streams, j.marks = append(j.streams, of), append(j.marks, nil)
	return true, nil
}

// unpark puts parked blocks behind the events for which they still wait.
func (p *Pool) unpark(b *graphs.Parked[*Pool]) {
	p.heap.lock()
	f, passed := &p.heap.inFlight, true
	if f.Reserve(len(b.Addrs), len(b.Addrs)*len(b.Events)) != nil {
		// There is no memory to put the blocks behind the events, so wait for the events.
		p.heap.mu.Unlock()
		passed, b.Events = inflight.PassAll(b.Events), nil
		p.heap.lock()
	}
	var fences []inflight.Fence
	for _, event := range b.Events {
		fences = append(fences, f.Fence(nil, event))
	}
	for _, addr := range b.Addrs {
		l, ok := p.heap.locate(addr)
		if !ok {
			p.heap.broken("pool.unpark", device.Errorf(device.CodeInternal, "pool.unpark",
				"the parked block at %#x is not there", uint64(addr)))
		}
		switch {
		case len(fences) > 0:
			f.Add(l.inFlight(), fences)
		case passed:
			p.heap.completeFree(l)
		default:
			// The blocks stay in flight until the pool ends.
			p.heap.neverCompletes = true
		}
	}
	p.frees.parked -= uint64(len(b.Addrs))
	p.heap.completeAll()
	p.heap.mu.Unlock()
	p.heap.changed()
}

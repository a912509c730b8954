package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// unmarked adds to j.missing the streams that the blocks are of, and those that
// RecordStream named for them, that have no mark yet.
func (p *Pool) unmarked(j *pendingFree, found []located) {
	if p.heap.streams.areAll(j.stream) {
		return
	}
	miss := func(stream device.Stream) {
		if stream != j.stream && !slices.Contains(j.streams, stream) && !slices.Contains(j.missing, stream) {
			j.missing = append(j.missing, stream)
		}
	}
	for _, l := range found {
		if of := p.heap.streams.streamFor(l, j.stream); of != nil {
			miss(of)
		}
		if !l.info().recorded() {
			continue
		}
		for _, stream := range p.heap.streams.namedFor(l) {
			miss(stream)
		}
	}
}

// linksOf is how many fences the blocks wait for together, at most.
func (p *Pool) linksOf(j *pendingFree, found []located) int {
	links := (len(j.events) + 1) * len(found)
	if p.heap.streams.areAll(j.stream) {
		return links
	}
	for _, l := range found {
		if p.heap.streams.streamFor(l, j.stream) != nil {
			links++
		}
		if l.info().recorded() {
			links += len(p.heap.streams.namedFor(l))
		}
	}
	return links
}

// roomFor has room for the blocks of a free, so that it cannot fail any more:
// CodeResourceExhausted.
func (p *Pool) roomFor(j *pendingFree, blocks, links int) error {
	if !j.waits() {
		return nil
	}
	if err := p.heap.inFlight.Reserve(blocks, links); err != nil {
		return p.heap.noRoomInFlight(opFree, blocks, err)
	}
	return nil
}

func (h *heap) noRoomInFlight(op string, blocks int, err error) error {
	return device.Errorf(device.CodeResourceExhausted, op,
		"there is no memory to note %d blocks more behind queued work: free them when that is done: %w", blocks, err).On(h.engine.ID())
}

// fly puts blocks that are leaving in flight behind the marks that they need.
func (p *Pool) fly(j *pendingFree, found []located) {
	p.placeMarks(j)
	for _, l := range found {
		behind := append(p.heap.scratch.behind[:0], j.own...)
		named, of := p.heap.streams.namedFor(l), p.heap.streams.streamFor(l, j.stream)
		for i, fence := range j.fences {
			if !fence.IsNone() && (j.streams[i] == j.stream || j.streams[i] == of || slices.Contains(named, j.streams[i])) {
				behind = append(behind, fence)
			}
		}
		p.heap.scratch.behind = behind
		l.setInfo(makeInfo(blockInFlight, 0, 0))
		if len(behind) == 0 {
			p.heap.landed(l)
			continue
		}
		p.heap.inFlight.Add(l.inFlight(), behind)
	}
	p.heap.streams.forgetAll(found)
}

// placeMarks puts the marks and the events of a free on fences. A fence that a slice
// before made is used again while blocks wait for it.
func (p *Pool) placeMarks(j *pendingFree) {
	f := &p.heap.inFlight
	for i := len(j.own); i < len(j.events); i++ {
		j.own = append(j.own, f.Fence(nil, j.events[i]))
	}
	for i, event := range j.marks {
		if i == len(j.fences) {
			j.fences = append(j.fences, inflight.Fence{})
		}
		if event != nil && !f.IsOpen(j.fences[i]) {
			j.fences[i] = f.Fence(j.streams[i], j.lend(i))
		}
	}
}

// dropUnused lets go of the fences of a free that no block needs.
func (p *Pool) dropUnused(j *pendingFree) {
	for _, fence := range j.fences {
		p.heap.inFlight.DropUnused(fence)
	}
}

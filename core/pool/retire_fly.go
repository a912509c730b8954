package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// unmarked adds to j.missing the streams that the blocks are of, and those that
// RecordStream named for them, that have no mark yet.
func (p *Pool) unmarked(j *pendingFree, found []located) {
	if p.allOfStream(j) {
		return
	}
	miss := func(stream device.Stream) {
		if stream != j.stream && !slices.Contains(j.streams, stream) && !slices.Contains(j.missing, stream) {
			j.missing = append(j.missing, stream)
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
}

// allOfStream says that no block of the pool waits for a stream but that of the free.
func (p *Pool) allOfStream(j *pendingFree) bool {
	return len(p.streams) == 0 && p.blockStreams.live == 0 && (j.stream == nil || j.stream == p.defaultStream)
}

// linksOf is how many fences the blocks wait for together, at most.
func (p *Pool) linksOf(j *pendingFree, found []located) int {
	links := (len(j.events) + 1) * len(found)
	if p.allOfStream(j) {
		return links
	}
	for _, l := range found {
		if p.streamFor(j, l) != nil {
			links++
		}
		if l.info().recorded() {
			links += len(p.streams[l.addr()])
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
	if err := p.inFlight.Reserve(blocks, links); err != nil {
		return p.noRoomInFlight(opFree, blocks, err)
	}
	return nil
}

func (p *Pool) noRoomInFlight(op string, blocks int, err error) error {
	return device.Errorf(device.CodeResourceExhausted, op,
		"there is no memory to note %d blocks more behind queued work: free them when that is done: %w", blocks, err).On(p.engine.ID())
}

// fly puts blocks that are leaving in flight behind the marks that they need.
func (p *Pool) fly(j *pendingFree, found []located) {
	p.placeMarks(j)
	for _, l := range found {
		behind := append(p.scratch.behind[:0], j.own...)
		named, of := p.streams[l.addr()], p.streamFor(j, l)
		for i, fence := range j.fences {
			if !fence.IsNone() && (j.streams[i] == j.stream || j.streams[i] == of || slices.Contains(named, j.streams[i])) {
				behind = append(behind, fence)
			}
		}
		p.scratch.behind = behind
		l.setInfo(makeInfo(blockInFlight, 0, 0))
		if len(behind) == 0 {
			p.landed(l)
			continue
		}
		p.inFlight.Add(l.inFlight(), behind)
	}
	p.forgetStreams(found)
}

// placeMarks puts the marks and the events of a free on fences. A fence that a slice
// before made is used again while blocks wait for it.
func (p *Pool) placeMarks(j *pendingFree) {
	f := &p.inFlight
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
		p.inFlight.DropUnused(fence)
	}
}

package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// unmarked adds to j.missing the streams that the blocks are of, and those that
// RecordStream named for them, that have no mark yet.
func (f *frees) unmarked(j *pendingFree, found []located) {
	if f.heap.streams.areAll(j.stream) {
		return
	}
	miss := func(stream device.Stream) {
		if stream != j.stream && !slices.Contains(j.streams, stream) && !slices.Contains(j.missing, stream) {
			j.missing = append(j.missing, stream)
		}
	}
	for _, l := range found {
		if of := f.heap.streams.streamFor(l, j.stream); of != nil {
			miss(of)
		}
		if !l.info().recorded() {
			continue
		}
		for _, stream := range f.heap.streams.namedFor(l) {
			miss(stream)
		}
	}
}

// linksOf is how many fences the blocks wait for together, at most.
func (f *frees) linksOf(j *pendingFree, found []located) int {
	links := (len(j.events) + 1) * len(found)
	if f.heap.streams.areAll(j.stream) {
		return links
	}
	for _, l := range found {
		if f.heap.streams.streamFor(l, j.stream) != nil {
			links++
		}
		if l.info().recorded() {
			links += len(f.heap.streams.namedFor(l))
		}
	}
	return links
}

// roomFor has room for the blocks of a free, so that it cannot fail any more:
// CodeResourceExhausted.
func (f *frees) roomFor(j *pendingFree, blocks, links int) error {
	if !j.waits() {
		return nil
	}
	if err := f.heap.inFlight.Reserve(blocks, links); err != nil {
		return f.heap.noRoomInFlight(opFree, blocks, err)
	}
	return nil
}

func (h *heap) noRoomInFlight(op string, blocks int, err error) error {
	return device.Errorf(device.CodeResourceExhausted, op,
		"there is no memory to note %d blocks more behind queued work: free them when that is done: %w", blocks, err).On(h.engine.ID())
}

// fly puts blocks that are leaving in flight behind the marks that they need.
func (f *frees) fly(j *pendingFree, found []located) {
	f.placeMarks(j)
	for _, l := range found {
		behind := append(f.heap.scratch.behind[:0], j.own...)
		named, of := f.heap.streams.namedFor(l), f.heap.streams.streamFor(l, j.stream)
		for i, fence := range j.fences {
			if !fence.IsNone() && (j.streams[i] == j.stream || j.streams[i] == of || slices.Contains(named, j.streams[i])) {
				behind = append(behind, fence)
			}
		}
		f.heap.scratch.behind = behind
		l.setInfo(makeInfo(blockInFlight, 0, 0))
		if len(behind) == 0 {
			f.heap.landed(l)
			continue
		}
		f.heap.inFlight.Add(l.inFlight(), behind)
	}
	f.heap.streams.forgetAll(found)
}

// placeMarks puts the marks and the events of a free on fences. A fence that a slice
// before made is used again while blocks wait for it.
func (f *frees) placeMarks(j *pendingFree) {
	flights := &f.heap.inFlight
	for i := len(j.own); i < len(j.events); i++ {
		j.own = append(j.own, flights.Fence(nil, j.events[i]))
	}
	for i, event := range j.marks {
		if i == len(j.fences) {
			j.fences = append(j.fences, inflight.Fence{})
		}
		if event != nil && !flights.IsOpen(j.fences[i]) {
			j.fences[i] = flights.Fence(j.streams[i], j.lend(i))
		}
	}
}

// dropUnused lets go of the fences of a free that no block needs.
func (f *frees) dropUnused(j *pendingFree) {
	for _, fence := range j.fences {
		f.heap.inFlight.DropUnused(fence)
	}
}

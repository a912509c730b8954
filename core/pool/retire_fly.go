package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// unmarked adds to j.missing the streams that have no event yet: the streams to which the
// blocks belong, and the streams that RecordStream named for them.
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

// linksOf returns an upper bound of the number of fences for which the blocks wait,
// summed over the blocks.
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

// roomFor reserves space in the tables for the blocks of a free, so that the free cannot
// fail later. It returns CodeResourceExhausted if there is no memory.
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
		"there is no memory to record %d more blocks that queued work uses: free them when that work has completed: %w", blocks, err).On(h.engine.ID())
}

// fly puts leaving blocks in flight behind the fences that they need.
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
			f.heap.completeFree(l)
			continue
		}
		f.heap.inFlight.Add(l.inFlight(), behind)
	}
	f.heap.streams.forgetAll(found)
}

// placeMarks creates fences for the events of a free. It uses a fence of an earlier slice
// again while that fence is open.
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

// dropUnused ends the fences of a free for which no block waits.
func (f *frees) dropUnused(j *pendingFree) {
	for _, fence := range j.fences {
		f.heap.inFlight.DropUnused(fence)
	}
}

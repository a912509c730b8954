package graphs

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
)

// Release is the rest of the work after a graph was released. None of it can fail.
type Release[P comparable] struct {
	Private P
	// Last is set if this was the last graph of its private pool.
	Last bool
	// End completes when the last run has completed; the caller owns it. nil means that
	// the run has completed.
	End device.Event

	parked []*Parked[P]
	// marks has one list of events for each element of parked. Its blocks now wait for these
	// events too.
	marks [][]device.Event
}

// Release states that a graph runs no more after the work that is queued on the stream
// now has completed. Errors: those of the pool's CaptureRelease; after an error nothing
// has changed.
func (t *Registry[P]) Release(number uint64, stream device.Stream) (*Release[P], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.find(number)
	if g == nil {
		return nil, t.noGraph(opRelease, "graph", number)
	}
	if !g.ended.Load() {
		if err := t.stillCaptures(opRelease, g); err != nil {
			return nil, err
		}
	}
	r, err := prepare(g, stream)
	if err != nil {
		return nil, err
	}
	if !g.ended.Load() {
		t.end(g)
	}
	t.all = slices.DeleteFunc(t.all, func(other *Graph[P]) bool { return other == g })
	r.Private, r.Last = g.private, t.sharing(g.private) == 0
	return r, nil
}

// prepare records the end of the last run for everything that waits for it, and marks the
// graph as released. On error it changes nothing.
func prepare[P comparable](g *Graph[P], stream device.Stream) (*Release[P], error) {
	r := &Release[P]{}
	var err error
	r.End, err = endOfRun(stream)
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

// drop closes the events of a release that failed.
func (r *Release[P]) drop() (failures error) {
	if r.End != nil {
		failures = r.End.Close()
	}
	for _, marks := range r.marks {
		for _, event := range marks {
			failures = errors.Join(failures, event.Close())
		}
	}
	return failures
}

// HandOver parks the blocks of the graph with the next graphs that use them. It returns
// the blocks that no other graph uses; they wait only for their events.
func (r *Release[P]) HandOver() (unused []*Parked[P]) {
	for i, b := range r.parked {
		b.Events = append(b.Events, r.marks[i]...)
		if !b.Park() {
			unused = append(unused, b)
		}
	}
	r.parked, r.marks = nil, nil
	return unused
}

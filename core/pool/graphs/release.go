package graphs

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
)

// Release is what is left to be done when a graph was released: nothing can fail any more.
type Release[P comparable] struct {
	Private P
	// Last says that it was the last graph of its private pool.
	Last bool
	// End passes when the last run is over, and is the caller's; nil: it is.
	End device.Event

	parked []*Parked[P]
	// marks are what the parked blocks wait for from now on, each list for one of them.
	marks [][]device.Event
}

// Release says that a graph will not run again once what is queued on the stream now is
// done. Errors: as the pool's CaptureRelease; then nothing has changed.
func (t *Registry[P]) Release(number uint64, stream device.Stream) (*Release[P], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.find(number)
	if g == nil {
		return nil, t.noGraph(opRelease, "graph", number)
	}
	if !g.over.Load() {
		if err := t.stillCaptures(opRelease, g); err != nil {
			return nil, err
		}
	}
	r, err := prepare(g, stream)
	if err != nil {
		return nil, err
	}
	if !g.over.Load() {
		t.end(g)
	}
	t.all = slices.DeleteFunc(t.all, func(other *Graph[P]) bool { return other == g })
	r.Private, r.Last = g.private, t.sharing(g.private) == 0
	return r, nil
}

// prepare records the end of the last run for everything that waits for it, and
// marks the graph as released; or changes nothing.
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

// drop closes the events of a release that does not come about.
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

// HandOver parks what the graph had with the next graphs that use it, and is what no other
// graph uses: it waits for its events only.
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

package vmm

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/pageset"
)

const (
	// flightWait bounds how long an order waits for work in the streams.
	flightWait = 10 * time.Second
	// flightSlice is the time after which a wait checks whether pages came from
	// elsewhere.
	flightSlice = 2 * time.Millisecond
)

// An allocation without an offset takes any free run that is long enough. If there is
// none, but freed ranges would make one after their work, it waits for that work, for
// at most flightWait.

// placeWait is the state of one allocation that waits for address space.
type placeWait struct {
	waited time.Duration
	round  int
}

// awaitPlace waits a little for retiring ranges, if the given ranges find free runs after
// that. again reports that the caller should check again. The caller holds mu,
// which is released during the wait.
func (s *space) awaitPlace(all []target, w *placeWait) (again bool, err error) {
	if w.waited >= s.patience || len(s.retirees.queues) == 0 || !s.physical.engine.MayWait() || !s.fitSoon(all) {
		return false, nil
	}
	// Wait for the streams in turns, so that a stalled stream does not delay the
	// others.
	chosen := s.retirees.queues[w.round%len(s.retirees.queues)].fences[0]
	w.round++
	start := track.Now()
	_, err = s.awaitLocked(chosen, min(flightSlice, s.patience-w.waited))
	w.waited += track.Now() - start
	if errors.Is(err, device.CodeTimeout) {
		err = nil
	}
	return err == nil, err
}

// fitSoon reports whether the ranges will all find a free run after all retiring ranges
// were parked. It places them in the free map as it will be then, and undoes that.
func (s *space) fitSoon(all []target) bool {
	var retiring []pageset.Run
	for _, q := range s.retirees.queues {
		for _, f := range q.fences {
			for _, r := range f.behind {
				retiring = append(retiring, r.run)
			}
		}
	}
	sorting.By(retiring, func(a, b pageset.Run) int { return cmp.Compare(a.Start, b.Start) })
	// A range is listed once for each stream that uses it.
	retiring = slices.Compact(retiring)
	s.table.putFree(retiring)
	fit := s.table.unplaced(all) == nil
	for _, r := range retiring {
		s.table.free.Take(r)
	}
	return fit
}

// unplaced returns the first range that finds no free run now, after the ranges before it
// have taken theirs; nil means that all find one.
func (t *pageTable) unplaced(all []target) *target {
	if len(all) == 1 && t.free.Longest() >= all[0].run.Pages {
		return nil
	}
	at := t.takeFirst(all)
	if at == nil {
		t.putTargets(all)
	}
	return at
}

// takeFirst removes for each range, in this order, the first free run that is long enough
// and returns nil. If one finds none, it removes nothing and returns that range.
func (t *pageTable) takeFirst(all []target) (left *target) {
	for i := range all {
		at := &all[i]
		start, ok := t.free.FirstFit(at.run.Pages)
		if !ok {
			t.putTargets(all[:i])
			return at
		}
		at.run.Start = start
		t.free.Take(at.run)
	}
	return nil
}

// putTargets adds the pages of ranges to the free map.
func (t *pageTable) putTargets(all []target) {
	for i := range all {
		t.free.Put(all[i].run)
	}
}

func (t *pageTable) putFree(runs []pageset.Run) {
	for _, r := range runs {
		t.free.Put(r)
	}
}

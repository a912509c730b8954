package vmm

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ferrum_mem/core/device"
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

// awaitPlace waits a little for retiring ranges, if they may make a free run of that
// many pages. again reports that the caller should check again. The caller holds mu,
// which is released during the wait.
func (s *space) awaitPlace(pages uint64, w *placeWait) (again bool, err error) {
	if w.waited >= s.patience || len(s.retirees.queues) == 0 || !s.physical.engine.MayWait() || s.longestSoon() < pages {
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

// longestSoon returns the longest run of pages that are free now or after all retiring
// ranges were parked.
func (s *space) longestSoon() uint64 {
	var retiring []pageset.Run
	for _, q := range s.retirees.queues {
		for _, f := range q.fences {
			for _, r := range f.behind {
				retiring = append(retiring, r.run)
			}
		}
	}
	slices.SortFunc(retiring, func(a, b pageset.Run) int { return cmp.Compare(a.Start, b.Start) })
	// A range is listed once for each stream that uses it.
	retiring = slices.Compact(retiring)
	longest := s.table.free.Longest()
	for len(retiring) > 0 {
		joined := retiring[0]
		retiring = retiring[1:]
		if before, ok := s.table.free.Around(joined.Start); ok && before.End() == joined.Start {
			joined = pageset.Run{Start: before.Start, Pages: before.Pages + joined.Pages}
		}
		for {
			if len(retiring) > 0 && retiring[0].Start == joined.End() {
				joined.Pages += retiring[0].Pages
				retiring = retiring[1:]
			} else if after, ok := s.table.free.Around(joined.End()); ok && after.Start == joined.End() {
				joined.Pages += after.Pages
			} else {
				break
			}
		}
		longest = max(longest, joined.Pages)
	}
	return longest
}

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
	// flightWait bounds how long one order waits for work in the streams.
	flightWait = 10 * time.Second
	// flightSlice is how long it waits before it looks whether what it needs has
	// come from elsewhere.
	flightSlice = 2 * time.Millisecond
)

// An allocation that names no place takes free address space where there is any that
// is long enough. Only where there is none, and ranges that were freed would make room
// once the work behind them is done, it waits for that work, flightWait at most.

// placeWait is the wait of one allocation for address space.
type placeWait struct {
	waited time.Duration
	round  int
}

// awaitPlace waits a little for what retires, if that may bring so many pages in a
// row; again says that it is worth another look. The caller holds mu, which is let go
// meanwhile.
func (s *space) awaitPlace(pages uint64, w *placeWait) (again bool, err error) {
	if w.waited >= s.patience || len(s.retirees.queues) == 0 || !s.physical.engine.MayWait() || s.longestSoon() < pages {
		return false, nil
	}
	// The streams in turns: one that stands holds up no other.
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

// longestSoon is the longest run of pages that are free, or will be when all that
// retires has landed.
func (s *space) longestSoon() uint64 {
	var retiring []pageset.Run
	for _, q := range s.retirees.queues {
		for _, f := range q.fences {
			retiring = append(retiring, f.run)
		}
	}
	slices.SortFunc(retiring, func(a, b pageset.Run) int { return cmp.Compare(a.Start, b.Start) })
	// One range is listed for each stream that uses it.
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

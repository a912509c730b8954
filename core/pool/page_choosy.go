package pool

import (
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
)

// When no more pages can be created, an allocation searches for a place whose pages are
// all mapped. It accepts such a place even in a free run that is longer than necessary,
// beside the blocks.

const (
	// maxVisits bounds the blocks that one allocation examines for this, and so the time
	// for which it holds the pool's lock.
	maxVisits = 1 << 21
	// maxPassedOver bounds the places that are tried with a strategy that cannot allocate
	// at a given place.
	maxPassedOver = 1 << 10
)

// tryChoosy tries to allocate where pages are already mapped. The caller holds layout.
func (u *supply) tryChoosy(search *search) (found bool, err error) {
	u.heap.lock()
	defer u.heap.mu.Unlock()
	if u.heap.state != stateOpen {
		return false, u.heap.closedError(opAlloc)
	}
	u.heap.paged.choosy, u.heap.paged.visits = true, maxVisits
	err = search.take(inflight.Fits)
	u.heap.paged.choosy = false
	if noRoom(err) {
		return false, nil
	}
	return err == nil, err
}

// allocUnmapped completes an alloc whose place is not completely mapped.
func (s *segment) allocUnmapped(r *rangealloc.Request, got rangealloc.Range) (rangealloc.Range, error) {
	g := s.paging
	g.note(wantedBlocks{s, got.Offset, got.Size, 1})
	if !g.choosy {
		s.retract(got.Offset)
		return rangealloc.Range{}, errUnmapped
	}
	if s.placer != nil {
		s.retract(got.Offset)
		return s.allocMapped(got.Size, r.Align)
	}
	return s.passOver(r, got)
}

// allocMapped allocates a block from the shortest free and mapped range that holds it.
// size is a size that the strategy does not round further.
func (s *segment) allocMapped(size, align uint64) (rangealloc.Range, error) {
	g, t := s.paging, s.pages
	found, best, shortest := false, uint64(0), ^uint64(0)
	each := t.EachSmall
	if size >= g.largeBytes {
		each = t.EachMapped
	}
	s.strategy.Walk(func(b rangealloc.Block) bool {
		if g.visits--; g.visits < 0 {
			return false
		}
		if b.Live || b.Size < size {
			return true
		}
		each(b.Offset, b.Size, func(offset, length uint64) {
			pad := -(uint64(s.base) + offset) & (align - 1)
			if length < shortest && pad <= length && length-pad >= size {
				found, best, shortest = true, offset+pad, length
			}
		})
		return true
	})
	if !found {
		return rangealloc.Range{}, errUnmapped
	}
	got, err := s.placer.TakePlace(rangealloc.Place{Offset: best, Size: size, Behind: rangealloc.FromStart})
	if err == nil && got.Slot >= s.slots {
		got, err = s.allocExtended(got)
	}
	if err != nil {
		return rangealloc.Range{}, err
	}
	if !s.pages.Touch(got.Offset, got.Size) {
		s.retract(got.Offset)
		return rangealloc.Range{}, errUnmapped
	}
	return got, nil
}

// passOver allocates one place after the other until one is mapped, and returns the
// others to the strategy.
func (s *segment) passOver(r *rangealloc.Request, got rangealloc.Range) (rangealloc.Range, error) {
	passed := []rangealloc.Range{got}
	err := errUnmapped
	for len(passed) < maxPassedOver {
		if got, err = s.strategy.Alloc(*r); err != nil {
			err = errUnmapped
			break
		}
		if got.Slot >= s.slots {
			if got, err = s.allocExtended(got); err != nil {
				break
			}
		}
		if s.pages.Touch(got.Offset, got.Size) {
			s.undo(passed)
			return got, nil
		}
		passed, err = append(passed, got), errUnmapped
	}
	s.undo(passed)
	return rangealloc.Range{}, err
}

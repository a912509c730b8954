package regions

import "slices"

// Place is a place for a block of a region that is to be emptied, and what was there
// before.
type Place[S Segment] struct {
	Region *Region[S]
	// Offset is the offset of the place in its segment.
	Offset uint64
	at     int32
	was    hole[S]
	// filled is set if the region had received no block before.
	filled bool
}

// Find returns the best listed hole for a block of a victim, and the number of holes
// examined. It returns false if there is none.
func (s *Set[S]) Find(victim *Region[S], size, align uint64) (place Place[S], looks int, ok bool) {
	at, offset := s.index.find(size, align, victim)
	looks, s.index.looks = s.index.looks, 0
	if at == none {
		return Place[S]{}, looks, false
	}
	h := s.index.holes.At(int(at))
	return Place[S]{Region: h.region, Offset: offset, at: at, was: *h}, looks, true
}

// OpenNext adds some holes of the next target to the lists, and returns their number. It
// returns false if no target is left to which blocks of the victim may move.
func (s *Set[S]) OpenNext(victim *Region[S]) (some int, ok bool) {
	if s.nextTarget == len(s.targets) || !victim.mayGoTo(s.targets[s.nextTarget]) {
		return 0, false
	}
	target := s.targets[s.nextTarget]
	some = min(target.holes-s.nextHole, ownClassLooks)
	for i := range some {
		s.index.list(int32(target.firstHole + s.nextHole + i))
	}
	if s.nextHole += some; s.nextHole == target.holes {
		s.nextTarget, s.nextHole = s.nextTarget+1, 0
	}
	return some, true
}

// Lose records that a hole that was found, or its page, is no longer free.
func (s *Set[S]) Lose(place Place[S]) { s.index.holes.At(int(place.at)).size = 0 }

// Take records that size bytes were allocated at a place that was found. The part of the
// hole in front of the place is not used any more.
func (s *Set[S]) Take(place *Place[S], size uint64) {
	place.filled = s.fill(place.Region)
	end := place.Offset + size
	s.index.change(place.at, end, place.was.offset+place.was.size-end)
	s.free -= min(s.free, size)
}

// Suits returns the region with a key for a block of a victim. It returns nil if blocks
// of the victim may not move there.
func (s *Set[S]) Suits(victim *Region[S], key Key[S]) *Region[S] {
	if to := s.FixedAt(key); victim.mayGoTo(to) {
		return to
	}
	return nil
}

// TakeIn records that size bytes were allocated in a region, outside the known holes.
func (s *Set[S]) TakeIn(r *Region[S], size uint64) Place[S] {
	s.free -= min(s.free, size)
	return Place[S]{Region: r, at: none, filled: s.fill(r)}
}

// fill records that blocks are moved to a region. It returns false if that was known.
func (s *Set[S]) fill(to *Region[S]) bool {
	if to.filled {
		return false
	}
	to.filled = true
	s.filled[to.Key] = true
	return true
}

// Return undoes a Take or TakeIn. The last one must be undone first.
func (s *Set[S]) Return(place Place[S], size uint64) {
	s.free += size
	if place.at != none {
		s.index.change(place.at, place.was.offset, place.was.size)
	}
	if place.filled {
		place.Region.filled = false
		delete(s.filled, place.Region.Key)
	}
}

// NeedToOpen returns the size that a region without blocks must have to be used: the
// bytes of the candidate and of the next one. words is the number of words that it read.
// It returns false if there is no next candidate.
func (s *Set[S]) NeedToOpen() (bytes uint64, words int, ok bool) {
	next := slices.IndexFunc(s.candidates[s.at+1:], func(r *Region[S]) bool { return !r.filled })
	if next < 0 {
		return 0, 0, false
	}
	return s.candidates[s.at].bytes + s.candidates[s.at+1+next].bytes, next, true
}

// Open makes a region that has memory and no block a target. If listed is set, its memory
// from an offset on is added as a hole, for strategies that allocate at a given place.
func (s *Set[S]) Open(key Key[S], from, size uint64, listed bool) {
	opened := s.regionAt(key)
	opened.fixed, opened.filled, opened.emptied = true, true, false
	s.filled[key] = true
	s.free += size
	if listed {
		s.index.list(int32(s.index.holes.Add(hole[S]{region: opened, offset: from, size: size})))
	}
}

// IsOpen reports whether blocks are moved to a region.
func (s *Set[S]) IsOpen(key Key[S]) bool { return s.filled[key] }

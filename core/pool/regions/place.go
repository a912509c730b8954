package regions

import "slices"

// Place is a place for a block of a region that is to be emptied, and what was there.
type Place[S Segment] struct {
	Region *Region[S]
	// Offset is where in the segment the place is.
	Offset uint64
	at     int32
	was    hole[S]
	// filled says that the region had none before.
	filled bool
}

// Find is the best hole that is listed for a block of a victim, and how many were looked
// at; false: there is none.
func (s *Set[S]) Find(victim *Region[S], size, align uint64) (place Place[S], looks int, ok bool) {
	at, offset := s.index.find(size, align, victim)
	looks, s.index.looks = s.index.looks, 0
	if at == none {
		return Place[S]{}, looks, false
	}
	h := s.index.holes.At(int(at))
	return Place[S]{Region: h.region, Offset: offset, at: at, was: *h}, looks, true
}

// OpenNext lists some of the next target's holes, and says how many; false: there is no
// target left that blocks of a victim may go to.
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

// Lose says that somebody else has taken a hole that was found, or its page.
func (s *Set[S]) Lose(place Place[S]) { s.index.holes.At(int(place.at)).size = 0 }

// Take notes that so many bytes were taken at a place that was found. What lies in front of
// it is not used any more.
func (s *Set[S]) Take(place *Place[S], size uint64) {
	place.filled = s.fill(place.Region)
	end := place.Offset + size
	s.index.change(place.at, end, place.was.offset+place.was.size-end)
	s.free -= min(s.free, size)
}

// Suits is the place for a block of a victim in a region of its own choice; nil: blocks of
// the victim may not go there.
func (s *Set[S]) Suits(victim *Region[S], key Key[S]) *Region[S] {
	if to := s.FixedAt(key); victim.mayGoTo(to) {
		return to
	}
	return nil
}

// TakeIn notes that so many bytes were taken in a region that suits, in no hole that is known.
func (s *Set[S]) TakeIn(r *Region[S], size uint64) Place[S] {
	s.free -= min(s.free, size)
	return Place[S]{Region: r, at: none, filled: s.fill(r)}
}

// fill notes that blocks are moved to a region; false: that was known.
func (s *Set[S]) fill(to *Region[S]) bool {
	if to.filled {
		return false
	}
	to.filled = true
	s.filled[to.Key] = true
	return true
}

// GiveBack undoes Take and TakeIn, the last first.
func (s *Set[S]) GiveBack(place Place[S], size uint64) {
	s.free += size
	if place.at != none {
		s.index.change(place.at, place.was.offset, place.was.size)
	}
	if place.filled {
		place.Region.filled = false
		delete(s.filled, place.Region.Key)
	}
}

// NeedToOpen is how much room a region without blocks must have to be worth opening: for
// the candidate and the one after it. It looks at so many words. False: there is no other.
func (s *Set[S]) NeedToOpen() (bytes uint64, words int, ok bool) {
	next := slices.IndexFunc(s.candidates[s.at+1:], func(r *Region[S]) bool { return !r.filled })
	if next < 0 {
		return 0, 0, false
	}
	return s.candidates[s.at].bytes + s.candidates[s.at+1+next].bytes, next, true
}

// Open has blocks moved to a region that has memory and no block. listed: its memory, from
// an offset on, is a hole where a place may be chosen.
func (s *Set[S]) Open(key Key[S], from, size uint64, listed bool) {
	opened := s.regionAt(key)
	opened.fixed, opened.filled, opened.emptied = true, true, false
	s.filled[key] = true
	s.free += size
	if listed {
		s.index.list(int32(s.index.holes.Add(hole[S]{region: opened, offset: from, size: size})))
	}
}

// IsOpen says that blocks are moved to a region.
func (s *Set[S]) IsOpen(key Key[S]) bool { return s.filled[key] }

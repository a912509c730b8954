package regions

import "slices"

// LooksPerWord is how many words of memory are read in the time of a look.
const LooksPerWord = 16

// Set is what was seen of a pool. It is told first of all blocks that may move, then of
// all holes, and judged by region; then it is sorted, and gives candidates.
type Set[S Segment] struct {
	regions map[Key[S]]*Region[S]
	// order is the regions as they were found, and last the last of them.
	order []*Region[S]
	last  *Region[S]
	// filled are regions that blocks are moved to, and claimed the blocks that have a
	// place: both the owner's, and longer-lived than the set.
	filled  map[Key[S]]bool
	claimed []bool

	// candidates are sorted from the cheapest on; those before at were dealt with.
	candidates []*Region[S]
	at         int
	index      holeIndex[S]
	// targets are regions that blocks may go to, the best first; what lies before
	// nextHole of nextTarget is listed in index.
	targets              []*Region[S]
	nextTarget, nextHole int
	// free is what is free in regions that have blocks.
	free uint64
	// noRoom counts the blocks without a place, and lacks says which.
	noRoom uint64
	lacks  []bool
}

// New makes a set. filled are the regions that blocks were moved to before, to which it adds
// its own, and claimed says of each block that may move whether it has a place.
func New[S Segment](filled map[Key[S]]bool, claimed []bool) *Set[S] {
	return &Set[S]{
		regions: map[Key[S]]*Region[S]{}, filled: filled, claimed: claimed, lacks: make([]bool, len(claimed)),
	}
}

// at is a region that has blocks.
func (s *Set[S]) regionAt(key Key[S]) *Region[S] {
	if s.last != nil && s.last.Key == key {
		return s.last
	}
	found := s.regions[key]
	if found == nil {
		found = newRegion(key, s.filled[key])
		s.regions[key] = found
		s.order = append(s.order, found)
	}
	s.last = found
	return found
}

// FixedAt is a region that has blocks; one that was not known has no block that is known
// to be movable.
func (s *Set[S]) FixedAt(key Key[S]) *Region[S] {
	found := s.regionAt(key)
	if len(found.Blocks) == 0 {
		found.fixed = true
	}
	return found
}

// EnterBlock enters a block that may move, of which so much lies in a region.
func (s *Set[S]) EnterBlock(key Key[S], block Block, insideBytes uint64) {
	r := s.regionAt(key)
	r.Blocks = append(r.Blocks, block)
	r.bytes += block.SizeBytes
	r.inside += insideBytes
}

// EnterHole enters free memory of a region that has blocks, from an offset to another;
// holes of a region come one after the other.
func (s *Set[S]) EnterHole(key Key[S], from, to uint64) {
	r := s.FixedAt(key)
	at := s.index.holes.Add(hole[S]{region: r, offset: from, size: to - from})
	if r.holes == 0 {
		r.firstHole = at
	}
	r.holes++
	r.free += to - from
}

// Len is how many regions are known, and Region one of them, as they were found.
func (s *Set[S]) Len() int { return len(s.order) }

// Region is a region by the order in which they were found.
func (s *Set[S]) Region(at int) *Region[S] { return s.order[at] }

// Judge makes a region a candidate if all its blocks may move; blocks is how many it has.
func (s *Set[S]) Judge(r *Region[S], blocks uint64) {
	if blocks != uint64(len(r.Blocks)) {
		r.fixed = true
	}
	if !r.fixed {
		s.candidates = append(s.candidates, r)
	}
}

// Fix says that a region is no candidate.
func (s *Set[S]) Fix(r *Region[S]) { r.fixed = true }

// AddFree counts bytes that are free in regions that have blocks.
func (s *Set[S]) AddFree(bytes uint64) { s.free += bytes }

// Sort ranks the candidates and the targets, once all was told.
func (s *Set[S]) Sort() {
	slices.SortFunc(s.candidates, compareCost[S])
	for rank, found := range s.candidates {
		found.rank = rank
	}
	for _, found := range s.order {
		if found.holes > 0 {
			s.targets = append(s.targets, found)
		}
	}
	slices.SortFunc(s.targets, compareTargets[S])
}

// Candidate is the cheapest region that was not dealt with, or nil.
func (s *Set[S]) Candidate() *Region[S] {
	if s.at == len(s.candidates) {
		return nil
	}
	return s.candidates[s.at]
}

// Pass says that the candidate was dealt with; emptied: it has no block any more.
func (s *Set[S]) Pass(emptied bool) {
	if emptied {
		s.candidates[s.at].emptied = true
	}
	s.at++
}

// Claimed notes that blocks have got a place.
func (s *Set[S]) Claimed(index int) {
	s.claimed[index] = true
	if s.lacks[index] {
		s.lacks[index] = false
		s.noRoom--
	}
}

// NoRoom is how many blocks found no place with all those beside them though as much is
// free elsewhere.
func (s *Set[S]) NoRoom() uint64 { return s.noRoom }

// CountNoRoom counts the blocks of a region of a size that found no place though the other
// regions have as much free as it takes.
func (s *Set[S]) CountNoRoom(r *Region[S], regionBytes uint64) {
	own := regionBytes - r.inside
	if s.free-min(s.free, own) < r.bytes {
		return
	}
	for _, b := range r.Blocks {
		if !s.claimed[b.Index] && !s.lacks[b.Index] {
			s.lacks[b.Index] = true
			s.noRoom++
		}
	}
}

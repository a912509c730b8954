package regions

import "ferrum_mem/core/internal/sorting"

// LooksPerWord is the number of words of memory that are read in the time of one look.
const LooksPerWord = 16

// Set has the regions of a pool, as they were read. The owner first adds all blocks that
// may move, then all holes, and judges each region. Then it calls Sort, and after that
// Candidate returns the regions to empty.
type Set[S Segment] struct {
	regions map[Key[S]]*Region[S]
	// order has the regions as they were found; last is the one used last.
	order []*Region[S]
	last  *Region[S]
	// filled are the regions to which blocks are moved; claimed are the blocks that have
	// a target. Both belong to the owner and exist longer than the set.
	filled  map[Key[S]]bool
	claimed []bool

	// candidates are sorted, the cheapest first. Those before at were processed.
	candidates []*Region[S]
	at         int
	index      holeIndex[S]
	// targets are regions to which blocks may move, the best first. The holes before
	// nextHole of nextTarget are listed in index.
	targets              []*Region[S]
	nextTarget, nextHole int
	// free is the number of free bytes in regions that have blocks.
	free uint64
	// noRoom is the number of blocks without a target; lacks states which these are.
	noRoom uint64
	lacks  []bool
}

// New creates a set. filled has the regions to which blocks were moved before; the set
// adds its own. claimed states for each block that may move whether it has a target.
func New[S Segment](filled map[Key[S]]bool, claimed []bool) *Set[S] {
	return &Set[S]{
		regions: map[Key[S]]*Region[S]{}, filled: filled, claimed: claimed, lacks: make([]bool, len(claimed)),
	}
}

// regionAt returns the region with a key, and adds it if it is new.
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

// FixedAt returns the region with a key. If no movable block is known in it, the region
// is fixed.
func (s *Set[S]) FixedAt(key Key[S]) *Region[S] {
	found := s.regionAt(key)
	if len(found.Blocks) == 0 {
		found.fixed = true
	}
	return found
}

// EnterBlock adds a block that may move to a region. insideBytes is the part of the block
// in that region.
func (s *Set[S]) EnterBlock(key Key[S], block Block, insideBytes uint64) {
	r := s.regionAt(key)
	r.Blocks = append(r.Blocks, block)
	r.bytes += block.SizeBytes
	r.inside += insideBytes
}

// EnterHole adds free memory between two offsets of a region that has blocks. The owner
// adds all holes of a region one after the other.
func (s *Set[S]) EnterHole(key Key[S], from, to uint64) {
	r := s.FixedAt(key)
	at := s.index.holes.Add(hole[S]{region: r, offset: from, size: to - from})
	if r.holes == 0 {
		r.firstHole = at
	}
	r.holes++
	r.free += to - from
}

// Len returns the number of known regions.
func (s *Set[S]) Len() int { return len(s.order) }

// Region returns a region by the order in which the regions were found.
func (s *Set[S]) Region(at int) *Region[S] { return s.order[at] }

// Judge makes a region a candidate if all its blocks may move; blocks is their number.
func (s *Set[S]) Judge(r *Region[S], blocks uint64) {
	if blocks != uint64(len(r.Blocks)) {
		r.fixed = true
	}
	if !r.fixed {
		s.candidates = append(s.candidates, r)
	}
}

// Fix states that a region is not a candidate.
func (s *Set[S]) Fix(r *Region[S]) { r.fixed = true }

// AddFree adds free bytes in regions that have blocks.
func (s *Set[S]) AddFree(bytes uint64) { s.free += bytes }

// Sort ranks the candidates and the targets, after everything was added.
func (s *Set[S]) Sort() {
	sorting.By(s.candidates, compareCost[S])
	for rank, found := range s.candidates {
		found.rank = rank
	}
	for _, found := range s.order {
		if found.holes > 0 {
			s.targets = append(s.targets, found)
		}
	}
	sorting.By(s.targets, compareTargets[S])
}

// Candidate returns the cheapest region that was not processed, or nil.
func (s *Set[S]) Candidate() *Region[S] {
	if s.at == len(s.candidates) {
		return nil
	}
	return s.candidates[s.at]
}

// Pass states that the candidate was processed; emptied is set if it has no block any
// more.
func (s *Set[S]) Pass(emptied bool) {
	if emptied {
		s.candidates[s.at].emptied = true
	}
	s.at++
}

// Claimed records that a block has got a target.
func (s *Set[S]) Claimed(index int) {
	s.claimed[index] = true
	if s.lacks[index] {
		s.lacks[index] = false
		s.noRoom--
	}
}

// NoRoom returns the number of blocks that could not move together with all blocks of
// their region, although enough memory is free elsewhere.
func (s *Set[S]) NoRoom() uint64 { return s.noRoom }

// CountNoRoom counts the blocks of a region that got no target, if the other regions have
// as many free bytes as they need.
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

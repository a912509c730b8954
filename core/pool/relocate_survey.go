package pool

import (
	"cmp"
	"math"
	"slices"
)

// A region is what comes free as a whole: a page, or a segment that was taken
// whole. One in which every block may move is a candidate, which the counters of
// pages tell without a look at the other blocks. The fewer bytes its blocks have,
// the cheaper it is: a block that lies in two pages counts in both, because it has
// to move for either.

// regionKey names a region.
type regionKey struct {
	segment *segment
	page    uint64
}

// region is what a survey knows of one.
type region struct {
	key regionKey
	// bytes are those of the blocks that may move, and inside what of them lies in
	// the region.
	bytes, inside uint64
	// free is the sum of its holes, which are holes from firstHole on.
	free             uint64
	firstHole, holes int
	// blocks are those in it that may move.
	blocks []seenBlock
	// fixed says that a block in it stays.
	fixed bool
	// emptied says that it was chosen, and filled that blocks are moved to it.
	emptied, filled bool
	// rank is the place among the candidates; of a fixed one, behind all.
	rank int
}

// seenBlock is a movable block by its index.
type seenBlock struct {
	index int
	size  uint64
}

// survey is what was seen of a pool, some of which may have changed meanwhile. It is
// made in steps.
type survey struct {
	run     *Relocation
	regions map[regionKey]*region
	// order is the regions as they were found, and last the last of them.
	order []*region
	last  *region
	// nextBlock of the movable blocks and nextRegion of order are to be looked at next.
	nextBlock, nextRegion int
	// walks are the segments with holes, and nextWalk of them is under way.
	walks    []*walk
	walkOf   map[*segment]*walk
	nextWalk int
	// complete says that all was looked at.
	complete bool

	// candidates are sorted from the cheapest on; those before at were dealt with.
	candidates []*region
	at         int
	places     placeIndex
	// targets are regions that blocks may go to, the best first; what lies before
	// nextHole of nextTarget is listed in places.
	targets              []*region
	nextTarget, nextHole int
	// free is what is free in regions that have blocks.
	free uint64
	// gained says that a region was chosen, and failed that another one could not be.
	gained, failed bool
	// noRoom counts the blocks without a place, and lacks says which.
	noRoom uint64
	lacks  []bool
}

// regionShift turns an offset into the number of its region.
func (s *segment) regionShift() uint {
	if s.pages == nil {
		return 64
	}
	return s.pages.Shift()
}

// regionBytes is how long the regions of a segment are.
func (s *segment) regionBytes() uint64 {
	if s.pages == nil {
		return s.usable
	}
	return s.paging.pageBytes
}

// blocksIn counts the blocks in a region that are not longer than it; of a page, none
// that runs through it from before to behind.
func (k regionKey) blocksIn() uint64 {
	switch t := k.segment.pages; {
	case t == nil:
		return k.segment.blocks
	case t.IsBusy(k.page):
		return t.Ends(k.page)
	}
	return 0
}

// isUsed says that a region has a block.
func (k regionKey) isUsed() bool {
	if k.segment.pages == nil {
		return k.segment.blocks != 0
	}
	return k.segment.pages.IsBusy(k.page)
}

func (r *Relocation) newSurvey() *survey {
	return &survey{run: r, regions: map[regionKey]*region{}, lacks: make([]bool, len(r.movable))}
}

// look goes on until all is seen; false: the run has to stop. The caller holds mu.
func (v *survey) look() bool {
	return v.complete || v.enterBlocks() && v.enterRegions() && v.enterHoles() && v.rank()
}

// freeInUse is what is free in the regions of a segment that have blocks.
func (s *segment) freeInUse() uint64 {
	stats := s.strategy.Stats()
	had := stats.SizeBytes
	if s.blocks == 0 {
		return 0
	}
	if s.pages != nil {
		had = s.pages.BusyCount() << s.pages.Shift()
	}
	return had - min(had, stats.SizeBytes-stats.FreeBytes)
}

// enterBlocks enters the blocks that may move in their regions.
func (v *survey) enterBlocks() bool {
	for r := v.run; v.nextBlock < len(r.movable); v.nextBlock++ {
		if !r.step() {
			return false
		}
		if !r.claimed[v.nextBlock] {
			v.enterBlock(v.nextBlock)
		}
	}
	return true
}

func (v *survey) enterBlock(index int) {
	l, ok := v.run.pool.locate(v.run.movable[index].Addr)
	if !ok || l.info().state() != blockLive || l.Size > l.regionBytes() {
		return
	}
	shift, block := l.regionShift(), seenBlock{index, l.Size}
	first, last := l.Offset>>shift, (l.Offset+l.Size-1)>>shift
	if first == last {
		v.regionAt(regionKey{l.segment, first}).enter(block, l.Size)
		return
	}
	cut := last<<shift - l.Offset
	v.regionAt(regionKey{l.segment, first}).enter(block, cut)
	v.regionAt(regionKey{l.segment, last}).enter(block, l.Size-cut)
}

func (f *region) enter(block seenBlock, inside uint64) {
	f.blocks = append(f.blocks, block)
	f.bytes += block.size
	f.inside += inside
}

// enterRegions finds the candidates: regions whose blocks may all move.
func (v *survey) enterRegions() bool {
	if v.walkOf != nil {
		return true
	}
	for ; v.nextRegion < len(v.order); v.nextRegion++ {
		if !v.run.step() {
			return false
		}
		f := v.order[v.nextRegion]
		if !v.run.pool.has(f.key.segment) || f.key.blocksIn() != uint64(len(f.blocks)) {
			f.fixed = true
		}
		if !f.fixed {
			v.candidates = append(v.candidates, f)
		}
	}
	return true
}

// regionAt is a region that has blocks.
func (v *survey) regionAt(key regionKey) *region {
	if v.last != nil && v.last.key == key {
		return v.last
	}
	found := v.regions[key]
	if found == nil {
		found = &region{key: key, rank: math.MaxInt, filled: v.run.filled[key]}
		found.fixed = found.filled
		v.regions[key] = found
		v.order = append(v.order, found)
	}
	v.last = found
	return found
}

// fixedAt is a region; one that was not known has no block that is known to be
// movable.
func (v *survey) fixedAt(key regionKey) *region {
	found := v.regionAt(key)
	if len(found.blocks) == 0 {
		found.fixed = true
	}
	return found
}

// rank sorts the candidates and the targets; false: the run has to stop.
func (v *survey) rank() bool {
	for _, s := range v.run.pool.segments {
		v.free += s.freeInUse()
	}
	v.complete = true
	v.run.outside(v.sort)
	return v.run.goesOn()
}

func (v *survey) sort() {
	slices.SortFunc(v.candidates, func(a, b *region) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(b.key.segment.had.Addr, a.key.segment.had.Addr),
			cmp.Compare(b.key.page, a.key.page))
	})
	for rank, found := range v.candidates {
		found.rank = rank
	}
	for _, found := range v.order {
		if found.holes > 0 {
			v.targets = append(v.targets, found)
		}
	}
	slices.SortFunc(v.targets, compareTargets)
}

// compareTargets puts first what has got blocks already, then what cannot be emptied
// and then what is the last to be emptied.
func compareTargets(a, b *region) int {
	if a.filled != b.filled {
		if a.filled {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.free, b.free),
		cmp.Compare(a.key.segment.had.Addr, b.key.segment.had.Addr), cmp.Compare(a.key.page, b.key.page))
}

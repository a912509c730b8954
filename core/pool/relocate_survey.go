package pool

import (
	"cmp"
	"math"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// A region is what comes free as a whole: a page, or a segment that was taken
// whole. One in which every block may move is a candidate, and the fewer bytes its
// blocks have, the cheaper it is: a block that lies in two pages counts in both,
// because it has to move for either.
//
// Blocks go to regions that stay, or cost more, so no block moves twice in a run;
// the fullest are taken into use first, and the next only when those have no place,
// because a region that got a block is not emptied by the same run.
// When there is no room in those, a region that has memory and no block is opened,
// if the two cheapest candidates fit into it together.

// regionKey names a region.
type regionKey struct {
	segment *segment
	page    uint64
}

// region is what a survey knows of one.
type region struct {
	key   regionKey
	bytes uint64
	// free is the sum of its holes.
	free  uint64
	holes []hole
	// blocks are those that lie in it; offsets alone say nothing of the others
	// when it is fixed.
	blocks []located
	// fixed says that a block in it stays.
	fixed bool
	// emptied says that it was chosen, and filled that blocks are moved to it.
	emptied, filled bool
	// rank is the place among the candidates; of a fixed one, behind all.
	rank int
}

// survey is the memory of a pool at one moment. It is made and used under mu.
type survey struct {
	run     *Relocation
	regions map[regionKey]*region
	// candidates are sorted from the cheapest on.
	candidates []*region
	places     placeIndex
	// targets are regions that blocks may go to, the best first; those from nextTarget
	// on are not in places yet.
	targets    []*region
	nextTarget int
	// free is the sum of all holes in regions that have blocks.
	free uint64
	// idle are holes that are regions without a block.
	idle []hole
	// leaving are blocks that have a place already.
	leaving map[device.Addr]bool
}

// regionShift turns an offset into the number of its region.
func (s *segment) regionShift() uint {
	if s.pages == nil {
		return 64
	}
	return s.pages.shift
}

// regionBytes is how long the regions of a segment are.
func (s *segment) regionBytes() uint64 {
	if s.pages == nil {
		return s.usable
	}
	return s.pages.paging.pageBytes
}

// survey looks at all blocks of the pool. The caller holds mu.
func (r *Relocation) survey() *survey {
	v := &survey{run: r, regions: map[regionKey]*region{}, leaving: map[device.Addr]bool{}}
	for _, s := range r.pool.segments {
		v.enterBlocks(s)
	}
	for _, found := range v.regions {
		if !found.fixed {
			v.candidates = append(v.candidates, found)
		}
	}
	slices.SortFunc(v.candidates, func(a, b *region) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(b.key.segment.had.Addr, a.key.segment.had.Addr),
			cmp.Compare(b.key.page, a.key.page))
	})
	for rank, found := range v.candidates {
		found.rank = rank
	}
	for _, s := range r.pool.segments {
		v.enterHoles(s)
	}
	for _, found := range v.regions {
		if len(found.holes) > 0 {
			v.targets = append(v.targets, found)
		}
	}
	slices.SortFunc(v.targets, compareTargets)
	return v
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
	return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.bytes, a.bytes),
		cmp.Compare(a.key.segment.had.Addr, b.key.segment.had.Addr), cmp.Compare(a.key.page, b.key.page))
}

// openNext has the next target's holes taken into use; false: none is left that blocks
// of a victim may go to.
func (v *survey) openNext(victim *region) bool {
	if v.nextTarget == len(v.targets) || !victim.mayGoTo(v.targets[v.nextTarget]) {
		return false
	}
	for _, h := range v.targets[v.nextTarget].holes {
		v.places.add(h)
	}
	v.nextTarget++
	return true
}

// regionAt is a region that has blocks.
func (v *survey) regionAt(key regionKey) *region {
	found := v.regions[key]
	if found == nil {
		found = &region{key: key, rank: math.MaxInt, filled: v.run.filled[key]}
		found.fixed = found.filled
		v.regions[key] = found
	}
	return found
}

// enterBlocks enters the blocks of a segment in their regions.
func (v *survey) enterBlocks(s *segment) {
	shift := s.regionShift()
	s.eachBlock(func(l located) bool {
		first, last := l.Offset>>shift, (l.Offset+l.Size-1)>>shift
		_, may := v.run.movable[l.addr()]
		stays := !may || l.info().state() != blockLive || l.Size > s.regionBytes()
		v.enterBlock(first, l, stays)
		if last != first {
			v.enterBlock(last, l, stays)
		}
		return true
	})
}

func (v *survey) enterBlock(at uint64, l located, stays bool) {
	found := v.regionAt(regionKey{l.segment, at})
	found.bytes += l.Size
	if found.fixed = found.fixed || stays; found.fixed {
		found.blocks = nil
		return
	}
	found.blocks = append(found.blocks, l)
}

// enterHoles enters the free memory of a segment, cut where regions end.
func (v *survey) enterHoles(s *segment) {
	behind := rangealloc.FromStart
	shift, length := s.regionShift(), s.regionBytes()
	s.strategy.Walk(func(b rangealloc.Block) bool {
		if b.Live {
			behind = b.Offset
			return true
		}
		end := b.Offset + b.Size
		for at := b.Offset; at < end; {
			number := at >> shift
			if s.pages != nil && number >= uint64(len(s.pages.entries)) {
				break // nothing is mapped from here on
			}
			stop := end
			if s.pages != nil {
				stop = min(end, (number+1)<<shift)
			}
			v.enterHole(s, number, hole{segment: s, offset: at, size: stop - at, behind: behind}, length)
			at = stop
		}
		return true
	})
}

func (v *survey) enterHole(s *segment, number uint64, h hole, length uint64) {
	if s.pages != nil && !s.pages.isMapped(number) {
		return
	}
	key := regionKey{s, number}
	if h.region = v.regions[key]; h.region != nil {
		h.region.holes = append(h.region.holes, h)
		h.region.free += h.size
		v.free += h.size
	} else if h.size == length {
		v.idle = append(v.idle, h)
	}
}

// choose claims places for the blocks of the cheapest candidates.
func (v *survey) choose(maxBytes uint64) (chosen []Evacuation, noRoom uint64) {
	slices.SortFunc(v.idle, func(a, b hole) int { return cmp.Compare(b.addr(), a.addr()) })
	sum := uint64(0)
	for i, victim := range v.candidates {
		if sum >= maxBytes && len(chosen) > 0 {
			return chosen, 0
		}
		if victim.filled {
			continue
		}
		blocks := v.remaining(victim)
		if len(blocks) == 0 {
			victim.emptied = true
			continue
		}
		claims, ok := v.claimAll(victim, blocks)
		if !ok && v.open(i) {
			claims, ok = v.claimAll(victim, blocks)
		}
		if !ok {
			// Where the other regions have less free than it takes, they are full.
			if v.free-victim.free >= victim.bytes {
				noRoom += uint64(len(blocks))
			}
			continue
		}
		victim.emptied = true
		e := Evacuation{Claims: claims}
		sum += e.Bytes()
		chosen = append(chosen, e)
	}
	return chosen, noRoom
}

// remaining is the blocks of a region that have no new place yet.
func (v *survey) remaining(victim *region) []located {
	var blocks []located
	for _, l := range victim.blocks {
		if !v.leaving[l.addr()] {
			blocks = append(blocks, l)
		}
	}
	return blocks
}

// open has a region without blocks taken into use if it can hold the candidate of
// that rank and the next one.
func (v *survey) open(rank int) bool {
	n := len(v.idle)
	if n == 0 || rank+1 >= len(v.candidates) {
		return false
	}
	h := v.idle[n-1]
	need := v.candidates[rank].bytes
	next := slices.IndexFunc(v.candidates[rank+1:], func(r *region) bool { return !r.filled })
	if next < 0 || need+v.candidates[rank+1+next].bytes > h.size {
		return false
	}
	v.idle = v.idle[:n-1]
	opened := v.regionAt(regionKey{h.segment, h.offset >> h.segment.regionShift()})
	opened.filled = true
	v.run.filled[opened.key] = true
	h.region = opened
	opened.free = h.size
	v.free += h.size
	v.places.add(h)
	return true
}

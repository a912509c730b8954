package pool

import (
	"ferrum_mem/core/pool/regions"
	"ferrum_mem/core/rangealloc"
)

// regionKey names a region of a pool: a page, or a segment that was allocated whole.
type regionKey = regions.Key[*segment]

// BaseAddr implements regions.Segment.
func (s *segment) BaseAddr() uint64 { return uint64(s.base) }

// survey reads a pool in steps into a set of regions, and reserves the targets that the
// set chooses. What was read may have changed meanwhile.
type survey struct {
	run *Relocation
	*regions.Set[*segment]
	// nextBlock is the index of the next movable block to read; nextRegion is the next
	// region of the set to judge.
	nextBlock, nextRegion int
	// walks are the traversals of the segments; nextWalk is the index of the present one.
	walks    []*walk
	walkOf   map[*segment]*walk
	nextWalk int
	// complete is set when everything was read.
	complete bool
	// gained is set when a region was chosen, and failed when another one could not be.
	gained, failed bool
}

func (r *Relocation) newSurvey() *survey {
	return &survey{run: r, Set: regions.New(r.filled, r.claimed)}
}

// regionShift is the shift that converts an offset to the number of its region.
func (s *segment) regionShift() uint {
	if s.pages == nil {
		return 64
	}
	return s.pages.Shift()
}

// regionBytes returns the length of the regions of a segment.
func (s *segment) regionBytes() uint64 {
	if s.pages == nil {
		return s.usable
	}
	return s.paging.pageBytes
}

// blocksIn returns the number of blocks that have an end in a region. For a page, a block
// that covers it completely and extends beyond both ends is not counted.
func blocksIn(k regionKey) uint64 {
	switch t := k.Segment.pages; {
	case t == nil:
		return k.Segment.blocks
	case t.IsBusy(k.Page):
		return t.Ends(k.Page)
	}
	return 0
}

// isUsed reports whether a region contains a part of a block.
func isUsed(k regionKey) bool {
	if k.Segment.pages == nil {
		return k.Segment.blocks != 0
	}
	return k.Segment.pages.IsBusy(k.Page)
}

// startOf returns the offset of the start of a region.
func startOf(k regionKey) uint64 {
	if k.Segment.pages == nil {
		return 0
	}
	return k.Page << k.Segment.pages.Shift()
}

// freeInUse returns the number of free bytes in the used regions of a segment.
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

// look continues until everything was read. It returns false if the run has to stop. The
// caller holds mu.
func (v *survey) look() bool {
	return v.complete || v.enterBlocks() && v.judge() && v.enterHoles() && v.rank()
}

// enterBlocks adds the blocks that may move to their regions.
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
	l, ok := v.run.pool.heap.locate(v.run.movable[index].Addr)
	if !ok || l.info().state() != blockLive || l.Size > l.regionBytes() {
		return
	}
	shift, block := l.regionShift(), regions.Block{Index: index, SizeBytes: l.Size}
	first, last := l.Offset>>shift, (l.Offset+l.Size-1)>>shift
	if first == last {
		v.EnterBlock(regionKey{Segment: l.segment, Page: first}, block, l.Size)
		return
	}
	cut := last<<shift - l.Offset
	v.EnterBlock(regionKey{Segment: l.segment, Page: first}, block, cut)
	v.EnterBlock(regionKey{Segment: l.segment, Page: last}, block, l.Size-cut)
}

// judge finds the candidates: regions in which every block may move.
func (v *survey) judge() bool {
	if v.walkOf != nil {
		return true
	}
	for ; v.nextRegion < v.Len(); v.nextRegion++ {
		if !v.run.step() {
			return false
		}
		r := v.Region(v.nextRegion)
		if v.run.pool.heap.has(r.Key.Segment) {
			v.Judge(r, blocksIn(r.Key))
		} else {
			v.Fix(r)
		}
	}
	return true
}

// rank sorts the candidates and the targets. It returns false if the run has to stop.
func (v *survey) rank() bool {
	for _, s := range v.run.pool.heap.segments {
		v.AddFree(s.freeInUse())
	}
	v.complete = true
	v.run.outside(v.Sort)
	return v.run.goesOn()
}

// enterWalked adds a block or a free run of a traversal. Of a free run that covers
// several pages, only the first and the last page contain a block beside it.
func (v *survey) enterWalked(w *walk, b rangealloc.Block) {
	from, to := max(b.Offset, w.seen), b.Offset+b.Size
	w.seen = max(w.seen, to)
	if b.Live {
		w.see(b.Offset)
		return
	}
	if from >= to {
		return
	}
	shift := w.segment.regionShift()
	first, last := from>>shift, (to-1)>>shift
	if first == last {
		v.enterHole(w.segment, first, from, to)
		return
	}
	v.enterHole(w.segment, first, from, (first+1)<<shift)
	v.enterHole(w.segment, last, last<<shift, to)
}

func (v *survey) enterHole(s *segment, number, from, to uint64) {
	if key := (regionKey{Segment: s, Page: number}); isUsed(key) {
		v.EnterHole(key, from, to)
	}
}

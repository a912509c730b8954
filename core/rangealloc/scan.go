package rangealloc

// Walk visits blocks in address order. A caller that stops in between cannot continue
// after the strategy has changed, because the block where it stopped may have been freed.
// Scan reads the tables instead. A block has one place in them as long as it is live.

// Scan reads the records. Record 0 is the head of the ring.
func (t *tiling[U]) Scan(place uint64, budget int, visit func(Range)) (next uint64) {
	all := t.records.all
	at := max(place, 1)
	end := min(at+uint64(budget), uint64(len(all)))
	for ; at < end; at++ {
		if r := &all[at]; r.isLive() {
			visit(Range{Offset: r.offset() << t.shift, Size: r.size() << t.shift, Slot: uint32(at)})
		}
	}
	return nextPlace(at, uint64(len(all)))
}

// nextPlace returns the place where to continue, or 0 if it is not below the end.
func nextPlace(at, end uint64) uint64 {
	if at < end {
		return at
	}
	return 0
}

// Scan reads the blocks of the pages that were ever used, by their slots.
func (f *fixed) Scan(place uint64, budget int, visit func(Range)) (next uint64) {
	used := uint64(len(f.table)) * uint64(f.per)
	end := min(place+uint64(budget), used)
	for ; place < end; place++ {
		page, index := uint32(place/uint64(f.per)), uint32(place%uint64(f.per))
		if f.isLive(page, index) {
			visit(Range{Offset: f.start(page, index) << f.shift, Size: f.config.BlockBytes, Slot: uint32(place)})
		}
	}
	return nextPlace(place, used)
}

// runPlace is the bit of places that are records of best_fit; they follow the places in
// slabs.
const runPlace = uint64(1) << 63

// Scan reads the blocks of slabs first, and then the records of best_fit except those of
// slabs.
func (s *sizeClass) Scan(place uint64, budget int, visit func(Range)) (next uint64) {
	if place&runPlace == 0 {
		if next = s.scanSlabs(place, budget, visit); next != 0 {
			return next
		}
		return runPlace
	}
	next = s.inner.Scan(place&^runPlace, budget, func(r Range) {
		start := r.Offset >> s.shift
		if id := s.slabs.find(start); id == noSlab || s.slabs.all[id].start != start {
			r.Slot = s.slots.ofRecord(r.Slot)
			visit(r)
		}
	})
	if next != 0 {
		next |= runPlace
	}
	return next
}

func (s *sizeClass) scanSlabs(place uint64, budget int, visit func(Range)) (next uint64) {
	all := s.slabs.all
	used := uint64(len(all)) << s.slabShift
	for end := place + uint64(budget); place < min(end, used); {
		id, index := uint32(place>>s.slabShift), uint32(place&(1<<s.slabShift-1))
		slab := &all[id]
		// An unused record of a slab has no live block either.
		if slab.live == 0 || index >= s.classes[slab.class].count {
			place = uint64(id+1) << s.slabShift
			continue
		}
		if !s.slabs.isFree(id, index) {
			visit(s.block(id, index))
		}
		place++
	}
	return nextPlace(place, used)
}

// Around follows the ring.
func (t *tiling[U]) Around(offset, behind uint64, budget int) (found Block, ok bool) {
	t.WalkFrom(behind, func(b Block) bool {
		if offset-b.Offset < b.Size {
			found, ok = b, true
		}
		budget--
		return !ok && budget > 0 && b.Offset <= offset
	})
	return found, ok
}

// Around computes the place of every block.
func (f *fixed) Around(offset, _ uint64, _ int) (Block, bool) {
	if offset >= f.config.SizeBytes {
		return Block{}, false
	}
	used := uint32(len(f.table))
	if used == 0 {
		return Block{Size: f.total << f.shift}, true
	}
	bytes := func(from, to uint64, live bool) (Block, bool) {
		return Block{Offset: from << f.shift, Size: (to - from) << f.shift, Live: live}, true
	}
	granule := offset >> f.shift
	if end := f.end(used - 1); granule >= end {
		return bytes(end, f.total, false)
	}
	page, index, _ := f.locate(granule)
	if index < f.perOf(page) {
		start := f.start(page, index)
		return bytes(start, start+f.block, f.isLive(page, index))
	}
	return bytes(f.start(page, f.perOf(page)), f.end(page), false)
}

// Around reads the slab, or follows the ring of best_fit, where kept slabs are a part of
// the free run that contains them.
func (s *sizeClass) Around(offset, behind uint64, budget int) (Block, bool) {
	if offset >= s.config.SizeBytes {
		return Block{}, false
	}
	if id, index, _ := s.locate(offset>>s.shift, noSlab); id != noSlab && s.slabs.all[id].live != 0 {
		r := s.block(id, index)
		return Block{Offset: r.Offset, Size: r.Size, Live: !s.slabs.isFree(id, index)}, true
	}
	all := s.inner.records.all
	at := all[0].next
	if behind != FromStart {
		if id, index, starts := s.locate(behind>>s.shift, noSlab); id == noSlab {
			at = s.inner.liveAt(behind)
		} else if at = none; starts && !s.slabs.isFree(id, index) {
			at = s.slabs.all[id].record
		}
	}
	var free Block
	for ; at != none && budget > 0; budget-- {
		r := &all[at]
		b := Block{Offset: r.offset() << s.shift, Size: r.size() << s.shift, Live: r.isLive()}
		switch {
		case !r.isFree() && !s.isKept(at):
			if free.Size != 0 && offset < b.Offset {
				return free, offset >= free.Offset
			}
			if free = (Block{}); offset-b.Offset < b.Size {
				return b, true
			}
		case free.Size == 0:
			free = Block{Offset: b.Offset, Size: b.Size}
		default:
			free.Size += b.Size
		}
		if at = r.next; at == none {
			return free, free.Size != 0 && offset-free.Offset < free.Size
		}
	}
	return Block{}, false
}

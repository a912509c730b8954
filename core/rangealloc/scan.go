package rangealloc

// Walk goes from block to block by address, so whoever stops in it cannot go on after
// the strategy has changed: the block that it stood at may be gone. Scan goes over the
// tables instead. A block has one place in them as long as it lives.

// Scan goes over the records. Record 0 is the head of the ring.
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

// nextPlace is a place to go on from, or 0 when it is not below the end.
func nextPlace(at, end uint64) uint64 {
	if at < end {
		return at
	}
	return 0
}

// Scan goes over the blocks of the pages that were ever used, by their slots.
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

// runPlace is the bit of places that are records of best_fit, behind those in slabs.
const runPlace = uint64(1) << 63

// Scan goes over the blocks of slabs first, and then over the records of best_fit but
// for those of slabs.
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
		// A record that is no slab's has no live block either.
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

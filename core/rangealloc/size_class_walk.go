package rangealloc

// Stats shows a kept slab as a part of the free run that contains it, because it is
// released before a request fails.
func (s *sizeClass) Stats() Stats {
	stats := s.inner.Stats()
	stats.LiveBlocks -= s.slabs.count
	stats.HighWaterBytes = s.highWater << s.shift
	for i := range s.classes {
		c := &s.classes[i]
		free := c.slabs*uint64(c.count) - c.live
		stats.LiveBlocks += c.live
		stats.FreeBytes += free * c.granules << s.shift
		stats.FreeRuns += free
		if s.fullest(i) != noSlab {
			stats.LargestFreeBytes = max(stats.LargestFreeBytes, c.granules<<s.shift)
		}
		if c.kept != noSlab {
			stats.FreeRuns -= uint64(c.count)
			if granules, runs := s.runFrom(s.slabs.all[c.kept].record); granules != 0 {
				stats.LargestFreeBytes = max(stats.LargestFreeBytes, granules<<s.shift)
				stats.FreeRuns = stats.FreeRuns + 1 - runs
			}
		}
	}
	return stats
}

// runFrom returns the length of the free run that begins before the record of a kept
// slab, and how many free runs of best_fit it contains. It returns 0 if another kept slab
// of that run comes first.
func (s *sizeClass) runFrom(record uint32) (granules, runs uint64) {
	all := s.inner.records.all
	at := all[record].prev
	if all[at].isFree() {
		granules, runs = all[at].size(), 1
		at = all[at].prev
	}
	if s.isKept(at) {
		return 0, 0
	}
	for at = record; ; at = all[at].next {
		switch {
		case all[at].isFree():
			runs++
		case !s.isKept(at):
			return granules, runs
		}
		granules += all[at].size()
	}
}

// isKept reports whether a record of best_fit is that of a kept slab.
func (s *sizeClass) isKept(record uint32) bool {
	if record == 0 { // the head of the ring
		return false
	}
	start := s.inner.records.all[record].offset()
	id := s.slabs.find(start)
	return id != noSlab && s.slabs.all[id].start == start && s.slabs.all[id].live == 0
}

// Walk shows the blocks of slabs one by one.
func (s *sizeClass) Walk(visit func(Block) bool) {
	var free Block // a free run that may continue
	flush := func() bool {
		run := free
		free = Block{}
		return run.Size == 0 || visit(run)
	}
	s.inner.Walk(func(b Block) bool {
		id := noSlab
		if b.Live {
			if id = s.slabs.find(b.Offset >> s.shift); id != noSlab && s.slabs.all[id].start<<s.shift != b.Offset {
				id = noSlab
			}
		}
		if !b.Live || id != noSlab && s.slabs.all[id].live == 0 {
			if free.Size == 0 {
				free.Offset = b.Offset
			}
			free.Size += b.Size
			return true
		}
		if !flush() {
			return false
		}
		if id == noSlab {
			return visit(b)
		}
		return s.walkSlab(id, visit)
	})
	flush()
}

func (s *sizeClass) walkSlab(id uint32, visit func(Block) bool) bool {
	slab := &s.slabs.all[id]
	c := &s.classes[slab.class]
	for index := range c.count {
		b := Block{
			Offset: (slab.start + uint64(index)*c.granules) << s.shift,
			Size:   c.granules << s.shift,
			Live:   !s.slabs.isFree(id, index),
		}
		if !visit(b) {
			return false
		}
	}
	return true
}

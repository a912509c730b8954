package rangealloc

// AllocWhere implements Asker. All blocks of a slab are in one range of addresses. So it
// asks once for each slab of the class that has a free block, the fullest quarter first.
// Then it asks for the places where best_fit would create a new slab, or place a large
// block.
func (s *sizeClass) AllocWhere(r Request, most int, suits func(offset, size uint64) bool) (got Range, asked int, err error) {
	if err := r.check(); err != nil {
		return Range{}, 0, err
	}
	class := s.classOf(r)
	if class < 0 {
		run, asked, err := s.runWhere(r, most, suits)
		if err != nil {
			return Range{}, asked, err
		}
		run.Slot = s.slots.ofRecord(run.Slot)
		s.highWater = max(s.highWater, (run.Offset+run.Size)>>s.shift)
		return run, asked, nil
	}
	c := &s.classes[class]
	length := c.granules * uint64(c.count) << s.shift
	for quarter := quarters - 1; quarter >= 0; quarter-- {
		for id := c.lists[quarter]; id != noSlab && asked < most; id = s.slabs.all[id].next {
			asked++
			if suits(s.slabs.all[id].start<<s.shift, length) {
				return s.takeSmall(id), asked, nil
			}
		}
	}
	if err := s.reserveSlab(c); err != nil {
		return Range{}, asked, err
	}
	run, more, err := s.runWhere(s.slabRequest(c), most-asked, suits)
	if err != nil {
		return Range{}, asked + more, err
	}
	return s.takeSmall(s.addSlab(class, run)), asked + more, nil
}

// runWhere allocates a run of best_fit at a place that suits accepts. Runs at other
// places stay allocated until then, so that best_fit offers others, and are freed
// afterwards.
func (s *sizeClass) runWhere(r Request, most int, suits func(offset, size uint64) bool) (got Range, asked int, err error) {
	var passed []uint64
	defer func() {
		for at := len(passed) - 1; at >= 0; at-- {
			if _, err := s.inner.Free(passed[at]); err != nil {
				// It was allocated here.
				panic(err)
			}
		}
	}()
	for asked < min(most, mostRuns) {
		asked++
		run, err := s.inner.Alloc(r)
		if err != nil {
			return Range{}, asked, err
		}
		if suits(run.Offset, run.Size) {
			return run, asked, nil
		}
		passed = append(passed, run.Offset)
	}
	return Range{}, asked, ErrNoRoom
}

// mostRuns is the most runs of best_fit about which it asks: best_fit offers the shortest
// free runs that hold the request first, and the rest of the range last.
const mostRuns = 64

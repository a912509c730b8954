package rangealloc

import "math/bits"

func (s *sizeClass) Check() error {
	if err := s.inner.Check(); err != nil {
		return err
	}
	sums := slabSums{
		ofClass: make([]uint64, len(s.classes)), live: make([]uint64, len(s.classes)), chunks: make(map[uint32]bool),
	}
	for _, chunk := range s.slots.records {
		sums.chunks[chunk] = true
	}
	for _, chunk := range s.slots.spare {
		sums.chunks[chunk] = true
	}
	claimed := len(s.slots.records) + len(s.slots.spare)
	for _, id := range s.slabs.cells {
		if id == noSlab {
			continue
		}
		if err := s.checkSlab(id, &sums); err != nil {
			return err
		}
		claimed += len(s.slabs.chunksOf(id, s.classes[s.slabs.all[id].class].count))
	}
	if claimed != len(sums.chunks) || claimed != int(s.slots.next) {
		return broken("%d chunks of slots are claimed, %d different ones, and there are %d", claimed, len(sums.chunks), s.slots.next)
	}
	if sums.slabs != s.slabs.count {
		return broken("there are %d slabs, the counter says %d", sums.slabs, s.slabs.count)
	}
	if err := s.checkLists(sums); err != nil {
		return err
	}
	for at, word := range s.marks {
		if word != 0 {
			return broken("records from %d on are marked: %#x", at*64, word)
		}
	}
	spares := uint64(0)
	for id := s.slabs.spare; id != noSlab && spares <= uint64(len(s.slabs.all)); id = s.slabs.all[id].next {
		spares++
	}
	if spares+s.slabs.count != uint64(len(s.slabs.all)) {
		return broken("%d slabs and %d spare records of %d", s.slabs.count, spares, len(s.slabs.all))
	}
	return nil
}

// slabSums has the sums over all slabs.
type slabSums struct {
	slabs        uint64
	listed, kept int
	// ofClass and live are the numbers of slabs and of live blocks by class.
	ofClass, live []uint64
	chunks        map[uint32]bool
}

func (s *sizeClass) checkSlab(id uint32, sums *slabSums) error {
	slab := &s.slabs.all[id]
	c := &s.classes[slab.class]
	run, ok := s.inner.Lookup(slab.start << s.shift)
	if !ok || run.Slot != slab.record || run.Size != uint64(c.count)*c.granules<<s.shift {
		return broken("slab %d starts at granule %d, where best_fit has %+v, %v", id, slab.start, run, ok)
	}
	if found := s.slabs.find(slab.start); found != id {
		return broken("slab %d is looked for, and %d is found", id, found)
	}
	free := uint64(0)
	for at, word := range s.slabs.wordsOf(id) {
		free += uint64(bits.OnesCount64(word))
		if from := uint64(c.count) - min(uint64(at)*64, uint64(c.count)); from < 64 && word>>from != 0 {
			return broken("slab %d has a free bit behind its %d blocks", id, c.count)
		}
	}
	if free+uint64(slab.live) != uint64(c.count) {
		return broken("slab %d has %d free of %d blocks, and %d live", id, free, c.count, slab.live)
	}
	for index := c.count; index > 0; index-- {
		if end := slab.start + uint64(index)*c.granules; !s.slabs.isFree(id, index-1) && end > s.highWater {
			return broken("block %d of slab %d ends at %d, above the high water %d", index-1, id, end, s.highWater)
		}
	}
	for _, chunk := range s.slabs.chunksOf(id, c.count) {
		sums.chunks[chunk] = true
	}
	sums.slabs++
	sums.ofClass[slab.class]++
	sums.live[slab.class] += uint64(slab.live)
	if slab.live == 0 {
		sums.kept++
	}
	if (slab.live == 0) != (c.kept == id) {
		return broken("slab %d has %d live blocks, and its class keeps %d", id, slab.live, c.kept)
	}
	if free != 0 {
		sums.listed++
	}
	if due := c.listOf(slab.live); slab.list != due {
		return broken("slab %d with %d of %d blocks live is in list %d, not %d", id, slab.live, c.count, slab.list, due)
	}
	return nil
}

// checkLists follows the lists of all classes.
func (s *sizeClass) checkLists(sums slabSums) error {
	listed, kept := 0, 0
	for class := range s.classes {
		c := &s.classes[class]
		if c.slabs != sums.ofClass[class] || c.live != sums.live[class] {
			return broken("class %d has %d slabs and %d live blocks, the counters say %d and %d",
				class, sums.ofClass[class], sums.live[class], c.slabs, c.live)
		}
		if c.kept != noSlab {
			kept++
		}
		for list, id := range c.lists {
			for prev := noSlab; id != noSlab; prev, id = id, s.slabs.all[id].next {
				slab := &s.slabs.all[id]
				if int(slab.class) != class || int(slab.list) != list || slab.prev != prev {
					return broken("slab %d of class %d and list %d, behind %d, is in list %d of class %d behind %d",
						id, slab.class, slab.list, slab.prev, list, class, prev)
				}
				if listed++; listed > sums.listed {
					return broken("the lists hold more than the %d slabs with room", sums.listed)
				}
			}
		}
	}
	if listed != sums.listed || kept != sums.kept || kept != s.kept {
		return broken("the lists hold %d slabs and %d are kept, of %d and %d; the counter says %d", listed, kept, sums.listed, sums.kept, s.kept)
	}
	return nil
}

package rangealloc

import "math/bits"

// Stats counts as free runs: each free block in a page that was used, the unused rest of
// each such page if there is one, and everything behind the last such page as one run.
func (f *fixed) Stats() Stats {
	s := Stats{
		SizeBytes:      f.config.SizeBytes,
		FreeBytes:      f.config.SizeBytes - f.live*f.config.BlockBytes,
		LiveBlocks:     f.live,
		HighWaterBytes: f.highWater << f.shift,
	}
	if f.live < f.usable {
		s.LargestFreeBytes = f.config.BlockBytes
	}
	used := uint64(len(f.table))
	if used == 0 {
		s.FreeRuns = 1
		return s
	}
	s.FreeRuns = (used-1)*uint64(f.per) + uint64(f.perLast) - f.live
	if f.stride != uint64(f.per)*f.block {
		s.FreeRuns += used - 1
	}
	if last := uint32(used - 1); f.start(last, f.perLast) != f.end(last) {
		s.FreeRuns++
	}
	if used < f.pages {
		s.FreeRuns++
	}
	return s
}

func (f *fixed) Walk(visit func(Block) bool) {
	bytes := func(from, to uint64, live bool) Block {
		return Block{Offset: from << f.shift, Size: (to - from) << f.shift, Live: live}
	}
	at := uint64(0)
	for page := range uint32(len(f.table)) {
		for index := range f.perOf(page) {
			if !visit(bytes(at, at+f.block, f.isLive(page, index))) {
				return
			}
			at += f.block
		}
		if end := f.end(page); at != end {
			if !visit(bytes(at, end, false)) {
				return
			}
			at = end
		}
	}
	if at != f.total {
		visit(bytes(at, f.total, false))
	}
}

func (f *fixed) Check() error {
	if uint64(len(f.words)) != uint64(len(f.table))*f.wordsPerPage || uint64(len(f.table)) > f.pages {
		return broken("%d words of %d a page for %d pages of %d", len(f.words), f.wordsPerPage, len(f.table), f.pages)
	}
	live := uint64(0)
	for page := range uint32(len(f.table)) {
		if err := f.checkPage(page); err != nil {
			return err
		}
		live += uint64(f.table[page].live)
	}
	if live != f.live {
		return broken("the pages have %d live blocks, the counter says %d", live, f.live)
	}
	if err := f.sets.check(uint32(len(f.table))); err != nil {
		return err
	}
	for _, bucket := range f.groups.buckets {
		for _, group := range bucket {
			if group.number != 0 && uint64(group.page) >= uint64(len(f.table)) {
				return broken("group %d is in page %d of %d", group.number, group.page, len(f.table))
			}
		}
	}
	return nil
}

func (f *fixed) checkPage(page uint32) error {
	p, per := f.table[page], f.perOf(page)
	free := uint32(0)
	for i, word := range f.pageWords(page) {
		at := uint64(i)
		free += uint32(bits.OnesCount64(word))
		if word != 0 && at < uint64(p.low) {
			return broken("page %d has a free block in word %d, below %d", page, at, p.low)
		}
		if from := uint64(per) - min(at*64, uint64(per)); from < 64 && word>>from != 0 {
			return broken("page %d has a free bit behind its %d blocks", page, per)
		}
	}
	if free != per-p.live {
		return broken("page %d has %d free of %d blocks, and %d live", page, free, per, p.live)
	}
	for index := per; index > 0; index-- {
		if f.isLive(page, index-1) && f.start(page, index) > f.highWater {
			return broken("block %d of page %d is above the high water %d", index-1, page, f.highWater)
		}
	}
	want := uint8(listedFull)
	switch {
	case free == per:
		want = listedEmpty
	case free != 0:
		want = uint8(setRoom + free>>f.roomShift)
	}
	if p.listed != want {
		return broken("page %d with %d free blocks of %d is in list %d, not %d", page, free, per, p.listed, want)
	}
	for set := range f.sets.count {
		due := set == setEmpty && want == listedEmpty || set == setPartial && want >= setRoom || set >= setRoom && set == int(want)
		if f.sets.has(set, page) != due {
			return broken("page %d with %d free blocks of %d is in set %d: %v", page, free, per, set, !due)
		}
	}
	return nil
}

// check requires that a word has a bit on the level above exactly if it is not 0, and
// that no member is at or above pages.
func (s *pageSets) check(pages uint32) error {
	for set := range s.count {
		if s.depth == 0 {
			continue
		}
		words := s.of(set)
		for level := 1; level < s.depth; level++ {
			for at, word := range words[s.level[level-1]:s.level[level]] {
				if told := words[s.level[level]+at/64]>>(at%64)&1 != 0; told != (word != 0) {
					return broken("word %d on level %d of set %d is %#x, told of: %v", at, level-1, set, word, told)
				}
			}
		}
		if pages > 0 {
			if page, more := s.after(set, pages-1); more {
				return broken("set %d has page %d of %d", set, page, pages)
			}
		}
	}
	return nil
}

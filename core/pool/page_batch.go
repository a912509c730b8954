package pool

import "ferrum_mem/core/rangealloc"

// touchMany is touch for count blocks of a size that lie behind each other, all of
// them or none. The blocks of a page are counted together.
func (t *pageTable) touchMany(offset, size, count uint64) bool {
	end := offset + size*count
	first, last := offset>>t.shift, (end-1)>>t.shift
	if last >= uint64(len(t.entries)) {
		return false
	}
	if t.wholePages(offset, size) {
		if !allSet(t.mapped, first, last+1) {
			return false
		}
		setBits(t.busy, first, last+1)
		t.paging.took(last + 1 - first)
		t.countWhole(first, last, size, 1)
		return true
	}
	for page := first; page <= last; page++ {
		if t.entries[page].blocks == 0 && !t.isMapped(page) {
			return false
		}
	}
	if size>>t.shift > 0 {
		for at := offset; at < end; at += size {
			t.touch(at, size)
		}
		return true
	}
	for page := first; page <= last; page++ {
		e := &t.entries[page]
		if e.blocks == 0 {
			setBits(t.busy, page, page+1)
			t.paging.took(1)
		}
		e.blocks += t.inPage(page, offset, size, end)
	}
	return true
}

// leaveMany is leave for the blocks of touchMany.
func (t *pageTable) leaveMany(offset, size, count uint64) {
	end := offset + size*count
	if t.wholePages(offset, size) {
		first, last := offset>>t.shift, (end-1)>>t.shift
		clearBits(t.busy, first, last+1)
		t.paging.idle += last + 1 - first
		t.countWhole(first, last, size, ^uint32(0))
		return
	}
	if size>>t.shift > 0 {
		for at := offset; at < end; at += size {
			t.leave(at, size)
		}
		return
	}
	for page := offset >> t.shift; page <= (end-1)>>t.shift; page++ {
		e := &t.entries[page]
		if e.blocks -= t.inPage(page, offset, size, end); e.blocks == 0 {
			clearBits(t.busy, page, page+1)
			t.paging.idle++
		}
	}
}

// wholePages says that blocks share no page with others.
func (t *pageTable) wholePages(offset, size uint64) bool {
	return (offset|size)&(1<<t.shift-1) == 0
}

// countWhole adds to the counts of pages in which blocks of whole pages start or end.
func (t *pageTable) countWhole(first, last, size uint64, more uint32) {
	entries, pages := t.entries[first:last+1], size>>t.shift
	for at := uint64(0); at < uint64(len(entries)); at += pages {
		entries[at].blocks += more
		if pages > 1 {
			entries[at+pages-1].blocks += more
		}
	}
}

// inPage is how many of the blocks of a size from offset to end are in a page.
func (t *pageTable) inPage(page, offset, size, end uint64) uint32 {
	from, to := max(offset, page<<t.shift), min(end, (page+1)<<t.shift)
	return uint32((to-1-offset)/size - (from-offset)/size + 1)
}

// touchRuns counts runs of blocks of a size in, all of them or none.
func (s *segment) touchRuns(runs []rangealloc.Run, size uint64) bool {
	for i, run := range runs {
		if s.pages.touchMany(run.Offset, size, uint64(run.Count)) {
			continue
		}
		s.leaveRuns(runs[:i], size)
		for _, run := range runs[i:] {
			s.pages.paging.note(s.pagesOf(run.Offset, size*uint64(run.Count)))
		}
		return false
	}
	return true
}

func (s *segment) leaveRuns(runs []rangealloc.Run, size uint64) {
	for _, run := range runs {
		s.pages.leaveMany(run.Offset, size, uint64(run.Count))
	}
}

// touchRanges counts blocks in, all of them or none.
func (s *segment) touchRanges(blocks []rangealloc.Range) bool {
	for i, block := range blocks {
		if s.pages.touch(block.Offset, block.Size) {
			continue
		}
		s.leaveRanges(blocks[:i])
		for _, block := range blocks[i:] {
			s.pages.paging.note(s.pagesOf(block.Offset, block.Size))
		}
		return false
	}
	return true
}

func (s *segment) leaveRanges(blocks []rangealloc.Range) {
	for _, block := range blocks {
		located{s, block}.leavePages()
	}
}

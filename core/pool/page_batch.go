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

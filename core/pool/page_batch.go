package pool

import "ferrum_mem/core/rangealloc"

// touchRuns adds runs of blocks of one size to the counts of their pages, all or none.
func (s *segment) touchRuns(runs []rangealloc.Run, size uint64) bool {
	for i, run := range runs {
		if s.pages.TouchMany(run.Offset, size, uint64(run.Count)) {
			continue
		}
		s.releaseRuns(runs[:i], size)
		for _, run := range runs[i:] {
			s.paging.note(wantedBlocks{s, run.Offset, size, uint64(run.Count)})
		}
		return false
	}
	return true
}

func (s *segment) releaseRuns(runs []rangealloc.Run, size uint64) {
	for _, run := range runs {
		s.pages.ReleaseMany(run.Offset, size, uint64(run.Count))
	}
}

// touchRanges adds blocks to the counts of their pages, all or none.
func (s *segment) touchRanges(blocks []rangealloc.Range) bool {
	for i, block := range blocks {
		if s.pages.Touch(block.Offset, block.Size) {
			continue
		}
		s.releaseRanges(blocks[:i])
		for _, block := range blocks[i:] {
			s.paging.note(wantedBlocks{s, block.Offset, block.Size, 1})
		}
		return false
	}
	return true
}

func (s *segment) releaseRanges(blocks []rangealloc.Range) {
	for _, block := range blocks {
		located{s, block}.releasePages()
	}
}

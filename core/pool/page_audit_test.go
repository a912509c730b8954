package pool

import (
	"fmt"

	"ferrum_mem/core/device"
)

// auditPages compares what the tables of pages say with the blocks that are
// placed, counted one by one, and gives the bytes of all pages that the pool has.
// The caller holds mu.
func (p *Pool) auditPages() (heldBytes uint64, err error) {
	g := p.paged
	if g == nil {
		return 0, nil
	}
	pages, idle := uint64(len(g.spares)), uint64(0)
	for _, run := range g.stuck {
		pages += run.count()
	}
	seen := map[device.Page]bool{}
	for _, s := range p.segments {
		t := s.pages
		ends, touched := map[uint64]uint32{}, map[uint64]bool{}
		s.eachBlock(func(l located) bool {
			run := s.pagesOf(l.Offset, l.Size)
			for page := run.first; page <= run.last; page++ {
				touched[page] = true
			}
			ends[run.first]++
			if run.last != run.first {
				ends[run.last]++
			}
			return true
		})
		for at := range uint64(len(t.entries)) {
			e := t.entries[at]
			switch {
			case touched[at] != t.isBusy(at):
				return 0, fmt.Errorf("page %d: busy %v, touched %v", at, t.isBusy(at), touched[at])
			case touched[at] && !t.isMapped(at):
				return 0, fmt.Errorf("page %d is touched and not mapped", at)
			case e.blocks != ends[at]:
				return 0, fmt.Errorf("page %d has %d ends of blocks, counts %d", at, ends[at], e.blocks)
			case t.isMapped(at) != (e.page != 0):
				return 0, fmt.Errorf("page %d: mapped %v, has page %d", at, t.isMapped(at), e.page)
			case e.page != 0 && seen[e.page]:
				return 0, fmt.Errorf("page %d: %d is mapped twice", at, e.page)
			}
			delete(touched, at)
			if e.page == 0 {
				continue
			}
			seen[e.page] = true
			pages++
			if !t.isBusy(at) {
				idle++
			}
		}
		if len(touched) > 0 {
			return 0, fmt.Errorf("%d pages beyond the table are touched", len(touched))
		}
	}
	if idle != g.idle {
		return 0, fmt.Errorf("%d pages are idle, counts %d", idle, g.idle)
	}
	return pages * g.pageBytes, nil
}

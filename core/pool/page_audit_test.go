package pool

import (
	"fmt"

	"ferrum_mem/core/device"
)

// auditPages compares the tables of pages with the blocks, counted one by one, and
// returns the bytes of all pages that the pool holds. The caller holds mu.
func (p *Pool) auditPages() (heldBytes uint64, err error) {
	g := p.heap.paged
	if g == nil {
		return 0, nil
	}
	pages, idle := g.sparePages(), uint64(0)
	for _, run := range g.stuck {
		pages += run.Count()
	}
	seen := map[device.Page]bool{}
	for _, s := range p.heap.segments {
		t := s.pages
		ends, touched, split := map[uint64]uint64{}, map[uint64]bool{}, false
		s.eachBlock(func(l located) bool {
			run := s.pagesOf(l.Offset, l.Size)
			for page := run.First; page <= run.Last; page++ {
				touched[page] = true
				if t.IsLarge(page) {
					large := pageRun{s, t.Whole(page)}
					from := uint64(large.addr() - s.base)
					split = split || from < l.Offset || from+large.bytes() > l.Offset+l.Size
				}
			}
			ends[run.First]++
			if run.Last != run.First {
				ends[run.Last]++
			}
			return true
		})
		if split {
			return 0, fmt.Errorf("a block has a part of a large page")
		}
		for at := range t.Len() {
			mapped, count := t.Page(at), t.Ends(at)
			switch {
			case touched[at] != t.IsBusy(at):
				return 0, fmt.Errorf("page %d: busy %v, touched %v", at, t.IsBusy(at), touched[at])
			case touched[at] && !t.IsMapped(at):
				return 0, fmt.Errorf("page %d is touched and not mapped", at)
			case count != ends[at]:
				return 0, fmt.Errorf("page %d has %d ends of blocks, counts %d", at, ends[at], count)
			case t.IsMapped(at) != (mapped != 0):
				return 0, fmt.Errorf("page %d: mapped %v, has page %d", at, t.IsMapped(at), mapped)
			case mapped != 0 && seen[mapped] && (!t.IsLarge(at) || t.Page(at-1) != mapped):
				return 0, fmt.Errorf("page %d: %d is mapped twice", at, mapped)
			}
			delete(touched, at)
			if mapped == 0 {
				continue
			}
			seen[mapped] = true
			pages++
			if !t.IsBusy(at) {
				idle++
			}
		}
		if len(touched) > 0 {
			return 0, fmt.Errorf("%d pages beyond the table are touched", len(touched))
		}
	}
	if idle != g.counts.Idle {
		return 0, fmt.Errorf("%d pages are idle, counts %d", idle, g.counts.Idle)
	}
	return pages * g.pageBytes, nil
}

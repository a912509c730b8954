package vmm

import (
	"cmp"
	"slices"

	"ferrum_mem/core/device"
)

// CompactReport is what Compact has done.
type CompactReport struct {
	// LandedPages were retiring, and their work was done.
	LandedPages uint64 `json:"landed_pages"`
	// UnmappedPages were parked, and are ready for any range now.
	UnmappedPages uint64 `json:"unmapped_pages"`
	// ReleasedBytes went back to the device.
	ReleasedBytes uint64 `json:"released_bytes"`
	// RunsBefore and RunsAfter count the runs of physical pages that lie one after
	// the other among those that no range uses; there are never more afterwards, unless
	// others use the pool meanwhile. An allocation of several pages takes
	// its pages out of runs, and needs a mapping of the system for each.
	RunsBefore uint64 `json:"runs_before"`
	RunsAfter  uint64 `json:"runs_after"`
}

// Compact brings together what nobody uses. Retiring ranges whose work is done land;
// parked pages leave the ranges that they were freed in; of the free pages, those of
// the longest runs are kept, as many as are kept ready, and the others go back to the
// device, so that later allocations get pages that lie together. Live pages
// stay where they are: their offsets are the caller's, who may be using them, and
// other pages behind the same offsets would only be as many. Errors: those of the
// device, with what was done until then.
func (ph *Physical) Compact() (report CompactReport, err error) {
	ph.worker.round.Lock()
	defer ph.worker.round.Unlock()
	for _, s := range ph.spacesFrom(nil) {
		report.LandedPages += s.landAll()
	}
	report.RunsBefore = uint64(len(runsOf(ph.unusedPages())))
	report.UnmappedPages, err = ph.unpark(maxWanted, nil)
	if err != nil {
		return report, err
	}
	released, err := ph.releaseBut(ph.longestRuns())
	report.ReleasedBytes = released * ph.pageBytes
	report.RunsAfter = uint64(len(runsOf(ph.unusedPages())))
	return report, err
}

// unusedPages lists the idle pages and those behind parked ones.
func (ph *Physical) unusedPages() []device.Page {
	var pages []device.Page
	for _, s := range ph.spacesFrom(nil) {
		pages = s.parkedPages(pages)
	}
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.eachIdle(func(idle *[]device.Page) { pages = append(pages, *idle...) })
	return pages
}

func (s *space) parkedPages(to []device.Page) []device.Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state == stateClosed {
		return to
	}
	for at, ok := s.table.parked.Next(0); ok; at, ok = s.table.parked.Next(at) {
		r := s.table.parked.RunFrom(at, s.table.extent.Pages)
		to = append(to, s.table.numbers[r.Start:r.End()]...)
		if at = r.End(); at == s.table.extent.Pages {
			break
		}
	}
	return to
}

// eachIdle gives the lists of idle pages. The caller holds mu.
func (ph *Physical) eachIdle(fn func(*[]device.Page)) {
	fn(&ph.orphans)
	for _, o := range ph.owners.All() {
		fn(&o.idle)
	}
	fn(&ph.clean)
}

// longestRuns picks as many idle pages as are kept ready, from the longest runs, and
// puts them to the front of their lists: pages are given back from the end.
func (ph *Physical) longestRuns() map[device.Page]bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	var pages []device.Page
	ph.eachIdle(func(idle *[]device.Page) { pages = append(pages, *idle...) })
	runs := runsOf(pages)
	slices.SortStableFunc(runs, func(a, b []device.Page) int { return len(b) - len(a) })
	best := slices.Concat(runs...)
	keep := make(map[device.Page]bool)
	for _, page := range best[:min(ph.ready, uint64(len(best)))] {
		keep[page] = true
	}
	ph.eachIdle(func(idle *[]device.Page) {
		slices.SortFunc(*idle, func(a, b device.Page) int {
			switch {
			case keep[a] == keep[b]:
				return cmp.Compare(a, b)
			case keep[a]:
				return -1
			}
			return 1
		})
	})
	return keep
}

// runsOf sorts pages and cuts them where two do not lie one after the other.
func runsOf(pages []device.Page) [][]device.Page {
	pages = slices.Clone(pages)
	slices.Sort(pages)
	var runs [][]device.Page
	for first := 0; first < len(pages); {
		end := first + 1
		for end < len(pages) && pages[end] == pages[end-1]+1 {
			end++
		}
		runs = append(runs, pages[first:end])
		first = end
	}
	return runs
}

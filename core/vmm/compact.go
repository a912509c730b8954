package vmm

import (
	"cmp"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

// CompactReport is the result of Compact.
type CompactReport struct {
	// LandedPages counts the pages that were retiring and whose work had completed.
	LandedPages uint64 `json:"landed_pages"`
	// UnmappedPages counts the parked pages that were unmapped. Any range can use them
	// now.
	UnmappedPages uint64 `json:"unmapped_pages"`
	// ReleasedBytes counts the bytes that were released to the device.
	ReleasedBytes uint64 `json:"released_bytes"`
	// RunsBefore and RunsAfter count the runs of adjacent physical pages among the
	// pages that no range uses. RunsAfter is at most RunsBefore, unless other threads
	// use the pool during the call. An allocation of several pages needs one mapping of
	// the system for each run.
	RunsBefore uint64 `json:"runs_before"`
	RunsAfter  uint64 `json:"runs_after"`
}

// Compact joins unused pages. It parks retiring ranges whose work has completed and
// unmaps parked pages. It keeps ReadyPages free pages, from the longest runs, and
// releases the others to the device. Later allocations then get adjacent pages. Live
// pages are not moved: the caller may be using their offsets, and other pages at the
// same offsets would save nothing. Errors: those of the device; the report states what
// was done before the error.
func (ph *Physical) Compact() (report CompactReport, err error) {
	ph.worker.round.Lock()
	defer ph.worker.round.Unlock()
	for _, s := range ph.spacesFrom(nil) {
		report.LandedPages += s.completeAll()
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

// unusedPages lists the idle pages and the pages of parked ranges.
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

// eachIdle calls fn with each list of idle pages. The caller holds mu.
func (ph *Physical) eachIdle(fn func(*[]device.Page)) {
	fn(&ph.orphans)
	for _, o := range ph.owners.All() {
		fn(&o.idle)
	}
	fn(&ph.clean)
}

// longestRuns picks ReadyPages idle pages, from the longest runs. It
// moves them to the front of their lists, because pages are released from the end.
func (ph *Physical) longestRuns() map[device.Page]bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	var pages []device.Page
	ph.eachIdle(func(idle *[]device.Page) { pages = append(pages, *idle...) })
	runs := runsOf(pages)
	sorting.StableBy(runs, func(a, b []device.Page) int { return len(b) - len(a) })
	best := slices.Concat(runs...)
	keep := make(map[device.Page]bool)
	for _, page := range best[:min(ph.ready, uint64(len(best)))] {
		keep[page] = true
	}
	ph.eachIdle(func(idle *[]device.Page) {
		sorting.By(*idle, func(a, b device.Page) int {
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

// runsOf sorts pages and splits them into runs of adjacent pages.
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

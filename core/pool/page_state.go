package pool

import (
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/pool/pages"
	"ferrum_mem/core/rangealloc"
)

// paging has the state of the pages of all segments of a pool, guarded by heap.mu. It is
// nil in a segmented pool.
type paging struct {
	device    device.VirtualMemory
	pageBytes uint64
	// ready is the number of idle pages that the worker keeps mapped; if shared is set, a
	// small pool keeps fewer. The worker never reduces the pool below floorBytes.
	ready, floorBytes uint64
	shared            bool
	// held counts the pages that the pool holds.
	held uint64
	// counts has the number of idle pages, and their lowest number in this window.
	counts pages.Counts
	// choosy restricts allocations to places whose pages are all mapped. visits limits
	// how many more blocks may be examined to find such a place.
	choosy bool
	visits int
	// wanted lists where blocks without mapped pages would be placed. It is filled only
	// while noting is set.
	noting bool
	wanted []wantedBlocks
	// missing is the buffer for the result of missingRuns.
	missing []pageRun
	// largeBytes is the size of a large page; 0 means there are none.
	largeBytes uint64
	// spares are pages that the pool holds unmapped because a driver call failed before
	// they were released. They count as held and cached. largeSpares are the large ones.
	spares, largeSpares []device.Page
	// stuck lists pages that a failed mapping left mapped without access.
	stuck  []piece
	worker pageWorker
	caches cacheWatch
	keeper pages.Keeper
	clock  func() time.Duration
}

// pageRun is a run of adjacent pages of one segment.
type pageRun struct {
	segment *segment
	pages.Run
}

// addr returns the address of the first page of a run.
func (r pageRun) addr() device.Addr {
	return r.segment.base + device.Addr(r.First<<r.segment.pages.Shift())
}

func (r pageRun) bytes() uint64 { return r.Count() << r.segment.pages.Shift() }

// wantedBlocks describes count adjacent blocks of one size, and where they would be
// placed.
type wantedBlocks struct {
	segment             *segment
	offset, size, count uint64
}

// run returns the pages that the blocks would occupy.
func (w *wantedBlocks) run() pageRun { return w.segment.pagesOf(w.offset, w.size*w.count) }

// piece is the pages of the device that one driver call maps: the pages of a run, or one
// large page for the whole run.
type piece struct {
	pageRun
	large bool
	pages []device.Page
}

// largePages returns the number of pages of a large page.
func (g *paging) largePages() uint64 { return g.largeBytes / g.pageBytes }

// sparePages returns the number of pages in the spares. A large page counts as largePages
// pages.
func (g *paging) sparePages() uint64 {
	return uint64(len(g.spares)) + uint64(len(g.largeSpares))*g.largePages()
}

// spare stores a page that is no longer mapped.
func (g *paging) spare(page device.Page, large bool) {
	if large {
		g.largeSpares = append(g.largeSpares, page)
	} else {
		g.spares = append(g.spares, page)
	}
}

// readyNow returns the number of idle pages that the worker keeps for the present number
// of pages in use.
func (g *paging) readyNow() uint64 {
	if !g.shared {
		return g.ready
	}
	return min(g.ready, (g.held-g.counts.Idle)/readyShare)
}

// surplus returns how many of the given number of idle pages are too many.
func (g *paging) surplus(idle uint64) uint64 { return idle - min(idle, g.readyNow()) }

// note records where blocks without mapped pages would be placed.
func (g *paging) note(blocks wantedBlocks) {
	if g.noting {
		g.wanted = append(g.wanted, blocks)
	}
}

// missingRuns returns the pages that the wanted blocks lack, each page once, in order of
// address. The result is valid until the next call.
func (g *paging) missingRuns() []pageRun {
	all := g.missing[:0]
	for _, blocks := range g.wanted {
		run := blocks.run()
		for missing := range run.segment.pages.Missing(run.Run) {
			all = append(all, pageRun{run.segment, missing})
		}
	}
	sorting.By(all, comparePageRun)
	runs := all[:0]
	for _, run := range all {
		if n := len(runs); n > 0 && runs[n-1].segment == run.segment && run.First <= runs[n-1].Last+1 {
			runs[n-1].Last = max(runs[n-1].Last, run.Last)
			continue
		}
		runs = append(runs, run)
	}
	g.missing = runs
	return runs
}

// comparePageRun orders runs by address.
func comparePageRun(a, b pageRun) int {
	if a.segment != b.segment {
		return compareSegment(a.segment, b.segment.memory.Addr)
	}
	return int(a.First) - int(b.First)
}

// isWanted reports whether a wanted block needs a page of a run.
func (g *paging) isWanted(run pageRun) bool {
	return slices.ContainsFunc(g.wanted, func(w wantedBlocks) bool {
		of := w.run()
		return of.segment == run.segment && of.First <= run.Last && run.First <= of.Last
	})
}

// pagesOf returns the pages that contain a range.
func (s *segment) pagesOf(offset, size uint64) pageRun {
	return pageRun{s, s.pages.RunOf(offset, size)}
}

// errUnmapped is the result of a search that finds free addresses, but not all of their
// pages are mapped.
var errUnmapped error = &device.Error{
	Code: device.CodeOutOfMemory, Op: "pool.map", Message: "the pages of a free range are not mapped",
}

// noRoom reports whether an allocation may succeed after the pool has grown.
func noRoom(err error) bool { return err == rangealloc.ErrNoRoom || err == errUnmapped }

// pageWorker releases idle pages in the background. Its goroutine runs only while there
// are more idle pages than may stay. All fields are guarded by heap.mu.
type pageWorker struct {
	// watches is set while there are too many idle pages. since is the time when the
	// present window began.
	watches bool
	since   time.Duration
	// stop ends the goroutine; done is closed when it has ended. Both are nil while no
	// goroutine runs.
	stop chan struct{}
	done <-chan struct{}
	// pauses counts the callers of PauseReturn that have not called ResumeReturn yet.
	pauses int
	// work is the function of the goroutine. It returns when it is stopped or when there
	// is nothing left to do.
	work func(stop <-chan struct{})
}

// cacheWatch is the state that the worker keeps of the thread caches. heap.mu guards all
// fields.
type cacheWatch struct {
	// watches is set while the caches have to be checked. since is the time when the
	// present window began.
	watches bool
	since   time.Duration
	// calls is the number of allocations and frees of the caches at the last check; it is
	// valid if known is set.
	calls uint64
	known bool
}

package pool

import (
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/pages"
	"ferrum_mem/core/rangealloc"
)

// paging is what a pool knows of its pages over all its segments, under heap.mu;
// nil in a pool without.
type paging struct {
	device    device.VirtualMemory
	pageBytes uint64
	// ready is how many idle pages the worker leaves, fewer in a small pool if
	// shared; floorBytes is what it leaves held in any case.
	ready, floorBytes uint64
	shared            bool
	// held counts the pages that the pool has.
	held uint64
	// counts is of the idle pages, and of the least of them in this window.
	counts pages.Counts
	// choosy has allocations take only places whose pages are all mapped; visits is
	// how many blocks may yet be looked at for that.
	choosy bool
	visits int
	// wanted is where blocks would lie that found no mapped pages, noted while
	// noting is set.
	noting bool
	wanted []wantedBlocks
	// missing is where missingRuns puts its answer.
	missing []pageRun
	// largeBytes is how long a large page is; 0: there are none.
	largeBytes uint64
	// spares are pages that are not mapped: a driver call failed on their way to
	// the device. They are held, and cached. largeSpares are the large ones.
	spares, largeSpares []device.Page
	// stuck are pages that a failed mapping left mapped without access.
	stuck  []piece
	worker pageWorker
	caches cacheWatch
	keeper pages.Keeper
	clock  func() time.Duration
}

// pageRun is pages of one segment that lie one after the other.
type pageRun struct {
	segment *segment
	pages.Run
}

// addr is where a run starts, and bytes how long it is.
func (r pageRun) addr() device.Addr {
	return r.segment.base + device.Addr(r.First<<r.segment.pages.Shift())
}

func (r pageRun) bytes() uint64 { return r.Count() << r.segment.pages.Shift() }

// wantedBlocks is where count blocks of a size would lie, one behind the other.
type wantedBlocks struct {
	segment             *segment
	offset, size, count uint64
}

// run is the pages that the blocks would lie in.
func (w *wantedBlocks) run() pageRun { return w.segment.pagesOf(w.offset, w.size*w.count) }

// piece is pages of the device that are mapped by one call: those of a run, or one large
// page behind all of it.
type piece struct {
	pageRun
	large bool
	pages []device.Page
}

// largePages is how many pages a large one is long.
func (g *paging) largePages() uint64 { return g.largeBytes / g.pageBytes }

// sparePages is how many pages the spares are, large ones by their length.
func (g *paging) sparePages() uint64 {
	return uint64(len(g.spares)) + uint64(len(g.largeSpares))*g.largePages()
}

// spare keeps a page that is not mapped any more.
func (g *paging) spare(page device.Page, large bool) {
	if large {
		g.largeSpares = append(g.largeSpares, page)
	} else {
		g.spares = append(g.spares, page)
	}
}

// readyNow is how many idle pages the worker leaves, with as many in use as now.
func (g *paging) readyNow() uint64 {
	if !g.shared {
		return g.ready
	}
	return min(g.ready, (g.held-g.counts.Idle)/readyShare)
}

// surplus is how many of so many idle pages are too many.
func (g *paging) surplus(idle uint64) uint64 { return idle - min(idle, g.readyNow()) }

// note remembers where blocks would lie that have no mapped pages.
func (g *paging) note(blocks wantedBlocks) {
	if g.noting {
		g.wanted = append(g.wanted, blocks)
	}
}

// missingRuns are the pages that what is wanted lacks, each once, in order, until
// the next call.
func (g *paging) missingRuns() []pageRun {
	all := g.missing[:0]
	for _, blocks := range g.wanted {
		run := blocks.run()
		for missing := range run.segment.pages.Missing(run.Run) {
			all = append(all, pageRun{run.segment, missing})
		}
	}
	slices.SortFunc(all, comparePageRun)
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

// comparePageRun is the order of runs by their addresses.
func comparePageRun(a, b pageRun) int {
	if a.segment != b.segment {
		return compareSegment(a.segment, b.segment.had.Addr)
	}
	return int(a.First) - int(b.First)
}

// isWanted says that a page of a run belongs to what is wanted.
func (g *paging) isWanted(run pageRun) bool {
	return slices.ContainsFunc(g.wanted, func(w wantedBlocks) bool {
		of := w.run()
		return of.segment == run.segment && of.First <= run.Last && run.First <= of.Last
	})
}

// pagesOf is the run of pages that a range lies in.
func (s *segment) pagesOf(offset, size uint64) pageRun {
	return pageRun{s, s.pages.RunOf(offset, size)}
}

// errUnmapped is what a search for room gives when addresses are free and not all
// of their pages are mapped.
var errUnmapped error = &device.Error{
	Code: device.CodeOutOfMemory, Op: "pool.map", Message: "the pages of a free range are not mapped",
}

// noRoom says that there may be room once the pool has grown.
func noRoom(err error) bool { return err == rangealloc.ErrNoRoom || err == errUnmapped }

// pageWorker gives idle pages back in the background. Its goroutine runs only
// while there are more than are to stay. All fields are under heap.mu.
type pageWorker struct {
	// watches says that there are more, since since.
	watches bool
	since   time.Duration
	// stop ends the goroutine, and done says that it has ended; nil: none runs.
	stop chan struct{}
	done <-chan struct{}
	// pauses counts those who want no work done.
	pauses int
	// work is what the goroutine does until it is stopped or there is nothing left.
	work func(stop <-chan struct{})
}

// cacheWatch is what the worker knows of the caches. All fields are under heap.mu.
type cacheWatch struct {
	// watches says that there is something to look at, since since.
	watches bool
	since   time.Duration
	// calls counts the allocations and frees of the caches when they were looked at
	// last, if known.
	calls uint64
	known bool
}

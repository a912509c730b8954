package pool

import (
	"math"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/pages"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// Paging. A pool over virtual memory has one large reservation of addresses (a
// further one when that is full) and its strategy places in all of it. Physical
// pages are mapped where a block comes to lie, and pages that no block touches
// any more are given back, wherever they are: what the pool holds follows its
// blocks, and no byte moves. So held, the bounds and the books are about pages,
// not about addresses.
//
// A page is idle when it is mapped and no block touches it. Idle pages count as
// cached. A few stay ready; more are given back by a worker when they were not
// needed for a while (package pages, page_worker.go), and at once by everything that gives cached
// memory back (page_return.go). An allocation whose pages are all mapped costs a
// look at the table; any other maps what is missing first, without Pool.mu
// (page_grow.go).

// Paging says whether a pool gives its memory back page by page.
type Paging int32

const (
	// PagingAuto is paging where the device can do it and the pool may hold
	// autoPages at least: the loss by rounding would show in less.
	PagingAuto Paging = iota
	// PagingOff takes segments whole from the device.
	PagingOff
	// PagingOn is CodeUnsupported where the device cannot do it.
	PagingOn
)

const (
	// autoPages is how many pages a pool must be able to hold for PagingAuto.
	autoPages = 32
	// defaultReadyPages is how many idle pages stay when Config.ReadyPages is 0, and
	// readyShare the part of the pages in use that they are at most.
	defaultReadyPages = 8
	readyShare        = 64
	// KeepAllPages as ReadyPages leaves all idle pages mapped until they are asked
	// back.
	KeepAllPages = math.MaxInt32
)

// paging is what a pool knows of its pages over all its segments, under Pool.mu;
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
	wanted []pageRun
	// missing is where missingRuns puts its answer.
	missing []pageRun
	// spares are pages that are not mapped: a driver call failed on their way to
	// the device. They are held, and cached.
	spares []device.Page
	// stuck are pages that a failed mapping left mapped without access.
	stuck  []stuckRun
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

// pagesOf is the run of pages that a range lies in.
func (s *segment) pagesOf(offset, size uint64) pageRun {
	return pageRun{s, s.pages.RunOf(offset, size)}
}

// stuckRun is pages that could not be unmapped.
type stuckRun struct {
	pageRun
	pages []device.Page
}

// errUnmapped is what a search for room gives when addresses are free and not all
// of their pages are mapped.
var errUnmapped error = &device.Error{
	Code: device.CodeOutOfMemory, Op: "pool.map", Message: "the pages of a free range are not mapped",
}

// noRoom says that there may be room once the pool has grown.
func noRoom(err error) bool { return err == rangealloc.ErrNoRoom || err == errUnmapped }

// startPaging decides whether the pool has pages, and of which size.
func (p *Pool) startPaging() error {
	c := &p.config
	const op = "pool.new"
	if c.Paging == PagingOff {
		return nil
	}
	virtual, err := p.engine.VirtualMemory()
	if err != nil {
		if c.Paging == PagingOn {
			return err
		}
		return nil
	}
	size := virtual.Granularity()
	pageBytes := c.PhysicalPageBytes
	if pageBytes == 0 {
		pageBytes = size.RecommendedBytes
	}
	if pageBytes&(pageBytes-1) != 0 || pageBytes < size.MinimumBytes {
		return device.Errorf(device.CodeInvalidPageSize, op,
			"physical_page_bytes %d is not a power of two of at least %d", pageBytes,
			size.MinimumBytes).On(p.engine.ID())
	}
	most := c.mostHeld(p.engine)
	if c.Paging == PagingAuto && most/autoPages < pageBytes {
		return nil
	}
	if most < pageBytes {
		return device.Errorf(device.CodeInvalidConfig, op,
			"the pool may hold %d bytes, less than a page of %d", most, pageBytes).On(p.engine.ID())
	}
	p.paged = &paging{
		device: virtual, pageBytes: pageBytes, ready: readyPages(c.ReadyPages), shared: c.ReadyPages == 0,
		clock: c.Clock,
	}
	if p.paged.clock == nil {
		p.paged.clock = track.Now
	}
	return nil
}

func readyPages(config int) uint64 {
	switch {
	case config == 0:
		return defaultReadyPages
	case config < 0:
		return 0
	case config >= KeepAllPages:
		return math.MaxUint64
	}
	return uint64(config)
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

// mostHeld is what the settings and the device let a pool hold.
func (c *Config) mostHeld(e *engine.Engine) uint64 {
	most := uint64(math.MaxUint64)
	if total := e.Info().TotalBytes; total != 0 {
		most = total
	}
	if c.MaxSizeBytes != 0 {
		most = min(most, c.MaxSizeBytes)
	}
	if c.AutoExpansion || (c.PreAlloc && c.MaxSizeBytes != 0) {
		return most
	}
	return min(most, c.InitialSizeBytes)
}

// note remembers where a block would lie that has no mapped pages.
func (g *paging) note(run pageRun) {
	if g.noting {
		g.wanted = append(g.wanted, run)
	}
}

// missingRuns are the pages that what is wanted lacks, each once, in order, until
// the next call.
func (g *paging) missingRuns() []pageRun {
	all := g.missing[:0]
	for _, run := range g.wanted {
		for missing := range run.segment.pages.Missing(run.Run) {
			all = append(all, pageRun{run.segment, missing})
		}
	}
	slices.SortFunc(all, func(a, b pageRun) int {
		if a.segment != b.segment {
			return compareSegment(a.segment, b.segment.had.Addr)
		}
		return int(a.First) - int(b.First)
	})
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

// isWanted says that a page belongs to what is wanted.
func (g *paging) isWanted(s *segment, page uint64) bool {
	return slices.ContainsFunc(g.wanted, func(run pageRun) bool {
		return run.segment == s && run.First <= page && page <= run.Last
	})
}

// largestFreeOf is the longest free run of a segment; in one with pages the largest
// block that could be had without more memory: idle pages can be put behind any
// range of addresses, so they count together, with the rest of the page that they
// would continue. A hole between two blocks that is shorter than a page is in pages
// that those touch.
func (p *Pool) largestFreeOf(s *segment, stats *rangealloc.Stats) uint64 {
	if s.pages == nil {
		return stats.LargestFreeBytes
	}
	largest := p.paged.counts.Idle * p.paged.pageBytes
	if s.ender != nil {
		end := s.ender.End()
		if inside := end & (p.paged.pageBytes - 1); inside != 0 && s.pages.IsBusy(end>>s.pages.Shift()) {
			largest += p.paged.pageBytes - inside
		}
	}
	if s.holeFinder != nil && largest < p.paged.pageBytes {
		largest = max(largest, s.holeFinder.LargestBelow(p.paged.pageBytes))
	}
	return min(largest, stats.LargestFreeBytes)
}

// mappedBytes is how much of a segment has memory behind it.
func (s *segment) mappedBytes() uint64 {
	if s.pages == nil {
		return s.had.SizeBytes
	}
	return s.pages.MappedCount() << s.pages.Shift()
}

// HeldBytes is what the pool has from the device now.
func (p *Pool) HeldBytes() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// PhysicalPageBytes is the size of the pool's pages; 0: it takes segments whole.
func (p *Pool) PhysicalPageBytes() uint64 {
	if p.paged == nil {
		return 0
	}
	return p.paged.pageBytes
}

// boundOf rounds an upper bound down to what the pool can hold exactly.
func (p *Pool) boundOf(bytes uint64) uint64 {
	if p.paged != nil {
		return bytes &^ (p.paged.pageBytes - 1)
	}
	return p.engine.RoundDown(bytes)
}

// sizeFor rounds a size up to what the pool can take from the device; false: that
// overflows.
func (p *Pool) sizeFor(bytes uint64) (uint64, bool) {
	if p.paged == nil {
		return p.engine.RoundUp(bytes)
	}
	mask := p.paged.pageBytes - 1
	size := (bytes + mask) &^ mask
	return size, size >= bytes
}

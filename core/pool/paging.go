package pool

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
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
// look at the table; any other maps what is missing first, without heap.mu
// (page_grow.go).

// startPaging decides whether the pool has pages, and of which size.
func (u *supply) startPaging() error {
	c := &u.heap.config
	const op = "pool.new"
	if c.Paging == PagingOff {
		return nil
	}
	virtual, err := u.heap.engine.VirtualMemory()
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
			size.MinimumBytes).On(u.heap.engine.ID())
	}
	most := c.mostHeld(u.heap.engine)
	if c.Paging == PagingAuto && most/autoPages < pageBytes {
		return nil
	}
	if most < pageBytes {
		return device.Errorf(device.CodeInvalidConfig, op,
			"the pool may hold %d bytes, less than a page of %d", most, pageBytes).On(u.heap.engine.ID())
	}
	u.heap.paged = &paging{
		device: virtual, pageBytes: pageBytes, ready: readyPages(c.ReadyPages), shared: c.ReadyPages == 0,
		clock: c.Clock,
	}
	if c.PhysicalPageBytes == 0 {
		u.heap.paged.largeBytes = size.LargeBytes
	}
	if u.heap.paged.clock == nil {
		u.heap.paged.clock = track.Now
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

// largestFreeOf is the longest free run of a segment; in one with pages the largest
// block that could be had without more memory: idle pages can be put behind any
// range of addresses, so they count together, with the rest of the page that they
// would continue. A hole between two blocks that is shorter than a page is in pages
// that those touch. A pool whose bound, or whose device's limit, was lowered below what it
// holds hands out no block that is longer than that, but where one lies on mapped pages
// by chance.
func (h *heap) largestFreeOf(s *segment, stats *rangealloc.Stats) uint64 {
	if s.pages == nil {
		return stats.LargestFreeBytes
	}
	largest := h.paged.counts.Idle * h.paged.pageBytes
	if s.ender != nil {
		end := s.ender.End()
		if inside := end & (h.paged.pageBytes - 1); inside != 0 && s.pages.IsBusy(end>>s.pages.Shift()) {
			largest += h.paged.pageBytes - inside
		}
	}
	largest = min(largest, h.bound())
	if limit := h.engine.Limit(); limit != 0 {
		largest = min(largest, h.boundOf(limit))
	}
	if s.holeFinder != nil && largest < h.paged.pageBytes {
		largest = max(largest, s.holeFinder.LargestBelow(h.paged.pageBytes))
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
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	return p.heap.held
}

// PhysicalPageBytes is the size of the pool's pages; 0: it takes segments whole.
func (p *Pool) PhysicalPageBytes() uint64 {
	if p.heap.paged == nil {
		return 0
	}
	return p.heap.paged.pageBytes
}

// boundOf rounds an upper bound down to what the pool can hold exactly.
func (h *heap) boundOf(bytes uint64) uint64 {
	if h.paged != nil {
		return bytes &^ (h.paged.pageBytes - 1)
	}
	return h.engine.RoundDown(bytes)
}

// sizeFor rounds a size up to what the pool can take from the device; false: that
// overflows.
func (h *heap) sizeFor(bytes uint64) (uint64, bool) {
	if h.paged == nil {
		return h.engine.RoundUp(bytes)
	}
	mask := h.paged.pageBytes - 1
	size := (bytes + mask) &^ mask
	return size, size >= bytes
}

package pool

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// Paging. A paged pool has one large reservation of address space, and its strategy
// places blocks anywhere in it. When the reservation is full, the pool adds another one.
// The pool maps physical pages where a block is placed, and releases pages that contain
// no part of a block, wherever they are. So the memory that the pool holds follows its
// blocks, and no block has to move. For such a pool, the held bytes, the bounds and the
// counters are about pages, not about addresses.
//
// A page is idle when it is mapped and contains no part of a block. Idle pages count as
// cached. A few of them stay ready. A worker releases the others when they were not
// needed for a while (package pages, page_worker.go). Everything that releases cached
// memory releases them at once (page_return.go). An allocation whose pages are all mapped
// only reads the table. Any other allocation first maps the missing pages, without
// heap.mu (page_grow.go).

// startPaging decides whether the pool has pages, and sets the page size.
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
			"the pool may hold %v, less than a page of %v", device.Size(most), device.Size(pageBytes)).On(u.heap.engine.ID())
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

// mostHeld returns the most bytes that the settings and the device let a pool hold.
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

// largestFreeOf returns the length of the longest free run of a segment. For a segment of
// pages it returns the largest block that needs no further memory. Idle pages can be
// mapped at any address, so they count together, with the rest of the page that they
// would continue. A free run between two blocks that is shorter than a page lies in pages
// of those blocks. If the bound of the pool or the limit of the device was lowered below
// the held bytes, the result is at most that bound. A longer block can then be placed
// only where all pages are mapped by chance.
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

// mappedBytes returns how many bytes of a segment are backed by memory.
func (s *segment) mappedBytes() uint64 {
	if s.pages == nil {
		return s.memory.SizeBytes
	}
	return s.pages.MappedCount() << s.pages.Shift()
}

// HeldBytes returns the bytes that the pool holds from its device now.
func (p *Pool) HeldBytes() uint64 {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	return p.heap.held
}

// PhysicalPageBytes returns the page size of the pool; 0 for a segmented pool.
func (p *Pool) PhysicalPageBytes() uint64 {
	if p.heap.paged == nil {
		return 0
	}
	return p.heap.paged.pageBytes
}

// boundOf rounds an upper bound down to a size that the pool can hold.
func (h *heap) boundOf(bytes uint64) uint64 {
	if h.paged != nil {
		return bytes &^ (h.paged.pageBytes - 1)
	}
	return h.engine.RoundDown(bytes)
}

// sizeFor rounds a size up to a size that the pool can allocate from the device. It
// returns false if the result overflows.
func (h *heap) sizeFor(bytes uint64) (uint64, bool) {
	if h.paged == nil {
		return h.engine.RoundUp(bytes)
	}
	mask := h.paged.pageBytes - 1
	size := (bytes + mask) &^ mask
	return size, size >= bytes
}

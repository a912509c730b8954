package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pool/pages"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// segment is memory that the pool allocated from the engine in one piece, with the
// strategy that places blocks in it. The ends that do not fit the pool's alignment are
// unusable.
type segment struct {
	memory engine.Segment
	// base is the start of the usable part.
	base     device.Addr
	usable   uint64
	strategy rangealloc.Strategy
	// Each field is the strategy, or nil if the strategy does not implement the
	// interface.
	batcher    rangealloc.Batcher
	runBatcher rangealloc.RunBatcher
	slotFreer  rangealloc.SlotFreer
	retractor  rangealloc.Retractor
	ender      rangealloc.Ender
	asker      rangealloc.Asker
	holeFinder rangealloc.HoleFinder
	placer     rangealloc.PlaceTaker
	// sizeOrdered is set if the strategy implements rangealloc.SizeOrdered.
	sizeOrdered bool
	// pages has the state of the pages if the segment is only address space; otherwise
	// nil.
	pages *pages.Table
	// paging is the paging of the pool if pages is not nil.
	paging *paging
	// number is the count of segments that the pool had before this one.
	number uint64
	// blocks counts the blocks that the strategy has allocated: live, in flight or
	// leased.
	blocks uint64
	// full is a size for which the segment has no space at the pool's own alignment. No
	// larger size fits either: an allocation of full failed, and the runs freed since
	// then are shorter. full is anyFits when nothing is known, and always unless
	// sizeOrdered is set.
	full uint64
	infoTable
	// times has the time of each allocation by slot, with as many slots as infos. It is
	// used only if timed is set.
	timed      bool
	times      []int64
	timeMemory offheap.Table[int64]
	// streams has the stream number of each live block by slot. It reaches as far as
	// blocks of other streams than the default one were allocated; see block_stream.go.
	streams      []uint16
	streamMemory offheap.Table[uint16]
}

// close releases the tables of a segment. The segment must be in no list.
func (s *segment) close() {
	s.strategy.Close()
	s.infoTable.free()
	s.timeMemory.Free(&s.times)
	s.streamMemory.Free(&s.streams)
	if s.pages != nil {
		s.pages.Close()
	}
}

// newSegment creates a segment that is aligned for the pool. It returns nil and no error
// if no block fits into the memory.
func (h *heap) newSegment(memory engine.Segment) (*segment, error) {
	align := h.config.AlignmentBytes
	head := (align - uint64(memory.Addr)%align) % align
	if head >= memory.SizeBytes {
		return nil, nil
	}
	usable := (memory.SizeBytes - head) / align * align
	if usable == 0 {
		return nil, nil
	}
	base := memory.Addr + device.Addr(head)
	strategy, err := rangealloc.New(h.config.Strategy, rangealloc.Config{
		SizeBytes: usable, BaseAddr: uint64(base), GranuleBytes: align,
		BlockBytes: h.fixedBytes(), PageBytes: h.placementPage(),
	})
	if err != nil {
		return nil, err
	}
	s := &segment{memory: memory, base: base, usable: usable, strategy: strategy, full: anyFits}
	s.batcher, _ = strategy.(rangealloc.Batcher)
	s.runBatcher, _ = strategy.(rangealloc.RunBatcher)
	s.slotFreer, _ = strategy.(rangealloc.SlotFreer)
	s.retractor, _ = strategy.(rangealloc.Retractor)
	s.ender, _ = strategy.(rangealloc.Ender)
	s.asker, _ = strategy.(rangealloc.Asker)
	s.holeFinder, _ = strategy.(rangealloc.HoleFinder)
	s.placer, _ = strategy.(rangealloc.PlaceTaker)
	_, s.sizeOrdered = strategy.(rangealloc.SizeOrdered)
	_, exact := strategy.(rangealloc.ExactSizes)
	s.infoTable = newInfoTable(exact)
	s.timed = h.config.Tracking
	return s, nil
}

// end returns the address behind the segment.
func (s *segment) end() device.Addr { return s.memory.Addr + device.Addr(s.memory.SizeBytes) }

// empty reports whether the segment contains no block, live or in flight.
func (s *segment) empty() bool { return s.blocks == 0 }

// placementPage returns the page size for a strategy with blocks of one size, which tries
// to keep such pages empty. It is the physical page, unless the settings name another.
func (h *heap) placementPage() uint64 {
	if h.paged == nil || !h.config.oneSize() || h.config.PageBytes != 0 {
		return h.config.PageBytes
	}
	return max(h.paged.pageBytes, h.config.AlignmentBytes)
}

// heldBytes returns the device memory of the segment itself. Pages are counted
// separately.
func (s *segment) heldBytes() uint64 {
	if s.pages != nil {
		return 0
	}
	return s.memory.SizeBytes
}

func (s *segment) parts() track.Segment {
	if s.pages != nil {
		return track.Segment{VirtualBytes: s.memory.SizeBytes}
	}
	return track.Segment{UsableBytes: s.usable, UnusableBytes: s.memory.SizeBytes - s.usable}
}

// attach adds a segment to the list and to the counters. The caller holds layout and mu
// and has added its size to held.
func (h *heap) attach(s *segment) {
	at, _ := slices.BinarySearchFunc(h.segments, s.memory.Addr, compareSegment)
	h.segments = slices.Insert(h.segments, at, s)
	h.layoutChanges++
	h.counters.AddSegment(s.parts())
}

// detach removes an empty segment from the list and the counters. held still includes it.
func (h *heap) detach(s *segment) {
	at, _ := slices.BinarySearchFunc(h.segments, s.memory.Addr, compareSegment)
	h.segments = slices.Delete(h.segments, at, at+1)
	h.recent = nil
	h.layoutChanges++
	h.counters.RemoveSegment(s.parts())
}

func compareSegment(s *segment, addr device.Addr) int {
	switch {
	case s.memory.Addr < addr:
		return -1
	case s.memory.Addr > addr:
		return 1
	}
	return 0
}

// segmentOf returns the segment that contains an address, or nil.
func (h *heap) segmentOf(addr device.Addr) *segment {
	low, high := 0, len(h.segments)
	for low < high {
		middle := int(uint(low+high) / 2)
		if h.segments[middle].memory.Addr <= addr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 || addr-h.segments[low-1].memory.Addr >= device.Addr(h.segments[low-1].memory.SizeBytes) {
		return nil
	}
	return h.segments[low-1]
}

// anyFits as segment.full means that every size may fit.
const anyFits = ^uint64(0)

// refused records that no block of a size fits at the pool's own alignment. It does
// nothing if the strategy could still place a larger block.
func (s *segment) refused(size uint64) {
	if s.sizeOrdered {
		s.full = size
	}
}

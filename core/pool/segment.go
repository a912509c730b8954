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

// segment is a piece of memory had from the engine with the placement in it.
// The ends that do not fit the pool's alignment are unusable.
type segment struct {
	had engine.Segment
	// base is where the usable part starts.
	base     device.Addr
	usable   uint64
	strategy rangealloc.Strategy
	// The strategy if it can do that, else nil.
	batcher    rangealloc.Batcher
	runBatcher rangealloc.RunBatcher
	slotFreer  rangealloc.SlotFreer
	retractor  rangealloc.Retractor
	ender      rangealloc.Ender
	asker      rangealloc.Asker
	holeFinder rangealloc.HoleFinder
	placer     rangealloc.PlaceTaker
	// sizeOrdered says that the strategy is a rangealloc.SizeOrdered.
	sizeOrdered bool
	// pages is what is mapped of a segment that is addresses only; else nil.
	pages *pages.Table
	// paging is the pool's then.
	paging *paging
	// number counts the pool's segments in the order in which they came.
	number uint64
	// blocks counts what the strategy has out: live, in flight or leased.
	blocks uint64
	// full is a size that does not fit, at the pool's own alignment, nor does any
	// larger one: it was tried, or the runs that came free since are shorter. anyFits
	// when that is not known, and always unless sizeOrdered.
	full uint64
	infoTable
	// times has the times of the allocations, as far as infos goes, if timed.
	timed      bool
	times      []int64
	timeMemory offheap.Table[int64]
	// streams has the numbers of the streams that live blocks are of, as far as there
	// were blocks of others than the default one; see block_stream.go.
	streams      []uint16
	streamMemory offheap.Table[uint16]
}

// close gives the tables of a segment back that is nowhere listed any more.
func (s *segment) close() {
	s.strategy.Close()
	s.infoTable.free()
	s.timeMemory.Free(&s.times)
	s.streamMemory.Free(&s.streams)
	if s.pages != nil {
		s.pages.Close()
	}
}

// newSegment lays a pool's alignment over a segment. It is nil without an error
// when no block fits in.
func (h *heap) newSegment(had engine.Segment) (*segment, error) {
	align := h.config.AlignmentBytes
	head := (align - uint64(had.Addr)%align) % align
	if head >= had.SizeBytes {
		return nil, nil
	}
	usable := (had.SizeBytes - head) / align * align
	if usable == 0 {
		return nil, nil
	}
	base := had.Addr + device.Addr(head)
	strategy, err := rangealloc.New(h.config.Strategy, rangealloc.Config{
		SizeBytes: usable, BaseAddr: uint64(base), GranuleBytes: align,
		BlockBytes: h.fixedBytes(), PageBytes: h.placementPage(),
	})
	if err != nil {
		return nil, err
	}
	s := &segment{had: had, base: base, usable: usable, strategy: strategy, full: anyFits}
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

// end is where the segment ends.
func (s *segment) end() device.Addr { return s.had.Addr + device.Addr(s.had.SizeBytes) }

// empty says whether no block, live or in flight, is in the segment.
func (s *segment) empty() bool { return s.blocks == 0 }

// placementPage is the page that a strategy with blocks of one size tries to leave
// empty: that of the memory, unless the settings name another.
func (h *heap) placementPage() uint64 {
	if h.paged == nil || !h.config.oneSize() || h.config.PageBytes != 0 {
		return h.config.PageBytes
	}
	return max(h.paged.pageBytes, h.config.AlignmentBytes)
}

// heldBytes is what the segment itself has of the device; pages are counted apart.
func (s *segment) heldBytes() uint64 {
	if s.pages != nil {
		return 0
	}
	return s.had.SizeBytes
}

func (s *segment) parts() track.Segment {
	if s.pages != nil {
		return track.Segment{VirtualBytes: s.had.SizeBytes}
	}
	return track.Segment{UsableBytes: s.usable, UnusableBytes: s.had.SizeBytes - s.usable}
}

// attach puts a segment into the list and the books. The caller holds layout
// and mu, and has counted it in held.
func (h *heap) attach(s *segment) {
	at, _ := slices.BinarySearchFunc(h.segments, s.had.Addr, compareSegment)
	h.segments = slices.Insert(h.segments, at, s)
	h.relaid++
	h.books.AddSegment(s.parts())
}

// detach takes an empty segment out again; held still counts it.
func (h *heap) detach(s *segment) {
	at, _ := slices.BinarySearchFunc(h.segments, s.had.Addr, compareSegment)
	h.segments = slices.Delete(h.segments, at, at+1)
	h.recent = nil
	h.relaid++
	h.books.RemoveSegment(s.parts())
}

func compareSegment(s *segment, addr device.Addr) int {
	switch {
	case s.had.Addr < addr:
		return -1
	case s.had.Addr > addr:
		return 1
	}
	return 0
}

// segmentOf finds the segment that an address lies in, or nil.
func (h *heap) segmentOf(addr device.Addr) *segment {
	low, high := 0, len(h.segments)
	for low < high {
		middle := int(uint(low+high) / 2)
		if h.segments[middle].had.Addr <= addr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 || addr-h.segments[low-1].had.Addr >= device.Addr(h.segments[low-1].had.SizeBytes) {
		return nil
	}
	return h.segments[low-1]
}

// anyFits as segment.full says that nothing is known not to fit.
const anyFits = ^uint64(0)

// refused notes that a size, at the pool's own alignment, has no room, if that says
// anything of larger ones.
func (s *segment) refused(size uint64) {
	if s.sizeOrdered {
		s.full = size
	}
}

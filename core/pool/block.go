package pool

import (
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// A pool stores one word for each block, beyond what the strategy stores. The word is in
// a table of the segment at the slot that the strategy gave the block. So it needs no
// second lookup and no pointer, and has four or eight bytes for each block (infoTable).

// BlockState is the state of the memory at an address of a pool.
type BlockState int32

// The states, with the numbers of the C ABI.
const (
	BlockLive BlockState = iota
	// BlockInFlight was freed, and queued work may still use it.
	BlockInFlight
	// BlockCached was freed and is kept by a thread cache.
	BlockCached
	// BlockFree is memory that the pool can allocate.
	BlockFree
	// BlockUnusable is memory that the pool cannot allocate.
	BlockUnusable
)

// BlockInfo describes the memory at an address.
type BlockInfo struct {
	// Addr is the start of the block or the free run, and SizeBytes its length.
	Addr      device.Addr
	SizeBytes uint64
	// RequestedBytes, Tag and AllocatedAt are set for a live block.
	RequestedBytes uint64
	Tag            string
	State          BlockState
	// AllocatedAt is the time of the allocation on the clock of track.Now; 0 without
	// Config.Tracking.
	AllocatedAt time.Duration
}

// located is a block and its segment.
type located struct {
	*segment
	rangealloc.Range
}

func (l located) addr() device.Addr { return l.base + device.Addr(l.Offset) }

func (l located) inFlight() inflight.Block { return inflight.Block{Addr: l.addr(), SizeBytes: l.Size} }

func (l located) info() blockInfo { return l.infoAt(l.Slot) }

func (l located) setInfo(info blockInfo) { l.segment.setInfo(l.Slot, info) }

// sizes returns the sizes of a live block for the counters.
func (l located) sizes() track.Block {
	return track.Block{RequestedBytes: l.Size - l.info().slack(), AllocatedBytes: l.Size}
}

// locate finds the block of the strategy that starts at an address. The caller holds mu.
func (h *heap) locate(addr device.Addr) (located, bool) {
	s, r, ok := h.find(addr)
	return located{s, r}, ok
}

func (h *heap) find(addr device.Addr) (s *segment, r rangealloc.Range, ok bool) {
	s = h.recent
	if s == nil || addr-s.base >= device.Addr(s.usable) {
		if s = h.recall(addr); s == nil {
			return nil, r, false
		}
	}
	r, ok = s.strategy.Lookup(uint64(addr - s.base))
	return s, r, ok
}

// recall returns the segment whose usable part contains an address, or nil. The next find
// tries this segment first.
func (h *heap) recall(addr device.Addr) *segment {
	s := h.segmentOf(addr)
	if s == nil || addr < s.base {
		return nil
	}
	h.recent = s
	return s
}

// locateLive is locate for live blocks only.
func (h *heap) locateLive(addr device.Addr) (s *segment, r rangealloc.Range, ok bool) {
	s, r, ok = h.find(addr)
	return s, r, ok && s.infoAt(r.Slot).state() == blockLive
}

// describe returns a live block as reports show it.
func (h *heap) describe(l located) Block {
	info := l.info()
	b := Block{
		Addr: l.addr(), SizeBytes: l.Size, RequestedBytes: l.Size - info.slack(),
		Tag: h.tags.Name(info.tag()),
	}
	if l.timed {
		b.AllocatedAt = time.Duration(l.times[l.Slot])
	}
	if h.debug != nil {
		h.show(&b.Addr, &b.SizeBytes)
	}
	return b
}

// alloc allocates a block from the strategy and makes room for it in the tables.
func (s *segment) alloc(r *rangealloc.Request) (rangealloc.Range, error) {
	got, err := s.strategy.Alloc(*r)
	if err == nil && got.Slot >= s.slots {
		got, err = s.allocExtended(got)
	}
	if err == nil && s.pages != nil && !s.pages.Touch(got.Offset, got.Size) {
		return s.allocUnmapped(r, got)
	}
	return got, err
}

// allocExtended is the part of alloc for a block with a slot beyond the tables. If there
// is no memory for the tables, it returns the block to the strategy.
func (s *segment) allocExtended(got rangealloc.Range) (rangealloc.Range, error) {
	err := s.extend(got.Slot)
	if err != nil {
		s.undo([]rangealloc.Range{got})
		return rangealloc.Range{}, err
	}
	return got, nil
}

// allocBatch is alloc for many blocks, for a strategy that implements Batcher.
func (s *segment) allocBatch(r *rangealloc.Request, to []rangealloc.Range) error {
	if err := s.batcher.AllocBatch(*r, to); err != nil {
		return err
	}
	highest := uint32(0)
	for i := range to {
		highest = max(highest, to[i].Slot)
	}
	if highest >= s.slots {
		if err := s.extend(highest); err != nil {
			s.undo(to)
			return err
		}
	}
	if s.pages != nil && !s.touchRanges(to) {
		s.undo(to)
		return errUnmapped
	}
	return nil
}

// allocRuns is alloc for many blocks, for a strategy that returns them as runs.
func (s *segment) allocRuns(r *rangealloc.Request, count int, runs []rangealloc.Run) ([]rangealloc.Run, uint64, error) {
	runs, size, err := s.runBatcher.AllocRuns(*r, count, runs)
	if err != nil {
		return runs, 0, err
	}
	highest := uint32(0)
	for _, run := range runs {
		highest = max(highest, run.Slot+run.Count-1)
	}
	if highest >= s.slots {
		if err := s.extend(highest); err != nil {
			s.undoRuns(runs, size)
			return runs, 0, err
		}
	}
	if s.pages != nil && !s.touchRuns(runs, size) {
		s.undoRuns(runs, size)
		return runs, 0, errUnmapped
	}
	return runs, size, nil
}

// undoRuns is undo for runs of blocks of one size.
func (s *segment) undoRuns(runs []rangealloc.Run, size uint64) {
	for _, run := range slices.Backward(runs) {
		for i := uint64(run.Count); i > 0; i-- {
			s.retract(run.Offset + (i-1)*size)
		}
	}
}

// now returns the time to store for a new block; 0 if times are not recorded.
func (s *segment) now() int64 {
	if s.timed {
		return int64(track.Now())
	}
	return 0
}

// undo returns blocks to the strategy that no caller has seen and that are not counted in
// their pages.
func (s *segment) undo(blocks []rangealloc.Range) {
	for _, block := range slices.Backward(blocks) {
		s.retract(block.Offset)
	}
}

func (s *segment) retract(offset uint64) {
	var err error
	if s.retractor != nil {
		err = s.retractor.Retract(offset)
	} else {
		_, err = s.strategy.Free(offset)
	}
	if err != nil {
		panic(err) // the strategy allocated it a moment ago
	}
}

// extend makes room in the tables for a slot. On error the tables are unchanged.
func (s *segment) extend(slot uint32) error {
	room := max(int(slot)+1, firstInfos)
	if s.timed {
		if err := s.timeMemory.Grow(&s.times, room); err != nil {
			return err
		}
	}
	if err := s.infoTable.extend(room); err != nil {
		return err
	}
	if s.timed {
		s.slots = min(s.slots, uint32(cap(s.times)))
		s.times = s.times[:s.slots]
	}
	return nil
}

const firstInfos = 64

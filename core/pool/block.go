package pool

import (
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// What a pool knows of a block, beyond what the strategy knows, is one word in a
// table of its segment, by the slot that the strategy gave the block: no second
// look-up, no pointer, four or eight bytes a block (infoTable).

// BlockState is what is at an address of a pool.
type BlockState int32

// The states, with the numbers of the C ABI.
const (
	BlockLive BlockState = iota
	// BlockInFlight was freed, and queued work may still use it.
	BlockInFlight
	// BlockCached was freed and waits in a thread cache.
	BlockCached
	// BlockFree is memory that the pool can hand out.
	BlockFree
	// BlockUnusable is memory that it cannot.
	BlockUnusable
)

// BlockInfo says what is at an address.
type BlockInfo struct {
	// Addr is where the block or the free run starts, and SizeBytes its length.
	Addr      device.Addr
	SizeBytes uint64
	// RequestedBytes, Tag and AllocatedAt are those of a live block.
	RequestedBytes uint64
	Tag            string
	State          BlockState
	// AllocatedAt is on the clock of track.Now; 0 without Config.Tracking.
	AllocatedAt time.Duration
}

// located is a block of a segment.
type located struct {
	*segment
	rangealloc.Range
}

func (l located) addr() device.Addr { return l.base + device.Addr(l.Offset) }

func (l located) inFlight() inflight.Block { return inflight.Block{Addr: l.addr(), SizeBytes: l.Size} }

func (l located) info() blockInfo { return l.infoAt(l.Slot) }

func (l located) setInfo(info blockInfo) { l.segment.setInfo(l.Slot, info) }

// sizes is a live block's for the books.
func (l located) sizes() track.Block {
	return track.Block{RequestedBytes: l.Size - l.info().slack(), AllocatedBytes: l.Size}
}

// locate finds the block of the strategy that starts at an address. The caller
// holds mu.
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

// recall is the segment in whose usable part an address lies, or nil, and the
// one to look at first the next time.
func (h *heap) recall(addr device.Addr) *segment {
	s := h.segmentOf(addr)
	if s == nil || addr < s.base {
		return nil
	}
	h.recent = s
	return s
}

// locateLive is locate for a live block.
func (h *heap) locateLive(addr device.Addr) (s *segment, r rangealloc.Range, ok bool) {
	s, r, ok = h.find(addr)
	return s, r, ok && s.infoAt(r.Slot).state() == blockLive
}

// describe is a live block for reports.
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

// alloc takes a block from the strategy, and has room for it in the tables.
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

// allocExtended is alloc for the block with the highest slot so far, which the
// strategy has again when there is no memory for the tables.
func (s *segment) allocExtended(got rangealloc.Range) (rangealloc.Range, error) {
	err := s.extend(got.Slot)
	if err != nil {
		s.undo([]rangealloc.Range{got})
		return rangealloc.Range{}, err
	}
	return got, nil
}

// allocBatch is alloc for many blocks, of a strategy that serves batches.
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

// allocRuns is alloc for many blocks, of a strategy that tells them in runs.
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

// undoRuns is undo for runs of blocks of a size.
func (s *segment) undoRuns(runs []rangealloc.Run, size uint64) {
	for _, run := range slices.Backward(runs) {
		for i := uint64(run.Count); i > 0; i-- {
			s.retract(run.Offset + (i-1)*size)
		}
	}
}

// now is the time to keep of blocks, 0 where none is kept.
func (s *segment) now() int64 {
	if s.timed {
		return int64(track.Now())
	}
	return 0
}

// undo gives blocks back to the strategy that nobody has seen and whose pages were
// not touched.
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
		panic(err) // it was handed out a moment ago
	}
}

// extend gives the tables room for a slot, or changes nothing.
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

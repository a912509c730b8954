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

// blockInfo is that word, with what most blocks need in its low half: state in
// the low 3 bits, then one bit for a block that further streams use, 12 for the
// number of the tag and 16 for the slack; in the high half 8 more for the tag and
// 24 for the slack.
type blockInfo uint64

// blockState says whose a block of the strategy is.
type blockState uint64

const (
	// blockNone is no block.
	blockNone blockState = iota
	blockLive
	// blockInFlight is freed, and queued work may still use it.
	blockInFlight
	// blockLeased is with the caches in front of the pool.
	blockLeased
	// blockLeaving is live or leased and named by a free under way.
	blockLeaving
	// blockBare is to become one when its pages are mapped.
	blockBare
	// blockClaimed is a place that a block is to be moved to.
	blockClaimed
)

const (
	stateMask      = 7
	recordedBit    = 1 << 3
	tagShift       = 4
	tagLowBits     = 12
	slackShift     = 16
	slackLowBits   = 16
	tagHighShift   = 32
	tagHighMask    = track.MaxTags>>tagLowBits - 1
	slackHighShift = 40
	maxSlackBytes  = 1<<40 - 1
)

func makeInfo(state blockState, tag uint32, slack uint64) blockInfo {
	low := uint64(state) | uint64(tag)%(1<<tagLowBits)<<tagShift | slack%(1<<slackLowBits)<<slackShift
	return blockInfo(low | uint64(tag)>>tagLowBits<<tagHighShift | slack>>slackLowBits<<slackHighShift)
}

func (i blockInfo) state() blockState { return blockState(i & stateMask) }

// recorded says that RecordStream named streams for the block.
func (i blockInfo) recorded() bool { return i&recordedBit != 0 }

func (i blockInfo) tag() uint32 {
	return uint32(i>>tagShift)%(1<<tagLowBits) | uint32(i>>tagHighShift&tagHighMask)<<tagLowBits
}

// plainLive is live, and used by no stream but its own.
func (i blockInfo) plainLive() bool { return i&(stateMask|recordedBit) == blockInfo(blockLive) }

// slack is the size of the block less what was asked for.
func (i blockInfo) slack() uint64 {
	return uint64(i>>slackShift)%(1<<slackLowBits) | uint64(i>>slackHighShift)<<slackLowBits
}

func (i blockInfo) with(state blockState) blockInfo { return i&^stateMask | blockInfo(state) }

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
func (p *Pool) locate(addr device.Addr) (located, bool) {
	s, r, ok := p.find(addr)
	return located{s, r}, ok
}

func (p *Pool) find(addr device.Addr) (s *segment, r rangealloc.Range, ok bool) {
	s = p.recent
	if s == nil || addr-s.base >= device.Addr(s.usable) {
		if s = p.recall(addr); s == nil {
			return nil, r, false
		}
	}
	r, ok = s.strategy.Lookup(uint64(addr - s.base))
	return s, r, ok
}

// recall is the segment in whose usable part an address lies, or nil, and the
// one to look at first the next time.
func (p *Pool) recall(addr device.Addr) *segment {
	s := p.segmentOf(addr)
	if s == nil || addr < s.base {
		return nil
	}
	p.recent = s
	return s
}

// locateLive is locate for a live block.
func (p *Pool) locateLive(addr device.Addr) (s *segment, r rangealloc.Range, ok bool) {
	s, r, ok = p.find(addr)
	return s, r, ok && s.infoAt(r.Slot).state() == blockLive
}

// describe is a live block for reports.
func (p *Pool) describe(l located) Block {
	info := l.info()
	b := Block{
		Addr: l.addr(), SizeBytes: l.Size, RequestedBytes: l.Size - info.slack(),
		Tag: p.tags.Name(info.tag()),
	}
	if l.timed {
		b.AllocatedAt = time.Duration(l.times[l.Slot])
	}
	if p.debug != nil {
		p.show(&b.Addr, &b.SizeBytes)
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

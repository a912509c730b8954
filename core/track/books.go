package track

import "ferrum_mem/core/device"

// Books are the numbers of one pool. Its methods are called under the pool's
// lock. Each also changes the totals that the pool is part of.
type Books struct {
	keepHistory bool
	stats       Statistics
	totals      []*Totals
}

// NewBooks makes empty books. Without keepHistory peaks and counts stay 0.
func NewBooks(keepHistory bool, totals ...*Totals) *Books {
	return &Books{keepHistory: keepHistory, totals: totals}
}

// Statistics is the present record; LargestFreeBytes is for the pool to fill.
func (b *Books) Statistics() Statistics { return b.stats }

// Block is the sizes of a block: as asked for, and as handed out.
type Block struct {
	RequestedBytes uint64
	AllocatedBytes uint64
}

// Allocate enters a new live block, taken from what was cached.
func (b *Books) Allocate(block Block) {
	s := &b.stats
	b.fall(&s.Cached, cached, block.AllocatedBytes)
	b.rise(&s.Requested, requested, block.RequestedBytes)
	b.rise(&s.Allocated, allocated, block.AllocatedBytes)
	b.rise(&s.Active, active, block.AllocatedBytes)
	b.rise(&s.LiveBlocks, liveBlocks, 1)
	if b.keepHistory {
		s.Allocations++
	}
}

// Retire enters the free of a live block that queued work may still use: it is
// no longer live, but active until Land.
func (b *Books) Retire(block Block) {
	s := &b.stats
	b.fall(&s.Requested, requested, block.RequestedBytes)
	b.fall(&s.Allocated, allocated, block.AllocatedBytes)
	b.fall(&s.LiveBlocks, liveBlocks, 1)
	if b.keepHistory {
		s.Frees++
	}
}

// Land makes retired bytes ready to be handed out again.
func (b *Books) Land(allocatedBytes uint64) {
	b.fall(&b.stats.Active, active, allocatedBytes)
	b.rise(&b.stats.Cached, cached, allocatedBytes)
}

// Segment is the two parts of a segment had from the driver.
type Segment struct {
	UsableBytes   uint64
	UnusableBytes uint64
}

// AddSegment enters a segment without blocks.
func (b *Books) AddSegment(segment Segment) {
	s := &b.stats
	b.rise(&s.Reserved, reserved, segment.UsableBytes+segment.UnusableBytes)
	b.rise(&s.Cached, cached, segment.UsableBytes)
	b.rise(&s.Unusable, unusable, segment.UnusableBytes)
	b.rise(&s.Segments, segments, 1)
}

// RemoveSegment takes out a segment that holds no block.
func (b *Books) RemoveSegment(segment Segment) {
	s := &b.stats
	b.fall(&s.Cached, cached, segment.UsableBytes)
	b.fall(&s.Unusable, unusable, segment.UnusableBytes)
	b.fall(&s.Reserved, reserved, segment.UsableBytes+segment.UnusableBytes)
	b.fall(&s.Segments, segments, 1)
}

// Fail counts an allocation that ran out of memory.
func (b *Books) Fail() {
	if b.keepHistory {
		b.stats.Failures++
	}
}

// Check compares the numbers with each other, for tests.
func (b *Books) Check() error {
	return b.stats.Check()
}

// Check compares the numbers of a record with each other, for tests.
func (s Statistics) Check() error {
	parts := s.Active.Current + s.Cached.Current + s.Unusable.Current
	if parts != s.Reserved.Current {
		return device.Errorf(device.CodeInternal, "track.check",
			"reserved %d is not active %d + cached %d + unusable %d", s.Reserved.Current,
			s.Active.Current, s.Cached.Current, s.Unusable.Current)
	}
	if s.Allocated.Current > s.Active.Current || s.Requested.Current > s.Allocated.Current {
		return device.Errorf(device.CodeInternal, "track.check",
			"requested %d, allocated %d and active %d are out of order", s.Requested.Current,
			s.Allocated.Current, s.Active.Current)
	}
	if s.LargestFreeBytes > s.Cached.Current {
		return device.Errorf(device.CodeInternal, "track.check",
			"largest free run %d is above cached %d", s.LargestFreeBytes, s.Cached.Current)
	}
	return nil
}

func (b *Books) rise(gauge *Gauge, number int, n uint64) {
	gauge.Current += n
	if b.keepHistory && gauge.Current > gauge.Peak {
		gauge.Peak = gauge.Current
	}
	for _, totals := range b.totals {
		totals.counters[number].add(n)
	}
}

func (b *Books) fall(gauge *Gauge, number int, n uint64) {
	gauge.Current -= n
	for _, totals := range b.totals {
		totals.counters[number].sub(n)
	}
}

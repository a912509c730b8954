package track

import (
	"math"

	"ferrum_mem/core/device"
)

// Counters has the counters of one pool. Its methods are called with the pool's lock held,
// so the fields are plain. The pool adds its counters to totals. publish updates these
// totals: when they are read, and when the pool's active bytes are far from the bytes that
// the totals include.
type Counters struct {
	keepHistory bool
	now         [gaugeCount]uint64
	// high is the highest value since the last publish; peak is the highest before that.
	high, peak [gaugeCount]uint64
	// shown has the values that the totals include.
	shown     [gaugeCount]uint64
	shownUsed uint64
	// outside is the part of now that is in the thread caches.
	outside Outside
	// While low <= active < above, the totals are accurate enough.
	low, above uint64
	// lent has the numbers of places when the counters were lent. Meanwhile, counters
	// follow from their changes.
	lent struct{ freeUnits, liveBlocks uint64 }

	allocations, frees, failures uint64

	// device is the first of totals; only is set if it is the only one.
	device *Totals
	only   bool
	totals []*Totals
}

// driftBytes is the largest error of the peak of the active bytes of several pools, for
// each pool beyond the first. A pool may differ by windowBytes from the value that the
// totals include. With n pools, the n-1 pools that do not update the totals differ by one
// window each, and the pool that does may have had its highest value up to two windows
// above its present value. That is n+1 windows, which is at most (n-1) * driftBytes for
// two or more pools.
const (
	driftBytes  = 64 << 20
	windowBytes = driftBytes / 3
)

// Outside has the bytes and blocks that the thread caches of a pool hold, and their
// numbers of uses.
type Outside struct {
	RequestedBytes uint64
	LiveBytes      uint64
	LiveBlocks     uint64
	// IdleBytes is the size of the idle blocks in the caches. CachedBytes also includes
	// bytes that are on their way between the caches and the pool.
	IdleBytes   uint64
	CachedBytes uint64
	Allocations uint64
	Frees       uint64
}

// NewCounters creates counters that are all 0. Without keepHistory, peaks and operation
// counts stay 0. The first of the totals is the device's.
func NewCounters(keepHistory bool, totals ...*Totals) *Counters {
	if len(totals) == 0 {
		totals = []*Totals{{}}
	}
	for _, t := range totals {
		t.interest.Add(1)
	}
	b := &Counters{keepHistory: keepHistory, device: totals[0], only: len(totals) == 1, totals: totals}
	b.center()
	return b
}

// Close removes the counters from the totals. All of them are 0 by then.
func (b *Counters) Close() {
	b.publish()
	for _, t := range b.totals {
		t.interest.Add(^uint64(0))
	}
}

// Block has the sizes of a block: requested, and after rounding.
type Block struct {
	RequestedBytes uint64
	AllocatedBytes uint64
}

// Alloc counts a new live block, allocated from cached bytes.
func (b *Counters) Alloc(block Block) { b.AllocMany(block, 1) }

// AllocMany counts count live blocks with the sum of their sizes.
func (b *Counters) AllocMany(sum Block, count uint64) {
	b.now[cached] -= sum.AllocatedBytes
	b.rise(requested, sum.RequestedBytes)
	b.rise(allocated, sum.AllocatedBytes)
	b.rise(active, sum.AllocatedBytes)
	b.rise(liveBlocks, count)
	b.allocations += count
	b.settle()
}

// Free counts the free of a live block that no queued work uses: DeferFree and Deactivate.
func (b *Counters) Free(block Block) { b.FreeMany(block, 1) }

// FreeMany is Free for count blocks with the sum of their sizes.
func (b *Counters) FreeMany(sum Block, count uint64) {
	b.now[requested] -= sum.RequestedBytes
	b.now[allocated] -= sum.AllocatedBytes
	b.now[active] -= sum.AllocatedBytes
	b.now[liveBlocks] -= count
	b.rise(cached, sum.AllocatedBytes)
	b.frees += count
	b.settle()
}

// DeferFree counts the free of a live block that queued work may still use. The block is no
// longer live, but its bytes are active until Deactivate.
func (b *Counters) DeferFree(block Block) { b.DeferFreeMany(block, 1) }

// DeferFreeMany is DeferFree for count blocks with the sum of their sizes.
func (b *Counters) DeferFreeMany(sum Block, count uint64) {
	b.now[requested] -= sum.RequestedBytes
	b.now[allocated] -= sum.AllocatedBytes
	b.now[liveBlocks] -= count
	b.frees += count
}

// Deactivate makes active bytes cached that no live block has.
func (b *Counters) Deactivate(allocatedBytes uint64) {
	b.now[active] -= allocatedBytes
	b.rise(cached, allocatedBytes)
	b.settle()
}

// Activate makes cached bytes active without a live block.
func (b *Counters) Activate(allocatedBytes uint64) {
	b.now[cached] -= allocatedBytes
	b.rise(active, allocatedBytes)
	b.settle()
}

// Reuse makes bytes of a deferred free the memory of a new live block.
func (b *Counters) Reuse(block Block) {
	b.rise(requested, block.RequestedBytes)
	b.rise(allocated, block.AllocatedBytes)
	b.rise(liveBlocks, 1)
	b.allocations++
}

// Lease moves cached bytes to the thread caches. They count as cached until SetOutside.
func (b *Counters) Lease(bytes uint64) { b.outside.CachedBytes += bytes }

// Return takes idle bytes back from the caches. They count as cached.
func (b *Counters) Return(bytes uint64) {
	o := &b.outside
	if bytes > o.CachedBytes {
		// The last known counts of the caches are from a time when the bytes were live.
		freed := bytes - o.CachedBytes
		o.CachedBytes += freed
		o.LiveBytes -= freed
		b.bend()
		b.now[allocated] -= freed
		b.now[active] -= freed
		b.rise(cached, freed)
		b.settle()
	}
	o.CachedBytes -= bytes
	o.IdleBytes = min(o.IdleBytes, o.CachedBytes)
}

// SetOutside replaces the known counts of the caches.
func (b *Counters) SetOutside(o Outside) {
	was := &b.outside
	b.move(cached, o.CachedBytes-was.CachedBytes)
	b.move(requested, o.RequestedBytes-was.RequestedBytes)
	b.move(allocated, o.LiveBytes-was.LiveBytes)
	b.move(active, o.LiveBytes-was.LiveBytes)
	b.move(liveBlocks, o.LiveBlocks-was.LiveBlocks)
	*was = o
	b.settle()
}

// Adopt makes a live block of the caches a block of the pool. The caches counted it with
// leasedBytes. The other bytes of the block are counted as active already. The known
// counts of the caches may be from a time when the block was idle or other blocks were
// live: bytes that are not in their live bytes are in their cached bytes.
func (b *Counters) Adopt(block Block, leasedBytes uint64) {
	o := &b.outside
	live := min(o.LiveBytes, leasedBytes)
	idle := leasedBytes - live
	o.LiveBytes -= live
	o.CachedBytes -= idle
	o.IdleBytes = min(o.IdleBytes, o.CachedBytes)
	b.now[cached] -= idle
	b.rise(active, idle)
	b.rise(allocated, idle+block.AllocatedBytes-leasedBytes)
	asked := min(o.RequestedBytes, block.RequestedBytes)
	o.RequestedBytes -= asked
	b.rise(requested, block.RequestedBytes-asked)
	blocks := min(o.LiveBlocks, 1)
	o.LiveBlocks -= blocks
	b.rise(liveBlocks, 1-blocks)
	b.bend()
	b.settle()
}

// bend makes old counts of the caches consistent again.
func (b *Counters) bend() {
	o := &b.outside
	left := min(o.RequestedBytes, o.LiveBytes)
	b.now[requested] -= o.RequestedBytes - left
	o.RequestedBytes = left
	if o.LiveBytes == 0 {
		b.now[liveBlocks] -= o.LiveBlocks
		o.LiveBlocks = 0
	}
}

// Fail counts an allocation that ran out of memory.
func (b *Counters) Fail() { b.failures++ }

// Statistics returns the present values. The pool has to fill in LargestFreeBytes. It
// updates the totals.
func (b *Counters) Statistics() Statistics {
	b.publish()
	var s Statistics
	for i, gauge := range s.gauges() {
		gauge.Current = b.now[i]
		if b.keepHistory {
			gauge.Peak = max(b.peak[i], b.now[i])
		}
	}
	if b.keepHistory {
		s.Allocations = b.allocations + b.outside.Allocations
		s.Frees = b.frees + b.outside.Frees
		s.Failures = b.failures
	}
	s.ThreadCachedBytes = b.outside.IdleBytes
	return s
}

// Brief returns the present values. The pool has to fill in LargestFreeBytes. Unlike
// Statistics, it does not update the totals.
func (b *Counters) Brief() Brief {
	return Brief{
		ActiveBytes: b.now[active], UnusableBytes: b.now[unusable],
		CachedBytes: b.now[cached], LiveBlocks: b.now[liveBlocks],
	}
}

// Own is Brief without the known part of the thread caches. A gauge may be negative,
// which is a very large number here, while the known part includes bytes that the caches
// have returned.
func (b *Counters) Own() Brief {
	own := b.Brief()
	own.ActiveBytes -= b.outside.LiveBytes
	own.CachedBytes -= b.outside.CachedBytes
	own.LiveBlocks -= b.outside.LiveBlocks
	return own
}

// With returns the record for the case that the caches hold o instead of was. s is an
// earlier result of Statistics; the peaks are its peaks.
func (s Statistics) With(was, o Outside, keepHistory bool) Statistics {
	s.Cached.Current += o.CachedBytes - was.CachedBytes
	s.Requested.Current += o.RequestedBytes - was.RequestedBytes
	s.Allocated.Current += o.LiveBytes - was.LiveBytes
	s.Active.Current += o.LiveBytes - was.LiveBytes
	s.LiveBlocks.Current += o.LiveBlocks - was.LiveBlocks
	s.ThreadCachedBytes = o.IdleBytes
	s.LargestFreeBytes = min(s.LargestFreeBytes, s.Cached.Current)
	if keepHistory {
		s.Allocations += o.Allocations - was.Allocations
		s.Frees += o.Frees - was.Frees
		for _, gauge := range s.gauges() {
			gauge.Peak = max(gauge.Peak, gauge.Current)
		}
	}
	return s
}

// Outside returns the known counts of the caches.
func (b *Counters) Outside() Outside { return b.outside }

// Check compares the counters with each other, for tests.
func (b *Counters) Check() error { return b.Statistics().Check() }

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
	if s.LargestFreeBytes > s.Cached.Current || s.ThreadCachedBytes > s.Cached.Current {
		return device.Errorf(device.CodeInternal, "track.check",
			"largest free run %d or thread caches %d are above cached %d", s.LargestFreeBytes,
			s.ThreadCachedBytes, s.Cached.Current)
	}
	return nil
}

func (b *Counters) rise(gauge int, n uint64) {
	value := b.now[gauge] + n
	b.now[gauge] = value
	if value > b.high[gauge] {
		b.high[gauge] = value
	}
}

// move changes a gauge by a difference that may be negative.
func (b *Counters) move(gauge int, difference uint64) {
	b.rise(gauge, difference)
}

// settle keeps the totals accurate enough, and exact while they are watched.
func (b *Counters) settle() {
	if b.only && b.device.interest.Load() <= 1 {
		return // no other counters and no watcher
	}
	b.settleSlow()
}

func (b *Counters) settleSlow() {
	value := b.now[active]
	if (value < b.low || value >= b.above) && b.shared() {
		b.publish()
	} else if b.device.Watched() {
		b.publishUsed()
	}
}

// shared reports whether other counters add to the same totals.
func (b *Counters) shared() bool {
	for _, t := range b.totals {
		if t.shared() {
			return true
		}
	}
	return false
}

func (b *Counters) center() {
	value := b.now[active]
	b.low, b.above = value-min(value, windowBytes), value+min(math.MaxUint64-value, windowBytes)
}

func (b *Counters) publishUsed() {
	used := b.now[active] + b.now[unusable]
	if used != b.shownUsed {
		for _, t := range b.totals {
			t.used.Add(used - b.shownUsed)
		}
		b.shownUsed = used
	}
}

// publish updates the totals.
func (b *Counters) publish() {
	b.publishUsed()
	for _, t := range b.totals {
		t.update(b)
	}
	for i, value := range b.high {
		b.peak[i] = max(b.peak[i], value)
	}
	b.shown, b.high = b.now, b.now
	b.center()
}

// update adds the changes of a pool since its last publish. The sum had its highest value
// when the pool had, unless other pools changed meanwhile.
func (t *Totals) update(b *Counters) {
	t.mu.Lock()
	for i := range t.current {
		others := t.current[i] - b.shown[i]
		t.current[i] = others + b.now[i]
		if highest := others + b.high[i]; highest > t.peak[i] {
			t.peak[i] = highest
		}
	}
	t.mu.Unlock()
}

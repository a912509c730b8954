package track

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/lending"
)

// Books are the numbers of one pool. Its methods are called under the pool's
// lock. They are plain fields: the totals that the pool is part of are brought
// up to date by publish, at a reading and when the pool has moved far from what
// the totals know of it.
type Books struct {
	keepHistory bool
	now         [gaugeCount]uint64
	// high is the highest value since the last publish, peak the one before.
	high, peak [gaugeCount]uint64
	// shown is what the totals know.
	shown     [gaugeCount]uint64
	shownUsed uint64
	// outside is the part of now that is in the caches in front of the pool.
	outside Outside
	// While low <= active < above the totals are near enough.
	low, above uint64

	allocations, frees, failures uint64

	// device is the first of totals, and only says that there is no other.
	device *Totals
	only   bool
	totals []*Totals
}

// driftBytes bounds what the peak of the active bytes of several pools is off by
// for each pool beyond the first. A pool may move away by windowBytes from what
// the totals know. Of n pools, the n-1 that do not bring the totals up to date
// are off by a window each, and the one that does had its highest value up to
// two windows above its present one: (n+1) windows in all, which is no more than
// (n-1) * driftBytes from two pools on.
const (
	driftBytes  = 64 << 20
	windowBytes = driftBytes / 3
)

// Outside is what the caches in front of a pool hold and have done.
type Outside struct {
	RequestedBytes uint64
	LiveBytes      uint64
	LiveBlocks     uint64
	// IdleBytes waits in the caches; CachedBytes is that and what is on its way
	// between them and the pool.
	IdleBytes   uint64
	CachedBytes uint64
	Allocations uint64
	Frees       uint64
}

// NewBooks makes empty books. Without keepHistory peaks and counts stay 0. The
// first of the totals is the device's.
func NewBooks(keepHistory bool, totals ...*Totals) *Books {
	if len(totals) == 0 {
		totals = []*Totals{{}}
	}
	for _, t := range totals {
		t.interest.Add(1)
	}
	b := &Books{keepHistory: keepHistory, device: totals[0], only: len(totals) == 1, totals: totals}
	b.center()
	return b
}

// Close takes the books out of the totals; what they hold is 0 by then.
func (b *Books) Close() {
	b.publish()
	for _, t := range b.totals {
		t.interest.Add(^uint64(0))
	}
}

// Block is the sizes of a block: as asked for, and as handed out.
type Block struct {
	RequestedBytes uint64
	AllocatedBytes uint64
}

// Alloc enters a new live block, taken from what was cached.
func (b *Books) Alloc(block Block) { b.AllocMany(block, 1) }

// AllocMany enters count live blocks with these sizes in all.
func (b *Books) AllocMany(sum Block, count uint64) {
	b.now[cached] -= sum.AllocatedBytes
	b.rise(requested, sum.RequestedBytes)
	b.rise(allocated, sum.AllocatedBytes)
	b.rise(active, sum.AllocatedBytes)
	b.rise(liveBlocks, count)
	b.allocations += count
	b.settle()
}

// Free enters the free of a live block that no queued work uses: Retire and Land
// in one.
func (b *Books) Free(block Block) { b.FreeMany(block, 1) }

// FreeMany is Free for count blocks with these sizes in all.
func (b *Books) FreeMany(sum Block, count uint64) {
	b.now[requested] -= sum.RequestedBytes
	b.now[allocated] -= sum.AllocatedBytes
	b.now[active] -= sum.AllocatedBytes
	b.now[liveBlocks] -= count
	b.rise(cached, sum.AllocatedBytes)
	b.frees += count
	b.settle()
}

// Retire enters the free of a live block that queued work may still use: it is
// no longer live, but active until Land.
func (b *Books) Retire(block Block) { b.RetireMany(block, 1) }

// RetireMany is Retire for count blocks with these sizes in all.
func (b *Books) RetireMany(sum Block, count uint64) {
	b.now[requested] -= sum.RequestedBytes
	b.now[allocated] -= sum.AllocatedBytes
	b.now[liveBlocks] -= count
	b.frees += count
}

// Land makes retired bytes ready to be handed out again.
func (b *Books) Land(allocatedBytes uint64) {
	b.now[active] -= allocatedBytes
	b.rise(cached, allocatedBytes)
	b.settle()
}

// Board makes cached bytes active again without a live block.
func (b *Books) Board(allocatedBytes uint64) {
	b.now[cached] -= allocatedBytes
	b.rise(active, allocatedBytes)
	b.settle()
}

// Revive makes retired bytes the memory of a new live block.
func (b *Books) Revive(block Block) {
	b.rise(requested, block.RequestedBytes)
	b.rise(allocated, block.AllocatedBytes)
	b.rise(liveBlocks, 1)
	b.allocations++
}

// Lease sends cached bytes out to the caches, where they stay cached until
// SetOutside says otherwise.
func (b *Books) Lease(bytes uint64) { b.outside.CachedBytes += bytes }

// Return takes bytes back from the caches, which had them idle: they are cached.
func (b *Books) Return(bytes uint64) {
	o := &b.outside
	if bytes > o.CachedBytes {
		// What is known of the caches is of a time when the bytes were live.
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
}

// SetOutside replaces what is known of the caches.
func (b *Books) SetOutside(o Outside) {
	was := &b.outside
	b.move(cached, o.CachedBytes-was.CachedBytes)
	b.move(requested, o.RequestedBytes-was.RequestedBytes)
	b.move(allocated, o.LiveBytes-was.LiveBytes)
	b.move(active, o.LiveBytes-was.LiveBytes)
	b.move(liveBlocks, o.LiveBlocks-was.LiveBlocks)
	*was = o
	b.settle()
}

// Adopt makes a block that was live with the caches, where it had leasedBytes,
// one of the pool's own. What the block is longer than that is active already.
// What is known of the caches may be of a time when the block was idle or other
// blocks were live: what they are not known to have live, they have cached.
func (b *Books) Adopt(block Block, leasedBytes uint64) {
	o := &b.outside
	live := min(o.LiveBytes, leasedBytes)
	idle := leasedBytes - live
	o.LiveBytes -= live
	o.CachedBytes -= idle
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

// bend makes what is left of an old record of the caches agree with itself.
func (b *Books) bend() {
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
func (b *Books) Fail() { b.failures++ }

// Statistics is the present record; LargestFreeBytes is for the pool to fill.
// The totals know it from then on.
func (b *Books) Statistics() Statistics {
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

// Brief is the present values without LargestFreeBytes, which is for the pool to
// fill. Unlike Statistics it does not bring the totals up to date.
func (b *Books) Brief() Brief {
	return Brief{
		ActiveBytes: b.now[active], UnusableBytes: b.now[unusable],
		CachedBytes: b.now[cached], LiveBlocks: b.now[liveBlocks],
	}
}

// Own is Brief without what the caches in front of the pool hold, as far as that is
// known. A gauge may be below 0, which is a very large number here, while more is known
// of the caches than the pool has had back from them.
func (b *Books) Own() Brief {
	own := b.Brief()
	own.ActiveBytes -= b.outside.LiveBytes
	own.CachedBytes -= b.outside.CachedBytes
	own.LiveBlocks -= b.outside.LiveBlocks
	return own
}

// With is the record that the books would give if the caches held o. The peaks
// are those of s, which the books gave before.
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

// Outside is what is known of the caches.
func (b *Books) Outside() Outside { return b.outside }

// Check compares the numbers with each other, for tests.
func (b *Books) Check() error { return b.Statistics().Check() }

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

// lent are the gauges of lending.Books, in that order.
var lent = [...]int{requested, allocated, active, cached, liveBlocks}

// Lend says what a placement changes of the books, for code outside of Go that keeps them
// until Absorb; false: somebody watches every change.
func (b *Books) Lend(to *lending.Books) bool {
	if b.device.Watched() {
		return false
	}
	to.RequestedBytes, to.AllocatedBytes, to.ActiveBytes = b.now[requested], b.now[allocated], b.now[active]
	to.CachedBytes, to.LiveBlocks = b.now[cached], b.now[liveBlocks]
	for i, gauge := range lent {
		to.High[i] = b.high[gauge]
	}
	to.Allocations, to.Frees = 0, 0
	to.Low, to.Above = 0, math.MaxUint64
	if b.shared() {
		to.Low, to.Above = b.low, b.above
	}
	return true
}

// Absorb takes in what has become of them.
func (b *Books) Absorb(from *lending.Books) {
	b.now[requested], b.now[allocated], b.now[active] = from.RequestedBytes, from.AllocatedBytes, from.ActiveBytes
	b.now[cached], b.now[liveBlocks] = from.CachedBytes, from.LiveBlocks
	for i, gauge := range lent {
		b.high[gauge] = from.High[i]
	}
	b.allocations += from.Allocations
	b.frees += from.Frees
}

func (b *Books) rise(gauge int, n uint64) {
	value := b.now[gauge] + n
	b.now[gauge] = value
	if value > b.high[gauge] {
		b.high[gauge] = value
	}
}

// move changes a gauge by a difference that may be negative.
func (b *Books) move(gauge int, difference uint64) {
	b.rise(gauge, difference)
}

// settle keeps the totals near enough, and exact while somebody watches them.
func (b *Books) settle() {
	if b.only && b.device.interest.Load() <= 1 {
		return // there is nobody but these books
	}
	b.settleSlow()
}

func (b *Books) settleSlow() {
	value := b.now[active]
	if (value < b.low || value >= b.above) && b.shared() {
		b.publish()
	} else if b.device.Watched() {
		b.publishUsed()
	}
}

// shared says whether other books add to the same totals.
func (b *Books) shared() bool {
	for _, t := range b.totals {
		if t.shared() {
			return true
		}
	}
	return false
}

func (b *Books) center() {
	value := b.now[active]
	b.low, b.above = value-min(value, windowBytes), value+min(math.MaxUint64-value, windowBytes)
}

func (b *Books) publishUsed() {
	used := b.now[active] + b.now[unusable]
	if used != b.shownUsed {
		for _, t := range b.totals {
			t.used.Add(used - b.shownUsed)
		}
		b.shownUsed = used
	}
}

// publish brings the totals up to date.
func (b *Books) publish() {
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

// update takes in what books have not shown yet. The sum was highest when the
// books were, as far as the others had not moved meanwhile.
func (t *Totals) update(b *Books) {
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

package track

import (
	"math"

	"ferrum_mem/core/lending"
)

// Lend writes the counters that a placement changes. places are lent already. Code outside
// of Go keeps the counters until Absorb. It returns false if a watcher needs every change.
func (b *Counters) Lend(to *lending.Counters, places *lending.Places) bool {
	if b.device.Watched() {
		return false
	}
	free := places.FreeUnits
	b.lent.freeUnits, b.lent.liveBlocks = free, places.LiveCount
	*to = lending.Counters{
		RequestedBytes: b.now[requested], RequestedHigh: b.high[requested],
		FreeLow: free, FreeHigh: free, LiveHigh: places.LiveCount,
		FreeMost: math.MaxUint64,
	}
	if b.shared() {
		// Outside of these bounds, the totals have to be updated.
		rise, fall := uint64(0), uint64(0)
		if value := b.now[active]; b.low <= value && value < b.above {
			rise, fall = (b.above-1-value)>>places.GranuleShift, (value-b.low)>>places.GranuleShift
		}
		to.FreeLeast, to.FreeMost = free-min(free, rise), free+fall
	}
	return true
}

// Absorb reads the changed counters that were lent. It returns the sum of all changes. places
// are still lent.
func (b *Counters) Absorb(from *lending.Counters, places *lending.Places) lending.Tag {
	bytes := func(units uint64) uint64 { return units << places.GranuleShift }
	was := b.lent
	blocks := places.LiveCount - was.liveBlocks
	change := lending.Tag{
		RequestedBytes: from.RequestedBytes - b.now[requested],
		AllocatedBytes: bytes(was.freeUnits - places.FreeUnits),
		Blocks:         blocks,
	}
	b.change(requested, change.RequestedBytes, from.RequestedHigh-b.now[requested])
	for _, gauge := range [...]int{allocated, active} {
		b.change(gauge, change.AllocatedBytes, bytes(was.freeUnits-from.FreeLow))
	}
	b.change(cached, -change.AllocatedBytes, bytes(from.FreeHigh-was.freeUnits))
	b.change(liveBlocks, blocks, from.LiveHigh-was.liveBlocks)
	b.allocations += blocks + from.Frees
	b.frees += from.Frees
	return change
}

// change changes a gauge by a difference that may be negative. Meanwhile it was higher by
// most.
func (b *Counters) change(gauge int, difference, most uint64) {
	b.high[gauge] = max(b.high[gauge], b.now[gauge]+most)
	b.now[gauge] += difference
}

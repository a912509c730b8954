package rangealloc

import (
	"math"

	"ferrum_mem/core/lending"
)

// Lend implements Lender, for a range of fewer than 2^32 granules in which no block has
// an expected end.
func (b *bestFit[U]) Lend(to *lending.Places) bool {
	if !b.narrow() || len(b.hints.ends) != 0 {
		return false
	}
	t, f := &b.records, &b.free
	records, recordsShared := t.memory.Share(&t.all)
	heads, headsShared := b.live.memory.Share(&b.live.heads)
	if !recordsShared || !headsShared || !f.lendBins(to) {
		return false
	}
	to.GranuleShift = uint64(b.shift)
	to.Records, to.RecordCount, to.RecordRoom = records, uint64(len(t.all)), min(uint64(cap(t.all)), t.limit)
	to.Spare, to.SpareCount = uint64(t.spare), t.spareCount
	to.Heads, to.HeadShift = heads, uint64(b.live.shift)
	to.LiveCount, to.LiveMost = b.live.count, b.live.most()
	to.FreeUnits, to.HighWater = b.freeUnits, b.highWater
	to.Total, to.Extent, to.Count, to.Most = f.total, f.extent, f.count, f.most
	f.few.lend(to)
	return true
}

// lend writes the runs to the lent tables.
func (f *fewRuns[U]) lend(to *lending.Places) {
	to.FewCount = uint64(f.count)
	for i := range f.runs {
		if run := &f.runs[i]; uint32(i) < f.count {
			to.FewOrder[i], to.FewAt[i] = run.size<<32|run.offset, run.at
		} else {
			to.FewOrder[i] = math.MaxUint64
		}
	}
}

// absorb reads the runs from the lent tables.
func (f *fewRuns[U]) absorb(from *lending.Places) {
	f.count = uint32(from.FewCount)
	for i, order := range from.FewOrder[:f.count] {
		f.runs[i] = fewRun{size: order >> 32, offset: order & math.MaxUint32, at: from.FewAt[i]}
	}
}

// lendBins is the part of Lend for the bins, which may be needed now or later.
func (f *freeIndex[U]) lendBins(to *lending.Places) bool {
	bins, ok := f.memory.Share(&f.bins)
	if !ok || !f.filled.share() {
		return false
	}
	words, sums := f.filled.addresses()
	to.Bins, to.FilledWords, to.FilledSums, to.FilledTop = bins, words, sums, f.filled.top
	to.Sub, to.Region, to.LastRegion = uint64(f.sub), uint64(f.region), f.lastRegion
	to.Binned = 0
	if f.binned {
		to.Binned = 1
	}
	return true
}

// Absorb implements Lender.
func (b *bestFit[U]) Absorb(from *lending.Places) {
	t, f := &b.records, &b.free
	t.all = t.all[:from.RecordCount]
	t.spare, t.spareCount = uint32(from.Spare), from.SpareCount
	b.live.count, b.freeUnits, b.highWater = from.LiveCount, from.FreeUnits, from.HighWater
	f.count = from.Count
	f.few.absorb(from)
	f.binned, f.filled.top = from.Binned != 0, from.FilledTop
}

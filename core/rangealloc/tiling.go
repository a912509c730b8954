package rangealloc

import "ferrum_mem/core/device"

// tiling is the common part of strategies that keep the range as a ring of blocks in
// address order. A hash table finds the live blocks. Each strategy finds the free ones in
// its own way.
type tiling[U unit] struct {
	geometry
	records records[U]
	live    liveIndex[U]
	// freeUnits and highWater are in granules.
	freeUnits, highWater uint64
}

// newTiling returns a ring with one block, record 1, which is free and covers all of the
// range.
func newTiling[U unit](g geometry) (tiling[U], error) {
	t := tiling[U]{geometry: g, freeUnits: g.total}
	var err error
	if t.records, err = newRecords[U](g.total); err != nil {
		return tiling[U]{}, err
	}
	if t.live, err = newLiveIndex[U](firstHeads); err != nil {
		t.Close()
		return tiling[U]{}, err
	}
	return t, nil
}

// Close releases the tables.
func (t *tiling[U]) Close() {
	t.records.memory.Free(&t.records.all)
	t.live.memory.Free(&t.live.heads)
}

// badFree returns the error for an offset at which no live block starts. It states what
// is there.
func (t *tiling[U]) badFree(offset uint64) error {
	const op = "rangealloc.free"
	if offset >= t.config.SizeBytes {
		return device.Errorf(device.CodeInvalidAddress, op,
			"offset is %d, outside the range of %v", offset, device.Size(t.config.SizeBytes))
	}
	var holder Block
	t.Walk(func(block Block) bool {
		holder = block
		return offset-block.Offset >= block.Size
	})
	if holder.Live {
		return device.Errorf(device.CodeInvalidAddress, op,
			"offset is %d, inside the live block of %v at %d", offset, device.Size(holder.Size), holder.Offset)
	}
	return device.Errorf(device.CodeDoubleFree, op, "offset is %d, which is free", offset)
}

func (t *tiling[U]) Lookup(offset uint64) (Range, bool) {
	at := t.liveAt(offset)
	if at == none {
		return Range{}, false
	}
	return Range{Offset: offset, Size: t.records.all[at].size() << t.shift, Slot: at}, true
}

// stats returns the statistics of a strategy with the given number of free blocks, in
// which the largest successful request has largest granules.
func (t *tiling[U]) stats(freeBlocks, largest uint64) Stats {
	return Stats{
		SizeBytes:        t.config.SizeBytes,
		FreeBytes:        t.freeUnits << t.shift,
		LargestFreeBytes: largest << t.shift,
		LiveBlocks:       t.live.count,
		FreeRuns:         freeBlocks,
		HighWaterBytes:   t.highWater << t.shift,
	}
}

// statsWithEnd is stats for a strategy that does not count the free run at the end of the
// range, which it finds without an index.
func (t *tiling[U]) statsWithEnd(runs, largest uint64) Stats {
	if last := &t.records.all[t.records.all[0].prev]; last.isFree() {
		runs, largest = runs+1, max(largest, last.size())
	}
	return t.stats(runs, largest)
}

func (t *tiling[U]) Walk(visit func(Block) bool) {
	t.walk(t.records.all[0].next, visit)
}

// walk visits the blocks, beginning with a record.
func (t *tiling[U]) walk(at uint32, visit func(Block) bool) {
	all := t.records.all
	for ; at != 0; at = all[at].next {
		r := &all[at]
		if !visit(Block{Offset: r.offset() << t.shift, Size: r.size() << t.shift, Live: r.isLive()}) {
			return
		}
	}
}

// End implements Ender.
func (t *tiling[U]) End() uint64 {
	if last := &t.records.all[t.records.all[0].prev]; last.isFree() {
		return last.offset() << t.shift
	}
	return t.config.SizeBytes
}

package rangealloc

// bestFit takes the smallest free run that holds the request at its alignment,
// and of several the one at the lowest address; what it leaves over, before and
// behind the block, stays free. A freed block merges with its free neighbours at
// once, so no two free runs touch, and a request fails only when no run holds it.
//
// With an alignment up to the granule an operation is O(log n). With a larger
// one, runs that are long enough but lie badly are passed over one by one.
type bestFit struct {
	tiling
	free freeIndex
}

func newBestFit(c Config) (Strategy, error) {
	g, err := c.check()
	if err != nil {
		return nil, err
	}
	b := &bestFit{
		tiling: newTiling(g),
		free:   newFreeIndex(g.total, firstSub),
	}
	b.free.insert(b.records.all, 1)
	return b, nil
}

func (b *bestFit) Name() string { return Default }

func (b *bestFit) Alloc(r Request) (Range, error) {
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return Range{}, r.check()
	}
	need := b.granules(r.Size)
	var at uint32
	var pad uint64
	if r.Align <= b.config.GranuleBytes {
		at = b.free.ceil(b.records.all, need, 0)
	} else {
		at, pad = b.findAligned(need, r.Align>>b.shift-1)
	}
	if at == none {
		return Range{}, ErrNoRoom
	}
	at, err := b.take(at, pad, need)
	if err != nil {
		return Range{}, err
	}
	return Range{Offset: b.records.all[at].offset << b.shift, Size: need << b.shift, Slot: at}, nil
}

// findAligned is the best fit among the runs that hold need granules behind the
// padding that the alignment asks for. A run longer than the request by the mask
// always does, so the search ends there.
func (b *bestFit) findAligned(need, mask uint64) (at uint32, pad uint64) {
	size, offset := need, uint64(0)
	for {
		at = b.free.ceil(b.records.all, size, offset)
		if at == none {
			return none, 0
		}
		r := &b.records.all[at]
		pad = b.padding(r.offset, mask)
		if pad <= r.size-need {
			return at, pad
		}
		size, offset = r.size, r.offset+1
	}
}

// take makes need granules of a free run live, pad granules after its start.
func (b *bestFit) take(at uint32, pad, need uint64) (uint32, error) {
	rest := b.records.all[at].size - pad - need
	if rest|pad != 0 {
		extra := uint64(1)
		if rest != 0 && pad != 0 {
			extra = 2
		}
		if err := b.records.reserve(extra); err != nil {
			return none, err
		}
	}
	all := b.records.all
	b.free.remove(all, at)
	start := all[at].offset + pad
	if pad != 0 {
		front := at
		at = b.records.insertAfter(front, start, need)
		all = b.records.all
		all[front].size = pad
		b.free.insert(all, front)
	}
	if rest != 0 {
		behind := b.records.insertAfter(at, start+need, rest)
		all = b.records.all
		all[at].size = need
		b.free.insert(all, behind)
	}
	b.live.insert(all, at)
	b.freeUnits -= need
	b.highWater = max(b.highWater, start+need)
	b.splitBins()
	return at, nil
}

// splitBins is for the end of an operation: it looks at every record, so each
// must be what it is going to be.
func (b *bestFit) splitBins() {
	if b.free.crowded() {
		b.free.split(b.records.all)
	}
}

func (b *bestFit) Free(offset uint64) (uint64, error) {
	if offset&(b.config.GranuleBytes-1) != 0 || offset >= b.config.SizeBytes {
		return 0, b.badFree(offset)
	}
	all := b.records.all
	at := b.live.remove(all, offset>>b.shift)
	if at == none {
		return 0, b.badFree(offset)
	}
	r := &all[at]
	size := r.size
	b.freeUnits += size
	if next := r.next; all[next].isFree() {
		b.free.remove(all, next)
		r.size += all[next].size
		b.records.drop(next)
	}
	if prev := r.prev; all[prev].isFree() {
		b.free.remove(all, prev)
		all[prev].size += r.size
		b.records.drop(at)
		at = prev
	}
	b.free.insert(all, at)
	b.splitBins()
	return size << b.shift, nil
}

func (b *bestFit) Stats() Stats {
	return b.stats(b.free.count, b.free.largest(b.records.all))
}

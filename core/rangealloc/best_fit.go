package rangealloc

// bestFit allocates from the smallest free run that holds the request at its alignment,
// and of several from the one at the lowest address. The rest before and behind the block
// stays free. A freed block is merged with its free neighbours at once. So no two free
// runs are adjacent, and a request fails only if no run holds it.
//
// A request with an expected end is placed in one of the runs that fit best, beside a
// neighbour that ends at about the same time: best_fit_hints.go.
//
// With an alignment up to the granule, an operation is O(log n). With a larger one, runs
// that are long enough but do not have the alignment are skipped one by one.
type bestFit[U unit] struct {
	tiling[U]
	free  freeIndex[U]
	hints hints
}

func newBestFit(c Config) (Strategy, error) {
	g, err := c.check()
	if err != nil {
		return nil, err
	}
	if g.narrow() {
		return asStrategy(newBestFitIn[uint32](g))
	}
	return asStrategy(newBestFitIn[uint64](g))
}

// asStrategy returns a nil Strategy if there is an error.
func asStrategy[U unit](b *bestFit[U], err error) (Strategy, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

func newBestFitIn[U unit](g geometry) (*bestFit[U], error) {
	t, err := newTiling[U](g)
	if err != nil {
		return nil, err
	}
	free, err := newFreeIndex[U](g.total, firstSub, firstExtent)
	if err != nil {
		t.Close()
		return nil, err
	}
	b := &bestFit[U]{tiling: t, free: free}
	b.keep(1)
	return b, nil
}

// Close releases the tables.
func (b *bestFit[U]) Close() {
	b.tiling.Close()
	b.free.memory.Free(&b.free.bins)
	b.free.filled.free()
	b.hints.memory.Free(&b.hints.ends)
}

func (b *bestFit[U]) Name() string { return Default }

// SizeOrdered implements SizeOrdered.
func (b *bestFit[U]) SizeOrdered() {}

// ExactSizes implements ExactSizes.
func (b *bestFit[U]) ExactSizes() {}

func (b *bestFit[U]) Alloc(r Request) (Range, error) {
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return Range{}, r.check()
	}
	need := b.granules(r.Size)
	var at uint32
	var pad uint64
	switch {
	case r.End != 0:
		at, pad = b.findHinted(need, max(r.Align>>b.shift, 1)-1, r.End)
	case r.Align <= b.config.GranuleBytes:
		at = b.find(need, 0)
	default:
		at, pad = b.findAligned(need, r.Align>>b.shift-1)
	}
	if at == none {
		return Range{}, ErrNoRoom
	}
	at, err := b.take(at, pad, need)
	if err != nil {
		return Range{}, err
	}
	if r.End != 0 {
		b.hints.set(at, r.End, cap(b.records.all))
	}
	return Range{Offset: b.records.all[at].offset() << b.shift, Size: need << b.shift, Slot: at}, nil
}

// find returns the first run at or after (size, offset) in the order of before.
func (b *bestFit[U]) find(size, offset uint64) uint32 {
	all := b.records.all
	at := none
	if b.free.count != 0 {
		at = b.free.ceil(all, size, offset)
	}
	last := all[0].prev
	if l := &all[last]; l.isFree() && (l.size() > size || l.size() == size && l.offset() >= offset) &&
		(at == none || l.before(&all[at])) {
		return last
	}
	return at
}

// keep adds a run to the index. The run at the end of the range is found without the
// index: it is usually the longest one, and its size changes all the time.
func (b *bestFit[U]) keep(at uint32) {
	all := b.records.all
	if all[at].next == 0 {
		all[at].left, all[at].right = none, none
		return
	}
	b.free.insert(all, at)
}

// forget removes a run from the index.
func (b *bestFit[U]) forget(at uint32) {
	if all := b.records.all; all[at].next != 0 {
		b.free.remove(all, at)
	}
}

// grow extends a run up to the block next, by more granules.
func (b *bestFit[U]) grow(all []record[U], at, next uint32, more uint64) {
	r := &all[at]
	if next != 0 {
		b.free.resize(all, at, r.offset(), r.size()+more)
		return
	}
	b.free.remove(all, at) // it becomes the run at the end
	r.setSize(r.size() + more)
	r.left, r.right = none, none
}

// findAligned returns the best fit among the runs that hold need granules behind the
// padding for the alignment. A run that is longer than the request by mask always does,
// so the search ends there.
func (b *bestFit[U]) findAligned(need, mask uint64) (at uint32, pad uint64) {
	size, offset := need, uint64(0)
	for {
		at = b.find(size, offset)
		if at == none {
			return none, 0
		}
		r := &b.records.all[at]
		pad = b.padding(r.offset(), mask)
		if pad <= r.size()-need {
			return at, pad
		}
		size, offset = r.size(), r.offset()+1
	}
}

// take makes need granules of a free run live, pad granules after its start. The rest
// behind the block keeps the run's record, and so usually its place in the index.
func (b *bestFit[U]) take(at uint32, pad, need uint64) (uint32, error) {
	rest := b.records.all[at].size() - pad - need
	if b.records.spareCount < 2 && rest|pad != 0 {
		extra := uint64(1)
		if rest != 0 && pad != 0 {
			extra = 2
		}
		if err := b.records.reserve(extra); err != nil {
			return none, err
		}
	}
	run := &b.records.all[at]
	start := run.offset() + pad
	switch {
	case pad != 0:
		b.forget(at)
		front := at
		run.setSize(pad)
		at = b.records.insertAfter(front, start, need)
		b.keep(front)
		if rest != 0 {
			b.keep(b.records.insertAfter(at, start+need, rest))
		}
	case rest != 0:
		if run.next == 0 { // see keep
			run.place(start+need, rest)
		} else {
			b.free.resize(b.records.all, at, start+need, rest)
		}
		at = b.records.insertAfter(run.prev, start, need)
	default:
		b.forget(at)
	}
	b.live.insert(b.records.all, at)
	b.freeUnits -= need
	b.highWater = max(b.highWater, start+need)
	if b.free.count > b.free.most || b.highWater > b.free.extent {
		b.free.renew(b.records.all, b.highWater)
	}
	return at, nil
}

func (b *bestFit[U]) Free(offset uint64) (uint64, error) {
	if offset&(b.config.GranuleBytes-1) != 0 || offset >= b.config.SizeBytes {
		return 0, b.badFree(offset)
	}
	at := b.live.find(b.records.all, offset>>b.shift)
	if at == none {
		return 0, b.badFree(offset)
	}
	size := b.records.all[at].size() << b.shift
	b.FreeSlot(at)
	return size, nil
}

// FreeSlot frees the live block of a record.
func (b *bestFit[U]) FreeSlot(at uint32) (runBytes uint64) {
	all := b.records.all
	b.live.removeAt(all, at)
	r := &all[at]
	size, prev, next := r.size(), r.prev, r.next
	b.freeUnits += size
	b.hints.freed(at)
	before, behind := &all[prev], &all[next]
	switch {
	case behind.isFree() && before.isFree():
		b.forget(next)
		size += behind.size()
		b.grow(all, prev, behind.next, size)
		size = before.size()
		b.records.drop(next)
		b.records.drop(at)
	case behind.isFree():
		size += behind.size()
		if behind.next == 0 { // see keep
			behind.place(r.offset(), size)
		} else {
			b.free.resize(all, next, r.offset(), size)
		}
		b.records.drop(at)
	case before.isFree():
		b.grow(all, prev, next, size)
		size = before.size()
		b.records.drop(at)
	default:
		b.keep(at)
	}
	if b.free.count > b.free.most {
		b.free.renew(all, b.highWater)
	}
	return size << b.shift
}

// Retract implements Retractor.
func (b *bestFit[U]) Retract(offset uint64) error {
	now := b.hints.now
	_, err := b.Free(offset)
	b.hints.now = now
	return err
}

// LargestBelow implements HoleFinder.
func (b *bestFit[U]) LargestBelow(sizeBytes uint64) uint64 {
	granules := (sizeBytes + b.config.GranuleBytes - 1) >> b.shift
	if granules == 0 {
		return 0
	}
	return b.free.below(b.records.all, granules) << b.shift
}

func (b *bestFit[U]) Stats() Stats {
	return b.statsWithEnd(b.free.count, b.free.largest(b.records.all))
}

package rangealloc

import "math/bits"

// tlsf is two-level segregated fit. A free run is in the list of its class of
// sizes, and two levels of bitmaps find the first list that surely has a run for
// a request: one whose shortest runs are long enough. The block is taken from
// the front of that list's newest run, and a freed block merges with its free
// neighbours at once. Nothing is ever searched: the longest operation takes as
// many steps in a range of a million runs as in an empty one, but for the hash
// table that finds a block by its offset, which is O(1) on average, and for a
// table that has to grow.
//
// The price is a good fit instead of the best: the run may be longer than the
// least sufficient one by a 32nd, and a request that only a run of the class of
// its own size could hold is served if that class's newest run does, and else
// refused. So a request is never refused while a run is free that is longer than
// it by a 32nd, counting the padding that its alignment might need.
type tlsf struct {
	tiling
	free classes
}

const nameTLSF = "tlsf"

func newTLSF(c Config) (Strategy, error) {
	g, err := c.check()
	if err != nil {
		return nil, err
	}
	t := &tlsf{tiling: newTiling(g), free: newClasses(g.total)}
	t.free.insert(t.records.all, 1)
	return t, nil
}

func (t *tlsf) Name() string { return nameTLSF }

func (t *tlsf) Alloc(r Request) (Range, error) {
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return Range{}, r.check()
	}
	need := t.granules(r.Size)
	if need > t.total {
		return Range{}, ErrNoRoom
	}
	var at uint32
	var pad uint64
	if r.Align <= t.config.GranuleBytes {
		at = t.find(need)
	} else {
		at, pad = t.findAligned(need, r.Align>>t.shift-1)
	}
	if at == none {
		return Range{}, ErrNoRoom
	}
	at, err := t.take(at, pad, need)
	if err != nil {
		return Range{}, err
	}
	return Range{Offset: t.records.all[at].offset << t.shift, Size: need << t.shift, Slot: at}, nil
}

// find is a run of need granules or more.
func (t *tlsf) find(need uint64) uint32 {
	if at := t.free.from(classFor(need)); at != none {
		return at
	}
	at := t.free.in(classOf(need))
	if t.records.all[at].size < need {
		return none // as is the head of the ring, which has no size
	}
	return at
}

// findAligned looks first at the run that would be taken without an alignment,
// which may lie well, as a hole does that such a block has left. The second one
// holds the request wherever it lies.
func (t *tlsf) findAligned(need, mask uint64) (at uint32, pad uint64) {
	if at = t.free.from(classFor(need)); at != none {
		if pad = t.padding(t.records.all[at].offset, mask); pad <= t.records.all[at].size-need {
			return at, pad
		}
	}
	padded, carry := bits.Add64(need, mask, 0)
	if carry == 0 && padded <= t.total {
		if at = t.find(padded); at != none {
			return at, t.padding(t.records.all[at].offset, mask)
		}
	}
	at = t.free.in(classOf(need))
	if size := t.records.all[at].size; size >= need {
		if pad = t.padding(t.records.all[at].offset, mask); pad <= size-need {
			return at, pad
		}
	}
	return none, 0
}

// take makes need granules of a free run live, pad granules after its start.
// What is left behind the block keeps the run's record, and with it most often
// its place in a list.
func (t *tlsf) take(at uint32, pad, need uint64) (uint32, error) {
	size := t.records.all[at].size
	rest := size - pad - need
	if rest|pad != 0 {
		extra := uint64(1)
		if rest != 0 && pad != 0 {
			extra = 2
		}
		if err := t.records.reserve(extra); err != nil {
			return none, err
		}
	}
	start := t.records.all[at].offset + pad
	switch {
	case pad != 0:
		t.records.all[at].size = pad
		t.free.resize(t.records.all, at, size)
		at = t.records.insertAfter(at, start, need)
		if rest != 0 {
			t.free.insert(t.records.all, t.records.insertAfter(at, start+need, rest))
		}
	case rest != 0:
		run := &t.records.all[at]
		run.offset, run.size = start+need, rest
		t.free.resize(t.records.all, at, size)
		at = t.records.insertAfter(run.prev, start, need)
	default:
		t.free.remove(t.records.all, at)
	}
	t.live.insert(t.records.all, at)
	t.freeUnits -= need
	t.highWater = max(t.highWater, start+need)
	return at, nil
}

func (t *tlsf) Free(offset uint64) (uint64, error) {
	if offset&(t.config.GranuleBytes-1) != 0 || offset >= t.config.SizeBytes {
		return 0, t.badFree(offset)
	}
	all := t.records.all
	at := t.live.remove(all, offset>>t.shift)
	if at == none {
		return 0, t.badFree(offset)
	}
	r := &all[at]
	size := r.size
	t.freeUnits += size
	before, behind := &all[r.prev], &all[r.next]
	switch {
	case before.isFree() && behind.isFree():
		was := before.size
		before.size += size + behind.size
		t.free.remove(all, r.next)
		t.free.resize(all, r.prev, was)
		t.records.drop(r.next)
		t.records.drop(at)
	case behind.isFree():
		was := behind.size
		behind.offset -= size
		behind.size += size
		t.free.resize(all, r.next, was)
		t.records.drop(at)
	case before.isFree():
		was := before.size
		before.size += size
		t.free.resize(all, r.prev, was)
		t.records.drop(at)
	default:
		t.free.insert(all, at)
	}
	return size << t.shift, nil
}

func (t *tlsf) Stats() Stats {
	return t.stats(t.free.count, t.records.all[t.free.last()].size)
}

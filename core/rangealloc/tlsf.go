package rangealloc

import "math/bits"

// tlsf is two-level segregated fit. A free run is in the list of its class of sizes. Two
// levels of bitmaps find the first list whose shortest runs are long enough for a
// request. The block is taken from the front of the newest run of that list. A freed
// block is merged with its free neighbours at once. The run at the end of the range is in
// no list, and is used only when no other run is found; so the range fills up from the
// front. Nothing is ever searched: the longest operation takes as many steps in a range
// of a million runs as in an empty one. The exceptions are the hash table that finds a
// block by its offset, which is O(1) on average, and a table that has to grow.
//
// The price is a good fit instead of the best one: the run may be longer than the
// shortest sufficient one by a 32nd. If only a run of the class of the requested size
// could hold the request, only the newest run of that class is tried. So a request fails
// only if no free run is longer than it by a 32nd, including the padding that its
// alignment might need.
type tlsf struct {
	tiling[uint64]
	free classes
}

const nameTLSF = "tlsf"

func newTLSF(c Config) (Strategy, error) {
	g, err := c.check()
	if err != nil {
		return nil, err
	}
	base, err := newTiling[uint64](g)
	if err != nil {
		return nil, err
	}
	t := &tlsf{tiling: base, free: newClasses(g.total)}
	t.keep(1)
	return t, nil
}

func (t *tlsf) Name() string { return nameTLSF }

// ExactSizes implements ExactSizes. The strategy is not SizeOrdered: only the first run
// of a list is tried, so a size may succeed after that run was allocated.
func (t *tlsf) ExactSizes() {}

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
	return Range{Offset: t.records.all[at].offset() << t.shift, Size: need << t.shift, Slot: at}, nil
}

// find returns a run of at least need granules.
func (t *tlsf) find(need uint64) uint32 {
	if at := t.free.from(classFor(need)); at != none {
		return at
	}
	if at := t.free.in(classOf(need)); t.records.all[at].size() >= need {
		return at // never the head of the ring, which has no size
	}
	if last := t.records.all[0].prev; t.records.all[last].isFree() && t.records.all[last].size() >= need {
		return last
	}
	return none
}

// findAligned first tries runs that may have the alignment, such as a free run that such
// a block has left. Then it tries a run that holds the request at any address.
func (t *tlsf) findAligned(need, mask uint64) (at uint32, pad uint64) {
	padded, carry := bits.Add64(need, mask, 0)
	if at, pad = t.fit(t.free.from(classFor(need)), need, mask); at != none {
		return at, pad
	}
	if carry == 0 && padded <= t.total {
		if at, pad = t.fit(t.free.from(classFor(padded)), need, mask); at != none {
			return at, pad
		}
	}
	if at, pad = t.fit(t.free.in(classOf(need)), need, mask); at != none {
		return at, pad
	}
	return t.fit(t.records.all[0].prev, need, mask)
}

// fit returns the run if it holds the request, otherwise none.
func (t *tlsf) fit(at uint32, need, mask uint64) (fits uint32, pad uint64) {
	r := &t.records.all[at]
	if pad = t.padding(r.offset(), mask); r.isFree() && pad <= r.size() && need <= r.size()-pad {
		return at, pad
	}
	return none, 0
}

// take makes need granules of a free run live, pad granules after its start. The rest
// behind the block keeps the run's record, and so usually its place in a list.
func (t *tlsf) take(at uint32, pad, need uint64) (uint32, error) {
	size := t.records.all[at].size()
	rest := size - pad - need
	if rest|pad != 0 && t.records.spareCount < 2 {
		extra := uint64(1)
		if rest != 0 && pad != 0 {
			extra = 2
		}
		if err := t.records.reserve(extra); err != nil {
			return none, err
		}
	}
	run := &t.records.all[at]
	start := run.offset() + pad
	switch {
	case pad != 0:
		t.forget(at)
		front := at
		run.setSize(pad)
		at = t.records.insertAfter(front, start, need)
		t.keep(front)
		if rest != 0 {
			t.keep(t.records.insertAfter(at, start+need, rest))
		}
	case rest != 0:
		run.place(start+need, rest)
		t.resized(at, size)
		at = t.records.insertAfter(run.prev, start, need)
	default:
		t.forget(at)
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
	size := r.size()
	t.freeUnits += size
	prev, next := r.prev, r.next
	before, behind := &all[prev], &all[next]
	switch {
	case behind.isFree():
		was := behind.size()
		behind.setOffset(behind.offset() - size)
		behind.setSize(behind.size() + size)
		t.records.drop(at)
		if before.isFree() {
			t.free.remove(all, prev)
			behind.setOffset(behind.offset() - before.size())
			behind.setSize(behind.size() + before.size())
			t.records.drop(prev)
		}
		t.resized(next, was)
	case before.isFree():
		was := before.size()
		before.setSize(before.size() + size)
		t.records.drop(at)
		if next == 0 { // it becomes the run at the end
			t.free.unlink(all, prev, classOf(was))
			before.left, before.right = none, none
		} else {
			t.free.resize(all, prev, was)
		}
	default:
		t.keep(at)
	}
	return size << t.shift, nil
}

// keep adds a run to the lists. The run at the end of the range is in no list: it is
// usually the longest one, and its size changes all the time.
func (t *tlsf) keep(at uint32) {
	all := t.records.all
	if all[at].next == 0 {
		all[at].left, all[at].right = none, none
		return
	}
	t.free.insert(all, at)
}

// forget removes a run from the lists.
func (t *tlsf) forget(at uint32) {
	if all := t.records.all; all[at].next != 0 {
		t.free.remove(all, at)
	}
}

// resized updates the lists after a run got another size; was is its old size.
func (t *tlsf) resized(at uint32, was uint64) {
	if all := t.records.all; all[at].next != 0 {
		t.free.resize(all, at, was)
	}
}

func (t *tlsf) Stats() Stats {
	return t.statsWithEnd(t.free.count, t.records.all[t.free.last()].size())
}

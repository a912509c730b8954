package rangealloc

// arena places every block behind the previous one. A freed block is only marked. All
// memory becomes free at once, when no block is live any more. It is for blocks that are
// allocated step by step and freed together, such as the activations of a forward pass.
//
// Adjacent freed blocks are one record, so the size of the tables is in proportion to the
// live blocks, however long the arena is used. The rest of the range behind all blocks is
// the last record, until it is used up.
type arena struct {
	tiling[uint64]
	// tail is the record of the rest, or none if there is no rest.
	tail uint32
	// dead is the number of records of freed bytes.
	dead uint64
}

const nameArena = "arena"

func newArena(c Config) (Strategy, error) {
	g, err := c.check()
	if err != nil {
		return nil, err
	}
	t, err := newTiling[uint64](g)
	if err != nil {
		return nil, err
	}
	return &arena{tiling: t, tail: 1}, nil
}

func (a *arena) Name() string { return nameArena }

// SizeOrdered implements SizeOrdered.
func (a *arena) SizeOrdered() {}

// ExactSizes implements ExactSizes.
func (a *arena) ExactSizes() {}

func (a *arena) Alloc(r Request) (Range, error) {
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return Range{}, r.check()
	}
	need := a.granules(r.Size)
	// Without a rest this is the head of the ring, which has no size.
	tail := a.records.all[a.tail]
	if need > tail.size() {
		return Range{}, ErrNoRoom
	}
	pad := a.padding(tail.offset(), max(r.Align>>a.shift, 1)-1)
	if pad > tail.size()-need {
		return Range{}, ErrNoRoom
	}
	if err := a.records.reserve(2); err != nil {
		return Range{}, err
	}
	if pad != 0 {
		a.skip(pad)
	}
	at := a.tail
	start := a.records.all[at].offset()
	if rest := a.records.all[at].size() - need; rest == 0 {
		a.tail = none
	} else {
		a.records.all[at].setSize(need)
		a.tail = a.records.insertAfter(at, start+need, rest)
	}
	a.live.insert(a.records.all, at)
	a.freeUnits -= need
	a.highWater = max(a.highWater, start+need)
	return Range{Offset: start << a.shift, Size: need << a.shift, Slot: at}, nil
}

// skip turns the first granules of the rest into freed bytes.
func (a *arena) skip(pad uint64) {
	tail := &a.records.all[a.tail]
	tail.setOffset(tail.offset() + pad)
	tail.setSize(tail.size() - pad)
	if before := &a.records.all[tail.prev]; before.isFree() {
		before.setSize(before.size() + pad)
		return
	}
	a.records.insertAfter(tail.prev, tail.offset()-pad, pad)
	a.dead++
}

func (a *arena) Free(offset uint64) (uint64, error) {
	if offset&(a.config.GranuleBytes-1) != 0 || offset >= a.config.SizeBytes {
		return 0, a.badFree(offset)
	}
	all := a.records.all
	at := a.live.remove(all, offset>>a.shift)
	if at == none {
		return 0, a.badFree(offset)
	}
	r := &all[at]
	size := r.size()
	r.left, r.right = none, none
	a.freeUnits += size
	a.dead++
	if next := r.next; next != a.tail && all[next].isFree() {
		r.setSize(r.size() + all[next].size())
		a.records.drop(next)
		a.dead--
	}
	if prev := r.prev; all[prev].isFree() {
		all[prev].setSize(all[prev].size() + r.size())
		a.records.drop(at)
		a.dead--
	}
	if a.live.count == 0 {
		a.reset()
	}
	return size << a.shift, nil
}

// Retract implements Retractor.
func (a *arena) Retract(offset uint64) error {
	all := a.records.all
	at := a.live.find(all, offset>>a.shift)
	if at == none {
		return a.badFree(offset)
	}
	r := &all[at]
	if behind := r.next; behind != 0 && behind != a.tail {
		_, err := a.Free(offset)
		return err
	}
	a.live.removeAt(all, at)
	r.left, r.right = none, none
	a.freeUnits += r.size()
	if a.tail != none {
		r.setSize(r.size() + all[a.tail].size())
		a.records.drop(a.tail)
	}
	a.tail = at
	if a.live.count == 0 && a.dead > 0 {
		a.reset()
	}
	return nil
}

// reset makes the whole range free when no block is live. The freed bytes are one record
// then, the first.
func (a *arena) reset() {
	first := a.records.all[0].next
	if a.tail != none {
		a.records.drop(a.tail)
	}
	a.records.all[first].setSize(a.total)
	a.tail, a.dead = first, 0
}

func (a *arena) Stats() Stats {
	freeBlocks := a.dead
	if a.tail != none {
		freeBlocks++
	}
	return a.stats(freeBlocks, a.records.all[a.tail].size())
}

func (a *arena) Check() error {
	blocks, err := a.check(a.areDead)
	if err != nil {
		return err
	}
	all := a.records.all
	if a.tail != none {
		if tail := &all[a.tail]; !tail.isFree() || tail.next != 0 {
			return broken("the rest, record %d, is not free or not the last", a.tail)
		}
		blocks--
	}
	if blocks != a.dead {
		return broken("the ring has %d freed records, the counter says %d", blocks, a.dead)
	}
	if a.live.count == 0 && a.tail != all[0].next {
		return broken("no block is live, and the rest is record %d and not the whole range", a.tail)
	}
	return nil
}

// areDead reports whether two free neighbours are both freed bytes, so that neither is
// the rest.
func (a *arena) areDead(_, second *record[uint64]) bool {
	return a.tail == none || second != &a.records.all[a.tail]
}

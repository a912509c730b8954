package rangealloc

import "math/bits"

// buddy allocates blocks of a power of two granules. A block of 2^k starts at a multiple
// of 2^k from the start of the range. Its two halves are buddies. Two buddies that are
// both free are merged at once. So the number of free blocks is always the smallest
// possible. A range of any length begins as one block for each bit that is set in its
// length. An allocation takes a free block of the smallest sufficient power of two, and
// halves it until it fits.
//
// A freed block needs no search for its buddy: the buddy is a neighbour in the ring, of
// the same size. An operation takes at most one step for each of the 64 powers of two.
//
// Alignment: a block of 2^k is aligned to 2^k as an offset. Its address has that
// alignment if the base address has it. For a larger alignment, a block is halved towards
// the place that has it. That works for sizes up to the alignment of the base. A request
// whose rounded size and whose alignment are both larger than the alignment of the base
// fails, because no block starts at such an address. An empty range of 2^k bytes can hold
// any size up to 2^k, at any alignment up to that of its base.
type buddy struct {
	tiling[uint64]
	// orders has bit k set if the list heads[k], of blocks of 2^k, is not empty.
	orders uint64
	heads  [64]uint32
	// freeCount is the number of free blocks.
	freeCount uint64
}

const nameBuddy = "buddy"

func newBuddy(c Config) (Strategy, error) {
	g, err := c.check()
	if err != nil {
		return nil, err
	}
	t, err := newTiling[uint64](g)
	if err != nil {
		return nil, err
	}
	b := &buddy{tiling: t}
	if err := b.records.reserve(uint64(bits.OnesCount64(g.total))); err != nil {
		b.Close()
		return nil, err
	}
	at, start := uint32(1), uint64(0)
	for rest := g.total; ; {
		size := uint64(1) << (bits.Len64(rest) - 1)
		b.records.all[at].setSize(size)
		b.insert(at)
		start, rest = start+size, rest-size
		if rest == 0 {
			return b, nil
		}
		at = b.records.insertAfter(at, start, rest)
	}
}

func (b *buddy) Name() string { return nameBuddy }

// SizeOrdered implements SizeOrdered.
func (b *buddy) SizeOrdered() {}

func (b *buddy) Alloc(r Request) (Range, error) {
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return Range{}, r.check()
	}
	need := b.granules(r.Size)
	if need > b.total {
		return Range{}, ErrNoRoom
	}
	order := uint(bits.Len64(need - 1))
	mask := max(r.Align>>b.shift, 1) - 1
	at, start := b.find(order, mask)
	if at == none {
		return Range{}, ErrNoRoom
	}
	at, err := b.take(at, start, order)
	if err != nil {
		return Range{}, err
	}
	return Range{Offset: start << b.shift, Size: b.records.all[at].size() << b.shift, Slot: at}, nil
}

// find returns a free block that can hold a block of the order, and where the block
// starts in it. The smallest block that is long enough may have the alignment; one as
// long as the alignment always contains such an address.
func (b *buddy) find(order uint, mask uint64) (at uint32, start uint64) {
	if order > 63 || b.padding(0, mask)&(1<<order-1) != 0 {
		return none, 0
	}
	for _, least := range [...]uint{order, max(order, uint(bits.Len64(mask)))} {
		set := b.orders >> least << least
		if set == 0 {
			return none, 0
		}
		at = b.heads[bits.TrailingZeros64(set)]
		r := &b.records.all[at]
		if pad := b.padding(r.offset(), mask); pad < r.size() {
			return at, r.offset() + pad
		}
	}
	return none, 0
}

// take halves a free block until the half that contains start has the order.
func (b *buddy) take(at uint32, start uint64, order uint) (uint32, error) {
	size := b.records.all[at].size()
	wanted := uint64(1) << order
	if size != wanted {
		if err := b.records.reserve(uint64(bits.TrailingZeros64(size)) - uint64(order)); err != nil {
			return none, err
		}
	}
	b.remove(at)
	for size != wanted {
		size /= 2
		b.records.all[at].setSize(size)
		middle := b.records.all[at].offset() + size
		upper := b.records.insertAfter(at, middle, size)
		if start < middle {
			b.insert(upper)
		} else {
			b.insert(at)
			at = upper
		}
	}
	b.live.insert(b.records.all, at)
	b.freeUnits -= size
	b.highWater = max(b.highWater, start+size)
	return at, nil
}

func (b *buddy) Free(offset uint64) (uint64, error) {
	if offset&(b.config.GranuleBytes-1) != 0 || offset >= b.config.SizeBytes {
		return 0, b.badFree(offset)
	}
	all := b.records.all
	at := b.live.remove(all, offset>>b.shift)
	if at == none {
		return 0, b.badFree(offset)
	}
	freed := all[at].size()
	b.freeUnits += freed
	for size := freed; ; size *= 2 {
		other := all[at].prev
		upper := all[at].offset()&size != 0
		if !upper {
			other = all[at].next
		}
		if !all[other].isFree() || all[other].size() != size {
			b.insert(at)
			return freed << b.shift, nil
		}
		b.remove(other)
		if upper {
			at, other = other, at
		}
		b.records.drop(other)
		all[at].setSize(2 * size)
	}
}

func (b *buddy) insert(at uint32) {
	order := uint(bits.TrailingZeros64(b.records.all[at].size()))
	push(b.records.all, &b.heads[order&63], at)
	b.orders |= 1 << order
	b.freeCount++
}

func (b *buddy) remove(at uint32) {
	order := uint(bits.TrailingZeros64(b.records.all[at].size()))
	if pull(b.records.all, &b.heads[order&63], at) {
		b.orders &^= 1 << order
	}
	b.freeCount--
}

func (b *buddy) Stats() Stats {
	largest := uint64(0)
	if b.orders != 0 {
		largest = 1 << (bits.Len64(b.orders) - 1)
	}
	return b.stats(b.freeCount, largest)
}

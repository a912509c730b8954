package rangealloc

import (
	"math"
	"math/bits"

	"ferrum_mem/core/internal/offheap"
)

// freeIndex finds the smallest free run that is large enough, and of several the one at
// the lowest address.
//
// Runs are sorted into bins, a fixed number for every power of two of sizes. A bitset
// states which bins are not empty. The bins divide the order of runs: a bin has a range
// of sizes if there are more sizes than bins, and one size and a region of addresses if
// there are fewer, because short runs are numerous and alike. Inside, a bin is a search
// tree in the same order. The best fit is the first sufficient run of the request's own
// bin; if there is none, the first run of the next bin that is not empty. Most bins have
// no run or one. So most operations touch one tree node, where one tree of all runs would
// touch log n. If there are too many runs for the bins, or more of the range is in use
// than the regions cover, the bins are rebuilt, like those of a hash table.
//
// While there are only a few runs, they are in no bin: see fewRuns.
//
// A tree is a treap: its shape is that of a binary search tree filled in the order of the
// nodes' priorities, which are a hash of the record's index. So its depth is logarithmic
// in whatever order runs are added, an insertion and a removal take one path down, and a
// node costs two links.
type freeIndex[U unit] struct {
	// few has the runs while binned is false.
	few    fewRuns[U]
	binned bool
	bins   []uint32
	memory offheap.Table[uint32]
	filled bitset
	// sub is the number of bits that choose the bin among those of a power of two: the
	// bits of the size below its highest one and, if it has fewer, bits of the region.
	sub uint
	// drop is 64 - sub; lastRegion is the number of the last region.
	drop       uint
	lastRegion uint64
	// region is the shift from an offset to the number of its region. extent is the
	// offset up to which regions have equal length; the last one is longer.
	region uint
	extent uint64
	total  uint64
	// count is the number of runs; most is the number up to which more bins would not
	// pay.
	count, most uint64
}

const (
	firstSub = 5
	lastSub  = 11
	// binsPerRun makes a second run in a bin rare: a tree of two runs costs more than the
	// memory of the bins.
	binsPerRun = 16
	// From manySub on, the bins of a range use as much memory as the records of its
	// blocks may, and a second run in a bin costs less.
	manySub        = 9
	manyBinsPerRun = 4
	// firstExtent is in granules. A new extent is extentGrowth times what is in use.
	firstExtent  = 1 << 12
	extentGrowth = 4
)

// newFreeIndex returns an empty index for runs of up to total granules.
func newFreeIndex[U unit](total uint64, sub uint, extent uint64) (freeIndex[U], error) {
	f := freeIndex[U]{sub: sub, drop: 64 - sub, lastRegion: 1<<sub - 1, total: total, extent: extent}
	f.region = uint(max(bits.Len64(extent)-int(sub), 0))
	size := uint(bits.Len64(total)) << sub
	switch {
	case sub >= lastSub:
		f.most = math.MaxUint64
	case sub >= manySub:
		f.most = uint64(size / manyBinsPerRun)
	default:
		f.most = uint64(size / binsPerRun)
	}
	if err := f.memory.Grow(&f.bins, int(size)); err != nil {
		return freeIndex[U]{}, err
	}
	f.bins = f.bins[:size]
	f.filled = newBitset(size)
	return f, nil
}

// binOf does not decrease with the size, nor, for one size, with the offset. The highest
// bit of the size gives the power, and the next sub bits the bin. If the size has fewer
// bits, the region gives the rest. There is no branch, because the processor could not
// predict it.
func (f *freeIndex[U]) binOf(size, offset uint64) uint {
	power := uint(bits.Len64(size)-1) & 63
	below := size << (63 - power) << 1 >> (f.drop & 63)
	region := min(offset>>(f.region&63), f.lastRegion)
	return power<<(f.sub&63) + uint(below|region>>power)
}

// priority decides which of two nodes is higher in a tree. It is a bijection, so no two
// priorities are equal.
func priority(at uint32) uint32 {
	at ^= at >> 16
	at *= 0x85ebca6b
	at ^= at >> 13
	at *= 0xc2b2ae35
	return at ^ at>>16
}

func (f *freeIndex[U]) insert(all []record[U], at uint32) {
	f.count++
	if !f.binned {
		if f.few.add(all, at) {
			return
		}
		f.binAll(all)
	}
	f.enter(all, at)
}

// binAll moves the few runs into bins.
func (f *freeIndex[U]) binAll(all []record[U]) {
	f.binned = true
	for i := range f.few.runs[:f.few.count] {
		f.enter(all, f.few.runs[i].at)
	}
	f.few.count = 0
}

// unbin takes the runs out of their bins, because they are few again.
func (f *freeIndex[U]) unbin(all []record[U]) {
	f.binned = false
	for bin, ok := f.filled.last(); ok; bin, ok = f.filled.last() {
		root := &f.bins[bin]
		for *root != none {
			at := *root
			uproot(all, root, at)
			f.few.add(all, at)
		}
		f.filled.remove(bin)
	}
}

// enter adds a run to its bin.
func (f *freeIndex[U]) enter(all []record[U], at uint32) {
	n := &all[at]
	bin := f.binOf(n.size(), n.offset())
	root := &f.bins[bin]
	if *root != none {
		plant(all, root, at)
		return
	}
	*root = at
	n.left, n.right = none, none
	f.filled.add(bin)
}

// plant adds a run to the tree of its bin.
func plant[U unit](all []record[U], link *uint32, at uint32) {
	n := &all[at]
	cur := *link
	rank := priority(at)
	for cur != none && priority(cur) > rank {
		c := &all[cur]
		if n.before(c) {
			link = &c.left
		} else {
			link = &c.right
		}
		cur = *link
	}
	// The node takes this place, and the nodes below are split into its two subtrees.
	*link = at
	low, high := &n.left, &n.right
	for cur != none {
		c := &all[cur]
		if c.before(n) {
			*low = cur
			low = &c.right
			cur = *low
		} else {
			*high = cur
			high = &c.left
			cur = *high
		}
	}
	*low, *high = none, none
}

func (f *freeIndex[U]) remove(all []record[U], at uint32) {
	f.count--
	if !f.binned {
		f.few.remove(all, at)
		return
	}
	n := &all[at]
	bin := f.binOf(n.size(), n.offset())
	root := &f.bins[bin]
	uproot(all, root, at)
	if *root == none {
		f.filled.remove(bin)
	}
	if f.count <= fewAgain {
		f.unbin(all)
	}
}

// uproot removes a run from the tree of its bin.
func uproot[U unit](all []record[U], link *uint32, at uint32) {
	n := &all[at]
	for *link != at {
		c := &all[*link]
		if n.before(c) {
			link = &c.left
		} else {
			link = &c.right
		}
	}
	low, high := n.left, n.right
	for low != none && high != none {
		if priority(low) > priority(high) {
			*link = low
			link = &all[low].right
			low = *link
		} else {
			*link = high
			link = &all[high].left
			high = *link
		}
	}
	*link = low | high // one of them is none, which is 0
}

// resize changes the offset and length of a run. A run that stays alone in its bin, as
// most long ones do, keeps its place in the index.
func (f *freeIndex[U]) resize(all []record[U], at uint32, offset, size uint64) {
	if !f.binned {
		f.few.resize(all, at, offset, size)
		return
	}
	n := &all[at]
	was, bin := f.binOf(n.size(), n.offset()), f.binOf(size, offset)
	old, fresh := &f.bins[was], &f.bins[bin]
	if *old != at || n.left|n.right != none {
		uproot(all, old, at)
	} else if was == bin {
		n.place(offset, size)
		return
	} else {
		*old = none
		f.filled.remove(was)
	}
	n.place(offset, size)
	if *fresh != none {
		plant(all, fresh, at)
		return
	}
	*fresh = at
	n.left, n.right = none, none
	f.filled.add(bin)
}

// ceil returns the first run at or after (size, offset) in the order of before.
func (f *freeIndex[U]) ceil(all []record[U], size, offset uint64) uint32 {
	if !f.binned {
		return f.few.ceil(size, offset)
	}
	if size > f.total {
		return none
	}
	bin := f.binOf(size, offset)
	rest := f.filled.words[bin>>6] >> (bin & 63)
	if rest&1 != 0 {
		if at := least(all, f.bins[bin], size, offset); at != none {
			return at
		}
	}
	if rest >>= 1; rest != 0 {
		bin += 1 + uint(bits.TrailingZeros64(rest))
	} else if next, ok := f.filled.after(bin | 63); ok {
		bin = next
	} else {
		return none
	}
	at := f.bins[bin]
	for all[at].left != none {
		at = all[at].left
	}
	return at
}

// least returns the first run of a tree at or after (size, offset).
func least[U unit](all []record[U], cur uint32, size, offset uint64) uint32 {
	best := none
	for cur != none {
		c := &all[cur]
		if c.size() > size || c.size() == size && c.offset() >= offset {
			best = cur
			cur = c.left
		} else {
			cur = c.right
		}
	}
	return best
}

// largest returns the size of the largest run.
func (f *freeIndex[U]) largest(all []record[U]) uint64 {
	if !f.binned {
		return f.few.largest()
	}
	bin, ok := f.filled.last()
	if !ok {
		return 0
	}
	cur := f.bins[bin]
	for all[cur].right != none {
		cur = all[cur].right
	}
	return all[cur].size()
}

// below returns the size of the largest run that is shorter than size, which is not 0. It
// returns 0 if there is none.
func (f *freeIndex[U]) below(all []record[U], size uint64) uint64 {
	if !f.binned {
		return f.few.below(size)
	}
	bin := f.binOf(min(size, f.total), math.MaxUint64)
	if largest := largestBelow(all, f.bins[bin], size); largest != 0 {
		return largest
	}
	for {
		// There may be bins of one size in between, none of whose runs is shorter.
		next, ok := f.filled.before(bin)
		if !ok {
			return 0
		}
		bin = next
		if largest := largestBelow(all, f.bins[bin], size); largest != 0 {
			return largest
		}
	}
}

// largestBelow is below for one tree.
func largestBelow[U unit](all []record[U], cur uint32, size uint64) (largest uint64) {
	for cur != none {
		c := &all[cur]
		if c.size() < size {
			largest, cur = c.size(), c.right
		} else {
			cur = c.left
		}
	}
	return largest
}

// renew replaces the index by one whose bins suit the same runs better, except a run at
// the end of the range. It is called when there are more than most runs, or when more of
// the range than extent has been in use. Without memory for new bins, the old ones stay;
// they are only slower.
func (f *freeIndex[U]) renew(all []record[U], highWater uint64) {
	sub, extent := f.sub, f.extent
	if f.count > f.most {
		sub = min(sub+2, lastSub)
	}
	if highWater > extent {
		extent = f.total
		if highWater < f.total/extentGrowth {
			extent = highWater * extentGrowth
		}
	}
	better, err := newFreeIndex[U](f.total, sub, extent)
	if err != nil {
		return
	}
	for at := all[0].next; at != all[0].prev; at = all[at].next {
		if all[at].isFree() {
			better.insert(all, at)
		}
	}
	f.memory.Free(&f.bins)
	f.filled.free()
	*f = better
}

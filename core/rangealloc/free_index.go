package rangealloc

import (
	"math"
	"math/bits"

	"ferrum_mem/core/internal/offheap"
)

// freeIndex finds the smallest free run that is large enough, and among equals
// the one at the lowest address.
//
// The idea: runs are sorted into bins, so many for every power of two of sizes,
// and a bitset says which bins are not empty. A bin is a stretch of that order:
// of sizes where there are more sizes than bins, and of one size and a region of
// addresses where there are fewer, because short runs are many and alike. Inside,
// a bin is a search tree in the same order. The first run of the request's own
// bin that is large enough is the best fit; failing that, the least run of the
// next bin that is not empty. Most bins hold no run or one, so most operations
// touch one tree node where one tree over all runs would touch log n. When the
// runs outgrow the bins, or the range that is in use outgrows the regions, the
// bins are made anew, as those of a hash table would be.
//
// As long as there are a few runs, they are in no bin: see fewRuns.
//
// A tree is a treap: its shape is that of a binary search tree filled in the
// order of the nodes' priorities, which are a hash of the record's index. So
// the depth is logarithmic whatever order runs come in, insertion and removal
// are one walk down, and a node costs two links.
type freeIndex[U unit] struct {
	// few has the runs as long as binned is false.
	few    fewRuns[U]
	binned bool
	bins   []uint32
	memory offheap.Table[uint32]
	filled bitset
	// sub is how many bits choose the bin among those of a power of two: of a
	// size those below its highest one, and when it has no more, of the region.
	sub uint
	// drop is 64 - sub, and lastRegion the number of the last region.
	drop       uint
	lastRegion uint64
	// region shifts an offset to the number of its region; extent is where the
	// last region begins to be longer than the others.
	region uint
	extent uint64
	total  uint64
	// count is the runs, most so many that more bins would pay.
	count, most uint64
}

const (
	firstSub = 5
	lastSub  = 11
	// binsPerRun makes a second run in a bin rare: a tree of two costs more than
	// the memory of the bins between.
	binsPerRun = 16
	// From manySub on the bins of a range are as large as the records of its
	// blocks may be, and a second run in a bin is the lesser evil.
	manySub        = 9
	manyBinsPerRun = 4
	// firstExtent is in granules, extentGrowth how much longer than what is in
	// use the next one is.
	firstExtent  = 1 << 12
	extentGrowth = 4
)

// newFreeIndex is empty and takes runs of up to total granules.
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

// binOf grows with the size, and for one size with the offset, or stays. A
// size's highest bit gives the power, the next sub bits the bin; where the size
// has fewer, the region gives the rest. No branch: which of the two it is cannot
// be foreseen.
func (f *freeIndex[U]) binOf(size, offset uint64) uint {
	power := uint(bits.Len64(size)-1) & 63
	below := size << (63 - power) << 1 >> (f.drop & 63)
	region := min(offset>>(f.region&63), f.lastRegion)
	return power<<(f.sub&63) + uint(below|region>>power)
}

// priority decides which of two nodes is the higher one in a tree. It is a
// bijection, so no two are equal.
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

// binAll puts the few runs into bins.
func (f *freeIndex[U]) binAll(all []record[U]) {
	f.binned = true
	for i := range f.few.runs[:f.few.count] {
		f.enter(all, f.few.runs[i].at)
	}
	f.few.count = 0
}

// unbin takes the runs, which are few again, out of their bins.
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

// enter puts a run into its bin.
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

// plant puts a run into the tree of its bin.
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
	// The node takes this place, and what was below it is split around it.
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

// uproot takes a run out of the tree of its bin.
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

// resize gives a run another place and length. A run that stays alone in its
// bin, as most do that are long, keeps its place in the index.
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

// ceil is the first run at or after (size, offset) in the order of before.
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

// least is the first run of a tree at or after (size, offset).
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

// largest is the size of the largest run.
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

// below is the size of the largest run that is shorter than size, which is not 0;
// 0: there is none.
func (f *freeIndex[U]) below(all []record[U], size uint64) uint64 {
	if !f.binned {
		return f.few.below(size)
	}
	bin := f.binOf(min(size, f.total), math.MaxUint64)
	if largest := largestBelow(all, f.bins[bin], size); largest != 0 {
		return largest
	}
	for {
		// Bins of one size may lie between: none of their runs is shorter.
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

// largestBelow is below in one tree.
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

// renew replaces the index by one with bins that suit the same runs better, all
// but one at the end of the range: for when there are more than most of them, or
// more of the range than extent has been in use. Without memory for them the old
// ones stay, which are only slower.
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

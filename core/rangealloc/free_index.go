package rangealloc

import "math/bits"

// freeIndex finds the smallest free run that is large enough, and among equals
// the one at the lowest address.
//
// The idea: runs are sorted into bins by size, so many for every power of two,
// and a bitset says which bins are not empty. A bin is a search tree in the
// order (size, offset). The first run of the request's own bin that is large
// enough is the best fit; failing that, the least run of the next bin that is
// not empty. Most bins hold no run or one, so most operations touch one tree
// node where one tree over all runs would touch log n. When the runs outgrow
// the bins, the bins are split, as a hash table would be.
//
// A tree is a treap: its shape is that of a binary search tree filled in the
// order of the nodes' priorities, which are a hash of the record's index. So
// the depth is logarithmic whatever order runs come in, insertion and removal
// are one walk down, and a node costs two links.
type freeIndex struct {
	bins   []uint32
	filled bitset
	// sub is how many bits of a size below its highest one choose the bin.
	sub   uint
	total uint64
	count uint64
}

const (
	firstSub = 5
	lastSub  = 11
)

// newFreeIndex is empty and takes runs of up to total granules.
func newFreeIndex(total uint64, sub uint) freeIndex {
	f := freeIndex{sub: sub, total: total}
	size := f.binOf(total) + 1
	f.bins = make([]uint32, size)
	f.filled = newBitset(size)
	return f
}

// binOf grows with the size: sizes below 2^(sub+1) have a bin each, and every
// power of two from there on has 2^sub.
func (f *freeIndex) binOf(size uint64) uint {
	drop := uint(bits.Len64(size>>(f.sub&63)|1)) - 1
	return drop<<(f.sub&63) + uint(size>>(drop&63))
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

func (f *freeIndex) insert(all []record, at uint32) {
	f.count++
	n := &all[at]
	bin := f.binOf(n.size)
	root := &f.bins[bin]
	if *root != none {
		plant(all, root, at)
		return
	}
	f.filled.add(bin)
	n.left, n.right = none, none
	*root = at
}

// plant puts a run into the tree of its bin.
func plant(all []record, link *uint32, at uint32) {
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

func (f *freeIndex) remove(all []record, at uint32) {
	f.count--
	n := &all[at]
	bin := f.binOf(n.size)
	root := &f.bins[bin]
	if *root != at || n.left|n.right != none {
		uproot(all, root, at)
		return
	}
	*root = none
	f.filled.remove(bin)
}

// uproot takes a run out of the tree of its bin, of which it is not all.
func uproot(all []record, link *uint32, at uint32) {
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
func (f *freeIndex) resize(all []record, at uint32, offset, size uint64) {
	n := &all[at]
	if bin := f.binOf(n.size); bin == f.binOf(size) && f.bins[bin] == at && n.left|n.right == none {
		n.offset, n.size = offset, size
		return
	}
	f.remove(all, at)
	n.offset, n.size = offset, size
	f.insert(all, at)
}

// ceil is the first run at or after (size, offset) in the order of before.
func (f *freeIndex) ceil(all []record, size, offset uint64) uint32 {
	if size > f.total {
		return none
	}
	bin := f.binOf(size)
	best := none
	for cur := f.bins[bin]; cur != none; {
		c := &all[cur]
		if c.size > size || c.size == size && c.offset >= offset {
			best = cur
			cur = c.left
		} else {
			cur = c.right
		}
	}
	if best != none {
		return best
	}
	bin, ok := f.filled.after(bin)
	if !ok {
		return none
	}
	best = f.bins[bin]
	for all[best].left != none {
		best = all[best].left
	}
	return best
}

// largest is the size of the largest run.
func (f *freeIndex) largest(all []record) uint64 {
	bin, ok := f.filled.last()
	if !ok {
		return 0
	}
	cur := f.bins[bin]
	for all[cur].right != none {
		cur = all[cur].right
	}
	return all[cur].size
}

// crowded says that splitting the bins would pay.
func (f *freeIndex) crowded() bool {
	return f.count > uint64(len(f.bins)) && f.sub < lastSub
}

// split replaces the index by one with four times the bins, over the same runs:
// all but one at the end of the range.
func (f *freeIndex) split(all []record) {
	finer := newFreeIndex(f.total, f.sub+2)
	for at := all[0].next; at != all[0].prev; at = all[at].next {
		if all[at].isFree() {
			finer.insert(all, at)
		}
	}
	*f = finer
}

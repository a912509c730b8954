package pool

import "math/bits"

// An allocation for a stream may have a block at once that was freed on that
// stream: the order of the stream keeps the work of the two apart. The block
// goes as a whole, because what would be left of it would still be in flight, so
// it has to fit well. Blocks stand in lists by size, eight for every power of
// two, the last freed first.

const (
	// fits takes blocks that are up to a quarter longer than wanted.
	fits = 4
	// wastes takes any block that is long enough, exactly one of that size.
	wastes  = 0
	exactly = 1 << 63
	// reuseLooks bounds the blocks of one list that are looked at.
	reuseLooks = 8

	reuseClasses = 512
)

// reuseIndex is the blocks in flight that one stream may have.
type reuseIndex struct {
	// heads is nil until the first block comes.
	heads []int32
	// filled has a bit for every list that is not empty.
	filled [reuseClasses / 64]uint64
	count  int
}

// reuseClass is the list of a size: a class each for 1 to 15, then eight for
// every power of two.
func reuseClass(size uint64) int {
	if size < 16 {
		return int(size)
	}
	exponent := bits.Len64(size) - 1
	return 16 + (exponent-4)*8 + int(size>>(exponent-3)&7)
}

func (r *reuseIndex) enter(all []flight, at int32) {
	if r.heads == nil {
		r.heads = make([]int32, reuseClasses)
		for i := range r.heads {
			r.heads[i] = none
		}
	}
	class := reuseClass(all[at].size)
	head := r.heads[class]
	all[at].next, all[at].prev = head, none
	if head != none {
		all[head].prev = at
	}
	r.heads[class] = at
	r.filled[class>>6] |= 1 << (class & 63)
	r.count++
}

func (r *reuseIndex) leave(all []flight, at int32) {
	block := &all[at]
	if block.next != none {
		all[block.next].prev = block.prev
	}
	if block.prev != none {
		all[block.prev].next = block.next
	} else {
		class := reuseClass(block.size)
		r.heads[class] = block.next
		if block.next == none {
			r.filled[class>>6] &^= 1 << (class & 63)
		}
	}
	r.count--
}

// nextFilled is the first list from class on that is not empty, or none.
func (r *reuseIndex) nextFilled(class int) int {
	for word := class >> 6; word < len(r.filled); word++ {
		filled := r.filled[word]
		if word == class>>6 {
			filled &= ^uint64(0) << (class & 63)
		}
		if filled != 0 {
			return word<<6 + bits.TrailingZeros64(filled)
		}
	}
	return int(none)
}

// reuseBounds is what a block in flight has to be.
type reuseBounds struct {
	// least and most bound its size.
	least, most uint64
	// mask is its alignment less one.
	mask uint64
}

// find is a block that is within bounds, the shortest of the first list that
// has one, or none.
func (r *reuseIndex) find(all []flight, w reuseBounds) int32 {
	last := reuseClass(w.most)
	for class := reuseClass(w.least); ; class++ {
		if class = r.nextFilled(class); class == int(none) || class > last {
			return none
		}
		best, looks := none, reuseLooks
		for at := r.heads[class]; at != none && looks > 0; at, looks = all[at].next, looks-1 {
			block := &all[at]
			if block.size < w.least || block.size > w.most || uint64(block.addr)&w.mask != 0 {
				continue
			}
			if best == none || block.size < all[best].size {
				best = at
			}
			if block.size == w.least {
				break
			}
		}
		if best != none {
			return best
		}
	}
}

// find is a block that the stream of a request may have at once, or none;
// excess is fits, wastes or exactly.
func (f *flights) find(n *need, excess uint64) int32 {
	queue := f.queueOf(n.stream)
	if queue == none || f.queues[queue].reuse.count == 0 {
		return none
	}
	return f.queues[queue].reuse.find(f.flights.items, reuseBoundsOf(n, excess))
}

func reuseBoundsOf(n *need, excess uint64) reuseBounds {
	w := reuseBounds{least: n.Size, most: ^uint64(0), mask: n.Align - 1}
	if excess != wastes {
		w.most = n.Size + min(n.Size/excess, ^uint64(0)-n.Size)
	}
	return w
}

// findMany is up to most blocks that the stream of a request may have at once,
// the shortest lists first.
func (f *flights) findMany(n *need, excess uint64, most int) []int32 {
	queue := f.queueOf(n.stream)
	if queue == none || f.queues[queue].reuse.count == 0 {
		return nil
	}
	var found []int32
	r, w := &f.queues[queue].reuse, reuseBoundsOf(n, excess)
	last := reuseClass(w.most)
	for class := r.nextFilled(reuseClass(w.least)); class != int(none) && class <= last; class = r.nextFilled(class + 1) {
		for at := r.heads[class]; at != none; at = f.flights.items[at].next {
			block := &f.flights.items[at]
			if block.size < w.least || block.size > w.most || uint64(block.addr)&w.mask != 0 {
				continue
			}
			if found = append(found, at); len(found) == most {
				return found
			}
		}
	}
	return found
}

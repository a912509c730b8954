package inflight

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// An allocation for a stream may at once reuse a block that was freed on that stream: the
// order of the stream separates the work of the two blocks. The block is reused as a
// whole, because a rest of it would still be in flight. So its size has to fit well.
// Blocks are in lists by size, eight lists for every power of two, the last freed block
// first.

// Excess bounds how much longer than the request a block may be: by 1/Excess of the
// requested size. 0 means no bound.
type Excess uint64

const (
	// Fits accepts blocks that are up to a quarter longer than requested.
	Fits Excess = 4
	// Wastes accepts any block that is long enough, Exactly only one of the requested
	// size.
	Wastes  Excess = 0
	Exactly Excess = 1 << 63
)

const (
	// reuseLooks is the number of blocks of one list that are examined.
	reuseLooks = 8

	reuseClasses = 512
)

// none ends the lists.
const none int32 = -1

// block is a freed block that queued work may still use.
type block struct {
	addr device.Addr
	size uint64
	// first is the first of its links; left is the number of links to fences that have
	// not completed.
	first, left int32
	// queue is the stream that may reuse the block at once, or none. next and prev are
	// blocks of the same size class of that stream.
	queue, next, prev int32
}

// reuseIndex has the blocks in flight that one stream may reuse.
type reuseIndex struct {
	// heads is nil until the first block is added.
	heads []int32
	// filled has a bit for every list that is not empty.
	filled [reuseClasses / 64]uint64
	count  int
}

// reuseClass returns the list of a size: one list for each size from 0 to 15, then eight
// for every power of two.
func reuseClass(size uint64) int {
	if size < 16 {
		return int(size)
	}
	exponent := bits.Len64(size) - 1
	return 16 + (exponent-4)*8 + int(size>>(exponent-3)&7)
}

func (r *reuseIndex) add(all []block, at int32) {
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

func (r *reuseIndex) remove(all []block, at int32) {
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

// nextFilled returns the first list at or above class that is not empty, or none.
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

// reuseBounds has the conditions for a block in flight.
type reuseBounds struct {
	// least and most bound its size.
	least, most uint64
	// mask is the required alignment minus 1.
	mask uint64
}

// find returns a block within the bounds, or none. It takes the shortest block, of those
// examined, in the first list that has one.
func (r *reuseIndex) find(all []block, w reuseBounds) int32 {
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

// Want is a request for a block in flight.
type Want struct {
	SizeBytes uint64
	// AlignBytes is a power of two.
	AlignBytes uint64
	Excess     Excess
}

func (w Want) bounds() reuseBounds {
	bounds := reuseBounds{least: w.SizeBytes, most: ^uint64(0), mask: w.AlignBytes - 1}
	if w.Excess != Wastes {
		bounds.most = w.SizeBytes + min(w.SizeBytes/uint64(w.Excess), ^uint64(0)-w.SizeBytes)
	}
	return bounds
}

package regions

import "math/bits"

// hole is free memory inside one region.
type hole[S Segment] struct {
	region       *Region[S]
	offset, size uint64
	// class is the class of size. stands has a bit for each list that contains the hole.
	class  int
	stands uint64
}

func (h *hole[S]) base() uint64 { return h.region.Key.Segment.BaseAddr() }

func (h *hole[S]) addr() uint64 { return h.base() + h.offset }

func (h *hole[S]) better(other *hole[S]) bool {
	if h.region.filled != other.region.filled {
		return h.region.filled
	}
	if h.size != other.size {
		return h.size < other.size
	}
	return h.addr() < other.addr()
}

// holeIndex finds holes by their size, with one list for every power of two. Not every
// hole is listed. A hole that became shorter is added to another list too. The search
// skips a hole whose class differs from that of the list.
type holeIndex[S Segment] struct {
	holes Pieces[hole[S]]
	lists [65][]int32
	// looks is the number of holes that were examined.
	looks int
}

// none means that there is no hole.
const none int32 = -1

// ownClassLooks is the number of holes of one class that are examined. They may all be
// too short, or in regions to which blocks may not move.
const ownClassLooks = 256

// FindLooks is the most looks of one search.
const FindLooks = 1024

// list adds a hole to the list of its size.
func (x *holeIndex[S]) list(at int32) {
	h := x.holes.At(int(at))
	h.class = bits.Len64(h.size)
	if h.size != 0 && h.stands>>h.class&1 == 0 {
		h.stands |= 1 << h.class
		x.lists[h.class] = append(x.lists[h.class], at)
	}
}

// change updates a listed hole.
func (x *holeIndex[S]) change(at int32, offset, size uint64) {
	h := x.holes.At(int(at))
	h.offset, h.size = offset, size
	x.list(at)
}

// find returns the best hole to which blocks of the victim may move. It prefers holes in
// regions that have received blocks, and then the shortest hole.
func (x *holeIndex[S]) find(size, align uint64, victim *Region[S]) (at int32, offset uint64) {
	for class := bits.Len64(size); class < len(x.lists) && x.looks < FindLooks; class++ {
		best, bestOffset, looks := none, uint64(0), ownClassLooks
		list := x.lists[class]
		for i := 0; i < len(list) && looks > 0; i++ {
			looks--
			x.looks++
			h := x.holes.At(int(list[i]))
			if h.class != class || h.size == 0 {
				h.stands &^= 1 << class
				list[i] = list[len(list)-1]
				list = list[:len(list)-1]
				i--
				continue
			}
			start := (h.addr()+align-1)&^(align-1) - h.base()
			if start < h.offset || start-h.offset > h.size || h.size-(start-h.offset) < size || !victim.mayGoTo(h.region) {
				continue
			}
			if best == none || h.better(x.holes.At(int(best))) {
				best, bestOffset = list[i], start
			}
		}
		x.lists[class] = list
		if best != none {
			return best, bestOffset
		}
	}
	return none, 0
}

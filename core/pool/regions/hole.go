package regions

import "math/bits"

// hole is free memory inside one region.
type hole[S Segment] struct {
	region       *Region[S]
	offset, size uint64
	// class is that of size, and stands has a bit for each list that the hole is in.
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

// holeIndex finds holes by their size: a list for every power of two. Not all are
// listed. A hole that has become shorter stands in another list too; where it is not
// of the list's class it is passed over.
type holeIndex[S Segment] struct {
	holes Pieces[hole[S]]
	lists [65][]int32
	// looks counts the holes that were looked at.
	looks int
}

// none is the number of no hole.
const none int32 = -1

// ownClassLooks bounds the holes of a class that are looked at, which may all be too
// short, or of a region that blocks may not go to.
const ownClassLooks = 256

// FindLooks bounds the looks of one search.
const FindLooks = 1024

// list enters a hole in the list of its size.
func (x *holeIndex[S]) list(at int32) {
	h := x.holes.At(int(at))
	h.class = bits.Len64(h.size)
	if h.size != 0 && h.stands>>h.class&1 == 0 {
		h.stands |= 1 << h.class
		x.lists[h.class] = append(x.lists[h.class], at)
	}
}

// change enters what a listed hole is now.
func (x *holeIndex[S]) change(at int32, offset, size uint64) {
	h := x.holes.At(int(at))
	h.offset, h.size = offset, size
	x.list(at)
}

// find is the hole that suits best of those that blocks of a victim may go to: one of a
// region that got blocks already comes first, and the shortest of those.
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

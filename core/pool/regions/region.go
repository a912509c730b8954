package regions

import (
	"cmp"
	"math"
)

// Segment is what a region is in.
type Segment interface {
	comparable
	// BaseAddr is the address that offsets in the segment count from.
	BaseAddr() uint64
}

// Key names a region: a page of a segment, 0 in one that was taken whole.
type Key[S Segment] struct {
	Segment S
	Page    uint64
}

// Block is a block that may move, by its index.
type Block struct {
	Index     int
	SizeBytes uint64
}

// Region is what is known of a region.
type Region[S Segment] struct {
	Key Key[S]
	// Blocks are those in it that may move.
	Blocks []Block
	// bytes are those of Blocks, and inside what of them lies in the region.
	bytes, inside uint64
	// free is the sum of its holes, which are holes from firstHole on.
	free             uint64
	firstHole, holes int
	// fixed says that a block in it stays.
	fixed bool
	// emptied says that it was chosen, and filled that blocks are moved to it.
	emptied, filled bool
	// rank is the place among the candidates; of a fixed one, behind all.
	rank int
}

func newRegion[S Segment](key Key[S], filled bool) *Region[S] {
	return &Region[S]{Key: key, rank: math.MaxInt, filled: filled, fixed: filled}
}

// IsFilled says that blocks are moved to it.
func (r *Region[S]) IsFilled() bool { return r.filled }

// mayGoTo says that blocks of the region may go to another.
func (r *Region[S]) mayGoTo(to *Region[S]) bool {
	return to != r && !to.emptied && (to.filled || to.rank > r.rank)
}

// compareCost puts first what is cheaper to empty, and then what lies higher.
func compareCost[S Segment](a, b *Region[S]) int {
	return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(b.Key.Segment.BaseAddr(), a.Key.Segment.BaseAddr()),
		cmp.Compare(b.Key.Page, a.Key.Page))
}

// compareTargets puts first what has got blocks already, then what cannot be emptied
// and then what is the last to be emptied.
func compareTargets[S Segment](a, b *Region[S]) int {
	if a.filled != b.filled {
		if a.filled {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.free, b.free),
		cmp.Compare(a.Key.Segment.BaseAddr(), b.Key.Segment.BaseAddr()), cmp.Compare(a.Key.Page, b.Key.Page))
}

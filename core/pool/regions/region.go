package regions

import (
	"cmp"
	"math"
)

// Segment is memory that is divided into regions.
type Segment interface {
	comparable
	// BaseAddr is the address of offset 0 of the segment.
	BaseAddr() uint64
}

// Key names a region: a page of a segment. Page is 0 for a segment that was allocated
// whole.
type Key[S Segment] struct {
	Segment S
	Page    uint64
}

// Block is a block that may move, with its index.
type Block struct {
	Index     int
	SizeBytes uint64
}

// Region is the state of a region.
type Region[S Segment] struct {
	Key Key[S]
	// Blocks are the blocks in the region that may move.
	Blocks []Block
	// bytes is the size of Blocks; inside is the part of it that lies in the region.
	bytes, inside uint64
	// free is the size of its holes, which are numbered from firstHole on.
	free             uint64
	firstHole, holes int
	// fixed is set if a block in it may not move.
	fixed bool
	// emptied is set when it was chosen; filled is set when blocks are moved to it.
	emptied, filled bool
	// rank is its place among the candidates. A fixed region is behind all candidates.
	rank int
}

func newRegion[S Segment](key Key[S], filled bool) *Region[S] {
	return &Region[S]{Key: key, rank: math.MaxInt, filled: filled, fixed: filled}
}

// IsFilled reports whether blocks are moved to the region.
func (r *Region[S]) IsFilled() bool { return r.filled }

// mayGoTo reports whether blocks of the region may move to another region.
func (r *Region[S]) mayGoTo(to *Region[S]) bool {
	return to != r && !to.emptied && (to.filled || to.rank > r.rank)
}

// compareCost sorts regions by cost, the cheapest to empty first. With equal cost, the
// higher address is first.
func compareCost[S Segment](a, b *Region[S]) int {
	return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(b.Key.Segment.BaseAddr(), a.Key.Segment.BaseAddr()),
		cmp.Compare(b.Key.Page, a.Key.Page))
}

// compareTargets sorts regions as targets: first those that have received blocks, then
// those that cannot be emptied, then the others from the most expensive to the cheapest.
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

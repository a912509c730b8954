package conformance

import "ferrum_mem/core/rangealloc"

// Make makes the strategy under test.
type Make func(rangealloc.Config) (rangealloc.Strategy, error)

// Request is what an allocation asks for.
type Request = rangealloc.Request

// Options says what a strategy promises beyond the contract of all.
type Options struct {
	// Exact: a size is rounded up to the granule and no further, and an
	// allocation fails only when no free run holds it at its alignment.
	Exact bool
	// ExactSize: a size is rounded up to the granule and no further.
	ExactSize bool
	// ServesLargest: a granule-aligned request of Stats.LargestFreeBytes is
	// served, and one of a byte more is not. Without it, that number is the longest
	// free block of the walk.
	ServesLargest bool
	// Coalesces: no two free blocks are ever side by side.
	Coalesces bool
	// Monotonic: blocks are placed one behind the other, and nothing that is freed
	// is used again until no block is live.
	Monotonic bool
	// Placement, unless nil, says where the strategy must put a request, given
	// the maximal free runs in address order.
	Placement func(c rangealloc.Config, free []rangealloc.Range, r Request) (offset uint64, ok bool)
	// Admits, unless nil, says what is wrong with where the strategy put a
	// request, given the maximal free runs that there were, in address order.
	Admits func(c rangealloc.Config, free []rangealloc.Range, r Request, got rangealloc.Range) error
	// MayRefuse, unless nil, says whether the strategy may refuse a request, given
	// the maximal free runs in address order.
	MayRefuse func(c rangealloc.Config, free []rangealloc.Range, r Request) bool
}

package conformance

import "ferrum_mem/core/rangealloc"

// Make creates the strategy under test.
type Make func(rangealloc.Config) (rangealloc.Strategy, error)

// Request is the request of an allocation.
type Request = rangealloc.Request

// Options states what a strategy promises beyond the contract of all strategies.
type Options struct {
	// Exact: a size is rounded up to the granule and no further, and an allocation fails
	// only if no free run holds it at its alignment.
	Exact bool
	// ExactSize: a size is rounded up to the granule and no further.
	ExactSize bool
	// ServesLargest: a granule-aligned request of Stats.LargestFreeBytes succeeds, and
	// one of a byte more fails. Without it, that number is the longest free block of the
	// walk.
	ServesLargest bool
	// Coalesces: no two free blocks are adjacent.
	Coalesces bool
	// Monotonic: blocks are placed one behind the other, and freed memory is not reused
	// until no block is live.
	Monotonic bool
	// Placement, unless nil, returns where the strategy must place a request, given the
	// maximal free runs in address order.
	Placement func(c rangealloc.Config, free []rangealloc.Range, r Request) (offset uint64, ok bool)
	// Admits, unless nil, checks where the strategy placed a request, given the maximal
	// free runs before it, in address order.
	Admits func(c rangealloc.Config, free []rangealloc.Range, r Request, got rangealloc.Range) error
	// MayRefuse, unless nil, reports whether a request may fail, given the maximal free
	// runs in address order.
	MayRefuse func(c rangealloc.Config, free []rangealloc.Range, r Request) bool
}
